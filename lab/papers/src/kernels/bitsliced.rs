//! Bitsliced kernels, from Hajihassani et al. 2019's to this project's, one change at a time.

use aes_bitslice_core::aes::{Direction, sbox};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::bitsliced::{self, Geometry};
use aes_bitslice_gen::emit::look_ups::numbers;
use aes_bitslice_gen::kernel::{DataPath, KernelSpec, Layers, Plan, Selected};
use aes_bitslice_gen::sbox::{CANRIGHT, CANRIGHT_NETLIST, LUT3, Sbox};
use zeroize::Zeroizing;

/// Where the round keys are: the paper's two ways (section 4.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundKeys {
    /// As planes in device memory, fetched into shared memory one at a time.
    Fetched,
    /// In the code, picked by one-hot multiplexers.
    OneHot,
}

/// A bitsliced kernel.
#[derive(Clone, Copy, Debug)]
pub struct Bitsliced {
    /// Mode and direction.
    pub mode: Mode,
    /// Where the round keys are.
    pub keys: RoundKeys,
    /// How a thread reaches its data.
    pub data: DataPath,
    /// Threads per thread block, by state.
    pub threads: u32,
    /// The circuits of the layers.
    pub layers: Layers,
    /// The S-box.
    pub sbox: &'static Sbox,
    /// What a thread holds. By column the key is in the code.
    pub layout: Layout,
    /// Which round keys are in the multiplexer, with layers as published.
    pub selected: Selected,
    /// Whether SubBytes gathers each byte of each block, looks it up in a table in global memory, and spreads it again (fig. 8).
    pub by_table: bool,
}

impl Bitsliced {
    /// The kernel of Hajihassani et al. 2019 ([`KernelSpec::hajihassani_2019`]).
    pub fn hajihassani_2019(mode: Mode, keys: RoundKeys) -> Self {
        let (data, layers, layout) = (DataPath::Staged, Layers::Published, Layout::State);
        Self {
            mode,
            keys,
            data,
            threads: 64,
            layers,
            sbox: &CANRIGHT,
            layout,
            selected: Selected::Middle,
            by_table: false,
        }
    }

    /// ECB encryption with one-hot keys and the S-box of fig. 8, to which the paper prefers its circuit.
    pub fn figure_8() -> Self {
        Self { by_table: true, ..Self::hajihassani_2019(Mode::EcbEncrypt, RoundKeys::OneHot) }
    }

    /// The kernel with one-hot keys, and variants of it where a text may be read in another way, each with a name.
    pub fn readings(mode: Mode) -> [(&'static str, Self); 3] {
        let paper = Self::hajihassani_2019(mode, RoundKeys::OneHot);
        [
            ("the paper's kernel with one-hot keys, as above", paper),
            ("Canright's own netlist", Self { sbox: &CANRIGHT_NETLIST, ..paper }),
            ("all eleven round keys in the multiplexer, one generic round", Self { selected: Selected::All, ..paper }),
        ]
    }

    /// The kernels from the paper's to one of this project's, each with its name and the index of the kernel from which it differs in one
    /// thing. The seventh changes the cover of the S-box and the layers together; the last, by column, also changes threads, thread blocks
    /// per multiprocessor, how the key is in the code and, in CTR, the first two rounds.
    pub fn changes(mode: Mode) -> Vec<(&'static str, usize, Self)> {
        use RoundKeys::{Fetched, OneHot};
        let paper = |keys| Self::hajihassani_2019(mode, keys);
        let direct = |keys| Self { data: DataPath::Direct, ..paper(keys) };
        let wide = |keys| Self { threads: 128, ..direct(keys) };
        let fewest = Self { layers: Layers::Fewest, ..wide(OneHot) };
        let searched = Self { sbox: &LUT3, ..fewest };
        vec![
            ("the paper's: keys fetched, data staged, 64 threads", 0, paper(Fetched)),
            ("the paper's: one-hot keys, data staged, 64 threads", 0, paper(OneHot)),
            ("keys fetched, data not staged, 64 threads", 0, direct(Fetched)),
            ("one-hot keys, data not staged, 64 threads", 1, direct(OneHot)),
            ("keys fetched, data not staged, 128 threads", 2, wide(Fetched)),
            ("one-hot keys, data not staged, 128 threads", 3, wide(OneHot)),
            ("the same, layers in the fewest LUT3s", 5, fewest),
            ("the same, the S-box that was searched for", 6, searched),
            ("the same, by column", 7, Self { layout: Layout::Column, ..searched }),
        ]
    }

    /// A name unique to this kernel.
    pub fn name(&self) -> String {
        let Self { mode, keys, data, threads, layers, sbox, layout, selected, by_table } = self;
        let all = if *selected == Selected::All { ", all keys selected" } else { "" };
        let sbox = if *by_table { "a table" } else { sbox.name };
        format!("{mode}, {keys:?}, {data:?}, {threads} threads, {layers:?}, {sbox}, by {layout}{all}")
    }

    /// Prints the kernel, in CUDA C. `command` is the command line that remakes it. `None` if the key has no AES length or there is no such
    /// kernel.
    pub fn print(&self, key: &[u8], command: &str) -> Option<Printed> {
        let spec = match self.keys {
            RoundKeys::Fetched => KernelSpec::planes_in_memory(self.mode, self.sbox),
            RoundKeys::OneHot => KernelSpec::baked(self.mode, self.sbox, key)?,
        };
        let spec = match self.layers {
            Layers::Published if self.selected == Selected::All => spec.generic(),
            Layers::Published => spec.published(),
            Layers::Fewest => spec.with_layout(self.layout).ok()?,
        };
        let spec = if self.data == DataPath::Staged { spec.staged() } else { spec };
        let mut parts = bitsliced::parts(&spec)?;
        if spec.layout == Layout::State {
            // A multiprocessor has 255 registers for each of 256 threads.
            parts.geometry = Geometry { threads: self.threads, blocks_per_sm: 256 / self.threads, unrolled: 1 };
        }
        let printed = bitsliced::print_parts(&Plan::new(&spec), &parts, Dialect::Cuda, command);
        Some(if self.by_table { with_table(printed) } else { printed })
    }
}

/// A kernel that encrypts, with a table in place of the circuit of its S-box.
fn with_table(mut printed: Printed) -> Printed {
    const BEGIN: &str = "DEVICE void sub_byte(u32 *x) {\n";
    let (before, circuit) = printed.source.split_once(BEGIN).expect("a function for the S-box");
    let (_, after) = circuit.split_once("\n}\n").expect("its end");
    let mut table = String::from("GLOBAL u8 s_box[256] = {\n");
    numbers(sbox::table(Direction::Encrypt), &mut table);
    let source = [before, &table, "};\n\n", include_str!("sub_byte_by_table.h"), after].concat();
    printed.manifest.source_sha256 = digest::of_text(&source);
    printed.source = Zeroizing::new(source);
    printed
}
