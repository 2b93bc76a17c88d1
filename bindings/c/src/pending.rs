//! The result of a call on a GPU stream, available when the stream has reached it.

use crate::border::call;
use crate::context::kept;
use crate::handles::free_handle;
use crate::memory::{places, reference};
use crate::outcome::{Outcome, check_room};
use crate::status::Failure;
use aes_bitslice_runtime::Error;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// The result of a call on a stream, available when the stream has reached it: a tag, tags, a part of a message, or which messages are
/// authentic. Freeing it may wait for that, too.
pub struct PendingHandle {
    /// The number of its bytes.
    bytes: usize,
    messages: usize,
    state: Mutex<State>,
}

/// What is known of the result.
enum State {
    Waiting(Wait),
    Known(Known),
}

type Wait = Box<dyn FnOnce() -> Result<Arc<dyn Outcome>, Error> + Send>;
type Known = Result<Arc<dyn Outcome>, Failure>;

impl PendingHandle {
    fn new<T: Outcome>(messages: usize, wait: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Self {
        let wait = || wait().map(|outcome| Arc::new(outcome) as Arc<dyn Outcome>);
        Self { bytes: T::bytes(messages), messages, state: Mutex::new(State::Waiting(Box::new(wait))) }
    }

    /// Gives the caller a handle that waits for a value, of `messages` messages if it is of a batch.
    ///
    /// # Safety
    /// `place` is the caller's place for a pointer.
    pub(crate) unsafe fn give<T: Outcome>(
        place: NonNull<*mut Self>,
        messages: usize,
        wait: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) {
        // SAFETY: as the caller guarantees.
        unsafe { place.write(Box::into_raw(Box::new(Self::new(messages, wait)))) };
    }

    /// Waits for the value, once.
    fn value(&self) -> Known {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = Failure::new(crate::status::AES_BITSLICE_BUG, "an earlier call panicked while it waited");
        let known = match std::mem::replace(&mut *state, State::Known(Err(lost))) {
            State::Waiting(wait) => kept(true, wait).map_err(Failure::from),
            State::Known(known) => known,
        };
        *state = State::Known(known.clone());
        known
    }
}

/// Waits until the stream has reached the result: returns AES_BITSLICE_OK, or AES_BITSLICE_UNAUTHENTICATED if a call that decrypts or
/// verifies has found a message that is not authentic; for a batch, aes_bitslice_pending_result tells which. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_wait(pending: *const PendingHandle) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        let pending = unsafe { reference(pending, "pending") }?;
        pending.value()?.verdict(pending.messages)
    })
}

/// Waits until the stream has reached the result, and writes it to `result` in host memory: `result_len` bytes, as many as the `kind` of the
/// operation says. Returns what aes_bitslice_pending_wait does. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_result(
    pending: *const PendingHandle,
    result: *mut c_void,
    result_len: usize,
) -> c_int {
    call(|| {
        let place = places(result.cast(), result_len, "result")?;
        // SAFETY: required of callers at the top of the header.
        let pending = unsafe { reference(pending, "pending") }?;
        check_room(result_len, pending.bytes)?;
        let value = pending.value()?;
        // SAFETY: the caller's place for that many bytes.
        unsafe { value.write(place, pending.messages) };
        value.verdict(pending.messages)
    })
}

