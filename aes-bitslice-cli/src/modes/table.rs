//! All modes, and `--mode`.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::cbc::CBC;
use super::ctr::CTR;
use super::ecb::ECB;
use super::mode::Mode;
use super::xts::XTS;

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
