//! Modes of operation as the command line has them: options, messages and streams follow the table's [`ALL`], measurements [`MEASURED`].
//!
//! | file | idea |
//! |---|---|
//! | `operation` | any operation of the runtime, on each kind of memory |
//! | `batch` | many messages in one call |
//! | `mode` | the description of a mode |
//! | `table` | the modes |
//! | `measured` | modes by direction: what `bench` and `tune` measure |
//!
//! [`ALL`]: table::ALL
//! [`MEASURED`]: table::MEASURED

pub mod batch;
pub mod measured;
pub mod mode;
pub mod operation;
pub mod table;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use self::mode::Mode;
use self::table::ALL;

impl ValueEnum for &'static Mode {
    fn value_variants<'a>() -> &'a [Self] {
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.help))
    }
}

/// The names of modes of a kind, as in `cbc or ctr`.
pub fn names(is_of_kind: impl Fn(&Mode) -> bool) -> String {
    let names: Vec<_> = ALL.iter().filter(|mode| is_of_kind(mode)).map(|mode| mode.name).collect();
    names.join(" or ")
}
