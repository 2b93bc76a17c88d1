//! The cost of a circuit: gates by number of inputs, depth, and the number of values live at once.

use super::Circuit;

/// Counts of a circuit; see [`Circuit::stats`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Gates that depend on 0, 1, 2 and 3 inputs.
    pub by_arity: [usize; 4],
    /// Gates on the longest path from an input to an output.
    pub depth: usize,
    /// The maximum number of values live at a time when the gates run in order: an input from the start to its last
    /// reader, a gate from its position to its last reader, an output to the end.
    pub peak_live: usize,
}

impl Stats {
    /// The number of all gates: the instructions of a target whose gate is the LUT3.
    pub fn gates(&self) -> usize {
        self.by_arity.iter().sum()
    }
}

impl Circuit {
    /// Counts the circuit as it is, dead gates included.
    pub fn stats(&self) -> Stats {
        let first = self.inputs().len();
        let mut by_arity = [0; 4];
        let mut depth = vec![0usize; first];
        let end = first + self.gates().len();
        let mut last_use: Vec<Option<usize>> = vec![None; end];
        for (i, gate) in self.gates().iter().enumerate() {
            by_arity[gate.arity()] += 1;
            depth.push(1 + gate.fanin().map(|w| depth[w.index()]).max().unwrap_or(0));
            for w in gate.fanin() {
                last_use[w.index()] = Some(first + i);
            }
        }
        for (_, w) in self.outputs() {
            last_use[w.index()] = Some(end);
        }
        let mut live = last_use[..first].iter().flatten().count();
        let mut peak = live;
        let mut ends = vec![0usize; end + 1];
        for last in last_use.iter().flatten() {
            ends[*last] += 1;
        }
        for i in first..end {
            // A gate may reuse the register of an operand that it is the last to read.
            live -= ends[i];
            live += usize::from(last_use[i].is_some());
            peak = peak.max(live);
        }
        let depth = self.outputs().iter().map(|(_, w)| depth[w.index()]).max().unwrap_or(0);
        Stats { by_arity, depth, peak_live: peak }
    }
}
