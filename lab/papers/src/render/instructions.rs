//! Instructions of the main paper's kernel by layer, and the highest rate that they allow: why rates are not in the ratio of single
//! precision.

use crate::measured::Gpu;
use crate::papers::claim::Sentence;
use crate::papers::hajihassani_2019::{BYTES, ON_PLANES, PAPER, REPRESENTATION, ROWS, SIZES, TABLES, V100, WAYS};
use crate::render::page::{Page, figure, percent, times};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::counted;
use aes_bitslice_plot::size;
use std::collections::BTreeMap;

/// What `cargo xtask papers --count` wrote: by architecture and kernel, all instructions, those of the loop of rounds, and registers.
const COUNTS: &str = include_str!("../../instructions.json");

/// Bits of the 32 blocks of a thread.
const BITS: f64 = 32.0 * 128.0;
/// Lanes of a multiprocessor for logic, on compute capability 7.0 to 9.0: half as many as for single precision on 9.0, as many on 7.0.
const LANES: f64 = 64.0;

/// The counts, by architecture and kernel.
fn counts() -> BTreeMap<String, BTreeMap<String, [u32; 3]>> {
    serde_json::from_str(COUNTS).expect("counts")
}

/// The instructions that a thread executes, by architecture and kernel.
pub fn executed() -> BTreeMap<String, BTreeMap<&'static str, i64>> {
    let of = |counts: BTreeMap<String, [u32; 3]>| {
        let runs = counted::runs();
        runs.into_iter().filter_map(move |(name, runs)| {
            let [all, rounds, _] = counts.get(name)?;
            Some((name, i64::from(*all) + (runs - 1) * i64::from(*rounds)))
        })
    };
    counts().into_iter().map(|(architecture, counts)| (architecture, of(counts).collect())).collect()
}

/// The registers of a thread on compute capability 9.0, and the share of a multiprocessor's 2,048 threads that are resident at a time,
/// in thread blocks of `threads` threads.
pub fn registers(name: &str, threads: u32) -> Option<(u32, f64)> {
    let [.., registers] = *counts().get("sm_90")?.get(name)?;
    // There are 65,536, which warps get in units of 256, that is eight for each thread.
    let warps = (65_536 / (32 * registers.next_multiple_of(8))).min(64);
    let thread_blocks = warps / (threads / 32);
    Some((registers, f64::from(thread_blocks * threads) / 2048.0))
}

/// The layers, with what each takes for 32 blocks.
fn layers(executed: &BTreeMap<&'static str, i64>) -> Option<Vec<(&'static str, i64)>> {
    let of = |name| executed.get(name).copied();
    let all = of(counted::PAPER)?;
    let representation = all - of(counted::ON_PLANES)?;
    // ShiftRows is left out alone, and with MixColumns.
    let [sub_bytes, _, mix_columns, keys] = counted::LAYERS.map(|(name, _)| of(name).map(|without| all - without));
    let (sub_bytes, mix_columns, keys) = (sub_bytes?, mix_columns?, keys?);
    let rest = all - representation - sub_bytes - mix_columns - keys;
    Some(vec![
        ("both changes of representation", representation),
        ("SubBytes, ten rounds", sub_bytes),
        ("ShiftRows and MixColumns, nine rounds", mix_columns),
        ("AddRoundKey, eleven keys, nine of them by multiplexers", keys),
        ("copies through shared memory, loop", rest),
        ("all", all),
    ])
}

/// The section; none without counts.
pub fn render(page: &mut Page) {
    let executed = executed();
    let [Some(old), Some(new)] = ["sm_75", "sm_90"].map(|architecture| executed.get(architecture)) else { return };
    let (Some(old_layers), Some(new_layers)) = (layers(old), layers(new)) else { return };
    page.say("### Why the figures differ: instructions for 32 blocks");
    page.say(
        "Counted in the machine code of the paper's kernel with one-hot keys (ECB, a key of 128 bits) by `cargo xtask \
         papers --count`: all instructions once, and those of the loop of rounds as often as it is run. What a layer \
         takes is the difference without it in any round, so the compiler's choices are in it. NVRTC 13 does not compile for \
         a V100's compute capability 7.0; 7.5 is the nearest.",
    );
    let mut rows = vec![["layer", "compute capability 7.5:", "9.0:", "of all:"].map(String::from).to_vec()];
    let all = new[counted::PAPER] as f64;
    for ((name, old), (_, new)) in old_layers.into_iter().zip(new_layers) {
        rows.push(vec![name.into(), old.to_string(), new.to_string(), percent(Some(new as f64), Some(all))]);
    }
    page.table(&rows);
    earlier(page, old, new);
    ceilings(page, old, new);
}

/// Instructions of other kernels for as many blocks.
fn earlier(page: &mut Page, old: &BTreeMap<&'static str, i64>, new: &BTreeMap<&'static str, i64>) {
    let paper = new[counted::PAPER] as f64;
    let mut rows = vec![["kernel, 32 blocks", "7.5:", "9.0:", "to the paper's:"].map(String::from).to_vec()];
    for (name, what, threads) in [
        (counted::PAPER, "the paper's, 32 blocks a thread", 1),
        (counted::NETLIST, "the same with Canright's own netlist", 1),
        (counted::EARLIER[0], "four blocks in eight words of 64 bits, eight threads", 8),
        (counted::EARLIER[1], "two blocks in eight words of 32 bits, sixteen threads", 16),
    ] {
        let of = |counts: &BTreeMap<&'static str, i64>| counts.get(name).map(|count| threads * count);
        let told = |count: Option<i64>| count.map_or_else(|| figure(None), |count| count.to_string());
        let ratio = times(of(new).map(|count| count as f64), paper);
        rows.push(vec![what.into(), told(of(old)), told(of(new)), ratio]);
    }
    page.say(
        "That “the number of instructions does not increase linearly with the number of data elements” (section 3) \
         holds in this sense: with more blocks a thread, a block takes fewer instructions. Each thread of the earlier \
         code is counted with its share of packing the round keys.",
    );
    page.table(&rows);
}

