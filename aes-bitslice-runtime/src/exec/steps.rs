//! The launches of a device for a chunk of a call, in order, and the hash that they return, for every kind of device.

use crate::base::error::Error;
use crate::op::kernels::{Hashed, KernelsNeeded};
use crate::op::partial_hash::HASH;
use aes_bitslice_core::mode::Mode;

/// A step of an operation on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The cipher, with kernels of this mode.
    Cipher(Mode),
    /// The hash of this data, added (XORed) to the hash so far.
    Hash(Hashed),
}

/// A slot of a device, as far as hashes are concerned: it has `HASH` bytes of device memory for one.
pub(crate) trait HashSlot {
    /// Enqueues setting them to zero; complete when the device reaches it.
    fn clear_hash(&mut self) -> Result<(), Error>;

    /// Enqueues copying them to host memory of the slot; complete when the device reaches it.
    fn copy_hash(&mut self) -> Result<(), Error>;

    /// The copy in host memory, after the slot was waited for.
    fn hash_copied(&self) -> [u8; HASH];
}

impl KernelsNeeded {
    /// The steps, in order: the input is hashed before the cipher overwrites it.
    pub(crate) fn steps(self) -> impl Iterator<Item = Step> {
        let hash = |of| (self.hashed == Some(of)).then_some(Step::Hash(of));
        [hash(Hashed::Input), self.mode.map(Step::Cipher), hash(Hashed::Output)].into_iter().flatten()
    }

    /// Launches all steps in a slot, without waiting; a hash begins with zeros and is copied to host memory at the end.
    pub(crate) fn launch_in<S: HashSlot>(
        self,
        slot: &mut S,
        mut launch: impl FnMut(&mut S, Step) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.hashed.is_some() {
            slot.clear_hash()?;
        }
        self.steps().try_for_each(|step| launch(slot, step))?;
        if self.hashed.is_some() {
            slot.copy_hash()?;
        }
        Ok(())
    }

    /// The hash that they returned, after the slot was waited for; zeros where nothing was hashed.
    pub(crate) fn hash_in(self, slot: &impl HashSlot) -> [u8; HASH] {
        self.hashed.map_or([0; HASH], |_| slot.hash_copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::{Counter, CounterMode};
    use crate::exec::call::Call;
    use crate::op::ctr::Ctr;
    use crate::op::ghash::Ghash;

    /// What was done in a slot, in order.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl HashSlot for Log {
        fn clear_hash(&mut self) -> Result<(), Error> {
            self.0.push("clear".into());
            Ok(())
        }

        fn copy_hash(&mut self) -> Result<(), Error> {
            self.0.push("copy".into());
            Ok(())
        }

        fn hash_copied(&self) -> [u8; HASH] {
            [7; HASH]
        }
    }

    fn log(mode: Option<Mode>, hashed: Option<Hashed>) -> Vec<String> {
        let mut log = Log::default();
        let launch = |log: &mut Log, step| {
            log.0.push(format!("{step:?}"));
            Ok(())
        };
        KernelsNeeded { mode, hashed, ..KernelsNeeded::NONE }.launch_in(&mut log, launch).unwrap();
        log.0
    }

    #[test]
    fn ciphertext_is_what_is_hashed() {
        let ctr = Some(Mode::Ctr);
        assert_eq!(log(ctr, None), ["Cipher(Ctr)"]);
        assert_eq!(log(None, Some(Hashed::Input)), ["clear", "Hash(Input)", "copy"]);
        assert_eq!(log(ctr, Some(Hashed::Input)), ["clear", "Hash(Input)", "Cipher(Ctr)", "copy"]);
        assert_eq!(log(ctr, Some(Hashed::Output)), ["clear", "Cipher(Ctr)", "Hash(Output)", "copy"]);
    }

    #[test]
    fn only_what_hashes_returns_a_hash() {
        let ghash = Call::on_a_device(Ghash::from_block(2));
        let hash = ghash.kernels().hash_in(&Log::default());
        let part = ghash.part(48, &hash);
        assert_eq!((part.offset, part.bytes, part.hash), (32, 48, [7; HASH]));
        let ctr = Call::on_a_device(Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0));
        assert_eq!(ctr.kernels().hash_in(&Log::default()), [0; HASH]);
        let () = ctr.part(48, &hash);
    }

    #[test]
    fn nothing_is_launched_after_what_fails() {
        let mut log = Log::default();
        let (mode, hashed) = (Some(Mode::Ctr), Some(Hashed::Output));
        let needed = KernelsNeeded { mode, hashed, ..KernelsNeeded::NONE };
        let failed = needed.launch_in(&mut log, |_, _| Err(Error::InCapture { operation: "GCM" }));
        assert!(failed.is_err());
        assert_eq!(log.0, ["clear"]);
    }
}
