//! Figures 11 to 13: kernels over sizes, on the GPU and on the processor through OpenCL, and how many times faster it is.

use crate::measured::{Clock, Kind, OpenClDevice};
use crate::papers::claim::{SAME, Sentence};
use crate::papers::ul_haq_2011::{
    CONSTANT_SBOX, CPU, CPU_POWERS, ENGINES, FIGURE_11, FIGURE_12, KEY_BITS, LARGEST, OTHER, OTHERS, PAPER, POWERS,
    SPEED_UPS, Way, main_ways, ways,
};
use crate::render::instructions;
use crate::render::page::{Page, bold_if, figure, least, percent, times};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_papers::kernels::counted;
use aes_bitslice_plot::{Chart, Line, Lines, colour, dashes, size};

const NOTES: &str = include_str!("../../notes/ul-haq-2011.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    let mut charts = Vec::new();
    figure_11(page, &mut charts);
    others(page);
    figure_12(page);
    figure_13(page, &mut charts);
    page.plots(
        "papers-ul-haq-2011.svg",
        "Throughput of Ul Haq et al.'s kernels over the size, and their speed-up",
        &charts,
    );
    page.claims(&PAPER, vec![registers()]);
    constant_sbox(page);
    page.say("### What is simplified");
    page.say(NOTES);
}

/// The sentence about registers, counted in the basic kernel in CUDA C.
fn registers() -> Sentence {
    let counted = instructions::registers(counted::BASIC, 256);
    let told = |threads: f64| {
        let registers = counted.map_or(0, |(registers, _)| registers);
        format!(
            "the basic kernel in CUDA C, compiled for compute capability 9.0: {registers} registers, so {} of a \
             multiprocessor's threads, in work-groups of 256",
            percent(Some(threads), Some(1.0))
        )
    };
    let says = "calculations in registers limit the number of parallel threads (Memory Optimizations)";
    Sentence::judged(says, "", counted.map(|(_, threads)| threads), told, |threads| threads < 1.0)
}

/// The outcome with an S-box in constant memory, about which there are several claims.
fn constant_sbox(page: &mut Page) {
    let claims = (PAPER.claims)();
    let ratio = |compared| {
        let claim = claims.iter().find(|claim| claim.compared == compared).expect("a claim of this paper");
        page.ratio(claim)
    };
    let [global, constant, local] = CONSTANT_SBOX.map(ratio);
    let is_slow = |ratio: Option<f64>| ratio.map(|ratio| ratio < 1.0 - SAME);
    if [global, constant, local].map(is_slow) == [Some(true), Some(false), Some(true)] {
        page.say(
            "An S-box in constant memory is slow with keys in global memory and in local memory; with keys in constant \
             memory, too, it is as fast as the basic kernel, at every size. A GPU's constant memory serves one address \
             of a warp after the other, and the threads of a warp look up different entries: slow is what an S-box \
             there should be. With keys in constant memory, too, it is not there. The driver's own machine code was not \
             read. But compiled by clang 15 to PTX and by `ptxas` 13.0 for compute capability 9.0, the kernel with keys in \
             global memory has 64 instructions `LDC.U8` for the 64 look-ups of its two entry points, and the kernel with keys in \
             constant memory has none. [A program](../lab/papers/notes/constant-space.ptx) shows it that looks up bytes of an \
             array in constant space, and is passed a pointer. If the pointer is to global memory, a look-up and a load \
             through the pointer are",
        );
        page.say("```text\nLDC.U8 R6, c[0x3][R6]\nLDG.E R13, desc[UR4][R12.64]\n```");
        page.say("and if it is to constant memory, as OpenCL's `__constant` arguments are,");
        page.say(
            "```text\nULDC.64 UR6, c[0x4][0x0]\nLDG.E.U8.CONSTANT R8, desc[UR4][R8.64]\n\
             LDG.E.CONSTANT R11, desc[UR4][R10.64]\n```",
        );
        page.say(
            "`LDC` reads bank 3 of constant memory, one address after the other; `LDG` reads global memory, here at the address \
             of the array, which is in bank 4, and through the cache for what is only read. An argument may point to more than \
             a bank holds, so the assembler takes all of constant space for global memory. That row compares global memory \
             with itself. The S-box in local memory shows the cost of key expansion.",
        );
    }
}

