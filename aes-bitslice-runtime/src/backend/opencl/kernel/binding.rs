//! The arguments of a launch: those that the kernel's manifest lists, in its order, each found by name.

use crate::backend::device::values::{Found, Values};
use crate::backend::opencl::handles::{KernelObject, call};
use crate::backend::opencl::kernel::gather::Gathered;
use crate::backend::opencl::kernel::program::EntryPoint;
use crate::backend::opencl::memory::key_memory::KeyMemory;
use crate::base::error::Error;
use crate::base::lock::lock;
use aes_bitslice_core::argument::{Argument, Kind};
use opencl3::kernel;
use opencl3::types::{cl_kernel, cl_mem};
use std::ffi::c_void;
use std::ptr;
use std::sync::MutexGuard;

/// The words that overwrite words in an entry point's arguments: as many as the longest key has.
static ZEROS: [u32; 61] = [0; 61];

/// An entry point with its arguments set: nothing else sets them meanwhile. Words among them are overwritten on drop, at the latest.
pub(crate) struct Bound<'k> {
    object: MutexGuard<'k, KernelObject>,
    /// The argument that the next value is for.
    next: u32,
    /// The arguments that are words, and their number.
    words: Vec<(u32, usize)>,
}

impl<'k> Bound<'k> {
    /// Sets all arguments.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] for a parameter without a value, and any error the driver reports.
    ///
    /// # Safety
    /// The entry point takes what its parameters say, and all buffers are valid.
    pub(crate) unsafe fn new(
        entry: &'k EntryPoint,
        values: &Values<'_, KeyMemory>,
        gathered: &[(Argument, Gathered)],
    ) -> Result<Self, Error> {
        let mut bound = Self { object: lock(&entry.object), next: 0, words: Vec::new() };
        let [unit_in, unit_out] = entry.units;
        for parameter in &entry.signature.parameters {
            let unit = match parameter.kind {
                Kind::Input => unit_in,
                Kind::Output => unit_out,
                _ => 1,
            };
            let found = values.find(parameter)?;
            let copies =
                || gathered.iter().find(|(of, _)| *of == parameter.name).map(|(_, blocks)| blocks.buffer.raw());
            // SAFETY: the caller guarantees the parameters, of which this is the next.
            unsafe {
                match found {
                    Found::Data(place) => bound.place(place.buffer, place.at / unit),
                    Found::Gathered(..) => bound.place(copies().expect("copied before"), 0),
                    Found::Address(buffer) => bound.value(&(buffer as cl_mem)),
                    Found::U32(number) => bound.value(number),
                    Found::U64(number) => bound.value(number),
                    Found::Words(words) => {
                        bound.words.push((bound.next, words.len()));
                        bound.set_words(words)
                    }
                }?;
            }
        }
        Ok(bound)
    }

    pub(crate) fn raw(&self) -> cl_kernel {
        self.object.raw()
    }

    /// Overwrites the words: a launch has its own copy of the arguments, and no other must remain here.
    pub(crate) fn wipe(mut self) -> Result<(), Error> {
        self.wipe_words()
    }

    /// Overwrites all of them, even if one cannot be; returns the first error.
    fn wipe_words(&mut self) -> Result<(), Error> {
        let mut wiped = Ok(());
        for (argument, words) in std::mem::take(&mut self.words) {
            self.next = argument;
            // SAFETY: an argument of this size, which was set before.
            wiped = wiped.and(unsafe { self.set_words(&ZEROS[..words]) });
        }
        wiped
    }

