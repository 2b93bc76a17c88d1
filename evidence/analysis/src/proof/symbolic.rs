//! Instructions on numbers that are not known ([`form`](crate::proof::form)): arithmetic, comparisons, and memory that they are the
//! address of. Where neither bounds nor facts decide a branch, a thread waits for an answer, which adds a fact; a proof takes both ways.

use crate::proof::accesses::{Reached, Taken};
use crate::proof::anf::Bit;
use crate::proof::context::Context;
use crate::proof::form::{Condition, Form, Unknown, chosen};
use crate::proof::instruction::Next;
use crate::proof::loops::written;
use crate::proof::order::WARP;
use crate::proof::thread::{Region, Thread};
use crate::proof::value::{Type, Value, Why};
use crate::ptx::{Operand, Statement};
use std::collections::{BTreeSet, HashSet};

/// Statements that compute values, and do nothing else.
const COMPUTING: [&str; 16] = [
    "add.", "and.", "cvt.", "div.", "mad.", "mov.", "mul.", "not.", "or.", "prmt.", "selp.", "setp.", "shl.", "shr.",
    "sub.", "xor.",
];

fn is_computing(statement: &Statement) -> bool {
    COMPUTING.iter().any(|name| statement.opcode.starts_with(name))
}

/// What statements of a region may do besides branches.
fn is_allowed(statement: &Statement) -> bool {
    is_computing(statement) || ["ld.global.", "st.global."].iter().any(|name| statement.opcode.starts_with(name))
}

/// A form as it is, or that of a known number.
fn form_of(value: &Value) -> Result<Form, Why> {
    match value {
        Value::Form(form, _) => Ok((**form).clone()),
        Value::Number(number) => Ok(Form::constant((*number).into())),
        _ => Err("a number was expected, and there are unknown bits".into()),
    }
}

fn condition_of(value: &Value) -> Result<Condition, Why> {
    match value {
        Value::Condition(condition) => Ok((**condition).clone()),
        Value::Number(number) => Ok(Condition::NotNegative(Form::constant(*number as i128 - 1))),
        _ => Err("a predicate was expected".into()),
    }
}

/// Whether a statement that computes a value writes a register of 32 bits.
fn writes_word(statement: &Statement) -> bool {
    let parts: Vec<&str> = statement.opcode.split('.').collect();
    let of_type = if parts[0] == "cvt" { parts[1] } else { parts[parts.len() - 1] };
    !matches!((parts[0], parts[1]), ("setp", _) | ("mul", "wide")) && ["b32", "s32", "u32"].contains(&of_type)
}

/// The lowest bits of 64, those of a number of bytes.
fn first(bits: [Bit; 64], bytes: u64) -> [Bit; 64] {
    std::array::from_fn(|i| if i < 8 * bytes as usize { bits[i] } else { Bit::ZERO })
}