/// The name of a device, or of none where there was none.
fn name(page: &Page, kind: Kind) -> String {
    page.run.opencl(kind).map_or_else(|| format!("no {kind}"), |device| device.name.clone())
}

/// Milliseconds in three digits or more: small inputs take microseconds.
pub fn ms(time: Option<f64>) -> String {
    let decimals = |time: f64| (2.0 - time.log10().floor()).clamp(2.0, 6.0) as usize;
    time.filter(|&time| time < 1.0).map_or_else(|| figure(time), |time| format!("{time:.0$}", decimals(time)))
}

/// A device, and whose clock timed it.
fn described(page: &Page, kind: Kind) -> String {
    let Some(device) = page.run.opencl(kind) else {
        return format!("No {kind} was there.");
    };
    let OpenClDevice { platform, name, driver, compute_units, clock, .. } = device;
    let clock = match clock {
        Clock::Device => "by its own clock",
        Clock::Host => "by the host's clock, which counts the launch, too",
    };
    format!(
        "The {kind} is {name}, {compute_units} compute units, on the platform {platform}, driver {driver}; times are \
         {clock}."
    )
}

fn figure_11(page: &mut Page, charts: &mut Vec<Chart>) {
    page.say("### Fig. 11: kernels on the GPU, over the size of the input");
    page.say(&format!(
        "ECB encryption with keys of {} bits, milliseconds from one buffer in the GPU's memory to another; the \
         shortest time of a size is bold. A thread has one block, as bytes. The basic kernel has its tables and the \
         expanded key in buffers in global memory, and reads and writes byte by byte into the columns of its state. \
         The others have one or more of these elsewhere; each is also measured with vectors of 16 bytes. Local keys \
         are expanded by the first thread of each work-group of 256; all others by the host. The last kernel is this \
         project's bitsliced one, also in OpenCL C. {}",
        KEY_BITS.bits(),
        described(page, Kind::Gpu),
    ));
    over_sizes(page, FIGURE_11, Kind::Gpu, ways(Direction::Encrypt), &POWERS);
    charts.extend(chart_11(page));
}

/// A table of times by kernel and size, and how many times as fast as the first kernel it is at the largest size.
fn over_sizes(page: &mut Page, table: &str, kind: Kind, ways: Vec<Way>, powers: &[u32]) {
    let sizes: Vec<u64> = powers.iter().map(|power| 1 << power).collect();
    let mut rows = vec![vec![format!("kernel, on {}, ms", name(page, kind))]];
    rows[0].extend(sizes.iter().map(|&bytes| format!("{}:", size(bytes))));
    rows[0].push("to the basic kernel:".into());
    let mut times_of = |way: &Way| -> Vec<Option<f64>> {
        sizes.iter().map(|&bytes| page.milliseconds(table, &way.name, bytes)).collect()
    };
    let all: Vec<_> = ways.into_iter().map(|way| (times_of(&way), way)).collect();
    let shortest: Vec<_> = (0..sizes.len()).map(|i| least(all.iter().map(|(times, _)| times[i]))).collect();
    let base = all.first().and_then(|(times, _)| *times.last()?);
    for (times, way) in &all {
        let shown =
            times.iter().zip(&shortest).map(|(&time, &least)| bold_if(time.is_some() && time == least, ms(time)));
        let last = ratio(base, times.last().copied().flatten());
        rows.push([way.name.clone()].into_iter().chain(shown).chain([last]).collect());
    }
    page.table(&rows);
}

/// The throughput that the times amount to.
fn chart_11(page: &mut Page) -> Option<Chart> {
    let colours = [colour::GREY, colour::PURPLE, colour::VERMILION, colour::GREEN];
    let mut lines = Vec::new();
    for (index, way) in main_ways(Direction::Encrypt).into_iter().enumerate() {
        let rate = |power: u32| Some((power.into(), page.gbits(FIGURE_11, &way.name, 1 << power)?));
        let points: Vec<(f64, f64)> = POWERS.into_iter().filter_map(rate).collect();
        let (name, colour, dashes) = if way.is_the_papers {
            (short(&way.name), colours[index % colours.len()], dashes::LONG)
        } else {
            (way.name, colour::BLUE, dashes::SOLID)
        };
        lines.extend((!points.is_empty()).then_some(Line { name, colour, dashes, points }));
    }
    let title = format!("Ul Haq et al. 2011, fig. 11, as throughput on {}", name(page, Kind::Gpu));
    (!lines.is_empty()).then_some(Chart::Lines(Lines { title, x: "size of the input", y: "Gbit/s, median", lines }))
}

