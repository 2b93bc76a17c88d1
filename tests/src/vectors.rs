//! The published vectors (`vectors/SOURCES.md`), read into one form. They are part of the binary, so that a test binary
//! runs on a machine that has nothing else.

/// How a vector uses the cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Each block by itself (SP 800-38A, section 6.1).
    Ecb,
    /// Cipher block chaining from this initialization vector (SP 800-38A, section 6.2).
    Cbc([u8; 16]),
    /// Counter mode from this initial counter block (SP 800-38A, section 6.5).
    Ctr([u8; 16]),
}

/// Both sides of one message under one key. Every vector is valid in both directions.
pub struct Vector {
    /// File and place in it.
    pub source: String,
    /// The mode, with its counter block or initialization vector.
    pub mode: Mode,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// As long as the ciphertext.
    pub plaintext: Vec<u8>,
    /// As long as the plaintext.
    pub ciphertext: Vec<u8>,
}

/// A worked example that shows the state after every step of the rounds.
pub struct Trace {
    /// The example's heading.
    pub source: String,
    /// `true` for the inverse cipher (FIPS 197, section 5.3).
    pub inverse: bool,
    /// 16, 24 or 32 bytes.
    pub key: Vec<u8>,
    /// The input, block by block.
    pub input: Vec<[u8; 16]>,
    /// For each block, the state after each step in order.
    pub states: Vec<Vec<[u8; 16]>>,
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../vectors/", $folder, "/", $name)).as_slice())),*]
    };
}

const CAVP_KAT: [(&str, &[u8]); 24] = files!("nist-cavp-kat":
    "CBCGFSbox128.rsp" "CBCGFSbox192.rsp" "CBCGFSbox256.rsp" "CBCKeySbox128.rsp" "CBCKeySbox192.rsp" "CBCKeySbox256.rsp"
    "CBCVarKey128.rsp" "CBCVarKey192.rsp" "CBCVarKey256.rsp" "CBCVarTxt128.rsp" "CBCVarTxt192.rsp" "CBCVarTxt256.rsp"
    "ECBGFSbox128.rsp" "ECBGFSbox192.rsp" "ECBGFSbox256.rsp" "ECBKeySbox128.rsp" "ECBKeySbox192.rsp" "ECBKeySbox256.rsp"
    "ECBVarKey128.rsp" "ECBVarKey192.rsp" "ECBVarKey256.rsp" "ECBVarTxt128.rsp" "ECBVarTxt192.rsp" "ECBVarTxt256.rsp");
const CAVP_MMT: [(&str, &[u8]); 6] = files!("nist-cavp-mmt":
    "CBCMMT128.rsp" "CBCMMT192.rsp" "CBCMMT256.rsp" "ECBMMT128.rsp" "ECBMMT192.rsp" "ECBMMT256.rsp");
const EXAMPLES: [(&str, &[u8]); 6] = files!("nist-examples":
    "AES_Core128.txt" "AES_Core192.txt" "AES_Core256.txt" "AES_ECB.txt" "AES_CBC.txt" "AES_CTR.txt");
const NESSIE: [(&str, &[u8]); 3] = files!("rustcrypto-nessie-ecb": "aes128.blb" "aes192.blb" "aes256.blb");
const CTR: [(&str, &[u8]); 2] = files!("rustcrypto-ctr": "aes128-ctr.blb" "aes256-ctr.blb");

/// NIST's CAVP: GFSbox, KeySbox, VarKey, VarTxt and multi-block messages, ECB and CBC.
pub fn cavp() -> Vec<Vector> {
    CAVP_KAT.iter().chain(&CAVP_MMT).flat_map(|(name, file)| responses(name, file)).collect()
}

/// NIST's worked examples, ECB, CBC and CTR.
pub fn examples() -> Vec<Vector> {
    EXAMPLES.iter().flat_map(|(name, file)| example(name, file)).collect()
}

/// NESSIE, ECB.
pub fn nessie() -> Vec<Vector> {
    NESSIE.iter().flat_map(|(name, file)| blobs(name, file, false)).collect()
}

/// Long CTR messages.
pub fn ctr() -> Vec<Vector> {
    CTR.iter().flat_map(|(name, file)| blobs(name, file, true)).collect()
}

