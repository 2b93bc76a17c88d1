//! Two-input netlists to LUT3 netlists.
