//! The order of gates: few values live at once, so that the state of 128 planes and the values in between fit in
//! registers.

use super::{Circuit, Wire};

impl Circuit {
    /// The gates of this circuit in an order that keeps few values live: the next gate is always the candidate that ends the most
    /// lifetimes, the oldest in case of a tie.
    ///
    /// Only the first `resident` inputs are live at the start; the others, such as key bits, are fetched where they are
    /// read.
    pub fn scheduled(&self, resident: usize) -> Circuit {
        let inputs = self.inputs().len();
        let mut readers = vec![0usize; inputs + self.gates().len()];
        for gate in self.gates() {
            gate.fanin().for_each(|w| readers[w.index()] += 1);
        }
        // An output stays live to the end: count the end as a reader that never comes.
        for (_, w) in self.outputs() {
            readers[w.index()] += 1;
        }
        let mut new_wire: Vec<Option<Wire>> = (0..inputs as u32).map(|i| Some(Wire(i))).collect();
        new_wire.resize(inputs + self.gates().len(), None);
        let mut out = Circuit::new(self.name(), self.inputs().to_vec());
        let mut waiting: Vec<usize> = (0..self.gates().len()).collect();
        while !waiting.is_empty() {
            let is_alive = |w: Wire| !(resident..inputs).contains(&w.index());
            let ready = |g: &usize| self.gates()[*g].fanin().all(|w| new_wire[w.index()].is_some());
            let ended = |g: usize| self.gates()[g].fanin().filter(|&w| is_alive(w) && readers[w.index()] == 1).count();
            let (at, _) = waiting
                .iter()
                .enumerate()
                .filter(|(_, g)| ready(g))
                .max_by_key(|(at, g)| (ended(**g), std::cmp::Reverse(*at)))
                .expect("gates are in topological order, so one is ready");
            let g = waiting.remove(at);
            let mut gate = self.gates()[g];
            gate.fanin().for_each(|w| readers[w.index()] -= 1);
            gate.inputs = gate.inputs.map(|w| new_wire[w.index()].unwrap_or(Wire(0)));
            new_wire[inputs + g] = Some(out.gate(gate.table, gate.inputs));
        }
        for (name, w) in self.outputs() {
            out.output(name.clone(), new_wire[w.index()].expect("every gate was placed"));
        }
        out
    }
}
