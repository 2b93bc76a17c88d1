//! The entry points of kernels, and what a launch of each must give it.

use super::argument::Argument;

crate::named::named_enum! {
    /// An entry point of a kernel.
    Entry, "entry point" {
        /// Whole blocks of one message, aligned to 16 bytes.
        Blocks = "blocks",
        /// One message at any alignment.
        Bytes = "bytes",
        /// One message at any alignment, whose counter is secret.
        SecretCounter = "secret-counter",
        /// Counter mode of many messages, each with its own counter ([`messages`](super::messages)).
        Messages = "messages",
        /// CMAC of many messages ([`cmac`](super::cmac)).
        Cmac = "cmac",
        /// A number of blocks under each of many keys ([`jobs`](super::jobs)).
        Each = "each",
        /// The round keys of many keys.
        Expand = "expand",
        /// Jobs under the round keys of `expand` ([`jobs`](super::jobs)).
        Jobs = "jobs",
        /// The hash of a message that is aligned to 16 bytes ([`Hash`](super::manifest::Hash)).
        Hash = "hash",
        /// The hash of a message at any alignment; slower.
        HashBytes = "hash-bytes",
        /// Clears a message that is not authentic.
        Clear = "clear",
        /// The tags of many messages.
        HashMessages = "hash-messages",
        /// The tags of many messages, each with a hash key of its own.
        HashJobs = "hash-jobs",
        /// Clears those of many messages that are not authentic.
        ClearMessages = "clear-messages",
        /// The table of messages that arrays in device memory describe.
        BatchDescribe = "batch-describe",
        /// The order of these messages, and how many there are to process.
        BatchOrder = "batch-order",
        /// Counter mode, and the hash of its output: GCM encryption of a message that is aligned to 16 bytes.
        Encrypt = "encrypt",
        /// Counter mode, and the hash of its input: GCM decryption of a message that is aligned to 16 bytes.
        Decrypt = "decrypt",
        /// The encrypted first counters of many messages ([`messages`](super::messages)).
        BatchMasks = "batch-masks",
        /// GCM encryption of many messages.
        BatchEncrypt = "batch-encrypt",
        /// GCM decryption of many messages, which clears those that are not authentic.
        BatchDecrypt = "batch-decrypt",
    }
}

