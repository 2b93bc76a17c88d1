//! AES support of the processor, the number of threads that share the work, and when a GPU is faster.

use crate::base::threads;
use crate::cpu::instructions::Instructions;

/// Its instructions and threads, in words.
pub(crate) fn description() -> String {
    format!("{}, {}", Instructions::best(), threads())
}

/// The number of threads that share the work, in words.
pub(crate) fn threads() -> String {
    match threads::threads() {
        1 => "1 thread".into(),
        n => format!("{n} threads"),
    }
}

/// Whether the processor has instructions for AES.
pub(crate) fn has_aes() -> bool {
    Instructions::best() != Instructions::Portable
}

/// The number of bytes in host memory from which a GPU is faster than the processor, including transfers, if it was not measured: for CUDA
/// and OpenCL alike. `None` if the processor is faster for every size.
pub(crate) fn gpu_is_faster_from() -> Option<u64> {
    built_in_crossover(has_aes())
}

/// With AES instructions a core processes several GB/s, and many cores match the link: only measurement shows which is faster. Without them
/// no number of cores comes near the link. Two copies and a launch take about as long as a core takes for a MiB.
pub(crate) fn built_in_crossover(aes_instructions: bool) -> Option<u64> {
    (!aes_instructions).then_some(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_this_processor() {
        let threads_here = threads::threads();
        assert_eq!(threads(), if threads_here == 1 { "1 thread".into() } else { format!("{threads_here} threads") });
        assert_eq!(description(), format!("{}, {}", Instructions::best(), threads()));
        assert_eq!(has_aes(), Instructions::available().len() > 1);
        assert_eq!(gpu_is_faster_from(), if has_aes() { None } else { Some(1 << 20) });
        assert_eq!(built_in_crossover(false), Some(1 << 20));
    }
}
