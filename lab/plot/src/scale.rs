//! Axes with readable numbers.

/// An axis from zero to the first round number that is not smaller than any value on it.
pub(crate) struct Scale {
    step: f64,
    pub(crate) top: f64,
}

impl Scale {
    /// An axis of about `steps` steps.
    pub(crate) fn new(largest: f64, steps: f64) -> Self {
        let step = nice_step(largest / steps);
        Self { step, top: (largest / step).ceil() * step }
    }

    /// The numbers on the axis, and their text.
    pub(crate) fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        let (step, top) = (self.step, self.top);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let marks = (0..).map(move |i| f64::from(i) * step).take_while(move |&mark| mark <= top * 1.001);
        marks.map(move |mark| (mark, format!("{mark:.decimals$}")))
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not smaller than `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|&step| step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps() {
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        for (least, step) in [(1.0, 1.0), (1.1, 2.0), (0.7, 1.0), (0.03, 0.05), (6.0, 10.0), (450.0, 500.0)] {
            assert!(close(nice_step(least), step), "{least}");
        }
    }

    #[test]
    fn marks_go_from_zero_to_the_top() {
        let marks = |largest| Scale::new(largest, 6.0).marks().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(marks(5.94), ["0", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(marks(0.9), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }
}
