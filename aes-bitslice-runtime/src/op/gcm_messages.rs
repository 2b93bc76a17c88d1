//! The messages of a GCM batch as the operation has them: where each is, its first counter block and its additional data. What follows from
//! a rule is not stored, but computed for the message that is asked for: a table of a million messages would take 48 MB.

use crate::op::nonces::FirstCounters;
use crate::op::ranges::{Fault, Placed};
use aes_bitslice_core::memory::{NoMemory, room};
use aes_bitslice_core::messages::{Message, groups, runs_of};
use aes_bitslice_core::order::Order;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const TOO_LONG: &str = "more than 4 GiB of additional data or 2 TiB of messages: make several batches";

/// Messages. Their first counters are overwritten on drop if any was computed from the hash key, which it reveals.
#[derive(Debug)]
pub(crate) struct Messages {
    /// Where they are in the data.
    data: Placed,
    first: FirstCounters,
    /// Where their additional data is in that of all of them.
    aads: Placed,
    /// The number of tag bytes that count, of each; none if all count.
    tag_bytes: Option<Arc<Vec<u8>>>,
    /// The number of runs of all messages before each, and of all; none stored if all messages are equally long.
    first_runs: Arc<Vec<u32>>,
    /// Whether any first counter was computed from the hash key.
    are_secret: bool,
}

impl Drop for Messages {
    fn drop(&mut self) {
        if self.are_secret {
            self.first.wipe();
        }
    }
}

impl Messages {
    /// As many messages as there are ranges of data; there are as many of the others. They are refused if kernels could not count the
    /// runs or the additional data.
    pub(crate) fn of(
        data: Placed,
        first: FirstCounters,
        aads: Placed,
        tag_bytes: Option<Arc<Vec<u8>>>,
    ) -> Result<Self, Fault> {
        let small = |number: Option<u64>| u32::try_from(number?).ok();
        let count = |number| small(number).ok_or_else(|| TOO_LONG.to_owned());
        count(Some(aads.end()))?;
        let mut first_runs = Vec::new();
        if let Some(bytes) = data.equal_length() {
            count(runs_of(bytes).checked_mul(data.len() as u64))?;
        } else {
            first_runs = room(data.len() + 1)?;
            let mut runs = 0;
            for range in data.iter() {
                first_runs.push(runs);
                runs = count(runs_of(range.end - range.start).checked_add(runs.into()))?;
            }
            first_runs.push(runs);
        }
        Ok(Self { data, first, aads, tag_bytes, first_runs: Arc::new(first_runs), are_secret: false })
    }

    /// The number of messages.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    /// Refuses messages of which one ends after byte `bytes`, where the data ends. The error names the first of them, as `what` and its
    /// number.
    pub(crate) fn within(&self, bytes: u64, what: &str) -> Result<(), String> {
        self.data.within(bytes, what, "the data")
    }

    /// Where all are in the data.
    pub(crate) fn places(&self) -> &Placed {
        &self.data
    }

    /// The end of the additional data that extends furthest.
    #[cfg(feature = "cuda")]
    pub(crate) fn aad_end(&self) -> u64 {
        self.aads.end()
    }

    /// Where the message with this number is in the data.
    #[inline]
    pub(crate) fn range(&self, n: usize) -> Range<u64> {
        self.data.get(n)
    }

    /// The number of runs of all messages before the one with this number.
    #[inline]
    pub(crate) fn runs_before(&self, n: usize) -> u32 {
        match self.data.equal_length() {
            Some(bytes) => (runs_of(bytes) * n as u64) as u32,
            None => self.first_runs[n],
        }
    }

    /// The number of all runs.
    pub(crate) fn runs(&self) -> u32 {
        self.runs_before(self.len())
    }

    /// The order in which a device hashes them.
    pub(crate) fn order(&self) -> Result<Order, NoMemory> {
        let blocks = |range: Range<u64>| (range.end - range.start).div_ceil(16);
        match (self.data.equal_length(), self.aads.equal_length()) {
            (Some(_), Some(_)) => Ok(Order::AS_GIVEN),
            (_, Some(_)) => Order::longest_first(self.len(), |n| blocks(self.data.get(n))),
            _ => Order::longest_first(self.len(), |n| blocks(self.data.get(n)) + blocks(self.aads.get(n))),
        }
    }

    /// How many groups of threads share a message in one launch, on a device with this number of units (`aes_bitslice_core::messages`).
    pub(crate) fn groups(&self, order: &Order, units: u32) -> u32 {
        let longest = if self.len() > 0 { self.get(order.at(0)).hashed_blocks() } else { 0 };
        groups(self.len() as u64, longest, self.runs().into(), units.into())
    }

    /// The message with this number. Always inlined: its fields, stored one by one, would be loaded in larger pieces, which waits for the stores.
    #[inline(always)]
    pub(crate) fn get(&self, n: usize) -> Message {
        let (data, aad) = (self.data.get(n), self.aads.get(n));
        Message {
            first: self.first.get(n),
            at: data.start,
            bytes: data.end - data.start,
            aad_at: aad.start as u32,
            aad_bytes: (aad.end - aad.start) as u32,
            tag_bytes: self.tag_bytes.as_ref().map_or(16, |all| all[n].into()),
            first_run: self.runs_before(n),
        }
    }

    /// The messages with these first counters, which were computed from the hash key, for those with these numbers.
    pub(crate) fn with_secret_counters(
        &self,
        counters: impl Iterator<Item = (usize, [u8; 16])>,
    ) -> Result<Self, NoMemory> {
        let Self { data, aads, tag_bytes, first_runs, .. } = self;
        let (data, aads, tag_bytes, first_runs) = (data.clone(), aads.clone(), tag_bytes.clone(), first_runs.clone());
        let mut all = Self { data, first: self.first.copied()?, aads, tag_bytes, first_runs, are_secret: true };
        counters.for_each(|(n, counter)| all.first.set(n, counter));
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ranges::{Ranges, Rules};

    fn messages(data: &[Range<u64>], aads: &[Range<u64>]) -> Messages {
        let rules = Rules { what: "message", ascending: false, longest: u64::MAX };
        let [data_at, aads] = [data, aads].map(|ranges| Ranges::from(ranges).placed(&rules).unwrap());
        Messages::of(data_at, FirstCounters::Each(vec![[0; 16]; data.len()]), aads, None).unwrap()
    }

    #[test]
    fn the_most_blocks_are_hashed_first() {
        for (data, aads, expected) in [
            ([0..64, 64..80, 80..112], [0..0, 0..0, 0..0], [0, 2, 1]),
            ([0..32, 48..80, 96..128], [0..5, 5..15, 15..48], [2, 0, 1]),
            ([0..80, 80..112, 112..112], [0..16, 16..64, 64..176], [2, 0, 1]),
        ] {
            let order = messages(&data, &aads).order().unwrap();
            assert_eq!([0, 1, 2].map(|position| order.at(position)), expected, "{data:?}, {aads:?}");
        }
    }

    #[test]
    fn a_long_message_is_shared_by_groups() {
        let of = |messages: Messages| messages.groups(&messages.order().unwrap(), 132);
        let all = groups(1, 1 << 16, 2049, 132);
        let [long, none] = [0..1 << 20, 0..0];
        assert!(all > 1 && of(messages(&[long], &[none])) == all);
        assert_eq!(of(messages(&[], &[])), groups(0, 0, 0, 132));
    }
}
