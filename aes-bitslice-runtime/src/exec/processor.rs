//! What the processor has for AES, how many threads share the work, and when a GPU is faster.

use crate::base::threads;

/// Its instructions and threads, in words.
pub(crate) fn description() -> String {
    format!("{}, {}", instructions(), threads())
}

/// How many threads share the work, in words.
pub(crate) fn threads() -> String {
    match threads::threads() {
        1 => "1 thread".into(),
        n => format!("{n} threads"),
    }
}

/// Whether the processor has AES instructions that the `aes` crate uses.
pub(crate) fn has_aes() -> bool {
    instructions() != NO_INSTRUCTIONS
}

/// From how many bytes of host memory on a GPU is faster than the processor, transfers counted, where nobody measured it: for
/// CUDA and OpenCL alike. `None` where the processor is faster for every size.
pub(crate) fn gpu_is_faster_from() -> Option<u64> {
    built_in_crossover(has_aes())
}

/// With AES instructions a core does several GB/s, and many do what the link does: only measuring tells. Without them no number of
/// cores comes near it. Two copies and a launch cost about what a core does of a MiB meanwhile.
pub(crate) fn built_in_crossover(aes_instructions: bool) -> Option<u64> {
    (!aes_instructions).then_some(1 << 20)
}

const NO_INSTRUCTIONS: &str = "no AES instructions";

/// The instructions that the `aes` crate finds here, in words.
fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("aes") {
            return if std::arch::is_x86_feature_detected!("vaes") { "AES-NI with VAES" } else { "AES-NI" };
        }
        NO_INSTRUCTIONS
    }
    #[cfg(target_arch = "aarch64")]
    {
        if std::arch::is_aarch64_feature_detected!("aes") { "ARMv8 AES" } else { NO_INSTRUCTIONS }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    NO_INSTRUCTIONS
}
