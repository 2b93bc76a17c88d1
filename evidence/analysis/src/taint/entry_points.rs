//! The secrets of entry points, followed through PTX and machine code.
//!
//! The words of keys, the factor and the addend of a hash, a counter that depends on the key, and everything read from device memory except
//! descriptions of messages are secret. Pointers, numbers (including the numbers of data units), IVs and other counters, the number of
//! rounds, and, where a decryption ends, whether the tag matches are public. The tool proves that it can see on every entry point: with a
//! lookup at the kernel's output planted in the text, the same entry point must be found guilty. Those that compare a tag must have one branch
//! by what is secret, which is by that comparison, and nothing else; of these, the ones that only end a decryption write zeros.

use crate::taint::{Report, Secrets, ptx, sass};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::signature::EntryPoint;
use std::collections::BTreeMap;

/// Goes on if it is true, else is the error of these words.
macro_rules! ensure {
    ($is:expr, $($words:tt)*) => {
        if !$is {
            return Err(format!($($words)*));
        }
    };
}

/// What is secret of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Nothing. (What is read from where a pointer points is secret.)
    Nothing,
    /// Nothing, not even what non-coherent loads read there.
    Table,
    /// Nothing, not even what is counted there.
    Arrivals,
    /// All words but the last, which is the number of rounds.
    Keys,
    /// Everything.
    All,
}

impl Part {
    fn of(argument: Argument) -> Self {
        match argument {
            // Where data is, and everything that is computed from secrets.
            Argument::In | Argument::Out | Argument::Previous => Self::Nothing,
            Argument::CipherKeys | Argument::KeyPlanes | Argument::RoundKeys | Argument::Subkeys => Self::Nothing,
            Argument::Tables | Argument::Hash | Argument::Masks | Argument::Tags => Self::Nothing,
            Argument::HashKeys | Argument::Sums => Self::Nothing,
            // How many thread blocks have come, which is counted by an instruction that nothing else has.
            Argument::Arrived => Self::Arrivals,
            Argument::Aad | Argument::Expected | Argument::Verdicts => Self::Nothing,
            // The buffers that describe the work: where messages and jobs are, which counters and additional data they have, and their
            // order. They are public, except counters that are read by coherent loads.
            Argument::Messages | Argument::FirstMessages | Argument::Order => Self::Table,
            Argument::Jobs | Argument::Runs | Argument::Counters => Self::Table,
            // Numbers.
            Argument::Blocks | Argument::Length | Argument::Skip | Argument::Stride | Argument::Ragged => Self::Nothing,
            Argument::UnitBytes | Argument::Before | Argument::Rounds | Argument::Units => Self::Nothing,
            Argument::All | Argument::Each | Argument::KeyWords | Argument::Wide => Self::Nothing,
            Argument::Counts | Argument::Adds => Self::Nothing,
            // What describes messages, and what is counted of them.
            Argument::Starts | Argument::Ends | Argument::AadStarts | Argument::AadEnds => Self::Nothing,
            Argument::Nonces | Argument::AadLength | Argument::TagBytes => Self::Nothing,
            Argument::Tally | Argument::Fault => Self::Nothing,
            // What is sent in the clear, or known to those who wait: IVs, counters, numbers of data units.
            Argument::Counter | Argument::FirstUnit | Argument::Iv => Self::Nothing,
            Argument::Keys | Argument::TweakKeys => Self::Keys,
            // The hash key's powers, what is added to a hash, the cipher of a counter block.
            Argument::Addend | Argument::Factor | Argument::Mask => Self::All,
            // Derived from the key.
            Argument::SecretCounter => Self::All,
        }
    }
}

/// The secret parts of an entry point's parameters.
pub fn secrets(point: &EntryPoint) -> Secrets {
    point.parameters.iter().fold(Secrets::default(), |secrets, parameter| {
        let bytes = parameter.kind.cuda_bytes();
        match Part::of(parameter.name) {
            Part::Nothing => secrets.parameter(bytes, 0..0),
            Part::Table => secrets.table(),
            Part::Arrivals => secrets.arrivals(),
            Part::Keys => secrets.parameter(bytes, 0..bytes - 4),
            Part::All => secrets.parameter(bytes, 0..bytes),
        }
    })
}

/// The entry points of a kernel.
pub type Entries = BTreeMap<Entry, EntryPoint>;

/// Follows the secrets of these entry points through PTX.
///
/// # Errors
/// What depends on a secret.
pub fn intermediate(text: &str, entries: &Entries) -> Result<Vec<Report>, String> {
    judge(text, entries, &mut |text, _, point| ptx::check(text, &point.name, &secrets(point)), in_ptx)
}

