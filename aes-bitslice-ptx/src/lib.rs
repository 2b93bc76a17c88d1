//! PTX, NVIDIA's assembly for GPUs (PTX ISA), as functions of statements, with registers and objects by number: what is proved and analysed
//! of kernels begins with it. Signs before operands (`-`, `~`, `!`) stand in the text only.
#![forbid(unsafe_code)]

mod read;

use std::collections::HashMap;

/// A variable or parameter by its number, in order of the text.
pub type Object = usize;

/// A memory that PTX names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Of a thread block.
    Shared,
    /// Of a thread.
    Local,
    /// Of the device, constants among it.
    Global,
    /// Of a launch, or of a call.
    Parameter,
}

/// A variable or parameter as it is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Its address is a multiple of this.
    pub align: u64,
}

/// A variable or parameter, and where it is.
#[derive(Debug)]
pub struct Declared {
    /// The memory.
    pub space: Space,
    /// Name and size.
    pub variable: Variable,
    /// The function in which it is declared, if in one.
    function: Option<usize>,
}

/// What a statement is about.
#[derive(Debug)]
pub enum Operand {
    /// A register, by its number.
    Register(usize),
    /// A register of the processor that says where a thread is, such as `%tid.x`, or `_`, a destination that is not written.
    Special(String),
    /// An immediate.
    Number(i64),
    /// An immediate of floating point.
    Float,
    /// The address of an object.
    Object(Object),
    /// A place in memory: the sum of these.
    Address(Vec<Operand>),
    /// Those of a vector, or two destinations.
    Several(Vec<Operand>),
    /// The name of a function, or one that stands for nothing in the text.
    Name(String),
    /// A label: the number of the statement behind it.
    Label(usize),
}

/// An instruction.
#[derive(Debug)]
pub struct Statement {
    /// The line of the text, from 1.
    pub line: usize,
    /// The text, in one line.
    pub text: String,
    /// The predicate, as a register, and whether the instruction is executed where that is false.
    pub guard: Option<(usize, bool)>,
    /// The scope in which it stands.
    scope: usize,
    /// The instruction with its modifiers: `add.s32`.
    pub opcode: String,
    /// Destinations first.
    pub operands: Vec<Operand>,
}

/// A function or an entry point.
#[derive(Debug, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it can be launched.
    pub is_entry: bool,
    /// What it takes, in order.
    pub parameters: Vec<Object>,
    /// What it returns.
    pub results: Vec<Object>,
    /// Registers are numbered from 0 to this.
    pub registers: usize,
    /// Its body.
    pub statements: Vec<Statement>,
    /// The number of the statement behind each label, by the scope in which it stands.
    labels: HashMap<(usize, String), usize>,
    /// The scope around each: pairs of braces, the function's own the first.
    scopes: Vec<usize>,
    /// Registers, and how many there are of a family (`%r<10>`), by the scope in which each is declared: an inner one hides an outer one.
    names: HashMap<(usize, String), usize>,
    families: HashMap<(usize, String), usize>,
    objects: HashMap<String, Object>,
}

/// A module.
#[derive(Debug, Default)]
pub struct Program {
    /// In order of the text.
    pub functions: Vec<Function>,
    /// By number.
    pub objects: Vec<Declared>,
    globals: HashMap<String, Object>,
}

impl Program {
    /// The number of a function.
    pub fn function(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }

    /// The variables in shared memory that a function can reach: those of the module, then its own.
    pub fn shared(&self, entry: &str) -> Vec<Variable> {
        let function = self.function(entry);
        let reached = |object: &&Declared| {
            object.space == Space::Shared && (object.function.is_none() || object.function == function)
        };
        self.objects.iter().filter(reached).map(|object| object.variable.clone()).collect()
    }
}
