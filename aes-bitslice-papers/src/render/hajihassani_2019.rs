//! Tables 3 and 4, figures 12 to 14, section 6.6.

use crate::case::Shares;
use crate::papers::hajihassani_2019::{
    BYTES, GPUS, MODES, PAPER, RELATED_CTR, RELATED_ECB, ROWS, Related, SHARDED_MODES, SIZES, TABLES, TWO_GPUS, WAYS,
    gpus_name,
};
use crate::render::page::{Page, best, figure, percent, printed, times};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_plot::{Bar, Bars, Chart, colour, size};

const NOTES: &str = include_str!("../../notes/hajihassani-2019.md");

/// The paper's part of the page.
pub fn render(page: &mut Page) {
    page.paper(&PAPER);
    tables_3_and_4(page);
    figures_12_and_13(page);
    figure_14(page);
    section_6_6(page);
    page.say("### What still holds, and what turned round");
    page.say(NOTES);
}

/// Gbit/s for a dollar.
fn for_price(rate: Option<f64>, price: f64) -> String {
    rate.map_or_else(|| figure(None), |rate| format!("{:.3}", rate / price))
}

fn tables_3_and_4(page: &mut Page) {
    page.say("### Tables 3 and 4: throughput of ECB and CTR encryption");
    let price = page.run.price;
    let priced = price.map_or(String::new(), |price| {
        format!(" A {} is counted as ${price}; the papers' prices are those of their year.", page.gpu())
    });
    page.say(&format!(
        "Gbit/s. {} is what the paper's threads encrypt at once, 32 blocks each; {} keeps this GPU busy for longer. The first \
         two kernels on {} have the paper's layout and S-box, and store the keys in its two ways (section 4.6): fetched from \
         memory round by round, with its 64 threads a thread block and its data in shared memory; and in the code, picked by \
         one-hot multiplexers. The others are this project's: bitsliced, four T-boxes or one with a copy for each lane of a \
         warp, and four T-boxes and bitsliced at once on shares of the data. The paper's CTR makes key stream; here it is XOR-ed with data that is read from memory.{priced}",
        size(SIZES[0]),
        size(SIZES[1]),
        page.gpu(),
    ));
    let modes = [Mode::EcbEncrypt, Mode::Ctr];
    let mut rows = vec![vec!["GPU".to_string(), "kernel".into()]];
    for mode in ["ECB", "CTR"] {
        rows[0].extend(SIZES.map(|bytes| format!("{mode}, {}:", size(bytes))));
        rows[0].extend(price.map(|_| format!("{mode}, Gbit/s for a dollar:")));
    }
    for row in &ROWS {
        let mut cells = vec![row.gpu.to_string(), "the paper's".into()];
        for (rate, for_dollar) in [row.ecb, row.ctr] {
            cells.extend([printed(rate), String::new()]);
            cells.extend(price.map(|_| printed(for_dollar)));
        }
        rows.push(cells);
    }
    for way in &WAYS {
        let mut cells = vec![page.gpu().to_string(), way.name.into()];
        for mode in modes {
            let rates = SIZES.map(|bytes| page.gbits(TABLES, &way.case(mode), bytes));
            cells.extend(rates.map(figure));
            cells.extend(price.map(|price| for_price(best(rates), price)));
        }
        rows.push(cells);
    }
    page.table(&rows);
}

fn figures_12_and_13(page: &mut Page) {
    page.say("### Figures 12 and 13: beside the work of others, as the paper quotes it");
    let mut charts = Vec::new();
    for (mode, number, related) in [(Mode::EcbEncrypt, 12, &RELATED_ECB[..]), (Mode::Ctr, 13, &RELATED_CTR[..])] {
        let ours: Vec<_> = WAYS.iter().map(|way| (way, page.gbits(TABLES, &way.case(mode), BYTES))).collect();
        let mut bars = Vec::new();
        let theirs = ROWS.iter().map(|row| Related {
            authors: "Hajihassani et al. 2019",
            gpu: row.gpu,
            gbits: if mode == Mode::Ctr { row.ctr.0 } else { row.ecb.0 },
        });
        // As the paper's, without tables; and the fastest of all, which has some.
        let bitsliced = best(ours.iter().filter(|(way, _)| way.is_bitsliced()).map(|(_, rate)| *rate));
        let fastest = best(ours.iter().map(|(_, rate)| *rate));
        let mut rows = vec![["work", "GPU", "Gbit/s:"].map(String::from).to_vec()];
        rows[0].push(format!("our bitsliced on {}, to theirs:", page.gpu()));
        rows[0].push("our fastest, with tables:".into());
        for Related { authors, gpu, gbits } in related.iter().map(|r| Related { ..*r }).chain(theirs) {
            let ratios = [bitsliced, fastest].map(|ours| times(ours, gbits));
            rows.push([vec![authors.into(), gpu.into(), printed(gbits)], ratios.to_vec()].concat());
            let name = format!("{authors}, {gpu}");
            bars.push(Bar { name, rate: gbits, colour: colour::GREY, label: printed(gbits) });
        }
        for (way, rate) in ours {
            let colour = if way.is_the_papers { colour::VERMILION } else { colour::BLUE };
            let bar = |rate| Bar { name: way.name.into(), rate, colour, label: figure(Some(rate)) };
            bars.extend(rate.map(bar));
        }
        page.say(&format!("Fig. {number}, {mode}:"));
        page.table(&rows);
        let title = format!("{mode}, Gbit/s; coloured: kernels on {}", page.gpu());
        charts.push(Chart::Bars(Bars { title, bars }));
    }
    // Fig. 14's bars go with them.
    charts.push(Chart::Bars(Bars {
        title: format!("Encryption and decryption on {}, Gbit/s", page.gpu()),
        bars: bars_14(page),
    }));
    page.plots("papers-hajihassani-2019.svg", "Throughput beside that of others, and of both directions", &charts);
}

