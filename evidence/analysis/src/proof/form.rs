//! Numbers that are not known: affine forms `c + Σ aᵢ xᵢ` of unknowns within bounds, what is known about them, and conditions on them.
//!
//! A register of 32 or 64 bits holds a form modulo 2^32 or 2^64. Where its integer matters, as in comparisons and shifts to the right, the
//! form must be shown to lie within the register's range. What has no form becomes an unknown of its own, equal for equal operands:
//! proofs hold for each of its values.

use crate::proof::anf::{Bit, Cells};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An unknown, by its number.
pub type Unknown = usize;

/// `constant + Σ coefficient · unknown`, without coefficients of 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Form {
    /// The constant.
    pub constant: i128,
    /// The coefficient of each unknown.
    pub terms: BTreeMap<Unknown, i128>,
}

impl Form {
    /// A constant.
    pub fn constant(constant: i128) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    /// The sum of this and a multiple of another form.
    pub fn plus(&self, factor: i128, other: &Self) -> Self {
        self.checked_plus(factor, other).expect("numbers of a proof stay far below 2^127")
    }

    fn checked_plus(&self, factor: i128, other: &Self) -> Option<Self> {
        let add = |to: i128, number: i128| factor.checked_mul(number).and_then(|product| to.checked_add(product));
        let mut sum = self.clone();
        sum.constant = add(sum.constant, other.constant)?;
        for (&unknown, &coefficient) in &other.terms {
            let to = sum.terms.entry(unknown).or_default();
            *to = add(*to, coefficient)?;
        }
        sum.terms.retain(|_, coefficient| *coefficient != 0);
        Some(sum)
    }

    /// A multiple.
    pub fn times(&self, factor: i128) -> Self {
        Self::default().plus(factor, self)
    }

    /// Forms that are at least 0 exactly if this is a number of 32 bits.
    pub(crate) fn in_word(&self) -> [Self; 2] {
        [self.clone(), Self::constant(u32::MAX.into()).plus(-1, self)]
    }

    /// Each coefficient, and the constant, by its remainder that is nearest to 0.
    fn modulo(&self, bits: u32) -> Self {
        let cut = |number: i128| {
            let rest = number.rem_euclid(1 << bits);
            if rest > 1 << (bits - 1) { rest - (1 << bits) } else { rest }
        };
        let mut form = Self { constant: cut(self.constant), terms: self.terms.clone() };
        form.terms.values_mut().for_each(|coefficient| *coefficient = cut(*coefficient));
        form.terms.retain(|_, coefficient| *coefficient != 0);
        form
    }
}

/// What a predicate says.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Condition {
    /// The form is at least 0.
    NotNegative(Form),
    /// The form is 0.
    Zero(Form),
    /// The first form is below the second, as numbers of 64 bits without a sign; the integers are not known.
    Below(Form, Form),
    /// The contrary.
    Not(Box<Condition>),
    /// Any of the two.
    Or(Box<Condition>, Box<Condition>),
}

