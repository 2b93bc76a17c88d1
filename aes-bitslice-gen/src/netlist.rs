//! Stored netlists: a circuit as text under a header that gives the bases of its bytes and how it was found.
//!
//! ```text
//! # S-box: 56 LUT3
//! # in = [56, 75, 138, 66, 165, 28, 69, 161]
//! # out = [56, 75, 138, 66, 165, 28, 69, 161]
//! # found by: cargo xtask search, seed 7
//! inputs x0 x1 ...
//! ```

use crate::circuit::{Circuit, text};
use aes_bitslice_core::basis::{Basis, NoBasis};
use std::fmt;

/// A circuit on bytes, the bases of these bytes, and its origin.
#[derive(Clone, Debug)]
pub struct Netlist {
    /// The circuit; its name says what it computes.
    pub circuit: Circuit,
    /// The basis of the bytes it reads.
    pub from: Basis,
    /// The basis of the bytes it produces, and of a round key that is added to them.
    pub to: Basis,
    /// How it was found, in one line.
    pub found_by: String,
}

/// The reason why a text is not a netlist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetlistError {
    /// The gates cannot be read.
    #[error(transparent)]
    Circuit(#[from] text::ParseError),
    /// The header has an invalid basis.
    #[error("header: {0}")]
    Basis(#[from] NoBasis),
}

impl Netlist {
    /// Reads a netlist; a header without bases means the standard one.
    pub fn parse(name: &str, text: &str) -> Result<Self, NetlistError> {
        let header = |key: &str| text.lines().find_map(|line| line.strip_prefix('#')?.trim().strip_prefix(key));
        let basis = |key: &str| header(key).map_or(Ok(Basis::STANDARD), str::parse);
        Ok(Self {
            circuit: text::parse(name, text)?,
            from: basis("in =")?,
            to: basis("out =")?,
            found_by: header("found by:").unwrap_or("unknown").trim().into(),
        })
    }

    /// The number of LUT3s.
    pub fn gates(&self) -> usize {
        self.circuit.gates().len()
    }
}

/// The text that [`Netlist::parse`] reads.
impl fmt::Display for Netlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let circuit = self.circuit.to_string();
        let (title, gates) = circuit.split_once('\n').expect("a circuit's text begins with its title");
        writeln!(f, "{title}\n# in = {}\n# out = {}\n# found by: {}", self.from, self.to, self.found_by)?;
        f.write_str(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# t: 1 LUT3\n# in = [3, 2, 4, 8, 16, 32, 64, 128]\n# out = [1, 2, 4, 8, 16, 32, 64, 128]\n\
                        # found by: hand\ninputs a b\noutputs y=n0\nn0 = LUT3(0x3c, a, b, b)\n";

    #[test]
    fn the_header_is_kept() {
        let netlist = Netlist::parse("t", TEXT).unwrap();
        assert_eq!((netlist.from.rows()[0], netlist.to, netlist.gates()), (3, Basis::STANDARD, 1));
        assert_eq!(netlist.found_by, "hand");
        let again = Netlist::parse("t", &netlist.to_string()).unwrap();
        assert_eq!(again.to_string(), netlist.to_string());
        assert_eq!((again.from, again.to, again.found_by), (netlist.from, netlist.to, netlist.found_by));
    }

    #[test]
    fn bad_headers_and_gates_are_refused() {
        let wrong = TEXT.replace("[3, 2,", "[2, 2,");
        assert!(matches!(Netlist::parse("t", &wrong), Err(NetlistError::Basis(NoBasis::Dependent(_)))));
        let wrong = TEXT.replace("LUT3(0x3c, a, b, b)", "LUT3(0x3c, a, b)");
        assert!(matches!(Netlist::parse("t", &wrong), Err(NetlistError::Circuit(_))));
    }
}
