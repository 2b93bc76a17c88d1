//! The arguments of a launch: those that the kernel's manifest lists, in its order, each found by name.

use crate::backend::opencl::handles::{KernelObject, call, lock};
use crate::backend::opencl::kernel::gather::Gathered;
use crate::backend::opencl::kernel::program::EntryPoint;
use crate::backend::opencl::kernel::span::{Place, Span};
use crate::backend::opencl::memory::key_memory::{KeyValue, RoundKeys};
use crate::base::error::Error;
use crate::op::launch::{Launch, Value};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::signature::Parameter;
use opencl3::kernel;
use opencl3::types::{cl_kernel, cl_mem};
use std::ffi::c_void;
use std::ptr;
use std::sync::MutexGuard;

/// The words that overwrite words in an entry point's arguments: as many as the longest key has.
static ZEROS: [u32; 61] = [0; 61];

/// The sources of the values of a launch's arguments.
pub(crate) struct Values<'a> {
    pub(crate) span: Span,
    pub(crate) launch: &'a Launch,
    /// The blocks that were gathered for it, by argument.
    pub(crate) gathered: &'a [(Argument, Gathered)],
    pub(crate) keys: Option<&'a RoundKeys>,
}

/// The value of a parameter, in the form in which it is set: a place is two arguments.
enum Found<'a> {
    /// A buffer, and an offset into it in units of the parameter's type.
    Place(cl_mem, u64),
    Buffer(cl_mem),
    U32(u32),
    U64(u64),
    /// A key, or something else that may be a secret.
    Words(&'a [u32]),
}

