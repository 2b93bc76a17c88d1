//! Measurements as JSON in the user's cache folder: one file for each kind of GPU with each driver and version, which
//! appears complete or not at all. It contains no secrets.

use crate::backend::cuda::select::measurements::{Measurements, Subject};
use crate::base::error::Error;
use aes_bitslice_core::sync::sync;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The version of a file's contents.
const FORMAT: u32 = 2;

/// The maximum size in bytes of a file of measurements.
pub(crate) const LARGEST: u64 = 4 << 20;

#[derive(Serialize, Deserialize)]
struct Contents<'a> {
    format: u32,
    #[serde(flatten)]
    measurements: Cow<'a, Measurements>,
}

impl Measurements {
    /// Saves them in the user's cache folder, and returns the path. Every device of this name that is opened from now
    /// on with this driver and this version uses them. The folder is that of the environment variable
    /// `AES_BITSLICE_CACHE`, else `aes-bitslice` in `XDG_CACHE_HOME`, else in `.cache` in the user's home.
    ///
    /// # Errors
    /// [`Error::TuningNotSaved`] if there is no such folder or it cannot be written.
    pub fn save(&self) -> Result<PathBuf, Error> {
        let no_home = || Error::TuningNotSaved {
            path: "aes-bitslice".into(),
            what: "there is no home folder to keep it in; set AES_BITSLICE_CACHE to a folder".into(),
        };
        let path = path(&self.subject).ok_or_else(no_home)?;
        write(&path, self).map_err(|e| Error::TuningNotSaved { path: path.clone(), what: e.to_string() })?;
        Ok(path)
    }

    /// The text that [`save`](Self::save) writes.
    pub fn to_json(&self) -> String {
        let contents = Contents { format: FORMAT, measurements: Cow::Borrowed(self) };
        serde_json::to_string_pretty(&contents).expect("names, numbers and lists") + "\n"
    }
}

/// The path of the measurements of a GPU with a driver and a version.
pub(crate) fn path(subject: &Subject) -> Option<PathBuf> {
    let folder = folder(|name| std::env::var_os(name), std::env::home_dir())?;
    Some(folder.join(name(subject)))
}

/// Subjects that differ only in the characters replaced here share a file name; the contents of the file tell them
/// apart.
fn name(Subject { gpu, driver, version, .. }: &Subject) -> String {
    let name = format!("tuning-{gpu}-{driver}-{version}.json").to_ascii_lowercase();
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")
}

fn folder(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The XDG base directory specification requires relative paths to be ignored.
    let absolute = |path: &PathBuf| path.is_absolute();
    let cache = || set("XDG_CACHE_HOME").filter(absolute).or_else(|| Some(home.filter(absolute)?.join(".cache")));
    set("AES_BITSLICE_CACHE").or_else(|| Some(cache()?.join("aes-bitslice")))
}

/// The measurements in a file for this GPU, driver and version; `None` if there is no file, and the reason if it cannot
/// be used.
pub(crate) fn read(path: &Path, subject: &Subject) -> Result<Option<Measurements>, String> {
    let text = match text(path) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(e) => return Err(format!("it cannot be read ({e})")),
    };
    parse(&text, subject).map(Some)
}

/// The measurements in a file's text for this GPU, driver and version, or why it cannot be used.
pub(crate) fn parse(text: &str, subject: &Subject) -> Result<Measurements, String> {
    let damaged = |what: String| format!("it is damaged ({what})");
    let json: serde_json::Value = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
    if json["format"] != FORMAT {
        return Err("it is of another format than this version's".into());
    }
    // Before its contents are looked at: data that another version wrote may mean something else.
    let theirs = Subject::deserialize(&json["subject"]).map_err(|e| damaged(e.to_string()))?;
    let same = [
        ("GPU", &theirs.gpu, &subject.gpu),
        ("version", &theirs.version, &subject.version),
        ("driver", &theirs.driver, &subject.driver),
    ];
    if let Some((what, then, now)) = same.into_iter().find(|(_, then, now)| then != now) {
        return Err(format!("it was measured with another {what} ({then}; now {now})"));
    }
    let measurements = Contents::deserialize(json).map_err(|e| damaged(e.to_string()))?.measurements.into_owned();
    if is_plausible(&measurements) { Ok(measurements) } else { Err(damaged("a rate or a size is impossible".into())) }
}

