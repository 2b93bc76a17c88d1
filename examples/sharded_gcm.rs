//! Authenticated encryption of data that is sharded over the memory of several GPUs. Then the speed of CTR and GCM on 1, 2, 4, ... GPUs:
//! whole calls in place, by the host's clock.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example sharded_gcm             # sizes up to 1 GiB
//! cargo run --release -p aes-bitslice-runtime --example sharded_gcm -- 16GiB    # if one GPU has room for it
//! ```

use aes_bitslice_runtime::cuda::{ShardedBuffer, Shares};
use aes_bitslice_runtime::{
    Backend, Cipher, Counter, Ctr, Engine, Error, GcmDecrypt, GcmEncrypt, Key, KeyBits, Nonce, Tag,
};
use std::time::{Duration, Instant};

const RUNS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let all = match Engine::open(Backend::CudaAll) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU, and shows more with several: {error}");
            return Ok(());
        }
    };
    let most = std::env::args()
        .nth(1)
        .map_or(Some(1 << 30), |size| Some(size.strip_suffix("GiB")?.parse::<usize>().ok()? << 30));
    let most = most.filter(|most| (1 << 30..64 << 30).contains(most)).ok_or("give a size below 64GiB, as in 16GiB")?;

    // Encrypt. The call returns when all GPUs are done, with one tag for the data on all of them.
    let (key, nonce) = (Key::generate(KeyBits::Aes256)?, Nonce::random()?);
    let cipher = all.cipher(&key)?;
    let message: Vec<u8> = (0..100_000_000).map(|i: u32| (i % 251) as u8).collect();
    let mut data = all.sharded(message.len())?;
    data.copy_from_host(0, &message)?;
    let tag = cipher.sharded()?.run(GcmEncrypt::new(&nonce, b"a header"), &mut data)?;

    // The CPU decrypts it: the same ciphertext, the same tag.
    let mut received = vec![0; message.len()];
    data.copy_to_host(0, &mut received)?;
    let cpu = Engine::open(Backend::Cpu)?.cipher(&key)?;
    cpu.run(GcmDecrypt::new(&nonce, b"a header", &tag), &mut received)?;
    assert!(received == message);
    println!("{} bytes encrypted on {}, and decrypted on the CPU: {tag:?}", message.len(), all.description());

    let gpus = all.cuda_contexts()?.len();
    println!("Tbit/s, median of {RUNS}:");
    println!("{:>12} {:>5} {:>5} {:>8} {:>8} {:>8}", "bytes", "key", "GPUs", "CTR", "GCM", "GCM open");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        for len in (26..).step_by(2).map(|log| 1 << log).take_while(|&len| len <= most) {
            for count in (0..).map(|log| 1 << log).take_while(|&count| count <= gpus) {
                let engine = Engine::multi(&(0..count).collect::<Vec<_>>(), Shares::default())?;
                // A key for each mode: counters of CTR and nonces of GCM do not know of one another.
                let (ctr, gcm) = (engine.cipher(&Key::generate(bits)?)?, engine.cipher(&Key::generate(bits)?)?);
                let rates = Gpus { ctr, gcm, data: engine.sharded(len)? }.rates()?.map(|rate| format!("{rate:>8.2}"));
                println!("{len:>12} {:>5} {count:>5} {}", bits.bits(), rates.join(" "));
            }
        }
    }
    Ok(())
}

/// Sharded data, and ciphers on the GPUs that hold it.
struct Gpus {
    ctr: Cipher,
    gcm: Cipher,
    data: ShardedBuffer,
}

impl Gpus {
    /// Encrypts and authenticates the data.
    fn encrypt(&mut self, nonce: &Nonce) -> Result<Tag, Error> {
        self.gcm.sharded()?.run(GcmEncrypt::new(nonce, &[]), &mut self.data)
    }

    /// Tbit/s of CTR, and of GCM encryption and decryption, from the median of calls. Each message has its own counter or nonce.
    fn rates(&mut self) -> Result<[f64; 3], Error> {
        let ctr = self.rate(|gpus| {
            let counter = Counter::random()?;
            timed(|| gpus.ctr.sharded()?.run(Ctr::new(&counter, 0), &mut gpus.data))
        })?;
        let encrypt = self.rate(|gpus| {
            let nonce = Nonce::random()?;
            timed(|| gpus.encrypt(&nonce))
        })?;
        let decrypt = self.rate(|gpus| {
            let nonce = Nonce::random()?;
            let tag = gpus.encrypt(&nonce)?;
            timed(|| gpus.gcm.sharded()?.run(GcmDecrypt::new(&nonce, &[], &tag), &mut gpus.data))
        })?;
        Ok([ctr, encrypt, decrypt])
    }

    /// Tbit/s, from the median of what `turn` times, after two turns to warm up.
    fn rate(&mut self, mut turn: impl FnMut(&mut Self) -> Result<Duration, Error>) -> Result<f64, Error> {
        let mut times = (0..RUNS + 2).map(|_| turn(self)).collect::<Result<Vec<_>, _>>()?;
        times.drain(..2);
        times.sort();
        Ok(8.0 * self.data.len() as f64 / times[RUNS / 2].as_secs_f64() / 1e12)
    }
}

/// The time of a call that returns when the GPUs are done.
fn timed<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<Duration, Error> {
    let start = Instant::now();
    call()?;
    Ok(start.elapsed())
}
