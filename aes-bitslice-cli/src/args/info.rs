//! Options of `info`.

use clap::Args;

/// Options of `info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
