//! Modules, their functions, and launches.

use super::give;
use crate::call::{call_in_context, call_that_waits};
use crate::state::{Function, Module, current};
use crate::work::Work;
use cudarc::driver::sys::{CUfunction, CUfunction_attribute, CUlaunchConfig, CUmodule, CUresult};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// Shared memory that a function may have by default, in bytes.
const SHARED_BYTES: u32 = 48 << 10;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: &mut MaybeUninit<CUmodule>, image: *const c_void) -> CUresult {
    call_in_context(c"cuModuleLoadData", |state| {
        // SAFETY: the caller's image.
        let kernel = unsafe { state.kernels.load(image) }?;
        let handle = state.handle();
        state.modules.insert(handle, Module { context: current(), kernel });
        give(module, handle as CUmodule)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: CUmodule) -> CUresult {
    call_that_waits(c"cuModuleUnload", |state| {
        // As the driver does: its functions may be running.
        state.run_all(current())?;
        state.functions.retain(|_, function| function.module != module as usize);
        match state.modules.get(&(module as usize)).map(|module| module.context == current()) {
            Some(true) => state.modules.remove(&(module as usize)),
            Some(false) => return state.wrong("a module is unloaded in another context"),
            None => return state.wrong("a module is unloaded that is none"),
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: &mut MaybeUninit<CUfunction>,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    call_in_context(c"cuModuleGetFunction", |state| {
        let module = module as usize;
        let Some(&Module { kernel, .. }) = state.modules.get(&module) else {
            return state.wrong("a module is used that is none");
        };
        // SAFETY: the caller's text.
        let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
        let entry = kernel.entry(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let handle = state.handle();
        state.functions.insert(handle, Function { kernel, entry, module, shared_bytes: SHARED_BYTES });
        give(function, handle as CUfunction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int) -> CUresult {
    call_in_context(c"cuFuncSetAttribute", |state| {
        let Some(of) = state.functions.get_mut(&(function as usize)) else {
            return state.wrong("a function is used that is none");
        };
        if attribute == CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES {
            of.shared_bytes = value as u32;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    function: CUfunction,
    arguments: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> CUresult {
    call_in_context(c"cuLaunchKernelEx", |state| {
        let fails = state.faults.fails_late.take();
        // SAFETY: the caller's description.
        let config = unsafe { &*config };
        let Some(&Function { kernel, entry, shared_bytes, module }) = state.functions.get(&(function as usize)) else {
            return state.wrong("a function is launched that is none");
        };
        let stream = config.hStream as usize;
        let contexts = [state.modules[&module].context, state.stream(stream)?.context];
        if contexts != [current(); 2] {
            return state
                .wrong(format!("{} is launched in another context than its own or its stream's", kernel.name()));
        }
        if config.sharedMemBytes > shared_bytes || config.gridDimX == 0 || (config.gridDimY, config.gridDimZ) != (1, 1)
        {
            return state.wrong(format!("{} is launched as it cannot be", kernel.name()));
        }
        // SAFETY: the caller's arguments.
        let arguments = unsafe { kernel.arguments(entry, arguments.cast::<*const c_void>()) };
        let outside = kernel.addresses(entry, &arguments).find(|&(_, address)| !state.has(address, 0));
        if let Some((name, address)) = outside {
            let what = format!("{} is launched with `{name}` at {address:#x}, which is in no memory", kernel.name());
            return state.wrong(what);
        }
        let (grid, due) = ((config.gridDimX, config.blockDimX), state.launched(current()));
        state.put(stream, Work::Launch { kernel, entry, grid, arguments, due })?;
        fails.map_or(Ok(()), |code| state.put(stream, Work::Fail(code)))
    })
}
