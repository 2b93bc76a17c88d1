//! The command line as types.
//!
//! | file | idea |
//! |---|---|
//! | `command` | the commands, and one-line errors for a wrong command line |
//! | `crypt` | options of `encrypt` and `decrypt` |
//! | `keystream` | options of `keystream` |
//! | `seal` | options of `seal` and `open` |
//! | `mode`, `iv`, `sectors` | modes by name, where an IV comes from, and the sectors of XTS |
//! | `stream` | options of every command that writes a stream |
//! | `key` | where a key comes from; options of `keygen` |
//! | `engine` | which engine is used |
//! | `info`, `tune`, `bench`, `pages` | options of these commands |
//! | `numbers` | sizes and numbers within bounds |
//! | `size` | what one call of a measurement processes |

pub mod bench;
pub mod command;
pub mod crypt;
pub mod engine;
pub mod info;
pub mod iv;
pub mod key;
pub mod keystream;
pub mod mode;
mod numbers;
pub mod pages;
pub mod seal;
mod sectors;
pub mod size;
pub mod stream;
pub mod tune;
