//! What is known about a value: whether it depends on a secret, and, if it is an address, the object that it belongs
//! to.

use aes_bitslice_ptx::Object;

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
    /// Where it points, if it is an address.
    pub at: At,
}

impl Value {
    /// Any public number.
    pub const PUBLIC: Self = Self { secret: false, at: At::Anywhere };
    /// Any secret number.
    pub const SECRET: Self = Self { secret: true, at: At::Anywhere };

    /// This number.
    pub fn number(number: i64) -> Self {
        Self { secret: false, at: At::Exactly(None, number) }
    }

    /// The address of an object.
    pub fn address(object: Object) -> Self {
        Self { secret: false, at: At::Exactly(Some(object), 0) }
    }

    /// Some number that depends on a secret if `secret`.
    pub fn some(secret: bool) -> Self {
        Self { secret, at: At::Anywhere }
    }

    /// This value, which also depends on something that may be secret.
    pub fn tainted(self, secret: bool) -> Self {
        Self { secret: self.secret || secret, at: self.at }
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
        Self { secret: self.secret || other.secret, at }
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
        Self { secret: self.secret || other.secret, at }
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
        Self { secret: self.secret || other.secret, at }
    }

    /// This value, without its location if `give_up`.
    pub fn given_up(self, give_up: bool) -> Self {
        if give_up { Self::some(self.secret) } else { self }
    }
}
