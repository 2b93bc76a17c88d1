//! Prevents core dumps of this process: they would hold keys and data.
//!
//! The limit for their size is set to one byte. Linux then makes none: no file, which would have too little room, and nothing for a program
//! that receives core dumps (`core_pattern` begins with `|`), to which a limit of zero does not apply (core(5)).

/// Sets the soft limit. Does nothing if the system has no such limit, or refuses.
pub fn disable() {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
            let _ = setrlimit(Resource::RLIMIT_CORE, hard.min(1), hard);
        }
    }
}