impl Condition {
    /// The contrary.
    pub fn negated(self) -> Self {
        match self {
            Self::NotNegative(form) => Self::NotNegative(Form::constant(-1).plus(-1, &form)),
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }
}

/// The most facts that are combined to bound a form.
const DEPTH: u32 = 4;

/// All unknowns, and what is known about them.
#[derive(Clone, Default)]
pub struct Unknowns {
    /// The bounds of each, both included.
    bounds: Vec<(i128, i128)>,
    /// The random number of each unknown that is a bit, for sums that it chooses between.
    bits: HashMap<Unknown, u128>,
    /// Those that are sums of such bits.
    sums: HashMap<Unknown, Form>,
    /// Those that are a form modulo a power of 2.
    remainders: HashMap<Unknown, (Form, u32)>,
    /// Those that are numbers combined by OR, and those that are one of two numbers, the first if a condition holds.
    combined: HashMap<Unknown, Vec<Form>>,
    chosen: HashMap<Unknown, (Condition, [Form; 2])>,
    /// Results of operations that have no form.
    results: HashMap<(&'static str, Vec<Form>), Unknown>,
    /// Forms that are at least 0, by number, and where each unknown is in them; and other conditions that hold.
    facts: Vec<Form>,
    places: HashMap<Unknown, Vec<usize>>,
    others: Vec<Condition>,
    found: Found,
}

/// What was found so far, which more facts do not change, and what was not found by these facts.
#[derive(Clone, Default)]
struct Found {
    decided: RefCell<HashMap<Condition, bool>>,
    integers: RefCell<HashMap<(Form, u32), Form>>,
    undecided: RefCell<HashSet<Condition>>,
    inexact: RefCell<HashSet<(Form, u32)>>,
    /// The least of an unknown and of its negative, of which something was not found.
    least: RefCell<HashMap<(Unknown, bool), i128>>,
    /// Whether a condition follows from others.
    follows: HashMap<(Condition, Vec<Condition>), bool>,
}

impl Found {
    /// Forgets what was not found.
    fn look_again(&mut self) {
        self.undecided.get_mut().clear();
        self.inexact.get_mut().clear();
        self.least.get_mut().clear();
        self.follows.clear();
    }
}

impl Unknowns {
    /// A number within bounds, both included.
    pub fn number(&mut self, from: i128, to: i128) -> Form {
        self.bounds.push((from, to));
        Form { constant: 0, terms: BTreeMap::from([(self.bounds.len() - 1, 1)]) }
    }

    /// A number of this many unknown bits, which are also bits of the computation. Returns their random numbers, too, the least significant
    /// first.
    pub fn of_bits(&mut self, cells: &mut Cells, count: u32) -> (Form, Vec<u128>) {
        let mut sum = Form::default();
        let numbers: Vec<u128> = (0..count).map(|_| cells.random_number()).collect();
        for (i, number) in numbers.iter().enumerate() {
            sum = sum.plus(1 << i, &self.number(0, 1));
            self.bits.insert(self.bounds.len() - 1, *number);
        }
        let whole = self.number(0, (1 << count) - 1);
        self.sums.insert(self.bounds.len() - 1, sum);
        (whole, numbers)
    }

    /// The result of an operation that has no form, within bounds; the same for the same operands.
    pub fn result(&mut self, operation: &'static str, operands: Vec<Form>, bounds: (i128, i128)) -> Form {
        let next = self.bounds.len();
        let unknown = *self.results.entry((operation, operands)).or_insert(next);
        if unknown == next {
            self.bounds.push(bounds);
        }
        Form { constant: 0, terms: BTreeMap::from([(unknown, 1)]) }
    }

    /// A number of 32 bits: one of two, the first if a form is at least 0.
    pub fn one_of(&mut self, condition: &Form, [a, b]: [&Form; 2]) -> Form {
        let [a, b] = [a, b].map(|form| self.congruent(form, 32));
        if a == b { a } else { self.result("one of", vec![condition.clone(), a, b], (0, u32::MAX.into())) }
    }

    /// Numbers that have no bits, combined by OR: at least `least`.
    pub fn combined(&mut self, all: [&Form; 2], least: i128, bits: u32) -> Form {
        let mut all = all.map(Form::clone).to_vec();
        all.sort();
        let found = self.result("or", all.clone(), (least, (1 << bits) - 1));
        self.combined.extend(found.terms.keys().map(|unknown| (*unknown, all.clone())));
        found
    }

    /// Whether an unknown is a multiple of 2^`bits`: the lowest bits of numbers that it went into by OR are known to be 0.
    pub fn is_multiple(&self, unknown: Unknown, bits: u32) -> bool {
        let is_clear = |rest: &Unknown| {
            let rest = Form { constant: 0, terms: BTreeMap::from([(*rest, 1)]) };
            self.decide(&Condition::Zero(rest)) == Some(true)
        };
        let mut cleared = self.remainders.iter().filter(|(_, (_, width))| *width >= bits);
        cleared.any(|(rest, (form, _))| self.is_within(unknown, form) && is_clear(rest))
    }

