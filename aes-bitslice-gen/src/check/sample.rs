//! How much the tests cover: everything on request, otherwise a sample, which takes in every case as its number, the turn, goes up.
//!
//! A sample within a sample reaches every pair of cases, in as many turns as the product of their steps, if these have no common factor;
//! otherwise it is the list of pairs that is to be sampled.

#[doc(hidden)]
/// Whether exhaustive tests are requested: `AES_BITSLICE_EXHAUSTIVE` is set to anything except an empty string or `0`.
pub fn exhaustive() -> bool {
    std::env::var("AES_BITSLICE_EXHAUSTIVE").is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

#[doc(hidden)]
/// The first value in an [`exhaustive`] run, else the second.
pub fn all_or<T>(all: T, some: T) -> T {
    if exhaustive() { all } else { some }
}

#[doc(hidden)]
/// The number of the sample, from the variable `AES_BITSLICE_TURN`, else 0. `.ci/run` counts commits.
pub fn turn() -> usize {
    std::env::var("AES_BITSLICE_TURN").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[doc(hidden)]
/// Whether the case with this number is in the sample of one in `step`. In `step` consecutive turns each case is once.
pub fn has_turn(number: usize, step: usize) -> bool {
    is_in(turn(), number, step)
}

#[doc(hidden)]
/// One in `step` of a list's items, whose numbers begin with `first`: those which [have their turn](has_turn).
pub fn sample<T>(first: usize, step: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    of_turn(turn(), first, step, list)
}

const fn is_in(turn: usize, number: usize, step: usize) -> bool {
    (turn % step + number % step).is_multiple_of(step)
}

fn of_turn<T>(turn: usize, first: usize, step: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    (first..).zip(list).filter(move |(number, _)| is_in(turn, *number, step)).map(|(_, item)| item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_turns_reach_each_case_once() {
        for (turn, first, len) in [(0, 0, 100), (0x0abc_def0, 7, 1), (usize::MAX / 2, 93, 250)] {
            for step in 1..=200 {
                let mut reached: Vec<usize> =
                    (turn..turn + step).flat_map(|t| of_turn(t, first, step, 0..len)).collect();
                reached.sort_unstable();
                assert_eq!(reached, (0..len).collect::<Vec<_>>(), "one in {step} of {len}, from turn {turn} on");
            }
        }
    }

    #[test]
    fn a_sample_within_a_sample_reaches_each_pair_if_the_steps_have_no_common_factor() {
        let pairs = |a: usize, b: usize| {
            let of = |turn| of_turn(turn, 3, a, 0..a).flat_map(move |x| of_turn(turn, x, b, 0..b).map(move |y| (x, y)));
            (1000..1000 + a * b).flat_map(of).collect::<std::collections::BTreeSet<_>>().len()
        };
        for (a, b) in [(3, 4), (2, 3), (7, 3), (7, 32), (1, 5)] {
            assert_eq!(pairs(a, b), a * b);
        }
        assert!(pairs(4, 2) < 8);
    }
}
