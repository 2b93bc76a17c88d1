//! What unit tests do that need a device where there is none: they say so past the test harness, which would keep it to itself, and end. Where
//! the environment asks for the device, they fail.

use crate::base::error::Error;
use std::io::Write;

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Needs {
    /// A CUDA GPU; several for some tests.
    Gpu,
    /// A device behind OpenCL.
    OpenCl,
}

impl Needs {
    /// The switch that makes its absence a failure.
    fn switch(self) -> &'static str {
        match self {
            Self::Gpu => "AES_BITSLICE_REQUIRE_GPU",
            Self::OpenCl => "AES_BITSLICE_REQUIRE_OPENCL",
        }
    }
}

/// What was opened; `None`, for the test to end, where it could not be, after a line that `what` was not tested.
///
/// # Panics
/// If the environment asks for such a device.
pub(crate) fn device_or_skip<T>(needs: Needs, what: &str, opened: Result<T, Error>) -> Option<T> {
    let is_required = std::env::var(needs.switch()).is_ok_and(|value| !["", "0"].contains(&value.as_str()));
    decide(is_required, needs, what, opened)
}

fn decide<T>(is_required: bool, needs: Needs, what: &str, opened: Result<T, Error>) -> Option<T> {
    let error = match opened {
        Ok(device) => return Some(device),
        Err(error) => error,
    };
    assert!(!is_required, "{} asks for a device, to test {what}, and none opens: {error}", needs.switch());
    let _ = writeln!(std::io::stderr(), "NO DEVICE OPENED ({needs:?}): NOT TESTED: {what} ({error})");
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Result<(), Error> {
        Err(Error::InCapture { operation: "GCM" })
    }

    #[test]
    fn a_device_is_taken_and_its_absence_ends_the_test() {
        for needs in [Needs::Gpu, Needs::OpenCl] {
            assert_eq!(decide(true, needs, "this", Ok(7)), Some(7));
            assert_eq!(decide(false, needs, "this", refused()), None);
        }
    }

    #[test]
    #[should_panic = "AES_BITSLICE_REQUIRE_GPU asks for a device, to test this"]
    fn the_absence_of_what_is_required_is_a_failure() {
        decide(true, Needs::Gpu, "this", refused());
    }
}