fn text(path: &Path) -> io::Result<String> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut text = String::new();
    if File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)? as u64 > LARGEST {
        Err(io::Error::other("it is too large"))
    } else {
        Ok(text)
    }
}

fn is_plausible(measurements: &Measurements) -> bool {
    let rate = |rate: f64| (1e-9..1e9).contains(&rate);
    let size = |bytes: u64| (1..=1 << 60).contains(&bytes);
    let kernels = measurements.kernels.iter();
    kernels.clone().all(|k| size(k.bytes) && k.rates.iter().all(|r| rate(r.gbytes_per_second)))
        && measurements.host.iter().all(|h| size(h.bytes) && rate(h.cpu) && rate(h.cuda))
}

/// Writes a new file in the same folder, under an unpredictable name, then renames it.
fn write(path: &Path, measurements: &Measurements) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("it is in no folder"))?;
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(measurements.to_json().as_bytes())?;
    sync(file.as_file())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::select::measurements::tests::{measurements, subject};

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("tuning.json");
        assert_eq!(read(&path, &subject()), Ok(None));
        for _ in 0..2 {
            write(&path, &measurements()).unwrap();
            assert_eq!(read(&path, &subject()), Ok(Some(measurements())));
        }
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["tuning.json"], "nothing else is left");
    }

    /// Write access to the folder does not let anyone make this program write anywhere else.
    #[test]
    #[cfg(unix)]
    fn links_that_were_laid_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("tuning.json"), folder.path().join("victim"));
        fs::write(&victim, "unchanged").unwrap();
        let id = std::process::id();
        for name in ["tuning.json".into(), format!("tuning.{id}.tmp"), format!("tuning.json.{id}.tmp")] {
            std::os::unix::fs::symlink(&victim, folder.path().join(name)).unwrap();
        }
        write(&path, &measurements()).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "unchanged");
        assert_eq!(read(&path, &subject()), Ok(Some(measurements())));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuning.json");
        fs::create_dir(&path).unwrap();
        write(&path, &measurements()).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write(&folder.path().join("tuning.json/file/tuning.json"), &measurements()).unwrap();
        write(&folder.path().join("tuning.json/file/tuning.json/more"), &measurements()).unwrap_err();
    }

    #[test]
    fn the_name_by_gpu_driver_and_version() {
        assert_eq!(name(&subject()), "tuning-nvidia-h200-580.1-0.1.0.json");
        let driver = "../CUDA 13.0".into();
        assert_eq!(name(&Subject { driver, ..subject() }), "tuning-nvidia-h200-..-cuda-13.0-0.1.0.json");
        // Kernels do not depend on it: their measurements hold with another processor, too.
        assert_eq!(name(&Subject { cpu: "2 threads".into(), ..subject() }), name(&subject()));
    }

    #[test]
    fn the_folder_by_environment() {
        let found = |variables: &[(&str, &str)], home: Option<&str>| {
            let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
            folder(variable, home.map(PathBuf::from))
        };
        let home = Some("/home/user");
        let (cache, xdg) = (("AES_BITSLICE_CACHE", "/c"), ("XDG_CACHE_HOME", "/x"));
        assert_eq!(found(&[cache, xdg], home), Some("/c".into()));
        assert_eq!(found(&[xdg], home), Some("/x/aes-bitslice".into()));
        for variables in [&[][..], &[("XDG_CACHE_HOME", "")], &[("XDG_CACHE_HOME", "relative")]] {
            assert_eq!(found(variables, home), Some("/home/user/.cache/aes-bitslice".into()));
        }
        assert_eq!(found(&[], None), None);
    }
}