    /// Sets two arguments: a buffer, and an offset into it in units of the parameter's type.
    ///
    /// # Safety
    /// The next arguments are a buffer and an offset.
    unsafe fn place(&mut self, buffer: cl_mem, at: u64) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        unsafe { self.value(&buffer).and_then(|()| self.value(&at)) }
    }

    /// # Safety
    /// The next argument is of the size of the value, which is one that it may have.
    unsafe fn set_words(&mut self, words: &[u32]) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        unsafe { self.bytes(size_of_val(words), words.as_ptr().cast()) }
    }

    /// # Safety
    /// The next argument is of the size of the value, which is one that it may have.
    unsafe fn value<T>(&mut self, value: &T) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        unsafe { self.bytes(size_of::<T>(), ptr::from_ref(value).cast()) }
    }

    /// # Safety
    /// The next argument is of this size, and the value is one that it may have.
    unsafe fn bytes(&mut self, size: usize, value: *const c_void) -> Result<(), Error> {
        // SAFETY: as the caller guarantees; nothing else sets arguments meanwhile, and the value is copied by the call.
        call("clSetKernelArg", unsafe { kernel::set_kernel_arg(self.object.raw(), self.next, size, value) })?;
        self.next += 1;
        Ok(())
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.wipe_words();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::commands::{RoundKeys, Span};
    use crate::backend::opencl::context::Context;
    use crate::backend::opencl::handles::{Buffer, Program, event_of};
    use crate::backend::opencl::place::Place;
    use crate::backend::opencl::platforms::Wanted;
    use crate::op::launch::{Entry, Launch, Value};
    use aes_bitslice_core::key_source::KeySource;
    use aes_bitslice_core::signature;
    use aes_bitslice_core::signature::Parameter;
    use opencl3::command_queue;
    use opencl3::program;
    use zeroize::Zeroizing;

    #[test]
    fn there_are_zeros_for_every_key() {
        let keys =
            [KeySource::Argument, KeySource::Schedule, KeySource::CipherKey, KeySource::Memory, KeySource::Baked];
        assert_eq!(keys.into_iter().filter_map(KeySource::argument_words).max(), Some(ZEROS.len()));
    }

    /// Writes the first word and the last of the key that it is launched with, and a number.
    const SOURCE: &str = "typedef struct { uint w[61]; } round_keys;\n\
        kernel void k(global uint *out, ulong at, const round_keys keys, ulong number) {\n\
            out[at] = keys.w[0]; out[at + 1] = keys.w[60]; out[at + 2] = (uint)number;\n\
        }\n";

    /// The entry point of [`SOURCE`], whose last parameter is declared to be of this kind.
    fn entry_point(context: &Context, number: Kind) -> EntryPoint {
        let made = program::create_program_with_source(context.raw(), &[SOURCE]).unwrap();
        // SAFETY: created just now.
        let program = unsafe { Program::owning(made) };
        program::build_program(made, &[context.device()], c"-cl-std=CL1.2", None, ptr::null_mut()).unwrap();
        let parameters = [(Argument::Out, Kind::Output), (Argument::Keys, Kind::Words(61)), (Argument::Length, number)];
        let parameters = parameters.map(|(name, kind)| Parameter { name, kind }).to_vec();
        let signature = signature::EntryPoint { name: "k".into(), parameters };
        EntryPoint::new(context, &program, &signature, [4; 2], 1).unwrap()
    }

    static SEVEN: u64 = 7;
    static ONE: usize = 1;

    /// Launches what is bound, and reads the three words that it writes, from byte 4 of the buffer on.
    fn launched(context: &Context, buffer: &Buffer, object: cl_kernel) -> [u32; 3] {
        let (queue, one, mut found) = (context.queue(), &raw const ONE, [0; 12]);
        // SAFETY: every argument was set, and the buffer has the words that it writes.
        let launched = unsafe {
            command_queue::enqueue_nd_range_kernel(queue.raw(), object, 1, ptr::null(), one, one, 0, ptr::null())
        };
        event_of("clEnqueueNDRangeKernel", launched).unwrap();
        queue.read(buffer, 4, &mut found).unwrap();
        std::array::from_fn(|n| u32::from_ne_bytes(found.as_chunks().0[n]))
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn arguments_are_found_by_name_and_no_key_stays_behind() {
        let context = Context::open(Wanted::First).unwrap();
        let entry = entry_point(&context, Kind::U64);
        let buffer = context.zeroed(context.queue(), 16).unwrap();
        let keys = RoundKeys::Argument(Zeroizing::new((1..=61).collect()));
        let span = Span::between(None, Some(Place::start_of(buffer.raw())), 12);
        let launch = |values| Launch { entry: Entry::Bytes, at: 4, thread_blocks: 1, threads: 32, values };

        let whole = launch(vec![(Argument::Length, Value::U64(7))]);
        fn values<'a>(span: Span, launch: &'a Launch, keys: &'a RoundKeys) -> Values<'a, KeyMemory> {
            Values { span, launch, keys: Some(keys), tables: None }
        }
        // SAFETY: the entry point takes these arguments, and the buffer is alive.
        let bind = |launch: &Launch| unsafe { Bound::new(&entry, &values(span, launch, &keys), &[]) };
        let bound = bind(&whole).unwrap();
        assert_eq!(launched(&context, &buffer, bound.raw()), [1, 61, 7]);
        bound.wipe().unwrap();
        assert_eq!(launched(&context, &buffer, lock(&entry.object).raw()), [0, 0, 7]);

        // The key is set before the next argument proves to be missing, or of another kind.
        for without in [vec![], vec![(Argument::Length, Value::U32(7))]] {
            let refused = bind(&launch(without)).err().expect("refused");
            assert!(matches!(&refused, Error::NoSuchKernel { what } if what.contains("`length`")), "{refused}");
            assert_eq!(launched(&context, &buffer, lock(&entry.object).raw()), [0, 0, 7]);
        }

        // No key stays behind where the driver refuses an argument, either.
        let entry = entry_point(&context, Kind::U32);
        let wrong = launch(vec![(Argument::Length, Value::U32(7))]);
        // SAFETY: the entry point takes these arguments, except for the number, which is refused; the buffer is alive.
        let refused = unsafe { Bound::new(&entry, &values(span, &wrong, &keys), &[]) }.err().expect("refused");
        assert!(matches!(&refused, Error::OpenCl { call, .. } if call == "clSetKernelArg"), "{refused}");
        let object = lock(&entry.object);
        // SAFETY: the fourth argument is a number of this size.
        unsafe { kernel::set_kernel_arg(object.raw(), 3, 8, (&raw const SEVEN).cast()) }.unwrap();
        assert_eq!(launched(&context, &buffer, object.raw()), [0, 0, 7]);
    }
}
