//! Options of `tune`.

use clap::Args;

use super::engine::parse_device;
use super::numbers::parse_in;

/// Options of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Number of the GPU, from 0
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_device)]
    pub device: usize,
    /// About how long to measure
    ///
    /// Startup and checks take about 10 s more. Everything runs a few times, however short the time is.
    #[arg(long, value_name = "S", default_value = "30", value_parser = parse_in::<u32, 1, 3600>)]
    pub seconds: u32,
    /// Keep nothing: only show what would be kept
    #[arg(long)]
    pub dry_run: bool,
    /// Print what is kept, as JSON, without the table
    #[arg(long)]
    pub json: bool,
}
