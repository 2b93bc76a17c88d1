//! The arguments of a launch: a value for each parameter of an entry point, in the order in which the kernel's manifest
//! lists them. There is no other list.
//!
//! | parameter | value |
//! |---|---|
//! | `in`, `out` | the start of the launch's part of the data |
//! | `keys`, `tweak_keys` | the words of the key, and of the tweak key, which travel with the launch |
//! | `key_planes`, `rounds` | the address of the key's planes in device memory, and its number of rounds |
//! | any other | the operation's value of it |

use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::op::launch::{Gather, Launch, Value};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::signature::{EntryPoint, Parameter};
use cudarc::driver::sys::CUdeviceptr;
use std::ffi::c_void;
use std::ptr;

/// The source of the value of each parameter of an entry point, determined once, when the kernel is loaded.
pub(crate) struct Binding {
    parameters: Vec<(Source, Parameter)>,
}

/// The source of a parameter's value.
#[derive(Clone, Copy)]
enum Source {
    Input,
    Output,
    KeyWords,
    TweakWords,
    KeyPlanes,
    Rounds,
    /// The operation.
    Operation,
}

/// An argument, as it is passed. What it points to lives as long as it does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Passed<'a> {
    Address(CUdeviceptr),
    U32(&'a u32),
    U64(&'a u64),
    Words(&'a [u32]),
}

impl Passed<'_> {
    /// The size in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Address(_) | Self::U64(_) => 8,
            Self::U32(_) => 4,
            Self::Words(words) => size_of_val(*words),
        }
    }

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

impl Binding {
    pub(crate) fn new(entry: &EntryPoint) -> Self {
        let source = |parameter: &Parameter| match parameter.name {
            Argument::In => Source::Input,
            Argument::Out => Source::Output,
            Argument::Keys => Source::KeyWords,
            Argument::TweakKeys => Source::TweakWords,
            Argument::KeyPlanes => Source::KeyPlanes,
            Argument::Rounds => Source::Rounds,
            _ => Source::Operation,
        };
        let parameters = entry.parameters.iter().map(|parameter| (source(parameter), parameter.clone()));
        Self { parameters: parameters.collect() }
    }

    /// The size of each parameter in bytes, in order.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.parameters.iter().map(|(_, parameter)| parameter.kind.cuda_bytes())
    }

    /// The arguments of a launch on a part of the data at `span`, in order; `gathered` copies blocks of the input and
    /// returns their address.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if a parameter has no value of its kind, and the errors of `gathered`.
    pub(crate) fn arguments<'a>(
        &self,
        span: Span,
        launch: &'a Launch,
        keys: Option<&'a RoundKeys>,
        mut gathered: impl FnMut(CUdeviceptr, &Gather) -> Result<CUdeviceptr, Error>,
    ) -> Result<Vec<Passed<'a>>, Error> {
        let part = span.part(launch.at, 0);
        let mut arguments = Vec::with_capacity(self.parameters.len());
        for (source, parameter) in &self.parameters {
            let argument = match source {
                Source::Input => part.input.map(Passed::Address),
                Source::Output => part.output.map(Passed::Address),
                Source::KeyWords => keys.and_then(RoundKeys::words).map(Passed::Words),
                Source::TweakWords => keys.and_then(RoundKeys::tweak_words).map(Passed::Words),
                Source::KeyPlanes => keys.and_then(RoundKeys::planes).map(Passed::Address),
                Source::Rounds => keys.and_then(RoundKeys::rounds).map(Passed::U32),
                Source::Operation => match (launch.value(parameter.name), parameter.kind, span.input) {
                    (Some(Value::U32(number)), Kind::U32, _) => Some(Passed::U32(number)),
                    (Some(Value::U64(number)), Kind::U64, _) => Some(Passed::U64(number)),
                    (Some(Value::Words(words)), Kind::Words(_), _) => Some(Passed::Words(words)),
                    (Some(Value::Address(address)), Kind::Buffer, _) => Some(Passed::Address(*address)),
                    // Wrapping, because the first thread block reads nothing there.
                    (Some(Value::BeforeInput(bytes)), Kind::Pointer, Some(input)) => {
                        Some(Passed::Address(input.wrapping_sub(*bytes)))
                    }
                    (Some(Value::Gathered(blocks)), Kind::Pointer, Some(input)) => {
                        Some(Passed::Address(gathered(input, blocks)?))
                    }
                    _ => None,
                },
            };
            // A value shorter than the parameter would be read beyond its end.
            let argument = argument.filter(|argument| argument.size() == parameter.kind.cuda_bytes());
            arguments.push(argument.ok_or_else(|| no_value(parameter))?);
        }
        Ok(arguments)
    }
}

