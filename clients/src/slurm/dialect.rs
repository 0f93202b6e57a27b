//! API versions of slurmrestd. One row a version; a new one is one row and its fixtures.
//!
//! *Invariant*: a row says what a version can do. How its values are written is not here: a value
//! that can be told by its shape is decoded by its shape, on every version.

/// What one API version can do (facts: slurm §0, §4, §5).
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// As it stands in paths.
    pub version: &'static str,
    /// Nodes can be changed.
    pub node_write: bool,
    /// The record of a dynamic node can be deleted.
    pub record_delete: bool,
    /// Nodes can be made: from v0.0.44 on.
    pub node_create: bool,
    /// Reservations can be made and deleted: from v0.0.43 on.
    pub reservations: bool,
    /// A node that was asked for by itself tells its own partitions. Before 26.05 it tells those of
    /// the first node of the cluster, whichever was asked for.
    pub partitions_of_one: bool,
    /// State flags that it never shows: such a node looks like any other.
    pub hides: &'static [&'static str],
}

/// Newest first.
pub(super) const TABLE: &[Dialect] = &[
    // 26.05
    Dialect {
        version: "v0.0.45",
        node_write: true,
        record_delete: true,
        node_create: true,
        reservations: true,
        partitions_of_one: true,
        hides: &[],
    },
    // 24.11 to 26.05; 26.05 calls it deprecated
    Dialect {
        version: "v0.0.42",
        node_write: true,
        record_delete: true,
        node_create: false,
        reservations: false,
        partitions_of_one: false,
        hides: &["BLOCKED", "EXTERNAL"],
    },
];

/// The versions, for a message.
pub(super) fn versions() -> String {
    TABLE.iter().map(|d| d.version).collect::<Vec<_>>().join(", ")
}

/// Whether all of these versions are older than each of ours. Of none that is not known.
pub(super) fn are_older(offered: &[String]) -> bool {
    let oldest = TABLE.iter().filter_map(|d| number(d.version)).min();
    !offered.is_empty() && offered.iter().all(|v| number(v) < oldest)
}

/// `v0.0.42` as numbers that can be compared.
pub(super) fn number(version: &str) -> Option<Vec<u32>> {
    version.strip_prefix('v')?.split('.').map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_first() {
        assert!(TABLE.is_sorted_by(|a, b| number(a.version) > number(b.version)));
    }

    #[test]
    fn older_than_all_of_ours() {
        let all = |versions: &[&str]| versions.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>();
        assert!(are_older(&all(&["v0.0.36", "v0.0.38"])));
        assert!(!are_older(&all(&["v0.0.38", "v0.0.100"])));
        assert!(!are_older(&all(&["v0.1.0"])));
        assert!(!are_older(&[]));
    }
}
