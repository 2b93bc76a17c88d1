//! The command line.

use aes_bitslice_runtime::Backend;
use std::time::Duration;

pub struct Options {
    pub time: Duration,
    pub threads: usize,
    pub most: u64,
    pub memory: u64,
    pub backend: Backend,
    pub seed: u64,
    pub planted: bool,
}

/// Buffers of its size that a call has at the same time, at most: the input, the expected output, the actual output, and a copy.
pub const COPIES: u64 = 4;

impl Options {
    pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            time: Duration::ZERO,
            threads: 4,
            most: 1 << 20,
            memory: 0,
            backend: Backend::Auto,
            seed: 1,
            planted: false,
        };
        while let Some(name) = arguments.next() {
            if name == "--planted" {
                options.planted = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
            let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{name} {value}: {e}"));
            let bytes = || {
                let shift = ["K", "M", "G"].iter().position(|unit| value.ends_with(unit)).map_or(0, |i| 10 * (i + 1));
                number(value.strip_suffix(['K', 'M', 'G']).unwrap_or(&value))?
                    .checked_mul(1 << shift)
                    .ok_or_else(|| format!("{name} {value}: too large"))
            };
            match name.as_str() {
                "--minutes" => {
                    let minutes: f64 = value.parse().map_err(|e| format!("{name} {value}: {e}"))?;
                    options.time =
                        Duration::try_from_secs_f64(60.0 * minutes).map_err(|e| format!("{name} {value}: {e}"))?;
                }
                "--threads" => options.threads = number(&value)?.max(1) as usize,
                "--most" => options.most = bytes()?,
                "--memory" => options.memory = bytes()?,
                "--backend" => options.backend = value.parse().map_err(|e| format!("{e}"))?,
                "--seed" => options.seed = number(&value)?,
                _ => return Err(format!("there is no option {name}")),
            }
        }
        if options.memory == 0 {
            options.memory = 4 * COPIES * options.most;
        }
        Ok(options)
    }
}
