//! The figures in the folder that `run.sh bench` fills: JSON of `aes-bitslice bench`, and what examples print.

use super::figures::Run;
use aes_bitslice_plot::size;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What examples print, by the name of their step in `run.sh`: lines of the name of a row and these columns.
const LOGS: [(&str, &[&str]); 3] = [
    ("many-keys", &["events", "alone", "ahead", "one key", "one key alone", "one key ahead"]),
    ("cpu-speed", &["ECB encrypt", "ECB decrypt", "CBC decrypt", "CTR"]),
    ("sealed", &["GB/s"]),
];

/// Reads a folder of results.
///
/// # Errors
/// If it lacks the description of the machine, or has no figures.
pub fn read(folder: &Path) -> Result<Run> {
    let text = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let about = text("machine.txt")?;
    let [commit, date, machine] = about.lines().collect::<Vec<_>>()[..] else {
        bail!("machine.txt in `{}` has not three lines: the commit, the day, the machine", folder.display());
    };
    let mut figures = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if name.ends_with(".json") {
            let report = serde_json::from_str(&text(&name)?).with_context(|| name.clone())?;
            figures.extend(bench(&report).with_context(|| format!("{name} is not what `bench --json` writes"))?);
        }
        if let Some((step, columns)) = LOGS.iter().find(|(step, _)| name.strip_suffix(".log") == Some(step)) {
            figures.extend(log(step, columns, &text(&name)?));
        }
    }
    if figures.is_empty() {
        bail!("there are no figures in `{}`", folder.display());
    }
    // Four digits are more than two runs have in common.
    figures.values_mut().for_each(|value| *value = format!("{value:.3e}").parse().expect("a number"));
    Ok(Run { commit: commit.into(), date: date.into(), machine: machine.into(), figures })
}

/// The figures of `bench`: in device memory in Tbit/s, also of calls in a row, of new keys in µs, all others in GB/s. None if a field is
/// missing.
fn bench(report: &Value) -> Option<Vec<(String, f64)>> {
    let mut figures = Vec::new();
    let bytes = |row: &Value| row["bytes"].as_u64().map(size);
    let gbytes = |row: &Value| row["median_gbytes_per_second"].as_f64();
    let backend = |row: &Value| row["backend"].as_str().map(String::from);
    for row in report["results"].as_array()? {
        let mut mode = row["mode"].as_str()?.to_string();
        if let Some(sector) = row["sector_bytes"].as_u64() {
            mode += &format!(" {sector}");
        }
        if let Some(kernel) = row["kernel"].as_str().filter(|kernel| *kernel != "auto") {
            mode += &format!(" {kernel}");
        }
        let (bits, timing) = (row["key_bits"].as_u64()?, row["timing"].as_str()?);
        let (messages, keys) = (row["messages"].as_u64(), row["keys"].as_u64());
        let mut bytes = match messages {
            Some(messages) => format!("{messages} x {}", size(row["bytes"].as_u64()? / messages)),
            None => bytes(row)?,
        };
        if let Some(keys) = keys.filter(|_| keys != messages) {
            bytes += &format!(" under {keys} keys");
        }
        figures.push(match timing {
            "device" | "stream" | "stream-arrays" => {
                (format!("{timing}/{mode}/{bits}, {bytes}"), row["median_tbits_per_second"].as_f64()?)
            }
            _ => (format!("host/{} {timing} {mode} {bits}/{bytes}", backend(row)?), gbytes(row)?),
        });
    }
    for row in report["copies"].as_array()? {
        figures.push((format!("host/{} copy/{}", backend(row)?, bytes(row)?), gbytes(row)?));
    }
    for row in report["new_keys"].as_array()? {
        let name = format!("new key/{} {}", backend(row)?, row["key_bits"].as_u64()?);
        let microseconds = |field: &str| Some(1e6 * row[field].as_f64()?);
        figures.push((format!("{name}/end"), microseconds("median_seconds_to_end")?));
        figures.extend(microseconds("median_seconds_to_launch").map(|launch| (format!("{name}/launch"), launch)));
    }
    for row in report["files"].as_array()? {
        let (program, mode, bits) = (row["program"].as_str()?, row["mode"].as_str()?, row["key_bits"].as_u64()?);
        let (files, bytes) = (row["files"].as_u64()?, bytes(row)?);
        figures.push((format!("files/{program} {mode} {bits}/{files}, {bytes}"), gbytes(row)?));
    }
    Some(figures)
}

