//! What the processor has for AES, and how many threads share the work.

/// Its instructions and threads, in words.
pub(crate) fn description() -> String {
    format!("{}, {}", instructions(), threads())
}

/// How many threads share the work, in words.
pub(crate) fn threads() -> String {
    match rayon::current_num_threads() {
        1 => "1 thread".into(),
        n => format!("{n} threads"),
    }
}

/// Whether the processor has AES instructions that the `aes` crate uses.
pub(crate) fn has_aes() -> bool {
    instructions() != NO_INSTRUCTIONS
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
