//! Whether anything of a key can be read from a CUDA GPU after the engine that had it was dropped: allocates all available memory, reads
//! all of it, and searches for the key, its round keys and their planes. Exits with 1 if it finds any.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-evidence-gpu --bin after_drop            # must find nothing
//! cargo run --release -p aes-bitslice-evidence-gpu --bin after_drop -- planted # must find what is planted
//! ```

use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::layout;
use aes_bitslice_runtime::cuda::cudarc::driver::CudaContext;
use aes_bitslice_runtime::{Backend, Engine, Error, GcmEncrypt, Key, Nonce};
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::reference::noise;
use std::process::ExitCode;

/// Bytes read at a time.
const PIECE: usize = 256 << 20;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let planted = std::env::args().nth(1).is_some_and(|argument| argument == "planted");
    let key = noise(0xdead, 32);
    // The process keeps the context, so that freed memory remains the process's to allocate again.
    let context = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Err(e @ Error::CudaUnavailable { .. }) => {
            println!("nothing to search here: {e}");
            return Ok(ExitCode::SUCCESS);
        }
        engine => uses(engine?, &key)?,
    };
    let stream = context.new_stream()?;
    if planted {
        drop(stream.clone_htod(&key.repeat(1000))?);
        stream.synchronize()?;
    }
    let needles = needles(&key);
    let (mut held, mut found, mut searched) = (vec![], 0, 0);
    let mut piece = PIECE;
    while piece >= 1 << 20 {
        // SAFETY: the memory is read as bytes, for which every value is valid.
        match unsafe { stream.alloc::<u8>(piece) } {
            Ok(memory) => {
                let bytes = stream.clone_dtoh(&memory)?;
                searched += bytes.len();
                for (name, at) in find(&bytes, &needles) {
                    found += 1;
                    println!("{name}: at byte {at} of piece {}", held.len());
                }
                held.push(memory);
            }
            Err(_) => piece /= 2,
        }
    }
    println!("{} MiB of device memory searched for {} things: {found} found", searched >> 20, needles.len());
    Ok(if found > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Calls under the key on data in host memory, of the raw modes and GCM; then everything except the context is dropped.
fn uses(engine: Engine, key: &[u8]) -> Result<std::sync::Arc<CudaContext>, Box<dyn std::error::Error>> {
    let context = engine.cuda_context()?;
    let cipher = engine.cipher(&Key::new(key)?)?;
    for any in AnyOperation::all([7; 16], 0) {
        let mut data = noise(1, 1 << 20);
        any.run(&cipher, &mut data)?;
    }
    cipher.run(GcmEncrypt::new(&Nonce::new(&[1; 12])?, b""), &mut noise(2, 1 << 20))?;
    Ok(context)
}

fn needles(key: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut needles = vec![("the key".to_string(), key.to_vec()), ("half of the key".into(), key[..16].to_vec())];
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let schedule = KeySchedule::new(key, direction).expect("32 bytes");
        for (round, round_key) in schedule.round_keys().iter().enumerate() {
            needles.push((format!("round key {round} of {direction:?}"), round_key.to_vec()));
            let planes = layout::key_planes(round_key);
            let bytes: Vec<u8> = planes[..32].iter().flat_map(|plane| plane.to_le_bytes()).collect();
            needles.push((format!("planes of round key {round} of {direction:?}"), bytes));
        }
        let basis = aes_bitslice_gen::sbox::LUT3.basis(direction);
        for basis in [basis.into(), aes_bitslice_gen::linear::key_basis(direction, basis)] {
            let words = layout::key_words(&schedule, basis);
            for (round, words) in words.iter().enumerate() {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                needles.push((format!("round key {round} of {direction:?} in a basis of the kernels"), bytes));
            }
        }
    }
    needles
}

/// The first position of each needle in each thread's share of the bytes.
fn find<'n>(bytes: &[u8], needles: &'n [(String, Vec<u8>)]) -> Vec<(&'n str, usize)> {
    let longest = needles.iter().map(|(_, needle)| needle.len()).max().unwrap_or(0);
    let share = bytes.len().div_ceil(std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    std::thread::scope(|scope| {
        let search = |start: usize| {
            let end = (start + share + longest).min(bytes.len());
            scope
                .spawn(move || find_in_one(&bytes[start..end], needles).into_iter().map(move |(n, at)| (n, start + at)))
        };
        let threads: Vec<_> = (0..bytes.len()).step_by(share).map(search).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

fn find_in_one<'n>(bytes: &[u8], needles: &'n [(String, Vec<u8>)]) -> Vec<(&'n str, usize)> {
    const PAGE: usize = 4096;
    let first_two = |bytes: &[u8]| usize::from(bytes[0]) | usize::from(bytes[1]) << 8;
    let mut begins = vec![false; 1 << 16];
    needles.iter().for_each(|(_, needle)| begins[first_two(needle)] = true);
    let longest = needles.iter().map(|(_, needle)| needle.len()).max().unwrap_or(0);
    let mut found: Vec<(&str, usize)> = Vec::new();
    for (number, page) in bytes.chunks(PAGE).enumerate() {
        let start = number * PAGE;
        // Most memory that was never used is zero. Some planes are, too: what begins here continues after the page.
        let after = &bytes[(start + PAGE).min(bytes.len())..(start + PAGE + longest).min(bytes.len())];
        if page.iter().chain(after).all(|&byte| byte == 0) {
            continue;
        }
        for at in start..(start + page.len()).min(bytes.len() - 1) {
            if !begins[first_two(&bytes[at..])] {
                continue;
            }
            for (name, needle) in needles {
                if bytes[at..].starts_with(needle) && !found.iter().any(|(known, _)| known == name) {
                    found.push((name, at));
                }
            }
        }
    }
    found
}
