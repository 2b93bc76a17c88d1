//! The result of a call on a GPU stream, available when the stream has reached it: a tag or the tags of a batch, a part of a message, which
//! messages are authentic, or that the call is done.

use crate::authenticated::{Part, TagPlace, write_tag};
use crate::batch::{all_authentic, tell, write_tags};
use crate::border::call;
use crate::context::kept;
use crate::handles::free_handle;
use crate::memory::{place, places, reference};
use crate::status::Failure;
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{Error, OpenedBatch, PartialHash, Tag};
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// The result of a call on a stream, available when the stream has reached it: a tag, tags, a part of a message, or which messages are
/// authentic. Freeing it waits for that, too.
pub struct PendingHandle(Mutex<State>);

/// What is known of the result.
enum State {
    Waiting(Wait),
    Known(Result<Value, Failure>),
}

type Wait = Box<dyn FnOnce() -> Result<Value, Error> + Send>;

/// The result of a call on a stream.
#[derive(Clone)]
pub(crate) enum Value {
    Tag(Tag),
    /// One for each message of a batch.
    Tags(Arc<[Tag]>),
    Part(PartialHash),
    /// The tag was right.
    Authentic,
    /// The number of messages, and which of them are authentic.
    Opened(usize, OpenedBatch),
    /// Nothing else.
    Done,
}

impl Value {
    fn refused(&self, asked: &str) -> Failure {
        Failure::invalid(match self {
            Self::Tag(_) => format!("it is not {asked} but a tag: aes_bitslice_pending_tag gives it"),
            Self::Tags(_) => format!("it is not {asked} but tags: aes_bitslice_pending_tags gives them"),
            Self::Part(_) => format!("it is not {asked} but a part: aes_bitslice_pending_part gives it"),
            Self::Authentic => {
                format!("it is not {asked}: aes_bitslice_pending_wait tells whether the message is authentic")
            }
            Self::Opened(..) => {
                format!("it is not {asked}: aes_bitslice_pending_authentic tells which messages are authentic")
            }
            Self::Done => format!("it is not {asked}: aes_bitslice_pending_wait waits for the call"),
        })
    }
}

/// Refuses room for a number of messages that is not the batch's.
fn check_count(count: usize, messages: usize) -> Result<(), Failure> {
    match count == messages {
        true => Ok(()),
        false => {
            let messages = counted(messages, "message");
            Err(Failure::invalid(format!("`count` is {count}, and the batch has {messages}")))
        }
    }
}

impl PendingHandle {
    /// Gives the caller a handle that waits for a value.
    ///
    /// # Safety
    /// `place` is the caller's place for a pointer.
    pub(crate) unsafe fn give(place: NonNull<*mut Self>, wait: impl FnOnce() -> Result<Value, Error> + Send + 'static) {
        let handle = Self(Mutex::new(State::Waiting(Box::new(wait))));
        // SAFETY: as the caller guarantees.
        unsafe { place.write(Box::into_raw(Box::new(handle))) };
    }

    /// Waits for the value, once.
    fn value(&self) -> Result<Value, Failure> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
/// verifies has found a message that is not authentic; for a batch, aes_bitslice_pending_authentic tells which. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_wait(pending: *const PendingHandle) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        match unsafe { reference(pending, "pending") }?.value()? {
            Value::Opened(count, opened) => all_authentic(count, &opened),
            _ => Ok(()),
        }
    })
}

/// Waits until the stream has reached a tag, and writes it, 16 bytes, to `tag` in host memory. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_tag(pending: *const PendingHandle, tag: *mut u8) -> c_int {
    call(|| {
        let place: TagPlace = place(tag.cast(), "tag")?;
        // SAFETY: required of callers at the top of the header.
        match unsafe { reference(pending, "pending") }?.value()? {
            // SAFETY: the caller's place for a tag.
            Value::Tag(tag) => unsafe { write_tag(place, &tag) },
            other => return Err(other.refused("a tag")),
        }
        Ok(())
    })
}

