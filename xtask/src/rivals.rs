//! Other people's public AES for GPUs, compared with this project's on the same GPU in one run. Their code is not stored here: each is
//! built unchanged from a checkout that the caller has, and NVIDIA's profiler times its kernel while its own program runs it.

use crate::cargo::{Cargo, Profile};
use crate::scratch::Folder;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[derive(clap::Args)]
pub struct Args {
    /// A folder with checkouts, named as their repositories: AES-GPU, AES-BS-GPU, CUDA_AES, fss,
    /// Parallel-implementation-of-GCM-on-GPUs
    checkouts: PathBuf,
    /// This project's command line [default: it is built]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The architecture that `nvcc` compiles for
    #[arg(long, default_value = "sm_90")]
    arch: String,
}

/// Another project's code.
struct Rival {
    /// Its repository on GitHub, whose last part names the checkout.
    repository: &'static str,
    is_bitsliced: bool,
    /// This project's mode to compare with.
    beside: &'static str,
    /// A source that leads to its own program, or to the part of it that runs the kernel, with the additions that today's compiler needs.
    main: &'static str,
    /// The parts of a checkout that are compiled, too.
    sources: &'static [&'static str],
    /// Where a checkout has its headers, and the C++ of its year.
    headers: (&'static str, &'static str),
    /// The kernels that it launches one after the other, as the profiler names them.
    kernels: &'static [&'static str],
    /// Bytes of AES output in a launch of each, as its constants say.
    bytes: u64,
    /// What the kernel computes, where this is not what `openssl enc` does.
    computes: &'static str,
}

/// The program prints a property of the device that CUDA 13 does not have.
const WITHOUT_CLOCK_RATE: &str = "#include <cuda_runtime.h>\n#define clockRate major\n#include \"kernel.cu\"\n";

/// Where most have their headers, and their C++.
const PLAIN: (&str, &str) = ("", "-std=c++17");

/// All have keys of 128 bits, and the first four are CTR, of which the last also hashes. Read at 4c7bfb4, 779fea2, 7487278, 4f04174 and
/// c1ebc87.
const RIVALS: [Rival; 5] = [
    Rival {
        repository: "benlwk/AES-BS-GPU",
        is_bitsliced: true,
        beside: CTR,
        main: WITHOUT_CLOCK_RATE,
        sources: &["AES.cu", "aes_keyschedule_lut.cu", "aes_encrypt_gpu.cu", "aes_encrypt.cu"],
        headers: PLAIN,
        kernels: &["aes128_encrypt_gpu_repeat_coalesced"],
        bytes: 2 << 30,
        computes: "key stream, written in an order of its own and added to no data; counters repeat, for three of their bits are not \
                   taken from the number of the thread",
    },
    Rival {
        repository: "benlwk/AES-GPU",
        is_bitsliced: false,
        beside: CTR,
        main: WITHOUT_CLOCK_RATE,
        sources: &["AES.cu"],
        headers: PLAIN,
        kernels: &["OneTblBytePermReuseUnroll"],
        bytes: 1 << 30,
        computes: "data in an order of its own: all first words of blocks, then all second words, each with its bytes turned round; \
                   the counter starts at 0, and what its upper bytes give is computed on the host and not timed",
    },
    Rival {
        repository: "cihangirtezcan/CUDA_AES",
        is_bitsliced: false,
        beside: CTR,
        main: "#include <cstdio>\n#include <cassert>\n#include <cmath>\n#include <ctime>\n#include <cuda_runtime.h>\n\
               #include \"AES_final.h\"\n#include \"128-ctr.cuh\"\nint main() { return main128Ctr(); }\n",
        sources: &[],
        headers: PLAIN,
        kernels: &["counterWithOneTableExtendedSharedMemoryBytePermPartlyExtendedSBoxCihangir"],
        bytes: 16 << 35,
        computes: "key stream that is written nowhere: neither reads data nor writes any",
    },
    // Lee, Kim, Seo: "Parallel implementation of GCM on GPUs", ICT Express 2025.
    Rival {
        repository: "dlwotjr/Parallel-implementation-of-GCM-on-GPUs",
        is_bitsliced: true,
        beside: CTR,
        main: WITHOUT_CLOCK_RATE,
        sources: &["AES.cu", "aes_keyschedule_lut.cu", "aes_encrypt_gpu.cu", "aes_encrypt.cu"],
        headers: PLAIN,
        kernels: &["aes128_encrypt_gpu_repeat_coalesced", "parallel_GHASH_512thread"],
        bytes: 1 << 30,
        computes: "GCM of 65,536 messages of 16 KiB in part: key stream as above, added to no data, and a hash of it; the hash key is \
                   computed before the key is there, and lengths, additional data and the last XOR of a tag are left out",
    },
    Rival {
        repository: "myl7/fss",
        is_bitsliced: false,
        beside: ECB,
        main: include_str!("rivals/fss.cu"),
        sources: &[],
        headers: ("include", "-std=c++20"),
        kernels: &["two_blocks_of_each_seed"],
        bytes: 2 << 30,
        computes: "the generator of a function secret sharing: AES of a seed, XORed with the seed, under each of two fixed keys \
                   (Matyas-Meyer-Oseas); trees and their corrections are left out",
    },
];

