//! Where the bytes go: a file that appears complete or not at all, or standard output.
//!
//! A file is written under a temporary name in its own folder, synced, and renamed. A signal that ends the process
//! removes the temporary file first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempDir};

use crate::error::{Error, Exit, Result, warn};
use crate::input::Input;

/// An output that is being written.
pub struct Output {
    /// How messages name it.
    pub name: String,
    sink: Sink,
}

enum Sink {
    /// Standard output, a device or a pipe: written as it comes.
    Stream(File),
    /// A file in the making.
    File { scratch: Scratch, target: PathBuf, force: bool },
}

/// How a new file is to be had.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Replace a file that exists; write to a terminal.
    pub force: bool,
    /// Readable and writable by its owner alone (mode 0600).
    pub private: bool,
}

impl Output {
    /// Opens `path`, or standard output for `None` and `-`, for bytes that come from `input`.
    pub fn open(path: Option<&Path>, input: Option<&Input>, options: Options) -> Result<Self> {
        match path {
            Some(path) if path != Path::new("-") => Output::open_path(path, input, options),
            _ => {
                let name = "standard output".to_string();
                let file = stdout().map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
                Output::stream(name, file, input, options)
            }
        }
    }

    fn open_path(path: &Path, input: Option<&Input>, options: Options) -> Result<Self> {
        let name = format!("`{}`", path.display());
        let refuse = |why: &str| Err(Error::new(Exit::InputOutput, format!("cannot write {name}: {why}")));
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return refuse("it names a folder; give a file name");
        }
        let old = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match path.is_symlink() {
                true => return refuse("it is a link that leads nowhere; remove it, or give another name"),
                false => None,
            },
            Err(error) => return refuse(&error.to_string()),
        };
        // A link is followed, so that the file it leads to is replaced and not the link.
        let mut target = path.to_path_buf();
        if let Some(old) = &old {
            if old.is_dir() {
                return refuse("it is a folder; give a file name");
            }
            if !old.is_file() && !options.private {
                if is_block_device(old) && !options.force {
                    return refuse("it is a block device; use --force to write over what it holds");
                }
                let file = OpenOptions::new().write(true).open(path);
                let file = file.map_err(|error| Error::io(format!("cannot write {name}"), &error))?;
                return Output::stream(name, file, input, options);
            }
            // Asked before permission to overwrite: no option makes this right.
            if let (Some(input), Ok(file)) = (input, File::open(path))
                && input.is_same_file(&file)
            {
                return refuse("it is the input; write to another file");
            }
            if options.private {
                return refuse("it exists already, and a key is never overwritten; give another name");
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
                return refuse(&format!("the folder `{}` does not exist; make it first", folder.display()));
            }
            Err(error) => return refuse(&format!("the folder `{}`: {error}", folder.display())),
        }
        // Never open to more than the file it replaces, not even while it is empty.
        let scratch = Scratch::create(folder, options.private || old.is_some()).and_then(|scratch| {
            if let Some(old) = &old {
                scratch.file().set_permissions(plain(old.permissions()))?;
            }
            Ok(scratch)
        });
        match scratch {
            Ok(scratch) => Ok(Output { name, sink: Sink::File { scratch, target, force: options.force } }),
            Err(error) => {
                refuse(&format!("no file can be made in the folder `{}`: {}", folder.display(), error.kind()))
            }
        }
    }

    fn stream(name: String, file: File, input: Option<&Input>, options: Options) -> Result<Self> {
        if file.is_terminal() && !options.force {
            let message = format!("{name} is a terminal and the output is binary; use -o FILE, a pipe, or --force");
            return Err(Error::new(Exit::InputOutput, message));
        }
        if input.is_some_and(|input| input.is_same_file(&file)) {
            let message = format!("cannot write {name}: it is the input; write to another file");
            return Err(Error::new(Exit::InputOutput, message));
        }
        Ok(Output { name, sink: Sink::Stream(file) })
    }

    /// A second handle to write through, for a thread of its own.
    pub fn writer(&self) -> Result<File> {
        let file = match &self.sink {
            Sink::Stream(file) => file,
            Sink::File { scratch, .. } => scratch.file(),
        };
        file.try_clone().map_err(|error| self.error(&error))
    }

    /// Whether it is a new file, in which any byte may be written first.
    pub fn is_new_file(&self) -> bool {
        matches!(self.sink, Sink::File { .. })
    }

    /// `error` happened while writing.
    pub fn error(&self, error: &io::Error) -> Error {
        Error::io(format!("cannot write {}", self.name), error)
    }

    /// Everything is written: gives the file its name.
    pub fn finish(self) -> Result<()> {
        let Output { name, sink } = self;
        let Sink::File { scratch, target, force } = sink else { return Ok(()) };
        scratch.publish(&target, force).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::new(Exit::InputOutput, format!("cannot write {name}: somebody else has made it meanwhile"))
            }
            io::ErrorKind::NotFound => Error::new(
                Exit::InputOutput,
                format!("cannot write {name}: its folder, or the temporary file in it, was moved or removed meanwhile"),
            ),
            _ => Error::io(format!("cannot write {name}"), &error),
        })?;
        if let Err(error) = sync_folder(folder_of(&target)) {
            warn(&format!("{name} is complete, but its folder could not be synced: {error}"));
        }
        Ok(())
    }
}

