//! The caller's pointers: checked as far as possible, and turned into slices for the duration of a call.

use crate::border::caught;
use crate::status::Failure;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::room;
use aes_bitslice_runtime::{Access, Buffers, Error};
use std::ffi::{CStr, c_char, c_void};
use std::fmt::Display;
use std::ptr::NonNull;
use std::slice;

/// The value that a handle points to.
///
/// # Safety
/// It is NULL, or points to a live value that does not change for `'a`.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller guarantees.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::invalid(format!("`{name}` is NULL")))
}

/// The place to write a value to.
pub(crate) fn place<T>(pointer: *mut T, name: &str) -> Result<NonNull<T>, Failure> {
    NonNull::new(pointer).ok_or_else(|| Failure::invalid(format!("`{name}` is NULL")))
}

/// The place to write `count` contiguous values to; for none the pointer may be NULL.
pub(crate) fn places<T>(pointer: *mut T, count: usize, name: &str) -> Result<NonNull<T>, Failure> {
    match count {
        0 => Ok(NonNull::dangling()),
        _ => Ok(range(pointer, count.saturating_mul(size_of::<T>()), name)?.cast()),
    }
}

/// The address of `count` contiguous values in GPU memory; for none the pointer may be NULL.
pub(crate) fn address<T>(pointer: *const T, count: usize, name: &str) -> Result<u64, Failure> {
    Ok(places(pointer.cast_mut(), count, name)?.as_ptr() as u64)
}

/// `count` values, with enough memory for the copy that operations make. For none the pointer may be NULL.
///
/// # Safety
/// It is NULL, or points to `count` values that do not change for `'a`.
pub(crate) unsafe fn values<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    let bytes = count.saturating_mul(size_of::<T>());
    let start = range(pointer, bytes, name)?;
    if !pointer.is_aligned() {
        return Err(Failure::invalid(format!("`{name}` is not at a multiple of {} bytes", align_of::<T>())));
    }
    room::<u8>(bytes)
        .map_err(|_| Error::OutOfHostMemory { what: format!("{} of `{name}`", counted(bytes, "byte")) })?;
    // SAFETY: as the caller guarantees; the length is one that memory can have.
    Ok(unsafe { slice::from_raw_parts(start.as_ptr().cast(), count) })
}

/// A block of 16 bytes, copied.
///
/// # Safety
/// It is NULL, or points to 16 bytes.
pub(crate) unsafe fn block(pointer: *const u8, name: &str) -> Result<[u8; 16], Failure> {
    // SAFETY: as the caller guarantees.
    unsafe { reference(pointer.cast::<[u8; 16]>(), name) }.copied()
}

/// A string.
///
/// # Safety
/// It is NULL, or points to a zero-terminated string that does not change for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a CStr, Failure> {
    if pointer.is_null() {
        Err(Failure::invalid(format!("`{name}` is NULL")))
    } else {
        // SAFETY: as the caller guarantees.
        Ok(unsafe { CStr::from_ptr(pointer) })
    }
}

/// The first byte of a range, checked to fit in memory.
fn range<T>(pointer: *const T, bytes: usize, name: &str) -> Result<NonNull<u8>, Failure> {
    let start = place(pointer.cast_mut(), name)?.cast();
    let ends = (pointer as usize).checked_add(bytes).is_some();
    if isize::try_from(bytes).is_ok() && ends {
        Ok(start)
    } else {
        Err(Failure::invalid(format!("`{name}` has more bytes than memory can have: {bytes}")))
    }
}

/// The data of a call: an input, an output, or both with the same length.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    input: Option<NonNull<u8>>,
    output: Option<NonNull<u8>>,
    len: usize,
}

impl Data {
    /// What an operation with this access takes.
    pub(crate) fn of(
        access: Access,
        operation: impl Display,
        input: *const c_void,
        output: *mut c_void,
        len: usize,
    ) -> Result<Self, Failure> {
        let refused = |name, does| Err(Failure::invalid(format!("`{name}` is not NULL: {operation} {does} nothing")));
        match access {
            Access::Maps => Self::maps(input, output, len),
            Access::Reads if !output.is_null() => refused("output", "writes"),
            Access::Reads => Self::new(Some(input), None, len),
            Access::Writes if !input.is_null() => refused("input", "reads"),
            Access::Writes => Self::writes(output, len),
        }
    }

    /// From an input to an output: the same range, or two disjoint ones.
    fn maps(input: *const c_void, output: *mut c_void, len: usize) -> Result<Self, Failure> {
        let data = Self::new(Some(input), Some(output), len)?;
        if input != output.cast_const() && overlap(input as usize, len, output as usize, len) {
            return Err(Failure::invalid("`input` and `output` overlap: they must be the same or disjoint"));
        }
        Ok(data)
    }

    /// An output only.
    pub(crate) fn writes(output: *mut c_void, len: usize) -> Result<Self, Failure> {
        Self::new(None, Some(output), len)
    }

    fn new(input: Option<*const c_void>, output: Option<*mut c_void>, len: usize) -> Result<Self, Failure> {
        if len == 0 {
            return Ok(Self { input: None, output: None, len });
        }
        let input = input.map(|input| range(input, len, "input")).transpose()?;
        let output = output.map(|output| range(output, len, "output")).transpose()?;
        Ok(Self { input, output, len })
    }

