//! Lookup tables of three inputs as expressions: for each truth table, the expression with the fewest operators among `&`, `|`, `^`, `~`
//! and OpenCL's `bitselect`.

use std::sync::LazyLock;

/// A function of three inputs as an expression of other functions, which are given by their tables. Bit `4a + 2b + c` of a table is the
/// output for `a, b, c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expression {
    Leaf(&'static str),
    Not(u8),
    Infix(u8, char, u8),
    /// Bitwise: the second where the third is set, otherwise the first.
    Bitselect(u8, u8, u8),
}

/// An expression and its number of operators, including the operators of its parts.
type Found = (Expression, usize);

const LEAVES: [(u8, &str); 5] = [(0xf0, "a"), (0xcc, "b"), (0xaa, "c"), (0x00, "0u"), (0xff, "~0u")];

/// For each table, the first expression with the fewest operators.
static SHORTEST: LazyLock<[Found; 256]> = LazyLock::new(search);

/// The shortest expression of a table over `a`, `b` and `c`.
pub fn expression(table: u8) -> String {
    text(table, false)
}

/// The number of operators in the shortest expression of a table.
#[cfg(test)]
fn operators(table: u8) -> usize {
    SHORTEST[usize::from(table)].1
}

fn text(table: u8, inner: bool) -> String {
    match SHORTEST[usize::from(table)].0 {
        Expression::Leaf(name) => name.into(),
        Expression::Not(f) => format!("~{}", text(f, true)),
        Expression::Infix(f, operator, g) if inner => format!("({} {operator} {})", text(f, true), text(g, true)),
        Expression::Infix(f, operator, g) => format!("{} {operator} {}", text(f, true), text(g, true)),
        Expression::Bitselect(f, g, h) => {
            format!("bitselect({}, {}, {})", text(f, false), text(g, false), text(h, false))
        }
    }
}

/// Builds expressions of more and more operators until every table has one: an expression of n operators is built from parts that together
/// have n - 1.
fn search() -> [Found; 256] {
    let mut found: [Option<Found>; 256] = [None; 256];
    // Tables by the number of operators that they need.
    let mut by_operators: Vec<Vec<u8>> = vec![Vec::new()];
    for (table, name) in LEAVES {
        found[usize::from(table)] = Some((Expression::Leaf(name), 0));
        by_operators[0].push(table);
    }
    while found.iter().any(Option::is_none) {
        let n = by_operators.len();
        let mut new = Vec::new();
        let mut meet = |table: u8, expression: Expression| {
            let place = &mut found[usize::from(table)];
            if place.is_none() {
                *place = Some((expression, n));
                new.push(table);
            }
        };
        for &f in &by_operators[n - 1] {
            meet(!f, Expression::Not(f));
        }
        for i in 0..n {
            for &f in &by_operators[i] {
                for &g in &by_operators[n - 1 - i] {
                    meet(f & g, Expression::Infix(f, '&', g));
                    meet(f | g, Expression::Infix(f, '|', g));
                    meet(f ^ g, Expression::Infix(f, '^', g));
                }
                for j in 0..n - i {
                    for &g in &by_operators[j] {
                        for &h in &by_operators[n - 1 - i - j] {
                            meet(f & !h | g & h, Expression::Bitselect(f, g, h));
                        }
                    }
                }
            }
        }
        by_operators.push(new);
    }
    found.map(|found| found.expect("all are found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parser of expressions that is independent of how they were found.
    struct Reader<'a> {
        text: &'a str,
        operators: usize,
    }

    impl Reader<'_> {
        fn eat(&mut self, token: &str) -> bool {
            let rest = self.text.trim_start();
            rest.strip_prefix(token).map(|rest| self.text = rest).is_some()
        }

        fn expect(&mut self, token: &str) {
            assert!(self.eat(token), "`{token}` before `{}`", self.text);
        }

        /// At most one operator: where there are two, parentheses give the order.
        fn sum(&mut self) -> u8 {
            let first = self.term();
            let mut operator = |token| self.eat(token).then(|| self.operators += 1).is_some();
            let (and, or, xor) = (operator("&"), operator("|"), operator("^"));
            if and {
                first & self.term()
            } else if or {
                first | self.term()
            } else if xor {
                first ^ self.term()
            } else {
                first
            }
        }

        fn term(&mut self) -> u8 {
            if self.eat("~0u") {
                0xff
            } else if self.eat("0u") {
                0
            } else if self.eat("~") {
                self.operators += 1;
                !self.term()
            } else if self.eat("(") {
                let inner = self.sum();
                self.expect(")");
                inner
            } else if self.eat("bitselect(") {
                self.operators += 1;
                let f = self.sum();
                self.expect(",");
                let g = self.sum();
                self.expect(",");
                let h = self.sum();
                self.expect(")");
                f & !h | g & h
            } else {
                let leaf = LEAVES.iter().find(|(_, name)| self.eat(name));
                leaf.unwrap_or_else(|| panic!("an input before `{}`", self.text)).0
            }
        }
    }

    #[test]
    fn all_tables_are_what_their_expressions_say() {
        for table in 0..=255 {
            let text = expression(table);
            let mut reader = Reader { text: &text, operators: 0 };
            assert_eq!((reader.sum(), reader.text), (table, ""), "{text}");
            assert_eq!(reader.operators, operators(table), "{text}");
        }
    }

    /// No operator, counted with the operators of its operands, gives a table fewer operators than `operators` says: so that number is the minimum.
    #[test]
    fn none_is_longer_than_it_must_be() {
        let parts = |all: &[u8]| all.iter().map(|&f| operators(f)).sum::<usize>() + 1;
        for f in 0..=255 {
            assert!(operators(!f) <= parts(&[f]));
            for g in 0..=255 {
                assert!([f & g, f | g, f ^ g].into_iter().all(|table| operators(table) <= parts(&[f, g])));
                for h in 0..=255 {
                    assert!(operators(f & !h | g & h) <= parts(&[f, g, h]));
                }
            }
        }
        let mut counts = [0; 5];
        (0..=255).for_each(|table| counts[operators(table)] += 1);
        assert_eq!(counts, [5, 30, 142, 77, 2]);
    }
}