    /// Whether a form is an unknown, or others combined by OR of which one is this.
    fn is_within(&self, unknown: Unknown, form: &Form) -> bool {
        let alone =
            form.terms.iter().next().filter(|(_, factor)| form.constant == 0 && form.terms.len() == 1 && **factor == 1);
        let parts = |other: &Unknown| self.combined.get(other).into_iter().flatten();
        alone.is_some_and(|(other, _)| *other == unknown || parts(other).any(|part| self.is_within(unknown, part)))
    }

    /// A number of 64 bits: the first of two if a condition holds, else the second; by what is known besides.
    pub fn either(&mut self, condition: &Condition, [a, b]: [&Form; 2], besides: &[Condition]) -> Form {
        let with = |condition: Condition| [besides, &[condition]].concat();
        let (holds, does_not) = (with(condition.clone()), with(condition.clone().negated()));
        // One that is itself one of two stays so: it may have been used as it is.
        let mut found =
            |form: &Form, all: &[Condition]| if self.is_chosen(form) { form.clone() } else { self.if_all(form, all) };
        let both = [found(a, &holds), found(b, &does_not)];
        let least =
            |sign: i128| both.iter().map(|form| self.least_of_bounds(&form.times(sign))).min().unwrap_or(i128::MIN);
        let bounds = (least(1), least(-1).saturating_neg());
        let found = self.number(bounds.0, bounds.1);
        self.chosen.insert(self.count() - 1, (condition.clone(), both));
        found
    }

    fn is_chosen(&self, form: &Form) -> bool {
        form.constant == 0
            && form.terms.len() == 1
            && form.terms.iter().all(|(unknown, factor)| *factor == 1 && self.chosen.contains_key(unknown))
    }

    /// A form in which those numbers are the first or the second that are so if these conditions hold.
    pub fn if_all(&mut self, form: &Form, conditions: &[Condition]) -> Form {
        let mut form = form.clone();
        while let Some((condition, both)) = self.alternatives(&form) {
            let contrary = condition.clone().negated();
            let Some(which) = [condition, contrary].iter().position(|one| self.follows(one, conditions)) else { break };
            form = both[which].clone();
        }
        form
    }

    /// The two forms that a form is one of, and the condition for the first, if it has a number that is one of two.
    pub fn alternatives(&self, form: &Form) -> Option<(Condition, [Form; 2])> {
        let (unknown, (condition, both)) =
            form.terms.keys().find_map(|unknown| Some((unknown, self.chosen.get(unknown)?)))?;
        let rest = |by: &Form| {
            let mut rest = form.clone();
            let factor = rest.terms.remove(unknown).unwrap_or(0);
            rest.plus(factor, by)
        };
        Some((condition.clone(), both.each_ref().map(rest)))
    }

    /// The number of unknowns so far: they are numbered from 0.
    pub fn count(&self) -> usize {
        self.bounds.len()
    }

    /// The forms that are taken for at least 0.
    pub fn facts(&self) -> Vec<Form> {
        self.facts.clone()
    }

    /// Takes these forms for at least 0, and forgets what else was known.
    pub fn set_facts(&mut self, facts: &[Form]) {
        (self.facts, self.places, self.others) = (vec![], HashMap::new(), vec![]);
        self.found = Found::default();
        facts.iter().for_each(|fact| self.assume(fact.clone()));
    }

    /// Takes a form for at least 0.
    pub fn assume(&mut self, form: Form) {
        if !self.facts.contains(&form) {
            self.found.look_again();
            form.terms.keys().for_each(|unknown| self.places.entry(*unknown).or_default().push(self.facts.len()));
            self.facts.push(form);
        }
    }

