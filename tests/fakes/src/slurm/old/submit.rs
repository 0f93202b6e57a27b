//! `POST job/submit` of v0.0.38: it is strict about keys, and its names are others.

use serde_json::{Map, Value, json};

use super::super::array::tasks;
use super::super::controller::Slurmctld;
use super::super::envelope::{
    FEATURE, HELD, NODE, NOT_AVAILABLE_NOW, NOT_IN_PARTITION, NOT_IN_RESERVATION, NOT_PERMITTED, PARTITION,
    RESERVATION, Wrong,
};
use super::super::job::{Held, Job};
use super::super::queue::NOT_AVAILABLE;
use super::{coded, whole};

/// Keys that it takes.
const KNOWN: [&str; 23] = [
    "account",
    "array",
    "comment",
    "constraints",
    "cpus_per_task",
    "current_working_directory",
    "environment",
    "exclusive",
    "gpus_per_node",
    "gres",
    "hold",
    "memory_per_node",
    "name",
    "nice",
    "no_requeue",
    "nodelist",
    "nodes",
    "partition",
    "priority",
    "qos",
    "reservation",
    "standard_output",
    "time_limit",
];
/// Keys that it knows and refuses.
const DISABLED: [&str; 2] = ["required_nodes", "user_id"];

const NO_SCRIPT: Wrong = Wrong(500, 2009, "Job script not specified");

/// The job's id, with why it cannot start; or a status with its errors.
pub(super) fn submit(
    ctld: &mut Slurmctld,
    body: &Value,
    (user, admin): (&str, bool),
    ticks: Option<u64>,
) -> Result<(i64, Vec<Value>), (u16, Vec<Value>)> {
    let empty = Map::new();
    let job = body.get("job").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(script) = body.get("script").and_then(Value::as_str).filter(|s| !s.is_empty()) {
        parse(job)?;
        let mut new = described(ctld, job, (user, admin)).map_err(refused)?;
        let mut errors = Vec::new();
        if new.held.is_some() {
            new.wait("JobHeldUser", "");
            errors.push(coded(HELD));
        } else if ctld.must_wait(&new) {
            let described = ctld.described(&new, NOT_AVAILABLE.1);
            new.wait(NOT_AVAILABLE.0, &described);
            errors.push(coded(NOT_AVAILABLE_NOW));
        }
        return Ok((ctld.add(Job { left: ticks, script: script.to_owned(), ..new }), errors));
    }
    Err(refused(NO_SCRIPT))
}

fn refused(wrong: Wrong) -> (u16, Vec<Value>) {
    (500, vec![coded(wrong)])
}

/// Refused by slurmrestd itself.
fn parse(job: &Map<String, Value>) -> Result<(), (u16, Vec<Value>)> {
    let parsing = json!({"error_code": 9001, "error": "Failure during parsing"});
    for key in job.keys() {
        let error = if DISABLED.contains(&key.as_str()) {
            let said = format!("Disabled key: \"{key}\"");
            whole(&said, NOT_PERMITTED, "openapi specification")
        } else if !KNOWN.contains(&key.as_str()) {
            json!({"description": format!("Unknown key \"{key}\""), "source": "hsearch_r"})
        } else {
            continue;
        };
        return Err((400, vec![error, parsing]));
    }
    if job.get("environment").and_then(Value::as_object).is_none_or(Map::is_empty) {
        let missing = json!({"error": "environment must be set", "error_code": 2127});
        return Err((400, vec![missing, parsing]));
    }
    Ok(())
}

fn described(ctld: &Slurmctld, job: &Map<String, Value>, (user, admin): (&str, bool)) -> Result<Job, Wrong> {
    let text = |key: &str| job.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let words = |text: String, by: char| -> Vec<String> {
        text.split(by).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let partition = ctld.partition(text("partition")).ok_or(PARTITION)?;
    let features = words(text("constraints"), '&');
    if features.iter().any(|f| !ctld.nodes.iter().any(|n| n.features.contains(f))) {
        return Err(FEATURE);
    }
    let required = words(text("nodelist"), ',');
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
    let is = |key: &str| job.get(key) == Some(&json!(true));
    let held = is("hold");
    let asked = job.get("priority").and_then(Value::as_i64).filter(|_| admin);
    let priority = asked.unwrap_or_else(|| ctld.release.priority(ctld.last_job + 1));
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
        count: required.len().max(1),
        required,
        features,
        requeue: !is("no_requeue"),
        exclusive: text("exclusive") == "exclusive",
        priority: if held { 0 } else { priority },
        held: held.then_some(Held::User),
        reservation,
        array: tasks(&text("array")),
        time_limit: minutes(job.get("time_limit")),
        submitted: ctld.now,
        ..Job::default()
    })
}

/// A number of minutes, or `hh:mm:ss`, of which a part of a minute is a whole one.
fn minutes(limit: Option<&Value>) -> Option<i64> {
    match limit? {
        Value::Number(minutes) => minutes.as_i64(),
        Value::String(clock) => {
            let seconds =
                clock.split(':').try_fold(0, |sum, part| Some(sum * 60 + part.parse::<i64>().ok()?))?;
            Some((seconds + 59) / 60)
        }
        _ => None,
    }
}
