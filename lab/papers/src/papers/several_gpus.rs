//! Section 6.6 of Hajihassani et al. 2019: several GPUs, which take a machine of their own.

use crate::case::{Case, Kernel, ShardedData, Shares, Work};
use crate::papers::claim::{Claim, Expected, Rates, Sentence};
use crate::papers::hajihassani_2019;
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{Bitsliced, RoundKeys};

/// The section, as a paper whose run is kept where it is not repeated.
pub const PAPER: Paper = Paper {
    name: "hajihassani-2019-gpus",
    authors: "Hajihassani, Monfared, Khasteh, Gorgin 2019, section 6.6",
    title: hajihassani_2019::PAPER.title,
    at: hajihassani_2019::PAPER.at,
    api: Api::Cuda,
    cases,
    counted: Vec::new,
    claims,
    sentences,
    gbit: hajihassani_2019::PAPER.gbit,
};

/// The table.
pub const TABLE: &str = "hajihassani-2019-gpus, section 6.6";
/// The rate of two GTX 980, as a fraction of twice the rate of one.
pub const TWO_GPUS: f64 = 0.92;
/// Modes whose data is sharded.
pub const MODES: [Mode; 2] = [Mode::EcbEncrypt, Mode::Ctr];
/// Numbers of GPUs, as far as there are that many.
pub const GPUS: [usize; 4] = [1, 2, 4, 8];

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The number of GPUs.
    pub gpus: usize,
    /// The sizes of their shares; equal for one GPU.
    pub shares: Shares,
    /// Where the data is before and after.
    pub data: ShardedData,
    /// Whether the last GPU has half the rate.
    pub slowed: bool,
}

impl Row {
    /// All rows of a machine with this number of GPUs.
    pub fn all(gpus: usize) -> Vec<Self> {
        let mut rows = Vec::new();
        for data in [ShardedData::Resident, ShardedData::Copied] {
            for gpus in GPUS.into_iter().filter(|&count| count <= gpus) {
                let shares = if gpus == 1 { &Shares::ALL[..1] } else { &Shares::ALL[..] };
                rows.extend(shares.iter().map(|&shares| Self { gpus, shares, data, slowed: false }));
            }
        }
        if gpus >= 2 {
            let slowed = |shares| Self { gpus: 2, shares, data: ShardedData::Resident, slowed: true };
            rows.extend(Shares::ALL.map(slowed));
        }
        rows
    }

    /// Bytes of the data: as much as keeps the GPUs busy, or the bus.
    pub fn bytes(&self) -> u64 {
        match self.data {
            ShardedData::Resident => 4 << 30,
            ShardedData::Copied => 1 << 30,
        }
    }

    /// How many GPUs of the full rate they are worth.
    pub fn worth(&self) -> f64 {
        self.gpus as f64 - if self.slowed { 0.5 } else { 0.0 }
    }

    /// The name by which the result in a mode is found.
    pub fn name(&self, mode: Mode) -> String {
        let data = if self.data == ShardedData::Copied { ", distributed and collected" } else { "" };
        let slowed = if self.slowed { ", one of half the rate" } else { "" };
        match self.gpus {
            1 => format!("{mode}, 1 GPU{data}"),
            gpus => format!("{mode}, {gpus} GPUs{slowed}, {} shares{data}", self.shares.name()),
        }
    }
}

/// No cases where there is one GPU: then the figures of another machine stay.
fn cases(gpus: usize) -> Vec<Case> {
    let rows = if gpus < 2 { Vec::new() } else { Row::all(gpus) };
    let mut cases = Vec::new();
    for mode in MODES {
        for row in &rows {
            let kernel = Kernel::bitsliced(Bitsliced::hajihassani_2019(mode, RoundKeys::OneHot));
            let Row { gpus, shares, data, slowed } = *row;
            let work = Work::Sharded { kernel, gpus, shares, data, slowed };
            cases.push(Case { table: TABLE, name: row.name(mode), bytes: row.bytes(), work });
        }
    }
    cases
}

/// A row in its usual form.
fn row(gpus: usize, data: ShardedData) -> Row {
    Row { gpus, shares: Shares::Equal, data, slowed: false }
}

fn claims() -> Vec<Claim> {
    let place = |gpus, mode| {
        let row = row(gpus, ShardedData::Resident);
        vec![(TABLE, row.name(mode), row.bytes())]
    };
    let of = |mode: Mode| Claim {
        says: "two GPUs show a nearly linear trend: 92 % of twice the rate (6.6, 7)",
        theirs: Some(2.0 * TWO_GPUS),
        compared: format!("{mode}, in GPU memory, equal shares, 2 GPUs to 1"),
        first: place(2, mode),
        second: place(1, mode),
        expected: Expected::Faster,
    };
    MODES.map(of).into()
}

fn sentences(rates: Rates) -> Vec<Sentence> {
    let of = |data, says| {
        let rate = |gpus| {
            let row = row(gpus, data);
            rates(&(TABLE, row.name(MODES[0]), row.bytes()))
        };
        let part = rate(4).zip(rate(1)).map(|(four, one)| four / (4.0 * one));
        let told = |part: f64| format!("{:.0} % of four times one, {}", 100.0 * part, MODES[0]);
        Sentence::judged(says, "", part, told, |part| part < TWO_GPUS)
    };
    vec![
        of(ShardedData::Resident, "with 4 GPUs, performance does not grow linearly (6.6): data in GPU memory"),
        of(ShardedData::Copied, "the same: data distributed and collected"),
    ]
}
