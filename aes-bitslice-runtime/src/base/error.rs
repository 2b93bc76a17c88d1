//! Everything that can go wrong, each error with a remedy.

use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::NoMemory;
use std::fmt;
use std::path::PathBuf;

/// The reasons, each with what it says.
macro_rules! errors {
    ($($(#[$about:meta])* $name:ident $(($value:ident: $inner:ty))? $({ $($(#[$part:meta])* $field:ident: $type:ty,)* })?
        = $text:literal $(, $number:expr)*;)*) => {
        /// The reason why a call did nothing, or did not finish.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$about])* $name $(($inner))? $({ $($(#[$part])* $field: $type,)* })?,)*
        }

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $(($value))? $({ $($field),* })? => write!(f, $text $(, $number)*),)*
                }
            }
        }
    };
}

errors! {
    /// A key whose length is not an AES key length.
    KeyLength {
        /// The bytes given.
        bytes: usize,
    } = "a key has 16, 24 or 32 bytes, not {bytes}";
    /// A secret with too few bytes for keys to be derived from it.
    SecretLength {
        /// The bytes given.
        bytes: usize,
    } = "a secret that keys are derived from has 16 random bytes or more, not {bytes}";
    /// A key that is not an XTS key.
    XtsKey {
        /// The problem.
        what: String,
    } = "not a key of XTS: {what}";
    /// A key of a different kind than the operation needs.
    WrongKeys {
        /// The operation, or whatever else was requested.
        operation: &'static str,
        /// The key that it needs.
        needs: &'static str,
    } = "{operation} needs {needs}";
    /// A nonce, or initialisation vector, of a length that the mode does not allow.
    NonceLength {
        /// The bytes given.
        bytes: usize,
    } =
        "a nonce has 12 bytes for GCM, which also takes any other number from 1 on, 12 for AES-GCM-SIV and 24 for \
        XAES-256-GCM, not {bytes}";
    /// A tag of another length than 12 to 16 bytes, or a short tag of another length than 4 or 8.
    TagLength {
        /// The bytes given.
        bytes: usize,
    } = "a tag has 12 to 16 bytes, but 4 or 8 where short tags are asked for, not {bytes}";
    /// The data, nonce, additional data or key differs from the one that the tag was computed from.
    Unauthenticated =
        "authentication failed: the data was changed, or key, nonce or additional data are not those it was encrypted \
        with";
    /// A message length that the mode does not allow.
    Length {
        /// The operation.
        operation: &'static str,
        /// Which length is wrong, and which are right.
        what: String,
    } = "{operation}: {what}";
    /// Messages that cannot be processed in one call.
    Batch {
        /// Which messages, what is wrong with them, and what would be right.
        what: String,
    } = "a batch of messages: {what}";
    /// Work under many keys that cannot be processed in one call.
    Jobs {
        /// The problem, and what would be right.
        what: String,
    } = "many keys: {what}";
    /// A key that is not written as hexadecimal digits; the message never repeats the text.
    KeyHex {
        /// The problem.
        what: String,
    } = "the key is not hexadecimal: {what}";
    /// The operating system did not supply random bytes.
    Random(value: getrandom::Error) = "the system's random number generator failed: {value}";
    /// A name that is not the name of a backend.
    UnknownBackend {
        /// The name given.
        name: String,
    } =
        "unknown backend `{}`; known: auto, cuda, cuda:N, cuda:all, opencl, opencl:P.D, cpu, cpu-bitsliced",
        name.escape_debug();
    /// A block mode on data whose length is not a multiple of 16 bytes.
    NotWholeBlocks {
        /// The bytes given.
        len: usize,
    } =
        "the operation works on whole blocks of 16 bytes, and {len} is not a multiple of 16: pad the data, or use a \
        mode of any length, such as CTR";
    /// Input and output of different lengths.
    LengthMismatch {
        /// Bytes of input.
        input: usize,
        /// Bytes of output.
        output: usize,
    } =
        "the output has {} for {} of input: both must have the same length",
        counted(output, "byte"), counted(input, "byte");
    /// Data other than the operation takes.
    WrongAccess {
        /// The operation.
        operation: &'static str,
        /// The data that it takes.
        takes: &'static str,
    } = "{operation} takes {takes}";
    /// Parts of a message that are not contiguous.
    PartsDoNotAdjoin {
        /// Where they are not.
        what: String,
    } = "the parts of the message do not adjoin: {what}";
    /// An operation that an engine, or a kind of memory, does not support.
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// The engine's backend, or the kind of memory.
        backend: String,
    } = "{operation} is not available on {backend}: use host memory and the backend `cpu`";
    /// An operation that a different call performs.
    WrongCall {
        /// The operation.
        operation: &'static str,
        /// The method that performs it.
        call: &'static str,
    } = "{operation} is done by `{call}` here: use that";
    /// An operation that returns a value, on a stream that is being captured into a graph.
    InCapture {
        /// The operation.
        operation: &'static str,
    } =
        "{operation} returns a value, and a stream that is being captured into a graph cannot: call it on a stream that \
        is not";
    /// A backend that this program was built without.
    NotBuilt {
        /// The missing component.
        what: &'static str,
        /// The feature that provides it.
        feature: &'static str,
    } = "this program was built without {what}: build `aes-bitslice-runtime` with the feature `{feature}`";
    /// Input and output ranges of device memory that overlap without being equal.
    Overlap = "input and output overlap: they must be the same range or disjoint";
    /// A stream that belongs to a different context than the engine.
    OtherContext = "the stream belongs to another CUDA context than the engine: make it in the engine's context";
    /// A queue or a buffer that belongs to a different OpenCL context than the engine.
    OtherOpenClContext =
        "the queue or a buffer belongs to another OpenCL context than the engine: make both in the engine's context";
    /// A sharded buffer that belongs to a different engine than the cipher.
    OtherEngine = "the sharded buffer belongs to another engine than the cipher: make it with the cipher's engine";
    /// A range of bytes that is not within the buffer.
    OutOfRange {
        /// The first byte asked for.
        at: usize,
        /// The number of bytes asked for.
        bytes: usize,
        /// The bytes in the buffer.
        len: usize,
    } = "a buffer of {} has no {} from byte {at} on: stay within it", counted(len, "byte"), counted(bytes, "byte");
    /// The keystream would run past the counter's field and repeat itself.
    CounterOverflow {
        /// The number of bits that count.
        bits: u32,
        /// Blocks needed, counted from the initial counter block.
        needed: u128,
        /// Blocks available, counted from the initial counter block.
        left: u128,
    } =
        "the {bits}-bit counter has {} left, and this call needs {needed}: use another initial counter block or a wider \
        counter", counted(left, "block");
    /// The processor lacks the vector instructions asked for.
    IsaUnavailable {
        /// The instructions asked for.
        isa: String,
    } = "this processor does not have {isa}: use the backend `cpu`, which takes the best instructions there are";
    /// A call that only a CUDA engine supports.
    NotCuda {
        /// The item requested.
        what: &'static str,
        /// The engine's backend.
        backend: String,
    } = "{what} needs a CUDA engine, and this one is {backend}: open the engine with the backend `cuda`";
    /// A call that only an OpenCL engine supports.
    NotOpenCl {
        /// The item requested.
        what: &'static str,
        /// The engine's backend.
        backend: String,
    } = "{what} needs an OpenCL engine, and this one is {backend}: open the engine with the backend `opencl`";
    /// A call that only an engine with a device supports.
    NoDevice {
        /// The item requested.
        what: &'static str,
        /// The engine's backend.
        backend: String,
    } =
        "{what} needs a CUDA or OpenCL engine, and this one is {backend}: open the engine with the backend `cuda` or \
        `opencl`";
    /// No CUDA on this machine.
    CudaUnavailable {
        /// The missing component.
        what: String,
        /// A remedy other than using the CPU.
        help: String,
    } = "CUDA is not available: {what}; {help}, or use the backend `cpu`";
    /// GPUs that cannot work together as requested.
    BadDevices {
        /// The problem.
        what: String,
    } = "cannot share work among these GPUs: {what}; give different numbers, counted from 0";
    /// A call for a single GPU, on an engine that has several.
    SeveralDevices {
        /// The item requested.
        what: &'static str,
    } =
        "{what} works on one GPU, and this engine has several: open the engine with the backend `cuda:0`, or another of \
        them";
    /// A device number that is too high.
    NoSuchDevice {
        /// The number asked for.
        ordinal: usize,
        /// The number of devices.
        count: usize,
    } =
        "there is no CUDA device {ordinal}: this machine has {count}, and the highest number is {}",
        count.saturating_sub(1);
    /// A call of the CUDA driver failed. The engine may be poisoned by it.
    Cuda {
        /// The call that failed.
        call: String,
        /// The driver's name for the error.
        code: String,
    } = "CUDA: {call} failed with {code}";
    /// No OpenCL on this machine.
    OpenClUnavailable {
        /// The missing component.
        what: String,
        /// A remedy other than using the CPU.
        help: String,
    } = "OpenCL is not available: {what}; {help}, or use the backend `cpu`";
    /// Platform and device numbers that no OpenCL device has.
    NoSuchOpenClDevice {
        /// The platform's number.
        platform: usize,
        /// The device's number in its platform.
        device: usize,
        /// The available devices, by number and name.
        there: String,
    } = "there is no OpenCL device {platform}.{device}: this machine has {there}";
    /// A call of OpenCL failed.
    OpenCl {
        /// The call that failed.
        call: String,
        /// OpenCL's name for the error.
        code: String,
    } = "OpenCL: {call} failed with {code}";
    /// A kernel with its key baked in, and a compiler that may keep the compiled result.
    CompilerCache {
        /// The platform's name.
        platform: String,
        /// The remedy.
        switch: String,
    } =
        "the OpenCL compiler of {platform} may keep what it compiles on disk, and this kernel is the key: {switch}, or \
        use a key given at run time";
    /// An earlier CUDA error left the device's context unusable, or the output of a failed call could not be cleared in sharded memory. If
    /// this is found before any work, nothing was changed; if it is found in the middle of a call, because another thread met that error
    /// meanwhile, the output of the call is cleared.
    Poisoned {
        /// The earlier error.
        cause: String,
    } = "the CUDA engine is unusable since an earlier error ({cause}): open it again in a new process";
    /// The call was stopped ([`Stop`](crate::Stop)), and its output is cleared.
    Stopped = "the call was stopped, and its output is cleared: make it again";
    /// The device has too little free memory.
    OutOfDeviceMemory {
        /// What the memory was needed for.
        what: String,
    } = "not enough memory on the device for {what}: free some of it, or use a smaller buffer";
    /// This machine has too little free memory.
    OutOfHostMemory {
        /// What the memory was needed for.
        what: String,
    } = "not enough memory for {what}: free some of it, or use less";
    /// A kernel did not compute the known answer on this device.
    SelfTestFailed {
        /// The kernel's name.
        kernel: String,
    } =
        "kernel {kernel} gave a wrong answer to its self-test and was not used: report this, and use the key itself \
        with another backend, such as `cpu`";
    /// No run-time compiler on this machine.
    NvrtcUnavailable {
        /// The missing component.
        what: String,
        /// The remedy.
        help: String,
    } = "the CUDA run-time compiler is not available: {what}; {help}";
    /// A kernel did not compile.
    CompileFailed {
        /// The kernel's name.
        kernel: String,
        /// The compiler's output.
        log: String,
    } = "kernel {kernel} did not compile:\n{log}";
    /// The manifest of a baked kernel cannot be used.
    BadManifest {
        /// The manifest's file.
        path: PathBuf,
        /// The problem.
        what: String,
    } = "manifest `{}`: {what}", path.display();
    /// A single-kernel cipher was asked for a mode that the kernel was not made for.
    NotInKernel {
        /// The mode asked for.
        wanted: String,
        /// What the kernel computes.
        has: String,
    } = "this kernel is for {has} only: for {wanted}, use another kernel, or the key itself";
    /// A call that needs the key itself, on a cipher without a key, or on a single-kernel cipher, whose kernel contains
    /// the key or is launched with it.
    NeedsKey {
        /// The item requested.
        what: &'static str,
    } = "{what} needs the key itself, which a cipher of one kernel, or without a key, does not have: make a cipher \
        that is given the key";
    /// The requested kernel does not exist.
    NoSuchKernel {
        /// What was wrong with the request.
        what: String,
    } = "no such kernel: {what}";
    /// A number of threads that cannot be set.
    Threads {
        /// The problem, and what to do.
        what: String,
    } = "the number of threads: {what}";
    /// No thread is available for a submitted call. This is found before any work: nothing was changed.
    NoThread {
        /// The reason that the system gave.
        why: String,
    } = "no thread can be started for it ({why}): end others, or use the call that waits";
    /// A submitted call panicked; its data was cleared to zero.
    Panicked {
        /// The panic message.
        what: String,
    } = "a call panicked ({what}): this is an error of this program, report it";
    /// Measurements could not be saved.
    TuningNotSaved {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: String,
    } = "cannot write `{}`: {what}", path.display();
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Random(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NoMemory> for Error {
    fn from(error: NoMemory) -> Self {
        Self::OutOfHostMemory { what: counted(error.bytes, "byte") }
    }
}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

#[cfg(test)]
mod tests {
    use super::Error;
    use std::error::Error as _;

    #[test]
    fn the_source_of_an_error_is_the_systems() {
        let error = Error::from(getrandom::Error::UNEXPECTED);
        assert_eq!(error.source().unwrap().to_string(), getrandom::Error::UNEXPECTED.to_string());
        assert!(Error::Unauthenticated.source().is_none());
    }
}