/// This project's modes, by the names of its benchmark.
const CTR: &str = "ctr";
const ECB: &str = "ecb-encrypt";

/// What papers print for GPUs of their own: bits a clock and multiprocessor.
const PRINTED: [(&str, f64); 2] =
    [("Lee et al. 2022, Tesla V100, CTR", 13.7), ("Hajihassani et al. 2019, Tesla V100, CTR", 12.0)];

/// The most launches that are timed of each code: each of others' takes up to half a second. This project's get the same number, because a
/// GPU that is at its power limit call after call is slower.
const LAUNCHES: &str = "5";

pub fn run(root: &Path, args: &Args) -> Result<()> {
    ensure!(
        args.checkouts.is_dir(),
        "`{}` is no folder; give one with checkouts of {}",
        args.checkouts.display(),
        RIVALS.map(|rival| rival.repository).join(", ")
    );
    let program = match &args.program {
        Some(program) => program.clone(),
        None => Cargo::new(root).program("aes-bitslice-cli", "aes-bitslice", Profile::Release)?,
    };
    let folder =
        Folder::create(&std::env::temp_dir(), "aes-bitslice-rivals-").context("cannot make a temporary folder")?;
    let mut rows = Vec::new();
    for rival in &RIVALS {
        let checkout = args.checkouts.join(rival.name());
        if !checkout.is_dir() {
            eprintln!("{}: no checkout `{}`", rival.repository, checkout.display());
            continue;
        }
        let built = rival.build(&checkout, &folder.path, &args.arch)?;
        rows.push((rival, rival.rate(&built)?));
    }
    ensure!(
        !rows.is_empty(),
        "no checkout of {} in `{}`",
        RIVALS.map(|r| r.name()).join(", "),
        args.checkouts.display()
    );
    let modes = [CTR, ECB].into_iter().filter(|mode| rows.iter().any(|(rival, _)| rival.beside == *mode));
    let ours = modes.map(|mode| Ours::measure(&program, mode, &folder.path)).collect::<Result<Vec<_>>>()?;
    say!("{}", table(&rows, &ours));
    Ok(())
}

