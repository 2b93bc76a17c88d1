//! Which GPU can access which GPU's memory, over NVLink or the bus.

use crate::backend::cuda::device::Device;
use crate::base::error::Error;
use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUresult};
use std::sync::Arc;

/// For each GPU, whether it can access the memory of each GPU. Where access is possible, it is enabled for the rest of
/// the process's life.
pub(crate) fn reach(devices: &[&Arc<Device>]) -> Result<Vec<Vec<bool>>, Error> {
    let row = |from: &Arc<Device>| devices.iter().map(|to| enable(from, to)).collect();
    devices.iter().map(|from| row(from)).collect()
}

/// Gives kernels of one GPU access to the memory of another, where possible.
fn enable(from: &Arc<Device>, to: &Arc<Device>) -> Result<bool, Error> {
    if Arc::ptr_eq(from, to) {
        return Ok(true);
    }
    let (from, peer) = (from.context(), to.context().shared());
    let mut can = 0;
    // SAFETY: both devices are open; the pointer is to a live integer.
    let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, from.shared().cu_device(), peer.cu_device()) };
    from.call("cuDeviceCanAccessPeer", asked.result())?;
    if can == 0 {
        return Ok(false);
    }
    from.enter()?;
    // SAFETY: both contexts are retained as long as their devices are open.
    match unsafe { sys::cuCtxEnablePeerAccess(peer.cu_ctx(), 0) } {
        CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
        // It works without access, only each GPU on its own share.
        CUresult::CUDA_ERROR_TOO_MANY_PEERS | CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => Ok(false),
        other => from.call("cuCtxEnablePeerAccess", Err(DriverError(other))),
    }
}
