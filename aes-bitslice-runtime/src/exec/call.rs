//! A call that was checked: the only thing that backends take, so that no way to a backend can leave out a check. One made
//! [without data](Call::without_data), to load and test kernels ahead of calls, was checked in all but its data.
//!
//! ```text
//! operation + key + data ──► the data is what the operation takes, the engine performs it, the key is of its kind ──► call ──► backend
//! ```

use crate::base::error::Error;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::key::CpuKey;
use crate::op::buffers::Buffers;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{Cut, Keys, Operation, Pass, Ready};
use crate::op::partial_hash::HASH;

/// A key on an engine, for calls on one kind of memory.
pub(crate) trait Target {
    /// The key on the CPU; `None` in a cipher of one kernel, or without a key.
    fn cpu(&self) -> Option<&CpuKey>;

    /// The kernels that a device needs for an operation here; none where the CPU performs it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an operation that is not performed here.
    fn kernels_for<O: Operation>(&self, operation: &O) -> Result<KernelsNeeded, Error>;
}

/// The data of a call, in one kind of memory.
pub(crate) trait Data {
    /// The data once it was checked.
    type Checked;

    /// Whether the call is one for operations that return a value; `None` for a call that performs all operations.
    fn returns_value(&self) -> Option<bool> {
        None
    }

    /// Refuses data that the operation does not take, and memory that is not the engine's. Returns the number of bytes, too.
    fn checked<O: Operation>(self, operation: &O) -> Result<(Self::Checked, u64), Error>;
}

impl<'d> Data for Buffers<'d> {
    type Checked = Self;

    fn checked<O: Operation>(self, operation: &O) -> Result<(Self, u64), Error> {
        let data = self.accessed(operation.access(), O::NAME)?;
        let bytes = data.len() as u64;
        Ok((data, bytes))
    }
}

/// The CPU alone.
impl Target for CpuKey {
    fn cpu(&self) -> Option<&CpuKey> {
        Some(self)
    }

    fn kernels_for<O: Operation>(&self, _operation: &O) -> Result<KernelsNeeded, Error> {
        Ok(KernelsNeeded::NONE)
    }
}

/// The value that a part of an operation's call returns.
pub(crate) type PartOf<O> = <<O as Pass>::Ready as Ready>::Part;

/// An operation that an engine may perform, on all data of a call or on a part of it. It was checked, and has what it derives from the key.
pub(crate) struct Call<O: Pass> {
    ready: O::Ready,
    kernels: KernelsNeeded,
}

impl<O: Pass> Clone for Call<O> {
    fn clone(&self) -> Self {
        Self { ready: self.ready.clone(), kernels: self.kernels }
    }
}

impl<O: Pass> Call<O> {
    /// Checks a call on this data. Called within work that is [scrubbed](CpuKey::scrubbed) if there is a key on the CPU: secrets may be
    /// in the value returned.
    ///
    /// # Errors
    /// Those of [`check`], and those of the operation when it derives values from the key. [`Error::WrongCall`] for an operation that
    /// returns a value in a call that returns none, or the reverse.
    pub(crate) fn new<D: Data>(target: &impl Target, operation: O, data: D) -> Result<(Self, D::Checked), Error> {
        let returns_value = data.returns_value();
        let (data, bytes) = data.checked(&operation)?;
        let kernels = check(target, &operation, bytes)?;
        match (returns_value, kernels.return_value()) {
            (Some(true), false) => return Err(Error::WrongCall { operation: O::NAME, call: "run" }),
            (Some(false), true) => return Err(Error::WrongCall { operation: O::NAME, call: "run_with_output" }),
            _ => {}
        }
        Ok((Self { ready: operation.ready(target.cpu())?, kernels }, data))
    }