    /// Takes a condition for true.
    pub fn assume_that(&mut self, condition: &Condition) {
        self.found.look_again();
        match condition {
            Condition::NotNegative(form) => self.assume(form.clone()),
            Condition::Zero(form) => [1, -1].into_iter().for_each(|sign| self.assume(form.times(sign))),
            Condition::Not(inner) => match &**inner {
                Condition::Or(a, b) => [a, b].into_iter().for_each(|one| self.assume_that(&(**one).clone().negated())),
                Condition::Zero(form) if self.least(form) == 0 => self.assume(form.plus(-1, &Form::constant(1))),
                Condition::Zero(form) if self.most(form) == 0 => self.assume(Form::constant(-1).plus(-1, form)),
                _ => self.others.push(condition.clone()),
            },
            _ => self.others.push(condition.clone()),
        }
    }

    /// The least that the bounds of the unknowns allow; the least number of all if it is below that.
    fn least_of_bounds(&self, form: &Form) -> i128 {
        let least = |sum: i128, (&unknown, &factor): (&Unknown, &i128)| {
            let (from, to) = self.bounds[unknown];
            sum.checked_add(factor.checked_mul(if factor > 0 { from } else { to })?)
        };
        form.terms.iter().try_fold(form.constant, least).unwrap_or(i128::MIN)
    }

    /// A lower bound, by bounds of unknowns and sums of facts; not a better one than is enough.
    fn least_by(&self, form: &Form, enough: i128, depth: u32) -> i128 {
        let mut best = self.least_of_bounds(form);
        if best >= enough || depth == 0 {
            return best;
        }
        // Facts take away what pulls the bound down most.
        let pull = |(unknown, factor): &(&Unknown, &i128)| {
            let (from, to) = self.bounds[**unknown];
            Reverse(factor.unsigned_abs().saturating_mul((to - from).unsigned_abs()))
        };
        let mut terms: Vec<(&Unknown, &i128)> = form.terms.iter().collect();
        terms.sort_by_key(pull);
        for (unknown, factor) in terms {
            let multiple = |fact: &Form| {
                let of = fact.terms.get(unknown).copied().unwrap_or(0);
                let by = factor.checked_div(of)?;
                (by > 0 && by * of == *factor).then_some(by)
            };
            let mut is_known = false;
            let about = self.places.get(unknown).into_iter().flatten().map(|n| &self.facts[*n]);
            for (fact, by) in about.filter_map(|fact| Some((fact, multiple(fact)?))) {
                let Some(without) = form.checked_plus(-by, fact) else { continue };
                best = best.max(self.least_by(&without, enough, depth - 1));
                is_known = true;
                if best >= enough {
                    return best;
                }
            }
            if is_known {
                break;
            }
        }
        best
    }

    /// A number that a form does not fall below.
    pub fn least(&self, form: &Form) -> i128 {
        self.least_by(form, i128::MAX, DEPTH)
    }

    /// Whether a form is known to be at least 0: facts about it may be about a multiple, such as 256 times the number of tiles.
    pub fn is_not_negative(&self, form: &Form) -> bool {
        let alone = form.terms.iter().next().filter(|_| form.terms.len() == 1);
        let alone = alone.map(|(unknown, factor)| ((*unknown, *factor > 0), factor.unsigned_abs() as i128));
        if let Some((asked, factor)) = alone
            && let Some(least) = self.found.least.borrow().get(&asked)
        {
            return least.saturating_mul(factor).saturating_add(form.constant) >= 0;
        }
        // What few facts show is found without a look at all sums of many.
        let multiple = form.times(256);
        let is_it = (1..=DEPTH)
            .any(|depth| self.least_by(form, 0, depth) >= 0 || self.least_by(&multiple, -255, depth) >= -255);
        if let Some((asked, _)) = alone.filter(|_| !is_it) {
            let one = Form { constant: 0, terms: BTreeMap::from([(asked.0, if asked.1 { 1 } else { -1 })]) };
            let of_multiple = self.least(&one.times(256)).saturating_add(255).div_euclid(256);
            self.found.least.borrow_mut().insert(asked, self.least(&one).max(of_multiple));
        }
        is_it
    }

    /// A number that a form does not exceed.
    pub fn most(&self, form: &Form) -> i128 {
        self.least(&form.times(-1)).saturating_neg()
    }

