//! The dialects of kernels. Their differences are in a page in front of the text: address spaces, thread indices, barriers, access to data,
//! exchange of words between threads, and the spelling of a LUT3.

use super::lut3;
use aes_bitslice_core::dialect::Dialect;
use std::fmt::Write;

/// The page in front of `text`.
pub fn page(dialect: Dialect, text: &str) -> String {
    let common = include_str!("dialect/common.h");
    match dialect {
        Dialect::Cuda => [include_str!("dialect/cuda.h"), common].concat(),
        Dialect::OpenCl => {
            let mut page = String::from(include_str!("dialect/opencl.h"));
            if text.contains("DYNAMIC_SHARED(") {
                page += "#define DYNAMIC_SHARED(name) __local uint4 name[SHARED_BYTES / 16]\n";
            }
            for table in 0..=255 {
                // Other text that ends like this costs only an unused definition.
                if text.contains(&format!(", {table:#04x})")) {
                    let _ = writeln!(page, "DEFINE_LUT3({table:#04x}, {})", lut3::expression(table));
                }
            }
            page + common
        }
    }
}
