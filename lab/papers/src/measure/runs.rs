//! How often a case is run.

/// The number of times that a case is run for timing.
#[derive(Clone, Copy)]
pub struct Runs {
    least: usize,
    most: usize,
    /// There are fewer than `most` where those would take longer.
    seconds: f64,
}

impl Runs {
    pub const FULL: Self = Self { least: 5, most: 20, seconds: 0.5 };
    pub const QUICK: Self = Self { least: 1, most: 1, seconds: 0.0 };

    /// These runs, but no more than `least` where time is short.
    pub fn with_least(self, least: usize) -> Self {
        Self { least: self.least.min(least), ..self }
    }

    /// The number of runs if one takes `one` seconds.
    pub fn count(self, one: f64) -> usize {
        ((self.seconds / one) as usize).clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cases_are_run_less_often() {
        let counts = [1e-6, 0.05, 0.5].map(|one| Runs::FULL.count(one));
        assert_eq!(counts, [20, 10, 5]);
        assert_eq!(Runs::QUICK.count(1e-6), 1);
    }
}