    /// Whether a condition is known to hold, or not to hold.
    pub fn decide(&self, condition: &Condition) -> Option<bool> {
        if let Some(holds) = self.found.decided.borrow().get(condition) {
            return Some(*holds);
        }
        if self.found.undecided.borrow().contains(condition) {
            return None;
        }
        let found = self.decide_anew(condition);
        match found {
            Some(holds) => _ = self.found.decided.borrow_mut().insert(condition.clone(), holds),
            None => _ = self.found.undecided.borrow_mut().insert(condition.clone()),
        }
        found
    }

    /// Whether a condition is known to hold if others do.
    pub fn follows(&mut self, condition: &Condition, from: &[Condition]) -> bool {
        if from.contains(condition) {
            return true;
        }
        let asked = (condition.clone(), from.to_vec());
        if let Some(holds) = self.found.follows.get(&asked) {
            return *holds;
        }
        let (facts, others, found) = (self.facts.len(), self.others.len(), std::mem::take(&mut self.found));
        from.iter().for_each(|one| self.assume_that(one));
        let holds = self.decide(condition) == Some(true);
        for fact in self.facts.drain(facts..) {
            fact.terms.keys().for_each(|unknown| _ = self.places.get_mut(unknown).and_then(Vec::pop));
        }
        self.others.truncate(others);
        self.found = found;
        self.found.follows.insert(asked, holds);
        holds
    }

    fn decide_anew(&self, condition: &Condition) -> Option<bool> {
        if self.others.contains(condition) {
            return Some(true);
        }
        let below = |form: &Form| self.is_not_negative(&Form::constant(-1).plus(-1, form));
        match condition {
            Condition::NotNegative(form) if self.is_not_negative(form) => Some(true),
            Condition::NotNegative(form) if below(form) => Some(false),
            Condition::Zero(form) if below(form) || below(&form.times(-1)) => Some(false),
            Condition::Zero(form) if self.is_not_negative(form) && self.is_not_negative(&form.times(-1)) => Some(true),
            Condition::Below(a, b) => {
                let below = self.exact(b, 64)?.plus(-1, &self.exact(a, 64)?).plus(-1, &Form::constant(1));
                self.decide(&Condition::NotNegative(below))
            }
            Condition::Not(inner) => self.decide(inner).map(|holds| !holds),
            Condition::Or(a, b) => match (self.decide(a), self.decide(b)) {
                (Some(false), Some(false)) => Some(false),
                (Some(true), _) | (_, Some(true)) => Some(true),
                _ => None,
            },
            _ => None,
        }
    }

    /// A form with its remainders modulo at least 2^`bits` replaced by what they are remainders of.
    pub(crate) fn congruent(&self, form: &Form, bits: u32) -> Form {
        let mut found = form.modulo(bits);
        while let Some((unknown, of)) = found.terms.keys().find_map(|unknown| {
            let (of, width) = self.remainders.get(unknown)?;
            (*width >= bits).then_some((*unknown, of))
        }) {
            let factor = found.terms.remove(&unknown).unwrap_or(0);
            found = found.plus(factor, of).modulo(bits);
        }
        found
    }

    /// A form with unknown bits in place of sums of them.
    pub(crate) fn in_bits(&self, form: &Form) -> Form {
        let mut found = form.clone();
        for unknown in form.terms.keys() {
            if let Some(sum) = self.sums.get(unknown) {
                let factor = found.terms.remove(unknown).unwrap_or(0);
                found = found.plus(factor, sum);
            }
        }
        found
    }

    /// The integer of a number that is a form modulo 2^`bits`, if it has one form.
    pub fn exact(&self, form: &Form, bits: u32) -> Option<Form> {
        let asked = (form.clone(), bits);
        if let Some(integer) = self.found.integers.borrow().get(&asked) {
            return Some(integer.clone());
        }
        if self.found.inexact.borrow().contains(&asked) {
            return None;
        }
        let found = self.exact_as_it_is(form, bits).or_else(|| {
            let in_bits = self.in_bits(form);
            self.exact_as_it_is(&in_bits, bits).filter(|_| in_bits != *form)
        });
        match &found {
            Some(integer) => _ = self.found.integers.borrow_mut().insert(asked, integer.clone()),
            None => _ = self.found.inexact.borrow_mut().insert(asked),
        }
        found
    }

