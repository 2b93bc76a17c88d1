//! `seal` and `open`: what comes back, what is refused and how, and that nothing half finished is left.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use aes_bitslice_runtime::{Backend, Engine};
use aes_bitslice_seal::tink::{self, Keyset};
use common::{Folder, message, names, program, said};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn folder(len: usize) -> Folder {
    let folder = Folder::new();
    folder.write("data", message(len));
    folder.write("words", "correct horse\nmore\n");
    folder
}

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = program(arguments);
    command.env("KEY", KEY).current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &str) -> Output {
    command(folder, arguments).output().unwrap()
}

fn succeed(folder: &Path, arguments: &str) -> Vec<u8> {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    output.stdout
}

/// The message of a failure, of one line, after a check that no output was made.
fn fail(folder: &Path, arguments: &str, code: i32) -> String {
    let before = names(folder);
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {output:?}");
    assert_eq!(names(folder), before, "{arguments}");
    let text = said(&output);
    let errors: Vec<_> = text.lines().filter(|line| line.contains("error: ")).collect();
    assert_eq!(errors.len(), 1, "{text}");
    errors[0].to_owned()
}

#[test]
fn what_was_sealed_is_opened() {
    for len in [0, 1, 5000, (3 << 20) + 7] {
        let folder = folder(len);
        let data = folder.read("data");
        for secret in ["--key-env KEY", "--passphrase-file words -q", "--key-env KEY --format tink --associated-data x"]
        {
            succeed(&folder, &format!("seal {secret} -f -o sealed data"));
            succeed(&folder, &format!("open {secret} -f -o opened sealed"));
            assert!(folder.read("opened") == data, "{secret}");
            assert!(succeed(&folder, &format!("open {secret} sealed")) == data);
            if len > 100 {
                let part = succeed(&folder, &format!("open {secret} --range 40..{} sealed", len - 3));
                assert!(part == data[40..len - 3], "{secret}");
            }
        }
        // Through pipes.
        let mut sealing = command(&folder, "seal --key-env KEY");
        let sealed = sealing.stdin(fs::File::open(folder.join("data")).unwrap()).output().unwrap().stdout;
        folder.write("piped", sealed);
        let mut opening = command(&folder, "open --key-env KEY -");
        let opened = opening.stdin(fs::File::open(folder.join("piped")).unwrap()).output().unwrap().stdout;
        assert!(opened == data);
    }
}

#[test]
fn what_was_changed_or_is_another_is_refused() {
    let folder = folder((2 << 20) + 100);
    succeed(&folder, "seal --key-env KEY -o sealed data");
    let open = |key: &str, from: &str, code| {
        let before = names(&folder);
        let output =
            command(&folder, &format!("open --key-env KEY -o opened {from}")).env("KEY", key).output().unwrap();
        assert_eq!((output.status.code(), names(&folder)), (Some(code), before), "{output:?}");
        said(&output).to_string()
    };
    assert!(open(&KEY.replace("00", "ff"), "sealed", 3).contains("wrong key"));
    assert!(open(&KEY[..32], "sealed", 3).contains("256 bits"));
    assert!(open(KEY, "data", 1).contains("not a sealed file"));
    let sealed = folder.read("sealed");
    for at in [3, 8, 30, 60, 95, 100, 140, 1 << 20, sealed.len() - 1] {
        let mut changed = sealed.clone();
        changed[at] ^= 0x10;
        folder.write("changed", changed);
        let said = open(KEY, "changed", 1);
        assert!(!said.contains("wrong key"), "byte {at}: {said}");
    }
    for len in [0, 50, 96, 135, 152, 1 << 20, sealed.len() - 1] {
        folder.write("cut", &sealed[..len]);
        open(KEY, "cut", 1);
    }
    assert!(fail(&folder, "open --passphrase-file words -o opened sealed", 3).contains("sealed with a key"));
    succeed(&folder, "seal --passphrase-file words -o by-words data");
    folder.write("others", "correct house");
    assert!(fail(&folder, "open --passphrase-file others -o opened by-words", 3).contains("wrong passphrase"));
    assert!(fail(&folder, "open --key-env KEY -o opened by-words", 3).contains("sealed with a passphrase"));
}

