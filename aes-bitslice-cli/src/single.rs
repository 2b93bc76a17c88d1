//! One stream by itself, from start to end.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::output::Output;
use crate::pipeline::pool;
use crate::pipeline::source::Source;
use crate::progress;
use crate::transform::OnChunks;

/// Applies `transform` to all of `source`, and gives `output` its name. A bar shows progress, unless `quiet`, which also suppresses
/// warnings.
pub fn run(
    context: Context,
    transform: impl OnChunks + 'static,
    source: Source,
    output: Output,
    quiet: bool,
) -> Result<()> {
    if let Some(least) = source.length().and_then(|length| transform.shortest_output(length)) {
        output.must_hold(transform.header().len() as u64 + least)?;
    }
    let (backend, workers) = (context.backend, context.workers.clone());
    let bar = progress::bar(source.length().and_then(|length| transform.longest_output(length)), quiet);
    let open = {
        let (bar, stream) = (bar.clone(), Mutex::new(Some((source, output))));
        // Kept here, too, as long as there are threads: dropping it takes the key from the device, which is a call.
        let transform: Arc<dyn OnChunks> = Arc::new(transform);
        move |_| {
            let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (source, output) = stream.ok_or_else(|| Error::new(Exit::Failure, "a stream was begun twice"))?;
            context.stream(transform.clone(), source, output, bar.clone())
        }
    };
    let mut end = Ok(());
    pool::run(1, workers, open, |_, outcome| match outcome {
        Ok(remarks) => {
            bar.suspend(|| remarks.show(quiet));
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
