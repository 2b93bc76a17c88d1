//! The GPUs of an engine, one or several, and keys on all of them.
//!
//! | file | idea |
//! |---|---|
//! | `group_key` | a key on all GPUs, and its calls on host memory |
//! | `group` | the GPUs: the open backend |
//! | `peers` | which GPU can access which GPU's memory |
//! | `sharded_buffer` | device memory sharded over the GPUs |
//! | `chunks` | work on it in chunks: all GPUs at once, each on its own share and then on what another has left |
//! | `sharded_data` | calls on data in it |

pub(crate) mod chunks;
pub(crate) mod group;
pub(crate) mod group_key;
pub(crate) mod peers;
pub(crate) mod sharded_buffer;
pub(crate) mod sharded_data;
