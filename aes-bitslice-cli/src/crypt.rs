//! `encrypt` and `decrypt`: one stream from start to end; [`many`] does several.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use aes_bitslice_runtime::Direction;

use crate::args::crypt::CryptArgs;
use crate::context::Context;
use crate::error::{Error, Exit, Result, warn};
use crate::input::Input;
use crate::method::Method;
use crate::output::{Options, Output};
use crate::pipeline::pool;
use crate::secret::Secret;
use crate::transform::Transform;
use crate::{many, progress};

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
    let output = Output::open(args.output.as_deref(), Some(&input), Options { force: args.force, private: false })?;
    let context = Context::open(&method, secret, &[input.length], args)?;
    let (backend, workers) = (context.backend, context.workers.clone());
    let bar = progress::bar(input.length, args.quiet);
    let open = {
        let (bar, stream) = (bar.clone(), Mutex::new(Some((transform, input, output))));
        move |_| {
            let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (transform, input, output) =
                stream.ok_or_else(|| Error::new(Exit::Failure, "a stream was begun twice"))?;
            context.stream(transform, input, output, bar.clone())
        }
    };
    let mut end = Ok(());
    pool::run(1, workers, open, |_, outcome| match outcome {
        Ok(warning) => {
            bar.suspend(|| warning.filter(|_| !args.quiet).iter().for_each(|warning| warn(warning)));
            ControlFlow::Continue(())
        }
        Err(error) => {
            end = Err(error);
            ControlFlow::Break(())
        }
    })?;
    progress::finish(&bar, backend, end.is_ok());
    end
}