/// A name that fits at the end of a line.
fn short(name: &str) -> String {
    name.replace("S-box ", "")
        .replace("; keys ", ", ")
        .replace(", expanded there", "")
        .replace("as an ", "")
        .replace("; vectors", "")
        .replace("; by bytes (the basic kernel)", ": basic")
}

fn others(page: &mut Page) {
    page.say("### Keys of all lengths, and decryption");
    page.say(&format!(
        "{}, milliseconds. Decryption is the inverse cipher, with the same round keys. The article says that all \
         transformations except SubBytes stay the same in it: that is an error. ShiftRows goes the other way, and \
         MixColumns multiplies by other constants (FIPS 197, section 5.3), as it does here.",
        size(LARGEST)
    ));
    let mut rows = vec![vec!["kernel".to_string()]];
    for direction in ["encryption", "decryption"] {
        rows[0].extend([128, 192, 256].map(|bits| format!("{direction}, {bits} bits:")));
    }
    rows[0].push("decryption to encryption, 256 bits:".into());
    for way in main_ways(Direction::Encrypt) {
        let times = OTHER.map(|other| page.milliseconds(OTHERS, &way.other(other), LARGEST));
        let last = ratio(times[5], times[2]);
        rows.push([way.name].into_iter().chain(times.map(ms)).chain([last]).collect());
    }
    page.table(&rows);
}

/// How many times as much, if both are there.
pub fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    times(b.and(a), b.unwrap_or(1.0))
}

fn figure_12(page: &mut Page) {
    page.say("### Fig. 12: GPU and processor through OpenCL");
    page.say(&format!(
        "The same kernels on the processor, milliseconds, at least 3 runs. {}",
        described(page, Kind::Cpu)
    ));
    over_sizes(page, FIGURE_12, Kind::Cpu, main_ways(Direction::Encrypt), &CPU_POWERS);
    page.say(&format!(
        "Milliseconds of the fastest of the paper's kernels on each device, and of this project's; and, for scale, of \
         the processor without OpenCL, from host memory to host memory by the host's clock: {}.",
        page.run.cpu
    ));
    let mut rows = vec![vec!["size".to_string()]];
    for kind in [Kind::Gpu, Kind::Cpu] {
        rows[0].extend([format!("the paper's on the {kind}:"), format!("bitsliced on the {kind}:")]);
    }
    rows[0].extend(ENGINES.map(|(_, name)| format!("{name}:")));
    rows[0].extend([Kind::Gpu, Kind::Cpu].map(|kind| format!("bitsliced to the paper's, {kind}:")));
    for bytes in CPU_POWERS.map(|power| 1 << power) {
        let Times { gpu, cpu, engines } = Times::new(page, bytes);
        let times = gpu.into_iter().chain(cpu).chain(engines);
        // How many times as fast.
        let ratios = [gpu, cpu].map(|[papers, ours]| ratio(papers, ours));
        rows.push([size(bytes)].into_iter().chain(times.map(ms)).chain(ratios).collect());
    }
    page.table(&rows);
}

/// The times for a size, in milliseconds.
struct Times {
    /// On the GPU: the fastest of the paper's kernels, and this project's.
    gpu: [Option<f64>; 2],
    /// On the processor: the fastest of the paper's kernels, and this project's.
    cpu: [Option<f64>; 2],
    /// Without OpenCL.
    engines: [Option<f64>; ENGINES.len()],
}

impl Times {
    fn new(page: &mut Page, bytes: u64) -> Self {
        let mut fastest = |table| {
            [true, false].map(|is_the_papers| {
                let ways = main_ways(Direction::Encrypt).into_iter().filter(|way| way.is_the_papers == is_the_papers);
                least(ways.map(|way| page.milliseconds(table, &way.name, bytes)).collect::<Vec<_>>())
            })
        };
        let (gpu, cpu) = (fastest(FIGURE_11), fastest(FIGURE_12));
        Self { gpu, cpu, engines: ENGINES.map(|(_, name)| page.milliseconds(FIGURE_12, name, bytes)) }
    }
}