/// The figures of lines that end with a number for each column; what stands before these is the name of the row.
fn log(step: &str, columns: &[&str], text: &str) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.len().checked_sub(columns.len()).filter(|&at| at > 0) else { continue };
        let Ok(values) = words[at..].iter().map(|word| word.parse()).collect::<Result<Vec<f64>, _>>() else { continue };
        let row = words[..at].join(" ");
        figures.extend(columns.iter().zip(values).map(|(column, value)| (format!("{step}/{row}/{column}"), value)));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report() -> Value {
        let rates = |mut row: Value| {
            row["median_gbytes_per_second"] = json!(787.512);
            row["median_tbits_per_second"] = json!(6.300_096);
            row["bytes"] = json!(4_u64 << 30);
            row
        };
        json!({
            "results": [
                rates(json!({"mode": "ctr", "key_bits": 128, "kernel": "auto", "backend": "cuda", "timing": "device"})),
                rates(json!({"mode": "ctr", "key_bits": 256, "kernel": "tbox", "backend": "cuda", "timing": "device"})),
                rates(json!({"mode": "cmac", "key_bits": 128, "kernel": "auto", "backend": "cuda", "timing": "stream",
                    "messages": 1 << 20})),
                rates(json!({"mode": "ctr", "key_bits": 128, "kernel": "auto", "backend": "cuda", "timing": "device",
                    "messages": 1 << 14, "keys": 1 << 14})),
                rates(json!({"mode": "ctr", "key_bits": 128, "kernel": "auto", "backend": "cuda", "timing": "device",
                    "messages": 1 << 14, "keys": 64})),
                rates(json!({"mode": "xts-encrypt", "sector_bytes": 512, "key_bits": 128, "kernel": null, "backend": "cpu",
                    "timing": "host-in-place"})),
            ],
            "copies": [rates(json!({"backend": "cuda"}))],
            "new_keys": [{"backend": "cuda", "key_bits": 128, "median_seconds_to_launch": 8.4e-6, "median_seconds_to_end": 2e-5}],
            "files": [rates(json!({"program": "openssl", "mode": "ctr", "key_bits": 128, "files": 16}))],
        })
    }

    /// A folder with all kinds of results becomes one run; rows of text are left out.
    #[test]
    fn a_folder_of_results() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert!(format!("{:#}", read(folder.path()).err().unwrap()).contains("machine.txt"));
        write("machine.txt", "1234567\n2026-11-26\nNVIDIA H200, 16 cores\n");
        assert!(format!("{:#}", read(folder.path()).err().unwrap()).contains("no figures"));
        write("bench-device.json", &report().to_string());
        write("sealed.log", "1 2 3\nseal cpu 5.25\nopen cpu -\n");
        let run = read(folder.path()).unwrap();
        assert_eq!((run.commit.as_str(), run.date.as_str()), ("1234567", "2026-11-26"));
        let found: Vec<String> = run.figures.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let expected = [
            "device/ctr tbox/256, 4 GiB = 6.3",
            "device/ctr/128, 16384 x 256 KiB = 6.3",
            "device/ctr/128, 16384 x 256 KiB under 64 keys = 6.3",
            "device/ctr/128, 4 GiB = 6.3",
            "files/openssl ctr 128/16, 4 GiB = 787.5",
            "host/cpu host-in-place xts-encrypt 512 128/4 GiB = 787.5",
            "host/cuda copy/4 GiB = 787.5",
            "new key/cuda 128/end = 20",
            "new key/cuda 128/launch = 8.4",
            "sealed/1 2/GB/s = 3",
            "sealed/seal cpu/GB/s = 5.25",
            "stream/cmac/128, 1048576 x 4 KiB = 6.3",
        ];
        assert_eq!(found, expected);
        write("bench-device.json", "{}");
        assert!(format!("{:#}", read(folder.path()).err().unwrap()).contains("bench-device.json"));
    }
}
