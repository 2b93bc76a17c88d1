//! Modes of operation as the command line has them. A mode is one file, with one [`Mode`], and, if `encrypt` has it,
//! its place in [`ALL`]: options, messages, streams and measurements follow these.
//!
//! | file | idea |
//! |---|---|
//! | `operation` | any operation of the runtime, on each kind of memory |
//! | `mode` | the description of a mode |
//! | `ecb`, `cbc`, `ctr`, `xts` | the modes |
//! | `keystream` | the key stream of CTR alone, which reads nothing |
//! | `measured` | modes that engines have kernels for, by direction: what `bench` and `tune` measure |

mod cbc;
pub mod ctr;
pub mod ecb;
pub mod keystream;
pub mod measured;
pub mod mode;
pub mod operation;
mod xts;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use self::cbc::CBC;
use self::ctr::CTR;
use self::ecb::ECB;
use self::mode::Mode;
use self::xts::XTS;

/// The modes of `encrypt` and `decrypt`.
pub static ALL: [&Mode; 4] = [&ECB, &CBC, &CTR, &XTS];

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
