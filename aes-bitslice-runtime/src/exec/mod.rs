//! How calls are carried out, whatever the operation and whatever the backend.
//!
//! | file | idea |
//! |---|---|
//! | `backend` | what an engine asks of a backend |
//! | `chunk` | a call cut into chunks that can be done in any order |
//! | `cores` | its chunks over the cores |
//! | `processor` | what the processor has for AES, and when a GPU is faster |
//! | `pipeline` | its chunks over the slots of devices |
//! | `schedule` | which device takes which chunk |
//! | `steps` | what a device launches for a chunk, in order |
//! | `slots` | how the slots of a device are given out |
//! | `transfers` | in which chunks data in host memory goes to devices and back |
//! | `choice` | which kernels a caller allows, and which one a call takes |
//! | `known_answer` | what a kernel must answer before its first use |
//! | `sources` | kernels that are compiled at run time |
//! | `queue` | jobs on a bounded number of threads |
//! | `submitted` | a call that such a thread makes, and what its caller waits on |

pub(crate) mod at_once;
pub(crate) mod backend;
pub(crate) mod choice;
pub(crate) mod chunk;
pub(crate) mod cores;
pub(crate) mod known_answer;
pub(crate) mod pipeline;
pub(crate) mod processor;
pub(crate) mod queue;
pub(crate) mod schedule;
pub(crate) mod slots;
pub(crate) mod sources;
pub(crate) mod steps;
pub(crate) mod submitted;
pub(crate) mod transfers;
