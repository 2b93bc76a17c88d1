//! The secrets of entry points, followed through PTX and machine code.
//!
//! The words of keys, the factor and the addend of a hash, a counter that depends on the key, and everything read from device memory except
//! descriptions of messages are secret. Pointers, numbers (including the numbers of data units), IVs and other counters, the number of
//! rounds, and, where a decryption ends, whether the tag matches are public. The tool proves that it can see on every entry point: with a
//! lookup at the kernel's output planted in the text, the same entry point must be found guilty. Those that end a decryption write zeros
//! only: they must have one branch by what is secret, which is the tag's, and nothing else.

use aes_bitslice_core::signature::{EntryPoint, Kind};
use aes_bitslice_taint::{Report, Secrets, ptx, sass};
use anyhow::{Result, anyhow, ensure};

/// An architecture by its name, such as sm_90.
pub fn architecture(name: &str) -> Result<u32, String> {
    let number = name.strip_prefix("sm_").unwrap_or(name).parse();
    number.map_err(|_| "an architecture is written as sm_90".into())
}

/// What is secret of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Nothing. (What is read from where a pointer points is secret all the same.)
    Nothing,
    /// Nothing, not even what non-coherent loads read there.
    Table,
    /// All words but the last, which is the number of rounds.
    Keys,
    /// Everything.
    All,
}

/// Every parameter that an entry point takes, by kind and name. One that is not listed has no secrets to follow, and is an error.
const PARAMETERS: [(Part, &str, &[&str]); 10] = [
    // Where data is, and everything that is computed from secrets.
    (Part::Nothing, "input", &["in"]),
    (Part::Nothing, "output", &["out"]),
    (Part::Nothing, "pointer", &["previous"]),
    (
        Part::Nothing,
        "buffer",
        &[
            "aad",
            "cipher_keys",
            "expected",
            "hash",
            "key_planes",
            "masks",
            "round_keys",
            "subkeys",
            "tables",
            "tags",
            "verdicts",
        ],
    ),
    // The buffers that describe the work: where messages and jobs are, which counters and additional data they have, and their order.
    // They are public, except counters that are read by coherent loads.
    (Part::Table, "buffer", &["first_messages", "jobs", "messages", "order", "runs"]),
    // Numbers.
    (
        Part::Nothing,
        "number",
        &[
            "adds",
            "all",
            "before",
            "blocks",
            "counts",
            "each",
            "key_words",
            "length",
            "ragged",
            "rounds",
            "skip",
            "stride",
            "unit_blocks",
            "units",
            "wide",
        ],
    ),
    // What is sent in the clear, or known to those who wait: IVs, counters, numbers of data units.
    (Part::Nothing, "words", &["counter", "first_unit", "iv"]),
    (Part::Keys, "words", &["keys", "tweak_keys"]),
    // The hash key's powers, what is added to a hash, the cipher of a counter block.
    (Part::All, "words", &["addend", "factor", "mask"]),
    // Derived from the key.
    (Part::All, "words", &["secret_counter"]),
];

/// The kind of a parameter, as the list above names it.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "input",
        Kind::Output => "output",
        Kind::Pointer => "pointer",
        Kind::Buffer => "buffer",
        Kind::U32 | Kind::U64 => "number",
        Kind::Words(_) => "words",
    }
}

/// The secret parts of an entry point's parameters.
///
/// # Errors
/// If one is not in the list.
pub fn secrets(entry: &EntryPoint) -> Result<Secrets, String> {
    entry.parameters.iter().try_fold(Secrets::default(), |secrets, parameter| {
        let is_it = |(_, of, names): &&(Part, &str, &[&str])| {
            *of == kind(parameter.kind) && names.contains(&parameter.name.as_str())
        };
        let (part, ..) = PARAMETERS.iter().find(is_it).ok_or_else(|| {
            let (name, kind) = (&parameter.name, parameter.kind);
            format!("`{}` takes `{name}` ({kind:?}): say in xtask/src/secrets.rs what of it is secret", entry.name)
        })?;
        let bytes = parameter.kind.cuda_bytes();
        Ok(match part {
            Part::Nothing => secrets.parameter(bytes, 0..0),
            Part::Table => secrets.table(),
            Part::Keys => secrets.parameter(bytes, 0..bytes - 4),
            Part::All => secrets.parameter(bytes, 0..bytes),
        })
    })
}

/// Whether an entry point ends a decryption: it may branch on whether the tag matches, which the caller learns.
fn gives_a_verdict(entry: &EntryPoint) -> bool {
    entry.name.ends_with("_clear")
}