    /// [Checks](Self::new) a call, and leaves nothing on the stack of what the operation derives from the key: a clone has it on the heap.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub(crate) fn scrubbed<D: Data>(target: &impl Target, operation: O, data: D) -> Result<(Self, D::Checked), Error> {
        scrubbed_if_derived::<O, _>(target, || {
            Self::new(target, operation, data).map(|(call, data)| (call.clone(), data))
        })
    }

    /// Checks all that can be checked without data, for work ahead of calls. Leaves nothing on the stack.
    ///
    /// # Errors
    /// [`Error::Unsupported`]; [`Error::WrongKeys`] and [`Error::NeedsKey`] for a key that the operation does not take; and those of the
    /// operation when it derives values from the key.
    pub(crate) fn without_data(target: &impl Target, operation: O) -> Result<Self, Error> {
        let kernels = target.kernels_for(&operation)?;
        O::KEYS.check(O::NAME, target.cpu())?;
        scrubbed_if_derived::<O, _>(target, || {
            let call = Self { ready: operation.ready(target.cpu())?, kernels };
            Ok(call.clone())
        })
    }

    /// The value of a whole message from the values of its parts, wherever these were processed. Leaves nothing on the stack.
    ///
    /// # Errors
    /// [`Error::WrongKeys`] and [`Error::NeedsKey`] for a key that the operation does not take, and those of the operation.
    pub(crate) fn combine(target: &impl Target, operation: &O, parts: Vec<PartOf<O>>) -> Result<O::Output, Error> {
        O::KEYS.check(O::NAME, target.cpu())?;
        let operation = operation.clone();
        scrubbed_if_derived::<O, _>(target, || operation.ready(target.cpu())?.finish(parts))
    }

    /// A call that was not checked, under some key.
    #[cfg(test)]
    pub(crate) fn on_a_device(operation: O) -> Self {
        let cpu = CpuKey::new(&crate::base::key::Key::new(&[7; 16]).unwrap());
        let kernels = operation.kernels();
        Self { ready: operation.ready(Some(&cpu)).unwrap(), kernels }
    }

    /// The operation, with what it derives from the key.
    pub(crate) fn operation(&self) -> &O::Ready {
        &self.ready
    }

    /// The kernels that a device needs for it.
    pub(crate) fn kernels(&self) -> KernelsNeeded {
        self.kernels
    }

    /// Where its data may be cut.
    pub(crate) fn cut(&self) -> Option<Cut<O::Ready>> {
        self.ready.cut()
    }

    /// The call on the data that remains after the first `bytes`, before which this block of input comes; it is asked for where it counts.
    pub(crate) fn after(&self, cut: &Cut<O::Ready>, bytes: u64, before: impl FnOnce() -> [u8; 16]) -> Self {
        Self { ready: cut.after(&self.ready, bytes, before), kernels: self.kernels }
    }

    /// The value of a part of `bytes` bytes that a device processed, from the hash that it returned.
    pub(crate) fn part(&self, bytes: u64, hash: &[u8; HASH]) -> PartOf<O> {
        match self.kernels.hashed {
            Some(_) => self.ready.part(bytes, hash),
            None => Default::default(),
        }
    }

    /// The value that the call returns. Leaves nothing on the stack.
    pub(crate) fn finish(&self, parts: Vec<PartOf<O>>) -> Result<O::Output, Error> {
        match O::KEYS {
            Keys::One | Keys::Own => self.ready.finish(parts),
            Keys::OnCpu(_) | Keys::Two => scrubbed::<DERIVED, _>(|| self.ready.finish(parts)),
        }
    }
}

/// Checks a call on this number of bytes, and returns the kernels that perform it there.
///
/// # Errors
/// Those of the operation's own checks and of [`Target::kernels_for`]; [`Error::WrongKeys`] for a key of a different kind or length;
/// [`Error::NeedsKey`] if the operation needs the key on the CPU, and it is not there.
#[inline(always)]
pub(crate) fn check<O: Operation>(target: &impl Target, operation: &O, bytes: u64) -> Result<KernelsNeeded, Error> {
    operation.check(bytes)?;
    let kernels = target.kernels_for(operation)?;
    O::KEYS.check(O::NAME, target.cpu())?;
    Ok(kernels)
}

