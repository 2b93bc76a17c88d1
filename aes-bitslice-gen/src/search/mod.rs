//! A superoptimiser for circuits of LUT3s: it searches for S-boxes and linear layers with fewer gates, in the standard
//! basis and in others.
//!
//! | file | idea |
//! |---|---|
//! | `target` | the target of a search: its definition, its proof, its file |
//! | `table` | truth tables of eight inputs |
//! | `resubstitution` | nonlinear layers: a walk over networks of LUT3s |
//! | `window` | nonlinear layers: exact synthesis of a few gates by SAT |
//! | `sums` | linear layers: a walk over programs of XORs |
//! | `places` | linear layers with a key added on the way: the same walk, minimising gates and key bits without a place |
//! | `best_netlists` | the best netlists so far |
//! | `run` | threads that choose where to walk next |

mod best_netlists;
mod places;
mod resubstitution;
mod run;
mod sums;
mod table;
mod target;
mod window;

pub use best_netlists::{BestNetlists, BestNetlistsError};
pub use run::{Goal, Options, Progress, Search};
pub use target::{Layer, Target};
