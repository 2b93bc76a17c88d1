//! Where the bytes go: a file that appears complete or not at all, or standard output.
//!
//! A file is written under a temporary name in its own folder, synced, and renamed. A [`Target`] is only checked: the file is made after
//! everything else that can fail.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use aes_bitslice_core::sync::sync;
use aes_bitslice_seal::access::{ANYBODY, Access, Given, OWNER, is_block_device};
use aes_bitslice_seal::naming::{Numbered, folder_of};

use crate::error::{Error, Exit, Result, warn};
use crate::input::Input;
use crate::scratch::{self, Scratch};
use crate::{standard, text};

/// A place for an output that may be written to.
pub struct Target {
    /// How messages name it.
    name: String,
    options: Options,
    kind: Kind,
}

enum Kind {
    /// Standard output.
    Standard(File),
    /// A device or a pipe.
    Special(PathBuf),
    /// A file to make, and who may use it.
    File { path: PathBuf, like: Like },
}

/// Who may use a file that is made.
enum Like {
    /// Anyone whom the umask allows.
    Any,
    /// Its owner alone.
    Private,
    /// Anyone whom the umask allows and who may use the input.
    Input(Access),
    /// Anyone who may use the file that it replaces.
    Old(Access),
}

/// An output that is being written.
pub struct Output {
    /// How messages name it.
    pub name: String,
    sink: Sink,
}

enum Sink {
    /// Standard output, a device or a pipe: written as it comes.
    Stream { file: File, to_sync: bool, disk: Option<Disk> },
    /// A file that is being made.
    File { scratch: Scratch, path: PathBuf, force: bool, old: Option<Access> },
}

/// A disk that is written from byte `start` on, and its length.
#[derive(Clone, Copy)]
struct Disk {
    start: u64,
    length: u64,
}

impl Disk {
    /// The disk that is open as `file`, if it is one.
    fn of(mut file: &File) -> io::Result<Option<Self>> {
        if !is_block_device(&file.metadata()?) {
            return Ok(None);
        }
        let start = file.stream_position()?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(start))?;
        Ok(Some(Disk { start, length }))
    }
}

/// What a user has to know of a complete output.
#[derive(Debug, Default, PartialEq)]
pub struct Remarks {
    /// Without this, it cannot be read: it is shown even if the user wants no warnings.
    needed: Option<String>,
    warnings: Vec<String>,
}

impl Remarks {
    /// Adds a warning, if there is one.
    pub fn extend(&mut self, warning: Option<String>) {
        self.warnings.extend(warning);
    }

    /// Prints them; for a `quiet` command only what is needed.
    pub fn show(&self, quiet: bool) {
        self.needed.iter().chain(self.warnings.iter().filter(|_| !quiet)).for_each(|remark| warn(remark));
    }
}

/// How to make an output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Replace a file that exists; write to a terminal.
    pub force: bool,
    /// Readable and writable by its owner alone (mode 0600).
    pub private: bool,
}

impl Target {
    /// The target that `path` names, standard output for `None` and `-`, for bytes that come from `input`. Opens and makes nothing.
    pub fn check(path: Option<&Path>, input: Option<&Input>, options: Options) -> Result<Self> {
        match path {
            Some(path) if path != Path::new("-") => Target::check_path(path, input, options),
            _ => Target::check_open("standard output".into(), standard::output()?, input, options),
        }
    }

    /// The target that is open as `file`.
    fn check_open(name: String, file: File, input: Option<&Input>, options: Options) -> Result<Self> {
        refuse_terminal(&name, &file, options)?;
        refuse_input(&name, input, &file)?;
        Ok(Target { name, options, kind: Kind::Standard(file) })
    }

