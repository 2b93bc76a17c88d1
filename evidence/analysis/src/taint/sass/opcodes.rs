//! The instructions of machine code that there is a rule for, by the name before the first dot. `tests/sass.rs` has an example of every one,
//! and tries a secret in each of its operands.

/// What an instruction does with values. The places in memory that it accesses must be public, and so must the predicates of all but those
/// that compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Computes registers and predicates from others, in constant time.
    Compute,
    /// Computes registers and predicates from others, in a time that may depend on them: they must be public.
    Slow,
    /// Decides where threads continue, or waits; all operands must be public.
    Control,
    /// Reads shared memory.
    SharedLoad,
    /// Reads local memory.
    LocalLoad,
    /// Reads device memory, or memory of a space that is not known.
    DeviceLoad,
    /// Reads a constant bank.
    ConstantLoad,
    /// Writes shared memory.
    SharedStore,
    /// Writes local memory.
    LocalStore,
    /// Writes device memory.
    DeviceStore,
    /// Writes memory of a space that is not known.
    GenericStore,
    /// Reads and writes shared memory in one step.
    SharedUpdate,
    /// Reads and writes device memory in one step.
    DeviceUpdate,
    /// Reads and writes memory of an unknown space in one step.
    GenericUpdate,
    /// Copies device memory to shared memory; all operands must be public.
    Transfer,
    /// A barrier in shared memory; all operands must be public.
    Barrier,
    /// Takes a value from another thread, which must be public.
    Shuffle,
    /// Multiplies by a matrix in shared memory.
    Product,
}

#[rustfmt::skip]
const RULES: [(Effect, &[&str]); 18] = [
    (Effect::Compute, &[
        "BMMA", "BMOV", "BMSK", "BREV", "CS2R", "CS2UR", "ELECT", "FLO", "IABS", "IADD", "IADD3", "IDP", "IMAD", "IMMA", "IMNMX", "ISETP",
        "LEA", "LOP3", "MOV", "P2R", "P2UR", "PLOP3", "POPC", "PRMT", "R2P", "R2UR", "REDUX", "S2R", "S2UR", "SEL", "SGXT", "SHF", "UBMSK",
        "UBREV", "UFLO", "UIADD3", "UIMAD", "UISETP", "ULEA", "ULOP3", "UMOV", "UPLOP3", "UPOPC", "UPRMT", "UR2UP", "USEL", "USGXT", "USHF",
        "UVIADD", "UVIMNMX", "VABSDIFF", "VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3", "VOTE", "VOTEU", "VOTED",
    ]),
    (Effect::Slow, &[
        "MUFU", "F2I", "I2F", "I2FP", "F2F", "FADD", "FMUL", "FFMA", "FSETP", "FCHK", "FSEL", "UI2F", "UF2I", "HFMA2",
    ]),
    (Effect::Control, &[
        "ACQBULK", "ACQSHMINIT", "BAR", "BPT", "BRA", "BREAK", "BRX", "BSSY", "BSYNC", "CALL", "CCTL", "CGAERRBAR", "DEPBAR",
        "ENDCOLLECTIVE", "ERRBAR", "EXIT", "FENCE", "KILL", "LDGDEPBAR", "MEMBAR", "NANOSLEEP", "NOP", "PREEXIT", "RET", "UBLKRED",
        "UCGABAR_ARV", "UCGABAR_WAIT", "USETMAXREG", "UTMACMDFLUSH", "WARPGROUP", "WARPGROUPSET", "WARPSYNC", "YIELD",
    ]),
    (Effect::SharedLoad, &["LDS", "LDSM"]),
    (Effect::LocalLoad, &["LDL"]),
    (Effect::DeviceLoad, &["LDG", "LD"]),
    (Effect::ConstantLoad, &["LDC", "ULDC", "LDCU"]),
    (Effect::SharedStore, &["STS"]),
    (Effect::LocalStore, &["STL"]),
    (Effect::DeviceStore, &["STG", "RED", "REDG"]),
    (Effect::GenericStore, &["ST"]),
    (Effect::SharedUpdate, &["ATOMS"]),
    (Effect::DeviceUpdate, &["ATOMG"]),
    (Effect::GenericUpdate, &["ATOM"]),
    (Effect::Transfer, &["UBLKCP", "LDGSTS"]),
    (Effect::Barrier, &["SYNCS"]),
    (Effect::Shuffle, &["SHFL"]),
    (Effect::Product, &["BGMMA"]),
];

/// What an instruction does, if there is a rule for it.
pub fn effect(name: &str) -> Option<Effect> {
    RULES.iter().find(|(_, names)| names.contains(&name)).map(|(effect, _)| *effect)
}

/// The names of all instructions that there is a rule for.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().flat_map(|(_, names)| *names).copied()
}
