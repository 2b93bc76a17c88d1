//! Straight-line programs in Rust syntax, the form in which netlists of two-input gates are published:
//!
//! ```text
//! fn half_adder<W: Word>(a: W, b: W) -> [W; 2] {
//!     let sum = a ^ b;
//!     let carry = a & b;
//!     [sum, carry]
//! }
//! ```
//!
//! Parameters are the inputs, in order; the array at the end names the outputs, in order. In between, each `let`
//! defines one name, once, with `^`, `&`, `|`, `!`, parentheses and earlier names. Types are read only for the number
//! of outputs, so such a program is also a Rust function. Each operator is one gate; `!` is folded into the gate that
//! drives or reads it.

use super::text::ParseError;
use super::{Circuit, Lut3, Wire};
use std::collections::HashMap;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, FnArg, Ident, Lit, Pat, ReturnType, Stmt, Type, UnOp};

/// Reads a circuit from a straight-line program; gates that no output needs are left out.
pub fn parse(name: &str, text: &str) -> Result<Circuit, ParseError> {
    let function: syn::ItemFn = syn::parse_str(text)
        .map_err(|e| ParseError { line: e.span().start().line, what: format!("not a Rust function: {e}") })?;
    let mut inputs: Vec<Ident> = Vec::new();
    for parameter in &function.sig.inputs {
        let FnArg::Typed(parameter) = parameter else {
            return Err(fail(parameter, "a parameter is `name: type`"));
        };
        inputs.push(plain_name(&parameter.pat)?.clone());
    }
    if inputs.is_empty() {
        return Err(fail(&function.sig, "no input: a program has at least one parameter"));
    }
    let mut program =
        Program { circuit: Circuit::new(name, inputs.iter().map(Ident::to_string)), names: HashMap::new() };
    for (i, input) in inputs.iter().enumerate() {
        let wire = program.circuit.input(i);
        program.define(input, wire)?;
    }
    let Some((Stmt::Expr(Expr::Array(outputs), None), definitions)) = function.block.stmts.split_last() else {
        return Err(fail(&function.sig, "the last line of a program is the array of its outputs, `[y0, y1]`"));
    };
    for statement in definitions {
        let Stmt::Local(local) = statement else {
            return Err(fail(statement, "a statement is `let name = expression;`"));
        };
        let value = match &local.init {
            Some(init) if init.diverge.is_none() => program.compile(&init.expr, false)?,
            _ => return Err(fail(local, "a statement is `let name = expression;`")),
        };
        program.define(plain_name(&local.pat)?, value)?;
    }
    if outputs.elems.len() != output_count(&function.sig.output)? {
        return Err(fail(outputs, format!("{} outputs, unlike in the return type", outputs.elems.len())));
    }
    for output in &outputs.elems {
        let name = output_name(output)?;
        if program.circuit.outputs().iter().any(|(other, _)| name == other) {
            return Err(fail(output, format!("output `{name}` is named twice")));
        }
        let wire = program.lookup(name)?;
        program.circuit.output(name.to_string(), wire);
    }
    Ok(program.circuit.pruned())
}

/// The circuit so far, and the wire of every name.
struct Program {
    circuit: Circuit,
    names: HashMap<String, Wire>,
}

impl Program {
    fn define(&mut self, name: &Ident, wire: Wire) -> Result<(), ParseError> {
        match self.names.insert(name.to_string(), wire) {
            None => Ok(()),
            Some(_) => Err(fail(name, format!("`{name}` is defined twice"))),
        }
    }

    fn lookup(&self, name: &Ident) -> Result<Wire, ParseError> {
        self.names.get(&name.to_string()).copied().ok_or_else(|| fail(name, format!("`{name}` is not defined before")))
    }

    /// The wire of an expression, or of its complement: an operator takes the complement into its own table.
    fn compile(&mut self, expression: &Expr, complement: bool) -> Result<Wire, ParseError> {
        match expression {
            Expr::Paren(inner) => self.compile(&inner.expr, complement),
            Expr::Unary(not) if matches!(not.op, UnOp::Not(_)) => self.compile(&not.expr, !complement),
            Expr::Binary(binary) => {
                let table = match binary.op {
                    BinOp::BitXor(_) => Lut3::XOR,
                    BinOp::BitAnd(_) => Lut3::AND,
                    BinOp::BitOr(_) => Lut3::OR,
                    _ => return Err(fail(&binary.op, "the operators are ^ & | !")),
                };
                let left = self.compile(&binary.left, false)?;
                let right = self.compile(&binary.right, false)?;
                Ok(self.circuit.gate2(if complement { table.complement() } else { table }, left, right))
            }
            _ => {
                let name = path_name(expression)
                    .ok_or_else(|| fail(expression, "an expression is made of names, ^ & | ! and parentheses"))?;
                let wire = self.lookup(name)?;
                Ok(if complement { self.circuit.not(wire) } else { wire })
            }
        }
    }
}