/// Frees the handle; does nothing for NULL. It may wait until the stream has reached the result: call aes_bitslice_pending_wait first where
/// that matters, as before memory of the call is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_free(pending: *mut PendingHandle) {
    // SAFETY: required of callers at the top of the header.
    unsafe { free_handle(pending, true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Part;
    use crate::status::{AES_BITSLICE_FAILED, AES_BITSLICE_INVALID, AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED};
    use aes_bitslice_runtime::{Backend, CmacVerifyBatch, Engine, Key, OpenedBatch, PartialHash, Tag};

    /// The result of this many bytes, which are 9 before; after it there is room that stays as it is.
    fn result(handle: &PendingHandle, len: usize) -> (c_int, Vec<u8>) {
        let mut bytes = vec![9; len + 16];
        // SAFETY: a handle and a place that live.
        let status = unsafe { aes_bitslice_pending_result(handle, bytes.as_mut_ptr().cast(), len) };
        assert_eq!(bytes.split_off(len), [9; 16]);
        (status, bytes)
    }

    fn wait(handle: &PendingHandle) -> c_int {
        // SAFETY: a handle that lives.
        unsafe { aes_bitslice_pending_wait(handle) }
    }

    #[test]
    fn a_value_is_waited_for_once_and_given_again() {
        let tag = PendingHandle::new(1, || Tag::new(&[7; 16]));
        let part = PendingHandle::new(1, || Ok(PartialHash { offset: 1, bytes: 2, hash: [3; 16] }));
        for _ in 0..2 {
            assert_eq!(result(&tag, 16), (AES_BITSLICE_OK, vec![7; 16]));
            assert_eq!(result(&tag, 32), (AES_BITSLICE_INVALID, vec![9; 32]));
            assert_eq!(wait(&tag), AES_BITSLICE_OK);
            let mut found = Part { offset: 0, bytes: 0, hash: [0; 16] };
            // SAFETY: a handle and a place that live.
            let status = unsafe { aes_bitslice_pending_result(&part, (&raw mut found).cast(), 32) };
            assert_eq!((status, found), (AES_BITSLICE_OK, Part { offset: 1, bytes: 2, hash: [3; 16] }));
            assert_eq!(result(&part, 16), (AES_BITSLICE_INVALID, vec![9; 16]));
        }
    }

    #[test]
    fn what_is_not_authentic_is_told() {
        let (good, bad) =
            (PendingHandle::new(1, || Ok(())), PendingHandle::new::<()>(1, || Err(Error::Unauthenticated)));
        for _ in 0..2 {
            assert_eq!((wait(&good), wait(&bad)), (AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED));
            assert_eq!((result(&good, 0).0, result(&bad, 0).0), (AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED));
            assert_eq!(result(&good, 16), (AES_BITSLICE_INVALID, vec![9; 16]));
        }
    }

    #[test]
    fn a_batch_has_its_messages() {
        let made = PendingHandle::new(2, || Ok(vec![Tag::new(&[7; 16])?, Tag::new(&[9; 16])?]));
        let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
        let wrong = CmacVerifyBatch::new(&[0..1, 1..2], &[Tag::new(&[7; 16]).unwrap(); 2]).unwrap();
        let opened: OpenedBatch = cipher.run(wrong, &[0; 2]).unwrap();
        let none_wrong = cipher.run(CmacVerifyBatch::new(&[], &[]).unwrap(), &[]).unwrap();
        let (bad, good) = (PendingHandle::new(2, || Ok(opened)), PendingHandle::new(3, || Ok(none_wrong)));
        for _ in 0..2 {
            assert_eq!(result(&made, 32), (AES_BITSLICE_OK, [[7; 16], [9; 16]].concat()));
            assert_eq!(result(&made, 16), (AES_BITSLICE_INVALID, vec![9; 16]));
            assert_eq!(result(&bad, 2), (AES_BITSLICE_UNAUTHENTICATED, vec![0, 0]));
            assert_eq!(result(&bad, 3), (AES_BITSLICE_INVALID, vec![9; 3]));
            assert_eq!(result(&good, 3), (AES_BITSLICE_OK, vec![1; 3]));
            assert_eq!(
                [wait(&made), wait(&bad), wait(&good)],
                [AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED, AES_BITSLICE_OK]
            );
        }
    }

    #[test]
    fn what_failed_fails_again() {
        let handle = PendingHandle::new::<Tag>(1, || Err(Error::Poisoned { cause: "a test".into() }));
        for _ in 0..2 {
            assert_eq!(result(&handle, 16), (AES_BITSLICE_FAILED, vec![9; 16]));
        }
    }
}
