//! The header for kernels of other programs, compiled as C++ for the CPU: round keys made on the host, and encryption by one thread.

use aes_bitslice_core::aes::{Direction, KeySchedule, cipher};
use aes_bitslice_core::layout::Layout;
use aes_bitslice_gen::emit::device;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Encrypts 32 blocks from standard input under the key before them, whose length is the argument. A thread block has one thread.
const PROGRAM: &str = r#"
#include "aes_bitslice_device.cuh"
#include <cstdio>
#include <cstdlib>
// Macros and names outside the namespace are the program's.
#define THREADS 7
typedef float u32;

namespace aes_bitslice {
[[maybe_unused]] static void meet(unsigned) {}
[[maybe_unused]] static unsigned from_lane(unsigned value, unsigned) { return value; }
}

int main(int, char **arguments) {
    namespace aes = aes_bitslice;
    unsigned char key[64], blocks[32][16];
    const int key_bytes = std::atoi(arguments[1]);
    if (std::fread(key, 1, key_bytes, stdin) != (size_t)key_bytes || std::fread(blocks, 1, 512, stdin) != 512) return 1;
    static aes::key_memory memory;
    aes::round_keys keys;
    if (!aes::expand_key(&keys, key, key_bytes)) return 2;
    aes::blockDim.x = 1;
    const aes::cipher_key shared = aes::share_keys(&memory, &keys);
    unsigned words[128];
    for (int j = 0; j < 32; j++)
        for (int i = 0; i < 4; i++)
            words[32 * i + j] = blocks[j][4 * i] | blocks[j][4 * i + 1] << 8 | blocks[j][4 * i + 2] << 16 | (unsigned)blocks[j][4 * i + 3] << 24;
    aes::encrypt(words, shared);
    for (int j = 0; j < 32; j++)
        for (int i = 0; i < 16; i++) blocks[j][i] = (unsigned char)(words[32 * (i / 4) + j] >> 8 * (i % 4));
    std::fwrite(blocks, 1, 512, stdout);
}
"#;

#[test]
fn a_program_that_includes_it_encrypts() {
    let folder = TempDir::new().unwrap();
    let [header, source, program] =
        ["aes_bitslice_device.cuh", "program.cpp", "program"].map(|name| folder.path().join(name));
    std::fs::write(header, device::print(Layout::State, "a test")).unwrap();
    std::fs::write(&source, PROGRAM).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let options =
        ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-variable", "-o"];
    match Command::new(&compiler).args(options).arg(&program).arg(source).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let _ = writeln!(std::io::stderr(), "\nnot tested: there is no compiler of C++");
            return;
        }
        compiled => assert!(compiled.unwrap().success()),
    }
    for key_bytes in [16, 24, 32, 15, 33] {
        let bytes: Vec<u8> = (0..key_bytes + 512).map(|i| (i * i * 7 + i / 3 + key_bytes) as u8).collect();
        let mut run = Command::new(&program);
        run.arg(key_bytes.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut run = run.spawn().unwrap();
        run.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = run.wait_with_output().unwrap();
        let (key, blocks) = bytes.split_at(key_bytes);
        let Some(schedule) = KeySchedule::new(key, Direction::Encrypt) else {
            assert_eq!(output.status.code(), Some(2), "{key_bytes} bytes are no key");
            continue;
        };
        let encrypted = |block: &[u8; 16]| cipher::process(*block, &schedule, Direction::Encrypt);
        let expected: Vec<[u8; 16]> = blocks.as_chunks().0.iter().map(encrypted).collect();
        assert_eq!(output.stdout, expected.as_flattened(), "a key of {key_bytes} bytes");
    }
}
