//! Messages of GCM, each under a key of its own, as a device processes them: all together, or those of each key.

use crate::base::lock::made_once;
use crate::op::gcm_messages::Messages;
use crate::op::many_keys::Jobs;
use aes_bitslice_core::memory::{NoMemory, filled};
use aes_bitslice_core::messages::RUN;
use aes_bitslice_core::order::Order;
use std::sync::OnceLock;

/// Messages of GCM, each under a key of its own.
#[derive(Clone, Copy)]
pub struct OfGcmJobs<'a> {
    pub(crate) messages: &'a Messages,
    /// The order in which they are hashed.
    pub(crate) order: &'a Order,
    /// The additional data of all of them.
    pub(crate) aad: &'a [u8],
    /// For decryption: the tag of each, padded with zeros.
    pub(crate) expected: Option<&'a [[u8; 16]]>,
    /// Counter mode from each message's second counter on.
    pub(crate) jobs: &'a Jobs,
    /// The number of each message's key; none if keys have no numbers.
    pub(crate) numbers: &'a [u32],
    /// The messages of each key, once they were sorted.
    pub(crate) by_key: &'a OnceLock<ByKey>,
    /// There is a launch for each key if keys have numbers, and on average at least this many bytes of data.
    pub(crate) least: u64,
}

/// Messages in the order in which a device takes those of each key together, the longest first; and where those of each key end in it, of keys that
/// have messages.
#[derive(Debug)]
pub(crate) struct ByKey {
    pub(crate) order: Vec<u32>,
    pub(crate) ends: Vec<usize>,
}

impl<'a> OfGcmJobs<'a> {
    /// The messages of each key, if there is a launch for each.
    pub(crate) fn by_key(&self) -> Result<Option<&'a ByKey>, NoMemory> {
        let Self { messages, order, numbers, least, .. } = *self;
        let Some(highest) = numbers.iter().max() else { return Ok(None) };
        let mut ends = filled(0, *highest as usize + 1)?;
        numbers.iter().for_each(|key| ends[*key as usize] += 1);
        let used = ends.iter().filter(|messages| **messages > 0).count() as u64;
        if u64::from(messages.runs()) * 16 * RUN / used < least {
            return Ok(None);
        }
        made_once(self.by_key, || {
            let (mut of_keys, mut begin) = (filled(0, messages.len())?, 0);
            ends.iter_mut().for_each(|end| begin += std::mem::replace(end, begin));
            // What is in order stays so among the messages of a key.
            for n in (0..messages.len()).map(|position| order.at(position)) {
                let end = &mut ends[numbers[n] as usize];
                of_keys[*end] = n as u32;
                *end += 1;
            }
            ends.dedup();
            ends.retain(|end| *end > 0);
            Ok(ByKey { order: of_keys, ends })
        })
        .map(Some)
    }
}
