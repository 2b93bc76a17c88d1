//! Calls in memory of the device from an input to an output: the results, the input as it was, and what is refused.

use crate::stand_in::{self, Machine};
use crate::trials::nothing_is_left;
use aes_bitslice_runtime::cuda::Pending;
use aes_bitslice_runtime::cuda::cudarc::driver::CudaSlice;
use aes_bitslice_runtime::{
    Backend, Counter, CounterMode, Ctr, EachKey, Ecb, Engine, Error, GcmEncrypt, Gmac, Key, KeyBits, Keystream, Mode,
    Nonce, Ranges,
};
use aes_bitslice_tests::reference::noise;

const LEN: usize = 48 * 20;

pub fn calls_on_the_device_from_an_input_to_an_output() {
    stand_in::configure(Machine { devices: 1, peers: 1, architecture: 80, at_once: false });
    let engine = Engine::open(Backend::Cuda { ordinal: 0 }).unwrap();
    calls(&engine, &Engine::open(Backend::Cpu).unwrap());
    drop(engine);
    nothing_is_left();
}

fn calls(engine: &Engine, cpu: &Engine) {
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let ciphers = [engine, cpu].map(|engine| engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap());
    let [cipher, on_cpu] = &ciphers;
    let device = cipher.device().unwrap();
    let plain = noise(1, LEN);
    let input = stream.clone_htod(&plain).unwrap();
    let counter = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
    // What a call writes, if this is right, and the input is as it was.
    let right = |call: &dyn Fn(&mut CudaSlice<u8>) -> Result<(), Error>, expected: &[u8]| {
        let mut output = stream.clone_htod(&[0x5a; LEN]).unwrap();
        call(&mut output).unwrap();
        assert!(stream.clone_dtoh(&output).unwrap() == expected);
        assert!(stream.clone_dtoh(&input).unwrap() == plain);
    };
    let (ctr, mut expected) = (Ctr::new(&counter, 5), plain.clone());
    on_cpu.run(ctr, &mut expected).unwrap();
    right(&|output| device.run(&stream, ctr, (&input, output)), &expected);
    let nonce = Nonce::from([3; 12]);
    let (gcm, mut expected) = (GcmEncrypt::new(&nonce, b"header"), plain.clone());
    let tag = on_cpu.run(gcm.clone(), &mut expected).unwrap();
    let with_output = |output: &mut _| {
        let made = device.run_with_output(&stream, gcm.clone(), (&input, output)).and_then(Pending::wait)?;
        assert!(made == tag);
        Ok(())
    };
    right(&with_output, &expected);
    let to_tag = |output: &mut _| {
        let mut made = stream.alloc_zeros(16).unwrap();
        device.run_to_tag(&stream, gcm.clone(), (&input, output), &mut made)?;
        assert!(stream.clone_dtoh(&made).unwrap() == tag.as_bytes());
        Ok(())
    };
    right(&to_tag, &expected);
    // Under many keys that are there.
    let keys: Vec<u8> = (0..16 * 20).map(|i| (i * 7 + 1) as u8).collect();
    let (none, keys_there) = (engine.under_own_keys(), stream.clone_htod(&keys).unwrap());
    let own = none.device().unwrap();
    let (each, mut expected) = (EachKey::new(Mode::EcbEncrypt, KeyBits::Aes128, [0; 16], 48).unwrap(), plain.clone());
    cpu.run_each_key(&each, &keys, &mut expected).unwrap();
    right(&|output| own.run_each_key(&stream, &each, &keys_there, (&input, output)), &expected);
    let layout = own.job_layout(Mode::EcbEncrypt, KeyBits::Aes128, &Ranges::equal(20, 48)).unwrap();
    right(&|output| layout.run(&stream, &keys_there, None, (&input, output)), &expected);

    let mut output = stream.clone_htod(&[0x5a; LEN]).unwrap();
    let keystream = Keystream::new(&counter, 0);
    let refused = device.run(&stream, keystream, (&input, &mut output));
    assert!(matches!(refused, Err(Error::WrongAccess { .. })), "{refused:?}");
    let refused = device.run_with_output(&stream, Gmac::new(&nonce), (&input, &mut output)).err();
    assert!(matches!(refused, Some(Error::WrongAccess { .. })), "{refused:?}");
    let each = EachKey::new(Mode::Keystream, KeyBits::Aes128, [0; 16], 48).unwrap();
    let refused = own.run_each_key(&stream, &each, &keys_there, (&input, &mut output));
    assert!(matches!(refused, Err(Error::WrongAccess { .. })), "{refused:?}");
    for refused in [
        device.run(&stream, Ecb::encrypt(), (&input.slice(..32), &mut output)),
        layout.run(&stream, &keys_there, None, (&input, &mut output.slice_mut(..48))),
    ] {
        assert!(matches!(refused, Err(Error::LengthMismatch { .. })), "{refused:?}");
    }
    assert!(stream.clone_dtoh(&output).unwrap() == [0x5a; LEN]);
}
