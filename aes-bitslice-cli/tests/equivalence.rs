//! However a stream is cut, read, shared between threads and written, its bytes are those of one call of the reference
//! engine.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::process::Stdio;
use std::thread;

use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Engine, Key, Xts};
use common::{Folder, KEYS, KEYS_OF_XTS, folder_in_memory, message, program, unhex};

/// Marsaglia's xorshift64: the same cases in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Through {
    Pipe,
    /// Standard input in the middle of a file; standard output in the middle of one.
    Standard,
    File,
}

#[derive(Clone, Debug)]
struct Case {
    key: &'static str,
    mode: &'static str,
    /// Bytes of a sector of XTS, and the number of the first.
    sectors: (usize, u128),
    padded: bool,
    iv: [u8; 16],
    /// In front of the ciphertext.
    iv_is_stored: bool,
    length: usize,
    backend: &'static str,
    /// Whether files are written through mappings.
    maps: bool,
    options: String,
    input: Through,
    output: Through,
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let mode = random.one_of(&["ctr", "cbc", "ecb", "xts"]);
        let padded = ["cbc", "ecb"].contains(&mode) && random.below(2) == 0;
        let chunk = 16 * random.one_of(&[1, 2, 3, 16, 255, 256, 257, 4096]);
        // Near an edge of a chunk, or anywhere.
        let length = match random.below(3) {
            0 => (chunk * random.below(5) + random.below(35)).saturating_sub(17),
            1 => random.below(100),
            _ => random.below((chunk * 40).min(300_000)),
        };
        let sectors = (random.one_of(&[16, 17, 512, 520, 4096, 1 << 20]), u128::from(u64::MAX) - 1);
        let workers = 1 + random.below(8);
        let maps = random.below(2) == 0;
        let way = if maps { "map" } else { "write" };
        Case {
            key: if mode == "xts" { random.one_of(&KEYS_OF_XTS) } else { random.one_of(&KEYS) },
            mode,
            sectors,
            padded,
            // Mostly ones, so that counters wrap.
            iv: [(); 16].map(|()| random.below(768).min(0xff) as u8),
            iv_is_stored: ["ctr", "cbc"].contains(&mode) && random.below(2) == 0,
            length: match mode {
                "xts" if (1..16).contains(&(length % sectors.0)) => length - length % sectors.0,
                "ctr" | "xts" => length,
                _ if padded => length,
                _ => length / 16 * 16,
            },
            backend: random.one_of(&["cpu", "cpu", "cpu-bitsliced"]),
            maps,
            options: format!("--chunk-bytes {chunk} --workers {workers} --write-by {way}"),
            input: random.one_of(&[Through::Pipe, Through::Standard, Through::File, Through::File]),
            output: random.one_of(&[Through::Pipe, Through::Standard, Through::File, Through::File]),
        }
    }

    /// The reference's output for it in one call, in place.
    fn expected(&self, iv: &[u8; 16], plain: &[u8]) -> Vec<u8> {
        let key = match self.mode {
            "xts" => Key::xts(&unhex(self.key)).unwrap(),
            _ => Key::from_hex(self.key).unwrap(),
        };
        let cipher: Cipher = Engine::open(Backend::Cpu).unwrap().cipher(&key).unwrap();
        let mut data = plain.to_vec();
        if self.padded {
            let added = 16 - data.len() % 16;
            data.resize(data.len() + added, added as u8);
        }
        match self.mode {
            "ctr" => cipher.ctr_apply(&Counter::new(CounterMode::Ctr128BE, *iv), 0, &mut data).unwrap(),
            "cbc" => cipher.cbc_encrypt(iv, &mut data).unwrap(),
            "xts" => {
                let (bytes, first) = self.sectors;
                cipher.run(Xts::encrypt(bytes as u64, first).unwrap(), &mut data).unwrap();
            }
            _ => cipher.ecb_encrypt(&mut data).unwrap(),
        }
        data
    }

    fn run(&self, direction: &str, iv: &str, input: &[u8], in_memory: Option<&Folder>) -> Vec<u8> {
        let folder = match in_memory.filter(|_| self.maps) {
            Some(in_memory) => Folder::new_in(in_memory),
            None => Folder::new(),
        };
        let at = |name: &str| folder.join(name);
        let Case { mode, backend, options, .. } = self;
        let more = match self.sectors {
            (bytes, first) if *mode == "xts" => format!("--sector-size {bytes} --first-sector {first}"),
            _ if self.padded => "--padding pkcs7".into(),
            _ => String::new(),
        };
        let arguments = format!("{direction} --mode {mode} {more} {iv} --backend {backend} --key-env KEY {options}");
        let mut command = program(&arguments);
        command.env("KEY", self.key).current_dir(&folder);

        let front: &[u8] = if self.input == Through::Standard { b"before" } else { b"" };
        fs::write(at("in"), [front, input].concat()).unwrap();
        match self.input {
            Through::Pipe => _ = command.stdin(Stdio::piped()),
            Through::File => _ = command.arg("in"),
            Through::Standard => {
                let mut file = File::open(at("in")).unwrap();
                file.seek(SeekFrom::Start(front.len() as u64)).unwrap();
                command.stdin(file);
            }
        }
        fs::write(at("after"), "before").unwrap();
        match self.output {
            Through::Pipe => _ = command.stdout(Stdio::piped()),
            Through::File => _ = command.args(["-o", "out"]),
            Through::Standard => _ = command.stdout(OpenOptions::new().append(true).open(at("after")).unwrap()),
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let output = thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            child.wait_with_output().unwrap()
        });
        assert!(output.status.success() && output.stderr.is_empty(), "{self:?} {direction}: {output:?}");
        match self.output {
            Through::Pipe => output.stdout,
            Through::File => fs::read(at("out")).unwrap(),
            Through::Standard => fs::read(at("after")).unwrap().strip_prefix(b"before").unwrap().to_vec(),
        }
    }
}

#[test]
fn however_it_is_done_the_bytes_are_the_same() {
    let in_memory = folder_in_memory();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..500 {
        let case = Case::random(&mut random);
        let plain = message(case.length);
        let digits: String = case.iv.iter().map(|byte| format!("{byte:02x}")).collect();
        let (to_encrypt, to_decrypt) = match case.mode {
            "ecb" | "xts" => (String::new(), String::new()),
            _ if case.iv_is_stored => ("--iv random".into(), "--iv stored".into()),
            _ => (format!("--iv {digits}"), format!("--iv {digits}")),
        };
        let output = case.run("encrypt", &to_encrypt, &plain, in_memory.as_ref());
        let (iv, body) = if case.iv_is_stored {
            output.split_first_chunk().map(|(iv, body)| (*iv, body)).unwrap()
        } else {
            (case.iv, &output[..])
        };
        assert!(body == case.expected(&iv, &plain), "{number}: {case:?}");
        assert!(case.run("decrypt", &to_decrypt, &output, in_memory.as_ref()) == plain, "{number}, back: {case:?}");
    }
}