    fn check_path(path: &Path, input: Option<&Input>, options: Options) -> Result<Self> {
        let name = format!("`{}`", path.display());
        let refuse = |why: &str| Err(Error::new(Exit::InputOutput, format!("cannot write {name}: {why}")));
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return refuse("it names a folder; give a file name");
        }
        let numbered = Numbered::of(path);
        if let Some(Numbered::Here(number)) = numbered {
            let file =
                standard::duplicate(number).map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
            return Target::check_open(name, file, input, options);
        }
        let old = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return refuse("it is a link that leads nowhere; remove it, or give another name");
                }
                None
            }
            Err(error) => return refuse(&error.to_string()),
        };
        // A link is followed, so that the file it leads to is replaced and not the link.
        let mut target = path.to_path_buf();
        if let Some(old) = &old {
            if old.is_dir() {
                return refuse("it is a folder; give a file name");
            }
            if old.is_file() && numbered == Some(Numbered::Elsewhere) {
                return refuse("it is an open file of another process; give the name of the file itself");
            }
            // Before anything is opened: a pipe would wait for its other end.
            if options.private {
                return refuse("it exists already, and a key is never overwritten; give another name");
            }
            if !old.is_file() {
                if is_block_device(old) && !options.force {
                    return refuse("it is a block device; use --force to write over what it holds");
                }
                if input.is_some_and(|input| input.is_same_device(old)) {
                    return refuse("it is the input; write to another file");
                }
                return Ok(Target { name, options, kind: Kind::Special(target) });
            }
            // Checked before permission to overwrite: no option makes this right.
            if let Ok(file) = File::open(path) {
                refuse_input(&name, input, &file)?;
            }
            if !options.force {
                return refuse("it exists already; use --force to replace it");
            }
            target = fs::canonicalize(path).map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
        }
        let folder = folder_of(&target);
        match fs::metadata(folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return refuse(&format!("`{}` is not a folder", folder.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let advice = text::not_replaced(folder).unwrap_or("make it first");
                return refuse(&format!("the folder `{}` does not exist; {advice}", folder.display()));
            }
            Err(error) => return refuse(&format!("the folder `{}`: {error}", folder.display())),
        }
        let like = match (&old, input.and_then(|input| input.access())) {
            (Some(old), _) => Like::Old(Access::of(&target, old)),
            (None, _) if options.private => Like::Private,
            (None, Some(access)) => Like::Input(access),
            (None, None) => Like::Any,
        };
        Ok(Target { name, options, kind: Kind::File { path: target, like } })
    }

    /// Opens the target, or makes it if it does not exist.
    pub fn open(self) -> Result<Output> {
        let Target { name, options, kind } = self;
        let sink = match kind {
            Kind::Standard(file) => {
                let disk = Disk::of(&file).map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
                Sink::Stream { file, to_sync: disk.is_some(), disk }
            }
            Kind::Special(path) => {
                let file = OpenOptions::new().write(true).open(path);
                let file = file.map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
                refuse_terminal(&name, &file, options)?;
                let disk = Disk::of(&file).map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
                Sink::Stream { file, to_sync: true, disk }
            }
            Kind::File { path, like } => {
                let folder = folder_of(&path);
                let made = match like {
                    Like::Any => Scratch::create(folder, ANYBODY).map(|scratch| (scratch, None)),
                    Like::Private => Scratch::create(folder, OWNER).map(|scratch| (scratch, None)),
                    Like::Input(access) => access
                        .create(|mode| Scratch::create(folder, mode), Scratch::file)
                        .map(|scratch| (scratch, None)),
                    // Its owner's alone until it is complete.
                    Like::Old(access) => Scratch::create(folder, OWNER).map(|scratch| (scratch, Some(access))),
                };
                let (scratch, old) = made.map_err(|error| {
                    let (folder, reason) = (folder.display(), scratch::reason(&error));
                    let what = format!("cannot write {name}: no file can be made in the folder `{folder}`: {reason}");
                    Error::new(Exit::InputOutput, what)
                })?;
                Sink::File { scratch, path, force: options.force, old }
            }
        };
        Ok(Output { name, sink })
    }

    /// Whether both are files, and one would replace the other.
    pub fn is_same_file(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::File { path, .. }, Kind::File { path: other, .. }) => place(path) == place(other),
            _ => false,
        }
    }

    /// Whether it is the file that `path` leads to.
    pub fn is_file(&self, path: &Path) -> bool {
        matches!(&self.kind, Kind::File { path: target, .. } if place(target) == place(path))
    }
}

/// A path with its folder's links followed.
fn place(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?))
}

