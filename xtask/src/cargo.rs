//! Builds and tests this workspace, with the cargo that runs this program.

use crate::files;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How programs are built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Like this program itself, so that most dependencies are built already.
    Shared,
    /// For release.
    Release,
}

/// The workspace's cargo.
pub struct Cargo {
    program: OsString,
    root: PathBuf,
    /// Its build folder.
    pub target: PathBuf,
}

/// A binary that cargo built.
pub struct Built {
    /// The package and target it was built from, as `package-target`.
    pub name: String,
    pub path: PathBuf,
    /// Whether it is a test program, not an example or a program.
    pub is_test: bool,
}

impl Cargo {
    pub fn new(root: &Path) -> Self {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self { program, root: root.into(), target: files::target(root) }
    }

    /// Builds a package's program.
    pub fn program(&self, package: &str, name: &str, profile: Profile) -> Result<PathBuf> {
        // Without a package, cargo uses the features of the whole workspace, for which this program was built.
        let package = (profile == Profile::Release).then_some(["--package", package]);
        let arguments: Vec<&str> = ["build", "--bin", name].into_iter().chain(package.into_iter().flatten()).collect();
        let built = self.build(&arguments, profile)?;
        let program = built.into_iter().next().with_context(|| format!("cargo built no program {name}"))?;
        Ok(program.path)
    }

    /// Builds the test programs and examples of packages.
    pub fn tests(&self, packages: &[&str]) -> Result<Vec<Built>> {
        let mut arguments = vec!["test", "--no-run"];
        packages.iter().for_each(|package| arguments.extend(["--package", package]));
        self.build(&arguments, Profile::Release)
    }

    /// Builds the examples of a package.
    pub fn examples(&self, package: &str) -> Result<Vec<Built>> {
        self.build(&["build", "--examples", "--package", package], Profile::Release)
    }

    /// Runs the tests of the whole workspace, with these options, and returns whether all passed.
    pub fn test(&self, options: &[&str], environment: &[(&str, &str)]) -> Result<bool> {
        let mut command = Command::new(&self.program);
        command.args(["test", "--workspace"]).args(options).envs(environment.iter().copied());
        Ok(command.current_dir(&self.root).status().context("cannot run cargo")?.success())
    }

    /// Runs a cargo command that builds; its progress goes to standard error.
    fn build(&self, arguments: &[&str], profile: Profile) -> Result<Vec<Built>> {
        let mut command = Command::new(&self.program);
        command.args(arguments).args((profile == Profile::Release).then_some("--release"));
        command.args(["--quiet", "--message-format", "json-render-diagnostics"]);
        let output = command.current_dir(&self.root).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
        if !output.status.success() {
            bail!("`cargo {}` failed", arguments.join(" "));
        }
        let messages = String::from_utf8(output.stdout).context("what cargo says")?;
        Ok(messages.lines().filter_map(|line| executable(&serde_json::from_str(line).ok()?)).collect())
    }
}

/// The binary in a message of cargo's, if it has one.
fn executable(message: &Value) -> Option<Built> {
    let path = message["executable"].as_str()?.into();
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let package = manifest.parent()?.file_name()?.to_str()?;
    let target = message["target"]["name"].as_str()?;
    let is_test = message["profile"]["test"].as_bool()?;
    Some(Built { name: format!("{package}-{target}"), path, is_test })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_of_cargo() {
        let message = json!({
            "reason": "compiler-artifact", "manifest_path": "/p/tests/Cargo.toml", "target": {"name": "gpu"},
            "profile": {"test": true}, "executable": "/p/target/release/deps/gpu-0123"
        });
        let built = executable(&message).unwrap();
        assert_eq!((built.name.as_str(), built.is_test), ("tests-gpu", true));
        assert_eq!(built.path, Path::new("/p/target/release/deps/gpu-0123"));
        assert!(executable(&json!({"reason": "compiler-artifact", "executable": null})).is_none());
        assert!(executable(&json!({"reason": "build-finished", "success": true})).is_none());
    }
}
