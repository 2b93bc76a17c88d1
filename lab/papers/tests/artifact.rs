//! The figures of docs/artifact.md are those of docs/papers.md, within the tolerances that the former states.

use std::fs;
use std::path::Path;

/// Where a figure is on the page of the papers: words of its row, all of them; its cell; and its number in the cell.
type Place = (&'static [&'static str], usize, usize);

/// What a claim's row begins with, and the figures in its column "expected".
const CLAIMS: &[(&str, &[Place])] = &[
    (
        "Iwai et al., abstract: 16 bytes",
        &[
            (&["16 bytes a thread achieve approximately"], 2, 0),
            (&["16 bytes a thread are better than 8"], 3, 0),
            (&["16 bytes a thread are better than 4"], 3, 0),
        ],
    ),
    (
        "abstract: overlapped copies",
        &[
            (&["| 4 chunks | 22.0"], 2, 0),
            (&["copies overlapped in 4 chunks are faster than in one"], 3, 0),
            (&["overlapped copies bring up"], 2, 0),
        ],
    ),
    ("abstract: where parameters", &[(&["T-boxes belong in shared memory, not in constant"], 3, 0)]),
    ("VII: implementations differ", &[(&["implementations differ in throughput"], 2, 0)]),
    ("VI.C, VII: 28.39 times", &[(&["the GPU has 28.39 times", "(VI.C, VII)"], 3, 0)]),
    ("Ul Haq et al., abstract and conclusion", &[(&["a GPU is up to 16 times as fast"], 2, 0)]),
    ("abstract: local memory", &[(&["local memory is faster than global memory"], 3, 0)]),
    ("Li et al., abstract: about 60", &[(&["the highest performance is around 60"], 2, 0)]),
    ("abstract: 50 times", &[(&["up to 50 times a sequential implementation"], 3, 0)]),
    ("VII: one order of magnitude", &[(&["one order of magnitude to a processor"], 3, 0)]),
    ("abstract: processing and transfer", &[(&["| the same | pinned, to none in pinned memory"], 3, 0)]),
    ("VII: the link is", &[(&["the link bounds the rate"], 3, 0)]),
    (
        "VII: the allocation of pinned memory",
        &[(&["the cost of allocating pinned memory"], 2, 1), (&["the cost of allocating pinned memory"], 2, 2)],
    ),
    ("CBC decryption is as fast", &[(&["ECB encryption and CBC decryption lie on one another"], 3, 0)]),
    ("512 threads are fastest", &[(&["512 threads are the fastest number"], 3, 0)]),
    (
        "Abdelrahman et al., abstract",
        &[
            (&["207 Gbit/s on a GTX TITAN X, with 32 bytes"], 2, 0),
            (&["32 bytes a thread are better than 16", "256 threads"], 3, 0),
        ],
    ),
    ("VII: effects vary", &[(&["effects vary from an architecture to another"], 2, 0)]),
    (
        "keys in shared memory are faster",
        &[
            (&["keys in shared memory are faster than keys by warp shuffle", "16 B"], 3, 0),
            (&["keys in shared memory are faster than keys by warp shuffle", "32 B"], 3, 0),
        ],
    ),
    ("Hajihassani et al., abstract: CTR and ECB", &[(&["CTR reaches 1.47"], 2, 0), (&["ECB reaches 1.38"], 2, 0)]),
    ("abstract: encryption and decryption", &[(&["encryption is faster than decryption"], 3, 0)]),
    ("keys in the code are faster", &[(&["keys in the code are faster than keys fetched", "ECB, data staged"], 3, 0)]),
    ("CTR is faster than ECB", &[(&["CTR, with one change of representation, is faster"], 3, 0)]),
    (
        "6.3: a change of representation is 100 times",
        &[(&["the change of representation is two orders"], 3, 0), (&["| GPU | one change, without |"], 3, 0)],
    ),
    ("6.3: a change of representation costs", &[(&["a change of representation costs next to nothing"], 2, 1)]),
    (
        "4.1: a bitsliced shift register",
        &[
            (&["| the same | 16 registers a thread to one, bits summed up"], 3, 0),
            (&["a bitsliced shift register takes a sixteenth"], 3, 0),
        ],
    ),
    ("7: twice the best", &[(&["twice the best throughput before"], 3, 0)]),
    (
        "7: the highest throughput",
        &[(&["the highest achieved encryption throughput"], 3, 0), (&["the same of code from after the paper"], 3, 0)],
    ),
    ("1.37 times the best", &[(&["the representation is faster than that of earlier"], 3, 0)]),
    ("bitslicing is faster", &[(&["bitslicing is faster than tables"], 3, 0)]),
    ("6.4: CTR is faster", &[(&["CTR is faster than the best before on the same GPU"], 3, 0)]),
    ("two GPUs have nearly", &[(&["two GPUs show a nearly linear trend", "ecb-encrypt"], 3, 0)]),
    (
        "6.6: with four GPUs",
        &[(&["with 4 GPUs, performance does not"], 2, 0), (&["the same: data distributed and collected"], 2, 0)],
    ),
];