/// Follows the secrets of these entry points through PTX.
pub fn intermediate(text: &str, entries: &[EntryPoint]) -> Result<Vec<Report>> {
    judge(text, entries, &mut |text, entry| ptx::check(text, &entry.name, &secrets(entry)?), in_ptx)
}

/// Follows the secrets of these entry points through machine code, by its listing. `ptx` is the same kernel in PTX; empty if it has none.
///
/// # Errors
/// What depends on a secret.
pub fn machine_code(listing: &str, entries: &[EntryPoint], ptx: &str) -> Result<Vec<Report>> {
    let check = &mut |text: &str, entry: &EntryPoint| in_listing(text, entry, ptx);
    judge(listing, entries, check, in_machine_code)
}

/// Follows the secrets of one entry point through a listing of machine code.
pub fn in_listing(listing: &str, entry: &EntryPoint, ptx: &str) -> Result<Report, String> {
    // Hashes have no counter in shared memory, and two functions with variables there.
    let is_hash = gives_a_verdict(entry) || entry.parameters.iter().any(|parameter| parameter.name == "tables");
    let shared = if ptx.is_empty() || is_hash { vec![] } else { ptx::shared(ptx, &entry.name)? };
    sass::check(listing, &entry.name, &secrets(entry)?, &shared)
}

