//! Errors of a check.

use aes_bitslice_core::manifest::ManifestError;

/// A fault that a check found, or the reason why the check could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The key length is not an AES key length.
    #[error("a key has 16, 24 or 32 bytes, this one has {0}")]
    KeyLength(usize),
    /// The plan's circuits do not compute the cipher.
    #[error("the circuits of {kernel} do not compute the cipher of FIPS 197 for this key")]
    Circuit {
        /// The kernel's name.
        kernel: String,
    },
    /// The printed kernel does not compute the mode.
    #[error("the printed {kernel} is wrong at byte {at} of {launch}")]
    Printed {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
        /// The first byte of the output that differs from the reference.
        at: usize,
    },
    /// The printed kernel does not compute the hash.
    #[error("the printed {kernel} gives a wrong hash of {launch}")]
    Hash {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
    },
    /// The printed kernel wrote where it should not.
    #[error("the printed {kernel} changes bytes outside its output in {launch}")]
    OutOfBounds {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
    },
    /// Some threads of the printed kernel wait for others that never arrive.
    #[error("threads of the printed {kernel} wait at a barrier or a shuffle that others never reach, in {launch}")]
    Stuck {
        /// The kernel's name.
        kernel: String,
        /// The launch, in words.
        launch: String,
    },
    /// The C compiler rejected the printed kernel.
    #[error("{compiler} cannot compile the printed {kernel}: {log}")]
    Rejected {
        /// The kernel's name.
        kernel: String,
        /// The compiler's command.
        compiler: String,
        /// The compiler's log; withheld where it might quote a key.
        log: String,
    },
    /// The compiler named by the environment variable `CC` cannot be run.
    #[error("the C compiler that the environment variable CC names, `{command}`, cannot be run: {cause}")]
    Compiler {
        /// The value of `CC`.
        command: String,
        /// The cause.
        cause: std::io::Error,
    },
    /// A launch that the kernel has no entry point for.
    #[error("{kernel} cannot be launched like that: {what}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An entry point takes a parameter that checks have no value for.
    #[error("no check of {kernel} can be made: nothing is known of what it takes as `{parameter}`")]
    Parameter {
        /// The kernel's name.
        kernel: String,
        /// The parameter's name.
        parameter: String,
    },
    /// The manifest does not say how to launch the kernel.
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    /// A temporary folder, a pipe or a process failed.
    #[error("running the printed kernel: {0}")]
    Io(#[from] std::io::Error),
}

impl CheckError {
    /// The first byte in which the output of a launch differs from what is expected of the kernel is an error.
    pub(super) fn unless_equal(
        output: &[u8],
        expected: &[u8],
        kernel: &str,
        launch: &impl ToString,
    ) -> Result<(), Self> {
        match (0..expected.len()).find(|&i| output.get(i) != Some(&expected[i])) {
            None => Ok(()),
            Some(at) => Err(Self::Printed { kernel: kernel.into(), launch: launch.to_string(), at }),
        }
    }
}
