//! Kernels that only the papers have: each printed as a source and a manifest, which the runtime takes, or as a program that is not a
//! cipher.
//!
//! | module | idea |
//! |---|---|
//! | [`table`] | T-boxes in constant or shared memory: papers of 2010 to 2017 |
//! | [`bytewise`] | the S-box only, and the transformations of the standard: Ul Haq et al. 2011 |
//! | [`bitsliced`] | bit-planes, from the kernel of Hajihassani et al. 2019 to this project's, one change at a time |
//! | [`packed`] | bits of a few blocks in eight words: bitsliced code before that paper |
//! | [`counted`] | the kernels whose instructions are counted |
//! | [`add_key_stream`] | CTR with a key stream that was made in advance: Hajihassani et al. 2019 |
//! | [`lfsr`], [`representation`], [`on_planes`] | a shift register, the change of representation alone, and a kernel without it: Hajihassani et al. 2019 |
//! | [`without`] | that kernel without one of its layers |

pub mod add_key_stream;
pub mod bitsliced;
pub mod bytewise;
pub mod counted;
pub mod lfsr;
pub mod on_planes;
pub mod packed;
pub mod representation;
pub mod table;
mod table_memory;
pub mod without;

pub use add_key_stream::AddKeyStream;
pub use bitsliced::{Bitsliced, RoundKeys};
pub use bytewise::{BlockAccess, Bytewise, SboxMemory, ScheduleMemory};
pub use lfsr::{Form, Lfsr};
pub use on_planes::OnPlanes;
pub use packed::{Packed, Word};
pub use representation::Representation;
pub use table::{Granularity, KeyMemory, Rounds, Staging, TableSpec, ThreadBlocks, WordMajor};
pub use table_memory::TableMemory;
pub use without::Without;
