//! API versions of slurmrestd. One row a version; a new one is one row and its fixtures.
//!
//! *Invariant*: a row says what a version can do. How its values are written is not here: a value
//! that can be told by its shape is decoded by its shape, on every version.

/// What one API version can do (facts: slurm §0, §4, §5).
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// As it stands in paths.
    pub version: &'static str,
    /// Nodes can be changed. 22.05 answers 405.
    pub node_write: bool,
    /// The record of a dynamic node can be deleted.
    pub record_delete: bool,
    /// Nodes can be made: from v0.0.44 on.
    pub node_create: bool,
    /// Reservations can be made and deleted: from v0.0.43 on. Every version lists them.
    pub reservations: bool,
    /// Jobs are submitted in the words that we use. v0.0.38 has others, and nothing of ours runs where
    /// no node can be closed.
    pub job_write: bool,
    /// What became of each job that was to be cancelled is told. v0.0.40 says the same of one that is
    /// told to end, of one that is over, and of one that never was (run on 24.11).
    pub tells_cancelled: bool,
    /// A node that was asked for by itself tells its own partitions. Before 26.05 it tells those of
    /// the first node of the cluster, whichever was asked for.
    pub partitions_of_one: bool,
    /// It reads `update_time` of a list. v0.0.40 refuses any (facts: slurm §0.7).
    pub reads_update_time: bool,
    /// State flags that it never shows: such a node looks like any other.
    pub hides: &'static [&'static str],
}

/// What some versions can do and others cannot.
pub(super) struct Capability {
    /// Its column.
    pub(super) has: fn(&Dialect) -> bool,
    /// What it needs, for a message.
    pub(super) needs: &'static str,
}

/// Changing nodes.
pub(super) const NODE_WRITE: Capability = Capability {
    has: |d| d.node_write,
    needs: "changing nodes needs v0.0.40 or newer, as SLURM 24.11 serves",
};

/// Deleting the record of a node.
pub(super) const RECORD_DELETE: Capability = Capability {
    has: |d| d.record_delete,
    needs: "deleting a node's record needs v0.0.40 or newer, as SLURM 24.11 serves",
};

/// Making nodes.
pub(super) const NODE_CREATE: Capability = Capability {
    has: |d| d.node_create,
    needs: "making nodes needs v0.0.44 or newer, as SLURM 26.05 serves",
};

/// Making and deleting reservations.
pub(super) const RESERVATIONS: Capability = Capability {
    has: |d| d.reservations,
    needs: "making and deleting reservations needs v0.0.43 or newer, as SLURM 26.05 serves",
};

/// Submitting, changing and cancelling jobs.
pub(super) const JOB_WRITE: Capability = Capability {
    has: |d| d.job_write,
    needs: "submitting and cancelling jobs needs v0.0.40 or newer, as SLURM 24.11 serves",
};

/// Newest first.
pub(super) const TABLE: &[Dialect] = &[
    // 26.05
    Dialect {
        version: "v0.0.45",
        node_write: true,
        record_delete: true,
        node_create: true,
        reservations: true,
        job_write: true,
        tells_cancelled: true,
        partitions_of_one: true,
        reads_update_time: true,
        hides: &[],
    },
    // 24.11 to 26.05; 26.05 calls it deprecated
    Dialect {
        version: "v0.0.42",
        node_write: true,
        record_delete: true,
        node_create: false,
        reservations: false,
        job_write: true,
        tells_cancelled: true,
        partitions_of_one: false,
        reads_update_time: true,
        hides: &["BLOCKED", "EXTERNAL"],
    },
    // releases before 24.11 that have no v0.0.42; 24.11 serves it still
    Dialect {
        version: "v0.0.40",
        node_write: true,
        record_delete: true,
        node_create: false,
        reservations: false,
        job_write: true,
        tells_cancelled: false,
        partitions_of_one: false,
        reads_update_time: false,
        hides: &["BLOCKED", "EXTERNAL"],
    },
    // 22.05: to be looked at, and no more
    Dialect {
        version: "v0.0.38",
        node_write: false,
        record_delete: false,
        node_create: false,
        reservations: false,
        job_write: false,
        tells_cancelled: false,
        partitions_of_one: false,
        reads_update_time: true,
        hides: &[],
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
        assert!(are_older(&all(&["v0.0.36", "v0.0.37"])));
        assert!(!are_older(&all(&["v0.0.37", "v0.0.100"])));
        assert!(!are_older(&all(&["v0.1.0"])));
        assert!(!are_older(&[]));
    }
}