fn figure_13(page: &mut Page, charts: &mut Vec<Chart>) {
    page.say("### Fig. 13: how many times as fast the GPU is");
    let theirs = SPEED_UPS.map(|(gpu, most)| format!("up to {most} times with a {gpu}")).join(" and ");
    page.say(&format!(
        "The paper has {theirs}, both against a {CPU} with 8 threads through OpenCL. Here it is {} against {}: the \
         basic kernel on both; the fastest of the paper's kernels of fig. 12 on each; this project's on both; and the \
         fastest kernel on the GPU against the processor's AES instructions, without OpenCL.",
        name(page, Kind::Gpu),
        name(page, Kind::Cpu),
    ));
    let names = ["the basic kernel", "the paper's fastest", "bitsliced", "against AES instructions"];
    let mut rows = vec![[vec!["size".to_string()], names.map(|name| format!("{name}:")).to_vec()].concat()];
    let basic = main_ways(Direction::Encrypt)[0].name.clone();
    let colours = [colour::PURPLE, colour::VERMILION, colour::BLUE, colour::GREEN];
    let mut lines = colours.map(|colour| (colour, Vec::new()));
    for power in CPU_POWERS {
        let Times { gpu, cpu, engines } = Times::new(page, 1 << power);
        let [on_cpu, on_gpu] = [FIGURE_12, FIGURE_11].map(|table| page.milliseconds(table, &basic, 1 << power));
        let pairs = [(on_cpu, on_gpu), (cpu[0], gpu[0]), (cpu[1], gpu[1]), (engines[0], least(gpu))];
        for ((_, points), (cpu, gpu)) in lines.iter_mut().zip(pairs) {
            points.extend(cpu.zip(gpu).map(|(cpu, gpu)| (f64::from(power), cpu / gpu)));
        }
        rows.push([size(1 << power)].into_iter().chain(pairs.map(|(cpu, gpu)| ratio(cpu, gpu))).collect());
    }
    page.table(&rows);
    let line = |(name, (colour, points)): (&str, (&'static str, Vec<_>))| Line {
        name: name.into(),
        colour,
        dashes: dashes::SOLID,
        points,
    };
    let mut lines: Vec<Line> = names.into_iter().zip(lines).map(line).filter(|line| !line.points.is_empty()).collect();
    if lines.is_empty() {
        return;
    }
    lines.extend(SPEED_UPS.map(|(_, most)| Line {
        name: format!("paper: up to {most}"),
        colour: colour::GREY,
        dashes: dashes::LONG,
        points: [CPU_POWERS[0], CPU_POWERS[CPU_POWERS.len() - 1]].map(|power| (f64::from(power), most)).to_vec(),
    }));
    let title = format!("Ul Haq et al. 2011, fig. 13: {} against the processor", name(page, Kind::Gpu));
    charts.push(Chart::Lines(Lines { title, x: "size of the input", y: "times as fast, median", lines }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        let shown = [None, Some(0.00834), Some(0.5), Some(0.99999), Some(7.5), Some(832.1)].map(ms);
        assert_eq!(shown, ["not measured", "0.00834", "0.500", "1.000", "7.50", "832"]);
        assert_eq!(ratio(Some(6.0), Some(3.0)), "2.00 ×");
        assert_eq!([ratio(None, Some(3.0)), ratio(Some(6.0), None)], ["not measured"; 2]);
    }

    /// With times as they were measured on an H200: the paragraph is there, and not where an S-box in constant memory is never slow.
    #[test]
    fn the_s_box_in_constant_memory_is_told_of() {
        use crate::measured::{Measured, Outcome, Times as Timed};
        use crate::render::made_up::made_up_run;
        let mut run = made_up_run(&[&PAPER], 0);
        let mut is_told = |slow: &[&str]| {
            for timing in &mut run.timings {
                let is_slow = slow.iter().any(|name| timing.case.starts_with(name));
                timing.outcome = Outcome::Timed(Timed::new(&[if is_slow { 0.1 } else { 0.01 }]));
            }
            let files = crate::render::files::render(&Measured { runs: vec![run.clone()] });
            files[crate::render::page::PAGE].contains("An S-box in constant memory is slow")
        };
        assert!(is_told(&["S-box constant; keys global", "S-box constant; keys local"]));
        assert!(!is_told(&[]) && !is_told(&["S-box constant"]));
    }

    #[test]
    fn names_are_short_at_the_ends_of_lines() {
        for way in main_ways(Direction::Encrypt) {
            assert!(short(&way.name).len() <= "constant, keys: device".len(), "{}", short(&way.name));
        }
    }
}