/// Whether each entry point is innocent, and no longer with a planted leak.
fn judge(
    text: &str,
    entries: &[EntryPoint],
    check: &mut dyn FnMut(&str, &EntryPoint) -> Result<Report, String>,
    plant: fn(&str) -> Option<String>,
) -> Result<Vec<Report>> {
    let planted = text.lines().map(|line| plant(line).unwrap_or_default() + line + "\n").collect::<String>();
    let one = |entry| {
        let mut report = check(text, entry).map_err(|error| anyhow!(error))?;
        if gives_a_verdict(entry) {
            let goes_on = |text: &str| {
                ["bra", "ret", "exit", "BRA", "EXIT"].iter().any(|opcode| text.contains(&format!(" {opcode}")))
            };
            let before = report.findings.len();
            report
                .findings
                .retain(|finding| !(finding.what == "its predicate is secret" && goes_on(&finding.instruction)));
            let branches = before - report.findings.len();
            ensure!(
                branches == 1,
                "`{}` has {branches} branches by what is secret, and not the one by its verdict",
                entry.name
            );
            ensure!(
                report.findings.is_empty(),
                "`{}` depends on more than its verdict: {}",
                entry.name,
                report.findings[0]
            );
            return Ok(report);
        }
        let listed: Vec<String> = report.findings.iter().take(5).map(|finding| format!("\n  {finding}")).collect();
        let (name, all) = (&entry.name, report.findings.len());
        ensure!(listed.is_empty(), "`{name}` is not constant-time, in {all} places:{}", listed.concat());
        ensure!(report.secret_stores > 0, "`{name}` writes nothing that is secret: the analysis lost it on the way");
        let guilty = check(&planted, entry).map_err(|error| anyhow!(error))?;
        ensure!(!guilty.findings.is_empty(), "what was planted in `{name}` was not found");
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
    use crate::kernels;
    use aes_bitslice_core::signature::Parameter;
    use std::collections::BTreeSet;
    use std::ops::Range;

    /// Written down here once more: bytes of each parameter by value that are secret, and tables, with the reason. A change of either list
    /// must be a change of both.
    const BY_HAND: [(&str, Kind, Range<usize>, &str); 13] = [
        ("keys", Kind::Words(61), 0..240, "round keys; after them their number"),
        ("tweak_keys", Kind::Words(61), 0..240, "XTS's second key's round keys, as secret as the first's"),
        ("factor", Kind::Words(4), 0..16, "a power of the hash key, which forges tags"),
        ("addend", Kind::Words(4), 0..16, "a hash, which is secret until it is masked"),
        ("mask", Kind::Words(4), 0..16, "the cipher of a counter block: a tag without it is a hash"),
        ("secret_counter", Kind::Words(4), 0..16, "a hash of the IV: it depends on the hash key"),
        ("iv", Kind::Words(4), 0..0, "sent in the clear"),
        ("counter", Kind::Words(4), 0..0, "sent in the clear"),
        ("first_unit", Kind::Words(4), 0..0, "where on a disk the data is"),
        ("length", Kind::U64, 0..0, "the size of a call"),
        ("skip", Kind::U32, 0..0, "the offset of a call"),
        ("in", Kind::Input, 0..0, "an address"),
        ("cipher_keys", Kind::Buffer, 0..0, "an address: what is read there is secret"),
    ];

    /// The secrets of an entry point with one parameter.
    fn of(name: &str, kind: Kind) -> Result<Secrets, String> {
        secrets(&EntryPoint { name: "k".into(), parameters: vec![Parameter { name: name.into(), kind }] })
    }

    #[test]
    fn parameters_are_as_secret_as_they_are_written_down() {
        for (name, kind, secret, why) in BY_HAND {
            let expected = Secrets::default().parameter(kind.cuda_bytes(), secret);
            assert_eq!(of(name, kind), Ok(expected), "{name}: {why}");
        }
        let tables = ["first_messages", "jobs", "messages", "order", "runs"];
        for (part, _, names) in PARAMETERS {
            assert_eq!(part == Part::Table, tables.iter().any(|table| names.contains(table)), "{names:?}");
            // Everything else that comes by value is a number or written down above.
            let is_written_down = |name: &&str| BY_HAND.iter().any(|(by_hand, ..)| by_hand == name);
            assert!(!matches!(part, Part::Keys | Part::All) || names.iter().all(is_written_down), "{names:?}");
        }
        for table in tables {
            assert_eq!(of(table, Kind::Buffer), Ok(Secrets::default().table()), "{table}: it describes the work");
        }
        // Of another kind it would be something else.
        for (name, kind) in
            [("new", Kind::Words(4)), ("new", Kind::Buffer), ("counter", Kind::Buffer), ("order", Kind::U32)]
        {
            assert!(of(name, kind).unwrap_err().contains("say in"), "{name}, {kind:?}");
        }
    }

    /// Every parameter of every stored entry point is listed, and no other.
    #[test]
    fn every_parameter_is_listed() {
        let (kernels, opencl) = (kernels::cuda(), kernels::opencl());
        let manifests = kernels.iter().chain(&opencl).map(|kernel| kernel.manifest.entries());
        let (hashes, opencl) = (kernels::cuda_hashes(), kernels::opencl_hashes());
        let of_hashes = hashes.iter().chain(&opencl).map(|hash| hash.manifest.entries());
        let papers = crate::constant_time::papers();
        let entries: Vec<&EntryPoint> = manifests
            .flatten()
            .chain(of_hashes.flatten())
            .map(|(_, entry)| entry)
            .chain(papers.iter().flat_map(|(.., entries)| entries))
            .collect();
        entries.iter().for_each(|entry| _ = secrets(entry).unwrap());
        let taken = entries.iter().flat_map(|entry| &entry.parameters).map(|one| (kind(one.kind), one.name.as_str()));
        let listed = PARAMETERS.iter().flat_map(|(_, kind, names)| names.iter().map(|name| (*kind, *name)));
        assert_eq!(taken.collect::<BTreeSet<_>>(), listed.collect::<BTreeSet<_>>());
    }

    /// What ends a decryption may branch once by its verdict, and do nothing else; others must write secrets, and be found guilty of a
    /// planted look-up.
    #[test]
    fn verdicts_and_planted_leaks() {
        let entry = |name: &str| EntryPoint { name: name.into(), parameters: vec![] };
        let finding =
            |instruction: &str, what| aes_bitslice_taint::Finding { line: 1, instruction: instruction.into(), what };
        let branch = finding("@%p1 bra L", "its predicate is secret");
        let address = finding("ld.shared.u32 %r1, [%r2]", "an address depends on a secret");
        let store = finding("@%p1 st.global.u32 [%rd1], 0", "its predicate is secret");
        let judged = |name: &str, findings: &[aes_bitslice_taint::Finding], stores, sees: bool| {
            let report = |findings: &[_]| Report {
                instructions: 1,
                secret: 1,
                secret_stores: stores,
                findings: findings.to_vec(),
            };
            let mut check = |text: &str, _: &EntryPoint| {
                let is_planted = sees && text.contains("shfl");
                Ok(report(if is_planted { std::slice::from_ref(&address) } else { findings }))
            };
            judge("st.global.u32 [%rd1], %r1;\n", &[entry(name)], &mut check, in_ptx)
        };
        assert!(judged("k", &[], 1, true).is_ok());
        for (findings, stores, sees, says) in [
            (&[address.clone()][..], 1, true, "not constant-time"),
            (std::slice::from_ref(&branch), 1, true, "not constant-time"),
            (&[], 0, true, "lost it on the way"),
            (&[], 1, false, "planted"),
        ] {
            let error = judged("k", findings, stores, sees).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(judged("k_clear", std::slice::from_ref(&branch), 0, false).is_ok());
        for (findings, says) in [
            (&[][..], "0 branches"),
            (&[branch.clone(), branch.clone()], "2 branches"),
            (&[branch.clone(), address.clone()], "more than its verdict"),
            (&[branch.clone(), store], "more than its verdict"),
        ] {
            let error = judged("k_clear", findings, 1, true).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
