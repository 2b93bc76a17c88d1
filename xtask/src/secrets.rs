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

/// The buffers that describe the work: where messages and jobs are, which counters and additional data they have, and their order. They are
/// public, except counters that are read by coherent loads.
const TABLES: [&str; 5] = ["messages", "first_messages", "jobs", "runs", "order"];

/// The secret parts of an entry point's parameters. Words with an unknown name are secret.
pub fn secrets(entry: &EntryPoint) -> Secrets {
    entry.parameters.iter().fold(Secrets::default(), |secrets, parameter| {
        let bytes = parameter.kind.cuda_bytes();
        if parameter.kind == Kind::Buffer && TABLES.contains(&parameter.name.as_str()) {
            return secrets.table();
        }
        let secret = match (parameter.kind, parameter.name.as_str()) {
            (Kind::Words(_), "iv" | "counter" | "first_unit") => 0..0,
            // The last word is the number of rounds.
            (Kind::Words(words), "keys" | "tweak_keys") => 0..4 * (words - 1),
            (Kind::Words(words), _) => 0..4 * words,
            _ => 0..0,
        };
        secrets.parameter(bytes, secret)
    })
}

/// Whether an entry point ends a decryption: it may branch on whether the tag matches, which the caller learns.
fn gives_a_verdict(entry: &EntryPoint) -> bool {
    entry.name.ends_with("_clear")
}

/// Follows the secrets of these entry points through PTX.
pub fn intermediate(text: &str, entries: &[EntryPoint]) -> Result<Vec<Report>> {
    judge(text, entries, &mut |text, entry| ptx::check(text, &entry.name, &secrets(entry)), in_ptx)
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
    sass::check(listing, &entry.name, &secrets(entry), &shared)
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