/// Waits until the stream has reached the tags of a batch of `count` messages, and writes them, 16 bytes each, contiguously to `tags` in
/// host memory. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_tags(
    pending: *const PendingHandle,
    tags: *mut u8,
    count: usize,
) -> c_int {
    call(|| {
        let place = places(tags.cast(), count, "tags")?;
        // SAFETY: required of callers at the top of the header.
        match unsafe { reference(pending, "pending") }?.value()? {
            Value::Tags(tags) => {
                check_count(count, tags.len())?;
                // SAFETY: the caller's places for tags.
                unsafe { write_tags(place, &tags) }
            }
            other => return Err(other.refused("tags")),
        }
        Ok(())
    })
}

/// Waits until the stream has reached a decrypted or verified batch of `count` messages, and writes one byte for each to `authentic` in
/// host memory: 1 if the message is authentic, 0 if not. Fails with AES_BITSLICE_UNAUTHENTICATED if any is not. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_authentic(
    pending: *const PendingHandle,
    authentic: *mut u8,
    count: usize,
) -> c_int {
    call(|| {
        let place = places(authentic, count, "authentic")?;
        // SAFETY: required of callers at the top of the header.
        match unsafe { reference(pending, "pending") }?.value()? {
            Value::Opened(messages, opened) => {
                check_count(count, messages)?;
                // SAFETY: the caller's places for that many bytes.
                unsafe { tell(place, count, &opened) }
            }
            other => Err(other.refused("a batch that was decrypted or verified")),
        }
    })
}

/// Waits until the stream has reached a part, and writes its contribution to the tag to `part`. May be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_part(pending: *const PendingHandle, part: *mut Part) -> c_int {
    call(|| {
        let place = place(part, "part")?;
        // SAFETY: required of callers at the top of the header.
        match unsafe { reference(pending, "pending") }?.value()? {
            // SAFETY: the caller's place for a part.
            Value::Part(hash) => unsafe { place.write(hash.into()) },
            other => return Err(other.refused("a part")),
        }
        Ok(())
    })
}

