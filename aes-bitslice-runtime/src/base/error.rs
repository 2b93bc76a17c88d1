//! Everything that can go wrong, each error with a remedy.

use aes_bitslice_core::count::counted;
use std::path::PathBuf;

/// The reason why a call did nothing, or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key whose length is not an AES key length.
    #[error("a key has 16, 24 or 32 bytes, not {bytes}")]
    KeyLength {
        /// The bytes given.
        bytes: usize,
    },
    /// A key that is not an XTS key.
    #[error("not a key of XTS: {what}")]
    XtsKey {
        /// The problem.
        what: String,
    },
    /// A key of a different kind than the operation needs.
    #[error("{operation} needs {needs}")]
    WrongKeys {
        /// The operation, or whatever else was requested.
        operation: &'static str,
        /// The key that it needs.
        needs: &'static str,
    },
    /// A nonce, or initialisation vector, of a length that the mode does not allow.
    #[error("a GCM nonce has 1 to 2^61 - 1 bytes, usually 12, not {bytes}")]
    NonceLength {
        /// The bytes given.
        bytes: usize,
    },
    /// A tag of a length that the standard does not allow.
    #[error("a tag has 16, 15, 14, 13 or 12 bytes, or 8 or 4 where that was agreed on, not {bytes}")]
    TagLength {
        /// The bytes given.
        bytes: usize,
    },
    /// The data, nonce, additional data or key differs from the one that the tag was computed from.
    #[error(
        "authentication failed: the data was changed, or key, nonce or additional data are not those it was encrypted with"
    )]
    Unauthenticated,
    /// A message length that the mode does not allow.
    #[error("{operation}: {what}")]
    Length {
        /// The operation.
        operation: &'static str,
        /// Which length is wrong, and which are right.
        what: String,
    },
    /// Messages that cannot be processed in one call.
    #[error("a batch of messages: {what}")]
    Batch {
        /// Which messages, what is wrong with them, and what would be right.
        what: String,
    },
    /// Work under many keys that cannot be processed in one call.
    #[error("many keys: {what}")]
    Jobs {
        /// The problem, and what would be right.
        what: String,
    },
    /// A key that is not written as hexadecimal digits; the message never repeats the text.
    #[error("the key is not hexadecimal: {what}")]
    KeyHex {
        /// The problem.
        what: String,
    },
    /// The operating system did not supply random bytes.
    #[error("the system's random number generator failed: {0}")]
    Random(#[from] getrandom::Error),
    /// A name that is not the name of a backend.
    #[error("unknown backend `{name}`; known: auto, cuda, cuda:N, cuda:all, opencl, opencl:P.D, cpu, cpu-bitsliced")]
    UnknownBackend {
        /// The name given.
        name: String,
    },
    /// A block mode on data whose length is not a multiple of 16 bytes.
    #[error(
        "the operation works on whole blocks of 16 bytes, and {len} is not a multiple of 16: pad the data, or use a mode of any length, such as CTR"
    )]
    NotWholeBlocks {
        /// The bytes given.
        len: usize,
    },
    /// Input and output of different lengths.
    #[error(
        "the output has {} for {} of input: both must have the same length",
        counted(output, "byte"),
        counted(input, "byte")
    )]
    LengthMismatch {
        /// Bytes of input.
        input: usize,
        /// Bytes of output.
        output: usize,
    },
    /// Data other than the operation takes.
    #[error("{operation} takes {takes}")]
    WrongAccess {
        /// The operation.
        operation: &'static str,
        /// The data that it takes.
        takes: &'static str,
    },
    /// Parts of a message that are not contiguous.
    #[error("the parts of the message do not adjoin: {what}")]
    PartsDoNotAdjoin {
        /// Where they are not.
        what: String,
    },
    /// An operation that an engine, or a kind of memory, does not support.
    #[error("{operation} is not available on {backend}: use host memory and the backend `cpu`")]
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// The engine's backend, or the kind of memory.
        backend: String,
    },
    /// An operation that a different call performs.
    #[error("{operation} is done by `{call}` here: use that")]
    WrongCall {
        /// The operation.
        operation: &'static str,
        /// The method that performs it.
        call: &'static str,
    },
    /// An operation that returns a value, on a stream that is being captured into a graph.
    #[error(
        "{operation} returns a value, and a stream that is being captured into a graph cannot: call it on a stream that is not"
    )]
    InCapture {
        /// The operation.
        operation: &'static str,
    },
    /// A backend that this program was built without.
    #[error("this program was built without {what}: build `aes-bitslice-runtime` with the feature `{feature}`")]
    NotBuilt {
        /// The missing component.
        what: &'static str,
        /// The feature that provides it.
        feature: &'static str,
    },
    /// Input and output ranges of device memory that overlap without being the same.
    #[error("input and output overlap: they must be the same range or disjoint")]
    Overlap,
    /// A stream that belongs to a different context than the engine.
    #[error("the stream belongs to another CUDA context than the engine: make it in the engine's context")]
    OtherContext,
    /// A queue or a buffer that belongs to a different OpenCL context than the engine.
    #[error(
        "the queue or a buffer belongs to another OpenCL context than the engine: make both in the engine's context"
    )]
    OtherOpenClContext,
    /// A sharded buffer that belongs to a different engine than the cipher.
    #[error("the sharded buffer belongs to another engine than the cipher: make it with the cipher's engine")]
    OtherEngine,
    /// A range of bytes that is not within the buffer.
    #[error("a buffer of {} has no {} from byte {at} on: stay within it", counted(len, "byte"), counted(bytes, "byte"))]
    OutOfRange {
        /// The first byte asked for.
        at: usize,
        /// The number of bytes asked for.
        bytes: usize,
        /// The bytes in the buffer.
        len: usize,
    },
    /// The keystream would run past the counter's field and repeat itself.
    #[error(
        "the {bits}-bit counter has {} left, and this call needs {needed}: use another initial counter block or a wider counter",
        counted(left, "block")
    )]
    CounterOverflow {
        /// The number of bits that count.
        bits: u32,
        /// Blocks needed, counted from the initial counter block.
        needed: u128,
        /// Blocks available, counted from the initial counter block.
        left: u128,
    },
    /// The processor lacks the vector instructions asked for.
    #[error("this processor does not have {isa}: use the backend `cpu`, which takes the best instructions there are")]
    IsaUnavailable {
        /// The instructions asked for.
        isa: String,
    },
    /// A call that only a CUDA engine supports.
    #[error("{what} needs a CUDA engine, and this one is {backend}: open the engine with the backend `cuda`")]
    NotCuda {
        /// The item requested.
        what: &'static str,
        /// The engine's backend.
        backend: String,
    },
    /// A call that only an OpenCL engine supports.
    #[error("{what} needs an OpenCL engine, and this one is {backend}: open the engine with the backend `opencl`")]
    NotOpenCl {
        /// The item requested.
        what: &'static str,
        /// The engine's backend.
        backend: String,
    },
    /// A call that only an engine with a device supports.
    #[error(
        "{what} needs a CUDA or OpenCL engine, and this one is {backend}: open the engine with the backend `cuda` or `opencl`"
    )]
    NoDevice {
        /// The item requested.
        what: &'static str,
        /// The engine's backend.
        backend: String,
    },
    /// No CUDA on this machine.
    #[error("CUDA is not available: {what}; {help}, or use the backend `cpu`")]
    CudaUnavailable {
        /// The missing component.
        what: String,
        /// A remedy other than using the CPU.
        help: String,
    },
    /// GPUs that cannot work together as requested.
    #[error("cannot share work among these GPUs: {what}; give different numbers, counted from 0")]
    BadDevices {
        /// The problem.
        what: String,
    },
    /// A call for a single GPU, on an engine that has several.
    #[error(
        "{what} works on one GPU, and this engine has several: open the engine with the backend `cuda:0`, or another of them"
    )]
    SeveralDevices {
        /// The item requested.
        what: &'static str,
    },
    /// A device number that is too high.
    #[error("there is no CUDA device {ordinal}: this machine has {count}, and the highest number is {}", count.saturating_sub(1))]
    NoSuchDevice {
        /// The number asked for.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    },
    /// A call of the CUDA driver failed. The engine may be poisoned by it.
    #[error("CUDA: {call} failed with {code}")]
    Cuda {
        /// The call that failed.
        call: String,
        /// The driver's name for the error.
        code: String,
    },
    /// No OpenCL on this machine.
    #[error("OpenCL is not available: {what}; {help}, or use the backend `cpu`")]
    OpenClUnavailable {
        /// The missing component.
        what: String,
        /// A remedy other than using the CPU.
        help: String,
    },
    /// Platform and device numbers that no OpenCL device has.
    #[error("there is no OpenCL device {platform}.{device}: this machine has {there}")]
    NoSuchOpenClDevice {
        /// The platform's number.
        platform: usize,
        /// The device's number in its platform.
        device: usize,
        /// The available devices, by number and name.
        there: String,
    },
    /// A call of OpenCL failed.
    #[error("OpenCL: {call} failed with {code}")]
    OpenCl {
        /// The call that failed.
        call: String,
        /// OpenCL's name for the error.
        code: String,
    },
    /// A kernel with its key baked in, and a compiler that may keep the compiled result.
    #[error(
        "the OpenCL compiler of {platform} may keep what it compiles on disk, and this kernel is the key: {switch}, or use a key given at run time"
    )]
    CompilerCache {
        /// The platform's name.
        platform: String,
        /// The remedy.
        switch: String,
    },
    /// An earlier CUDA error left the device's context unusable, or the output of a failed call could not be cleared in sharded memory. If
    /// this is found before any work, nothing was changed; if it is found in the middle of a call, because another thread met that error
    /// meanwhile, the output of the call is cleared.
    #[error("the CUDA engine is unusable since an earlier error ({cause}): open it again in a new process")]
    Poisoned {
        /// The earlier error.
        cause: String,
    },
    /// The device has too little free memory.
    #[error("not enough memory on the device for {what}: free some of it, or use a smaller buffer")]
    OutOfDeviceMemory {
        /// What the memory was needed for.
        what: String,
    },
    /// This machine has too little free memory.
    #[error("not enough memory for {what}: free some of it, or use less")]
    OutOfHostMemory {
        /// What the memory was needed for.
        what: String,
    },
    /// A kernel did not compute the known answer on this device.
    #[error(
        "kernel {kernel} gave a wrong answer to its self-test and was not used: report this, and use the key itself with another backend, such as `cpu`"
    )]
    SelfTestFailed {
        /// The kernel's name.
        kernel: String,
    },
    /// No run-time compiler on this machine.
    #[error("the CUDA run-time compiler is not available: {what}; {help}")]
    NvrtcUnavailable {
        /// The missing component.
        what: String,
        /// The remedy.
        help: String,
    },
    /// A kernel did not compile.
    #[error("kernel {kernel} did not compile:\n{log}")]
    CompileFailed {
        /// The kernel's name.
        kernel: String,
        /// The compiler's output.
        log: String,
    },
    /// The manifest of a baked kernel cannot be used.
    #[error("manifest `{}`: {what}", path.display())]
    BadManifest {
        /// The manifest's file.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// A single-kernel cipher was asked for a mode that the kernel was not made for.
    #[error("this kernel is for {has} only: for {wanted}, use another kernel, or the key itself")]
    NotInKernel {
        /// The mode asked for.
        wanted: String,
        /// What the kernel computes.
        has: String,
    },
    /// A call that needs the key itself, on a single-kernel cipher, whose kernel contains the key or is launched with
    /// it.
    #[error(
        "{what} needs the key itself, which a cipher of one kernel does not keep: make a cipher that is given the key"
    )]
    NeedsKey {
        /// The item requested.
        what: &'static str,
    },
    /// The requested kernel does not exist.
    #[error("no such kernel: {what}")]
    NoSuchKernel {
        /// What was wrong with the request.
        what: String,
    },
    /// A number of threads that cannot be set.
    #[error("the number of threads: {what}")]
    Threads {
        /// The problem, and what to do.
        what: String,
    },
    /// No thread is available for a submitted call. This is found before any work: nothing was changed.
    #[error("no thread can be started for it ({why}): end others, or use the call that waits")]
    NoThread {
        /// The reason that the system gave.
        why: String,
    },
    /// A submitted call panicked; its data was cleared to zero.
    #[error("a call panicked ({what}): this is an error of this program, report it")]
    Panicked {
        /// The panic message.
        what: String,
    },
    /// Measurements could not be saved.
    #[error("cannot write `{}`: {what}", path.display())]
    TuningNotSaved {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: String,
    },
}
