//! The parts of a bitsliced kernel besides its plan: templates, sizes, and how the code reaches the round keys.

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;
use zeroize::Zeroizing;

/// The maximum number of warps per thread block where keys are expanded: their parts of the key schedules take 32 KiB of shared memory.
pub const OWN_KEY_WARPS: u32 = 4;

/// The size of a thread block, and of its loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Threads per thread block, or the maximum where the grid determines the number: whole warps, 32 to 1024.
    pub threads: u32,
    /// The number of thread blocks that the compiler must leave registers for on one multiprocessor.
    pub blocks_per_sm: u32,
    /// Rounds per turn of the loop of rounds: 1 or 2, because their number is even.
    pub unrolled: u32,
}

/// The parts of a bitsliced kernel besides its plan.
pub struct Parts {
    /// The kernel's name: file stem and, with underscores, entry point.
    pub name: String,
    /// What it is, for headings.
    pub what: &'static str,
    /// Where the round keys are, for headings and manifests.
    pub strategy: KeyStrategy,
    /// The size of a thread block.
    pub geometry: Geometry,
    /// How many thread blocks to launch.
    pub grid: Grid,
    /// Whether the entry points of the mode let the next launch begin early, and wait for the one before.
    pub overlaps: bool,
    /// Templates that define which thread holds which planes, in order.
    pub planes: Vec<&'static str>,
    /// The template that prepares round keys, used where [`KeyAccess::shared`] is set.
    pub keys: &'static str,
    /// Templates of the mode, in order; the entry points are in the last.
    pub mode: Vec<&'static str>,
    /// Batch entry points, after the entry points of the mode.
    pub batches: Vec<&'static Batch>,
    /// Numbers that the templates use, in order.
    pub definitions: Vec<(&'static str, u32)>,
    /// How the code reaches the round keys.
    pub access: KeyAccess,
    /// The direction of the cipher on the data.
    pub direction: Direction,
    /// Bytes of shared memory that a warp keeps tweaks in; 0 for a mode without tweaks.
    pub tweak_bytes: u32,
}

/// Batch entry points of a kernel.
#[derive(Debug)]
pub struct Batch {
    /// The mode whose kernel has them.
    pub mode: Mode,
    /// Whether each item has a key, which the kernel expands.
    pub expands_keys: bool,
    /// Their templates, in order.
    pub templates: &'static [&'static str],
}

/// The prefix for names of the tweak cipher, where the data cipher runs in the other direction.
pub(super) const TWEAK: &str = "tweak_";

impl Parts {
    /// Bytes of shared memory per thread block, in addition to the fixed-size memory that the code declares.
    pub fn shared_bytes(&self) -> u32 {
        self.geometry.threads / 32 * self.tweak_bytes
    }

    /// These parts with thread blocks of at most `most` threads, and correspondingly more thread blocks, where the grid counts warps.
    pub fn in_work_groups_of(mut self, most: u32) -> Self {
        if let Grid::Warps { each, least } = self.grid
            && self.geometry.threads > most
        {
            let more = self.geometry.threads / most;
            self.grid = Grid::Warps { each: each * more, least };
            self.geometry.threads = most;
            self.geometry.blocks_per_sm *= more;
        }
        self
    }
}

/// How the code reaches the round keys: the replacements for the words between `@` in the templates.
#[derive(Clone, Default)]
pub struct KeyAccess {
    /// Whether they are in shared memory, and a value `cipher_key key` is passed from function to function.
    pub shared: bool,
    /// Whether the cipher has barriers, which every thread must reach: `@LEAVE@`, by state, is then empty. Otherwise it ends threads
    /// without data.
    pub has_barriers: bool,
    /// `@KEY_FORM@`. By column: the form of the round keys in shared memory.
    pub form: &'static str,
    /// `@KEY_SOURCE@`. Where a thread block gets the round keys from, before it expands them in shared memory: a type or a function.
    pub source: Zeroizing<String>,
    /// `@KEY_SOURCE_PARAMETER@`. The parameters of `share_keys` after the first one.
    pub source_parameter: &'static str,
    /// `@KEY_WORD@`. The word that `i` stands for.
    pub word: &'static str,
    /// `@ROUNDS@`. The number of rounds, as an expression.
    pub rounds: String,
    /// `@KEY_PARAMETER@`. The key's parameters of an entry point, which follow its others.
    pub kernel_parameter: &'static str,
    /// The argument of `share_keys` for [`Self::source_parameter`].
    pub source_argument: &'static str,
}

impl KeyAccess {
    /// The text that passes the key from function to function, if it is passed.
    pub(super) fn pass(&self, text: &'static str) -> &'static str {
        if self.shared { text } else { "" }
    }
}

impl Parts {
    /// The entry point's name in C: the kernel's with underscores. The entry point for any alignment has the suffix `_bytes`.
    pub fn entry_point(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Appends a template.
    pub(super) fn fill(&self, template: &str, text: &mut String) {
        let access = &self.access;
        let load = if access.shared {
            format!(
                "    SHARED key_memory memory;\n    const cipher_key key = share_keys(&memory{});\n",
                access.source_argument
            )
        } else {
            String::new()
        };
        let (entry, own_key_warps) = (self.entry_point(), OWN_KEY_WARPS.to_string());
        for (i, part) in template.split('@').enumerate() {
            *text += match part {
                part if i % 2 == 0 => part,
                "NAME" => &entry,
                "KEY" => access.pass(", key"),
                "CIPHER_KEY" => access.pass(", cipher_key key"),
                "LEAVE" => {
                    if access.has_barriers {
                        ""
                    } else {
                        "    if (count == 0) return;\n"
                    }
                }
                "KEY_LOAD" => &load,
                "KEY_PARAMETER" => access.kernel_parameter,
                "KEY_FORM" => access.form,
                "KEY_SOURCE" => &access.source,
                "KEY_SOURCE_PARAMETER" => access.source_parameter,
                "KEY_WORD" => access.word,
                "ROUNDS" => &access.rounds,
                "OWN_KEY_WARPS" => &own_key_warps,
                "TWEAK" if self.direction == Direction::Decrypt => TWEAK,
                "TWEAK" => "",
                "DECRYPTS" => {
                    if self.direction == Direction::Decrypt {
                        "1"
                    } else {
                        "0"
                    }
                }
                other => unreachable!("`{other}` in a template"),
            };
        }
    }
}
