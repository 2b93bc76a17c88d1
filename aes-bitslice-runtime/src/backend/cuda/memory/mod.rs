//! Host memory, device memory, and the copies between them.
//!
//! | file | idea |
//! |---|---|
//! | `pinned` | host memory that is copied from and to while kernels run |
//! | `hash_memory` | memory for hashes, and for tags of several launches, cleared between calls |
//! | `stream_sums` | memory for GCM in one launch, in which the hash is added up |
//! | `tag_results` | memory in which tags of one launch come back |
//! | `batch_memory` | memory for the descriptions of many messages, and for their results |
//! | `key_memory` | round keys and tables of a hash key in device memory |
//! | `stream_memory` | memory that is allocated and freed on a stream |
//! | `gather` | blocks that are copied side by side |

pub(crate) mod batch_memory;
pub(crate) mod gather;
pub(crate) mod hash_memory;
pub(crate) mod key_memory;
pub(crate) mod pinned;
pub(crate) mod stream_memory;
pub(crate) mod stream_sums;
pub(crate) mod tag_results;
