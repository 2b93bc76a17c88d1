//! The call size from which the GPU is faster than the CPU for data in host memory, including transfers.

use crate::backend::cuda::select::measurements::{HostRates, Measurements, nearest_bits, ratio};
use crate::exec::processor;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

impl Measurements {
    /// The minimum number of bytes in host memory for which a call is faster on the GPU than on the CPU; `None` where
    /// the CPU is faster for every size.
    pub fn cuda_from(&self, mode: Mode, key_bits: KeyBits) -> Option<u64> {
        crossover(&self.host, mode, key_bits)
    }
}

/// The size from which the GPU is faster for calls of a mode: as measured with the nearest key length, else the
/// built-in one.
pub(crate) fn crossover(host: &[HostRates], mode: Mode, key_bits: KeyBits) -> Option<u64> {
    let bits = nearest_bits(host.iter().map(|h| (h.mode, h.key_bits)), mode, key_bits);
    let mut measured: Vec<_> = host.iter().filter(|h| h.mode == mode && Some(h.key_bits) == bits).collect();
    measured.sort_by_key(|h| h.bytes);
    if measured.is_empty() { processor::gpu_is_faster_from() } else { meeting(&measured) }
}

/// The point where the GPU's rate passes the CPU's for good: between two measured sizes, where straight lines through
/// the logarithms meet. The faster one at the largest size is faster for all larger sizes.
fn meeting(by_size: &[&HostRates]) -> Option<u64> {
    let gain = |h: &HostRates| (h.cuda / h.cpu).ln();
    let first = by_size.iter().rposition(|h| gain(h) <= 0.0).map_or(0, |last_of_cpu| last_of_cpu + 1);
    let above = by_size.get(first)?;
    let Some(below) = first.checked_sub(1).map(|i| by_size[i]) else { return Some(0) };
    let part = -gain(below) / (gain(above) - gain(below));
    Some((below.bytes as f64 * ratio(above.bytes, below.bytes).powf(part)).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::select::measurements::tests::{host, measurements};

    #[test]
    fn the_crossover_lies_where_the_rates_meet() {
        let cross = |rates: &[HostRates]| meeting(&rates.iter().collect::<Vec<_>>());
        assert_eq!(cross(&measurements().host), Some(32768));
        assert_eq!(cross(&[host(4096, 2.0, 1.0), host(16384, 2.0, 2.0)]), None, "as fast is not faster");
        assert_eq!(cross(&[host(4096, 1.0, 2.0), host(16384, 1.0, 2.0)]), Some(0));
        // Once ahead is not ahead for good.
        assert_eq!(cross(&[host(4096, 1.0, 2.0), host(16384, 2.0, 1.0), host(65536, 2.0, 1.0)]), None);
        let again = cross(&[host(4096, 1.0, 2.0), host(16384, 2.0, 1.0), host(65536, 1.0, 2.0)]);
        assert_eq!(again, Some(32768));
    }
}
