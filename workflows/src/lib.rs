//! In what order, and how long.