/// The worked examples with every round's state.
pub fn traces() -> Vec<Trace> {
    EXAMPLES.iter().filter(|(name, _)| name.starts_with("AES_Core")).flat_map(|(_, file)| core_traces(file)).collect()
}

fn text(file: &[u8]) -> &str {
    std::str::from_utf8(file).expect("a text file")
}

fn hex(digits: &str) -> Vec<u8> {
    hex::decode(digits).unwrap_or_else(|e| panic!("{digits}: {e}"))
}

fn block(bytes: &[u8]) -> [u8; 16] {
    bytes.try_into().expect("16 bytes")
}

/// CAVP response files: `NAME = VALUE` lines, a blank line after each case.
fn responses(name: &str, file: &[u8]) -> Vec<Vector> {
    let text = text(file).replace('\r', "");
    let cases = text.split("\n\n").filter(|case| case.starts_with("COUNT"));
    let read = |case: &str| {
        let find = |name: &str| {
            case.lines().find_map(|line| line.split_once(" = ").filter(|(n, _)| *n == name)).map(|(_, value)| value)
        };
        let field = |name: &str| find(name).unwrap_or_else(|| panic!("no {name} in {case}"));
        Vector {
            source: format!("{name} COUNT = {}", field("COUNT")),
            mode: find("IV").map_or(Mode::Ecb, |iv| Mode::Cbc(block(&hex(iv)))),
            key: hex(field("KEY")),
            plaintext: hex(field("PLAINTEXT")),
            ciphertext: hex(field("CIPHERTEXT")),
        }
    };
    cases.map(read).collect()
}

/// One labelled run of bytes in the text of a worked example.
type Field<'a> = (&'a str, Vec<u8>);

/// Reads the text of a worked example: words of eight hexadecimal digits belong to the label in front of them, or to
/// the last one above. Rules and page breaks are ignored.
fn fields(file: &[u8]) -> Vec<Field<'_>> {
    let mut fields: Vec<Field> = Vec::new();
    for line in text(file).lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(['-', '#', '*', '='])) {
        let is_data = |word: &str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let label_len = line.split_inclusive(' ').take_while(|w| !is_data(w.trim())).map(str::len).sum();
        let (label, data) = line.split_at(label_len);
        if !label.is_empty() {
            fields.push((label.trim(), Vec::new()));
        }
        let (_, bytes) = fields.last_mut().expect("a label before the first data");
        bytes.extend(hex(&data.replace(' ', "")));
    }
    fields
}

/// The examples in a file, each with its heading (`ECB-AES128 (Encryption)`) as the first field; before them,
/// everything above the first heading.
fn sections<'a, 'f>(fields: &'a [Field<'f>]) -> impl Iterator<Item = &'a [Field<'f>]> {
    fields.chunk_by(|_, (label, _)| !label.ends_with("cryption)"))
}

