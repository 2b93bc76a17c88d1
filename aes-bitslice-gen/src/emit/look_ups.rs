//! The text that kernels with table look-ups share.

use aes_bitslice_core::aes::Direction;
use std::fmt::{LowerHex, Write};

/// ShiftRows, as the macro `SHIFTED(row, column)`: the column in which ShiftRows finds a row of a column.
pub fn shifted_macro(direction: Direction) -> String {
    let sign = match direction {
        Direction::Encrypt => "+ (row)",
        Direction::Decrypt => "+ 4 - (row)",
    };
    format!(
        "// The column in which ShiftRows finds a row of a column.\n#define SHIFTED(row, column) (((column) {sign}) % 4)\n"
    )
}

/// Appends the entries of a table, in hexadecimal, as many per line as fit.
pub fn numbers<T: LowerHex>(table: &[T], text: &mut String) {
    let width = 2 + 2 * size_of::<T>();
    for line in table.chunks(112 / (width + 2)) {
        let line: Vec<String> = line.iter().map(|entry| format!("{entry:#0width$x}")).collect();
        let _ = writeln!(text, "    {},", line.join(", "));
    }
}
