//! `--mode`: a mode by its name, or by a cipher name as in other programs; and `--modes`, the modes to measure.

use std::ffi::OsStr;

use aes_bitslice_runtime::KeyBits;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, ValueEnum};

use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Mode;

/// A mode, and the key length that its name asks for, as in `aes-256-ctr`.
#[derive(Clone, Copy, Debug)]
pub struct ModeName {
    pub mode: &'static Mode,
    pub key_bits: Option<KeyBits>,
}

/// Reads `ctr`, `CTR`, `aes-ctr`, `aes-256-ctr`, `AES256-CTR`.
#[derive(Clone)]
pub struct ModeParser;

impl TypedValueParser for ModeParser {
    type Value = ModeName;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<ModeName, clap::Error> {
        let name = value.to_str().and_then(parse);
        name.map_or_else(
            // Its error lists the modes.
            || {
                let parsed = EnumValueParser::<&'static Mode>::new().parse_ref(command, arg, value);
                let parsed = parsed.map_err(with_tip(value, |text| instead_of(text).map(Into::into)));
                parsed.map(|mode| ModeName { mode, key_bits: None })
            },
            Ok,
        )
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(<&Mode>::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// What a name stands for: a mode in one direction or in both.
pub type MeasuredModes = Vec<MeasuredMode>;

/// Reads the names of measured modes, written as [`ModeParser`] takes them, but without a key length.
#[derive(Clone)]
pub struct MeasuredModeParser;

impl TypedValueParser for MeasuredModeParser {
    type Value = MeasuredModes;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<MeasuredModes, clap::Error> {
        value.to_str().and_then(parse_measured).map_or_else(
            // Its error lists the modes.
            || {
                let parsed = EnumValueParser::<MeasuredMode>::new().parse_ref(command, arg, value);
                parsed.map(|mode| vec![mode]).map_err(with_tip(value, measured_instead_of))
            },
            Ok,
        )
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(MeasuredMode::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// Replaces clap's guess with the tip that `instead` has for a value, if any.
fn with_tip(value: &OsStr, instead: impl Fn(&str) -> Option<String>) -> impl Fn(clap::Error) -> clap::Error {
    let tip = value.to_str().and_then(instead);
    move |mut error| {
        if let Some(tip) = &tip {
            error.remove(ContextKind::SuggestedValue);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        error
    }
}

/// Whether it names a mode, with or without direction and key length.
pub fn is_name_of_mode(text: &str) -> bool {
    !MeasuredMode::named(&split(text).0).is_empty()
}

/// The name of a measured mode without its key length.
fn measured_instead_of(text: &str) -> Option<String> {
    is_name_of_mode(text).then(|| "leave the length out of the name, and give it with --key-bits".into())
}

/// The alternative to modes that are not raw: they make a tag, and must release nothing before it is checked.
fn instead_of(text: &str) -> Option<&'static str> {
    match split(text).0.as_str() {
        "gcm" => Some("`seal` and `open` are AES-256-GCM, in segments; GCM of single messages is in the library"),
        "gcm-siv" => Some(
            "`seal` and `open` authenticate, by AES-256-GCM in segments; AES-GCM-SIV of single messages is in the library",
        ),
        "xaes" | "xaes-gcm" | "xaes-256-gcm" => Some(
            "`seal` and `open` authenticate, by AES-256-GCM in segments; XAES-256-GCM of single messages is in the library",
        ),
        _ => None,
    }
}

fn parse_measured(text: &str) -> Option<MeasuredModes> {
    let (name, key_bits) = split(text);
    Some(MeasuredMode::named(&name)).filter(|modes| !modes.is_empty() && key_bits.is_none())
}

fn parse(text: &str) -> Option<ModeName> {
    let (mode, key_bits) = split(text);
    let mode = <&Mode>::value_variants().iter().find(|known| known.name == mode)?;
    Some(ModeName { mode, key_bits })
}

/// The name of the mode, in lower case, and the key length that the name asks for.
fn split(text: &str) -> (String, Option<KeyBits>) {
    let text = text.to_ascii_lowercase().replace('_', "-");
    let without_dash = |text: &str| text.strip_prefix('-').unwrap_or(text).to_string();
    match text.strip_prefix("aes") {
        Some(rest) => {
            let rest = without_dash(rest);
            let with_bits =
                |bits: KeyBits| Some((without_dash(rest.strip_prefix(&bits.bits().to_string())?), Some(bits)));
            KeyBits::ALL.into_iter().find_map(with_bits).unwrap_or((rest.clone(), None))
        }
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modes() {
        for (text, mode, bits) in [
            ("ctr", "ctr", None),
            ("CTR", "ctr", None),
            ("Cbc", "cbc", None),
            ("aes-ecb", "ecb", None),
            ("aes-128-ctr", "ctr", Some(128)),
            ("AES-192-CBC", "cbc", Some(192)),
            ("aes256-ctr", "ctr", Some(256)),
            ("aes_256_ctr", "ctr", Some(256)),
        ] {
            let parsed = parse(text).unwrap();
            assert_eq!((parsed.mode.name, parsed.key_bits.map(KeyBits::bits)), (mode, bits), "{text}");
        }
        for text in ["", "aes", "aes-256", "aes-512-ctr", "256-ctr", "ctr-256", "aes-256-gcm", "des-ctr"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    /// Help and shells list them.
    #[test]
    fn all_modes_are_possible_values() {
        let modes = <&Mode>::value_variants().iter().map(|mode| mode.name);
        assert!(ModeParser.possible_values().unwrap().map(|value| value.get_name().to_owned()).eq(modes));
        let measured = MeasuredMode::all().iter().map(|mode| mode.name);
        assert!(MeasuredModeParser.possible_values().unwrap().map(|value| value.get_name().to_owned()).eq(measured));
    }

    #[test]
    fn names_of_measured_modes() {
        for mode in MeasuredMode::all() {
            let name = mode.name;
            for text in [name.to_string(), name.to_uppercase(), name.replace('-', "_"), format!("AES-{name}")] {
                assert_eq!(parse_measured(&text), Some(vec![*mode]), "{text}");
            }
        }
        let names = |text| parse_measured(text).unwrap().into_iter().map(|mode| mode.name).collect::<Vec<_>>();
        assert_eq!(names("AES-GCM"), ["gcm-encrypt", "gcm-decrypt"]);
        assert_eq!(names("ecb"), ["ecb-encrypt", "ecb-decrypt"]);
        for text in ["", "aes", "aes-128-ctr", "gcm-siv-", "gmac-siv"] {
            assert!(parse_measured(text).is_none(), "{text}");
        }
    }
}
