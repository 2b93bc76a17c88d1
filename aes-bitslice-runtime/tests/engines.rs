//! CPU engines: an instruction set that is not there, nonces that calls make, and calls that are stopped.

use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{
    Backend, CbcEncrypt, Cipher, Cmac, CmacBatch, Counter, CounterMode, Ctr, EachKey, Ecb, Engine, Error, GcmDecrypt,
    GcmEncrypt, GcmEncryptBatch, GcmMessage, GcmSivEncrypt, Job, Jobs, Key, KeyBits, Keystream, Mode, Nonce, Operation,
    Stop, Tag,
};

fn engines() -> Vec<Engine> {
    let bitsliced = Isa::available().into_iter().map(|isa| Engine::open_bitsliced(isa).unwrap());
    [Engine::open(Backend::Cpu).unwrap()].into_iter().chain(bitsliced).collect()
}

#[test]
fn an_absent_instruction_set_is_refused() {
    for isa in [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Portable] {
        let opened = Engine::open_bitsliced(isa);
        if Isa::available().contains(&isa) {
            assert!(opened.unwrap().description().contains(&isa.to_string()))
        } else {
            assert!(matches!(opened, Err(Error::IsaUnavailable { isa: i }) if i == isa.to_string()))
        }
    }
}

/// Bytes of a call that is cut into chunks.
const LONG: usize = 2 << 20;

/// Where a call on `LONG` bytes that is stopped leaves zeros, of bytes that are 1 before.
fn stopped(call: impl FnOnce(&mut [u8]) -> Option<Error>) -> Vec<bool> {
    let (stop, mut data) = (Stop::new(), vec![1; LONG]);
    stop.now();
    let error = stop.during(|| call(&mut data));
    assert!(matches!(error, Some(Error::Stopped)), "{error:?}");
    assert!(data.iter().all(|byte| *byte < 2), "nothing is written");
    data.iter().map(|byte| *byte == 0).collect()
}

/// One value, called twice: two nonces, each with what GCM makes of it; a message in one step, and one in many chunks.
#[test]
fn each_call_makes_a_nonce() {
    for engine in engines() {
        let cipher = engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        for len in [0, 9, LONG] {
            let operation = GcmEncrypt::with_random_nonce(b"header");
            let made = [(); 2].map(|()| {
                let (mut data, mut expected) = (vec![1; len], vec![1; len]);
                let (nonce, tag) = cipher.run(operation.clone(), &mut data).unwrap();
                let other = cipher.run(GcmEncrypt::new(&nonce, b"header"), &mut expected).unwrap();
                assert!(data == expected && tag == other && nonce.as_bytes().len() == 12, "{engine:?}");
                let (data, (nonce_later, _)) =
                    cipher.submit_with_output(operation.clone(), data).unwrap().wait().unwrap();
                assert!(data.len() == len && nonce_later != nonce, "{engine:?}");
                nonce
            });
            assert_ne!(made[0], made[1], "{engine:?}");
        }
    }
}

#[test]
fn a_call_that_is_stopped_clears_its_output_and_nothing_else() {
    let (counter, nonce) = (Counter::new(CounterMode::Ctr128BE, [0; 16]), Nonce::from([7; 12]));
    let message = |range| GcmMessage { nonce: nonce.as_bytes(), aad: b"", range };
    let inside: Vec<bool> = (0..LONG).map(|at| (16..LONG - 16).contains(&at)).collect();
    let range = 16..LONG as u64 - 16;
    for engine in engines() {
        let cipher = engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        fn all(cipher: &Cipher, operation: impl Operation) {
            assert_eq!(stopped(|data| cipher.run(operation, data).err()), [true; LONG]);
        }
        all(&cipher, Ctr::new(&counter, 5));
        all(&cipher, Keystream::new(&counter, 0));
        all(&cipher, Ecb::decrypt());
        all(&cipher, CbcEncrypt::new(&[7; 16]));
        all(&cipher, GcmEncrypt::new(&nonce, b"header"));
        all(&cipher, GcmEncrypt::with_random_nonce(b"header"));
        all(&cipher, GcmDecrypt::new(&nonce, b"header", &Tag::new(&[7; 16]).unwrap()));
        all(&cipher, GcmSivEncrypt::new(&nonce, b"header"));
        let batch = GcmEncryptBatch::new(&[message(range.clone())]).unwrap();
        assert_eq!(stopped(|data| cipher.run(batch, data).err()), inside);
        // What reads alone leaves its data.
        assert_eq!(stopped(|data| cipher.run(Cmac::new(), &*data).err()), [false; LONG]);
        let batch = CmacBatch::new(&[0..9, range.clone()]).unwrap();
        assert_eq!(stopped(|data| cipher.run(batch, &*data).err()), [false; LONG]);
        let jobs = Jobs::new(Mode::Ctr, &[Job { key: &[7; 16], counter: [0; 16], range: range.clone() }]).unwrap();
        assert_eq!(stopped(|data| engine.under_own_keys().run(jobs, data).err()), inside);
        let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], LONG as u64 / 2).unwrap();
        assert_eq!(stopped(|data| engine.run_each_key(&each, &[7; 32], data).err()), [true; LONG]);
    }
}

/// What is refused is so whether it is stopped or not, and changes nothing.
#[test]
fn a_wrong_call_that_is_stopped_is_still_refused() {
    let stop = Stop::new();
    stop.now();
    for engine in engines() {
        let cipher = engine.cipher(&Key::new(&[7; 16]).unwrap()).unwrap();
        let mut data = vec![1; LONG - 1];
        let error = stop.during(|| cipher.run(Ecb::encrypt(), &mut data)).unwrap_err();
        assert!(matches!(error, Error::NotWholeBlocks { .. }) && data == vec![1; LONG - 1]);
        let outside = GcmMessage { nonce: &[7; 12], aad: b"", range: 0..LONG as u64 };
        let error = stop.during(|| cipher.run(GcmEncryptBatch::new(&[outside]).unwrap(), &mut data)).unwrap_err();
        assert!(matches!(error, Error::Batch { .. }) && data == vec![1; LONG - 1]);
        // And after that, nothing stops.
        assert!(cipher.run(Cmac::new(), &data).is_ok());
    }
}
