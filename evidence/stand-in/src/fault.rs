//! The call that fails, or takes long, and what it was about.

use cudarc::driver::sys::CUresult;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::time::Duration;

/// The call that fails, or takes long.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// Its number: 0 is the next.
    pub(crate) call: u64,
    /// Its result; `CUDA_SUCCESS` if it only takes long.
    pub(crate) code: CUresult,
    /// Whether a launch succeeds, and fails when it completes.
    pub(crate) is_late: bool,
    /// Which later calls fail, too.
    pub(crate) lasts: Lasts,
    pub(crate) takes: Duration,
}

/// Which later calls fail, too.
#[derive(Clone, Copy)]
pub(crate) enum Lasts {
    None,
    /// Those of the same name.
    OfItsName,
    /// Those in the same context.
    InItsContext,
}

/// What a call was meant to wait for, clear, free or enter.
#[derive(Clone, Copy)]
pub(crate) enum About {
    Nothing,
    Context(usize),
    Stream(usize),
    Event(usize),
    /// The memory that contains this byte.
    Memory(u64),
}

/// The outcome of the fault that a test has asked for.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) fault: Option<Fault>,
    /// Calls since then.
    pub(crate) calls: u64,
    /// The first call that failed, or took long.
    pub(crate) failed: Option<&'static CStr>,
    /// The context that it was made in.
    pub(crate) failed_in: usize,
    /// The starts of memory that may be freed in use, or with something in it, because of what the call was about.
    pub(crate) excused: BTreeSet<u64>,
    /// The error of the current call when its work completes: for launches only.
    pub(crate) fails_late: Option<CUresult>,
}

/// All errors of the driver, and which of them are fatal. One that is in neither list does not compile.
macro_rules! errors {
    (fatal { $($fatal:ident)* } harmless { $($harmless:ident)* }) => {
        pub(crate) const ERRORS: &[CUresult] = &[$(CUresult::$fatal,)* $(CUresult::$harmless,)*];

        /// Whether it makes the context unusable.
        pub(crate) fn is_fatal(code: CUresult) -> bool {
            match code {
                $(CUresult::$fatal)|* => true,
                CUresult::CUDA_SUCCESS $(| CUresult::$harmless)* => false,
            }
        }
    };
}

errors! {
    // *CUDA Driver API*, `CUresult`: the errors that leave the process in an inconsistent state, or the context unusable. It does not say
    // this of devices that are unavailable, of uncorrectable errors, of contexts that are gone, and of unknown errors; nothing is right
    // after these either.
    fatal {
        CUDA_ERROR_DEVICE_UNAVAILABLE
        CUDA_ERROR_ECC_UNCORRECTABLE
        CUDA_ERROR_NVLINK_UNCORRECTABLE
        CUDA_ERROR_CONTAINED
        CUDA_ERROR_ILLEGAL_ADDRESS
        CUDA_ERROR_LAUNCH_TIMEOUT
        CUDA_ERROR_CONTEXT_IS_DESTROYED
        CUDA_ERROR_ASSERT
        CUDA_ERROR_HARDWARE_STACK_ERROR
        CUDA_ERROR_ILLEGAL_INSTRUCTION
        CUDA_ERROR_MISALIGNED_ADDRESS
        CUDA_ERROR_INVALID_ADDRESS_SPACE
        CUDA_ERROR_INVALID_PC
        CUDA_ERROR_LAUNCH_FAILED
        CUDA_ERROR_TENSOR_MEMORY_LEAK
        CUDA_ERROR_MPS_CLIENT_TERMINATED
        CUDA_ERROR_EXTERNAL_DEVICE
        CUDA_ERROR_UNKNOWN
    }
    harmless {
        CUDA_ERROR_INVALID_VALUE
        CUDA_ERROR_OUT_OF_MEMORY
        CUDA_ERROR_NOT_INITIALIZED
        CUDA_ERROR_DEINITIALIZED
        CUDA_ERROR_PROFILER_DISABLED
        CUDA_ERROR_PROFILER_NOT_INITIALIZED
        CUDA_ERROR_PROFILER_ALREADY_STARTED
        CUDA_ERROR_PROFILER_ALREADY_STOPPED
        CUDA_ERROR_STUB_LIBRARY
        CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER
        CUDA_ERROR_NO_DEVICE
        CUDA_ERROR_INVALID_DEVICE
        CUDA_ERROR_DEVICE_NOT_LICENSED
        CUDA_ERROR_INVALID_IMAGE
        CUDA_ERROR_INVALID_CONTEXT
        CUDA_ERROR_CONTEXT_ALREADY_CURRENT
        CUDA_ERROR_MAP_FAILED
        CUDA_ERROR_UNMAP_FAILED
        CUDA_ERROR_ARRAY_IS_MAPPED
        CUDA_ERROR_ALREADY_MAPPED
        CUDA_ERROR_NO_BINARY_FOR_GPU
        CUDA_ERROR_ALREADY_ACQUIRED
        CUDA_ERROR_NOT_MAPPED
        CUDA_ERROR_NOT_MAPPED_AS_ARRAY
        CUDA_ERROR_NOT_MAPPED_AS_POINTER
        CUDA_ERROR_UNSUPPORTED_LIMIT
        CUDA_ERROR_CONTEXT_ALREADY_IN_USE
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
        CUDA_ERROR_INVALID_PTX
        CUDA_ERROR_INVALID_GRAPHICS_CONTEXT
        CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        CUDA_ERROR_JIT_COMPILATION_DISABLED
        CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
        CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC
        CUDA_ERROR_INVALID_SOURCE
        CUDA_ERROR_FILE_NOT_FOUND
        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
        CUDA_ERROR_SHARED_OBJECT_INIT_FAILED
        CUDA_ERROR_OPERATING_SYSTEM
        CUDA_ERROR_INVALID_HANDLE
        CUDA_ERROR_ILLEGAL_STATE
        CUDA_ERROR_LOSSY_QUERY
        CUDA_ERROR_NOT_FOUND
        CUDA_ERROR_NOT_READY
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
        CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
        CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE
        CUDA_ERROR_TOO_MANY_PEERS
        CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        CUDA_ERROR_NOT_PERMITTED
        CUDA_ERROR_NOT_SUPPORTED
        CUDA_ERROR_SYSTEM_NOT_READY
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        CUDA_ERROR_MPS_CONNECTION_FAILED
        CUDA_ERROR_MPS_RPC_FAILURE
        CUDA_ERROR_MPS_SERVER_NOT_READY
        CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
        CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED
        CUDA_ERROR_CDP_NOT_SUPPORTED
        CUDA_ERROR_CDP_VERSION_MISMATCH
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        CUDA_ERROR_STREAM_CAPTURE_MERGE
        CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
        CUDA_ERROR_STREAM_CAPTURE_UNJOINED
        CUDA_ERROR_STREAM_CAPTURE_ISOLATION
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        CUDA_ERROR_CAPTURED_EVENT
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        CUDA_ERROR_TIMEOUT
        CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        CUDA_ERROR_INVALID_CLUSTER_SIZE
        CUDA_ERROR_FUNCTION_NOT_LOADED
        CUDA_ERROR_INVALID_RESOURCE_TYPE
        CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION
        CUDA_ERROR_KEY_ROTATION
    }
}
