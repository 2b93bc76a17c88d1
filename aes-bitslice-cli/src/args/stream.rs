//! Options of every command that writes a stream.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::engine::EngineArgs;
use super::numbers::{parse_chunk_bytes, parse_in};

/// How a stream is computed and written.
#[derive(Args, Debug)]
pub struct StreamArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace outputs that exist; write to a terminal
    #[arg(short, long)]
    pub force: bool,
    /// No progress bar, no notes and no warnings
    ///
    /// The length of an output that is shorter than its disk is told nevertheless: it is needed to read the output.
    #[arg(short, long)]
    pub quiet: bool,
    /// Bytes per chunk, for tests
    #[arg(long, hide = true, value_name = "SIZE", value_parser = parse_chunk_bytes)]
    pub chunk_bytes: Option<usize>,
    /// Threads that read, compute and write, for tests
    #[arg(long, hide = true, value_parser = parse_in::<usize, 1, 1024>)]
    pub workers: Option<usize>,
    /// How files are written, for tests
    #[arg(long, hide = true)]
    pub write_by: Option<WriteBy>,
    /// Fail as if the GPU were lost at this byte of a stream, for tests
    #[arg(long, hide = true)]
    pub fail_at: Option<u64>,
}

/// Ways to write a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteBy {
    /// Through a memory mapping
    Map,
    /// By system calls
    Write,
}