fn no_value(Parameter { name, kind }: &Parameter) -> Error {
    Error::NoSuchKernel {
        what: format!("its parameter `{name}` ({kind:?}) is not one that it can be launched with here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::launch::Entry;
    use zeroize::Zeroizing;

    const SPAN: Span = Span { input: Some(0x1000), output: Some(0x8000), len: 96 };

    fn launch() -> Launch {
        let blocks = Gather { first: 32, apart: 48, blocks: 1 };
        let values = vec![
            (Argument::Iv, Value::Words([1, 2, 3, 4])),
            (Argument::Blocks, Value::U64(5)),
            (Argument::Skip, Value::U32(6)),
            (Argument::Previous, Value::BeforeInput(0x1010)),
            (Argument::Tables, Value::Gathered(blocks)),
        ];
        Launch { entry: Entry::Blocks, at: 16, thread_blocks: 1, threads: 32, values }
    }

    fn binding(parameters: &[(Argument, Kind)]) -> Binding {
        let parameter = |&(name, kind): &(Argument, Kind)| Parameter { name, kind };
        Binding::new(&EntryPoint { name: "k".into(), parameters: parameters.iter().map(parameter).collect() })
    }

    #[test]
    fn parameters_find_their_values_in_their_own_order() {
        let binding = binding(&[
            (Argument::Keys, Kind::Words(2)),
            (Argument::Skip, Kind::U32),
            (Argument::Out, Kind::Output),
            (Argument::Previous, Kind::Pointer),
            (Argument::Blocks, Kind::U64),
            (Argument::In, Kind::Input),
            (Argument::Tables, Kind::Pointer),
            (Argument::Iv, Kind::Words(4)),
        ]);
        let (launch, keys) = (launch(), RoundKeys::Argument(Zeroizing::new(vec![7, 8])));
        let gathered = |input, blocks: &Gather| Ok(input + blocks.first);
        let arguments = binding.arguments(SPAN, &launch, Some(&keys), gathered).unwrap();
        let expected = [
            Passed::Words(&[7, 8]),
            Passed::U32(&6),
            Passed::Address(0x8010),
            // Before the call's input, not before the launch's part of it.
            Passed::Address(u64::MAX - 0xf),
            Passed::U64(&5),
            Passed::Address(0x1010),
            Passed::Address(0x1020),
            Passed::Words(&[1, 2, 3, 4]),
        ];
        assert_eq!(arguments, expected);
        assert_eq!(arguments.iter().map(Passed::size).collect::<Vec<_>>(), binding.sizes().collect::<Vec<_>>());
        for argument in &arguments {
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

    #[test]
    fn a_parameter_without_a_value_of_its_kind_is_an_error() {
        let keys = RoundKeys::Argument(Zeroizing::new(vec![7, 8]));
        let fails = |parameter, span, keys: Option<&RoundKeys>| {
            let launch = launch();
            let outcome = binding(&[parameter]).arguments(span, &launch, keys, |_, _| panic!("nothing to copy"));
            matches!(outcome, Err(Error::NoSuchKernel { .. }))
        };
        for parameter in [
            (Argument::Length, Kind::U64),
            (Argument::Blocks, Kind::U32),
            (Argument::Skip, Kind::U64),
            (Argument::Iv, Kind::Words(5)),
            (Argument::Iv, Kind::Pointer),
            (Argument::Previous, Kind::Buffer),
            (Argument::Keys, Kind::Words(3)),
            (Argument::KeyPlanes, Kind::Buffer),
            (Argument::Rounds, Kind::U32),
        ] {
            assert!(fails(parameter, SPAN, Some(&keys)), "{parameter:?}");
        }
        assert!(fails((Argument::Keys, Kind::Words(2)), SPAN, None), "no key");
        assert!(!fails((Argument::Keys, Kind::Words(2)), SPAN, Some(&keys)));
        let (no_input, no_output) = (Span { input: None, ..SPAN }, Span { output: None, ..SPAN });
        assert!(
            fails((Argument::In, Kind::Input), no_input, None) && !fails((Argument::In, Kind::Input), no_output, None)
        );
        assert!(
            fails((Argument::Out, Kind::Output), no_output, None)
                && !fails((Argument::Out, Kind::Output), no_input, None)
        );
        assert!(fails((Argument::Previous, Kind::Pointer), no_input, None));
    }
}
