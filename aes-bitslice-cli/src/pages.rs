//! `completions`, `man` and help: the command line as shells and readers see it.

use clap_complete::generate;
use clap_mangen::Man;

use crate::args::command::command;
use crate::args::pages::{CompletionsArgs, ManArgs};
use crate::error::{Error, Result};
use crate::{output, standard};

/// Prints help, or the version.
pub fn help(text: &clap::Error) -> Result<()> {
    standard::output()?;
    text.print().map_err(|error| Error::io("cannot write standard output", &error))
}

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut text = Vec::new();
    generate(args.shell, &mut command(), "aes-bitslice", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}

/// Prints a manual page.
pub fn man(args: &ManArgs) -> Result<()> {
    // There is no page for `help`.
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let page = match &args.command {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Error::usage(format!("`man` describes one of {}", names.join(", "))));
            }
        },
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(|error| Error::io("cannot write the page", &error))?;
    output::print(&String::from_utf8_lossy(&text))
}
