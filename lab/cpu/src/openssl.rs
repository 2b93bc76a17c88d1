//! OpenSSL's calls, in a Python process that answers a line with a line.

use crate::{Mode, Row};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

const SCRIPT: &str = include_str!("openssl.py");

pub struct Child {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    pub version: String,
}

impl Child {
    pub fn new(python: &str) -> Self {
        let child = Command::new(python).args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let child = child.expect("Python");
        let (to, from) = (child.stdin.expect("a pipe"), BufReader::new(child.stdout.expect("a pipe")));
        let mut child = Self { to, from, version: String::new() };
        child.version = child.line();
        child
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("a line");
        line.trim_end().into()
    }

    fn ask(&mut self, what: &str, row: Row) -> String {
        let (mode, unit) = match row.mode {
            Mode::Gcm => ("gcm", 0),
            Mode::GcmMessages(bytes) | Mode::GcmArrays(bytes) => ("gcm-messages", bytes),
            Mode::GcmDecryption => ("gcm-decryption", 0),
            Mode::Gmac => ("gmac", 0),
            Mode::GcmSiv => ("gcm-siv", 0),
            Mode::Cmac => ("cmac", row.bytes),
            Mode::CmacMessages(bytes) => ("cmac", bytes),
            Mode::Ctr => ("ctr", 0),
            Mode::Ecb => ("ecb", 0),
            Mode::CbcDecryption => ("cbc-decryption", 0),
            Mode::Xts(unit) => ("xts", unit),
        };
        writeln!(self.to, "{what} {mode} {} {} {unit}", row.key, row.bytes).expect("it reads");
        self.line()
    }

    /// The tag of call 5, or zeros; `None` for what it does not have.
    pub fn output(&mut self, row: Row) -> Option<[u8; 16]> {
        let answer = self.ask("output", row);
        (answer != "none").then(|| u128::from_str_radix(&answer, 16).expect("a number").to_be_bytes())
    }

    /// The seconds of a call, in several windows.
    pub fn times(&mut self, row: Row) -> Vec<f64> {
        self.ask("times", row).split(' ').map(|time| time.parse().expect("a number")).collect()
    }
}