/// `value` as indented JSON and a newline.
pub fn json(value: &impl serde::Serialize) -> String {
    // Fails only for maps with keys that are no strings, and for values that refuse.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Error::io("cannot write standard output", &error))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Who may read, write and run a file, without the bits that would run it as its new owner.
fn plain(permissions: fs::Permissions) -> fs::Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(permissions.mode() & 0o777)
    }
    #[cfg(not(unix))]
    permissions
}

/// Whether it is a disk or a part of one, which holds data as a file does.
#[cfg(unix)]
fn is_block_device(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device()
}

/// Elsewhere disks are not opened as files are.
#[cfg(not(unix))]
fn is_block_device(_metadata: &fs::Metadata) -> bool {
    false
}

/// Makes the new name last: a rename is in the folder, not in the file.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened to be synced.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Standard output without a buffer of its own: chunks are large already.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Standard output without a buffer of its own: chunks are large already.
#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// How the names of temporary files begin.
const PREFIX: &str = ".aes-bitslice-";

/// The temporary files and folders there are at the moment, for the thread that waits for signals.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn pending() -> MutexGuard<'static, Vec<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file, removed when dropped and when a signal ends the process.
struct Scratch {
    // Dropped before `_pending`.
    file: NamedTempFile,
    _pending: Pending,
}

/// A path that the thread that waits for signals knows.
struct Pending(PathBuf);

impl Drop for Pending {
    fn drop(&mut self) {
        pending().retain(|path| *path != self.0);
    }
}

/// A temporary folder, removed with all that is in it when dropped and when a signal ends the process.
pub struct ScratchFolder {
    // Dropped before `_pending`.
    folder: TempDir,
    _pending: Pending,
}

impl ScratchFolder {
    /// Makes one in `parent`, which only its owner may read.
    pub fn create(parent: &Path) -> Result<Self> {
        if !parent.is_dir() {
            let what = format!("`{}` is not a folder; make it first", parent.display());
            return Err(Error::new(Exit::InputOutput, what));
        }
        let mut pending = pending();
        let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map(|folder| {
            let path = folder.path().to_path_buf();
            pending.push(path.clone());
            ScratchFolder { folder, _pending: Pending(path) }
        });
        made.map_err(|error: io::Error| {
            // Its own words would tell the name, which is nobody's concern.
            let what = format!("no folder can be made in `{}`: {}", parent.display(), error.kind());
            Error::new(Exit::InputOutput, what)
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Scratch {
    fn create(folder: &Path, private: bool) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        // Private is what temporary files are anyway; any other file gets what the umask leaves of this.
        #[cfg(unix)]
        if !private {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        #[cfg(not(unix))]
        let _ = private;
        // Held from before the file exists, so that a signal finds either no file or its name.
        let mut pending = pending();
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_path_buf();
        pending.push(path.clone());
        drop(pending);
        Ok(Scratch { file, _pending: Pending(path) })
    }

    fn file(&self) -> &File {
        self.file.as_file()
    }

    fn publish(self, target: &Path, replace: bool) -> io::Result<()> {
        self.file().sync_all()?;
        // Held until the file has its new name or none, so that a signal finds nothing half done.
        let _held = pending();
        let published = match replace {
            true => self.file.persist(target).map(drop),
            false => self.file.persist_noclobber(target).map(drop),
        };
        published.map_err(|error| error.error)
    }
}

/// The signals that this process was started to ignore, signal `n` in bit `n - 1`; none where the system does not tell.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// From now on the signals that end a process remove what is temporary first, but for those that were being ignored, as
/// under `nohup`; and going over the file size limit is an error of `write` rather than a signal that kills.
///
/// A thread waits for them, and all others block them: those that are started later, by libraries too, as this is called before
/// there are any. A handler would not do, for compilers behind OpenCL have their own, which end the process.
#[cfg(unix)]
pub fn watch_signals() -> io::Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    let ignored = ignored_signals();
    let ending = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGXCPU];
    let ending: SigSet = ending.into_iter().filter(|&signal| ignored >> (signal as i32 - 1) & 1 == 0).collect();
    let mut blocked = ending;
    blocked.add(Signal::SIGXFSZ);
    blocked.thread_block()?;
    let watch = move || {
        loop {
            let Ok(signal) = ending.wait() else { continue };
            // Held to the end: the file must not get its name now, nor another one be made.
            let mut pending = pending();
            for path in pending.drain(..) {
                // Of a folder, again: another process may still be making files in it.
                let _ = fs::remove_file(&path)
                    .or_else(|_| fs::remove_dir_all(&path))
                    .or_else(|_| fs::remove_dir_all(&path));
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
        }
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(watch);
    // Without it they do what they always do.
    started.map(drop).inspect_err(|_| _ = blocked.thread_unblock())
}

/// Elsewhere an interrupted process leaves its temporary file behind.
#[cfg(not(unix))]
pub fn watch_signals() -> io::Result<()> {
    Ok(())
}
