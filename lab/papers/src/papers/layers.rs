//! Section 6.2 of Hajihassani et al. 2019: what each sub-function costs. It is measured apart, because it compares cases of one run.

use crate::case::{Case, Program, Work};
use crate::papers::claim::{Claim, Expected};
use crate::papers::hajihassani_2019::{self, BYTES};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_papers::kernels::{OnPlanes, Without, counted};

/// The section, as a paper whose run is kept where it is not repeated.
pub const PAPER: Paper = Paper {
    name: "hajihassani-2019-layers",
    authors: "Hajihassani, Monfared, Khasteh, Gorgin 2019, section 6.2",
    title: hajihassani_2019::PAPER.title,
    at: hajihassani_2019::PAPER.at,
    api: Api::Cuda,
    cases: |_| ROWS.iter().map(Row::case).collect(),
    counted: Vec::new,
    claims,
    sentences: |_| Vec::new(),
    gbit: hajihassani_2019::PAPER.gbit,
};

/// The table.
pub const TABLE: &str = "hajihassani-2019-layers, section 6.2";

/// A kernel of the table.
pub struct Row {
    /// What is left out.
    pub layer: &'static str,
    /// The name by which its instructions are found.
    pub counted: &'static str,
    program: Program,
}

/// The whole kernel, then what is left out of it.
pub const ROWS: [Row; 6] = {
    const fn row(layer: &'static str, counted: &'static str, program: Program) -> Row {
        Row { layer, counted, program }
    }
    const fn without(layer: &'static str, index: usize) -> Row {
        let (counted, without) = counted::LAYERS[index];
        row(layer, counted, Program::Without(without))
    }
    [
        row("nothing", counted::PAPER, Program::Without(Without::Nothing)),
        row("both changes of representation", counted::ON_PLANES, Program::OnPlanes(OnPlanes)),
        without("SubBytes", 0),
        without("ShiftRows", 1),
        without("ShiftRows and MixColumns", 2),
        without("AddRoundKey, with its multiplexers", 3),
    ]
};

impl Row {
    /// The name by which the result is found.
    pub fn name(&self) -> String {
        format!("ECB, one-hot keys, without {}", self.layer)
    }

    fn case(&self) -> Case {
        Case { table: TABLE, name: self.name(), bytes: BYTES, work: Work::Program(self.program) }
    }
}

fn claims() -> Vec<Claim> {
    let place = |row: &Row| vec![(TABLE, row.name(), BYTES)];
    vec![Claim {
        says: "ShiftRows is simplified to the point where its cost can be neglected (abstract)",
        theirs: None,
        compared: "one-hot keys, ECB, 256 MiB; without ShiftRows to the whole kernel".into(),
        first: place(&ROWS[3]),
        second: place(&ROWS[0]),
        expected: Expected::Same,
    }]
}
