//! In what releases differ, as data: the suites ask here, and hold on all of them.

use serde_json::Value;

use super::wanted::{self, Wanted};

/// What one release answers.
#[derive(Debug)]
pub(super) struct Release {
    /// Its name, and the newest API version that it serves.
    pub(super) real: sandbox::Release,
    pub(super) fake: fakes::Release,
    /// In the names of its snapshots.
    pub(super) name: &'static str,
    /// The API version that slurmrestd was told to speak alone, as its `-d` wants it; else all it has.
    pub(super) alone: Option<&'static str>,
    /// A job in its words.
    pub(super) job: fn(&Wanted<'_>) -> Value,
    /// HTTP status of a request with a token and without a name.
    pub(super) nameless: u16,
    /// What it says to a token that slurmctld refuses: of most that is there, of a ping, of the partitions,
    /// and of a job.
    pub(super) refused_token: (u16, i64),
    pub(super) refused_ping: (u16, &'static [i64]),
    pub(super) refused_partitions: (u16, &'static [i64]),
    pub(super) refused_submit: (u16, i64),
    /// And what our client makes of it.
    pub(super) refused: &'static str,
    /// HTTP status and error number of what is not there: a node, a job, a reservation where there is none.
    pub(super) unknown_node: (u16, i64),
    pub(super) unknown_job: (u16, i64),
    pub(super) unknown_reservation: (u16, i64),
    /// A drained node's `state`, and its `state_flags`, as JSON.
    pub(super) drained: (&'static str, &'static str),
    /// A node that is asked for by itself tells its own partitions.
    pub(super) partitions_of_one: bool,
    /// A CLOUD node that is powered down is not in the list.
    pub(super) hides_powered_down: bool,
    /// The priority of the cluster's first job; none where each has another one.
    pub(super) priority: Option<i64>,
    /// What is not served below the version: method, path, status.
    pub(super) unserved: &'static [(&'static str, &'static str, u16)],
    /// What our client's writes come to, of things that are not there.
    pub(super) of_nothing: [(&'static str, &'static str); 8],
    /// What a cancel of a job that is over, or unknown, comes to.
    pub(super) over: &'static str,
    /// How many requests are answered at a time while slurmctld is away: each takes 10 s.
    pub(super) at_once: usize,
    /// What slurmdbd says that a job which failed with 7 ended with.
    pub(super) past_exit: i64,
    /// What who may not cancel a job is told where there is a slurmdbd: the status, its `errors`, the codes
    /// in its `status`.
    pub(super) denied: (u16, &'static [i64], &'static [i64]),
    /// What is said of slurmdbd when it cannot be reached: the status and the errors.
    pub(super) no_database: (u16, &'static [i64]),
    /// What it says to writes.
    pub(super) writes: Option<&'static Writes>,
}

/// What a release that changes nodes by REST answers to that, and to what it cannot read.
#[derive(Debug)]
pub(super) struct Writes {
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
    /// The last task of an array is named as that task while it waits.
    pub(super) names_last_task: bool,
    /// A node that sleeps, after it was drained and opened.
    pub(super) asleep_again: &'static str,
    /// `POST new/node/` is served.
    pub(super) makes_nodes: bool,
    /// `POST` and `DELETE` of a reservation are served.
    pub(super) makes_reservations: bool,
}

impl Writes {
    /// A reason that was left on an open node, as it is seen there.
    pub(super) fn left(&self, reason: &'static str) -> &'static str {
        if self.keeps_reasons { reason } else { "" }
    }
}

const TOO_OLD: &str = "too old";

pub(super) const V22_05: Release = Release {
    real: sandbox::Release::V22_05,
    fake: fakes::Release::V22_05,
    name: "22_05",
    alone: None,
    job: wanted::plain,
    nameless: 401,
    refused_token: (500, -1),
    refused_ping: (500, &[-1]),
    refused_partitions: (500, &[-1]),
    refused_submit: (500, 5005),
    refused: "Unavailable",
    unknown_node: (500, 2018),
    unknown_job: (500, 2017),
    unknown_reservation: (500, 2053),
    drained: ("\"idle\"", "[\"DRAIN\"]"),
    partitions_of_one: false,
    hides_powered_down: true,
    priority: None,
    unserved: &[
        ("POST", "node/n1", 405),
        ("DELETE", "node/n1", 405),
        ("PUT", "node/n1", 405),
        ("PATCH", "node/n1", 405),
        ("POST", "nodes", 405),
        ("POST", "new/node/", 404),
        ("POST", "reservation", 405),
        ("DELETE", "reservation/nosuch", 405),
        ("GET", "bogus", 404),
    ],
    of_nothing: [
        ("update node", TOO_OLD),
        ("delete node", TOO_OLD),
        ("create node", TOO_OLD),
        ("create reservation", TOO_OLD),
        ("delete reservation", TOO_OLD),
        ("submit job", TOO_OLD),
        ("set job priority", TOO_OLD),
        ("cancel job", TOO_OLD),
    ],
    over: TOO_OLD,
    at_once: 8,
    past_exit: 0,
    denied: (500, &[2002], &[]),
    no_database: (200, &[7000]),
    writes: None,
};

pub(super) const V24_11: Release = Release {
    real: sandbox::Release::V24_11,
    fake: fakes::Release::V24_11,
    name: "24_11",
    alone: None,
    job: wanted::listed,
    nameless: 200,
    refused_token: (511, 1007),
    refused_ping: (200, &[]),
    refused_partitions: (511, &[]),
    refused_submit: (511, 1007),
    refused: "Unauthenticated",
    unknown_node: (200, 0),
    unknown_job: (404, 2017),
    unknown_reservation: (200, 0),
    drained: ("[\"IDLE\",\"DRAIN\"]", "null"),
    partitions_of_one: false,
    hides_powered_down: false,
    priority: Some(1),
    unserved: &[
        ("PUT", "node/n1", 404),
        ("POST", "new/node/", 404),
        ("POST", "reservation", 404),
        ("DELETE", "reservation/nosuch", 404),
        ("GET", "bogus", 404),
    ],
    of_nothing: [
        ("update node", "rejected"),
        ("delete node", "Unknown"),
        ("create node", TOO_OLD),
        ("create reservation", TOO_OLD),
        ("delete reservation", TOO_OLD),
        ("submit job", "rejected"),
        ("set job priority", "rejected"),
        ("cancel job", "Over"),
    ],
    over: "Over",
    at_once: 8,
    past_exit: 7,
    denied: (200, &[], &[2002]),
    no_database: (502, &[7000]),
    writes: Some(&Writes {
        refused: 500,
        transition: 2028,
        no_environment: 2019,
        unknown_type: (400, "Unable to parse query."),
        unparsed: "Unable to parse query.",
        unaccepted: "Accept content type is unknown",
        no_url: "Unable find requested URL. ",
        keeps_reasons: true,
        names_last_task: true,
        asleep_again: "CLOUD+DYNAMIC_NORM+IDLE+NOT_RESPONDING+POWERED_DOWN",
        makes_nodes: false,
        makes_reservations: false,
    }),
};

pub(super) const V26_05: Release = Release {
    real: sandbox::Release::V26_05,
    fake: fakes::Release::V26_05,
    name: "26_05",
    alone: None,
    job: wanted::listed,
    nameless: 200,
    refused_token: (511, 1007),
    refused_ping: (200, &[]),
    refused_partitions: (511, &[]),
    refused_submit: (511, 1007),
    refused: "Unauthenticated",
    unknown_node: (200, 0),
    unknown_job: (404, 2017),
    unknown_reservation: (200, 0),
    drained: ("[\"IDLE\",\"DRAIN\"]", "null"),
    partitions_of_one: true,
    hides_powered_down: false,
    priority: Some(1),
    unserved: &[("PUT", "node/n1", 404), ("GET", "bogus", 404)],
    of_nothing: [
        ("update node", "rejected"),
        ("delete node", "Unknown"),
        ("create node", "rejected"),
        ("create reservation", "rejected"),
        ("delete reservation", "false"),
        ("submit job", "rejected"),
        ("set job priority", "rejected"),
        ("cancel job", "Over"),
    ],
    over: "Over",
    at_once: 2,
    past_exit: 7,
    denied: (200, &[], &[2002]),
    no_database: (502, &[7000]),
    writes: Some(&Writes {
        refused: 422,
        transition: 2180,
        no_environment: 2127,
        unknown_type: (415, "MIME type is unknown to any loaded plugins"),
        unparsed: "Failure during parsing",
        unaccepted: "HTTP Accept header content type is unknown or unsupported",
        no_url: "Unable to find requested URL endpoint. ",
        keeps_reasons: false,
        names_last_task: false,
        asleep_again: "CLOUD+DYNAMIC_NORM+IDLE+POWERED_DOWN",
        makes_nodes: true,
        makes_reservations: true,
    }),
};

/// 24.11 where it speaks an older version. It does not tell a job that is over from one that it ended.
pub(super) const V24_11_AS_40: Release = Release {
    real: sandbox::Release { version: "v0.0.40", ..sandbox::Release::V24_11 },
    name: "24_11_v0_0_40",
    alone: Some("v0.0.40"),
    over: "Cancelled",
    of_nothing: [
        ("update node", "rejected"),
        ("delete node", "Unknown"),
        ("create node", TOO_OLD),
        ("create reservation", TOO_OLD),
        ("delete reservation", TOO_OLD),
        ("submit job", "rejected"),
        ("set job priority", "rejected"),
        ("cancel job", "Cancelled"),
    ],
    ..V24_11
};

/// 26.05 where it writes bare numbers and nulls.
pub(super) const V26_05_COMPLEX: Release =
    Release { name: "26_05_complex", alone: Some("v0.0.45+complex"), ..V26_05 };