#[test]
fn bad_options_are_refused_with_a_line() {
    let folder = folder(100);
    succeed(&folder, "seal --key-env KEY -o sealed data");
    folder.write("large", vec![b'a'; (1 << 20) + 1]);
    for (arguments, code, says) in [
        ("seal data", 2, "--key-file"),
        ("seal --key-env KEY --passphrase-file words data", 2, "cannot be used with"),
        ("seal --key-env KEY --associated-data x data", 2, "--format tink"),
        ("seal --keyset words data", 2, "--format tink"),
        ("seal --format tink --keyset words data", 3, "not a usable Tink keyset"),
        ("seal --format tink --passphrase-file words data", 2, "no passphrase"),
        ("seal --passphrase data", 3, "--passphrase-file"),
        ("seal --passphrase-file none data", 3, "the file of --passphrase-file: there is no such file"),
        ("seal --passphrase-file large data", 3, "too large"),
        ("seal --key-env KEY none", 4, "none"),
        ("seal --key-env KEY -o sealed data", 4, "exists already"),
        ("open --key-env KEY --range 6..5 sealed", 2, "END not before START"),
        ("open --key-env KEY --range 0..101 sealed", 2, "the message has 100 bytes: there is no range 0..101 in it"),
        ("open --key-env KEY --range 5000.. sealed", 2, "the message has 100 bytes: there is no range 5000.. in it"),
        ("seal -k - -", 2, "not both"),
        ("seal --passphrase-file - -", 2, "not both"),
        ("seal --format tink --keyset -", 2, "not both"),
        (
            "seal --passphrase-file - data",
            3,
            "standard input (--passphrase-file): its first line, which is the passphrase, is empty",
        ),
        ("seal --passphrase-file words --key-format raw data", 2, "cannot be used with '--key-format"),
        ("seal --key-env KEY --key-format raw data", 2, "use --key-file for a raw key"),
    ] {
        // Without a terminal to ask on.
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(common::PROGRAM).args(arguments.split(' '));
        let output = command.env("KEY", KEY).current_dir(&folder).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.code() == Some(code) && said(&output).contains(says), "{arguments}: {output:?}");
    }
}

