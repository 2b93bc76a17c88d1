//! `tune`: what is fastest on a GPU, measured and kept for every call from then on.
//!
//! Every output is compared with the `cpu` engine's before its candidate is timed, and again after: all of it up to 4 MiB, chunks from
//! start to end of larger sizes.
//!
//! | file | idea |
//! |---|---|
//! | `command` | what is measured, and where it is kept |
//! | `kernels` | kernels and their geometries on data in the memory of the GPU |
//! | `host` | the CPU against the GPU on data in host memory, transfers counted |
//! | `subject` | a mode with a key, and its rate |
//! | `report` | what won, and by how much |

pub mod command;
mod host;
mod kernels;
mod report;
mod subject;