/// Numbers of a text, each with what follows it.
fn numbers(text: &str) -> Vec<(f64, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let all = &rest[at..];
        let end = all.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(all.len());
        let digits = all[..end].trim_end_matches(['.', ',']);
        rest = &all[digits.len()..];
        found.extend(digits.replace(',', "").parse().ok().map(|number| (number, rest)));
    }
    found
}

/// Whether a figure is within a tolerance in words: the largest per cent in it, and one for rounding; or a factor.
fn is_within(tolerance: &str, expected: f64, found: f64) -> bool {
    let factor = match tolerance.strip_prefix("a factor of ") {
        Some(factor) => numbers(factor)[0].0,
        None => {
            let parts = numbers(tolerance).into_iter().filter(|(_, after)| after.starts_with(" %"));
            1.0 + (parts.map(|(part, _)| part).fold(0.0, f64::max) + 1.0) / 100.0
        }
    };
    (1.0 / factor..=factor).contains(&(expected / found))
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_start_matches("| ").split(" | ").map(|cell| cell.trim_end_matches(" |")).collect()
}

/// What is wrong with a page of claims, given the page of the papers.
fn faults(artifact: &str, papers: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut used = 0;
    let (_, with_gpu) = artifact.split_once("## With a GPU").expect("the claims with a GPU");
    for row in with_gpu.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| claim |")) {
        let cells = cells(row);
        let [claim, .., expected, tolerance] = cells[..] else { panic!("{row}") };
        let has_unit = |(_, after): &&(f64, &str)| [" ×", " Gbit/s", " %"].iter().any(|unit| after.starts_with(unit));
        let figures = numbers(expected);
        // Without a measurement.
        if tolerance.starts_with("none") || figures.iter().filter(has_unit).count() == 0 {
            continue;
        }
        let Some((_, places)) = CLAIMS.iter().find(|(begins, _)| claim.starts_with(begins)) else {
            faults.push(format!("no figures are known for: {claim}"));
            continue;
        };
        used += 1;
        let mut measured = Vec::new();
        let mut are_all_there = true;
        for (words, cell, number) in *places {
            let row = papers.lines().find(|line| words.iter().all(|words| line.contains(words)));
            let Some(row) = row else {
                faults.push(format!("{claim}: no row has {words:?}"));
                continue;
            };
            let cell = self::cells(row)[*cell];
            if cell == "not measured" {
                are_all_there = false;
                continue;
            }
            let figure = numbers(cell)[*number].0;
            if !figures.iter().any(|(expected, _)| is_within(tolerance, *expected, figure)) {
                faults.push(format!("{claim}: {figure} is not there within {tolerance}: {expected}"));
            }
            measured.push(figure);
        }
        if !are_all_there {
            continue;
        }
        for (figure, _) in figures.iter().filter(has_unit) {
            if !measured.iter().any(|measured| is_within(tolerance, *figure, *measured)) {
                faults.push(format!("{claim}: {figure} was not measured within {tolerance}: {measured:?}"));
            }
        }
    }
    if used != CLAIMS.len() {
        faults.push(format!("{used} of {} claims are there", CLAIMS.len()));
    }
    faults
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

#[test]
fn expected_figures_are_those_that_were_measured() {
    assert_eq!(faults(&page("artifact.md"), &page("papers.md")), [""; 0]);
}

/// Figures that are off by more than the tolerance, or in no row, are found.
#[test]
fn a_figure_that_is_off_is_told() {
    let (artifact, papers) = (page("artifact.md"), page("papers.md"));
    let row = artifact.lines().find(|row| row.starts_with("| abstract: local memory is")).unwrap();
    let figure = cells(row)[4];
    for off in ["1.5 ×", "1.0 ×"] {
        let other = artifact.replace(row, &row.replace(figure, off));
        assert!(faults(&other, &papers).iter().any(|fault| fault.starts_with("abstract: local memory")), "{off}");
    }
    let more = artifact.replace(row, &row.replace(figure, &format!("{figure}; 7.5 ×")));
    assert_eq!(faults(&more, &papers).len(), 1);
    assert!(is_within("5 %", 1.05, 1.0) && !is_within("5 %", 1.07, 1.0));
    assert!(is_within("a factor of 2: that of the processor", 0.6, 1.0) && !is_within("a factor of 2", 2.1, 1.0));
    let found: Vec<f64> = numbers("2,099 Gbit/s; 1.42 × 8 bytes, 16.").into_iter().map(|(number, _)| number).collect();
    assert_eq!(found, [2099.0, 1.42, 8.0, 16.0]);
}