/// A passphrase that an editor or a shell changed would open nothing elsewhere.
#[test]
fn a_passphrase_file_that_is_no_plain_text_is_refused() {
    let folder = folder(100);
    let utf_16 =
        |mark: &[u8]| [mark, &"correct horse".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat();
    for (text, says) in [
        ("\u{feff}correct horse\n".as_bytes().to_vec(), "`other`: it begins with a byte order mark, EF BB BF"),
        (b"correct\0horse\n".to_vec(), "`other`: its first line has a NUL byte"),
        (utf_16(b""), "`other`: it is UTF-16"),
        (utf_16(b"\xff\xfe"), "`other`: it is UTF-16"),
        (b"correct h\xf6rse\n".to_vec(), "`other`: it is not UTF-8: save it"),
        (b"\ncorrect horse\n".to_vec(), "`other`: its first line, which is the passphrase, is empty"),
    ] {
        folder.write("other", text);
        let said = fail(&folder, "seal -q --passphrase-file other -o sealed data", 3);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_file_of_a_secret_has_at_most_1_mib() {
    let folder = folder(100);
    let words = |length: usize| folder.write("large", [&b"correct horse\n"[..], &vec![b' '; length - 14]].concat());
    words(1 << 20);
    succeed(&folder, "seal -q --passphrase-file large -o sealed data");
    succeed(&folder, "open -q --passphrase-file words -o opened sealed");
    words((1 << 20) + 1);
    assert!(fail(&folder, "seal -q --passphrase-file large -o other data", 3).contains("too large"));
}

/// By whatever name it is called.
#[test]
fn standard_input_is_not_both_secret_and_data() {
    let folder = folder(100);
    for name in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        for arguments in [
            format!("seal -q -k {name}"),
            format!("seal -q -k - {name}"),
            format!("seal -q --passphrase-file {name}"),
            format!("seal -q --format tink --keyset {name} -"),
            format!("open -q -k {name}"),
            format!("encrypt -q -m ctr -k {name}"),
            format!("decrypt -q -m ctr -k {name} -"),
        ] {
            let output = common::pipe(command(&folder, &arguments), format!("{KEY}\nand data").as_bytes());
            assert!(output.status.code() == Some(2) && said(&output).contains("not both"), "{arguments}: {output:?}");
            // A file as standard input, too.
            let mut command = command(&folder, &arguments);
            let output = command.stdin(fs::File::open(folder.join("words")).unwrap()).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments}");
        }
        // One of the two.
        let line = format!("seal -q -k {name} data");
        let sealed = common::bytes(command(&folder, &line), KEY.as_bytes());
        assert!(sealed.starts_with(b"AESBSEAL"), "{line}");
    }
}

#[test]
fn what_tink_wrote_is_opened() {
    let tink = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../aes-bitslice-seal/tests/tink"));
    let opened = succeed(
        tink,
        "open -q --format tink --keyset aes256-4kb.json --associated-data associated aes256-4kb-10000.bin",
    );
    let expected: Vec<u8> = (0..10000_u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect();
    assert!(opened == expected);
    let said = fail(tink, "open -q --format tink --keyset aes256-4kb.json aes256-4kb-10000.bin", 1);
    assert!(said.contains("damaged") || said.contains("associated"), "{said}");
}

#[test]
fn what_the_data_is_sealed_with_is_not_replaced() {
    let folder = folder(100);
    folder.write("key", KEY);
    let keyset = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../aes-bitslice-seal/tests/tink/aes256-1mb.json"));
    fs::copy(keyset, folder.join("keyset")).unwrap();
    std::os::unix::fs::symlink("key", folder.join("link")).unwrap();
    succeed(&folder, "seal -q --passphrase-file words -o sealed data");
    for (arguments, file, what) in [
        ("seal -f -k key -o key data", "key", "key"),
        ("seal -f -k key -o link data", "key", "key"),
        ("seal -f -k link -o key data", "key", "key"),
        ("seal -f --passphrase-file words -o words data", "words", "passphrase"),
        ("open -f --passphrase-file words -o words sealed", "words", "passphrase"),
        ("seal -f --format tink --keyset keyset -o keyset data", "keyset", "keyset"),
    ] {
        let before = folder.read(file);
        let says = format!("is the file with the {what}; choose another output");
        assert!(fail(&folder, arguments, 4).contains(&says), "{arguments}");
        assert!(folder.read(file) == before, "{arguments}");
    }
    // As standard output, too.
    for arguments in ["seal -k key data", "seal -k key -o - data"] {
        let mut command = command(&folder, arguments);
        let output =
            command.stdout(fs::OpenOptions::new().append(true).open(folder.join("key")).unwrap()).output().unwrap();
        assert_eq!((output.status.code(), fs::read_to_string(folder.join("key")).unwrap().as_str()), (Some(4), KEY));
    }
}

/// Some users put the secret where its file belongs.
#[test]
fn a_secret_in_the_place_of_its_file_is_not_shown() {
    let folder = folder(100);
    let words = "correct-horse-battery";
    for option in ["--passphrase-file", "--format tink --keyset"] {
        for secret in [words, KEY] {
            let said = fail(&folder, &format!("seal {option} {secret} data"), 3);
            assert!(!said.contains(secret) && said.contains("the file of --"), "{said}");
        }
    }
}

#[test]
fn a_passphrase_comes_out_of_a_pipe() {
    let folder = folder(100);
    let data = folder.read("data");
    succeed(&folder, "seal -q --passphrase-file words -o sealed data");
    let opened = common::pipe(command(&folder, "open -q --passphrase-file /dev/stdin sealed"), b"correct horse\nx");
    assert!(opened.status.success() && opened.stdout == data, "{opened:?}");
    let opened = common::pipe(command(&folder, "open -q --passphrase-file - sealed"), b"correct horse\nx");
    assert!(opened.status.success() && opened.stdout == data, "{opened:?}");
}

#[test]
fn a_key_of_bytes() {
    let folder = folder(100);
    folder.write("raw", common::unhex(KEY));
    for digits in [KEY.to_string(), format!("{KEY}\n")] {
        folder.write("digits", digits);
        let said = fail(&folder, "seal -q -k digits --key-format raw -o sealed data", 3);
        assert!(said.ends_with("these are hexadecimal digits; leave --key-format raw out"), "{said}");
    }
    succeed(&folder, "seal -q -k raw --key-format raw -o sealed data");
    assert!(succeed(&folder, "open -q --key-env KEY sealed") == folder.read("data"));
    assert!(succeed(&folder, "open -q -k raw --key-format raw sealed") == folder.read("data"));
}

/// If the first bytes tell which of the two formats it is.
#[test]
fn the_other_format_is_named() {
    let folder = folder(100);
    succeed(&folder, "seal --key-env KEY -o sealed data");
    succeed(&folder, "seal --key-env KEY --format tink -o stream data");
    let said = fail(&folder, "open --key-env KEY -o opened stream", 1);
    assert!(
        said.ends_with("this is not a sealed file; it may be a Tink stream; if it is, add --format tink"),
        "{said}"
    );
    for range in ["", "--range 1..2"] {
        let said = fail(&folder, &format!("open --key-env KEY --format tink {range} -o opened sealed"), 1);
        assert!(
            said.ends_with("this is a sealed file, and not a Tink stream alone; leave --format tink out"),
            "{said}"
        );
    }
    // Of several keys, the program finds the one that opens the first segment.
    let tink = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../aes-bitslice-seal/tests/tink"));
    let [one, other] = ["aes256-1mb", "aes256-4kb"].map(|name| {
        let text = fs::read_to_string(tink.join(name).with_extension("json")).unwrap();
        text[text.find('[').unwrap() + 1..text.rfind(']').unwrap()].to_owned()
    });
    let id: String = one.split("\"keyId\":").nth(1).unwrap().chars().filter(char::is_ascii_digit).collect();
    folder.write("two", format!("{{\"primaryKeyId\": {id}, \"key\": [{one}, {other}]}}"));
    let said = fail(&folder, "open --keyset two --format tink -o opened sealed", 1);
    assert!(said.contains("leave --format tink out"), "{said}");
}

/// Before the end is checked, the length of a message is only what the file says.
#[test]
fn the_length_of_a_message() {
    for len in [0, 1, 5000, (3 << 20) + 7] {
        let folder = folder(len);
        for options in ["--key-env KEY", "--key-env KEY --format tink"] {
            succeed(&folder, &format!("seal -f {options} -o sealed data"));
            let said = succeed(&folder, &format!("open {options} --message-bytes sealed"));
            assert_eq!(String::from_utf8(said).unwrap(), format!("{len}\n"), "{options}");
            // It is authentic.
            let mut sealed = folder.read("sealed");
            *sealed.last_mut().unwrap() ^= 1;
            folder.write("changed", &sealed);
            let said = fail(&folder, &format!("open {options} --message-bytes changed"), 1);
            assert!(said.contains("segment"), "{said}");
        }
    }
    let folder = folder(100);
    fail(&folder, "open --key-env KEY --message-bytes -o part data", 2);
    fail(&folder, "open --key-env KEY --message-bytes --range 0..1 data", 2);
}

#[test]
fn a_range_beyond_the_end_of_a_file_that_was_cut() {
    let folder = folder((2 << 20) + 100);
    for (options, says) in [("--key-env KEY", "damaged"), ("--key-env KEY --format tink", "or the keyset, the key or")]
    {
        succeed(&folder, &format!("seal -q -f {options} -o sealed data"));
        let sealed = folder.read("sealed");
        let open =
            |range: &str, code| fail(&folder, &format!("open -q {options} --range {range} -o opened sealed"), code);
        let outside = "the message has 2097252 bytes: there is no range 3000000..3000001 in it";
        assert!(open("3000000..3000001", 2).contains(outside));
        for range in ["0..0", "2097252..2097252", "1100000..1100000"] {
            assert_eq!(succeed(&folder, &format!("open -q {options} --range {range} sealed")), b"", "{range}");
        }
        for length in [sealed.len() - 1, 1 << 20, 500] {
            folder.write("sealed", &sealed[..length]);
            let said = open("3000000..3000001", 1);
            assert!(said.contains("segment") && said.contains(says), "{said}");
        }
        // An empty range is in a segment, too.
        let mut changed = sealed.clone();
        changed[500] ^= 1;
        folder.write("sealed", &changed);
        assert!(open("0..0", 1).contains("segment 0 is damaged"));
        assert_eq!(succeed(&folder, &format!("open -q {options} --range 1100000..1100000 sealed")), b"");
    }
}

/// Nothing of a chunk that has a changed segment, nor of anything after it.
#[test]
fn what_standard_output_gets_before_a_changed_segment() {
    let folder = folder(9 << 20);
    let data = folder.read("data");
    succeed(&folder, "seal -q --key-env KEY -o sealed data");
    let mut sealed = folder.read("sealed");
    for chunk in [1, 3] {
        for segment in [0, 1, 5, 8] {
            let at = (segment << 20) + 500;
            sealed[at] ^= 1;
            folder.write("changed", &sealed);
            sealed[at] ^= 1;
            // One worker goes from front to back: everything before the chunk is out.
            let workers = if segment == 5 { "--workers 1" } else { "" };
            let output =
                run(&folder, &format!("open -q --key-env KEY --chunk-bytes {} {workers} changed", chunk << 20));
            assert_eq!(output.status.code(), Some(1));
            assert!(said(&output).contains(&format!("segment {segment} is damaged")), "{}", said(&output));
            // A segment has a tag, and the first the header of the stream.
            let before = (segment / chunk * chunk * ((1 << 20) - 16)).saturating_sub(40);
            let written = output.stdout.len();
            assert!(written <= before && (workers.is_empty() || written == before), "segment {segment}: {written}");
            assert!(output.stdout == data[..written]);
        }
    }
}

/// Of several that were changed the first is named, however many are opened at a time.
#[test]
fn the_first_changed_segment_is_named() {
    let folder = folder((9 << 20) + 100);
    succeed(&folder, "seal -q --key-env KEY -o sealed data");
    let mut sealed = folder.read("sealed");
    for segment in 3..9 {
        sealed[(segment << 20) + 500] ^= 1;
    }
    folder.write("changed", &sealed);
    for way in ["", "--chunk-bytes 1048576 --workers 8", "--chunk-bytes 2097152 --workers 3"] {
        for _ in 0..3 {
            let told = fail(&folder, &format!("open -q --key-env KEY {way} -o opened changed"), 1);
            assert!(told.contains("segment 3 is damaged"), "{way}: {told}");
            let output = common::pipe(command(&folder, &format!("open -q --key-env KEY {way}")), &sealed);
            assert!(said(&output).contains("segment 3 is damaged"), "{way}, piped: {}", said(&output));
        }
    }
}

/// The ways a stream of segments of 4 KiB is cut and written.
const WAYS: [&str; 4] = [
    "--chunk-bytes 4096 --workers 3 --write-by map",
    "--chunk-bytes 12288 --workers 2 --write-by write",
    "",
    "--backend cpu-bitsliced --chunk-bytes 8192",
];

fn keyset(name: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../aes-bitslice-seal/tests/tink")).join(name);
    fs::read_to_string(path.with_extension("json")).unwrap()
}

/// Around the ends of segments and of chunks, from files and pipes, into files and pipes: the command gives what the library gives, which
/// goes from a reader to a writer.
#[test]
fn chunks_of_any_number_of_segments() {
    let text = keyset("aes256-4kb");
    let engine = Engine::open(Backend::Cpu).unwrap();
    let library = Keyset::from_json(&text).unwrap();
    let whole = 4096 - 16;
    for len in [0, 1, whole - 41, whole - 40, whole - 39, 3 * whole - 40, 3 * whole - 39, 6 * whole - 40, 7 * whole + 5]
    {
        let folder = folder(len);
        folder.write("keyset", &text);
        let data = folder.read("data");
        let mut of_library = vec![];
        tink::encrypt(&engine, &library, b"", &data[..], &mut of_library).unwrap();
        folder.write("stream", &of_library);
        for way in WAYS {
            let options = format!("-q --format tink --keyset keyset {way}");
            succeed(&folder, &format!("seal {options} -f -o sealed data"));
            let piped = common::bytes(command(&folder, &format!("seal {options}")), &data);
            for sealed in [folder.read("sealed"), piped] {
                assert_eq!(sealed.len(), of_library.len());
                let mut opened = vec![];
                tink::decrypt(&engine, &library, b"", &sealed[..], &mut opened).unwrap();
                assert!(opened == data, "{len} bytes, {way}");
            }
            succeed(&folder, &format!("open {options} -f -o opened stream"));
            assert!(folder.read("opened") == data, "{len} bytes, {way}");
            let opened = common::bytes(command(&folder, &format!("open {options}")), &of_library);
            assert!(opened == data, "{len} bytes, {way}");
            let edges = [
                0,
                1,
                whole - 40,
                whole - 39,
                3 * whole - 41,
                3 * whole - 40,
                6 * whole - 40,
                len.saturating_sub(1),
                len,
            ];
            let edges: Vec<_> = edges.into_iter().filter(|edge| *edge <= len).collect();
            for (n, start) in edges.iter().enumerate() {
                let end = edges[edges.len() - 1 - n / 2].max(*start);
                succeed(&folder, &format!("open {options} -f --range {start}..{end} -o part stream"));
                assert!(folder.read("part") == data[*start..end], "{start}..{end} of {len}, {way}");
            }
        }
    }
}

/// To find the key, more than a chunk is read from a pipe.
#[test]
fn several_keys_and_a_pipe() {
    let [one, other] = ["aes256-1mb", "aes256-4kb"].map(|name| {
        let text = keyset(name);
        text[text.find('[').unwrap() + 1..text.rfind(']').unwrap()].to_owned()
    });
    let id: String = one.split("\"keyId\":").nth(1).unwrap().chars().filter(char::is_ascii_digit).collect();
    for len in [100, 10_000, 3 << 20] {
        let folder = folder(len);
        folder.write("keyset", keyset("aes256-4kb"));
        folder.write("two", format!("{{\"primaryKeyId\": {id}, \"key\": [{one}, {other}]}}"));
        succeed(&folder, "seal -q --format tink --keyset keyset -o stream data");
        let (data, stream) = (folder.read("data"), folder.read("stream"));
        for way in WAYS {
            let options = format!("open -q --format tink --keyset two {way}");
            assert!(common::bytes(command(&folder, &options), &stream) == data, "{len} bytes, {way}");
            assert!(succeed(&folder, &format!("{options} stream")) == data, "{len} bytes, {way}");
        }
    }
}

/// If an engine is lost, no output is left; a range needs an input that can be read from any byte on.
#[test]
fn what_fails_on_the_way() {
    let folder = folder(1 << 20);
    succeed(&folder, "seal -q --key-env KEY -o sealed data");
    for arguments in
        ["seal -q --key-env KEY --fail-at 500000 -o new data", "open -q --key-env KEY --fail-at 5 -o new sealed"]
    {
        assert!(fail(&folder, arguments, 1).contains("CUDA_ERROR_DEVICE_UNAVAILABLE"));
    }
    let output = common::pipe(command(&folder, "open -q --key-env KEY --range 1..2"), b"AESBSEAL");
    let why = "--range needs an input that can be read from any byte on";
    assert!(output.status.code() == Some(4) && said(&output).contains(why), "{output:?}");
}
