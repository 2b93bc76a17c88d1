//! What was wrong with a call.

use std::fmt::Display;

pub type Wrong = String;

pub fn wrong(what: impl Display) -> Wrong {
    what.to_string()
}
