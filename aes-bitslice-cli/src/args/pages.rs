//! Options of `completions` and `man`.

use clap::Args;
use clap_complete::Shell;

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell that reads them
    pub shell: Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Command to describe [default: all in short]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}
