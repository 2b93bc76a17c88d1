//! Asking for a passphrase on the terminal, which does not show what is typed.
//!
//! The terminal still assembles lines and raises signals. However the process ends or stops, it shows again what is typed: when a
//! [`Terminal`] is dropped, and before a signal ends or stops the process ([`show`]). A process that continues asks again ([`hide`]).

#[cfg(unix)]
pub use unix::{Terminal, hide, show, show_for_good};

#[cfg(not(unix))]
pub use other::Terminal;

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, ErrorKind, Write};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use nix::sys::termios::{FlushArg, InputFlags, LocalFlags, SetArg, Termios, tcflush, tcgetattr, tcsetattr};
    use nix::unistd::{getpgrp, tcgetpgrp};
    use zeroize::Zeroizing;

    use crate::filled::read_to;

    /// The longest line in bytes, and that of a terminal on macOS; Linux allows four times as many. Both drop the rest.
    const LONGEST: usize = 1 << 10;

    /// The terminal with an open question, for the thread that waits for signals.
    static ASKED: Mutex<Option<Asked>> = Mutex::new(None);

    struct Asked {
        file: File,
        shown: Termios,
        hidden: Termios,
        question: &'static str,
    }

    fn asked() -> MutexGuard<'static, Option<Asked>> {
        ASKED.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Asked {
        /// A process in the background leaves the terminal to the one in the foreground.
        fn is_in_front(&self) -> bool {
            tcgetpgrp(&self.file).is_ok_and(|group| group == getpgrp())
        }
    }

    /// Shows what is typed from now on, if it was hidden, and drops what was typed but not read: a shell would show it.
    pub fn show() {
        show_on(asked().as_ref());
    }

    /// Shows what is typed for good, before the process ends: it is never hidden again.
    pub fn show_for_good() {
        let asked = asked();
        show_on(asked.as_ref());
        std::mem::forget(asked);
    }

    fn show_on(asked: Option<&Asked>) {
        if let Some(asked) = asked.filter(|asked| asked.is_in_front()) {
            // Not both by `TCSAFLUSH`, which waits for a terminal that was stopped by Ctrl-S.
            let _ = tcsetattr(&asked.file, SetArg::TCSANOW, &asked.shown);
            let _ = tcflush(&asked.file, FlushArg::TCIFLUSH);
        }
    }

    /// Hides it again if it is shown, and asks again: the process was stopped, and another process may have changed the terminal meanwhile.
    pub fn hide() {
        let shows = |asked: &Asked| tcgetattr(&asked.file).is_ok_and(|now| now.local_flags.contains(LocalFlags::ECHO));
        if let Some(asked) = asked().as_mut().filter(|asked| asked.is_in_front() && shows(asked)) {
            let _ = tcsetattr(&asked.file, SetArg::TCSANOW, &asked.hidden);
            let _ = asked.file.write_all(asked.question.as_bytes());
        }
    }

    /// The terminal of the process, which does not show what is typed until this is dropped.
    pub struct Terminal {
        file: File,
    }

    impl Terminal {
        /// Only one may exist at a time.
        pub fn open() -> io::Result<Self> {
            let file = File::options().read(true).write(true).open("/dev/tty")?;
            let shown = tcgetattr(&file)?;
            let mut hidden = shown.clone();
            hidden.local_flags.remove(LocalFlags::ECHO);
            hidden.local_flags.insert(LocalFlags::ICANON | LocalFlags::ECHONL);
            hidden.input_flags.insert(InputFlags::ICRNL);
            // Changes nothing; but a process in the background is stopped here, until it is in the foreground.
            tcsetattr(&file, SetArg::TCSANOW, &shown)?;
            // Held from before it is hidden, so that a signal finds it shown, or finds what to restore.
            let (of_signals, mut asked) = (file.try_clone()?, asked());
            // What was typed before was visible.
            tcsetattr(&file, SetArg::TCSAFLUSH, &hidden)?;
            *asked = Some(Asked { file: of_signals, shown, hidden, question: "" });
            Ok(Terminal { file })
        }

        /// Asks `question`, and reads a line.
        pub fn ask(&mut self, question: &'static str) -> io::Result<Zeroizing<String>> {
            if let Some(asked) = asked().as_mut() {
                asked.question = question;
            }
            self.file.write_all(question.as_bytes())?;
            let refuse = |why| Err(io::Error::new(ErrorKind::InvalidData, why));
            let mut line = Zeroizing::new([0; LONGEST]);
            let length = read_to(&mut self.file, &mut line[..], |read| read.ends_with(b"\n"))?;
            let Some(typed) = line[..length].strip_suffix(b"\n") else {
                return refuse(if length < LONGEST {
                    "the input ended before Enter was typed"
                } else {
                    "what was typed is too long"
                });
            };
            // Bytes that are not text get no replacement: different bytes would become one passphrase.
            let Ok(text) = std::str::from_utf8(typed) else {
                return refuse("what was typed is not text in UTF-8");
            };
            if text.contains(char::is_control) {
                refuse("what was typed has a control character, as an arrow key makes")
            } else {
                Ok(Zeroizing::new(text.to_owned()))
            }
        }
    }

    impl Drop for Terminal {
        fn drop(&mut self) {
            // In one step: a process that continues would hide it in between.
            let mut asked = asked();
            show_on(asked.as_ref());
            *asked = None;
        }
    }
}

/// Elsewhere terminals deliver characters, not bytes.
#[cfg(not(unix))]
mod other {
    use std::io;
    use zeroize::Zeroizing;

    pub struct Terminal;

    impl Terminal {
        pub fn open() -> io::Result<Self> {
            Ok(Terminal)
        }

        pub fn ask(&mut self, question: &'static str) -> io::Result<Zeroizing<String>> {
            rpassword::prompt_password(question).map(Zeroizing::new)
        }
    }
}
