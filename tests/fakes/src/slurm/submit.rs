//! `POST job/submit`: what it wants, what it ignores, what it refuses.

use serde_json::{Value, json};

use super::array::tasks;
use super::controller::Slurmctld;
use super::dialect::Dialect;
use super::envelope::{
    DENIED, FEATURE, HELD, NO_DIRECTORY, NO_ENVIRONMENT, NODE, NOT_AVAILABLE_NOW, NOT_IN_PARTITION,
    NOT_IN_RESERVATION, Operation, PARTITION, QUERY, RESERVATION, Said, Wrong, done, unknown_field, warning,
};
use super::job::{Held, Job};
use super::node::Node;
use super::queue::NOT_AVAILABLE;
use super::reserve::set;

/// The keys of a job that are known; of the others there is a warning.
const KNOWN: [&str; 37] = [
    "account",
    "admin_comment",
    "array",
    "begin_time",
    "comment",
    "constraints",
    "cpus_per_task",
    "current_working_directory",
    "environment",
    "excluded_nodes",
    "extra",
    "flags",
    "hold",
    "maximum_nodes",
    "memory_per_cpu",
    "memory_per_node",
    "minimum_cpus",
    "minimum_nodes",
    "name",
    "nice",
    "nodes",
    "partition",
    "priority",
    "qos",
    "requeue",
    "required_nodes",
    "reservation",
    "script",
    "shared",
    "standard_error",
    "standard_input",
    "standard_output",
    "tasks",
    "tasks_per_node",
    "time_limit",
    "tres_per_node",
    "user_id",
];

pub(super) fn operation() -> Operation {
    Operation::new("Batch job submission failed", "slurm_submit_batch_job()")
}

pub(super) fn submit(
    ctld: &mut Slurmctld,
    dialect: Dialect,
    body: &Value,
    (user, admin): (&str, bool),
    ticks: Option<u64>,
) -> Said {
    let empty = serde_json::Map::new();
    let job = body.get("job").and_then(Value::as_object).unwrap_or(&empty);
    let script = body.get("script").or_else(|| job.get("script")).and_then(Value::as_str);
    let Some(script) = script.filter(|s| !s.is_empty()) else {
        let text = "Populated \"script\" field is required for job submission";
        return Operation::new(text, "_job_post").failed(QUERY);
    };
    let mut warnings: Vec<Value> = job
        .iter()
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        .map(|(key, value)| unknown_field(key, value, "JOB_DESC_MSG", "#/job/"))
        .collect();
    let mut new = match described(ctld, job, (user, admin)) {
        Ok(new) => new,
        Err(wrong) => return operation().failed(wrong),
    };
    if new.held.is_some() {
        new.wait("JobHeldUser", "");
        warnings.extend(doubted(HELD.2));
    } else if ctld.must_wait(&new) {
        new.wait(NOT_AVAILABLE.0, NOT_AVAILABLE.1);
        warnings.extend(doubted(NOT_AVAILABLE_NOW.2));
    }
    (new.left, new.script) = (ticks, script.to_owned());
    let id = ctld.add(new);
    done(dialect.submitted(id), warnings)
}

/// The two warnings that come with a job that was taken and cannot start.
fn doubted(text: &str) -> [Value; 2] {
    let source = "slurm_submit_batch_job()";
    let first = format!("Job submission resulted in non-zero return code: {text}");
    [warning(first, source), warning(text, source)]
}

impl Slurmctld {
    /// The partitions that are asked for, or the default one; none where one does not exist.
    pub(super) fn partition(&self, asked: String) -> Option<String> {
        if asked.is_empty() {
            return self.partitions.first().map(|p| p.name.clone());
        }
        asked.split(',').all(|name| self.partitions.iter().any(|p| p.name == name)).then_some(asked)
    }

    /// A node that it requires cannot take it now.
    pub(super) fn must_wait(&self, job: &Job) -> bool {
        let takes = |name: &String| self.node(name).is_none_or(Node::is_open) && self.lets(job, name);
        !job.required.iter().all(takes)
    }
}

fn described(
    ctld: &Slurmctld,
    job: &serde_json::Map<String, Value>,
    (user, admin): (&str, bool),
) -> Result<Job, Wrong> {
    let text = |key: &str| job.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if text("current_working_directory").is_empty() {
        return Err(NO_DIRECTORY);
    }
    let environment = job.get("environment");
    if environment.is_none_or(|e| e.as_array().is_none_or(Vec::is_empty) && !e.is_object()) {
        return Err(NO_ENVIRONMENT);
    }
    let partition = ctld.partition(text("partition")).ok_or(PARTITION)?;
    let constraints = text("constraints");
    let features: Vec<String> = constraints.split('&').filter(|f| !f.is_empty()).map(str::to_owned).collect();
    if features.iter().any(|f| !ctld.nodes.iter().any(|n| n.features.contains(f))) {
        return Err(FEATURE);
    }
    let required: Vec<String> = match job.get("required_nodes") {
        Some(Value::Array(list)) => list.iter().filter_map(|n| n.as_str().map(str::to_owned)).collect(),
        Some(Value::String(csv)) => csv.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    for name in &required {
        let node = ctld.node(name).ok_or(NODE)?;
        if !node.partitions.iter().any(|p| partition.split(',').any(|name| name == p)) {
            return Err(NOT_IN_PARTITION);
        }
    }
    let reservation = text("reservation");
    if !reservation.is_empty() {
        let there = ctld.reservations.iter().find(|r| r.name == reservation).ok_or(RESERVATION)?;
        if !there.users.iter().any(|u| u == user) {
            return Err(NOT_IN_RESERVATION);
        }
    }
    if !text("admin_comment").is_empty() && !admin {
        return Err(DENIED);
    }
    let count = text("nodes").parse::<usize>().unwrap_or(1).max(required.len()).max(1);
    // who is no administrator may hold a job, and any other priority of his is ignored
    let asked = set(job.get("priority"));
    let held = job.get("hold") == Some(&json!(true)) || asked == Some(0);
    let priority = match asked.filter(|_| admin) {
        _ if held => 0,
        Some(priority) => priority,
        None => ctld.release.priority(ctld.last_job + 1),
    };
    Ok(Job {
        name: text("name"),
        user: user.to_owned(),
        partition,
        account: text("account"),
        qos: text("qos"),
        comment: text("comment"),
        directory: text("current_working_directory"),
        state: "PENDING",
        reason: "None",
        required,
        features,
        count,
        requeue: job.get("requeue").and_then(Value::as_bool).unwrap_or(true),
        exclusive: job.get("shared") == Some(&json!(["none"])),
        priority,
        held: held.then_some(Held::User),
        reservation,
        array: tasks(&text("array")),
        // without "set" it is no limit at all
        time_limit: set(job.get("time_limit")),
        submitted: ctld.now,
        ..Job::default()
    })
}
