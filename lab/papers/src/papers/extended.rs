//! What Ul Haq et al. 2011 say that their kernels can be extended to: CTR, and larger work-groups. It is measured apart, because it compares
//! cases of one run.

use crate::case::{Case, Kernel, Work};
use crate::measured::Kind;
use crate::papers::paper::{Api, Paper};
use crate::papers::ul_haq_2011::{self, KEY_BITS, LARGEST};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{Bytewise, SboxMemory, ScheduleMemory};
use aes_bitslice_runtime::Kernels;

/// These, as a paper whose run is kept where it is not repeated.
pub const PAPER: Paper = Paper {
    name: "ul-haq-2011-extended",
    authors: "Ul Haq, Masood, Majeed, Aziz 2011, CTR and work-groups",
    title: ul_haq_2011::PAPER.title,
    at: ul_haq_2011::PAPER.at,
    api: Api::OpenCl,
    cases: |_| cases(),
    counted: Vec::new,
    claims: Vec::new,
    sentences: |_| Vec::new(),
    gbit: ul_haq_2011::PAPER.gbit,
};

/// ECB in work-groups of several sizes.
pub const GROUPS: &str = "ul-haq-2011-extended, work-groups";
/// CTR, and ECB beside it.
pub const MODES: &str = "ul-haq-2011-extended, CTR";

/// Work-items of a work-group.
pub const SIZES: [u32; 5] = [64, 128, 256, 512, 1024];

/// Kernels that read and write a block byte by byte, by the names under which their results are found: the basic kernel, and one with the S-box
/// and the keys in fast memory.
pub fn by_bytes() -> [(&'static str, Bytewise); 2] {
    let basic = Bytewise::basic(Direction::Encrypt);
    let fast = Bytewise { sbox: SboxMemory::Shared, schedule: ScheduleMemory::Argument, ..basic };
    [("the basic kernel", basic), ("S-box local; keys as an argument; by bytes", fast)]
}

/// The name under which this project's kernel is found.
pub const BITSLICED: &str = "bitsliced";

/// The name under which the result with a work-group is found.
pub fn group_name(kernel: &str, work_items: u32) -> String {
    format!("{kernel}; work-groups of {work_items}")
}

/// The name under which the result in a mode is found.
pub fn mode_name(kernel: &str, mode: Mode) -> String {
    format!("{kernel}; {mode}")
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |table, name, kernel: Kernel| {
        let work = Work::OpenCl { kernel: kernel.with_key_bits(KEY_BITS), on: Kind::Gpu };
        cases.push(Case { table, name, bytes: LARGEST, work });
    };
    for (name, kernel) in by_bytes() {
        for threads in SIZES {
            add(GROUPS, group_name(name, threads), Kernel::bytewise(Bytewise { threads, ..kernel }));
        }
        for mode in [Mode::EcbEncrypt, Mode::Ctr] {
            add(MODES, mode_name(name, mode), Kernel::bytewise(Bytewise { mode, ..kernel }));
        }
    }
    for mode in [Mode::EcbEncrypt, Mode::Ctr] {
        add(MODES, mode_name(BITSLICED, mode), Kernel::engine(Kernels::Bitsliced, mode));
    }
    cases
}
