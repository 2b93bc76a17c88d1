//! Execution of calls, independent of the operation and the backend.
//!
//! | file | idea |
//! |---|---|
//! | `backend` | what an engine asks of a backend |
//! | `call` | a call that was checked, which backends take |
//! | `work` | what a device does for a call, whatever the operation |
//! | `chunk` | a call cut into chunks that can be processed in any order |
//! | `cores` | distribution of its chunks over the cores |
//! | `processor` | AES support of the processor, and when a GPU is faster |
//! | `pipeline` | distribution of its chunks over the slots of devices |
//! | `schedule` | which device takes which chunk |
//! | `steps` | what a device launches for a chunk, in order |
//! | `slots` | allocation of the slots of a device |
//! | `transfers` | the chunks in which data in host memory goes to devices and back |
//! | `choice` | which kernels a caller allows, and which one a call takes |
//! | `known_answer` | the answer that a kernel must give before its first use |
//! | `sources` | kernels that are compiled at run time |
//! | `queue` | jobs on a bounded number of threads |
//! | `submitted` | a call that such a thread makes, and the object that its caller waits on |

pub(crate) mod at_once;
pub(crate) mod backend;
pub(crate) mod call;
pub(crate) mod choice;
pub(crate) mod chunk;
pub(crate) mod cores;
pub(crate) mod known_answer;
pub(crate) mod pipeline;
pub(crate) mod processor;
pub(crate) mod queue;
pub(crate) mod schedule;
pub(crate) mod slots;
#[cfg(feature = "manifest")]
pub(crate) mod sources;
pub(crate) mod steps;
pub(crate) mod submitted;
pub(crate) mod transfers;
pub(crate) mod work;
