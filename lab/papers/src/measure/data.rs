//! Random input, and a mode's output for it under a key, computed by the engine `cpu`, which tests compare with other
//! implementations.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::cuda::DeviceCipher;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Engine, Key, Keystream};
use anyhow::{Result, anyhow, bail};

/// The initial counter block, or IV: near the end of its low 64 bits, so that a carry is checked, too.
const START: [u8; 16] = *b"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xff\xff\xff\xff\xff\xff\xfe\x00";

/// Random keys, one of each length.
pub struct Keys([Key; 3]);

impl Keys {
    /// Generates new keys.
    pub fn generate() -> Result<Self> {
        let [a, b, c] = KeyBits::ALL.map(Key::generate);
        Ok(Self([a?, b?, c?]))
    }

    /// The key of a length.
    pub fn get(&self, bits: KeyBits) -> &Key {
        &self.0[bits as usize]
    }
}

/// Input of the largest size, and one mode's output for it under one of the keys.
pub struct Data {
    /// Random bytes.
    pub input: Vec<u8>,
    /// Room for an output.
    pub output: Vec<u8>,
    expected: Vec<u8>,
    /// The mode of the expected output, and the key's length.
    computed: Option<(Mode, KeyBits)>,
    /// Ciphers with a key of each length.
    references: [Cipher; 3],
}

impl Data {
    /// Random input of this number of bytes.
    pub fn new(keys: &Keys, bytes: usize) -> Result<Self> {
        let cpu = Engine::open(Backend::Cpu)?;
        let [mut input, mut output, mut expected] = [const { Vec::new() }; 3];
        for buffer in [&mut input, &mut output, &mut expected] {
            let reserved = buffer.try_reserve_exact(bytes);
            reserved.map_err(|_| anyhow!("not enough memory for three buffers of {bytes} bytes"))?;
            buffer.resize(bytes, 0);
        }
        // A key stream is as good as random bytes, and fast.
        let random = cpu.cipher(&Key::generate(KeyBits::Aes128)?)?;
        random.ctr_apply(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0, &mut input)?;
        let [a, b, c] = KeyBits::ALL.map(|bits| cpu.cipher(keys.get(bits)));
        Ok(Self { input, output, expected, computed: None, references: [a?, b?, c?] })
    }

    /// Computes the expected output of a mode with the key of a length, unless it is there.
    pub fn expect(&mut self, mode: Mode, key_bits: KeyBits) -> Result<()> {
        if self.computed == Some((mode, key_bits)) {
            return Ok(());
        }
        let Data { input, expected, references, .. } = self;
        let reference = &references[key_bits as usize];
        self.computed = None;
        match mode {
            Mode::EcbEncrypt => reference.ecb_encrypt_to(input, expected)?,
            Mode::EcbDecrypt => reference.ecb_decrypt_to(input, expected)?,
            Mode::Ctr => reference.ctr_apply_to(&counter(), 0, input, expected)?,
            Mode::Keystream => {
                expected.fill(0);
                reference.ctr_apply(&counter(), 0, expected)?;
            }
            Mode::CbcDecrypt => {
                // SP 800-38A, section 6.2.
                reference.ecb_decrypt_to(input, expected)?;
                let xor = |bytes: &mut [u8], previous: &[u8]| bytes.iter_mut().zip(previous).for_each(|(b, p)| *b ^= p);
                let (first, others) = expected.split_at_mut(START.len());
                xor(first, &START);
                xor(others, input);
            }
            other => bail!("nothing is known of what {other} makes of data"),
        }
        self.computed = Some((mode, key_bits));
        Ok(())
    }

    /// The expected output.
    pub fn expected(&self) -> &[u8] {
        &self.expected
    }

    /// Returns an error if `output` is not the mode's output for the input from byte `at` on.
    pub fn check(&self, output: &[u8], at: usize) -> Result<()> {
        let expected = &self.expected[at..at + output.len()];
        if output != expected {
            let first = output.iter().zip(expected).position(|(ours, theirs)| ours != theirs).unwrap_or(0);
            bail!("the output is wrong: byte {} of {} is the first that differs", at + first, at + output.len());
        }
        Ok(())
    }

    /// The block that CBC needs before byte `at`: the ciphertext block that ends there.
    pub fn before(&self, at: usize) -> [u8; 16] {
        at.checked_sub(16).map_or(START, |begin| std::array::from_fn(|i| self.input[begin + i]))
    }
}