impl Entry {
    /// The end of its name in the source, after the kernel's name with underscores.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Blocks | Self::Hash => "",
            Self::Bytes | Self::HashBytes => "_bytes",
            Self::SecretCounter => "_secret_counter",
            Self::Messages | Self::HashMessages => "_messages",
            Self::Cmac => "_cmac",
            Self::Each => "_each",
            Self::Expand => "_expand",
            Self::Jobs | Self::HashJobs => "_jobs",
            Self::Clear => "_clear",
            Self::ClearMessages => "_messages_clear",
            Self::BatchDescribe => "_batch_describe",
            Self::BatchOrder => "_batch_order",
            Self::Encrypt => "_encrypt",
            Self::Decrypt => "_decrypt",
            Self::BatchMasks => "_batch_masks",
            Self::BatchEncrypt => "_batch_encrypt",
            Self::BatchDecrypt => "_batch_decrypt",
        }
    }

    /// Its name in the source of a kernel.
    pub fn name_in(self, kernel: &str) -> String {
        kernel.replace('-', "_") + self.suffix()
    }

    /// Whether it is of a hash kernel; others are of a cipher's.
    pub fn hashes(self) -> bool {
        match self {
            Self::Blocks | Self::Bytes | Self::SecretCounter | Self::Messages | Self::Cmac => false,
            Self::Each | Self::Expand | Self::Jobs => false,
            Self::Hash | Self::HashBytes | Self::Clear => true,
            Self::HashMessages | Self::HashJobs | Self::ClearMessages => true,
            Self::BatchDescribe | Self::BatchOrder => true,
            Self::Encrypt | Self::Decrypt | Self::BatchMasks | Self::BatchEncrypt | Self::BatchDecrypt => true,
        }
    }

    /// Whether it reads and writes descriptions of work alone, none of which is secret, and takes no shared memory at launch.
    pub fn describes(self) -> bool {
        matches!(self, Self::BatchDescribe | Self::BatchOrder)
    }

    /// The arguments that it takes, besides its kernel's key and, for one message, what the mode needs.
    pub fn arguments(self) -> &'static [Argument] {
        use Argument::*;
        match self {
            Self::Blocks | Self::Bytes => &[],
            Self::SecretCounter => &[In, Out, Length, SecretCounter],
            Self::Messages => &[In, Out, Messages, FirstMessages, All, Masks],
            Self::Cmac => &[In, Messages, Stride, All, Subkeys, Tags],
            Self::Each => &[In, Out, Blocks, Each, CipherKeys, KeyWords, Counter, Counts, Adds],
            Self::Expand => &[CipherKeys, All, KeyWords, RoundKeys],
            Self::Jobs => &[In, Out, Jobs, Runs, Stride, All, Wide, Counters, RoundKeys, KeyWords, Counts, Adds],
            Self::Hash | Self::HashBytes => &[In, Length, Tables, Units, Out, Factor, Addend],
            Self::Clear => &[Out, Length, Hash, Factor, Addend, Mask],
            Self::HashMessages => &[In, Messages, Order, All, Aad, Masks, Tables, Out],
            Self::HashJobs => &[In, Messages, Order, All, Wide, Aad, Masks, HashKeys, Out],
            Self::ClearMessages => &[Out, Messages, All, Tags, Expected, Verdicts],
            Self::BatchDescribe => {
                &[Starts, Ends, Nonces, AadStarts, AadEnds, Length, AadLength, TagBytes, All, Messages, Tally]
            }
            Self::BatchOrder => &[All, Messages, Tally, Order, Fault],
            Self::Encrypt => &[In, Out, Length, Counter, Keys, Tables, Units, Sums, Arrived, Hash, Factor, Addend],
            Self::Decrypt => {
                &[In, Out, Length, Counter, Keys, Tables, Units, Sums, Arrived, Hash, Factor, Addend, Mask]
            }
            Self::BatchMasks => &[Messages, All, Masks, Keys],
            Self::BatchEncrypt => &[In, Out, Messages, Order, All, Wide, Aad, Masks, Keys, Tables, Tags],
            Self::BatchDecrypt => &[In, Out, Messages, Order, All, Wide, Aad, Masks, Expected, Keys, Tables, Verdicts],
        }
    }

    /// Whether it may begin before earlier work on its stream completes, where the manifest says that its kernel waits for that work itself.
    pub fn may_overlap(self) -> bool {
        match self {
            Self::Blocks | Self::Bytes | Self::Hash | Self::HashBytes | Self::Clear => true,
            Self::Encrypt | Self::Decrypt => true,
            // They wait for the masks, which wait for all work before them, or for an event behind both.
            Self::BatchEncrypt | Self::BatchDecrypt => true,
            // They do not wait for earlier work.
            Self::BatchMasks => false,
            Self::SecretCounter | Self::Messages | Self::Cmac | Self::HashMessages | Self::ClearMessages => false,
            Self::Each | Self::Expand | Self::Jobs | Self::HashJobs => false,
            Self::BatchDescribe | Self::BatchOrder => false,
        }
    }

    /// Whether it ends a decryption: it may branch on whether a tag matches, which the caller learns, and writes zeros only.
    pub fn ends_decryption(self) -> bool {
        match self {
            Self::Clear | Self::ClearMessages => true,
            Self::Blocks | Self::Bytes | Self::SecretCounter | Self::Messages | Self::Cmac => false,
            Self::Each | Self::Expand | Self::Jobs | Self::Hash | Self::HashBytes => false,
            Self::HashMessages | Self::HashJobs | Self::BatchDescribe | Self::BatchOrder => false,
            Self::Encrypt | Self::Decrypt | Self::BatchMasks | Self::BatchEncrypt | Self::BatchDecrypt => false,
        }
    }
}