/// Follows the secrets of these entry points through machine code, by its listing. `ptx` is the same kernel in PTX; empty if it has none.
///
/// # Errors
/// What depends on a secret.
pub fn machine_code(listing: &str, entries: &Entries, ptx: &str) -> Result<Vec<Report>, String> {
    let check = &mut |text: &str, entry: Entry, point: &EntryPoint| in_listing(text, entry, point, ptx);
    judge(listing, entries, check, in_machine_code)
}

/// Follows the secrets of one entry point through a listing of machine code.
///
/// # Errors
/// In words, if the text cannot be read, has no such entry point, or the entry point takes other parameters.
pub fn in_listing(listing: &str, entry: Entry, point: &EntryPoint, ptx: &str) -> Result<Report, String> {
    // Hashes have no counter in shared memory, and two functions with variables there.
    let shared = if ptx.is_empty() || entry.hashes() { vec![] } else { ptx::shared(ptx, &point.name)? };
    sass::check(listing, &point.name, &secrets(point), &shared)
}

/// Whether each entry point is innocent, and no longer with a planted leak.
fn judge(
    text: &str,
    entries: &Entries,
    check: &mut dyn FnMut(&str, Entry, &EntryPoint) -> Result<Report, String>,
    plant: fn(&str) -> Option<String>,
) -> Result<Vec<Report>, String> {
    let planted = text.lines().map(|line| plant(line).unwrap_or_default() + line + "\n").collect::<String>();
    let one = |(entry, point): (&Entry, &EntryPoint)| {
        let (entry, name) = (*entry, &point.name);
        let mut report = check(text, entry, point)?;
        let is_told = [Argument::Mask, Argument::Verdicts].iter().any(|&argument| point.takes(argument));
        let verdicts = usize::from(entry.ends_decryption() || is_told);
        if verdicts > 0 {
            let goes_on = |text: &str| {
                ["bra", "ret", "exit", "BRA", "EXIT"].iter().any(|opcode| text.contains(&format!(" {opcode}")))
            };
            let before = report.findings.len();
            report
                .findings
                .retain(|finding| !(finding.what == "its predicate is secret" && goes_on(&finding.instruction)));
            let branches = before - report.findings.len();
            ensure!(
                branches == verdicts,
                "`{name}` has {branches} branches by what is secret, and not the one by its verdict"
            );
            let others = &report.findings;
            ensure!(others.is_empty(), "`{name}` depends on more than its verdict: {}", others[0]);
        }
        if entry.ends_decryption() {
            return Ok(report);
        }
        let listed: Vec<String> = report.findings.iter().take(5).map(|finding| format!("\n  {finding}")).collect();
        let all = report.findings.len();
        ensure!(listed.is_empty(), "`{name}` is not constant-time, in {all} places:{}", listed.concat());
        ensure!(report.secret_stores > 0, "`{name}` writes nothing that is secret: the analysis lost it on the way");
        let guilty = check(&planted, entry, point)?;
        ensure!(guilty.findings.len() > verdicts, "what was planted in `{name}` was not found");
        Ok(report)
    };
    entries.iter().map(one).collect()
}

/// Before a line that writes something: a lookup at what it writes.
fn in_ptx(line: &str) -> Option<String> {
    let line = line.trim();
    ["st.global", "atom.global", "red.global"].iter().find(|&&opcode| line.starts_with(opcode))?;
    let value = line.rsplit_once(']')?.1.trim_start_matches([',', ' ', '{']).split([',', ';', '}']).next()?.trim();
    // As a lane, for 32 bits or fewer alike.
    value.starts_with('%').then(|| format!("shfl.sync.idx.b32 {value}, {value}, {value}, 31, -1;\n"))
}

