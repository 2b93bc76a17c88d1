//! The arguments of a launch in the driver's form, in the order in which the kernel's manifest lists its parameters.

use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::device::values::{Found, Values};
use crate::base::error::Error;
use crate::op::launch::Gather;
use aes_bitslice_core::signature::Parameter;
use cudarc::driver::sys::CUdeviceptr;
use std::ffi::c_void;
use std::ptr;

/// An argument, as it is passed. What it points to lives as long as it does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Passed<'a> {
    Address(CUdeviceptr),
    U32(&'a u32),
    U64(&'a u64),
    Words(&'a [u32]),
}

impl Passed<'_> {
    /// The argument in the driver's form: a pointer to the value, which the driver only reads.
    pub(crate) fn pointer(&self) -> *mut c_void {
        match self {
            Self::Address(address) => ptr::from_ref(address).cast_mut().cast(),
            Self::U32(number) => ptr::from_ref(*number).cast_mut().cast(),
            Self::U64(number) => ptr::from_ref(*number).cast_mut().cast(),
            Self::Words(words) => words.as_ptr().cast_mut().cast(),
        }
    }
}

/// The arguments of a launch, in order; `gathered` copies blocks of the input and returns their address.
///
/// # Errors
/// [`Error::NoSuchKernel`] if a parameter has no value of its kind, and the errors of `gathered`.
pub(crate) fn arguments<'a>(
    parameters: &[Parameter],
    values: &Values<'a, KeyMemory>,
    mut gathered: impl FnMut(CUdeviceptr, &Gather) -> Result<CUdeviceptr, Error>,
) -> Result<Vec<Passed<'a>>, Error> {
    let mut passed = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        passed.push(match values.find(parameter)? {
            Found::Data(address) | Found::Address(address) => Passed::Address(address),
            Found::Gathered(input, blocks) => Passed::Address(gathered(input, blocks)?),
            Found::U32(number) => Passed::U32(number),
            Found::U64(number) => Passed::U64(number),
            Found::Words(words) => Passed::Words(words),
        });
    }
    Ok(passed)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::backend::cuda::commands::{RoundKeys, Span};
    use crate::op::launch::{Entry, Launch, Value};
    use aes_bitslice_core::argument::{Argument, Kind};
    use aes_bitslice_core::manifest::Manifest;
    use zeroize::Zeroizing;

    /// The values given to a launch are those that its kernel declares: name for name, and size for size.
    pub(crate) fn all_are_found(manifest: &Manifest, launch: &Launch, span: Span, keys: Option<&RoundKeys>) {
        let parameters = &manifest.entries[&launch.entry].parameters;
        let found = arguments(parameters, &Values { span, launch, keys, tables: None }, |input, _| Ok(input)).unwrap();
        assert_eq!(found.len(), parameters.len(), "{} of {}", launch.entry, manifest.kernel);
    }

    impl Passed<'_> {
        /// The size in bytes.
        pub(crate) fn size(&self) -> usize {
            match self {
                Self::Address(_) | Self::U64(_) => 8,
                Self::U32(_) => 4,
                Self::Words(words) => size_of_val(*words),
            }
        }
    }

    #[test]
    fn arguments_are_in_the_order_of_the_parameters_and_of_their_sizes() {
        let blocks = Gather { first: 32, apart: 48, blocks: 1 };
        let values = vec![
            (Argument::Iv, Value::Words([1, 2, 3, 4])),
            (Argument::Blocks, Value::U64(5)),
            (Argument::Skip, Value::U32(6)),
            (Argument::Tables, Value::Gathered(blocks)),
        ];
        let launch = Launch { entry: Entry::Blocks, at: 16, thread_blocks: 1, threads: 32, values };
        let parameters = [
            (Argument::Keys, Kind::Words(2)),
            (Argument::Skip, Kind::U32),
            (Argument::Out, Kind::Output),
            (Argument::Blocks, Kind::U64),
            (Argument::Tables, Kind::Pointer),
            (Argument::Iv, Kind::Words(4)),
        ];
        let parameters = parameters.map(|(name, kind)| Parameter { name, kind });
        let keys = RoundKeys::Argument(Zeroizing::new(vec![7, 8]));
        let span = Span::between(Some(0x1000), Some(0x8000), 96);
        let values = Values { span, launch: &launch, keys: Some(&keys), tables: None };
        let passed = arguments(&parameters, &values, |input, blocks| Ok(input + blocks.first)).unwrap();
        let expected = [
            Passed::Words(&[7, 8]),
            Passed::U32(&6),
            Passed::Address(0x8010),
            Passed::U64(&5),
            Passed::Address(0x1020),
            Passed::Words(&[1, 2, 3, 4]),
        ];
        assert_eq!(passed, expected);
        assert!(passed.iter().map(Passed::size).eq(parameters.iter().map(|parameter| parameter.kind.cuda_bytes())));
        for argument in &passed {
            let first = argument.pointer().cast::<u32>();
            let expected = match argument {
                Passed::Address(address) => *address as u32,
                Passed::U32(number) => **number,
                Passed::U64(number) => **number as u32,
                Passed::Words(words) => words[0],
            };
            // SAFETY: every argument is at least four bytes long, and little-endian on every machine that has CUDA.
            assert_eq!(unsafe { first.read_unaligned() }, expected);
        }
    }
}
