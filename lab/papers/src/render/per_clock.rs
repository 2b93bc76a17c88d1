//! Rates by clock and multiprocessor: the measure that is left when GPUs differ in both.

use crate::papers::hajihassani_2019::{PAPER, ROWS, SIZES, TABLES, V100, WAYS};
use crate::render::page::{MISSING, Page};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_plot::size;

/// What Lee et al. 2022 reach in CTR on a Tesla V100, in bits a clock and multiprocessor.
const LEE_2022: f64 = 13.7;

/// Bits a clock and multiprocessor: of a rate in Gbit/s of 10^9 bits, and a clock in GHz.
fn per_clock(gbits: f64, multiprocessors: f64, ghz: f64) -> f64 {
    gbits / multiprocessors / ghz
}

/// The section.
pub fn render(page: &mut Page) {
    let (multiprocessors, clocks) = V100;
    page.say("### Bits a clock and multiprocessor");
    page.say(&format!(
        "The rates of tables 3 and 4 with {}, divided by multiprocessors and by the clock that a kernel counted while the case ran \
         once more. The paper does not say which clock its V100 had: table 2 implies {} GHz, and NVIDIA gives {} GHz as \
         the highest. Its figures are taken as of 2^30 bits; as of 10^9, CTR has {:.1} at the highest clock. Lee et al. 2022 is quoted.",
        size(SIZES[1]),
        clocks[0],
        clocks[1],
        per_clock(ROWS[ROWS.len() - 1].ctr.0.value(), multiprocessors, clocks[1]),
    ));
    let mut rows = vec![["GPU", "kernel", "ECB:", "clock, MHz:", "CTR:", "clock, MHz:"].map(String::from).to_vec()];
    let newest = &ROWS[ROWS.len() - 1];
    for ghz in clocks {
        let mut row = vec![newest.gpu.to_string(), "the paper's".into()];
        for (rate, _) in [newest.ecb, newest.ctr] {
            let bits = per_clock(rate.value() * PAPER.gbit, multiprocessors, ghz);
            row.extend([format!("{bits:.1}"), format!("{:.0}", 1e3 * ghz)]);
        }
        rows.push(row);
    }
    rows.push(
        ["Tesla V100", "Lee et al. 2022, bitsliced", "", "", &format!("{LEE_2022:.1}"), ""].map(String::from).to_vec(),
    );
    let multiprocessors = page.run.gpus.first().map_or(f64::NAN, |gpu| f64::from(gpu.multiprocessors));
    for way in &WAYS {
        let mut row = vec![page.gpu().to_string(), way.name.into()];
        for mode in [Mode::EcbEncrypt, Mode::Ctr] {
            let case = way.case(mode);
            let mhz = page.run.times(TABLES, &case, SIZES[1]).ok().and_then(|times| times.clock_mhz);
            row.extend(match page.gbits(TABLES, &case, SIZES[1]).zip(mhz) {
                Some((rate, mhz)) => {
                    [format!("{:.1}", per_clock(rate, multiprocessors, mhz / 1e3)), format!("{mhz:.0}")]
                }
                None => [MISSING, MISSING].map(String::from),
            });
        }
        rows.push(row);
    }
    page.table(&rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Measured, Outcome, Times, Timing};
    use crate::papers::hajihassani_2019;
    use crate::render::files;
    use crate::render::made_up::made_up_run;
    use crate::render::page::PAGE;

    /// 100 multiprocessors at 2 GHz, and 4 GiB in a second, are 0.17 bits a clock and multiprocessor; in a tenth of a millisecond, 1,718.
    #[test]
    fn rates_are_divided_by_clock_and_multiprocessors() {
        let mut run = made_up_run(&[&hajihassani_2019::PAPER], 1);
        let case = WAYS[2].case(Mode::Ctr);
        let mut last_cells = |seconds: f64, clock_mhz| {
            let is_it = |timing: &&mut Timing| timing.case == case && timing.bytes == SIZES[1];
            let timing = run.timings.iter_mut().find(is_it).unwrap();
            timing.outcome = Outcome::Timed(Times { clock_mhz, ..Times::new(&[seconds]) });
            let files = files::render(&Measured { runs: vec![run.clone()] });
            let (_, section) = files[PAGE].split_once("### Bits a clock and multiprocessor").unwrap();
            let row = section.lines().find(|row| row.contains("| bitsliced |")).unwrap();
            row.rsplit(" | ").take(2).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(last_cells(1e-4, Some(2000.0)), "2000 | 1718.0");
        assert_eq!(last_cells(1.0, Some(1000.0)), "1000 | 0.3");
        assert_eq!(last_cells(1.0, None), "not measured | not measured");
    }
}