fn fail(at: &impl Spanned, what: impl Into<String>) -> ParseError {
    ParseError { line: at.span().start().line, what: what.into() }
}

fn plain_name(pattern: &Pat) -> Result<&Ident, ParseError> {
    match pattern {
        Pat::Ident(p) if p.by_ref.is_none() && p.mutability.is_none() && p.subpat.is_none() => Ok(&p.ident),
        _ => Err(fail(pattern, "one plain name is defined at a time")),
    }
}

fn path_name(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

fn output_name(expression: &Expr) -> Result<&Ident, ParseError> {
    path_name(expression).ok_or_else(|| fail(expression, "an output is a name"))
}

fn output_count(output: &ReturnType) -> Result<usize, ParseError> {
    let wrong = || fail(output, "the return type is an array, `[W; 8]` for eight outputs");
    let ReturnType::Type(_, kind) = output else { return Err(wrong()) };
    let Type::Array(array) = &**kind else { return Err(wrong()) };
    match &array.len {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(n) => n.base10_parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_complements() {
        let text = "fn f<W: Word>(a: W, b: W, c: W) -> [W; 5] {
            let x = a ^ b & c; // `&` binds tighter
            let y = !(a | b) ^ !c;
            let alias = a;
            let z = !alias;
            let unused = a & c;
            let w = !(!(z)) & b;
            [x, y, z, w, c]
        }";
        let circuit = parse("f", text).unwrap();
        assert_eq!(circuit.inputs(), ["a", "b", "c"]);
        assert_eq!(circuit.outputs().iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["x", "y", "z", "w", "c"]);
        for i in 0..8u8 {
            let [a, b, c] = [i & 4 != 0, i & 2 != 0, i & 1 != 0];
            assert_eq!(circuit.evaluate(&[a, b, c]), [a ^ (b & c), !(a | b) ^ !c, !a, !a & b, c]);
        }
        // a ^ (b & c), (a nor b) xnor c, not a, not a and b.
        assert_eq!(circuit.stats().by_arity, [0, 1, 5, 0]);
    }

    #[test]
    fn errors_name_the_line_and_the_cause() {
        let body = |lines: &str| format!("fn f(a: W, b: W) -> [W; 1] {{\n{lines}\n}}");
        for (text, line, what) in [
            (body("let x = a ^ q;\n[x]"), 2, "`q` is not defined"),
            (body("let x = a;\nlet x = b;\n[x]"), 3, "`x` is defined twice"),
            (body("let a = b;\n[a]"), 2, "`a` is defined twice"),
            (body("let x = a + b;\n[x]"), 2, "operators"),
            (body("let x = a &\n -b;\n[x]"), 3, "names"),
            (body("let x = f(a);\n[x]"), 2, "names"),
            (body("let mut x = a;\n[x]"), 2, "plain name"),
            (body("let x;\n[a]"), 2, "let name = expression"),
            (body("a ^ b;\n[a]"), 2, "let name = expression"),
            (body("\n[a ^ b]"), 3, "an output is a name"),
            (body("[c]"), 2, "`c` is not defined"),
            (body("[a, b]"), 2, "2 outputs"),
            (body("let x = a;"), 1, "array of its outputs"),
            (body("let x = ;\n[a]"), 2, "not a Rust function"),
            ("fn f(a: W) -> [W; 2] {\n[a, a] }".into(), 2, "output `a` is named twice"),
            ("fn f(a: W, a: W) -> [W; 1] { [a] }".into(), 1, "`a` is defined twice"),
            ("fn f(a: W) -> W { [a] }".into(), 1, "return type"),
            ("fn f(self) -> [W; 1] { [a] }".into(), 1, "parameter"),
            ("fn f() -> [W; 1] { [a] }".into(), 1, "no input"),
            ("".into(), 1, "not a Rust function"),
        ] {
            let error = parse("f", &text).unwrap_err();
            assert!(error.line == line && error.what.contains(what), "{text}: {error}");
        }
    }
}
