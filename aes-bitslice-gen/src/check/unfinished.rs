//! Compilers at work on a kernel, which may be a key, and their folders: both must not outlive a process that a signal ends.

use super::private_folder::{PrivateFolder, remove_leftovers};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The path of Linux's in-memory file system.
const SHARED_MEMORY: &str = "/dev/shm";
/// How the name of every folder begins.
const PREFIX: &str = "aes-bitslice-check-";

/// Every existing folder, and the compiler that works in it: its own process group, because it starts other processes.
type Folders = Vec<(PrivateFolder, Option<u32>)>;
static FOLDERS: Mutex<Folders> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Folders> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all compilers that check a kernel, and deletes their files. After that, no check finishes: end the process. Without this call, a
/// process that is ended by a signal leaves them behind, until the next one checks a kernel.
pub fn abandon() {
    let mut folders = folders();
    let unfinished = std::mem::take(&mut *folders);
    std::mem::forget(folders);
    unfinished.iter().filter_map(|(_, compiler)| *compiler).for_each(end);
    // Deletes the folders.
    drop(unfinished);
}

/// Ends a process group and waits for it, at most a second: there may be no process that reaps its dead processes.
#[cfg(unix)]
fn end(group: u32) {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
    use std::time::Duration;
    let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) else { return };
    let _ = kill_process_group(group, Signal::KILL);
    for _ in 0..100 {
        if test_kill_process_group(group).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// On other systems a compiler continues and finds its folder gone.
#[cfg(not(unix))]
fn end(_group: u32) {}

/// A temporary folder that only its owner can enter, in memory where possible. It is deleted on drop and by [`abandon`].
pub struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Creates a folder. The first one of this process also deletes those of killed processes.
    pub fn new() -> io::Result<Self> {
        static LEFTOVERS: Once = Once::new();
        let temporary = std::env::temp_dir();
        LEFTOVERS.call_once(|| {
            remove_leftovers(SHARED_MEMORY.as_ref(), PREFIX);
            remove_leftovers(&temporary, PREFIX);
        });
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let create = |parent: &Path| PrivateFolder::create_only(parent, PREFIX);
        // Locked before the folder exists, so that a signal finds either no folder or its name.
        let mut folders = folders();
        let folder = if runs_programs_from_memory(&mounts) {
            // Even so, it may be full or not writable for us.
            create(SHARED_MEMORY.as_ref()).or_else(|_| create(&temporary))?
        } else {
            create(&temporary)?
        };
        let path = folder.path().to_path_buf();
        folders.push((folder, None));
        Ok(Self { path })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the compiler that works in the folder.
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        // Locked until the process is registered.
        let mut folders = folders();
        let process = command.spawn()?;
        self.set(&mut folders, Some(process.id()));
        Ok(process)
    }

    /// Records that the compiler has ended.
    pub fn ended(&self) {
        self.set(&mut folders(), None);
    }

    fn set(&self, folders: &mut Folders, compiler: Option<u32>) {
        folders.iter_mut().filter(|(folder, _)| folder.path() == self.path).for_each(|entry| entry.1 = compiler);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Locked while the folder is deleted. Where a running program cannot be deleted, the next process deletes it.
        folders().retain(|(folder, _)| folder.path() != self.path);
    }
}

/// Whether [`SHARED_MEMORY`] is a file system in memory whose files may be executed, according to a table in the format of
/// `proc_mounts(5)`: device, folder, type and options. Of several entries, the last one is on top.
fn runs_programs_from_memory(mounts: &str) -> bool {
    let mut mounts = mounts.lines().rev().map(|line| line.split(' ').collect::<Vec<_>>());
    let top = mounts.find(|fields| fields.get(1) == Some(&SHARED_MEMORY));
    matches!(top.as_deref(), Some([_, _, "tmpfs", options, ..]) if options.split(',').all(|option| option != "noexec"))
}

#[cfg(test)]
mod tests {
    use super::runs_programs_from_memory;

    #[test]
    fn memory_that_programs_run_from() {
        let usable = "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n";
        assert!(runs_programs_from_memory(usable));
        for other in [
            "",
            "tmpfs /dev tmpfs rw 0 0\n",
            "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime 0 0\n",
            "/dev/sda1 /dev/shm ext4 rw 0 0\n",
            &format!("{usable}tmpfs /dev/shm tmpfs rw,noexec 0 0\n"),
        ] {
            assert!(!runs_programs_from_memory(other), "{other:?}");
        }
    }
}
