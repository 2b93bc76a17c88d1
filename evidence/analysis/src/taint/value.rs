//! What is known about a value: whether it depends on a secret, and, if it is an address, the object that it belongs
//! to.

use crate::ptx::Object;

/// What is known about a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// It is this number, or this offset into the object.
    Exactly(Option<Object>, i64),
    /// It is an address that was computed from this number or offset and something unknown.
    Near(Option<Object>, i64),
    /// It can be anything.
    Anywhere,
}

/// A value in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// Whether it depends on a secret.
    pub secret: bool,
    /// The bits that depend on no secret, even if others do: compilers keep conditions side by side in the bits of a word.
    pub open: u32,
    /// Where it points, if it is an address.
    pub at: At,
}

impl Value {
    /// Any public number.
    pub const PUBLIC: Self = Self { secret: false, open: u32::MAX, at: At::Anywhere };
    /// Any secret number.
    pub const SECRET: Self = Self { secret: true, open: 0, at: At::Anywhere };

    /// This number.
    pub fn number(number: i64) -> Self {
        Self { at: At::Exactly(None, number), ..Self::PUBLIC }
    }

    /// The address of an object.
    pub fn address(object: Object) -> Self {
        Self { at: At::Exactly(Some(object), 0), ..Self::PUBLIC }
    }

    /// Some number that depends on a secret if `secret`.
    pub fn some(secret: bool) -> Self {
        if secret { Self::SECRET } else { Self::PUBLIC }
    }

    /// Some number of which only these bits depend on no secret.
    pub fn with_open(open: u32) -> Self {
        Self { secret: open != u32::MAX, open, at: At::Anywhere }
    }

    /// This value, all bits of which also depend on something that may be secret.
    pub fn tainted(self, secret: bool) -> Self {
        if secret { Self { at: self.at, ..Self::SECRET } } else { self }
    }

    /// The number, where it is known and not an address of an object.
    pub fn known(self) -> Option<i64> {
        match self.at {
            At::Exactly(None, number) => Some(number),
            _ => None,
        }
    }

    /// The sum of two.
    pub fn plus(self, other: Self) -> Self {
        let one = |a: Option<Object>, b: Option<Object>| match (a, b) {
            (Some(_), Some(_)) => None,
            (object, None) | (None, object) => Some(object),
        };
        let at = match (self.at, other.at) {
            (At::Anywhere, At::Anywhere) => At::Anywhere,
            // A number and something unknown: if it is an address, the number says which object it belongs to.
            (At::Anywhere, At::Exactly(o, n) | At::Near(o, n)) | (At::Exactly(o, n) | At::Near(o, n), At::Anywhere) => {
                At::Near(o, n)
            }
            (At::Exactly(a, m), At::Exactly(b, n)) => {
                one(a, b).map_or(At::Anywhere, |object| At::Exactly(object, m.wrapping_add(n)))
            }
            (At::Exactly(a, m) | At::Near(a, m), At::Exactly(b, n) | At::Near(b, n)) => {
                one(a, b).map_or(At::Anywhere, |object| At::Near(object, m.wrapping_add(n)))
            }
        };
        Self { at, ..Self::some(self.secret || other.secret) }
    }

    /// The difference of two.
    pub fn minus(self, other: Self) -> Self {
        let negated = match other.at {
            At::Exactly(None, number) => At::Exactly(None, number.wrapping_neg()),
            _ => At::Anywhere,
        };
        self.plus(Self { at: negated, ..other })
    }

    /// The product of two.
    pub fn times(self, other: Self) -> Self {
        let at = match (self.at, other.at) {
            (At::Exactly(None, m), At::Exactly(None, n)) => At::Exactly(None, m.wrapping_mul(n)),
            (At::Exactly(None, 0), _) | (_, At::Exactly(None, 0)) => At::Exactly(None, 0),
            (At::Exactly(None, 1), at) | (at, At::Exactly(None, 1)) => at,
            _ => At::Anywhere,
        };
        Self { at, ..Self::some(self.secret || other.secret) }
    }

    /// One or the other; `same` says whether two numbers, as addresses, belong to the same object.
    pub fn or(self, other: Self, same: impl Fn(i64, i64) -> bool) -> Self {
        let at = match (self.at, other.at) {
            (a, b) if a == b => a,
            (At::Exactly(a, m) | At::Near(a, m), At::Exactly(b, n) | At::Near(b, n)) if a == b => match a {
                Some(_) => At::Near(a, m.min(n).max(0)),
                None if same(m, n) => At::Near(None, m.min(n)),
                None => At::Anywhere,
            },
            _ => At::Anywhere,
        };
        Self { at, ..Self::with_open(self.open & other.open) }
    }

    /// This value, without its location if `give_up`.
    pub fn given_up(self, give_up: bool) -> Self {
        if give_up { Self { at: At::Anywhere, ..self } } else { self }
    }
}