/// What was measured, in Markdown.
fn table(rows: &[(&Rival, Measured)], ours: &[Ours]) -> String {
    let mut text = "128-bit keys, in GPU memory, Tbit/s:\n\n\
                    | code | rate | bits a clock and multiprocessor | this project's, constant-time | its fastest, with tables | computes |\n\
                    |---|---:|---:|---:|---:|---|"
        .to_string();
    for (rival, Measured { rate, clocks }) in rows {
        let bits = rate * 1e12 / clocks;
        let kind = if rival.is_bitsliced { "bitsliced" } else { "tables" };
        let beside = ours.iter().find(|ours| ours.mode == rival.beside);
        let times = |of: fn(&Ours) -> f64| beside.map_or("not measured".into(), |o| format!("{:.2} ×", of(o) / rate));
        let (slow, fast) = (times(|o| o.constant_time), times(|o| o.fastest));
        let (name, computes) = (rival.repository, rival.computes);
        text += &format!("\n| {name} ({kind}) | {rate:.2} | {bits:.1} | {slow} | {fast} | {computes} |");
    }
    // As many clocks a second as the first of the others had.
    let clocks = rows.first().map_or(f64::NAN, |(_, first)| first.clocks);
    for Ours { mode, constant_time, fastest } in ours {
        for (name, rate) in [("bitsliced", constant_time), ("bitsliced and tables co-resident", fastest)] {
            let bits = rate * 1e12 / clocks;
            text +=
                &format!("\n| this project, {mode}, {name} | {rate:.2} | {bits:.1} | | | data in its order, 4 GiB |");
        }
    }
    for (name, bits) in PRINTED {
        text += &format!("\n| {name}, as printed | | {bits:.1} | | | on a GPU of its own |");
    }
    text
}

impl Rival {
    /// The name of its checkout.
    fn name(&self) -> &'static str {
        self.repository.split_once('/').expect("an owner and a name").1
    }

    /// Compiles it. Its own constants and options stay, except the architecture.
    fn build(&self, checkout: &Path, folder: &Path, arch: &str) -> Result<PathBuf> {
        let built = folder.join(self.name());
        let mut command = Command::new("nvcc");
        let (headers, standard) = self.headers;
        command.args(["-O3", "-w", standard, &format!("-arch={arch}"), "-I"]).arg(checkout.join(headers));
        command.arg("-o").arg(&built);
        let main = folder.join(format!("{}.cu", self.name()));
        fs::write(&main, self.main).with_context(|| format!("cannot write `{}`", main.display()))?;
        command.arg(main).args(self.sources.iter().map(|source| checkout.join(source)));
        let output = command.output().context("cannot run nvcc, which the CUDA toolkit has")?;
        ensure!(output.status.success(), "nvcc refuses {}: {}", self.repository, text_of(&output));
        Ok(built)
    }

    /// The rate of its kernels: of the median launch of all of them, with the clocks that they have without the profiler.
    fn rate(&self, program: &Path) -> Result<Measured> {
        let metrics = [TIME, CLOCKS].join(",");
        let names = format!("regex:^({})$", self.kernels.join("|"));
        let launches = (LAUNCHES.parse::<usize>()? * self.kernels.len()).to_string();
        let output = Command::new("ncu")
            .args(["--csv", "--page", "raw", "--clock-control", "none", "--metrics", &metrics])
            .args(["--kernel-name", &names, "--launch-count", &launches, "--kill", "yes"])
            .arg(program)
            .stdin(Stdio::null())
            .output()
            .context("cannot run ncu, which the CUDA toolkit has")?;
        match self.measured(&String::from_utf8_lossy(&output.stdout)) {
            Some(measured) => Ok(measured),
            None => bail!("ncu saw no launch of {}: {}", self.kernels.join(" and "), text_of(&output)),
        }
    }

    /// From what the profiler prints; `None` if there is no launch in it.
    fn measured(&self, profile: &str) -> Option<Measured> {
        let mut all: Vec<_> = launches_in(profile).chunks_exact(self.kernels.len()).map(together).collect();
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let (nanoseconds, clocks) = *all.get(all.len() / 2)?;
        Some(Measured { rate: 8.0 * self.bytes as f64 / nanoseconds / 1e3, clocks: 1e9 * clocks / nanoseconds })
    }
}