impl<'a> Values<'a> {
    /// The value of a parameter of an entry point that counts positions in its input and output in units of these many bytes; `None` if
    /// there is no value of its name and kind.
    fn find(&self, parameter: &Parameter, [unit_in, unit_out]: [u64; 2]) -> Option<Found<'a>> {
        let Self { span, launch, gathered, keys } = *self;
        let name = parameter.name;
        let of_launch = launch.value(name);
        let of_key = || keys?.value(name);
        let data = |place: Place, unit| Found::Place(place.buffer, (place.at + launch.at) / unit);
        match parameter.kind {
            Kind::Input => span.input.map(|place| data(place, unit_in)),
            Kind::Output => span.output.map(|place| data(place, unit_out)),
            Kind::Pointer => match of_launch? {
                // Wrapping, because nothing is read before the input's buffer.
                Value::BeforeInput(bytes) => {
                    span.input.map(|input| Found::Place(input.buffer, input.at.wrapping_sub(*bytes)))
                }
                Value::Gathered(_) => {
                    gathered.iter().find(|(of, _)| *of == name).map(|(_, blocks)| Found::Place(blocks.raw(), 0))
                }
                _ => None,
            },
            Kind::Buffer => match (of_launch, of_key()) {
                // In OpenCL, an address in device memory is a buffer.
                (Some(&Value::Address(buffer)), _) => Some(Found::Buffer(buffer as cl_mem)),
                (None, Some(KeyValue::Planes(planes))) => Some(Found::Buffer(planes)),
                _ => None,
            },
            Kind::U32 => match (of_launch, of_key()) {
                (Some(&Value::U32(number)), _) | (None, Some(KeyValue::Rounds(number))) => Some(Found::U32(number)),
                _ => None,
            },
            Kind::U64 => match of_launch? {
                &Value::U64(number) => Some(Found::U64(number)),
                _ => None,
            },
            Kind::Words(words) => match (of_launch, of_key()) {
                (Some(Value::Words(block)), _) if block.len() == words => Some(Found::Words(block)),
                (None, Some(KeyValue::Words(key))) if key.len() == words => Some(Found::Words(key)),
                _ => None,
            },
        }
    }
}

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
    pub(crate) unsafe fn new(entry: &'k EntryPoint, values: &Values<'_>) -> Result<Self, Error> {
        let mut bound = Self { object: lock(&entry.object), next: 0, words: Vec::new() };
        for parameter in &entry.signature.parameters {
            let missing = || Error::NoSuchKernel {
                what: format!(
                    "{} takes `{}`, of which a launch of its mode knows nothing",
                    entry.signature, parameter.name
                ),
            };
            let found = values.find(parameter, entry.units).ok_or_else(missing)?;
            // SAFETY: the caller guarantees the parameters, of which this is the next.
            unsafe { bound.set(found) }?;
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

    /// # Safety
    /// The next arguments are of the sizes of what was found, and may have these values.
    unsafe fn set(&mut self, found: Found<'_>) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        unsafe {
            match found {
                Found::Place(buffer, at) => self.value(&buffer).and_then(|()| self.value(&at)),
                Found::Buffer(buffer) => self.value(&buffer),
                Found::U32(number) => self.value(&number),
                Found::U64(number) => self.value(&number),
                Found::Words(words) => {
                    self.words.push((self.next, words.len()));
                    self.set_words(words)
                }
            }
        }
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
    use crate::backend::opencl::context::Context;
    use crate::backend::opencl::handles::{Buffer, Program, event_of};
    use crate::backend::opencl::platforms::Wanted;
    use crate::op::launch::Entry;
    use aes_bitslice_core::key_source::KeySource;
    use aes_bitslice_core::signature;
    use opencl3::command_queue;
    use opencl3::program;
    use opencl3::types::CL_TRUE;
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

    /// Launches what is bound, and reads the three words that it writes, from byte 4 of the buffer on.
    fn launched(context: &Context, buffer: &Buffer, object: cl_kernel) -> [u32; 3] {
        let (queue, one, mut words) = (context.queue().raw(), 1, [0; 3]);
        // SAFETY: every argument was set; the buffer has these words, and the last call returns when they are copied.
        unsafe {
            let none = ptr::null();
            let launched = command_queue::enqueue_nd_range_kernel(
                queue,
                object,
                1,
                none,
                &raw const one,
                &raw const one,
                0,
                none.cast(),
            );
            event_of("clEnqueueNDRangeKernel", launched).unwrap();
            let to = words.as_mut_ptr().cast();
            let copied = command_queue::enqueue_read_buffer(queue, buffer.raw(), CL_TRUE, 4, 12, to, 0, ptr::null());
            event_of("clEnqueueReadBuffer", copied).unwrap();
        }
        words
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn arguments_are_found_by_name_and_no_key_stays_behind() {
        let context = Context::open(Wanted::First).unwrap();
        let entry = entry_point(&context, Kind::U64);
        let buffer = context.zeroed(context.queue(), 16).unwrap();
        let keys = RoundKeys::Argument(Zeroizing::new((1..=61).collect()));
        let output = Some(Place { buffer: buffer.raw(), at: 0 });
        let span = Span { input: None, output, len: 12, in_place: false, aligned: true };
        let launch = |values| Launch { entry: Entry::Bytes, at: 4, thread_blocks: 1, threads: 32, values };

        let whole = launch(vec![(Argument::Length, Value::U64(7))]);
        // SAFETY: the entry point takes these arguments, and the buffer is alive.
        let bind =
            |launch: &Launch| unsafe { Bound::new(&entry, &Values { span, launch, gathered: &[], keys: Some(&keys) }) };
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
        let values = Values { span, launch: &wrong, gathered: &[], keys: Some(&keys) };
        // SAFETY: the entry point takes these arguments, except for the number, which is refused; the buffer is alive.
        let refused = unsafe { Bound::new(&entry, &values) }.err().expect("refused");
        assert!(matches!(&refused, Error::OpenCl { call, .. } if call == "clSetKernelArg"), "{refused}");
        let object = lock(&entry.object);
        // SAFETY: the fourth argument is a number of this size.
        unsafe { kernel::set_kernel_arg(object.raw(), 3, 8, (&raw const SEVEN).cast()) }.unwrap();
        assert_eq!(launched(&context, &buffer, object.raw()), [0, 0, 7]);
    }
}
