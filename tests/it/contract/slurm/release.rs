//! In what releases differ, as data: the suite asks here, and holds on all of them.

/// What one release answers.
#[derive(Debug)]
pub(super) struct Release {
    /// Its name, and the newest API version that it serves.
    pub(super) real: sandbox::Release,
    pub(super) fake: fakes::Release,
    /// HTTP status of what slurmctld refuses.
    pub(super) refused: u16,
    /// Error number of a state that a node cannot go to.
    pub(super) transition: i64,
    /// Error number of a job without an environment.
    pub(super) no_environment: i64,
    /// What it says of a content type that it does not know, and of a body that cannot be parsed.
    pub(super) unknown_type: (u16, &'static str),
    pub(super) unparsed: &'static str,
    /// What it says when no type that it writes would be accepted.
    pub(super) unaccepted: &'static str,
    /// What it says of a path that it does not serve.
    pub(super) no_url: &'static str,
    /// A reason stays on a node that is opened, and can be given to an open one.
    pub(super) keeps_reasons: bool,
    /// A node that is asked for by itself tells its own partitions.
    pub(super) partitions_of_one: bool,
    /// `POST new/node/` is served.
    pub(super) makes_nodes: bool,
}

impl Release {
    /// A reason that was left on an open node, as it is seen there.
    pub(super) fn left(&self, reason: &'static str) -> &'static str {
        if self.keeps_reasons { reason } else { "" }
    }
}

pub(super) const V24_11: Release = Release {
    real: sandbox::Release::V24_11,
    fake: fakes::Release::V24_11,
    refused: 500,
    transition: 2028,
    no_environment: 2019,
    unknown_type: (400, "Unable to parse query."),
    unparsed: "Unable to parse query.",
    unaccepted: "Accept content type is unknown",
    no_url: "Unable find requested URL. ",
    keeps_reasons: true,
    partitions_of_one: false,
    makes_nodes: false,
};

pub(super) const V26_05: Release = Release {
    real: sandbox::Release::V26_05,
    fake: fakes::Release::V26_05,
    refused: 422,
    transition: 2180,
    no_environment: 2127,
    unknown_type: (415, "MIME type is unknown to any loaded plugins"),
    unparsed: "Failure during parsing",
    unaccepted: "HTTP Accept header content type is unknown or unsupported",
    no_url: "Unable to find requested URL endpoint. ",
    keeps_reasons: false,
    partitions_of_one: true,
    makes_nodes: true,
};