/// What the profiler is asked for: the time of a launch, and the clocks of all multiprocessors while it runs, summed up.
const TIME: &str = "gpu__time_duration.sum";
const CLOCKS: &str = "sm__cycles_elapsed.sum";

/// A rate in Tbit/s, and the clocks of all multiprocessors in a second.
struct Measured {
    rate: f64,
    clocks: f64,
}

/// Time and clocks of launches one after the other.
fn together(launches: &[(f64, f64)]) -> (f64, f64) {
    launches.iter().fold((0.0, 0.0), |(time, clocks), launch| (time + launch.0, clocks + launch.1))
}

/// The time in nanoseconds, and the clocks, of each launch in a profiler's table. Its second row has the units.
fn launches_in(text: &str) -> Vec<(f64, f64)> {
    let cells = |row: &'_ str| -> Vec<String> {
        let row = row.trim().strip_prefix('"').and_then(|row| row.strip_suffix('"')).unwrap_or_default();
        row.split("\",\"").map(String::from).collect()
    };
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(cells);
    let names = rows.next().unwrap_or_default();
    let [time, clocks] = [TIME, CLOCKS].map(|metric| names.iter().position(|name| name == metric));
    let (Some(time), Some(clocks), Some(units)) = (time, clocks, rows.next()) else { return vec![] };
    let unit = match units.get(time).map(String::as_str) {
        Some("ns" | "nsecond") => 1.0,
        Some("us" | "usecond") => 1e3,
        Some("ms" | "msecond") => 1e6,
        Some("s" | "second") => 1e9,
        _ => return vec![],
    };
    let number = |row: &[String], column: usize| row.get(column)?.replace(',', "").parse::<f64>().ok();
    rows.filter_map(|row| Some((number(&row, time)? * unit, number(&row, clocks)?))).collect()
}

/// This project's rates in a mode, in Tbit/s.
struct Ours {
    mode: &'static str,
    constant_time: f64,
    fastest: f64,
}

impl Ours {
    fn measure(program: &Path, mode: &'static str, folder: &Path) -> Result<Self> {
        let rate = |kernel| rate_of(program, mode, kernel, folder);
        Ok(Self { mode, constant_time: rate("bitsliced")?, fastest: rate("co-resident")? })
    }
}

/// Tbit/s of a mode with a kernel of this project on 4 GiB, from its own benchmark, which compares the output first.
fn rate_of(program: &Path, mode: &str, kernel: &str, folder: &Path) -> Result<f64> {
    let json = folder.join(format!("{mode}-{kernel}"));
    let output = Command::new(program)
        .args(["bench", "--backends", "cuda", "--modes", mode, "--key-bits", "128"])
        .args(["--sizes", "4GiB", "--timings", "device", "--runs", LAUNCHES, "--kernel", kernel, "--json"])
        .arg(&json)
        .output()
        .with_context(|| format!("cannot run `{}`", program.display()))?;
    ensure!(output.status.success(), "the benchmark failed: {}", text_of(&output));
    let report: Value = serde_json::from_slice(&fs::read(&json).context("what the benchmark wrote")?)?;
    tbit_per_second(&report).context("the benchmark has no rate")
}

/// From the first row.
fn tbit_per_second(report: &Value) -> Option<f64> {
    Some(report["results"][0]["median_gbytes_per_second"].as_f64()? * 8.0 / 1e3)
}