/// Checks a call, and performs it on one core in one step; `None`, and nothing is done, where the operation has no such step, or the call
/// is refused. `Some(None)` if the message is not authentic: the output is cleared. Leaves nothing on the stack.
///
/// What is here is inlined, and no [`Error`] is passed on, which is long: a short message takes less time than copies from frame to frame,
/// each of which waits for the stores of the one before.
#[inline(always)]
pub(crate) fn in_one_step<O: Operation>(
    target: &impl Target,
    operation: &O,
    data: &mut Buffers<'_>,
) -> Option<Option<O::Output>> {
    let checked = data.reborrow().accessed(operation.access(), O::NAME).ok()?;
    check(target, operation, checked.len() as u64).ok()?;
    let result = operation.in_one_step(target.cpu()?, checked)?;
    if result.is_none() {
        data.output().fill(0);
    }
    Some(result)
}

/// Does work, which is scrubbed if the operation derives anything from the key.
fn scrubbed_if_derived<O: Operation, R>(target: &impl Target, work: impl FnOnce() -> R) -> R {
    match target.cpu() {
        Some(cpu) if O::KEYS != Keys::One => cpu.scrubbed(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::{Key, ONE_KEY, TWO_KEYS};
    use crate::base::nonce::Nonce;
    use crate::op::cbc::{CbcDecrypt, CbcEncrypt};
    use crate::op::ecb::Ecb;
    use crate::op::gcm::GcmEncrypt;
    use crate::op::gcm_siv::GcmSivEncrypt;
    use crate::op::ghash::Ghash;
    use crate::op::xts::Xts;
    use aes_bitslice_core::aes::Direction;

    /// A device with kernels for everything that has some, and perhaps a key on the CPU.
    struct Device(Option<CpuKey>);

    impl Target for Device {
        fn cpu(&self) -> Option<&CpuKey> {
            self.0.as_ref()
        }

        fn kernels_for<O: Operation>(&self, operation: &O) -> Result<KernelsNeeded, Error> {
            let missing = || Error::Unsupported { operation: O::NAME, backend: "a device".into() };
            Some(operation.kernels()).filter(KernelsNeeded::exist).ok_or_else(missing)
        }
    }

    fn device(key: Result<Key, Error>) -> Device {
        Device(Some(CpuKey::new(&key.unwrap())))
    }

    /// Data of this many bytes, for calls that return a value or for those that do not.
    struct Bytes<const RETURNS: bool>(u64);

    impl<const RETURNS: bool> Data for Bytes<RETURNS> {
        type Checked = ();

        fn returns_value(&self) -> Option<bool> {
            Some(RETURNS)
        }

        fn checked<O: Operation>(self, _operation: &O) -> Result<((), u64), Error> {
            Ok(((), self.0))
        }
    }

    /// Why a call is refused: everywhere, by the constructors of calls.
    fn refused<O: Pass>(target: &impl Target, operation: O, data: impl Data) -> Error {
        let refused = Call::scrubbed(target, operation, data).err();
        refused.unwrap_or_else(|| panic!("{} is not refused", O::NAME))
    }

    #[test]
    fn a_key_of_another_kind_or_length_is_refused() {
        let (one, two, none) = (device(Key::new(&[7; 16])), device(Key::xts(&[7; 32])), Device(None));
        let (gcm, siv) = (GcmEncrypt::new(&Nonce::from([3; 12]), b""), GcmSivEncrypt::new(&Nonce::from([3; 12]), b""));
        let xts = |direction| Xts::new(direction, 32, 0).unwrap();
        let (encrypt, decrypt) = (xts(Direction::Encrypt), xts(Direction::Decrypt));
        let (plain, value) = (|| Bytes::<false>(32), || Bytes::<true>(32));
        assert!(matches!(refused(&one, decrypt, plain()), Error::WrongKeys { needs: TWO_KEYS, .. }));
        assert!(matches!(refused(&two, Ecb::encrypt(), plain()), Error::WrongKeys { needs: ONE_KEY, .. }));
        assert!(matches!(refused(&two, gcm.clone(), value()), Error::WrongKeys { needs: ONE_KEY, .. }));
        assert!(matches!(refused(&two, encrypt, plain()), Error::XtsKey { .. }), "its halves are equal");
        assert!(matches!(check(&device(Key::new(&[7; 24])), &siv, 32), Err(Error::WrongKeys { .. })));
        assert!(matches!(refused(&none, gcm.clone(), value()), Error::NeedsKey { what: "GCM" }));
        assert!(
            Call::scrubbed(&none, Ecb::encrypt(), plain()).is_ok() && Call::scrubbed(&two, decrypt, plain()).is_ok()
        );
        // Without data, too.
        assert!(Call::without_data(&two, Ecb::encrypt()).is_err() && Call::without_data(&none, gcm.clone()).is_err());
        assert!(check(&two, &gcm, 5).is_err() && Call::combine(&two, &gcm, vec![]).is_err());
    }

    // Miri has no stack that can be searched.
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore)]
    #[test]
    fn where_anything_is_derived_from_the_key_the_stack_is_overwritten() {
        use crate::base::scrubbed::tests::{found, leaves_it_on_the_stack};
        use crate::cpu::instructions::Instructions;
        let with_key = Device(Some(CpuKey::on(Instructions::Portable, &Key::new(&[7; 16]).unwrap())));
        scrubbed_if_derived::<GcmEncrypt, _>(&with_key, leaves_it_on_the_stack);
        assert_eq!(found(), 0);
        scrubbed_if_derived::<Ecb, _>(&with_key, leaves_it_on_the_stack);
        assert!(found() > 0, "the time for it is not taken where nothing is");
    }

    #[test]
    fn calls_on_host_memory_take_all_operations_and_a_core_does_short_messages_in_one_step() {
        let cpu = CpuKey::new(&Key::new(&[7; 16]).unwrap());
        let gcm = GcmEncrypt::new(&Nonce::from([3; 12]), b"");
        let mut whole = [1; 32];
        let (call, data) = Call::scrubbed(&cpu, gcm.clone(), Buffers::InPlace(&mut whole)).unwrap();
        let tag = call.finish(vec![call.operation().on_cpu(&cpu, data)]).unwrap();
        let device = device(Key::new(&[7; 16]));
        assert!(Call::scrubbed(&device, gcm.clone(), Buffers::InPlace(&mut [1; 32])).is_ok());
        assert!(Call::scrubbed(&device, Ecb::encrypt(), Buffers::InPlace(&mut [1; 32])).is_ok());
        let mut short = [1; 32];
        assert_eq!(in_one_step(&cpu, &gcm, &mut Buffers::InPlace(&mut short)), Some(Some(tag)));
        assert_eq!(short, whole);
    }

    #[test]
    fn what_the_operation_or_the_target_does_not_take_is_refused() {
        let one = device(Key::new(&[7; 16]));
        let refused_bytes = |bytes| refused(&one, Ecb::encrypt(), Bytes::<false>(bytes));
        assert!(matches!(refused_bytes(17), Error::NotWholeBlocks { len: 17 }));
        assert!(matches!(refused(&one, Ghash::new(), Buffers::Write(&mut [0; 16])), Error::WrongAccess { .. }));
        let serial = refused(&one, CbcEncrypt::new(&[0; 16]), Bytes::<false>(16));
        assert!(matches!(serial, Error::Unsupported { operation: "CBC encryption", .. }));
        let value = refused(&one, CbcDecrypt::new(&[0; 16]), Bytes::<true>(16));
        assert!(matches!(value, Error::WrongCall { call: "run", .. }));
        let none = refused(&one, Ghash::new(), Bytes::<false>(16));
        assert!(matches!(none, Error::WrongCall { call: "run_with_output", .. }));
        assert!(check(&one, &Ecb::encrypt(), 17).is_err());
        assert!(check(&one, &CbcEncrypt::new(&[0; 16]), 16).is_err());
    }
}
