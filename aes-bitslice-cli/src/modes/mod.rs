//! Modes of operation as the command line has them. A mode is one file, with one [`Mode`], and, if `encrypt` has it,
//! its place in [`ALL`]: options, messages and streams follow these. [`MEASURED`] is what measurements follow.
//!
//! | file | idea |
//! |---|---|
//! | `operation` | any operation of the runtime, on each kind of memory |
//! | `mode` | the description of a mode |
//! | `ecb`, `cbc`, `ctr`, `xts` | the modes |
//! | `gcm`, `gcm_siv`, `cmac` | modes with a tag, which are measured only |
//! | `prg` | a generator for function secret sharing, which is measured only |
//! | `keystream` | the key stream of CTR alone, which reads nothing |
//! | `measured` | modes by direction: what `bench` and `tune` measure |

mod cbc;
mod cmac;
pub mod ctr;
pub mod ecb;
mod gcm;
mod gcm_siv;
pub mod keystream;
pub mod measured;
pub mod mode;
pub mod operation;
mod prg;
mod xts;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use self::cbc::CBC;
use self::cmac::CMAC;
use self::ctr::CTR;
use self::ecb::ECB;
use self::gcm::GCM;
use self::gcm_siv::GCM_SIV;
use self::keystream::KEYSTREAM;
use self::mode::Mode;
use self::prg::PRG;
use self::xts::XTS;

/// The modes of `encrypt` and `decrypt`.
pub static ALL: [&Mode; 4] = [&ECB, &CBC, &CTR, &XTS];

/// The modes that `bench` has.
pub static MEASURED: [&Mode; 9] = [&GCM, &GCM_SIV, &ECB, &CBC, &CTR, &XTS, &KEYSTREAM, &PRG, &CMAC];

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
