//! Section 5 of Hajihassani et al. 2019: CTR's key stream may be made in advance and kept. It is measured apart, because it compares cases of
//! one run.

use crate::case::{Case, Kernel, Program, Work};
use crate::papers::hajihassani_2019::{self, BYTES};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{AddKeyStream, Bitsliced, RoundKeys};

/// The section, as a paper whose run is kept where it is not repeated.
pub const PAPER: Paper = Paper {
    name: "hajihassani-2019-key-stream",
    authors: "Hajihassani, Monfared, Khasteh, Gorgin 2019, section 5",
    title: hajihassani_2019::PAPER.title,
    at: hajihassani_2019::PAPER.at,
    api: Api::Cuda,
    cases: |_| NAMES.into_iter().zip(works()).map(|(name, work)| case(name, work)).collect(),
    counted: Vec::new,
    claims: Vec::new,
    sentences: |_| Vec::new(),
    gbit: hajihassani_2019::PAPER.gbit,
};

/// The table.
pub const TABLE: &str = "hajihassani-2019-key-stream, section 5";

/// The names by which the results are found: CTR in one kernel and the key stream alone, each with keys fetched and with one-hot keys, and
/// the sum of a key stream with data.
pub const NAMES: [&str; 5] = [
    "CTR in one kernel, keys fetched",
    "CTR in one kernel, one-hot keys",
    "key stream alone, keys fetched",
    "key stream alone, one-hot keys",
    "sum of data and key stream",
];

/// In the order of [`NAMES`].
fn works() -> impl Iterator<Item = Work> {
    let kernel = |mode, keys| Work::Kernel(Kernel::bitsliced(Bitsliced::hajihassani_2019(mode, keys)));
    let of_mode = move |mode| [RoundKeys::Fetched, RoundKeys::OneHot].map(|keys| kernel(mode, keys));
    let sum = Work::Program(Program::AddKeyStream(AddKeyStream));
    [Mode::Ctr, Mode::Keystream].into_iter().flat_map(of_mode).chain([sum])
}

fn case(name: &str, work: Work) -> Case {
    Case { table: TABLE, name: name.into(), bytes: BYTES, work }
}
