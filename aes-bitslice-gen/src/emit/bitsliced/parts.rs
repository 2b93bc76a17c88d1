//! What a bitsliced kernel is made of besides its plan: templates, sizes, and how the code reaches the round keys.

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::manifest::Grid;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;
use zeroize::Zeroizing;

/// Warps of a thread block at most, where keys are expanded: what they keep of their schedules is 32 KiB of shared memory.
pub const OWN_KEY_WARPS: u32 = 4;

/// The size of a thread block, and of its loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Threads a thread block, or the most of one where the grid says how many: whole warps, 32 to 1024.
    pub threads: u32,
    /// Thread blocks that the compiler must leave registers for on one multiprocessor.
    pub blocks_per_sm: u32,
    /// Rounds that the loop of rounds has at a time: 1 or 2, for their number is even.
    pub unrolled: u32,
}

/// What a bitsliced kernel is made of besides its plan.
pub struct Parts {
    /// The kernel's name: file stem and, with underscores, entry point.
    pub name: String,
    /// Where the round keys are, for headings and manifests.
    pub strategy: KeyStrategy,
    /// The size of a thread block.
    pub geometry: Geometry,
    /// How many thread blocks to launch.
    pub grid: Grid,
    /// Templates that say which thread holds what, in order.
    pub planes: Vec<&'static str>,
    /// The template that prepares round keys, used where [`KeyAccess::shared`] is set.
    pub keys: &'static str,
    /// Templates of the mode, in order; the entry points are in the last.
    pub mode: Vec<&'static str>,
    /// Entry points for many at a time, behind those.
    pub batches: Vec<&'static Batch>,
    /// How the code reaches the round keys.
    pub access: KeyAccess,
    /// Which way the cipher of the data runs.
    pub direction: Direction,
    /// Bytes of shared memory that a warp keeps tweaks in; 0 for a mode without tweaks.
    pub tweak_bytes: u32,
}

/// Of what an entry point does many at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchOf {
    /// Messages in counter mode, under one key.
    Messages,
    /// Keys, each with blocks of its own.
    Keys,
    /// Messages of CMAC, under one key.
    Cmac,
}

/// Entry points of a kernel for many at a time.
#[derive(Debug)]
pub struct Batch {
    /// Of what.
    pub of: BatchOf,
    /// The mode whose kernel has them.
    pub mode: Mode,
    /// Their templates, in order.
    pub templates: &'static [&'static str],
}

/// What names of the cipher of tweaks begin with, where that of the data runs the other way.
pub(super) const TWEAK: &str = "tweak_";

impl Parts {
    /// Whether it has entry points for many of these at a time.
    pub fn has_batch_of(&self, of: BatchOf) -> bool {
        self.batches.iter().any(|batch| batch.of == of)
    }

    /// Bytes of shared memory of a thread block, besides what the code declares of known size.
    pub fn shared_bytes(&self) -> u32 {
        self.geometry.threads / 32 * self.tweak_bytes
    }

    /// The same with thread blocks of this many threads at most, and as many more of them, where the grid counts warps.
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

/// How the code reaches the round keys: what stands for the words between `@` in the templates.
#[derive(Clone, Default)]
pub struct KeyAccess {
    /// Whether they lie in shared memory, and a value `cipher_key key` is handed from function to function.
    pub shared: bool,
    /// Whether the cipher has barriers, which every thread must come to: `@LEAVE@`, by state, is nothing then. Else it ends
    /// threads without data.
    pub has_barriers: bool,
    /// `@KEY_FORM@`. By column: the form they have in shared memory.
    pub form: &'static str,
    /// `@KEY_SOURCE@`. Where a thread block gets them from, before it spreads them: a type or a function.
    pub source: Zeroizing<String>,
    /// `@KEY_SOURCE_PARAMETER@`. What `share_keys` takes behind its first parameter.
    pub source_parameter: &'static str,
    /// `@KEY_WORD@`. The word that `i` stands for.
    pub word: &'static str,
    /// `@ROUNDS@`. The number of rounds, as an expression.
    pub rounds: String,
    /// `@KEY_PARAMETER@`. What an entry point takes behind its other parameters.
    pub kernel_parameter: &'static str,
    /// What `share_keys` is given for [`Self::source_parameter`].
    pub source_argument: &'static str,
}

impl KeyAccess {
    /// What hands the key on from function to function, if it is handed on.
    pub(super) fn pass(&self, text: &'static str) -> &'static str {
        if self.shared { text } else { "" }
    }
}

impl Parts {
    /// The entry point's name in C: the kernel's with underscores. The one for any alignment has `_bytes` behind it.
    pub fn entry_point(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Appends a template.
    pub(super) fn fill(&self, template: &str, text: &mut String) {
        let access = &self.access;
        let load = match access.shared {
            true => format!(
                "    SHARED key_memory memory;\n    const cipher_key key = share_keys(&memory{});\n",
                access.source_argument
            ),
            false => String::new(),
        };
        let (entry, own_key_warps) = (self.entry_point(), OWN_KEY_WARPS.to_string());
        for (i, part) in template.split('@').enumerate() {
            *text += match part {
                part if i % 2 == 0 => part,
                "NAME" => &entry,
                "KEY" => access.pass(", key"),
                "CIPHER_KEY" => access.pass(", cipher_key key"),
                "LEAVE" => match access.has_barriers {
                    true => "",
                    false => "    if (count == 0) return;\n",
                },
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
