//! `POST job/submit`: what it wants, what it ignores, what it refuses.

use serde_json::{Value, json};

use super::controller::Slurmctld;
use super::envelope::{
    FEATURE, NO_DIRECTORY, NO_ENVIRONMENT, NODE, NOT_IN_PARTITION, Operation, PARTITION, QUERY, RESERVATION,
    Said, Wrong, done, unknown_field, warning,
};
use super::job::Job;

/// The keys of a job that are known; of the others there is a warning.
const KNOWN: [&str; 36] = [
    "account",
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

pub(super) fn submit(ctld: &mut Slurmctld, body: &Value, user: &str, ticks: Option<u64>) -> Said {
    let empty = serde_json::Map::new();
    let job = body.get("job").and_then(Value::as_object).unwrap_or(&empty);
    let script = body.get("script").or_else(|| job.get("script")).and_then(Value::as_str);
    if script.is_none_or(str::is_empty) {
        let text = "Populated \"script\" field is required for job submission";
        return Operation::new(text, "_job_post").failed(QUERY);
    }
    let mut warnings: Vec<Value> = job
        .iter()
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        .map(|(key, value)| unknown_field(key, value, "JOB_DESC_MSG", "#/job/"))
        .collect();
    let mut new = match described(ctld, job, user) {
        Ok(new) => new,
        Err(wrong) => return operation().failed(wrong),
    };
    if new.required.iter().any(|n| ctld.node(n).is_some_and(|n| !n.is_open())) {
        // seen twice in one answer (facts: tools)
        let text = "Required node not available (down, drained or reserved)";
        warnings.extend([warning(text, ""), warning(text, "")]);
        new.reason = "ReqNodeNotAvail";
    }
    new.left = ticks;
    let id = ctld.add(new);
    done(json!({"job_id": id, "step_id": "batch", "job_submit_user_msg": ""}), warnings)
}

fn described(ctld: &Slurmctld, job: &serde_json::Map<String, Value>, user: &str) -> Result<Job, Wrong> {
    let text = |key: &str| job.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if text("current_working_directory").is_empty() {
        return Err(NO_DIRECTORY);
    }
    let environment = job.get("environment");
    if environment.is_none_or(|e| e.as_array().is_none_or(Vec::is_empty) && !e.is_object()) {
        return Err(NO_ENVIRONMENT);
    }
    let asked = text("partition");
    let partition = match asked.as_str() {
        "" => ctld.partitions.first(),
        name => ctld.partitions.iter().find(|p| p.name == name),
    };
    let partition = partition.ok_or(PARTITION)?.name.clone();
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
        if !node.partitions.contains(&partition) {
            return Err(NOT_IN_PARTITION);
        }
    }
    if !text("reservation").is_empty() {
        return Err(RESERVATION);
    }
    let count = text("nodes").parse::<usize>().unwrap_or(1).max(required.len()).max(1);
    let limit = match job.get("time_limit") {
        Some(Value::Number(minutes)) => minutes.as_i64(),
        // without "set" it is no limit at all
        Some(wrapped) if wrapped.get("set") == Some(&json!(true)) => {
            wrapped.get("number").and_then(Value::as_i64)
        }
        _ => None,
    };
    Ok(Job {
        name: text("name"),
        user: user.to_owned(),
        partition,
        comment: text("comment"),
        directory: text("current_working_directory"),
        state: "PENDING",
        reason: "None",
        required,
        features,
        count,
        requeue: job.get("requeue").and_then(Value::as_bool).unwrap_or(true),
        time_limit: limit,
        submitted: ctld.now,
        ..Job::default()
    })
}
