//! GF(2) matrices as small networks of two-input XORs.
//!
//! Greedy common-subexpression elimination: while some pair of columns occurs together in a row, the pair that occurs
//! in the most rows becomes a gate and a new column (Paar, "Optimized Arithmetic for Reed-Solomon Encoders", ISIT
//! 1997). The choice among equally frequent pairs matters, so a few orders are tried.

use crate::circuit::{Circuit, Wire};
use crate::random::Random;

/// Orders tried; the best of ten is rarely beaten by the best of a hundred.
const TRIES: u64 = 10;

/// Adds the sums of wires that `rows` select, bit `k` of a row for `wires[k]`, and returns one wire per row.
///
/// # Panics
/// If a row selects a wire that does not exist.
pub fn xor_network(circuit: &mut Circuit, wires: &[Wire], rows: &[u128]) -> Vec<Wire> {
    let rows: Vec<Vec<usize>> = rows
        .iter()
        .map(|row| {
            let columns: Vec<usize> = (0..128).filter(|k| row >> k & 1 == 1).collect();
            assert!(columns.iter().all(|&k| k < wires.len()), "row {row:#x} of {} columns", wires.len());
            columns
        })
        .collect();
    let attempt = |seed| {
        let mut candidate = circuit.clone();
        let sums = eliminate(&mut candidate, wires.to_vec(), rows.clone(), Random(seed));
        (candidate, sums)
    };
    let (best, sums) = (1..=TRIES).map(attempt).min_by_key(|(c, _)| c.gates().len()).expect("at least one try");
    *circuit = best;
    sums
}

/// One greedy run, over rows given as the columns whose sum they are.
fn eliminate(
    circuit: &mut Circuit,
    mut columns: Vec<Wire>,
    mut rows: Vec<Vec<usize>>,
    mut random: Random,
) -> Vec<Wire> {
    loop {
        let mut occurrences = vec![vec![0u32; columns.len()]; columns.len()];
        for row in &rows {
            for (i, &b) in row.iter().enumerate() {
                row[..i].iter().for_each(|&a| occurrences[a][b] += 1);
            }
        }
        let pairs = (0..columns.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let Some((a, b)) =
            pairs.filter(|&(a, b)| occurrences[a][b] > 0).max_by_key(|&(a, b)| (occurrences[a][b], random.next()))
        else {
            break;
        };
        for row in rows.iter_mut().filter(|row| row.contains(&a) && row.contains(&b)) {
            row.retain(|&k| k != a && k != b);
            row.push(columns.len());
        }
        columns.push(circuit.xor(columns[a], columns[b]));
    }
    rows.iter().map(|row| row.first().map_or_else(|| circuit.constant(false), |&k| columns[k])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_sums_they_select() {
        let mut c = Circuit::new("matrix", (0..6).map(|i| format!("x{i}")));
        let wires: Vec<Wire> = (0..6).map(|i| c.input(i)).collect();
        let rows = [0b000_111, 0b011_111, 0b111_111, 0b111_000, 0b000_001, 0, 0b000_111];
        for (i, sum) in xor_network(&mut c, &wires, &rows).into_iter().enumerate() {
            c.output(format!("y{i}"), sum);
        }
        let affine = c.as_affine().unwrap();
        assert_eq!(affine.rows, rows);
        assert!(affine.constant.iter().all(|b| !b));
        // Two each for 000111 and 111000, one more each for 011111 and 111111; and the constant of the empty row.
        assert_eq!(c.stats().by_arity, [1, 0, 6, 0]);
    }
}