fn refuse_terminal(name: &str, file: &File, options: Options) -> Result<()> {
    let why = match options {
        _ if !file.is_terminal() => return Ok(()),
        Options { private: true, .. } => {
            "a terminal and the output is a key, which is never shown; use -o FILE or a pipe"
        }
        Options { force: false, .. } => "a terminal and the output is binary; use -o FILE, a pipe, or --force",
        Options { force: true, .. } => return Ok(()),
    };
    Err(Error::new(Exit::InputOutput, format!("{name} is {why}")))
}

fn refuse_input(name: &str, input: Option<&Input>, output: &File) -> Result<()> {
    let is_same = |input: &Input| {
        input.is_same_file(output) || output.metadata().is_ok_and(|output| input.is_same_device(&output))
    };
    if input.is_some_and(is_same) {
        let message = format!("cannot write {name}: it is the input; write to another file");
        Err(Error::new(Exit::InputOutput, message))
    } else {
        Ok(())
    }
}

impl Output {
    /// A second handle to write through, for another thread.
    pub fn writer(&self) -> Result<File> {
        let file = match &self.sink {
            Sink::Stream { file, .. } => file,
            Sink::File { scratch, .. } => scratch.file(),
        };
        file.try_clone().map_err(|error| self.error(&error))
    }

    /// Whether it is a new file, in which any byte may be written first.
    pub fn is_new_file(&self) -> bool {
        matches!(self.sink, Sink::File { .. })
    }

    /// Refuses `bytes` bytes or more for a disk that has less room.
    pub fn must_hold(&self, bytes: u64) -> Result<()> {
        match self.sink {
            Sink::Stream { disk: Some(Disk { start, length }), .. } if length.saturating_sub(start) < bytes => {
                let room = length.saturating_sub(start);
                let message =
                    format!("cannot write {}: it has room for {room} bytes, and the output has {bytes}", self.name);
                Err(Error::new(Exit::InputOutput, message))
            }
            _ => Ok(()),
        }
    }

    /// `error` happened while writing.
    pub fn error(&self, error: &io::Error) -> Error {
        Error::io(format!("cannot write {}", self.name), error)
    }

    /// Finishes when everything is written: syncs it to the disk, and gives a file its name.
    pub fn finish(self) -> Result<Remarks> {
        let Output { name, sink } = self;
        let failed = |error: &io::Error| Error::io(format!("cannot write {name}"), error);
        let (scratch, path, force, old) = match sink {
            Sink::Stream { mut file, to_sync, disk } => {
                if to_sync {
                    // A pipe or a terminal has nothing to sync.
                    sync(&file).map_err(|error| failed(&error))?;
                }
                let Some(Disk { start, length }) = disk else { return Ok(Remarks::default()) };
                let end = file.stream_position().map_err(|error| failed(&error))?;
                let bytes = end.saturating_sub(start);
                let needed = (end < length).then(|| {
                    format!(
                        "{name} is a disk of {length} bytes, and nothing marks there where the output ends: note that it has {bytes} bytes; a \
                         command that reads it takes --length {bytes}"
                    )
                });
                return Ok(Remarks { needed, ..Remarks::default() });
            }
            Sink::File { scratch, path, force, old } => (scratch, path, force, old),
        };
        let mut warnings = Vec::new();
        if let Some(old) = old
            && old.give(scratch.file()).map_err(|error| failed(&error))? == Given::Less
        {
            warnings.push(format!(
                "{name}: owner, group, mode or access list of the file that was there could not be kept; it is no more open than before"
            ));
        }
        let of_folder = scratch.publish(&path, force).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::new(
                Exit::InputOutput,
                format!("cannot write {name}: a file with this name was created in the meantime"),
            ),
            io::ErrorKind::NotFound => Error::new(
                Exit::InputOutput,
                format!("cannot write {name}: its folder, or the temporary file in it, has been moved or removed"),
            ),
            _ => failed(&error),
        })?;
        let of_folder =
            of_folder.map(|error| format!("{name} is complete, but its folder could not be synced: {error}"));
        warnings.extend(of_folder);
        Ok(Remarks { needed: None, warnings })
    }
}

/// `value` as indented JSON and a newline.
pub fn json(value: &impl serde::Serialize) -> String {
    // Fails only for maps whose keys are not strings, and for values that refuse.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<()> {
    let written = standard::output()?.write_all(text.as_bytes());
    written.map_err(|error| Error::io("cannot write standard output", &error))
}
