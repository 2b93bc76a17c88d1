//! Loops of a function: the statements between a branch back and its target, and the registers that one turn hands to the next.

use crate::ptx::{Function, Operand, Statement};
use std::collections::{BTreeSet, HashSet};

/// A loop: its first statement, and its last, a branch to the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loop {
    pub head: usize,
    pub back: usize,
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
fn registers(operand: &Operand) -> Vec<usize> {
    match operand {
        Operand::Register(register) => vec![*register],
        Operand::Address(all) | Operand::Several(all) => all.iter().flat_map(registers).collect(),
        _ => vec![],
    }
}

/// The registers that a statement writes.
pub(crate) fn written(statement: &Statement) -> Vec<usize> {
    let has_none = ["st.", "bra", "bar", "ret"].iter().any(|name| statement.opcode.starts_with(name));
    match statement.operands.first() {
        Some(operand) if !has_none => registers(operand),
        _ => vec![],
    }
}

/// The registers that a statement reads.
fn read(statement: &Statement) -> Vec<usize> {
    let skipped = usize::from(!written(statement).is_empty());
    let mut all: Vec<usize> = statement.operands.iter().skip(skipped).flat_map(registers).collect();
    all.extend(statement.guard.map(|(register, _)| register));
    all
}

impl Loop {
    /// The loops around the stores to device memory, from the inside out, each entered at its head only.
    pub(crate) fn around_stores(function: &Function) -> Result<Vec<Self>, String> {
        let statements = &function.statements;
        let stores = || statements.iter().enumerate().filter(|(_, one)| one.opcode.starts_with("st.global."));
        let heads: BTreeSet<usize> =
            statements.iter().enumerate().filter_map(|(n, one)| target(one).filter(|to| *to <= n)).collect();
        let of_head = |head: usize| {
            let back = (head..statements.len()).rev().find(|n| target(&statements[*n]) == Some(head));
            Self { head, back: back.unwrap_or(head) }
        };
        let mut all: Vec<Self> = heads.into_iter().map(of_head).collect();
        all.retain(|one| stores().all(|(n, _)| one.contains(n)));
        all.sort_by_key(|one| one.back - one.head);
        let enters = |one: &Self, (n, statement): (usize, &Statement)| {
            !one.contains(n) && target(statement).is_some_and(|to| to != one.head && one.contains(to))
        };
        if all.iter().any(|one| statements.iter().enumerate().any(|each| enters(one, each))) {
            return Err("a loop is entered elsewhere than at its head".into());
        }
        Ok(all)
    }

    pub(crate) fn contains(&self, statement: usize) -> bool {
        (self.head..=self.back).contains(&statement)
    }

    /// The registers that it writes.
    pub(crate) fn written(&self, function: &Function) -> BTreeSet<usize> {
        function.statements[self.head..=self.back].iter().flat_map(written).collect()
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
                written(statement).iter().for_each(|register| _ = now.remove(register));
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