/// Both directions of ECB, for each way.
fn bars_14(page: &mut Page) -> Vec<Bar> {
    let mut bars = Vec::new();
    for way in &WAYS {
        for (mode, colour) in [(Mode::EcbEncrypt, colour::VERMILION), (Mode::EcbDecrypt, colour::GREEN)] {
            let rate = page.gbits(TABLES, &way.case(mode), BYTES);
            let bar = |rate| Bar { name: way.case(mode), rate, colour, label: figure(Some(rate)) };
            bars.extend(rate.map(bar));
        }
    }
    bars
}

fn figure_14(page: &mut Page) {
    page.say("### Fig. 14: encryption and decryption");
    page.say(&format!(
        "ECB, {} and {}, Gbit/s. The paper's figures are in its picture only; decryption is slower there, its MixColumns being \
         the larger circuit.",
        size(SIZES[0]),
        size(SIZES[1]),
    ));
    let mut rows = vec![vec!["kernel".to_string()]];
    for mode in &MODES[..2] {
        rows[0].extend(SIZES.map(|bytes| format!("{mode}, {}:", size(bytes))));
    }
    rows[0].push("decryption to encryption:".into());
    for way in &WAYS {
        let [encrypt, decrypt] =
            [MODES[0], MODES[1]].map(|mode| SIZES.map(|bytes| page.gbits(TABLES, &way.case(mode), bytes)));
        let mut row = vec![way.name.to_string()];
        row.extend(encrypt.into_iter().chain(decrypt).map(figure));
        row.push(percent(decrypt[1], encrypt[1]));
        rows.push(row);
    }
    page.table(&rows);
}

fn section_6_6(page: &mut Page) {
    page.say("### Section 6.6: several GPUs");
    page.say(&format!(
        "{} in the memory of the GPUs, this project's bitsliced kernels, from the moment at which all of them may start until \
         the last is done, by the host's clock, one host thread a GPU. Shares are equal, rated by multiprocessors times clock, \
         or as each GPU alone was measured. The paper's two GTX 980 come to {} of twice one.",
        size(SIZES[1]),
        percent(Some(TWO_GPUS), Some(1.0)),
    ));
    let mut rows = vec![["GPUs", "shares"].map(String::from).to_vec()];
    for mode in SHARDED_MODES {
        rows[0].extend([format!("{mode}, Gbit/s:"), "of as many times one:".into()]);
    }
    let mut one = SHARDED_MODES.map(|_| None);
    for gpus in [1, 2, 4, 8].into_iter().filter(|&gpus| gpus <= page.run.gpus.len()) {
        let shares = if gpus == 1 { &Shares::ALL[..1] } else { &Shares::ALL[..] };
        for &shares in shares {
            let rates = SHARDED_MODES.map(|mode| page.gbits(GPUS, &gpus_name(mode, gpus, shares), SIZES[1]));
            if gpus == 1 {
                one = rates;
            }
            let name = if gpus == 1 { "-" } else { shares.name() };
            let mut row = vec![gpus.to_string(), name.into()];
            for (rate, one) in rates.into_iter().zip(one) {
                row.extend([figure(rate), percent(rate, one.map(|one| one * gpus as f64))]);
            }
            rows.push(row);
        }
    }
    page.table(&rows);
    if page.run.gpus.len() == 1 {
        page.say("This machine has one GPU.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_for_a_price() {
        assert_eq!(for_price(Some(1384.51), 6628.0), "0.209");
        assert_eq!(for_price(None, 1.0), "-");
    }
}
