//! `encrypt` and `decrypt`: one stream from start to end; [`many`] does several.

use std::path::Path;

use aes_bitslice_runtime::Direction;

use crate::args::crypt::CryptArgs;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::method::Method;
use crate::output::{Options, Target};
use crate::pipeline::source::Source;
use crate::secret::Secret;
use crate::transform::Transform;
use crate::{many, single};

/// Encrypts or decrypts as told.
pub fn run(direction: Direction, args: &CryptArgs) -> Result<()> {
    let method = Method::new(direction, args)?;
    match (&args.out_dir, &args.inputs[..]) {
        (Some(folder), inputs) => many::run(method, inputs, folder, args),
        (None, []) => one(method, None, args),
        (None, [input]) => one(method, Some(input), args),
        (None, _) => Err(Error::usage(
            "several inputs need --out-dir DIR, where each becomes a file of the same name; or give one at a time",
        )),
    }
}

fn one(method: Method, input: Option<&Path>, args: &CryptArgs) -> Result<()> {
    let CryptArgs { key, stream: args, .. } = args;
    let secret = Secret::read(&method, key, args.quiet)?;
    let mut input = Input::open(input)?;
    let transform = Transform::new(&method, &mut input)?;
    secret.must_stay(args.output.as_deref())?;
    let options = Options { force: args.force, private: false };
    let target = Target::check(args.output.as_deref(), Some(&input), options)?;
    // Before anything is made: to look for devices is to load libraries, which can end the process.
    let context = Context::open(&method, secret, &[input.length], args)?;
    let output = target.open()?;
    let source = Source::new(input, context.workers.chunk_bytes);
    single::run(context, transform, source, output, args.quiet)
}
