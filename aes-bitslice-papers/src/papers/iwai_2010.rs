//! K. Iwai, T. Kurokawa, N. Nishikawa, 2010: how finely threads share the work, and where tables and keys lie.

use crate::case::{Case, Kernel, Work};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_gen::table::TableCount;
use aes_bitslice_papers::kernels::{Granularity, KeyMemory, Staging, TableMemory, TableSpec, ThreadBlocks};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "iwai-2010",
    authors: "Iwai, Kurokawa, Nishikawa 2010",
    title: "AES encryption implementation on CUDA GPU and its analysis",
    at: "International Conference on Networking and Computing",
    api: Api::Cuda,
    cases: |_| cases(),
};
/// Its GPU (table II).
pub const GPU: &str = "GeForce GTX 285";
/// The plaintext (section VI.A).
pub const BYTES: u64 = 256 << 20;

/// Table III.
pub const TABLE_3: &str = "iwai-2010, table III";
/// Sections V.C and V.D, of which the paper gives no figures.
pub const CHOICES: &str = "iwai-2010, sections V.C and V.D";
/// Section VI.C: copies counted.
pub const OVERLAP: &str = "iwai-2010, section VI.C";

/// A column of table III.
pub struct Column {
    /// Bytes a thread.
    pub granularity: Granularity,
    /// Where the four T-boxes lie.
    pub tables: TableMemory,
    /// Where the round keys lie.
    pub keys: KeyMemory,
    /// Where the state is between rounds.
    pub staging: Staging,
    /// The paper's throughput.
    pub gbits: f64,
}

/// Table III, from left to right.
pub const COLUMNS: [Column; 11] = {
    use {Granularity::*, KeyMemory as Key, Staging::*, TableMemory as Table};
    const fn column(granularity: Granularity, tables: Table, keys: Key, staging: Staging, gbits: f64) -> Column {
        Column { granularity, tables, keys, staging, gbits }
    }
    [
        column(B16, Table::Constant, Key::Constant, Registers, 5.0),
        column(B16, Table::Shared, Key::Constant, Registers, 34.4),
        column(B16, Table::Shared, Key::Shared, Registers, 35.2),
        column(B8, Table::Shared, Key::Constant, Aos, 26.9),
        column(B8, Table::Shared, Key::Shared, Aos, 23.9),
        column(B8, Table::Shared, Key::Constant, Soa, 23.4),
        column(B4, Table::Shared, Key::Constant, Aos, 25.3),
        column(B4, Table::Shared, Key::Shared, Aos, 25.0),
        column(B4, Table::Shared, Key::Constant, Soa, 17.1),
        column(B1, Table::Shared, Key::Shared, Aos, 2.9),
        column(B1, Table::Shared, Key::Constant, Aos, 2.6),
    ]
};

/// Numbers of chunks, where one is copied while another is encrypted, and the paper's throughput, copies counted (section VI.C).
pub const CHUNKS: [(usize, f64); 2] = [(1, 13.4), (4, 22.0)];

impl Column {
    /// The kernel with this number of T-boxes, whose threads loop.
    fn spec(&self, count: TableCount) -> TableSpec {
        let spec = TableSpec::iwai_2010(self.granularity, self.tables, count, self.keys, self.staging);
        spec.expect("a kernel of the paper")
    }

    /// What the result is found by.
    pub fn name(&self) -> String {
        let staging = match self.staging {
            Staging::Registers => "registers",
            Staging::Aos => "AoS",
            Staging::Soa => "SoA",
        };
        format!("{} B a thread, T-box {}, keys {}, {staging}", self.granularity.bytes(), memory(self.tables), self.keys)
    }
}

/// The name of a table's place.
pub fn memory(tables: TableMemory) -> &'static str {
    if tables == TableMemory::Constant { "constant" } else { "shared" }
}

/// One table or four, and threads that loop or thread blocks for all: 16 bytes a thread, everything in shared memory. Each
/// with what the result is found by.
pub fn choices() -> Vec<(TableSpec, String)> {
    let mut choices = Vec::new();
    for count in [TableCount::One, TableCount::Four] {
        let looping = COLUMNS[2].spec(count);
        for (spec, name) in
            [(looping, "threads loop"), (looping.with_thread_blocks(ThreadBlocks::Cover), "threads do not")]
        {
            choices.push((spec, format!("T-boxes: {}; {name}", count.number())));
        }
    }
    choices
}

/// What to measure.
fn cases() -> Vec<Case> {
    let case = |table, name, work| Case { table, name, bytes: BYTES, work };
    let mut cases = Vec::new();
    for column in &COLUMNS {
        let kernel = Kernel::table(column.spec(TableCount::Four));
        cases.push(case(TABLE_3, column.name(), Work::Kernel(kernel)));
    }
    for (spec, name) in choices() {
        cases.push(case(CHOICES, name, Work::Kernel(Kernel::table(spec))));
    }
    for (chunks, _) in CHUNKS {
        let kernel = Kernel::table(COLUMNS[2].spec(TableCount::Four));
        cases.push(case(OVERLAP, chunks_name(chunks), Work::Copied { kernel, chunks }));
    }
    cases
}

/// What a result with copies is found by.
pub fn chunks_name(chunks: usize) -> String {
    format!("{chunks} {}", if chunks == 1 { "chunk" } else { "chunks" })
}