    fn exact_as_it_is(&self, form: &Form, bits: u32) -> Option<Form> {
        let most = Form::constant((1 << bits) - 1);
        let within = |form: &Form| self.is_not_negative(form) && self.is_not_negative(&most.plus(-1, form));
        let congruent = self.congruent(form, bits);
        // Half of the modulus is congruent to its negative.
        let mut other = congruent.clone();
        other.terms.values_mut().filter(|factor| **factor == 1 << (bits - 1)).for_each(|factor| *factor = -*factor);
        for form in [form.clone(), congruent, other] {
            if within(&form) {
                return Some(form);
            }
            let least = self.least(&form);
            if least == i128::MIN {
                continue;
            }
            let shift = -least.div_euclid(1 << bits);
            let moved = form.plus(shift, &Form::constant(1 << bits));
            if shift != 0 && within(&moved) {
                return Some(moved);
            }
        }
        None
    }

    /// The integer of a form modulo 2^`bits`, as an unknown if it has no form.
    pub fn integer(&mut self, form: &Form, bits: u32) -> Form {
        self.exact(form, bits).unwrap_or_else(|| {
            let form = self.congruent(form, bits);
            let name = if bits == 32 { "modulo 2^32" } else { "modulo" };
            let width = Form::constant(bits.into());
            let found = self.result(name, vec![form.clone(), width], (0, (1 << bits) - 1));
            let unknown = found.terms.keys().next().copied();
            self.remainders.extend(unknown.map(|unknown| (unknown, (form, bits))));
            found
        })
    }

    /// An integer divided by 2^`by`, rounded down.
    pub fn shifted(&mut self, form: &Form, by: u32) -> Form {
        self.divided(form, 1 << by)
    }

    /// An integer divided by a known number above 0, rounded down.
    pub fn divided(&mut self, form: &Form, divisor: i128) -> Form {
        let (mut whole, mut rest) = (Form::default(), Form::constant(form.constant.rem_euclid(divisor)));
        whole.constant = form.constant.div_euclid(divisor);
        for (&unknown, &factor) in &form.terms {
            let part = if factor % divisor == 0 { &mut whole } else { &mut rest };
            part.terms.insert(unknown, if factor % divisor == 0 { factor / divisor } else { factor });
        }
        let (least, most) = (self.least(&rest).div_euclid(divisor), self.most(&rest).div_euclid(divisor));
        if least == most {
            return whole.plus(1, &Form::constant(least));
        }
        let in_bits = self.in_bits(&rest);
        if in_bits != rest {
            return self.divided(&whole.times(divisor).plus(1, &in_bits), divisor);
        }
        // Its bounds must hold when facts are forgotten, too.
        let least = |form: &Form| self.least_of_bounds(form);
        let bounds = (least(form).div_euclid(divisor), least(&form.times(-1)).saturating_neg().div_euclid(divisor));
        let now = [self.least(form), self.most(form)].map(|bound| Form::constant(bound.div_euclid(divisor)));
        let found = self.result("divided", vec![form.clone(), Form::constant(divisor)], bounds);
        let remainder = form.plus(-divisor, &found);
        self.assume(Form::constant(divisor - 1).plus(-1, &remainder));
        self.assume(remainder);
        self.assume(found.plus(-1, &now[0]));
        self.assume(now[1].plus(-1, &found));
        found
    }

