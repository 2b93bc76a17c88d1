//! `encrypt` and `decrypt`: one stream from start to end; [`many`] handles several.

use std::path::Path;

use aes_bitslice_runtime::Direction;

use crate::args::crypt::CryptArgs;
use crate::args::iv::Iv;
use crate::context::Context;
use crate::error::{Error, Result, note};
use crate::input::Input;
use crate::method::Method;
use crate::output::{Options, Target};
use crate::pipeline::source::Source;
use crate::secret::Secret;
use crate::transform::{IF_NOT_STORED, Transform, in_hex};
use crate::{many, single, standard};

/// Encrypts or decrypts as the options say.
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
    let is_default = args.iv.is_none();
    let kernels = args.kernels();
    let CryptArgs { key, length, stream: args, .. } = args;
    if key.source.key_file.as_deref().is_some_and(standard::is_input) && input.is_none_or(standard::is_input) {
        return Err(Error::usage("standard input is the key or the data, not both; name the input file"));
    }
    let secret = Secret::read(&method, key, kernels, args.quiet)?;
    let mut input = Input::open(input)?;
    input.limit(*length)?;
    let if_longer = if length.is_none() { input.if_longer() } else { None };
    let transform = Transform::new(&method, &mut input)?;
    if is_default && method.iv == Some(Iv::Stored) && !args.quiet {
        let (name, iv) = (&input.name, in_hex(&transform.iv()));
        note(&format!("{name}: taking the first 16 bytes, {iv}, as the IV; {IF_NOT_STORED}"));
    }
    if let Some(if_longer) = if_longer.as_ref().filter(|_| method.direction == Direction::Decrypt && !args.quiet) {
        note(if_longer);
    }
    secret.must_stay(args.output.as_deref())?;
    let options = Options { force: args.force, private: false };
    let target = Target::check(args.output.as_deref(), Some(&input), options)?;
    // Before anything is made: looking for devices loads libraries, which can end the process.
    let (context, cipher) = Context::open(&method, secret, &[input.length], args)?;
    let output = target.open()?;
    let source = Source::new(input, context.cut);
    let ended = single::run(context, transform.with(cipher), source, output, args.quiet);
    ended.map_err(|error| error.advising(if_longer.as_deref()))
}
