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

#[cfg(test)]
mod tests {
    use crate::op::batch::Batch;
    use crate::op::gcm_batch::Aads;
    use crate::op::gcm_jobs::{GcmEncryptJobs, GcmJobs, JobKeys};
    use crate::op::nonces::Nonces;
    use crate::op::operation::Ready;
    use crate::op::ranges::Ranges;
    use aes_bitslice_core::aes::KeyBits;

    /// Keys 0 and 2 of five have no messages; those of the others have ten runs, of 512 bytes each.
    #[test]
    fn messages_are_sorted_by_their_keys() {
        let jobs = || {
            let keys = JobKeys::numbered(KeyBits::Aes128, &[7; 80], &[3, 1, 4, 1, 3]);
            let ranges = Ranges::lengths(&[0_u64, 2000, 3000, 4000, 6000][..], &[600_u64, 10, 700, 1200, 900][..]);
            GcmEncryptJobs::from_arrays(&keys, &ranges, &Nonces::counted([0; 12], 32), &Aads::NONE).unwrap()
        };
        let by_key = |jobs: GcmJobs<_>| {
            let Some(Batch::GcmJobs(jobs)) = jobs.messages().unwrap() else { panic!("another batch") };
            jobs.by_key().unwrap().map(|by_key| (by_key.order.clone(), by_key.ends.clone()))
        };
        let expected = (vec![3, 1, 4, 0, 2], vec![2, 4, 5]);
        assert_eq!(by_key(jobs().by_key_from(10 * 512 / 3)), Some(expected));
        assert_eq!(by_key(jobs().by_key_from(10 * 512 / 3 + 1)), None, "too little for each key");
        assert_eq!(by_key(jobs()), None, "these are small");
    }
}
