//! No core dump of this process: it would hold keys and data.
//!
//! The limit for core dumps is set to zero, as GnuPG does. Where the system gives core dumps to a program (`core_pattern` begins with
//! `|`), that program is told the limit; systemd-coredump keeps nothing then.

/// Sets the soft limit to zero. Nothing is done where the system has no such limit, or refuses.
pub fn disable() {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
            let _ = setrlimit(Resource::RLIMIT_CORE, 0, hard);
        }
    }
}