    /// The bits of a form whose unknowns are bits, in places of their own.
    pub fn as_bits(&self, form: &Form, bits: u32) -> Option<[Bit; 64]> {
        let form = self.congruent(&self.in_bits(form), bits);
        let mut found = [Bit::ZERO; 64];
        let mut taken = 0u64;
        for (unknown, factor) in &form.terms {
            let factor = factor.rem_euclid(1 << bits) as u64;
            if !factor.is_power_of_two() || taken & factor != 0 {
                return None;
            }
            taken |= factor;
            found[factor.trailing_zeros() as usize] = Bit::of_choice(*self.bits.get(unknown)?);
        }
        let constant = form.constant.rem_euclid(1 << bits) as u64;
        (0..bits as usize).filter(|i| constant >> i & 1 == 1).for_each(|i| found[i] = Bit::ONE);
        (constant & taken == 0).then_some(found)
    }

    /// The numbers that a form of a few unknown bits can be, with the random numbers of these bits: number `n` is for bit `i` of `n` as the
    /// value of unknown bit `i`. In place of a number that it is known not to be, there is the nearest one that it may be.
    pub fn choices(&self, form: &Form) -> Option<(Vec<i128>, Vec<u128>)> {
        let in_bits = self.in_bits(form);
        let numbers =
            in_bits.terms.keys().map(|unknown| self.bits.get(unknown).copied()).collect::<Option<Vec<_>>>()?;
        if numbers.len() > 8 {
            return None;
        }
        let [least, most] = [self.least(form), self.most(form)];
        let value = |n: usize| {
            let add = |sum, (i, factor): (usize, &i128)| sum + factor * (n >> i & 1) as i128;
            in_bits.terms.values().enumerate().fold(in_bits.constant, add).max(least).min(most)
        };
        Some(((0..1 << numbers.len()).map(value).collect(), numbers))
    }
}

/// One of several bits: which, unknown bits say, whose random numbers are given.
pub fn chosen(mut from: Vec<Bit>, numbers: &[u128]) -> Bit {
    for number in numbers {
        from = from.chunks(2).map(|pair| Bit::choice(*number, pair[1], pair[0])).collect();
    }
    from[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_come_from_unknowns_and_facts() {
        let mut all = Unknowns::default();
        let (x, y) = (all.number(0, 100), all.number(0, 100));
        let difference = x.plus(-1, &y);
        assert_eq!((all.least(&difference), all.most(&difference)), (-100, 100));
        assert_eq!(all.exact(&difference, 32), None);
        assert_eq!(all.decide(&Condition::NotNegative(difference.clone())), None);
        all.assume(difference.plus(-1, &Form::constant(3)));
        assert_eq!(all.least(&difference.times(5)), 15);
        assert_eq!(all.decide(&Condition::Zero(difference.clone())), Some(false));
        assert_eq!(all.exact(&difference, 32), Some(difference.clone()));
        // What wraps below 0 is that much below 2^32.
        let wrapped = difference.times(-1);
        assert_eq!(all.exact(&wrapped, 32), Some(wrapped.plus(1, &Form::constant(1 << 32))));
        // A quotient is bounded by what it is the quotient of.
        let quotient = all.shifted(&x.times(3), 3);
        let rest = x.times(3).plus(-8, &quotient);
        assert_eq!((all.least(&rest), all.most(&rest)), (0, 7));
        assert_eq!(all.shifted(&x.times(24).plus(1, &Form::constant(7)), 3), x.times(3));
        let quotient = all.divided(&x, 7);
        let rest = x.plus(-7, &quotient);
        assert_eq!((all.least(&rest), all.most(&rest), all.most(&quotient)), (0, 6, 14));
        assert_eq!(all.divided(&x.times(21).plus(1, &Form::constant(6)), 7), x.times(3));
    }

    /// Conditions follow from others while these are taken for true, and no longer.
    #[test]
    fn conditions_follow_from_others() {
        let mut all = Unknowns::default();
        let (x, y) = (all.number(0, 100), all.number(0, 100));
        let number = x.plus(-1, &Form::constant(7));
        let below = Condition::Below(number.clone(), y.clone());
        let both = [number.clone(), y.plus(-1, &number).plus(-1, &Form::constant(1))].map(Condition::NotNegative);
        assert!(all.follows(&below, &both));
        assert!(!all.follows(&below, &both[..1]) && !all.follows(&below, &both[1..]));
        assert_eq!(all.decide(&below), None);
    }

    /// A number that is one of two is the one that conditions say, also where it is in another; by OR, numbers have the zeros of the result.
    #[test]
    fn numbers_are_one_of_two_or_combined() {
        let mut all = Unknowns::default();
        let [a, b, n] = [0, 1, 2].map(|_| all.number(0, 100));
        let above = |least| Condition::NotNegative(n.plus(-1, &Form::constant(least)));
        let one = all.either(&above(5), [&a, &b], &[]);
        let other = all.either(&above(7), [&one.plus(1, &Form::constant(4)), &one], &[]);
        // Above 7, the first of the other is known; and the second stays what it is.
        assert_eq!(all.alternatives(&other), Some((above(7), [a.plus(1, &Form::constant(4)), one.clone()])));
        assert_eq!(all.if_all(&other, &[above(8)]), a.plus(1, &Form::constant(4)));
        assert_eq!(all.if_all(&other, &[above(5).negated()]), b);
        assert_eq!(all.if_all(&other, &[above(7).negated()]), one);
        let both = all.combined([&a, &b], 0, 64);
        let combined = all.combined([&both, &Form::constant(16)], 16, 64);
        let rest = all.integer(&combined, 2);
        let numbers = |form: &Form| *form.terms.keys().next().unwrap();
        assert!(!all.is_multiple(numbers(&a), 2));
        all.assume(rest.times(-1));
        assert!(all.is_multiple(numbers(&a), 2) && all.is_multiple(numbers(&b), 1));
        assert!(!all.is_multiple(numbers(&a), 3) && !all.is_multiple(numbers(&n), 1));
    }

    /// A remainder that has no form is congruent to what it is the remainder of, for any smaller power of 2.
    #[test]
    fn remainders() {
        let mut all = Unknowns::default();
        let x = all.number(0, 1 << 40);
        let rest = all.integer(&x, 32);
        assert_eq!((all.least(&rest), all.most(&rest)), (0, u32::MAX.into()));
        let sum = rest.plus(-1, &x).plus(1, &Form::constant(5));
        assert_eq!(all.exact(&sum, 32), Some(Form::constant(5)));
        assert_eq!(all.exact(&sum, 64), None);
        assert_eq!(all.integer(&x, 32), rest);
    }

    #[test]
    fn a_choice_is_linear_and_picks() {
        let mut cells = Cells::new();
        let mut all = Unknowns::default();
        let (form, bits) = all.of_bits(&mut cells, 2);
        let bits: Vec<Bit> = bits.into_iter().map(Bit::of_choice).collect();
        // A number that facts rule out gives way to the nearest.
        let mut fewer = all.clone();
        fewer.assume(Form::constant(2).plus(-1, &form));
        assert_eq!(fewer.choices(&form.times(4).plus(1, &Form::constant(1))).unwrap().0, [1, 5, 9, 9]);
        let (values, numbers) = all.choices(&form.times(4).plus(1, &Form::constant(1))).unwrap();
        assert_eq!(values, [1, 5, 9, 13]);
        let [a, b, c, d]: [Bit; 4] = std::array::from_fn(|_| cells.unknown());
        assert_eq!(chosen(vec![a; 4], &numbers), a);
        assert_eq!(chosen(vec![Bit::ZERO, Bit::ONE, Bit::ZERO, Bit::ONE], &numbers), bits[0]);
        assert_eq!(chosen(vec![Bit::ZERO, Bit::ZERO, Bit::ONE, Bit::ONE], &numbers), bits[1]);
        let sum = chosen(vec![a, b, c, d], &numbers) ^ chosen(vec![b, a, c, c], &numbers);
        assert_eq!(chosen(vec![a ^ b, a ^ b, Bit::ZERO, c ^ d], &numbers), sum);
        assert_ne!(chosen(vec![a, b, c, d], &numbers), chosen(vec![a, b, d, c], &numbers));
    }
}
