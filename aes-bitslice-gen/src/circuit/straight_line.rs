//! Straight-line programs in Rust expression syntax.