fn in_machine_code(line: &str) -> Option<String> {
    let instruction = line.trim();
    let opcode = ["STG.", "REDG.", "RED.", "ATOMG."].iter().any(|opcode| instruction.contains(opcode));
    let register = instruction.rsplit_once(", ")?.1.split([' ', '.', ';']).next()?;
    (opcode && register.starts_with('R') && register != "RZ")
        .then(|| format!("/*fff0*/ LDS {register}, [{register}] ;\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taint::Finding;
    use aes_bitslice_core::argument::Kind;
    use aes_bitslice_core::signature::Parameter;
    use std::ops::Range;

    /// Written down here once more: bytes of each parameter by value that are secret, and tables, with the reason. A change of either list
    /// must be a change of both.
    const BY_HAND: [(Argument, Kind, Range<usize>, &str); 13] = [
        (Argument::Keys, Kind::Words(61), 0..240, "round keys; after them their number"),
        (Argument::TweakKeys, Kind::Words(61), 0..240, "XTS's second key's round keys, as secret as the first's"),
        (Argument::Factor, Kind::Words(4), 0..16, "a power of the hash key, which forges tags"),
        (Argument::Addend, Kind::Words(4), 0..16, "a hash, which is secret until it is masked"),
        (Argument::Mask, Kind::Words(4), 0..16, "the cipher of a counter block: a tag without it is a hash"),
        (Argument::SecretCounter, Kind::Words(4), 0..16, "a hash of the IV: it depends on the hash key"),
        (Argument::Iv, Kind::Words(4), 0..0, "sent in the clear"),
        (Argument::Counter, Kind::Words(4), 0..0, "sent in the clear"),
        (Argument::FirstUnit, Kind::Words(4), 0..0, "where on a disk the data is"),
        (Argument::Length, Kind::U64, 0..0, "the size of a call"),
        (Argument::Skip, Kind::U32, 0..0, "the offset of a call"),
        (Argument::In, Kind::Input, 0..0, "an address"),
        (Argument::CipherKeys, Kind::Buffer, 0..0, "an address: what is read there is secret"),
    ];

    /// The secrets of an entry point with one parameter.
    fn of(name: Argument, kind: Kind) -> Secrets {
        secrets(&EntryPoint { name: "k".into(), parameters: vec![Parameter { name, kind }] })
    }

    #[test]
    fn parameters_are_as_secret_as_they_are_written_down() {
        for (name, kind, secret, why) in BY_HAND {
            let expected = Secrets::default().parameter(kind.cuda_bytes(), secret);
            assert_eq!(of(name, kind), expected, "{name}: {why}");
        }
        let of_messages = [Argument::Messages, Argument::FirstMessages, Argument::Order];
        let of_jobs = [Argument::Jobs, Argument::Runs, Argument::Counters];
        let tables = [of_messages, of_jobs].concat();
        for argument in Argument::ALL {
            let part = Part::of(argument);
            assert_eq!(part == Part::Table, tables.contains(&argument), "{argument}: it describes the work");
            // Everything else that comes by value is a number or written down above.
            let is_written_down = BY_HAND.iter().any(|(by_hand, ..)| *by_hand == argument);
            assert!(!matches!(part, Part::Keys | Part::All) || is_written_down, "{argument}");
        }
        for table in tables {
            assert_eq!(of(table, Kind::Buffer), Secrets::default().table());
        }
    }

    /// What ends a decryption may branch once by its verdict, and do nothing else; others must write secrets, and be found guilty of a
    /// planted look-up.
    #[test]
    fn verdicts_and_planted_leaks() {
        let point = || EntryPoint { name: "k".into(), parameters: vec![] };
        let finding = |instruction: &str, what| Finding { line: 1, instruction: instruction.into(), what };
        let branch = finding("@%p1 bra L", "its predicate is secret");
        let address = finding("ld.shared.u32 %r1, [%r2]", "an address depends on a secret");
        let store = finding("@%p1 st.global.u32 [%rd1], 0", "its predicate is secret");
        let judged = |entry: Entry, findings: &[Finding], stores, sees: bool| {
            let report = |findings: &[_]| Report {
                instructions: 1,
                secret: 1,
                secret_stores: stores,
                findings: findings.to_vec(),
            };
            let mut check = |text: &str, _: Entry, _: &EntryPoint| {
                let is_planted = sees && text.contains("shfl");
                Ok(report(if is_planted { std::slice::from_ref(&address) } else { findings }))
            };
            judge("st.global.u32 [%rd1], %r1;\n", &[(entry, point())].into(), &mut check, in_ptx)
        };
        assert!(judged(Entry::Bytes, &[], 1, true).is_ok());
        for (findings, stores, sees, says) in [
            (&[address.clone()][..], 1, true, "not constant-time"),
            (std::slice::from_ref(&branch), 1, true, "not constant-time"),
            (&[], 0, true, "lost it on the way"),
            (&[], 1, false, "planted"),
        ] {
            let error = judged(Entry::Bytes, findings, stores, sees).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(judged(Entry::Clear, std::slice::from_ref(&branch), 0, false).is_ok());
        for (findings, says) in [
            (&[][..], "0 branches"),
            (&[branch.clone(), branch.clone()], "2 branches"),
            (&[branch.clone(), address.clone()], "more than its verdict"),
            (&[branch.clone(), store], "more than its verdict"),
        ] {
            let error = judged(Entry::Clear, findings, 1, true).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
