//! A compiled kernel on a device, and its launches.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Event, event_of};
use crate::backend::opencl::kernel::binding::{Bound, Values};
use crate::backend::opencl::kernel::gather::Gathered;
use crate::backend::opencl::kernel::program::EntryPoints;
use crate::backend::opencl::kernel::span::Span;
use crate::backend::opencl::memory::key_memory::RoundKeys;
use crate::base::error::Error;
use crate::op::launch::{Geometry, Launch, Shape, Value};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use opencl3::command_queue;
use opencl3::types::{cl_command_queue, cl_event};
use std::ptr;

/// A kernel on a device.
pub(crate) struct Kernel {
    name: String,
    mode: Mode,
    geometry: Geometry,
    entry_points: EntryPoints,
}

impl Kernel {
    /// Compiles a kernel for a device.
    pub(crate) fn compile(context: &Context, manifest: &Manifest, source: &str) -> Result<Self, Error> {
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let mode = manifest.mode().map_err(|e| no_kernel(e.to_string()))?;
        if manifest.shared_bytes != 0 {
            return Err(no_kernel(format!("{} is launched with memory that no OpenCL kernel has", manifest.kernel)));
        }
        let geometry = Geometry::new(manifest, context.info().compute_units);
        let entry_points = EntryPoints::compile(context, manifest, source)?;
        Ok(Self { name: manifest.kernel.clone(), mode, geometry, entry_points })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Puts the launches that `launches` lays out into a queue, without waiting; adds the events of its commands to
    /// `events`.
    ///
    /// # Safety
    /// The span is within buffers of the context, and the queue belongs to it too; all are valid. The launches stay
    /// within the span.
    pub(crate) unsafe fn run(
        &self,
        context: &Context,
        queue: cl_command_queue,
        span: Span,
        launches: impl FnOnce(&Shape<'_>) -> Result<Vec<Launch>, Error>,
        keys: Option<&RoundKeys>,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let is_aligned = |at: u64| span.is_aligned(at);
        let shape = Shape { geometry: &self.geometry, len: span.len, in_place: span.in_place, is_aligned: &is_aligned };
        for launch in &launches(&shape)? {
            // SAFETY: as the caller guarantees.
            unsafe { self.launch(context, queue, span, launch, keys, events) }?;
        }
        Ok(())
    }

    /// # Safety
    /// The span is within buffers of the context, and the queue belongs to it too; all are valid. The launch is one of this kernel for the
    /// span.
    unsafe fn launch(
        &self,
        context: &Context,
        queue: cl_command_queue,
        span: Span,
        launch: &Launch,
        keys: Option<&RoundKeys>,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let mut gathered = Vec::new();
        for (name, value) in &launch.values {
            if let (Value::Gathered(gather), Some(input)) = (value, span.input) {
                // SAFETY: as the caller guarantees; the blocks are within the span.
                gathered.push((*name, unsafe { Gathered::new(context, queue, input, *gather) }?));
            }
        }
        // SAFETY: as the caller guarantees.
        match unsafe { self.enqueue(queue, &Values { span, launch, gathered: &gathered, keys }) } {
            Ok((launched, wiped)) => {
                if let Some(keys) = keys {
                    keys.is_read_by(&launched);
                }
                // Whatever else failed, the launch is in the queue.
                events.push(launched);
                wiped
            }
            Err(error) => {
                // Nothing waits for the copies, which read the input.
                events.extend(gathered.into_iter().map(|(_, blocks)| blocks.into_done()));
                Err(error)
            }
        }
    }

    /// Puts a launch into a queue. Returns its event, and whether its key was overwritten in the arguments.
    ///
    /// # Safety
    /// The buffers of the values belong to the context of the queue; all are valid. The launch stays within the span.
    unsafe fn enqueue(
        &self,
        queue: cl_command_queue,
        values: &Values<'_>,
    ) -> Result<(Event, Result<(), Error>), Error> {
        let Launch { entry, thread_blocks, threads, .. } = values.launch;
        // SAFETY: the entry point takes what its parameters say: they were read from its source, and counted. The
        // caller guarantees the values.
        let bound = unsafe { Bound::new(self.entry_points.one(*entry)?, values) }?;
        let threads = *threads as usize;
        let (global, local) = ([*thread_blocks as usize * threads], [threads]);
        let before: Vec<cl_event> = values.gathered.iter().map(|(_, blocks)| blocks.done().raw()).collect();
        let first = if before.is_empty() { ptr::null() } else { before.as_ptr() };
        // SAFETY: every argument was set, and the entry point has been locked since; the caller guarantees the span and
        // the queue; the geometry is the one the kernel was compiled for; event and sizes are alive.
        let launched = unsafe {
            let (global, local) = (global.as_ptr(), local.as_ptr());
            let object = bound.raw();
            command_queue::enqueue_nd_range_kernel(
                queue,
                object,
                1,
                ptr::null(),
                global,
                local,
                before.len() as u32,
                first,
            )
        };
        let launched = event_of("clEnqueueNDRangeKernel", launched);
        let wiped = bound.wipe();
        Ok((launched?, wiped))
    }
}