fn text_of(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_in_any_unit_and_only_of_launches() {
        let table = |unit: &str| {
            format!(
                "==PROF== Connected\n\"ID\",\"Kernel Name\",\"{TIME}\",\"{CLOCKS}\"\n\"\",\"\",\"{unit}\",\"cycle\"\n\
                 \"0\",\"k(a, b)\",\"1,250.5\",\"2,000\"\n\"1\",\"k(a, b)\",\"3\",\"7\"\n"
            )
        };
        assert_eq!(launches_in(&table("us")), [(1_250_500.0, 2_000.0), (3_000.0, 7.0)]);
        assert_eq!(launches_in(&table("ns")), [(1_250.5, 2_000.0), (3.0, 7.0)]);
        assert_eq!(together(&launches_in(&table("ns"))), (1_253.5, 2_007.0));
        assert!(launches_in(&table("parsec")).is_empty());
        assert!(launches_in("==ERROR== no permission\n").is_empty());
    }

    /// What the profiler prints, as far as the table: two kernels in turns for one of the codes, one for the other.
    #[test]
    fn a_row_for_each_code() {
        let profile = |launches: &[(&str, u32)]| {
            let mut text = format!("\"ID\",\"Kernel Name\",\"{CLOCKS}\",\"{TIME}\"\n\"\",\"\",\"cycle\",\"ms\"\n");
            for (i, (kernel, ms)) in launches.iter().enumerate() {
                text +=
                    &format!("\"{i}\",\"{kernel}(const int4 *, int4 *, unsigned long)\",\"1,320,000,000\",\"{ms}\"\n");
            }
            text
        };
        let of = |name: &str| RIVALS.iter().find(|rival| rival.name() == name).unwrap();
        let (gcm, fss) = (of("Parallel-implementation-of-GCM-on-GPUs"), of("fss"));
        let [first, second] = [gcm.kernels[0], gcm.kernels[1]];
        // The median of 12, 10 and 11 ms, and of 4, 8 and 6.
        let both = profile(&[(first, 9), (second, 3), (first, 7), (second, 3), (first, 8), (second, 3)]);
        let seeds = profile(&[(fss.kernels[0], 4), (fss.kernels[0], 8), (fss.kernels[0], 6)]);
        let rows = [(gcm, gcm.measured(&both).unwrap()), (fss, fss.measured(&seeds).unwrap())];
        let ours = [(CTR, 6.0), (ECB, 5.0)].map(|(mode, rate)| Ours { mode, constant_time: rate, fastest: 1.5 * rate });
        let text = table(&rows, &ours);
        let cells = |name: &str| {
            let row = text.lines().find(|row| row.contains(name)).expect(name);
            row.split(" | ").skip(1).take(4).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(cells("dlwotjr"), ["0.78", "3.3", "7.68 ×", "11.53 ×"]);
        assert_eq!(cells("myl7"), ["2.86", "13.0", "1.75 ×", "2.62 ×"]);
        assert_eq!(cells("ecb-encrypt, bitsliced |")[..1], ["5.00"]);
        assert!(table(&rows, &ours[..1]).contains("(tables) | 2.86 | 13.0 | not measured | not measured |"));
        assert!(fss.measured(&profile(&[])).is_none());
        // The programs launch the kernels that the profiler is asked for.
        for kernel in fss.kernels {
            assert!(fss.main.contains(&format!("void {kernel}(")) && fss.main.contains(&format!("{kernel}<<<")));
        }
    }

    #[test]
    fn a_rate_is_that_of_the_first_row() {
        let report = serde_json::json!({ "results": [{ "median_gbytes_per_second": 750.0 }] });
        assert_eq!(tbit_per_second(&report), Some(6.0));
        assert_eq!(tbit_per_second(&serde_json::json!({ "results": [] })), None);
    }

    #[test]
    fn a_folder_without_checkouts_is_refused_before_anything_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let args = Args { checkouts: folder.path().into(), program: Some("no program".into()), arch: "sm_90".into() };
        let error = run(Path::new("."), &args).unwrap_err().to_string();
        assert!(error.contains("AES-BS-GPU, AES-GPU, CUDA_AES"), "{error}");
        let missing = Args { checkouts: folder.path().join("none"), ..args };
        assert!(run(Path::new("."), &missing).unwrap_err().to_string().contains("benlwk/AES-GPU"));
    }
}