    /// The place of `count` contiguous values beside the data, not within it; for none the pointer may be NULL.
    pub(crate) fn places_apart<T>(&self, pointer: *mut T, count: usize, name: &str) -> Result<NonNull<T>, Failure> {
        let (place, bytes) = (places(pointer, count, name)?, count.saturating_mul(size_of::<T>()));
        for data in [self.input, self.output].into_iter().flatten().filter(|_| count > 0) {
            if overlap(data.as_ptr() as usize, self.len, pointer as usize, bytes) {
                return Err(Failure::invalid(format!("`{name}` overlaps the data: they must be disjoint")));
            }
        }
        Ok(place)
    }

    /// The addresses of input and output, zero for a missing one, and the number of bytes of each.
    pub(crate) fn addresses(&self) -> (u64, u64, u64) {
        let address = |pointer: Option<NonNull<u8>>| pointer.map_or(0, |pointer| pointer.as_ptr() as u64);
        (address(self.input), address(self.output), self.len as u64)
    }

    /// Passes the data to `work`. If `work` panics, the output is cleared.
    ///
    /// # Safety
    /// The pointers this was made from point to memory as its constructor says, which nothing else uses meanwhile.
    pub(crate) unsafe fn give<T>(&self, work: impl FnOnce(Buffers<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let (len, mut done) = (self.len, false);
        let outcome = caught(|| {
            // SAFETY: as the caller guarantees; input and output are the same or disjoint.
            let buffers = unsafe {
                match (self.input, self.output) {
                    (None, None) => Buffers::InPlace(&mut []),
                    (Some(input), None) => Buffers::Read(slice::from_raw_parts(input.as_ptr(), len)),
                    (None, Some(output)) => Buffers::Write(slice::from_raw_parts_mut(output.as_ptr(), len)),
                    (Some(input), Some(output)) if input == output => {
                        Buffers::InPlace(slice::from_raw_parts_mut(output.as_ptr(), len))
                    }
                    (Some(input), Some(output)) => Buffers::To {
                        input: slice::from_raw_parts(input.as_ptr(), len),
                        output: slice::from_raw_parts_mut(output.as_ptr(), len),
                    },
                }
            };
            let outcome = work(buffers);
            done = true;
            outcome
        });
        if let (false, Some(output)) = (done, self.output) {
            // SAFETY: as above; `work` has ended.
            unsafe { output.as_ptr().write_bytes(0, len) };
        }
        outcome
    }
}

pub(crate) fn overlap(a: usize, a_len: usize, b: usize, b_len: usize) -> bool {
    a < b.saturating_add(b_len) && b < a.saturating_add(a_len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{AES_BITSLICE_BUG, AES_BITSLICE_INVALID};

    #[test]
    fn ranges_are_the_same_or_apart_and_within_memory() {
        let at = |address: usize| address as *mut c_void;
        let maps = |input, output, len| Data::maps(at(input), at(output), len).is_ok();
        assert!(maps(64, 64, 16) && maps(64, 80, 16) && maps(80, 64, 16) && maps(0, 0, 0));
        assert!(!maps(64, 79, 16) && !maps(79, 64, 16) && !maps(0, 64, 1) && !maps(64, 0, 1));
        assert!(!maps(64, 64, usize::MAX) && !maps(usize::MAX - 7, usize::MAX - 7, 16));
        let data = Data::maps(at(64), at(128), 16).unwrap_or_else(|failure| panic!("{}", failure.message));
        assert_eq!(data.addresses(), (64, 128, 16));
        let addresses = |input, output| Data::new(input, output, 16).ok().map(|data| data.addresses());
        assert_eq!(
            (addresses(Some(at(64).cast_const()), None), addresses(None, Some(at(64)))),
            (Some((64, 0, 16)), Some((0, 64, 16)))
        );
        let apart = |address: usize| data.places_apart(at(address).cast::<[u8; 16]>(), 1, "tag").is_ok();
        assert!(apart(80) && apart(48) && apart(112) && apart(144));
        assert!(!apart(49) && !apart(79) && !apart(113) && !apart(143) && !apart(0));
        let apart = |address: usize, count| data.places_apart(at(address).cast::<[u8; 16]>(), count, "tags").is_ok();
        assert!(apart(16, 3) && apart(80, 3) && apart(72, 0) && apart(0, 0));
        assert!(!apart(16, 4) && !apart(80, 4) && !apart(0, 1) && !apart(144, usize::MAX / 2));
    }

    #[test]
    fn a_panic_clears_the_output_and_a_refusal_does_not() {
        let mut output = [7_u8; 5];
        let data = Data::writes(output.as_mut_ptr().cast(), 5).ok().unwrap();
        // SAFETY: the array lives, and is not used meanwhile.
        let refused = unsafe { data.give::<()>(|_| Err(Failure::invalid("a test"))) };
        assert_eq!((refused.unwrap_err().status, output), (AES_BITSLICE_INVALID, [7; 5]));
        // SAFETY: as above.
        let panicked = unsafe { data.give::<()>(|_| panic!("a test")) };
        assert_eq!((panicked.unwrap_err().status, output), (AES_BITSLICE_BUG, [0; 5]));
    }
}
