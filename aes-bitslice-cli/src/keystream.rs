//! `keystream`: the key stream of CTR to a file or to standard output. Nothing is read.

use aes_bitslice_runtime as runtime;

use crate::args::iv::Iv;
use crate::args::keystream::KeystreamArgs;
use crate::baked::KernelFiles;
use crate::chunk::BLOCK;
use crate::context::Context;
use crate::error::{Error, Result, note};
use crate::method::Method;
use crate::modes::table::KEYSTREAM;
use crate::output::{Options, Target};
use crate::pipeline::source::Source;
use crate::secret::Secret;
use crate::single;
use crate::transform::{Transform, in_hex};

/// Writes the requested number of bytes.
pub fn run(args: &KeystreamArgs) -> Result<()> {
    let KeystreamArgs { bytes, key, iv: wanted, offset, stream: args } = args;
    let (iv, is_new) = match wanted {
        Some(Iv::Given(iv)) => (*iv, false),
        _ => {
            let mut iv = [0; BLOCK];
            getrandom::fill(&mut iv).map_err(runtime::Error::from)?;
            (iv, true)
        }
    };
    if offset.checked_add(*bytes).is_none() {
        return Err(Error::usage("--offset and --bytes together have to be less than 2^64 bytes"));
    }
    let method = Method::writing(&KEYSTREAM, iv);
    let secret = Secret::read(&method, key, KernelFiles::default(), args.quiet)?;
    secret.must_stay(args.output.as_deref())?;
    let target = Target::check(args.output.as_deref(), None, Options { force: args.force, private: false })?;
    let (context, cipher) = Context::open(&method, secret, &[Some(*bytes)], args)?;
    let output = target.open()?;
    if is_new && !args.quiet {
        note(&format!("the IV is {}", in_hex(&iv)));
    }
    let source = Source::nothing(*bytes, context.cut);
    single::run(context, Transform::writing(&method, iv, *offset).with(cipher), source, output, args.quiet)
}
