//! Kernels that are not the runtime's ciphers, compiled by the C compiler and run on the CPU: one thread after the other, each thread block
//! twice, so that what its threads share is there the second time.

use aes_bitslice_core::aes::{KeySchedule, cipher};
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{Access, CompiledC, Launch};
use aes_bitslice_papers::kernels::representation::Representation;
use aes_bitslice_papers::kernels::{AddKeyStream, Form, Lfsr, OnPlanes, Without, WordMajor};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// A program's output for an input with this many thread blocks; `None` without a C compiler.
fn run(
    source: &str,
    entry: &str,
    threads: u32,
    blocks: u32,
    count: u64,
    input: &[u8],
    bytes: usize,
) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (c, program) = (folder.path().join("program.c"), folder.path().join("program"));
    let main = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n\
         static void meet(u32 neighbours) {{ (void)neighbours; }}\n\
         static u32 from_lane(u32 value, u32 thread) {{ (void)thread; return value; }}\n\
         static u64 in[{}], out[{}];\n\
         int main(void) {{\n\
             if (fread(in, 1, {}, stdin) != {}) return 2;\n\
             gridDim.x = {blocks};\n\
             for (u32 b = 0; b < {blocks}; b++)\n\
                 for (int twice = 0; twice < 2; twice++)\n\
                     for (u32 t = 0; t < {threads}; t++) {{\n\
                         blockIdx.x = b;\n\
                         threadIdx.x = t;\n\
                         {entry}(in, out, {count});\n\
                     }}\n\
             return fwrite(out, 1, {bytes}, stdout) == {bytes} ? 0 : 3;\n\
         }}\n",
        input.len().div_ceil(8),
        bytes.div_ceil(8),
        input.len(),
        input.len(),
    );
    fs::write(&c, [source, &main].concat()).unwrap();
    let Ok(compiled) = Command::new("cc").args(["-std=gnu11", "-O1", "-w", "-o"]).args([&program, &c]).output() else {
        eprintln!("there is no C compiler: programs were not tested");
        return None;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes_in = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes_in).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", output.status);
    Some(output.stdout)
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

#[test]
fn representations() {
    // Two thread blocks.
    let input = noise(2 * 128 * 512);
    for changes in [1, 3] {
        let source = Representation { changes }.source();
        let count = (input.len() / 16) as u64;
        let Some(output) = run(&source, Representation::ENTRY, 128, 2, count, &input, input.len()) else { return };
        assert!(output == Representation::expected(&input), "{changes} changes");
    }
}

#[test]
fn shift_registers() {
    let filling = [Form::Parallel, Form::Bitsliced { lanes: 16 }, Form::Bitsliced { lanes: 32 }];
    for lfsr in filling.map(|form| Lfsr::filling(form, 256 << 10)).into_iter().chain([Lfsr::PAPER, Lfsr::SINGLE]) {
        for lfsr in [lfsr, Lfsr { sums: true, ..lfsr }] {
            let input = noise(lfsr.input_bytes());
            let (blocks, bytes) = (lfsr.thread_blocks, lfsr.output_bytes());
            let output = run(&lfsr.source(), Lfsr::ENTRY, lfsr.threads, blocks, lfsr.turns, &input, bytes);
            let Some(output) = output else { return };
            assert!(output == lfsr.expected(&input), "{lfsr:?}");
        }
    }
}

/// Over two thread blocks, the second not full.
#[test]
fn a_key_stream_is_added() {
    let blocks = AddKeyStream::THREADS as usize + 44;
    let input = noise(2 * 16 * blocks);
    let (data, stream) = input.split_at(16 * blocks);
    let expected: Vec<u8> = data.iter().zip(stream).map(|(data, stream)| data ^ stream).collect();
    let (source, threads) = (AddKeyStream.source(), AddKeyStream::THREADS);
    let output = run(&source, AddKeyStream::ENTRY, threads, 2, blocks as u64, &input, expected.len());
    assert!(output.is_none_or(|output| output == expected));
}

/// Blocks in the order of their words.
fn word_major(data: &[u8]) -> Vec<u8> {
    let word = |c: usize| data.chunks(16).flat_map(move |block| block[4 * c..4 * c + 4].to_vec());
    (0..4).flat_map(word).collect()
}

/// The blocks of words in that order.
fn blocks_of(words: &[u8]) -> Vec<u8> {
    let blocks = words.len() / 16;
    (0..blocks).flat_map(|i| (0..4).flat_map(move |c| words[4 * (c * blocks + i)..][..4].to_vec())).collect()
}

