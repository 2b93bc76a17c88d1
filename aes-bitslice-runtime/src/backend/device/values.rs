//! The value of each parameter of an entry point in a launch. The kernel's manifest lists the parameters; there is no other list.
//!
//! | parameter | value |
//! |---|---|
//! | `in`, `out` | the start of the launch's part of the data |
//! | `keys`, `tweak_keys` | the words of the key, and of the tweak key, which travel with the launch |
//! | `key_planes`, `rounds` | where the key's planes are in device memory, and its number of rounds |
//! | any other | the operation's value of it |

use crate::backend::device::round_keys::{KeyMaterial, KeyValue, RoundKeys};
use crate::backend::device::span::{Place, Span};
use crate::base::error::Error;
use crate::op::launch::{Gather, Launch, Value};
use aes_bitslice_core::argument::Kind;
use aes_bitslice_core::signature::Parameter;

/// The sources of the values of a launch's arguments.
pub(crate) struct Values<'a, M: KeyMaterial> {
    /// The data of the call.
    pub(crate) span: Span<M::Place>,
    pub(crate) launch: &'a Launch,
    pub(crate) keys: Option<&'a RoundKeys<M>>,
    /// The tables of a hash key that the launch reads.
    pub(crate) tables: Option<&'a M>,
}

/// The value of a parameter. What it points to lives as long as the launch and the keys.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Found<'a, P> {
    /// A byte of the data, or before it.
    Data(P),
    /// Blocks of the input that begins here, to be copied to separate memory before the launch.
    Gathered(P, &'a Gather),
    /// Other device memory.
    Address(u64),
    U32(&'a u32),
    U64(&'a u64),
    /// A key, or something else that may be a secret.
    Words(&'a [u32]),
}

impl<'a, M: KeyMaterial> Values<'a, M> {
    /// The value of a parameter.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if there is no value of its name and kind.
    pub(crate) fn find(&self, parameter: &Parameter) -> Result<Found<'a, M::Place>, Error> {
        let Parameter { name, kind } = *parameter;
        let none = || Error::NoSuchKernel {
            what: format!("its parameter `{name}` ({kind:?}) is not one that it can be launched with here"),
        };
        self.value(parameter).ok_or_else(none)
    }

    fn value(&self, &Parameter { name, kind }: &Parameter) -> Option<Found<'a, M::Place>> {
        let Self { span, launch, keys, .. } = *self;
        let of_launch = launch.value(name);
        let of_key = || keys?.value(name);
        let part = |place: M::Place| Found::Data(place.after(launch.at));
        match kind {
            Kind::Input => span.input.map(part),
            Kind::Output => span.output.map(part),
            Kind::Pointer => match (of_launch?, span.input?) {
                // The first thread block reads nothing there.
                (Value::BeforeInput(bytes), input) => Some(Found::Data(input.before(*bytes))),
                (Value::Gathered(blocks), input) => Some(Found::Gathered(input, blocks)),
                _ => None,
            },
            Kind::Buffer => match (of_launch, of_key()) {
                (Some(&Value::Address(address)), _) | (None, Some(KeyValue::Planes(address))) => {
                    Some(Found::Address(address))
                }
                _ => None,
            },
            Kind::U32 => match (of_launch, of_key()) {
                (Some(Value::U32(number)), _) | (None, Some(KeyValue::Rounds(number))) => Some(Found::U32(number)),
                _ => None,
            },
            Kind::U64 => match of_launch? {
                Value::U64(number) => Some(Found::U64(number)),
                _ => None,
            },
            // A value shorter than the parameter would be read beyond its end.
            Kind::Words(words) => match (of_launch, of_key()) {
                (Some(Value::Words(block)), _) => Some(&block[..]),
                (None, Some(KeyValue::Words(key))) => Some(key),
                _ => None,
            }
            .filter(|found| found.len() == words)
            .map(Found::Words),
        }
    }

    /// The key material in device memory that the launch reads.
    pub(crate) fn key_memories(&self) -> impl Iterator<Item = &'a M> {
        self.keys.and_then(RoundKeys::memory).into_iter().chain(self.tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device::driver::fake::At;
    use crate::op::launch::Entry;
    use aes_bitslice_core::argument::Argument;
    use zeroize::Zeroizing;

    const SPAN: Span<At> = Span { input: Some(At(0x1000)), output: Some(At(0x8000)), len: 96, in_place: false };

    fn launch() -> Launch {
        let blocks = Gather { first: 32, apart: 48, blocks: 1 };
        let values = vec![
            (Argument::Iv, Value::Words([1, 2, 3, 4])),
            (Argument::Blocks, Value::U64(5)),
            (Argument::Skip, Value::U32(6)),
            (Argument::Previous, Value::BeforeInput(0x1010)),
            (Argument::Tables, Value::Gathered(blocks)),
            (Argument::Hash, Value::Address(0x77)),
        ];
        Launch { entry: Entry::Blocks, at: 16, thread_blocks: 1, threads: 32, values }
    }

    fn keys() -> RoundKeys<At> {
        RoundKeys::Argument(Zeroizing::new(vec![7, 8]))
    }

    #[test]
    fn parameters_find_their_values() {
        let (launch, keys) = (launch(), keys());
        let values = Values { span: SPAN, launch: &launch, keys: Some(&keys), tables: None };
        let blocks = Gather { first: 32, apart: 48, blocks: 1 };
        for (name, kind, expected) in [
            (Argument::Keys, Kind::Words(2), Found::Words(&[7, 8])),
            (Argument::Skip, Kind::U32, Found::U32(&6)),
            (Argument::Out, Kind::Output, Found::Data(At(0x8010))),
            // Before the call's input, not before the launch's part of it.
            (Argument::Previous, Kind::Pointer, Found::Data(At(u64::MAX - 0xf))),
            (Argument::Blocks, Kind::U64, Found::U64(&5)),
            (Argument::In, Kind::Input, Found::Data(At(0x1010))),
            (Argument::Tables, Kind::Pointer, Found::Gathered(At(0x1000), &blocks)),
            (Argument::Iv, Kind::Words(4), Found::Words(&[1, 2, 3, 4])),
            (Argument::Hash, Kind::Buffer, Found::Address(0x77)),
        ] {
            assert_eq!(values.find(&Parameter { name, kind }).unwrap(), expected);
        }
    }

    #[test]
    fn a_parameter_without_a_value_of_its_kind_is_an_error() {
        let keys = keys();
        let fails = |(name, kind), span, keys: Option<&RoundKeys<At>>| {
            let launch = launch();
            let values = Values { span, launch: &launch, keys, tables: None };
            let found = values.find(&Parameter { name, kind });
            match found {
                Err(Error::NoSuchKernel { what }) => what.contains(&format!("`{name}`")),
                _ => false,
            }
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
        let (input, output) = ((Argument::In, Kind::Input), (Argument::Out, Kind::Output));
        let key = (Argument::Keys, Kind::Words(2));
        assert!(fails(key, SPAN, None), "no key");
        assert!(!fails(key, SPAN, Some(&keys)));
        let (no_input, no_output) = (Span { input: None, ..SPAN }, Span { output: None, ..SPAN });
        assert!(fails(input, no_input, None) && !fails(input, no_output, None));
        assert!(fails(output, no_output, None) && !fails(output, no_input, None));
        assert!(fails((Argument::Previous, Kind::Pointer), no_input, None));
    }
}