/// The bytes of the first field with this label.
fn find<'a>(fields: &'a [Field<'_>], label: &str) -> Option<&'a [u8]> {
    fields.iter().find(|(l, _)| *l == label).map(|(_, bytes)| bytes.as_slice())
}

fn example(name: &str, file: &[u8]) -> Vec<Vector> {
    let fields = fields(file);
    let counter = find(&fields, "Initial Counter is").map(|counter| Mode::Ctr(block(counter)));
    let iv = find(&fields, "IV is").map(|iv| Mode::Cbc(block(iv)));
    let mode = counter.or(iv).unwrap_or(Mode::Ecb);
    let read = |section: &[Field]| {
        let get = |label| find(section, label).unwrap_or_else(|| panic!("no {label} in {name}")).to_vec();
        Vector {
            source: format!("{name} {}", section[0].0),
            mode,
            key: get("Key is"),
            plaintext: get("Plaintext is"),
            ciphertext: get("Ciphertext is"),
        }
    };
    sections(&fields).skip(1).map(read).collect()
}

fn core_traces(file: &[u8]) -> Vec<Trace> {
    const STEPS: [&str; 5] = ["KeyAddition", "Substitution", "ShiftRow", "MixColumn", "InvMixColumn"];
    let fields = fields(file);
    let read = |section: &[Field]| {
        let inverse = section[0].0.ends_with("(Decryption)");
        let input = find(section, if inverse { "Ciphertext is" } else { "Plaintext is" }).expect("input");
        let states = section.iter().filter(|(label, _)| STEPS.contains(label)).flat_map(|(_, bytes)| bytes);
        let states: Vec<u8> = states.copied().collect();
        let input: Vec<_> = input.chunks(16).map(block).collect();
        Trace {
            source: section[0].0.into(),
            inverse,
            key: find(section, "Key is").expect("a key").to_vec(),
            states: states.chunks(states.len() / input.len()).map(|s| s.chunks(16).map(block).collect()).collect(),
            input,
        }
    };
    sections(&fields).skip(1).map(read).collect()
}

/// RustCrypto's blobby files: key, for CTR the counter block, plaintext, ciphertext; and again.
fn blobs(name: &str, file: &[u8], ctr: bool) -> Vec<Vector> {
    let blobs = blobby::parse_into_vec(file).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let case = |(i, case): (usize, &[&[u8]])| Vector {
        source: format!("{name} #{i}"),
        mode: if ctr { Mode::Ctr(block(case[1])) } else { Mode::Ecb },
        key: case[0].to_vec(),
        plaintext: case[case.len() - 2].to_vec(),
        ciphertext: case[case.len() - 1].to_vec(),
    };
    blobs.chunks(if ctr { 4 } else { 3 }).enumerate().map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{REQUIRE_GPU, is_set, say};

    /// A parser that skips what it does not understand would silently weaken every test that uses it.
    #[test]
    fn nothing_is_skipped() {
        let count = |pattern: &str, file: &[u8]| text(file).matches(pattern).count();
        let cases: usize = CAVP_KAT.iter().chain(&CAVP_MMT).map(|(_, file)| count("COUNT =", file)).sum();
        let headings: usize = EXAMPLES.iter().map(|(_, file)| count("cryption)", file)).sum();
        assert_eq!((cavp().len(), cases), (cases, 2 * 2138));
        assert_eq!((examples().len(), headings), (headings, 24));
        let chained = |vectors: Vec<Vector>| vectors.iter().filter(|v| matches!(v.mode, Mode::Cbc(_))).count();
        assert_eq!((chained(cavp()), chained(examples())), (2138, 6));
        assert_eq!((nessie().len(), ctr().len()), (1028 + 1156 + 1284, 2));
        for v in cavp().into_iter().chain(examples()).chain(nessie()).chain(ctr()) {
            assert!([16, 24, 32].contains(&v.key.len()), "{}", v.source);
            assert!(!v.plaintext.is_empty() && v.plaintext.len() == v.ciphertext.len(), "{}", v.source);
        }
        for trace in traces() {
            assert_eq!(trace.input.len(), 4);
            // An initial key addition, four steps in each round but the last, three in that one.
            assert!(trace.states.iter().all(|s| s.len() == trace.key.len() + 24), "{}", trace.source);
        }
        assert_eq!(traces().len(), 6);
    }

    /// Every file in the folder is one of those above, or a kept sealed file, which the tests of these have a list of. A binary that was taken to a GPU machine has no folder with it.
    #[test]
    fn no_file_is_forgotten() {
        let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors"));
        if is_set(REQUIRE_GPU) && !folder.exists() {
            say("THE FOLDER OF VECTORS IS NOT HERE: THAT EVERY FILE IN IT IS READ WAS NOT TESTED");
            return;
        }
        let list = |folder: &std::path::Path| std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
        let files =
            list(folder).filter(|f| f.is_dir() && !f.ends_with("sealed")).flat_map(|f| list(&f).collect::<Vec<_>>());
        let names = files.map(|f| f.file_name().unwrap().to_str().unwrap().to_owned());
        let mut names = names.filter(|f| f != "LICENSE-MIT").collect::<Vec<_>>();
        let read = CAVP_KAT.iter().chain(&CAVP_MMT).chain(&EXAMPLES).chain(&NESSIE).chain(&CTR);
        let read = read.map(|(name, _)| (*name).to_owned()).chain(crate::cavp::files());
        let mut read = read.chain(crate::wycheproof::files()).chain(crate::acvp::files()).collect::<Vec<_>>();
        names.sort_unstable();
        read.sort_unstable();
        assert_eq!(names, read, "in the folder, and read");
    }
}
