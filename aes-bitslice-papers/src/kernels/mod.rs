//! Kernels that only the papers have: each printed as a source and a manifest, which the runtime takes.
//!
//! | module | idea |
//! |---|---|
//! | [`table`] | T-boxes in constant or shared memory: papers of 2010 to 2017 |
//! | [`bytewise`] | the S-box only, and the transformations of the standard: Ul Haq et al. 2011 |
//! | [`staged`] | bit-planes, with data and round keys staged through shared memory: Hajihassani et al. 2019 |

pub mod bytewise;
pub mod staged;
pub mod table;
mod table_memory;

pub use bytewise::{Bytewise, KeyExpansion};
pub use staged::Staged;
pub use table::{Granularity, KeyMemory, Staging, TableError, TableSpec, Tables, ThreadBlocks};
pub use table_memory::TableMemory;
