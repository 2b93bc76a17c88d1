//! The arguments of a launch: a value for each parameter of an entry point, in the order in which the kernel's manifest
//! lists them. There is no other list.
//!
//! | parameter | value |
//! |---|---|
//! | of kind `Input`, `Output` | the start of the launch's part of the data |
//! | `keys`, `tweak_keys` | the words of the key, and of the tweak key, which travel with the launch |
//! | `key_planes`, `rounds` | the address of the key's planes in device memory, and its number of rounds |
//! | any other | the operation's value of that name |

use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::op::launch::{Gather, Launch, Value};
use aes_bitslice_core::signature::{EntryPoint, Kind, Parameter};
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
    /// The operation, by the parameter's name.
    Operation,
}

/// An argument. What it points to lives as long as it does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Argument<'a> {
    Address(CUdeviceptr),
    U32(&'a u32),
    U64(&'a u64),
    Words(&'a [u32]),
}

impl Argument<'_> {
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
        let source = |parameter: &Parameter| match (parameter.kind, parameter.name.as_str()) {
            (Kind::Input, _) => Source::Input,
            (Kind::Output, _) => Source::Output,
            (Kind::Words(_), "keys") => Source::KeyWords,
            (Kind::Words(_), "tweak_keys") => Source::TweakWords,
            (Kind::Buffer, "key_planes") => Source::KeyPlanes,
            (Kind::U32, "rounds") => Source::Rounds,
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
    ) -> Result<Vec<Argument<'a>>, Error> {
        let part = span.part(launch.at, 0);
        let mut arguments = Vec::with_capacity(self.parameters.len());
        for (source, parameter) in &self.parameters {
            let argument = match source {
                Source::Input => part.input.map(Argument::Address),
                Source::Output => part.output.map(Argument::Address),
                Source::KeyWords => keys.and_then(RoundKeys::words).map(Argument::Words),
                Source::TweakWords => keys.and_then(RoundKeys::tweak_words).map(Argument::Words),
                Source::KeyPlanes => keys.and_then(RoundKeys::planes).map(Argument::Address),
                Source::Rounds => keys.and_then(RoundKeys::rounds).map(Argument::U32),
                Source::Operation => match (launch.value(&parameter.name), parameter.kind, span.input) {
                    (Some(Value::U32(number)), Kind::U32, _) => Some(Argument::U32(number)),
                    (Some(Value::U64(number)), Kind::U64, _) => Some(Argument::U64(number)),
                    (Some(Value::Words(words)), Kind::Words(_), _) => Some(Argument::Words(words)),
                    (Some(Value::Address(address)), Kind::Buffer, _) => Some(Argument::Address(*address)),
                    // Wrapping, because the first thread block reads nothing there.
                    (Some(Value::BeforeInput(bytes)), Kind::Pointer, Some(input)) => {
                        Some(Argument::Address(input.wrapping_sub(*bytes)))
                    }
                    (Some(Value::Gathered(blocks)), Kind::Pointer, Some(input)) => {
                        Some(Argument::Address(gathered(input, blocks)?))
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
            ("iv", Value::Words([1, 2, 3, 4])),
            ("blocks", Value::U64(5)),
            ("skip", Value::U32(6)),
            ("previous", Value::BeforeInput(0x1010)),
            ("copied", Value::Gathered(blocks)),
        ];
        Launch { entry: Entry::Blocks, at: 16, thread_blocks: 1, threads: 32, values }
    }

    fn binding(parameters: &[(&str, Kind)]) -> Binding {
        let parameter = |&(name, kind): &(&str, Kind)| Parameter { name: name.into(), kind };
        Binding::new(&EntryPoint { name: "k".into(), parameters: parameters.iter().map(parameter).collect() })
    }

    #[test]
    fn parameters_find_their_values_in_their_own_order() {
        let binding = binding(&[
            ("keys", Kind::Words(2)),
            ("skip", Kind::U32),
            ("out", Kind::Output),
            ("previous", Kind::Pointer),
            ("blocks", Kind::U64),
            ("in", Kind::Input),
            ("copied", Kind::Pointer),
            ("iv", Kind::Words(4)),
        ]);
        let (launch, keys) = (launch(), RoundKeys::Argument(Zeroizing::new(vec![7, 8])));
        let gathered = |input, blocks: &Gather| Ok(input + blocks.first);
        let arguments = binding.arguments(SPAN, &launch, Some(&keys), gathered).unwrap();
        let expected = [
            Argument::Words(&[7, 8]),
            Argument::U32(&6),
            Argument::Address(0x8010),
            // Before the call's input, not before the launch's part of it.
            Argument::Address(u64::MAX - 0xf),
            Argument::U64(&5),
            Argument::Address(0x1010),
            Argument::Address(0x1020),
            Argument::Words(&[1, 2, 3, 4]),
        ];
        assert_eq!(arguments, expected);
        assert_eq!(arguments.iter().map(Argument::size).collect::<Vec<_>>(), binding.sizes().collect::<Vec<_>>());
        for argument in &arguments {
            let first = argument.pointer().cast::<u32>();
            let expected = match argument {
                Argument::Address(address) => *address as u32,
                Argument::U32(number) => **number,
                Argument::U64(number) => **number as u32,
                Argument::Words(words) => words[0],
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
            ("tweak", Kind::U64),
            ("blocks", Kind::U32),
            ("skip", Kind::U64),
            ("iv", Kind::Words(5)),
            ("iv", Kind::Pointer),
            ("previous", Kind::Buffer),
            ("keys", Kind::Words(3)),
            ("key_planes", Kind::Buffer),
            ("rounds", Kind::U32),
        ] {
            assert!(fails(parameter, SPAN, Some(&keys)), "{parameter:?}");
        }
        assert!(fails(("keys", Kind::Words(2)), SPAN, None), "no key");
        assert!(!fails(("keys", Kind::Words(2)), SPAN, Some(&keys)));
        let (no_input, no_output) = (Span { input: None, ..SPAN }, Span { output: None, ..SPAN });
        assert!(fails(("in", Kind::Input), no_input, None) && !fails(("in", Kind::Input), no_output, None));
        assert!(fails(("out", Kind::Output), no_output, None) && !fails(("out", Kind::Output), no_input, None));
        assert!(fails(("previous", Kind::Pointer), no_input, None));
    }
}
