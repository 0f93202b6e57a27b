//! API versions of slurmrestd. One row a version; a new one is one row and its fixtures.

/// What one API version can do.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// As it stands in paths.
    pub version: &'static str,
}

/// Newest first.
pub(super) const TABLE: &[Dialect] = &[Dialect { version: "v0.0.45" }];

/// The versions, for a message.
pub(super) fn versions() -> String {
    TABLE.iter().map(|d| d.version).collect::<Vec<_>>().join(", ")
}