/// The sentence about instructions and data, of threads with 2 and with 32 blocks.
pub fn growth() -> Sentence {
    /// How many times as many blocks the paper's thread has.
    const DATA: f64 = 16.0;
    let executed = executed();
    let counts = executed.get("sm_90").and_then(|counts| {
        let of = |name| counts.get(name).map(|count| *count as f64);
        of(counted::EARLIER[1]).zip(of(counted::PAPER))
    });
    let told = |growth: f64| {
        let (few, many) = counts.expect("there is growth, so there are counts");
        format!(
            "{growth:.1} times the instructions of a thread for {DATA} times the data: {few} for two blocks in eight words of 32 \
             bits, {many} for 32 blocks, compute capability 9.0"
        )
    };
    Sentence::judged(
        "the number of instructions does not linearly increase with the number of data elements (3, 4.3)",
        "",
        counts.map(|(few, many)| many / few),
        told,
        |growth| growth < DATA,
    )
}

/// The highest rate that a kernel's instructions allow, in Gbit/s.
fn allowed(multiprocessors: f64, ghz: f64, instructions: i64) -> f64 {
    LANES * multiprocessors * ghz * BITS / instructions as f64
}

/// The GPU that was measured, and its clock in GHz with data of this size.
fn measured<'a>(page: &'a Page<'_>, bytes: u64) -> Option<(&'a Gpu, f64)> {
    let clock = page.run.times(TABLES, &WAYS[1].case(Mode::EcbEncrypt), bytes).ok().and_then(|times| times.clock_mhz);
    page.run.gpus.first().map(|gpu| (gpu, clock.unwrap_or(f64::from(gpu.clock_mhz)) / 1e3))
}

/// The rate of the paper's kernel with one-hot keys as a part of the highest that its instructions allow.
pub fn busy(page: &mut Page) -> Option<f64> {
    let instructions = *executed().get("sm_90")?.get(counted::PAPER)?;
    let (gpu, ghz) = measured(page, SIZES[1])?;
    let most = allowed(f64::from(gpu.multiprocessors), ghz, instructions);
    Some(page.gbits(TABLES, &WAYS[1].case(Mode::EcbEncrypt), SIZES[1])? / most)
}

/// The highest rates that the instructions allow.
fn ceilings(page: &mut Page, old: &BTreeMap<&'static str, i64>, new: &BTreeMap<&'static str, i64>) {
    let (multiprocessors, clocks) = V100;
    let mut rows = vec![
        ["GPU", "clock, GHz:", "at most, ECB:", "at most, data in planes:", "ECB:", "data in planes:"]
            .map(String::from)
            .to_vec(),
    ];
    let theirs = ROWS[ROWS.len() - 1].ecb.0.value() * PAPER.gbit;
    for clock in clocks {
        let [ecb, planes] =
            [counted::PAPER, counted::ON_PLANES].map(|name| Some(allowed(multiprocessors, clock, old[name])));
        rows.push(vec![
            "Tesla V100, the paper's figure".into(),
            format!("{clock:.2}"),
            figure(ecb),
            figure(planes),
            figure(Some(theirs)),
            String::new(),
        ]);
    }
    let case = WAYS[1].case(Mode::EcbEncrypt);
    if let Some((Gpu { name, multiprocessors, .. }, ghz)) = measured(page, BYTES) {
        let (name, multiprocessors) = (name.clone(), *multiprocessors);
        let [ecb, planes] =
            [counted::PAPER, counted::ON_PLANES].map(|name| Some(allowed(f64::from(multiprocessors), ghz, new[name])));
        let rate = page.gbits(TABLES, &case, BYTES);
        let on_planes = page.gbits(REPRESENTATION, ON_PLANES, BYTES);
        rows.push(vec![name, format!("{ghz:.2}"), figure(ecb), figure(planes), figure(rate), figure(on_planes)]);
    }
    page.say(&format!(
        "The scale between two GPUs for this kernel is not single precision but lanes for logic: 64 of a multiprocessor, \
         on both. Multiprocessors times lanes times clock times the 4,096 bits of 32 blocks, divided by the instructions, is \
         the highest rate in Gbit/s of 10^9 bits, if every lane is busy. The V100's clock is that which table 2 implies, and \
         then the highest that NVIDIA gives; this GPU's is that counted under this load, or the driver's where it was not. The rates are of {}, which is also what \
         the paper encrypts (2^31 bits).",
        size(BYTES)
    ));
    page.table(&rows);
    page.say(
        "The paper's ECB figure, 1,385 Gbit/s if its Gbit are of 10^9 bits and 1,487 if they are of 2^30, is above what these \
         instructions allow at either clock. So its kernel has fewer of them, or its time leaves something out, such as \
         the change of representation, which section 6.3 names as a stage of its own: with data in planes the figure is \
         at the ceiling of the higher clock. And an S-box of 253 executed gates is excluded, because 160 of them are 40,480 \
         instructions for 32 blocks.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the driver of an H200 reports it: the table of section 6.2.
    #[test]
    fn registers_limit_the_threads() {
        assert_eq!(registers(counted::PAPER, 64), Some((255, 0.125)));
        assert_eq!(registers("none", 64), None);
    }
}
