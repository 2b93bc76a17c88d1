//! Devices and contexts.

use super::give;
use crate::call::{Call, call, call_in_context, call_of, call_that_waits};
use crate::fault::About;
use crate::memory::MEMORY;
use crate::state::{CURRENT, context_of, current};
use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute, CUresult};
use std::ffi::{c_char, c_int, c_uint};
use std::mem::MaybeUninit;
use std::ptr;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: c_uint) -> CUresult {
    call(c"cuInit", |_| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: &mut MaybeUninit<c_int>) -> CUresult {
    call(c"cuDriverGetVersion", |_| give(version, 13000))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: &mut MaybeUninit<c_int>) -> CUresult {
    call(c"cuDeviceGetCount", |state| give(count, state.options.devices as c_int))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: &mut MaybeUninit<CUdevice>, ordinal: c_int) -> CUresult {
    call(c"cuDeviceGet", |state| {
        if (ordinal as usize) < state.options.devices {
            give(device, ordinal)
        } else {
            Err(CUresult::CUDA_ERROR_INVALID_DEVICE)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, _device: CUdevice) -> CUresult {
    call(c"cuDeviceGetName", |_| {
        let text = c"Stand-in".to_bytes_with_nul();
        assert!(text.len() <= room as usize);
        // SAFETY: the caller has this much room.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: &mut MaybeUninit<usize>, _device: CUdevice) -> CUresult {
    call(c"cuDeviceTotalMem", |_| give(bytes, MEMORY))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(
    value: &mut MaybeUninit<c_int>,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> CUresult {
    use CUdevice_attribute as Attribute;
    call(c"cuDeviceGetAttribute", |state| {
        let architecture = state.options.architecture;
        let found = match attribute {
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => architecture / 10,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => architecture % 10,
            Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 2,
            // No two devices report the same speed, but each of four has some of 4 MiB of sharded memory.
            Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE if state.options.fast == Some(device as usize) => c_int::MAX,
            Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE => 10_000 + 1_000 * device,
            Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => 1_000_000,
            Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => 1024,
            Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
            // CUDA C++ Programming Guide, technical specifications by compute capability.
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => match architecture {
                75 => 64 << 10,
                80 => 163 << 10,
                _ => 227 << 10,
            },
            other => return state.wrong(format!("the stand-in does not know {other:?}")),
        };
        give(value, found)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(can: &mut MaybeUninit<c_int>, device: CUdevice, peer: CUdevice) -> CUresult {
    call(c"cuDeviceCanAccessPeer", |state| give(can, state.can_access(device, peer).into()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> CUresult {
    call_in_context(c"cuCtxEnablePeerAccess", |state| {
        let (context, peer) = (current(), peer as usize);
        if flags != 0 || peer == context || !state.is_retained(peer) {
            return state.wrong("access is asked for to what is no peer");
        }
        // As observed with the driver.
        state.not_lost(peer)?;
        if !state.can_access(context as CUdevice - 1, peer as CUdevice - 1) {
            return Err(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        }
        if state.contexts.get_mut(&context).is_some_and(|of| of.peers.insert(peer)) {
            Ok(())
        } else {
            Err(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: &mut MaybeUninit<CUcontext>, device: CUdevice) -> CUresult {
    call_of(c"cuDevicePrimaryCtxRetain", context_of(device), |state| {
        state.not_lost(context_of(device))?;
        state.begin(context_of(device));
        give(context, context_of(device) as CUcontext)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    call_of(c"cuDevicePrimaryCtxRelease", context_of(device), |state| {
        match state.contexts.get_mut(&context_of(device)) {
            Some(of) if of.retained > 1 => of.retained -= 1,
            Some(of) if of.retained == 1 => state.end(context_of(device)),
            _ => return state.wrong("a context is released that nobody has"),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    call_of(Call::about(c"cuCtxSetCurrent", About::Context(context as usize)), context as usize, |state| {
        if !state.is_retained(context as usize) {
            return state.wrong("a context is used that was released");
        }
        CURRENT.set(context as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: &mut MaybeUninit<CUcontext>) -> CUresult {
    call(c"cuCtxGetCurrent", |_| give(context, current() as CUcontext))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> CUresult {
    call_that_waits(Call::about(c"cuCtxSynchronize", About::Context(current())), |state| state.run_all(current()))
}