/// CBC decryption in two launches, the first of which leaves the second its IV; together they do what one does.
fn two_launches(source: &str, iv: &[u8], data: &[u8], expected: &[u8]) {
    // Neither fills whole thread blocks.
    let (first, second) = data.split_at(16 * 300);
    let mut before = iv.to_vec();
    let mut output = Vec::new();
    for part in [first, second] {
        let input = [before, word_major(part)].concat();
        let count = (part.len() / 16) as u64;
        let launch = run(source, WordMajor::ENTRY, WordMajor::THREADS, 2, count, &input, part.len() + 16);
        let launch = launch.expect("the C compiler is there");
        let (words, left) = launch.split_at(part.len());
        output.extend(blocks_of(words));
        before = left.to_vec();
    }
    assert!(output == expected);
}

#[test]
fn words_column_major() {
    let (key, iv) = (noise(16), noise(32)[16..].to_vec());
    // More than one thread block, the last of which is not full.
    let blocks = 512 + 77;
    let data = noise(16 * blocks);
    assert!(blocks_of(&word_major(&data)) == data);
    for mode in [Mode::EcbEncrypt, Mode::CbcDecrypt] {
        let direction = mode.direction();
        let schedule = KeySchedule::new(&key, direction).unwrap();
        let mut expected: Vec<u8> = data
            .chunks(16)
            .flat_map(|block| cipher::process(block.try_into().unwrap(), &schedule, direction))
            .collect();
        let mut input = word_major(&data);
        let mut left = Vec::new();
        if mode == Mode::CbcDecrypt {
            let before = iv.iter().chain(&data);
            expected.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
            input = [iv.clone(), input].concat();
            left = data[16 * (blocks - 1)..].to_vec();
        }
        let expected = [word_major(&expected), left].concat();
        let source = WordMajor::new(mode).unwrap().source(&key).unwrap();
        let run = run(&source, WordMajor::ENTRY, WordMajor::THREADS, 2, blocks as u64, &input, expected.len());
        let Some(output) = run else { return };
        assert!(output == expected, "{mode}");
        if mode == Mode::CbcDecrypt {
            two_launches(&source, &iv, &data, &blocks_of(&expected[..16 * blocks]));
        }
    }
    assert!(WordMajor::new(Mode::Ctr).is_none() && WordMajor::new(Mode::EcbEncrypt).unwrap().source(&[0; 5]).is_none());
}

/// The kernel on planes, whose threads wait for one another: over two thread blocks, the second not full.
#[test]
fn planes_to_planes() {
    let key = noise(16);
    let data = noise(16 * (2048 + 320));
    let schedule = KeySchedule::new(&key, OnPlanes::MODE.direction()).unwrap();
    let of_block = |block: &[u8; 16]| cipher::process(*block, &schedule, OnPlanes::MODE.direction());
    let expected: Vec<u8> = data.as_chunks::<16>().0.iter().flat_map(of_block).collect();
    let (input, expected) = (OnPlanes::of(&data), OnPlanes::of(&expected));
    let Some(output) = run_blocks(&OnPlanes.print(&key, "a test").unwrap(), &input) else { return };
    assert!(output == expected);
    assert!(OnPlanes.print(&[0; 5], "a test").is_none());
}

/// A kernel with a key in it, whose threads wait for one another; `None` without a C compiler.
fn run_blocks(Printed { source, manifest }: &Printed, data: &[u8]) -> Option<Vec<u8>> {
    let (access, warps) = (Access::Aligned, 1);
    let launch = Launch { access, in_place: false, start: 0, skip: 0, key: &[], tweaks: None, tiles: 1, warps, data };
    CompiledC::compile(source, manifest).unwrap().map(|mut kernel| kernel.run(&launch).unwrap())
}

/// The kernel without a layer computes what is left of the cipher: over two thread blocks, the second not full.
#[test]
fn without_a_layer() {
    let (key, data) = (noise(16), noise(16 * (2048 + 333)));
    let mut outputs = Vec::new();
    for without in Without::ALL {
        let printed = without.print(&key, "a test").unwrap();
        printed.manifest.check_source(&printed.source).unwrap();
        let Some(output) = run_blocks(&printed, &data) else { return };
        assert!(output == without.expected(&key, &data).unwrap(), "{without:?}");
        assert!(!outputs.contains(&output), "{without:?} leaves out nothing");
        outputs.push(output);
        assert!(without.print(&[0; 5], "a test").is_none());
    }
}
