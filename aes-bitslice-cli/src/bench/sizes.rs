//! The sizes that are timed.

use aes_bitslice_runtime::Engine;

use super::chunks::WHOLE;
use super::engines::{is_device, is_gpu};
use crate::args::bench::{BenchArgs, Strategy, Timing};
use crate::args::size::Size;

/// What a new key encrypts first, in bytes.
pub const NEW_KEY_BYTES: usize = 4096;

/// The sizes that are timed, in order; most in bytes of all messages.
pub struct Sizes {
    /// All of them.
    pub all: Vec<Size>,
    /// Whole calls on data in host memory.
    pub host: Vec<usize>,
    /// Between host memory and GPUs.
    pub copy: Vec<usize>,
    /// In device memory, with the key given at launch.
    pub device: Vec<usize>,
    /// In device memory, with the key baked in: the largest message that is no batch.
    pub baked: Option<usize>,
}

impl Sizes {
    /// The sizes that the options ask for, as far as engines have such memory.
    pub fn new(args: &BenchArgs, engines: &[Engine]) -> Self {
        let mut all = args.sizes.clone();
        all.sort_by_key(|size| (size.bytes(), size.messages));
        all.dedup();
        let mut sizes: Vec<_> = all.iter().map(|size| size.bytes()).collect();
        sizes.dedup();
        let largest_message = all.iter().filter(|size| size.messages.is_none()).map(|size| size.each).max();
        let has_device = engines.iter().any(is_device);
        let on_device = args.timings.iter().any(|timing| timing.is_on_device()) && has_device;
        let on_host = args.timings.iter().any(|timing| timing.is_on_host());
        let over_links = on_host || args.timings.contains(&Timing::Copy);
        let sizes_if = |wanted: bool| {
            let fits = |size: &usize| wanted && args.host_largest.is_none_or(|largest| *size <= largest);
            sizes.iter().copied().filter(fits).collect()
        };
        Sizes {
            all,
            host: sizes_if(on_host),
            copy: sizes_if(over_links && engines.iter().any(is_gpu)),
            baked: largest_message.filter(|_| {
                has_device && args.timings.contains(&Timing::Device) && args.strategies.contains(&Strategy::OneHotMux)
            }),
            device: if on_device && args.strategies.contains(&Strategy::Planes) { sizes } else { Vec::new() },
        }
    }

    /// Whether anything is timed in device memory.
    pub fn is_on_device(&self) -> bool {
        !self.device.is_empty() || self.baked.is_some()
    }

    /// Bytes of device memory that are needed.
    pub fn largest_on_device(&self) -> usize {
        self.device.last().copied().max(self.baked).unwrap_or(0).max(NEW_KEY_BYTES)
    }

    /// Bytes of host memory that are needed.
    pub fn largest(&self) -> usize {
        [&self.host, &self.copy]
            .into_iter()
            .filter_map(|sizes| sizes.last().copied())
            .fold(self.largest_on_device().min(WHOLE), usize::max)
    }
}
