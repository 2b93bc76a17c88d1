//! The instructions of PTX that there is a rule for: what each does, and what each of its operands is to it. `tests/taint_ptx.rs` has an example
//! of every one, and tries a secret in each of its operands.

/// What an instruction does with values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Computes its first operand from the others and from nothing else.
    Compute,
    /// Computes its first operand from those of several threads, all of which must take part.
    Collective,
    /// Writes no register, and to memory nothing but zeros and the state of barriers.
    Nothing,
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads and writes memory in one step.
    Update,
    /// Copies device memory to shared memory, or, by its name, the other way.
    Transfer,
    /// Multiplies matrices in shared memory, which are secret.
    Product,
    /// Goes on in a function.
    Call,
}

/// What an operand is to an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It is written.
    To,
    /// What is written depends on it.
    From,
    /// Where memory is accessed, and how much of it.
    Address,
    /// A vector of registers that holds a matrix, or else the descriptor of one in shared memory.
    Matrix,
    /// The thread that a value comes from.
    Lane,
    /// The threads that take part.
    Mask,
    /// Where execution continues, or what a barrier waits for.
    Control,
    /// What the time of the instruction may depend on.
    Time,
}

impl Role {
    /// What is wrong with a secret here, if anything. `is_vector` says whether the operand is several registers.
    pub fn must_be_public(self, is_vector: bool) -> Option<&'static str> {
        match self {
            Self::To | Self::From => None,
            Self::Matrix if is_vector => None,
            Self::Address | Self::Matrix => Some("an address depends on a secret"),
            Self::Lane => Some("a lane depends on a secret"),
            Self::Mask => Some("a mask of threads depends on a secret"),
            Self::Control => Some("control or a barrier depends on a secret"),
            Self::Time => Some("its time may depend on a secret"),
        }
    }
}

/// Names of instructions, up to a dot; what they do; and the roles of their operands, of which the last is also that of all that follow.
type Rule = (&'static [&'static str], Effect, &'static [Role]);

use Effect::{Call, Collective, Compute, Load, Nothing, Product, Store, Transfer, Update};
use Role::{Address, Control, From, Lane, Mask, Matrix, Time, To};

#[rustfmt::skip]
const RULES: [Rule; 16] = [
    (&[
        "abs", "activemask", "add", "addc", "and", "bfe", "bfi", "bfind", "brev", "clz", "cnot", "cvt", "cvta", "dp2a", "dp4a", "fns", "lop3",
        "mad", "mad24", "mapa", "max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "sad", "selp", "set", "setp", "shf",
        "shl", "shr", "slct", "sub", "subc", "xor",
    ], Compute, &[To, From]),
    (&["div", "rem", "sqrt", "rsqrt", "rcp", "sin", "cos", "lg2", "ex2", "tanh", "fma"], Compute, &[To, Time]),
    (&["shfl"], Collective, &[To, From, Lane]),
    (&["vote", "match", "redux"], Collective, &[To, From, Mask]),
    (&["elect"], Collective, &[To, Mask]),
    (&["mma"], Collective, &[To, From]),
    (&["mbarrier.arrive", "mbarrier.test_wait", "mbarrier.try_wait"], Collective, &[To, Control]),
    (&[
        "bar", "barrier", "bra", "brkpt", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "exit", "fence", "griddepcontrol",
        "mbarrier.init", "mbarrier.inval", "membar", "nanosleep", "pmevent", "ret", "setmaxnreg", "trap", "wgmma.commit_group",
        "wgmma.fence", "wgmma.wait_group",
    ], Nothing, &[Control]),
    (&["prefetch", "prefetchu", "discard", "applypriority"], Nothing, &[Address]),
    (&["ld", "ldu", "ldmatrix"], Load, &[To, Address]),
    (&["st"], Store, &[Address, From]),
    (&["atom"], Update, &[To, Address, From]),
    (&["red"], Update, &[Address, From]),
    (&["cp.async", "cp.reduce"], Transfer, &[Address, Address]),
    (&["wgmma.mma_async"], Product, &[To, Matrix, Address]),
    (&["call"], Call, &[Control]),
];

/// What an instruction does, and the roles of its operands; for one of floating point, its time depends on what it computes from.
pub fn rule(opcode: &str) -> Option<(Effect, &'static [Role])> {
    let is_name = |name: &&str| opcode.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let of = RULES
        .iter()
        .filter_map(|rule| Some((rule.0.iter().filter(|name| is_name(name)).map(|name| name.len()).max()?, rule)));
    of.max_by_key(|(length, _)| *length).map(|(_, (_, effect, roles))| (*effect, *roles))
}

/// The names of all instructions that there is a rule for.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().flat_map(|(names, ..)| *names).copied()
}
