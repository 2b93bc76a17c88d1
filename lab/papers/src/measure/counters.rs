//! The counts of NVIDIA's profiler `ncu` while a kernel runs, if it is on the path: this program is started under it, once per kernel.

use crate::case::{Kernel, Work};
use crate::measure::data::{Data, Keys, apply};
use crate::measure::devices::Devices;
use crate::measure::driver::driver;
use crate::measure::printed;
use crate::measured::{COUNTED_BYTES, COUNTERS};
use crate::papers::all;
use crate::papers::paper::Paper;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::env;
use std::process::Command;

/// The counters of the kernels that papers name, by kernel; none for kernels that cannot be counted.
pub fn of(papers: &[&Paper]) -> BTreeMap<String, BTreeMap<String, f64>> {
    let kernels = papers.iter().flat_map(|paper| (paper.counted)());
    kernels.filter_map(|(_, kernel)| Some((kernel.name(), count(&kernel.name()).ok()?))).collect()
}

/// Runs a kernel under the profiler, and reads its counts for the last launch.
fn count(kernel: &str) -> Result<BTreeMap<String, f64>> {
    let program = env::current_exe().context("this program's path")?;
    let metrics = COUNTERS.join(",");
    let mut command = Command::new("ncu");
    command.args(["--csv", "--page", "raw", "--metrics", &metrics]).arg(program).args(["launch", kernel]);
    let output = command.output().context("ncu")?;
    last_launch(&String::from_utf8_lossy(&output.stdout)).context("ncu counted nothing")
}

/// The counters of the last row of a table whose first row names the columns.
fn last_launch(text: &str) -> Option<BTreeMap<String, f64>> {
    let mut rows = text.lines().filter(|line| line.starts_with('"')).map(cells);
    let names = rows.next()?;
    let last = rows.next_back()?;
    let number = |cell: &String| cell.replace(',', "").parse::<f64>().ok();
    let counters: BTreeMap<_, _> = names
        .into_iter()
        .zip(&last)
        .filter(|(name, _)| COUNTERS.contains(&name.as_str()))
        .filter_map(|(name, cell)| Some((name, number(cell)?)))
        .collect();
    (!counters.is_empty()).then_some(counters)
}

/// The cells of a row, each in quotes.
fn cells(row: &str) -> Vec<String> {
    row.trim().trim_matches('"').split("\",\"").map(String::from).collect()
}

/// Launches a kernel of the papers on the first GPU, for the profiler to count: its test first, then [`COUNTED_BYTES`] of random data.
///
/// # Errors
/// For an unknown name, and as for measuring.
pub fn launch(name: &str) -> Result<()> {
    let kernel = all::cases(&all::ALL, 1).into_iter().find_map(|case| match case.work {
        Work::Kernel(kernel) if kernel.name() == name => Some(kernel),
        _ => None,
    });
    let kernel: Kernel = kernel.with_context(|| format!("the papers have no kernel `{name}`"))?;
    let mut devices = Devices::none();
    devices.open_cuda()?;
    let keys = Keys::generate()?;
    let engine = devices.engine(None)?;
    let (cipher, _) = printed::open(engine, &keys, &kernel)?;
    let stream = engine.cuda_context()?.default_stream();
    // With zeros, all lanes would look up the same entries of a table.
    let data = Data::new(&keys, COUNTED_BYTES as usize)?;
    let copy = |bytes: &[u8]| stream.clone_htod(bytes).map_err(driver);
    let (input, mut output) = (copy(&data.input)?, copy(&data.output)?);
    apply(&cipher.device()?, kernel.mode, &stream, (0, [0; 16]), &input, &mut output)?;
    stream.synchronize().map_err(driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_last_launch() {
        let text = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"smsp__inst_executed.sum\",\"other\"\n\
                    \"\",\"\",\"inst\",\"\"\n\"0\",\"k(a, b)\",\"1,000\",\"2\"\n\"1\",\"k(a, b)\",\"2,345,678\",\"4\"\n";
        let counters = last_launch(text).unwrap();
        assert_eq!(counters.into_iter().collect::<Vec<_>>(), [("smsp__inst_executed.sum".into(), 2_345_678.0)]);
        assert!(last_launch("==ERROR== no permission\n").is_none());
    }

    #[test]
    fn a_kernel_that_no_paper_has_is_refused() {
        assert!(launch("no kernel").unwrap_err().to_string().contains("no kernel `no kernel`"));
    }

    #[test]
    fn what_is_counted_is_measured_too() {
        let kernels = all::cases(&all::ALL, 1).into_iter().filter_map(|case| match case.work {
            Work::Kernel(kernel) => Some(kernel.name()),
            _ => None,
        });
        let kernels: Vec<String> = kernels.collect();
        for paper in all::ALL {
            assert!((paper.counted)().iter().all(|(_, kernel)| kernels.contains(&kernel.name())), "{}", paper.name);
        }
    }
}