impl Context<'_> {
    /// Whether a condition holds: as known, or by the answer, once. Nothing if it is not known, and there is no answer or it is for another
    /// warp.
    pub(crate) fn resolve(&mut self, thread: &Thread, condition: &Condition) -> Result<Option<bool>, Why> {
        let known = self.unknowns.decide(condition);
        let symbolic = self.symbolic.as_mut().ok_or("a branch depends on an unknown number")?;
        let holds = match known {
            Some(holds) => holds,
            None if thread.index / WARP != symbolic.warp => return Ok(None),
            None => {
                let Some(holds) = symbolic.answer.take() else { return Ok(None) };
                let fact = if holds { condition.clone() } else { condition.clone().negated() };
                self.unknowns.assume_that(&fact);
                holds
            }
        };
        Ok(Some(holds))
    }

    /// A comparison of integers, by its name, of numbers of this many bits without a sign.
    pub(crate) fn compare(&mut self, name: &str, a: &Form, b: &Form, bits: u32) -> Result<Condition, Why> {
        if name == "lt"
            && bits == 32
            && let Some(wraps) = self.wraps(a, b)
        {
            return Ok(wraps);
        }
        let exact = [a, b].map(|form| match bits {
            32 => Some(self.unknowns.integer(form, 32)),
            _ => self.unknowns.exact(form, bits),
        });
        let [Some(a), Some(b)] = exact else {
            let below = |a: &Form, b: &Form| Condition::Below(a.clone(), b.clone());
            return match name {
                _ if bits != 64 => Err("the bounds of a number are not known".into()),
                "lt" => Ok(below(a, b)),
                "ge" => Ok(below(a, b).negated()),
                "gt" => Ok(below(b, a)),
                "le" => Ok(below(b, a).negated()),
                _ => Err("the bounds of a number are not known".into()),
            };
        };
        Ok(match name {
            "eq" => Condition::Zero(a.plus(-1, &b)),
            "ne" => Condition::Zero(a.plus(-1, &b)).negated(),
            "ge" => Condition::NotNegative(a.plus(-1, &b)),
            "le" => Condition::NotNegative(b.plus(-1, &a)),
            "lt" => Condition::NotNegative(a.plus(-1, &b)).negated(),
            "gt" => Condition::NotNegative(b.plus(-1, &a)).negated(),
            _ => return Err("no rule for this comparison".into()),
        })
    }

    /// Whether the first of two words is below the second, if it is the sum of this and of a known number, one of which is the second: so
    /// whether the sum wraps.
    fn wraps(&mut self, sum: &Form, summand: &Form) -> Option<Condition> {
        if self.unknowns.exact(sum, 32).is_some() {
            return None;
        }
        let other = self.unknowns.congruent(&sum.plus(-1, summand), 32);
        let (unknown, known) = match (other.terms.is_empty(), summand.terms.is_empty()) {
            (true, _) => (summand, &other),
            (_, true) => (&other, summand),
            _ => return None,
        };
        let known = Form::constant(known.constant.rem_euclid(1 << 32) - (1 << 32));
        Some(Condition::NotNegative(self.unknowns.integer(unknown, 32).plus(1, &known)))
    }

    /// What `selp` takes of two words under a condition that is not known, if that is a word that has bits of its own.
    pub(crate) fn chosen_word(
        &mut self,
        thread: &Thread,
        parts: &[&str],
        operands: &[Operand],
    ) -> Result<Option<Value>, Why> {
        if parts[0] != "selp" || self.symbolic.as_ref().is_none_or(|symbolic| symbolic.words.is_empty()) {
            return Ok(None);
        }
        let values = operands.iter().skip(1).map(|one| self.value(thread, one)).collect::<Result<Vec<_>, _>>()?;
        let [Value::Form(a, 32), Value::Form(b, 32), Value::Condition(condition)] = &values[..] else {
            return Ok(None);
        };
        let Condition::NotNegative(form) = &**condition else { return Ok(None) };
        if self.unknowns.decide(condition).is_some() {
            return Ok(None);
        }
        let found = self.unknowns.one_of(form, [a, b]);
        let has_bits = self.symbolic.as_ref().is_some_and(|symbolic| symbolic.words.contains_key(&found));
        Ok(has_bits.then(|| Value::of_form(found, 32)))
    }

    /// What `selp` takes of two values under a condition that is not known, where there is no need to know: they are equal, or are if it is the
    /// other that is taken; or, in a region, it is an address or a word that is one of two.
    pub(crate) fn selected(
        &mut self,
        thread: &Thread,
        parts: &[&str],
        operands: &[Operand],
    ) -> Result<Option<Value>, Why> {
        if parts[0] != "selp" || self.symbolic.is_none() {
            return Ok(None);
        }
        let values = operands.iter().skip(1).map(|one| self.value(thread, one)).collect::<Result<Vec<_>, _>>()?;
        let [a, b, Value::Condition(condition)] = &values[..] else { return Ok(None) };
        if a == b {
            return Ok(Some(a.clone()));
        }
        if self.unknowns.decide(condition).is_some() {
            return Ok(None);
        }
        match [form_of(a), form_of(b)] {
            [Ok(a), Ok(b)]
                if matches!((values[0].clone(), values[1].clone()), (Value::Form(_, 64), Value::Form(_, 64))) =>
            {
                let is_in_region = !thread.regions.is_empty();
                let conditions = thread.conditions();
                Ok(is_in_region.then(|| Value::of_form(self.unknowns.either(condition, [&a, &b], &conditions), 64)))
            }
            [Ok(_), Ok(_)] if matches!((a, b), (Value::Number(_), Value::Number(_))) => Ok(None),
            [Ok(first), Ok(second)] => {
                let known = first.terms.is_empty() || second.terms.is_empty();
                if !known || !["b32", "u32"].contains(&parts[1]) {
                    return Ok(None);
                }
                let difference = self.unknowns.integer(&first, 32).plus(-1, &self.unknowns.integer(&second, 32));
                let are_equal = Condition::Zero(difference);
                if self.unknowns.follows(&are_equal, &[(**condition).clone().negated()]) {
                    return Ok(Some(a.clone()));
                }
                Ok(self.unknowns.follows(&are_equal, &[(**condition).clone()]).then(|| b.clone()))
            }
            _ if !thread.regions.is_empty() && parts[1] == "b32" => {
                let [a, b] = [a, b].map(|value| self.word(value.clone()));
                let (a, b) = (a?.bits(), b?.bits());
                Ok(Some(Value::of_bits(std::array::from_fn(|i| self.one_of_bits(thread, condition, [a[i], b[i]])))))
            }
            _ => Ok(None),
        }
    }

    /// A bit that is the first of two if a condition holds, else the second.
    fn one_of_bits(&mut self, thread: &Thread, condition: &Condition, both: [Bit; 2]) -> Bit {
        let contrary = condition.clone().negated();
        let Some(symbolic) = &mut self.symbolic else { return both[0] };
        let [a, b] = [symbolic.if_so(both[0], condition), symbolic.if_so(both[1], &contrary)];
        // What is loaded under a condition is 0 without it.
        let is_loaded =
            |bit: Bit, under: &Condition| thread.regions.iter().any(|region| region.loaded_if.get(&bit) == Some(under));
        if a == b || b == Bit::ZERO && is_loaded(a, condition) {
            a
        } else if a == Bit::ZERO && is_loaded(b, &contrary) {
            b
        } else {
            let bit = self.cells.unknown();
            symbolic.chosen.insert(bit, (condition.clone(), [a, b]));
            bit
        }
    }

    /// A word: for a form of unknown bits, these bits.
    pub(crate) fn word(&self, value: Value) -> Result<Value, Why> {
        match &value {
            Value::Form(form, bits) => {
                let words = self.symbolic.as_ref().map(|symbolic| &symbolic.words);
                if *bits == 32
                    && let Some(found) = words.and_then(|words| words.get(&self.unknowns.congruent(form, 32)))
                {
                    return Ok(Value::of_bits(*found));
                }
                let found = self.unknowns.as_bits(form, *bits).ok_or("the bits of a number that is not known")?;
                Ok(Value::of_bits64(found).first(*bits))
            }
            Value::Condition(_) => Err("a condition in place of a number".into()),
            _ => Ok(value),
        }
    }

    /// The condition by which an instruction takes the first of two operands, and else the second, if it is not known.
    pub(crate) fn choice(
        &mut self,
        thread: &Thread,
        parts: &[&str],
        operands: &[Operand],
        of_type: Type,
    ) -> Result<Option<Condition>, Why> {
        let name = match (parts[0], of_type.is_signed) {
            ("selp", _) => "",
            ("min", false) => "le",
            ("max", false) => "ge",
            _ => return Ok(None),
        };
        let values = operands.iter().skip(1).map(|one| self.value(thread, one)).collect::<Result<Vec<_>, _>>()?;
        Ok(match &values[..] {
            [_, _, Value::Condition(condition)] => Some((**condition).clone()),
            [a, b] if [a, b].iter().any(|value| matches!(value, Value::Form(..))) => {
                Some(self.compare(name, &form_of(a)?, &form_of(b)?, of_type.bits)?)
            }
            _ => None,
        })
    }

    /// The result of an instruction that has a rule for unknown numbers and is given one. Else it goes on with the bits of these numbers.
    pub(crate) fn on_forms(
        &mut self,
        thread: &Thread,
        parts: &[&str],
        operands: &[Operand],
        of_type: Type,
    ) -> Result<Option<Value>, Why> {
        let values = operands.iter().skip(1).map(|one| self.value(thread, one)).collect::<Result<Vec<_>, _>>()?;
        if values.iter().any(|value| matches!(value, Value::Condition(_))) {
            let [a, b] = [0, 1].map(|n| values.get(n).map(condition_of));
            let boxed = |condition: Condition| Box::new(condition);
            return Ok(Some(Value::of_condition(match (parts[0], a, b) {
                ("not", Some(a), _) => a?.negated(),
                ("or", Some(a), Some(b)) => Condition::Or(boxed(a?), boxed(b?)),
                ("and", Some(a), Some(b)) => Condition::Or(boxed(a?.negated()), boxed(b?.negated())).negated(),
                _ => return Err("no rule for a condition".into()),
            })));
        }
        if !values.iter().any(|value| matches!(value, Value::Form(..))) {
            return Ok(None);
        }
        let bits = of_type.bits;
        if parts[0] == "shl" && matches!(values[0], Value::Bits(_)) && bits == 32 {
            return self.shifted_left(&values[0], &form_of(&values[1])?).map(Some);
        }
        if parts[0] == "selp" || values.iter().any(|value| matches!(value, Value::Bits(_) | Value::Wide(_))) {
            return Ok(None);
        }
        let mut forms = values.iter().map(form_of).collect::<Result<Vec<_>, _>>()?;
        for (form, value) in forms.iter_mut().zip(&values) {
            if matches!(value, Value::Form(_, width) if *width < bits) {
                *form = self.unknowns.integer(form, 32);
            }
        }
        let known = |n: usize| forms[n].terms.is_empty().then_some(forms[n].constant);
        let factors = || if known(0).is_some() { (known(0), 1) } else { (known(1), 0) };
        let product = |context: &mut Self| match factors() {
            (Some(factor), other) => forms[other].times(factor),
            _ => context.product(&forms[0], &forms[1], bits),
        };
        let result = match (parts[0], bits) {
            ("mov" | "cvta", _) => forms[0].clone(),
            ("cvt", 32) if parts[1] == "u64" => {
                return Ok(Some(Value::of_form(self.unknowns.integer(&forms[0], 32), 64)));
            }
            ("cvt", 64) if parts[1] == "u32" => return Ok(Some(Value::of_form(forms[0].clone(), 32))),
            ("add", _) => forms[0].plus(1, &forms[1]),
            ("sub", _) => forms[0].plus(-1, &forms[1]),
            ("mul", 32) if parts[1] == "wide" && !of_type.is_signed => {
                let integer = forms.iter().map(|form| self.unknowns.integer(form, 32)).collect::<Vec<_>>();
                let (Some(_), other) = factors() else { return Err("a product of unknown numbers".into()) };
                return Ok(Some(Value::of_form(integer[other].times(integer[1 - other].constant), 64)));
            }
            ("mul", _) => product(self),
            ("mad", _) => product(self).plus(1, &forms[2]),
            ("div", 32) if known(1).is_some_and(|by| by > 0) => {
                let number = self.unknowns.integer(&forms[0], 32);
                self.unknowns.divided(&number, forms[1].constant)
            }
            ("div", 32) => {
                let both: Vec<Form> = forms.iter().map(|form| self.unknowns.integer(form, 32)).collect();
                if !self.unknowns.is_not_negative(&both[1].plus(-1, &Form::constant(1))) {
                    return Err("a division by what may be 0".into());
                }
                let quotient = self.unknowns.result("quotient", both.clone(), (0, u32::MAX.into()));
                let rest = both[0].plus(-1, &self.product(&quotient, &both[1], 32));
                self.unknowns.assume(both[1].plus(-1, &rest).plus(-1, &Form::constant(1)));
                self.unknowns.assume(rest);
                quotient
            }
            ("shl", _) if known(1).is_some() => match known(1) {
                Some(by) if by < bits.into() => forms[0].times(1 << by),
                _ => Form::default(),
            },
            ("shr", _) if !of_type.is_signed && known(1).is_some_and(|by| by < bits.into()) => {
                let has_bits = || self.unknowns.as_bits(&forms[0], bits).is_some();
                if self.unknowns.exact(&forms[0], bits).is_none() && has_bits() {
                    return Ok(None);
                }
                let integer = self.unknowns.integer(&forms[0], bits);
                self.unknowns.shifted(&integer, known(1).unwrap_or(0) as u32)
            }
            ("and", _) => match self.masked(&forms, bits) {
                Some(form) => form,
                None => return Ok(None),
            },
            // Of bits that are set in one of the two at most.
            ("or", _) if self.are_apart(&forms[0], &forms[1], bits) => forms[0].plus(1, &forms[1]),
            ("or", _) => match (known(0).or(known(1)), factors().1) {
                (Some(number), other)
                    if {
                        let step = 1 << (number as u64).checked_ilog2().map_or(0, |top| top + 1);
                        let form = &forms[other];
                        form.constant % step == 0 && form.terms.values().all(|factor| factor % step == 0)
                    } =>
                {
                    forms[0].plus(1, &forms[1])
                }
                // A number that has no bits: at least what is known of the result.
                (Some(number), other) if self.word(Value::of_form(forms[other].clone(), bits)).is_err() => {
                    let number = number % (1 << bits);
                    self.unknowns.combined([&forms[other], &Form::constant(number)], number, bits)
                }
                (None, _) if forms.iter().all(|form| self.unknowns.as_bits(form, bits).is_none()) => {
                    self.unknowns.combined([&forms[0], &forms[1]], 0, bits)
                }
                _ => return Ok(None),
            },
            ("not", _) => Form::constant(-1).plus(-1, &forms[0]),
            ("xor", _) => match (factors(), factors().1) {
                ((Some(mask), other), _)
                    if (mask + 1) & mask == 0
                        && self.unknowns.exact(&forms[other], bits).is_some_and(|form| {
                            self.unknowns.is_not_negative(&Form::constant(mask).plus(-1, &form))
                        }) =>
                {
                    Form::constant(mask).plus(-1, &forms[other])
                }
                _ => return Ok(None),
            },
            ("bfi", 32) if known(1).is_none() => match (known(2), known(3)) {
                (Some(at), Some(count)) if at + count == 32 => {
                    let below = self.unknowns.integer(&forms[1], at as u32);
                    below.plus(1 << at, &self.unknowns.integer(&forms[0], count as u32))
                }
                _ => return Ok(None),
            },
            ("bfi", 32) => match (known(1), known(2), known(3)) {
                (Some(into), Some(at), Some(count)) => {
                    let mask = (1i128 << count) - 1;
                    let field = self.unknowns.integer(&forms[0], count as u32);
                    Form::constant(into & !(mask << at)).plus(1 << at, &field)
                }
                _ => return Ok(None),
            },
            ("setp", _) if !of_type.is_signed || matches!(parts[1], "eq" | "ne") => {
                return self.compare(parts[1], &forms[0], &forms[1], bits).map(|one| Some(Value::of_condition(one)));
            }
            _ => return Ok(None),
        };
        Ok(Some(Value::of_form(result, bits)))
    }

    /// Whether all bits of one number are below those of the other.
    fn are_apart(&self, a: &Form, b: &Form, bits: u32) -> bool {
        let [Some(a), Some(b)] = [a, b].map(|form| self.unknowns.exact(form, bits)) else { return false };
        let are = |above: &Form, below: &Form| {
            let factors = above.terms.values().chain([&above.constant]);
            let step = factors.filter(|factor| **factor != 0).map(|factor| factor.trailing_zeros()).min().unwrap_or(0);
            self.unknowns.is_not_negative(&Form::constant((1 << step.min(126)) - 1).plus(-1, below))
        };
        are(&a, &b) || are(&b, &a)
    }

    /// The lower 32 or 64 bits of a product.
    pub(crate) fn product(&mut self, a: &Form, b: &Form, bits: u32) -> Form {
        let mut both = [a.clone(), b.clone()];
        both.sort();
        let [a, b] = both;
        self.unknowns.result("product", vec![a, b, Form::constant(bits.into())], (0, (1 << bits) - 1))
    }

    /// A form AND a number whose bits between two places are set.
    fn masked(&mut self, forms: &[Form], bits: u32) -> Option<Form> {
        let (mask, form) = match forms {
            [form, mask] if mask.terms.is_empty() => (mask.constant as u64, form),
            [mask, form] if mask.terms.is_empty() => (mask.constant as u64, form),
            _ => return None,
        };
        let (low, high) = (mask.trailing_zeros(), 64 - mask.leading_zeros());
        let is_row = mask != 0 && mask >> low == u64::MAX >> (64 - (high - low));
        let step = 1i128 << low;
        let is_multiple = form.constant % step == 0 && form.terms.values().all(|factor| factor % step == 0);
        (is_row && is_multiple && high <= bits).then(|| self.unknowns.integer(form, high))
    }

    /// A word, shifted by a distance of a few unknown bits.
    fn shifted_left(&self, word: &Value, distance: &Form) -> Result<Value, Why> {
        let distance = self.unknowns.exact(distance, 32).ok_or("a distance whose bounds are not known")?;
        let (distances, numbers) = self.unknowns.choices(&distance).ok_or("a distance that is not known")?;
        let bits = word.bits();
        Ok(Value::of_bits(std::array::from_fn(|i| {
            let from = |&by: &i128| usize::try_from(i as i128 - by).ok().and_then(|from| bits.get(from));
            chosen(distances.iter().map(|by| from(by).copied().unwrap_or(Bit::ZERO)).collect(), &numbers)
        })))
    }

    /// Checks that an address that is not known is a multiple of a number of bytes, a power of 2.
    pub(crate) fn is_aligned(&self, address: &Form, bytes: u64) -> Result<(), Why> {
        if let Some((_, both)) = self.unknowns.alternatives(address).filter(|_| bytes > 1) {
            return both.iter().try_for_each(|one| self.is_aligned(one, bytes));
        }
        let of_buffer = |unknown: &Unknown| -> i128 {
            self.symbolic.as_ref().and_then(|symbolic| symbolic.buffers.get(unknown)).copied().unwrap_or(1)
        };
        let is_multiple = |(unknown, factor): (&Unknown, &i128)| {
            factor * of_buffer(unknown) % i128::from(bytes) == 0 || self.unknowns.is_multiple(*unknown, bytes.ilog2())
        };
        if address.constant % i128::from(bytes) == 0 && address.terms.iter().all(is_multiple) {
            Ok(())
        } else {
            Err(format!("{bytes} bytes at an address that may be no multiple of {bytes}"))
        }
    }

    /// A load or store at an address that may be one of two, each under a condition. In a region, what a thread has done before at such an
    /// address it need not do again: there are no barriers in a region. Returns what was read.
    pub(crate) fn reach_any(
        &mut self,
        thread: &mut Thread,
        space: &str,
        address: &Form,
        bytes: u64,
        stored: Option<Value>,
    ) -> Result<Value, Why> {
        if thread.regions.is_empty() {
            return self.reach(thread, space, address, bytes, stored);
        }
        let is_store = stored.is_some();
        let stored = stored.map(|value| Ok::<_, Why>(self.word(value)?.bits64())).transpose()?;
        let key = (is_store, address.clone(), bytes);
        let conditions = thread.conditions();
        let address = self.unknowns.if_all(address, &conditions);
        let found = match self.unknowns.alternatives(&address) {
            None => {
                let stored = stored.map(|bits| Value::of_bits64(bits).first(8 * bytes as u32));
                self.reach(thread, space, &address, bytes, stored)?.bits64()
            }
            Some((condition, both)) => {
                let conditions = [condition.clone(), condition.clone().negated()];
                let mut found = vec![];
                for (one, condition) in both.iter().zip(conditions) {
                    let symbolic = self.symbolic.as_ref().ok_or("an address that is not known")?;
                    let stored = stored.map(|bits| bits.map(|bit| symbolic.if_so(bit, &condition)));
                    let key = (is_store, one.clone(), bytes);
                    let before = thread.regions.iter().find_map(|region| region.accessed.get(&key).copied());
                    if let Some(bits) = before.filter(|bits| stored.is_none_or(|stored| first(stored, bytes) == *bits))
                    {
                        found.push(bits);
                        continue;
                    }
                    thread.regions.push(Region::new(usize::MAX, condition.clone(), vec![]));
                    let stored = stored.map(Value::of_bits64);
                    let read = self.reach_any(thread, space, one, bytes, stored);
                    thread.regions.pop();
                    let read = read?.bits64();
                    for region in thread.regions.iter_mut().filter(|_| !is_store) {
                        region.loaded.extend(read);
                        region.loaded_if.extend(read.map(|bit| (bit, condition.clone())));
                    }
                    found.push(read);
                }
                std::array::from_fn(|i| self.one_of_bits(thread, &condition, [found[0][i], found[1][i]]))
            }
        };
        if let Some(region) = thread.regions.last_mut() {
            region.accessed.insert(key, stored.map_or(found, |bits| first(bits, bytes)));
        }
        Ok(Value::of_bits64(found).first(8 * bytes as u32))
    }

    /// A load or store at an address that is not known. Returns what was read.
    pub(crate) fn reach(
        &mut self,
        thread: &Thread,
        space: &str,
        address: &Form,
        bytes: u64,
        stored: Option<Value>,
    ) -> Result<Value, Why> {
        let address = self.unknowns.exact(address, 64).ok_or("an address whose bounds are not known")?;
        if let Some((addresses, numbers)) = self.unknowns.choices(&address) {
            if stored.is_some() || bytes > 4 {
                return Err("a store at an address that is not known".into());
            }
            let mut words = vec![];
            for at in addresses {
                let at = u64::try_from(at).map_err(|_| "an address below 0")?;
                self.reaches(space, at, bytes)?;
                let moment = self.moment(thread);
                words.push(self.memory.read(at, bytes, moment)?.bits());
            }
            let bit = |i: usize| chosen(words.iter().map(|word| word[i]).collect(), &numbers);
            return Ok(Value::of_bits(std::array::from_fn(bit)));
        }
        let under = thread.regions.iter().map(|region| region.condition.clone()).collect();
        let stored = stored.map(|value| self.word(value)).transpose()?;
        let moment = self.moment(thread);
        let symbolic = self.symbolic.as_mut().ok_or("an address that is not known")?;
        let is_in = |buffer: &&Unknown| address.terms.get(buffer) == Some(&1);
        let buffer = *symbolic.buffers.keys().find(is_in).ok_or("an address that is not known, or in no buffer")?;
        let mut offset = address;
        offset.terms.remove(&buffer);
        if space != "global" || symbolic.buffers.keys().any(|other| offset.terms.contains_key(other)) {
            return Err("an address that is in no buffer".into());
        }
        let bits = match &stored {
            Some(value) => {
                let bits = value.bits64();
                for (n, byte) in (0..bytes).zip(bits.as_chunks().0).filter(|_| thread.regions.is_empty()) {
                    symbolic.read.insert((buffer, offset.plus(1, &Form::constant(n.into()))), *byte);
                }
                bits
            }
            None => {
                let mut bits = [Bit::ZERO; 64];
                for (n, byte) in (0..bytes).zip(bits.as_chunks_mut().0) {
                    let at = (buffer, offset.plus(1, &Form::constant(n.into())));
                    *byte = *symbolic.read.entry(at).or_insert_with(|| std::array::from_fn(|_| self.cells.unknown()));
                }
                bits
            }
        };
        let is_store = stored.is_some();
        symbolic.reached.push(Reached { moment, is_store, buffer, offset, bytes, under, bits });
        Ok(Value::of_bits64(bits).first(8 * bytes as u32))
    }

    /// Takes a number from shared memory, by an atomic addition to one that is not known: any number, as other warps take some, too.
    pub(crate) fn take(&mut self, thread: &Thread, at: u64, step: u64) -> Result<Value, Why> {
        let moment = self.moment(thread);
        let first = form_of(&self.memory.take(at, moment)?)?;
        let number = self.unknowns.number(0, u32::MAX.into());
        let symbolic = self.symbolic.as_mut().ok_or("an atomic addition to a number that is not known")?;
        symbolic.taken.push(Taken { first, step, number: number.clone() });
        Ok(Value::of_form(number, 32))
    }

    /// The statements between a branch and its target become a region, where they only access device memory, compute values, and branch to
    /// others of them or the target, and where registers that they write and that are needed after them are 0. Where it is known that they are
    /// executed, only if addresses are chosen there. Returns whether it is so.
    pub(crate) fn enter_region(
        &self,
        thread: &mut Thread,
        statements: &[Statement],
        condition: &Condition,
        may_skip: bool,
    ) -> bool {
        let at = thread.next;
        let (Some(Operand::Label(target)), Some(symbolic)) = (statements[at].operands.first(), &self.symbolic) else {
            return false;
        };
        let is_end = |one: &Statement| {
            one.guard.is_none() && matches!(one.operands.first(), Some(Operand::Label(to)) if to == target)
        };
        let Some(between) = statements.get(at + 1..*target) else { return false };
        let between = &between[..between.iter().position(is_end).unwrap_or(between.len())];
        let end = at + 1 + between.len();
        let is_allowed = |(n, one): (usize, &Statement)| match (&one.guard, one.operands.first()) {
            (None, _) => is_allowed(one),
            (Some(_), Some(Operand::Label(to))) => (n..=end).contains(to),
            _ => false,
        };
        let is_live = |register: &usize| symbolic.live[end].contains(register);
        let written: Vec<usize> = between.iter().flat_map(written).filter(is_live).collect();
        let are_zero = written.iter().all(|&register| thread.register(register) == Ok(Value::Number(0)));
        let has_choices = || between.iter().any(|one| one.opcode == "selp.b64");
        if between.is_empty() || !may_skip && !has_choices() || !(at + 1..).zip(between).all(is_allowed) || !are_zero {
            return false;
        }
        thread.regions.push(Region::new(end, condition.clone().negated(), written));
        true
    }

    /// Where a thread goes on past what does nothing: from a statement that depends on what is not known, up to where the next branch leads, or
    /// after it if it leads back. Whichever way is taken there, no memory is accessed, and no register is written that is needed after it. That a
    /// loop among these statements ends is not shown.
    pub(crate) fn past_idle(&mut self, thread: &Thread, statements: &[Statement]) -> Option<usize> {
        let at = thread.next;
        let symbolic = self.symbolic.as_mut()?;
        if thread.index / WARP != symbolic.warp || symbolic.not_idle.contains(&at) {
            return None;
        }
        let target = |n: usize| match statements[n].operands.first() {
            Some(Operand::Label(target)) => Some(*target),
            _ => None,
        };
        let branch =
            (at..statements.len()).find(|&n| statements[n].guard.is_some() || !is_computing(&statements[n]))?;
        let to = target(branch).filter(|_| statements[branch].guard.is_some() && thread.regions.is_empty())?;
        let (from, end) = (to.min(at), to.max(branch + 1));
        let of = |registers: &HashSet<usize>| -> Vec<usize> {
            statements[from..end].iter().flat_map(written).filter(|one| registers.contains(one)).collect()
        };
        if statements[from..end].iter().flat_map(written).any(|one| symbolic.live[end].contains(&one)) {
            symbolic.not_idle.insert(at);
            return None;
        }
        // What a turn of a loop hands to the next is any word.
        let heads: BTreeSet<usize> =
            (from..end).filter_map(|n| target(n).filter(|to| (from..=n).contains(to))).collect();
        let handed: Vec<(usize, Vec<usize>)> = heads.iter().map(|head| (*head, of(&symbolic.live[*head]))).collect();
        let mut open = vec![thread.clone()];
        for (head, registers) in handed {
            let mut turn = thread.clone();
            turn.next = head;
            for register in registers {
                let writes = |one: &&Statement| written(one).any(|one| one == register);
                if !statements[from..end].iter().filter(writes).all(writes_word) {
                    return None;
                }
                let any = self.unknowns.number(0, u32::MAX.into());
                turn.write(&Operand::Register(register), Value::of_form(any, 32)).ok()?;
            }
            open.push(turn);
        }
        while let Some(mut turn) = open.pop() {
            let mut is_first = true;
            while turn.next != end && (std::mem::take(&mut is_first) || !heads.contains(&turn.next)) {
                let (n, statement) = (turn.next, statements.get(turn.next)?);
                turn.next = n + 1;
                if !(from..end).contains(&n) {
                    return None;
                }
                let Some((register, is_negated)) = statement.guard else {
                    match target(n) {
                        Some(to) => turn.next = to,
                        None if !is_computing(statement) => return None,
                        None => match self.execute(&mut turn, statement) {
                            Ok(Next::Following) => {}
                            Ok(Next::Undecided) if writes_word(statement) => {
                                let any = self.unknowns.number(0, u32::MAX.into());
                                turn.write(statement.operands.first()?, Value::of_form(any, 32)).ok()?;
                            }
                            _ => return None,
                        },
                    }
                    continue;
                };
                let to = target(n)?;
                let holds = match turn.register(register).ok()? {
                    Value::Condition(condition) => self.unknowns.decide(&condition),
                    predicate => Some(predicate.number().ok()? == 1),
                };
                if holds.is_none() {
                    open.push(turn.clone());
                }
                if holds != Some(is_negated) {
                    turn.next = to;
                }
            }
        }
        Some(end)
    }

    /// Leaves the regions that end here.
    ///
    /// # Errors
    /// If a register that is needed is not moved from what the region loaded, so that it may not be 0 where nothing was loaded.
    pub(crate) fn leave_region(&self, thread: &mut Thread) -> Result<(), Why> {
        let at = thread.next;
        while let Some(region) = thread.regions.pop_if(|region| region.end == at) {
            for register in region.written {
                let bits = thread.register(register)?.bits64();
                if !bits.iter().all(|bit| *bit == Bit::ZERO || region.loaded.contains(bit)) {
                    return Err("a register that is not 0 where a load does not take place".into());
                }
            }
        }
        Ok(())
    }
}