/// The counter that CTR starts from.
pub fn counter() -> Counter {
    Counter::new(CounterMode::Ctr128BE, START)
}

/// One expression for the operation of any mode, `operation` in it: on data that begins at byte `at`, after the block
/// [`before`](Data::before). Returns an error for a mode that is in no paper.
macro_rules! operation_of {
    ($mode:expr, $at:expr, $before:expr, $operation:ident => $call:expr) => {{
        use aes_bitslice_core::mode::Mode;
        match $mode {
            Mode::EcbEncrypt => {
                let $operation = aes_bitslice_runtime::Ecb::encrypt();
                $call
            }
            Mode::EcbDecrypt => {
                let $operation = aes_bitslice_runtime::Ecb::decrypt();
                $call
            }
            Mode::Ctr => {
                let $operation = aes_bitslice_runtime::Ctr::new(&crate::measure::data::counter(), $at);
                $call
            }
            Mode::CbcDecrypt => {
                let $operation = aes_bitslice_runtime::CbcDecrypt::new(&$before);
                $call
            }
            other => anyhow::bail!("{other} is in no paper"),
        }
    }};
}
pub(super) use operation_of;

/// Submits a mode's operation on a part of the data to a stream; the part begins at byte `at`, and `before` is the block
/// [before](Data::before) it.
pub fn apply<S: DevicePtr<u8>, D: DevicePtrMut<u8>>(
    device: &DeviceCipher,
    mode: Mode,
    stream: &CudaStream,
    (at, before): (usize, [u8; 16]),
    input: &S,
    output: &mut D,
) -> Result<()> {
    if mode == Mode::Keystream {
        // It reads nothing.
        return Ok(device.run(stream, Keystream::new(&counter(), at as u64), output)?);
    }
    operation_of!(mode, at as u64, before, operation => device.run(stream, operation, (input, output))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys(KeyBits::ALL.map(|bits| Key::new(&[7; 32][..bits.bytes()]).unwrap()))
    }

    /// CBC decryption of data that was encrypted block after block.
    #[test]
    fn what_is_expected_of_cbc() {
        let mut data = Data::new(&keys(), 160).unwrap();
        let plain: Vec<u8> = (0..160).collect();
        let mut before = START;
        for (ours, block) in data.input.chunks_mut(16).zip(plain.chunks(16)) {
            ours.iter_mut().zip(block).zip(before).for_each(|((byte, plain), before)| *byte = plain ^ before);
            data.references[2].ecb_encrypt(ours).unwrap();
            before.copy_from_slice(ours);
        }
        data.expect(Mode::CbcDecrypt, KeyBits::Aes256).unwrap();
        assert_eq!(data.expected, plain);
        data.check(&plain[32..], 32).unwrap();
        assert_eq!((data.before(0), data.before(160)), (START, before));
    }

    /// What CTR makes of data is its sum with the key stream.
    #[test]
    fn what_is_expected_of_a_key_stream() {
        let mut data = Data::new(&keys(), 160).unwrap();
        data.expect(Mode::Keystream, KeyBits::Aes128).unwrap();
        let sum: Vec<u8> = data.expected.iter().zip(&data.input).map(|(stream, input)| stream ^ input).collect();
        data.expect(Mode::Ctr, KeyBits::Aes128).unwrap();
        assert_eq!(data.expected, sum);
    }

    #[test]
    fn a_wrong_byte_is_found() {
        let mut data = Data::new(&keys(), 64).unwrap();
        data.expect(Mode::Ctr, KeyBits::Aes128).unwrap();
        let mut output = data.expected.clone();
        data.check(&output, 0).unwrap();
        output[50] ^= 1;
        assert!(data.check(&output, 0).unwrap_err().to_string().contains("byte 50 of 64"));
        assert!(data.check(&output[48..], 48).unwrap_err().to_string().contains("byte 50 of 64"));
        output[50] ^= 1;
        data.expect(Mode::Ctr, KeyBits::Aes192).unwrap();
        assert!(data.check(&output, 0).is_err(), "what was expected with another key");
        data.expect(Mode::EcbEncrypt, KeyBits::Aes128).unwrap();
        assert!(data.check(&output, 0).is_err(), "what was expected of another mode");
    }
}
