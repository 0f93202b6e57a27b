//! Jobs: what slurmctld keeps of one, and how it goes on. One holds its nodes whole.

use super::array::Array;

/// A job of a user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSeed {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// The nodes that it holds, or, where it is submitted, may run on alone; none: any one.
    pub nodes: Vec<String>,
    /// Its partition, or several, with commas; empty: the default one.
    pub partition: String,
    /// Its priority; none: as every job's.
    pub priority: Option<i64>,
    /// It is held by its user.
    pub hold: bool,
    /// Minutes, after which it is ended; none: no limit.
    pub time_limit: Option<i64>,
    /// Features that its nodes must have.
    pub features: Vec<String>,
    /// The reservation that it is for; empty: none.
    pub reservation: String,
    /// The tasks of an array, such as `1-4` or `1,3,7`; empty: it is none.
    pub array: String,
    /// It is queued again when its node goes away.
    pub requeue: bool,
}

impl JobSeed {
    /// A job of alice.
    #[must_use]
    pub fn on(nodes: &[&str]) -> Self {
        Self {
            name: "users-job".to_owned(),
            user: "alice".to_owned(),
            nodes: nodes.iter().map(|n| (*n).to_owned()).collect(),
            partition: String::new(),
            priority: None,
            hold: false,
            time_limit: None,
            features: Vec::new(),
            reservation: String::new(),
            array: String::new(),
            requeue: true,
        }
    }
}

/// How a job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// COMPLETED, exit code 0.
    Completed,
    /// FAILED with this exit code.
    Failed(u32),
    /// FAILED by this signal.
    Killed(u32),
    /// CANCELLED, by SIGTERM.
    Cancelled,
    /// TIMEOUT.
    TimedOut,
    /// OUT_OF_MEMORY. Its exit code is from SLURM's source.
    OutOfMemory,
    /// NODE_FAIL, or queued again.
    NodeFailed,
}

/// Who holds a pending job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    User,
    Admin,
    /// Its reservation is gone.
    Reservation,
}

/// A job.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) partition: String,
    pub(super) account: String,
    pub(super) qos: String,
    pub(super) comment: String,
    pub(super) directory: String,
    pub(super) script: String,
    /// PENDING, RUNNING, SUSPENDED, COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL.
    pub(super) state: &'static str,
    pub(super) reason: &'static str,
    /// Its priority was changed after it was submitted.
    pub(super) ranked: bool,
    /// The reason in more words.
    pub(super) described: String,
    /// It has ended in this tick and still holds its nodes.
    pub(super) completing: bool,
    pub(super) nodes: Vec<String>,
    /// A node that it requires was deleted. It never starts, even if that comes back.
    pub(super) bereft: bool,
    /// It may run on these alone.
    pub(super) required: Vec<String>,
    pub(super) features: Vec<String>,
    pub(super) count: usize,
    pub(super) requeue: bool,
    pub(super) exclusive: bool,
    pub(super) priority: i64,
    pub(super) held: Option<Held>,
    pub(super) reservation: String,
    pub(super) array: Option<Array>,
    /// Minutes; none is no limit.
    pub(super) time_limit: Option<i64>,
    /// Ticks until it ends by itself; none is never.
    pub(super) left: Option<u64>,
    /// Ticks for which it has run.
    pub(super) worked: u64,
    /// Ticks for which its nodes have been drained meanwhile.
    pub(super) drained: u64,
    pub(super) exit: u32,
    pub(super) signal: u32,
    pub(super) submitted: i64,
    pub(super) started: i64,
    pub(super) ended: i64,
}

impl Job {
    /// It has CPUs of this node.
    pub(super) fn runs_on(&self, node: &str) -> bool {
        self.state == "RUNNING" && self.nodes.iter().any(|n| n == node)
    }

    /// Nobody else's job can have this node: it runs there, sleeps there, or has not left it yet.
    pub(super) fn holds(&self, node: &str) -> bool {
        (["RUNNING", "SUSPENDED"].contains(&self.state) || self.completing)
            && self.nodes.iter().any(|n| n == node)
    }

    pub(super) fn is_unfinished(&self) -> bool {
        ["PENDING", "RUNNING", "SUSPENDED"].contains(&self.state)
    }

    /// It ends. If it held nodes it leaves them in the next tick.
    pub(super) fn end(&mut self, end: End, now: i64) {
        if end == End::NodeFailed {
            return self.lose_node(now);
        }
        let pended = self.state == "PENDING";
        let (state, reason, exit, signal) = match end {
            End::Completed | End::NodeFailed => ("COMPLETED", "None", 0, 0),
            End::Failed(exit) => ("FAILED", "NonZeroExitCode", exit, 0),
            End::Killed(signal) => ("FAILED", "RaisedSignal", 0, signal),
            // one that had not started keeps its reason, and no signal was sent
            End::Cancelled if pended => ("CANCELLED", self.reason, 0, 0),
            End::Cancelled => ("CANCELLED", "None", 0, 15),
            End::TimedOut => ("TIMEOUT", "TimeLimit", 0, 15),
            End::OutOfMemory => ("OUT_OF_MEMORY", "OutOfMemory", 0, 125),
        };
        (self.state, self.reason, self.exit, self.signal) = (state, reason, exit, signal);
        (self.ended, self.left, self.completing) = (now, None, !pended);
        if pended {
            self.started = now;
        }
    }

    /// Its node went away under it: queued again, or failed.
    pub(super) fn lose_node(&mut self, now: i64) {
        if self.requeue {
            (self.state, self.reason, self.nodes) = ("PENDING", "BeginTime", Vec::new());
        } else {
            (self.state, self.reason, self.ended, self.left) = ("NODE_FAIL", "NodeFail", now, None);
        }
    }

    pub(super) fn start(&mut self, nodes: Vec<String>, now: i64) {
        (self.state, self.reason, self.nodes, self.started) = ("RUNNING", "None", nodes, now);
        self.worked = 0;
        self.described.clear();
    }

    /// It waits, for this reason, in more words.
    pub(super) fn wait(&mut self, reason: &'static str, described: &str) {
        self.reason = reason;
        described.clone_into(&mut self.described);
    }

    /// Its time is up. What SLURM makes of a limit of 0, which it takes, was not seen.
    pub(super) fn is_late(&self, now: i64) -> bool {
        self.state == "RUNNING" && self.time_limit.is_some_and(|m| m > 0 && now - self.started >= m * 60)
    }

    /// The partitions that it may run in.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &str> {
        self.partition.split(',')
    }

    /// Its reservation is gone before it could start.
    pub(super) fn lose_reservation(&mut self) {
        (self.held, self.priority) = (Some(Held::Reservation), 0);
        self.reservation.clear();
        self.wait("ReservationDeleted", "");
    }

    /// It stands for no more than one task of an array, and is told as that.
    pub(super) fn be_the_last(&mut self) {
        if let Some(Array::Rest(tasks)) = &self.array
            && let [task] = tasks.as_slice()
        {
            self.array = Some(Array::Task(self.id, *task));
        }
    }

    /// What names it in a `status` of a cancel: `13_1` for a task.
    pub(super) fn step(&self) -> String {
        match &self.array {
            Some(Array::Task(array, task)) => format!("{array}_{task}"),
            _ => self.id.to_string(),
        }
    }

    /// The id of the array that it is of.
    pub(super) fn array_id(&self) -> i64 {
        match &self.array {
            None => 0,
            Some(Array::Rest(_)) => self.id,
            Some(Array::Task(array, _)) => *array,
        }
    }
}
