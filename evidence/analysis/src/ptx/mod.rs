//! PTX, NVIDIA's assembly for GPUs (PTX ISA), as functions of statements, with registers and objects by number: proofs and analyses of
//! kernels start from it. Signs before operands (`-`, `~`, `!`) are in the text only.

mod read;

use std::collections::HashMap;

/// A variable or parameter by its number, in text order.
pub type Object = usize;

/// A memory space of PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Of a thread block.
    Shared,
    /// Of a thread.
    Local,
    /// Of the device, including constants.
    Global,
    /// Of a launch, or of a call.
    Parameter,
}

/// A declared variable or parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its address is a multiple of this.
    pub align: u64,
}

/// A variable or parameter, and its memory space.
#[derive(Debug)]
pub struct Declared {
    /// The memory space.
    pub space: Space,
    /// Name and size.
    pub variable: Variable,
    /// The bytes that it begins with, if they are listed.
    pub bytes: Vec<u8>,
    /// The function in which it is declared, if any.
    function: Option<usize>,
}

/// An operand of a statement.
#[derive(Debug)]
pub enum Operand {
    /// A register, by its number.
    Register(usize),
    /// A special register that says where a thread is, such as `%tid.x`, or `_`, a destination that is not written.
    Special(String),
    /// An immediate.
    Number(i64),
    /// A floating-point immediate.
    Float,
    /// The address of an object.
    Object(Object),
    /// A place in memory: the sum of these.
    Address(Vec<Operand>),
    /// The elements of a vector, or two destinations.
    Several(Vec<Operand>),
    /// The name of a function, or one that the text does not define.
    Name(String),
    /// A label: the number of the statement after it.
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
    /// The scope that contains it.
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
    /// Its parameters, in order.
    pub parameters: Vec<Object>,
    /// Its results.
    pub results: Vec<Object>,
    /// The number of registers, which are numbered from 0.
    pub registers: usize,
    /// Its body.
    pub statements: Vec<Statement>,
    /// The number of the statement after each label, by the scope that contains it.
    labels: HashMap<(usize, String), usize>,
    /// The scope around each: pairs of braces, the function's own first.
    scopes: Vec<usize>,
    /// Registers, and the size of each family (`%r<10>`), by the scope in which each is declared: an inner one hides an outer one.
    names: HashMap<(usize, String), usize>,
    families: HashMap<(usize, String), usize>,
    objects: HashMap<String, Object>,
}

/// A module.
#[derive(Debug, Default)]
pub struct Program {
    /// In text order.
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

    /// The variables in shared memory that a function can reach: the module's, then its own.
    pub fn shared(&self, entry: &str) -> Vec<Variable> {
        let function = self.function(entry);
        let reached = |object: &&Declared| {
            object.space == Space::Shared && (object.function.is_none() || object.function == function)
        };
        self.objects.iter().filter(reached).map(|object| object.variable.clone()).collect()
    }
}
