//! Loops of a function: the statements between a branch back and its target, and the registers that one turn hands to the next.

use crate::ptx::{Function, Operand, Statement};
use std::collections::{BTreeSet, HashSet};

/// A loop: its first statement, and its last, a branch to the first or after that one into the loop; and its head, the statement at which it is entered, the first one or
/// one below it, before which the first turn does nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loop {
    first: usize,
    pub head: usize,
    back: usize,
}

fn target(statement: &Statement) -> Option<usize> {
    match statement.operands.first() {
        Some(Operand::Label(target)) => Some(*target),
        _ => None,
    }
}

fn is_end(statement: &Statement) -> bool {
    statement.guard.is_none() && (statement.opcode.starts_with("bra") || statement.opcode == "ret")
}

/// The registers within an operand.
fn registers(operand: &Operand) -> impl Iterator<Item = usize> {
    let within = match operand {
        Operand::Address(all) | Operand::Several(all) => all,
        one => std::slice::from_ref(one),
    };
    within.iter().filter_map(|one| if let Operand::Register(register) = one { Some(*register) } else { None })
}

/// The registers that a statement writes.
pub(crate) fn written(statement: &Statement) -> impl Iterator<Item = usize> {
    let has_none = ["st.", "bra", "bar", "ret"].iter().any(|name| statement.opcode.starts_with(name));
    statement.operands.first().filter(|_| !has_none).into_iter().flat_map(registers)
}

/// The registers that a statement reads.
fn read(statement: &Statement) -> impl Iterator<Item = usize> {
    let skipped = usize::from(written(statement).next().is_some());
    let guard = statement.guard.map(|(register, _)| register);
    statement.operands.iter().skip(skipped).flat_map(registers).chain(guard)
}

impl Loop {
    /// The loops around the stores to device memory, from the inside out, each entered at one statement only.
    pub(crate) fn around_stores(function: &Function) -> Result<Vec<Self>, String> {
        let statements = &function.statements;
        let stores = || statements.iter().enumerate().filter(|(_, one)| one.opcode.starts_with("st.global."));
        let firsts: BTreeSet<usize> =
            statements.iter().enumerate().filter_map(|(n, one)| target(one).filter(|to| *to <= n)).collect();
        let from = |first: usize| {
            let back =
                (first..statements.len()).rev().find(|n| target(&statements[*n]) == Some(first)).unwrap_or(first);
            let leads_back = |n: &usize| target(&statements[*n]).is_some_and(|to| (first..=back).contains(&to));
            let more = (back + 1..statements.len()).take_while(leads_back).count();
            Self { first, head: first, back: back + more }
        };
        let mut all: Vec<Self> = firsts.into_iter().map(from).collect();
        all.retain(|one| stores().all(|(n, _)| one.contains(n)));
        all.sort_by_key(|one| one.back - one.first);
        for one in &mut all {
            let is_within = |to: &usize| one.contains(*to);
            let outside = statements.iter().enumerate().filter(|(n, _)| !one.contains(*n));
            let mut entries: BTreeSet<usize> =
                outside.filter_map(|(_, statement)| target(statement)).filter(is_within).collect();
            entries.extend((one.first > 0 && !is_end(&statements[one.first - 1])).then_some(one.first));
            let [head] = entries.into_iter().collect::<Vec<_>>()[..] else {
                return Err("a loop is entered at more statements than one".into());
            };
            one.head = head;
        }
        Ok(all)
    }

    pub(crate) fn contains(&self, statement: usize) -> bool {
        (self.first..=self.back).contains(&statement)
    }

    /// The statement after the first branch that may leave the loop.
    pub(crate) fn after_exit(&self, function: &Function) -> Option<usize> {
        let leaves = |n: &usize| target(&function.statements[*n]).is_some_and(|to| !self.contains(to));
        (self.head..=self.back).find(leaves).map(|n| n + 1)
    }

    /// Whether it adds one to a register.
    pub(crate) fn counts(&self, function: &Function, register: usize) -> bool {
        let adds = |one: &Statement| match &one.operands[..] {
            [Operand::Register(to), Operand::Register(from), Operand::Number(1)] => [*to, *from] == [register; 2],
            _ => false,
        };
        let mut statements = function.statements[self.first..=self.back].iter();
        statements.any(|one| one.opcode.starts_with("add.") && adds(one))
    }

    /// The registers that it writes.
    pub(crate) fn written(&self, function: &Function) -> BTreeSet<usize> {
        function.statements[self.first..=self.back].iter().flat_map(written).collect()
    }
}

/// The registers that are read after each statement is reached, before they are written.
pub(crate) fn live(function: &Function) -> Vec<HashSet<usize>> {
    let statements = &function.statements;
    let mut live: Vec<HashSet<usize>> = vec![HashSet::new(); statements.len() + 1];
    loop {
        let mut has_changed = false;
        for (n, statement) in statements.iter().enumerate().rev() {
            let mut now = if is_end(statement) { HashSet::new() } else { live[n + 1].clone() };
            now.extend(target(statement).iter().flat_map(|to| live[*to].iter().copied()));
            if statement.guard.is_none() {
                written(statement).for_each(|register| _ = now.remove(&register));
            }
            now.extend(read(statement));
            has_changed |= now != live[n];
            live[n] = now;
        }
        if !has_changed {
            return live;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::Program;

    /// Each loop is entered at one statement, which may be below its first, or it is refused.
    #[test]
    fn loops_are_entered_at_one_statement() {
        let loops = |before: &str, more: &str| {
            let program = Program::read(&format!(
                ".entry f()\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n.reg .pred %p<3>;\n{before}\n$L:\nmov.u32 %r1, 1;\n$M:\n\
                 st.global.u32 [%rd1], %r1;\n@%p2 bra $N;\n@%p1 bra $L;\n{more}\n$N:\nret;\n}}"
            ));
            let function = &program.unwrap().functions[0];
            Loop::around_stores(function).map(|all| (all[0].head, all[0].back, all[0].after_exit(function)))
        };
        assert_eq!(loops("mov.u32 %r1, 0;", ""), Ok((1, 4, Some(4))));
        assert_eq!(loops("bra.uni $M;", ""), Ok((2, 4, Some(4))));
        assert_eq!(loops("bra.uni $M;", "bra.uni $M;"), Ok((2, 5, Some(4))));
        assert!(loops("@%p1 bra $M;", "").is_err());
    }
}