/// Waits until the stream has reached the result, and frees the handle; does nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_free(pending: *mut PendingHandle) {
    // SAFETY: required of callers at the top of the header.
    unsafe { free_handle(pending, true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{AES_BITSLICE_FAILED, AES_BITSLICE_INVALID, AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED};
    use aes_bitslice_runtime::{Backend, CmacVerifyBatch, Engine, Key};

    fn pending(wait: impl FnOnce() -> Result<Value, Error> + Send + 'static) -> PendingHandle {
        PendingHandle(Mutex::new(State::Waiting(Box::new(wait))))
    }

    #[test]
    fn a_value_is_waited_for_once_and_given_again() {
        let tag = Tag::new(&[7; 16]).unwrap();
        let handle = pending(move || Ok(Value::Tag(tag)));
        let (mut bytes, mut part) = ([0; 16], Part { offset: 1, bytes: 2, hash: [3; 16] });
        for _ in 0..2 {
            // SAFETY: a handle and a place that live.
            assert_eq!(unsafe { aes_bitslice_pending_tag(&handle, bytes.as_mut_ptr()) }, AES_BITSLICE_OK);
            assert_eq!(bytes, [7; 16]);
            bytes.fill(0);
        }
        // SAFETY: as above.
        assert_eq!(unsafe { aes_bitslice_pending_part(&handle, &mut part) }, AES_BITSLICE_INVALID);
        assert_eq!(part.offset, 1);
        // SAFETY: as above.
        assert_eq!(unsafe { aes_bitslice_pending_wait(&handle) }, AES_BITSLICE_OK);
    }

    #[test]
    fn what_is_not_authentic_is_told() {
        let (good, bad) = (pending(|| Ok(Value::Authentic)), pending(|| Err(Error::Unauthenticated)));
        let mut bytes = [9; 16];
        for _ in 0..2 {
            // SAFETY: a handle and a place that live.
            unsafe {
                assert_eq!(aes_bitslice_pending_wait(&good), AES_BITSLICE_OK);
                assert_eq!(aes_bitslice_pending_wait(&bad), AES_BITSLICE_UNAUTHENTICATED);
                assert_eq!(aes_bitslice_pending_tag(&good, bytes.as_mut_ptr()), AES_BITSLICE_INVALID);
            }
        }
        assert_eq!(bytes, [9; 16]);
    }

    #[test]
    fn a_batch_has_its_messages() {
        let tags: Arc<[Tag]> = [Tag::new(&[7; 16]).unwrap(), Tag::new(&[9; 16]).unwrap()].into();
        let made = pending(move || Ok(Value::Tags(tags)));
        let cipher = Engine::open(Backend::Cpu).unwrap().cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
        let wrong = CmacVerifyBatch::new(&[0..1, 1..2], &[Tag::new(&[7; 16]).unwrap(); 2]).unwrap();
        let opened = cipher.run(wrong, &[0; 2]).unwrap();
        let none_wrong = cipher.run(CmacVerifyBatch::new(&[], &[]).unwrap(), &[]).unwrap();
        let (bad, good) = (pending(|| Ok(Value::Opened(2, opened))), pending(|| Ok(Value::Opened(3, none_wrong))));
        let (mut bytes, mut authentic) = ([0; 32], [9; 3]);
        for _ in 0..2 {
            // SAFETY: handles and places that live.
            unsafe {
                assert_eq!(aes_bitslice_pending_tags(&made, bytes.as_mut_ptr(), 1), AES_BITSLICE_INVALID);
                assert_eq!(aes_bitslice_pending_tag(&made, bytes.as_mut_ptr()), AES_BITSLICE_INVALID);
                assert_eq!(aes_bitslice_pending_authentic(&made, authentic.as_mut_ptr(), 2), AES_BITSLICE_INVALID);
                assert_eq!(aes_bitslice_pending_authentic(&bad, authentic.as_mut_ptr(), 3), AES_BITSLICE_INVALID);
                assert_eq!(aes_bitslice_pending_tags(&bad, bytes.as_mut_ptr(), 2), AES_BITSLICE_INVALID);
                assert_eq!((bytes, authentic), ([0; 32], [9; 3]));
                assert_eq!(aes_bitslice_pending_wait(&made), AES_BITSLICE_OK);
                assert_eq!(aes_bitslice_pending_wait(&bad), AES_BITSLICE_UNAUTHENTICATED);
                assert_eq!(aes_bitslice_pending_wait(&good), AES_BITSLICE_OK);
                assert_eq!(aes_bitslice_pending_tags(&made, bytes.as_mut_ptr(), 2), AES_BITSLICE_OK);
                assert_eq!((&bytes[..16], &bytes[16..]), (&[7; 16][..], &[9; 16][..]));
                assert_eq!(
                    aes_bitslice_pending_authentic(&bad, authentic.as_mut_ptr(), 2),
                    AES_BITSLICE_UNAUTHENTICATED
                );
                assert_eq!(authentic, [0, 0, 9]);
                assert_eq!(aes_bitslice_pending_authentic(&good, authentic.as_mut_ptr(), 3), AES_BITSLICE_OK);
                assert_eq!(authentic, [1; 3]);
            }
            (bytes, authentic) = ([0; 32], [9; 3]);
        }
    }

    #[test]
    fn what_failed_fails_again() {
        let handle = pending(|| Err(Error::Poisoned { cause: "a test".into() }));
        let mut bytes = [9; 16];
        for _ in 0..2 {
            // SAFETY: as above.
            assert_eq!(unsafe { aes_bitslice_pending_tag(&handle, bytes.as_mut_ptr()) }, AES_BITSLICE_FAILED);
            assert_eq!(bytes, [9; 16]);
        }
    }
}
