//! Round keys in the form that kernels take: with the launch, or in device memory.

use crate::backend::device::span::Place;
use crate::base::error::Error;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::PLANES;
use zeroize::Zeroizing;

/// Key material in device memory: cleared and freed on drop, once no launch reads it.
pub(crate) trait KeyMaterial: Send + Sync {
    /// A byte of device memory.
    type Place: Place;

    /// The first byte.
    fn place(&self) -> Self::Place;
}

/// Round keys in the form that a kernel is launched with.
pub(crate) enum RoundKeys<M> {
    /// They travel with the launch.
    Argument(Zeroizing<Vec<u32>>),
    /// The two keys of XTS, which also travel with the launch.
    Two { data: Zeroizing<Vec<u32>>, tweaks: Zeroizing<Vec<u32>> },
    /// Their bit-planes are in device memory, which outlives the launches that are given it.
    Memory { planes: M, rounds: u32 },
}

/// The part of a key that a parameter takes.
pub(crate) enum KeyValue<'k> {
    /// Words that travel with the launch.
    Words(&'k [u32]),
    /// Where the bit-planes are.
    Planes(u64),
    /// The number of rounds they are for.
    Rounds(&'k u32),
}

impl<M: KeyMaterial> RoundKeys<M> {
    /// The words of a key, for a kernel that takes the key from `source`; `None` where it is in the code. `tweaks` are the words of the
    /// tweak key, for a kernel that has one. `copy` makes a copy of words in device memory.
    pub(crate) fn new(
        copy: impl FnOnce(&[u32]) -> Result<M, Error>,
        source: KeySource,
        words: Zeroizing<Vec<u32>>,
        tweaks: Option<Zeroizing<Vec<u32>>>,
    ) -> Result<Option<Self>, Error> {
        Ok(match (tweaks, source) {
            (Some(tweaks), _) => Some(Self::Two { data: words, tweaks }),
            (None, KeySource::Memory | KeySource::ScheduleInMemory) => {
                let rounds = (words.len() / PLANES) as u32 - 1;
                Some(Self::Memory { planes: copy(&words)?, rounds })
            }
            (None, KeySource::Baked) => None,
            (None, _) => Some(Self::Argument(words)),
        })
    }

    /// The part of the key that is the value of an argument.
    pub(crate) fn value(&self, argument: Argument) -> Option<KeyValue<'_>> {
        match (argument, self) {
            (Argument::Keys, Self::Argument(words) | Self::Two { data: words, .. }) => Some(KeyValue::Words(words)),
            (Argument::TweakKeys, Self::Two { tweaks, .. }) => Some(KeyValue::Words(tweaks)),
            (Argument::KeyPlanes, Self::Memory { planes, .. }) => Some(KeyValue::Planes(planes.place().address())),
            (Argument::Rounds, Self::Memory { rounds, .. }) => Some(KeyValue::Rounds(rounds)),
            _ => None,
        }
    }

    /// The device memory that they are in; `None` if they travel with the launch.
    pub(crate) fn memory(&self) -> Option<&M> {
        match self {
            Self::Memory { planes, .. } => Some(planes),
            Self::Argument(_) | Self::Two { .. } => None,
        }
    }
}
