//! Objects as v0.0.38 shapes them: words in place of lists, bare numbers, null for what is not set.

use serde_json::{Value, json};

/// The order in which 22.05 writes flags, as far as it was seen.
const ORDER: [&str; 17] = [
    "CLOUD",
    "COMPLETING",
    "DRAIN",
    "DYNAMIC_NORM",
    "INVALID_REG",
    "FAIL",
    "MAINTENANCE",
    "POWER_DOWN",
    "POWER_UP",
    "POWERED_DOWN",
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
    "RESERVED",
    "NOT_RESPONDING",
    "POWERING_UP",
    "POWERING_DOWN",
    "PLANNED",
];

pub(in super::super) fn node(ours: Value) -> Value {
    let mut node = plain(ours);
    let words = words(&node["state"]);
    let (base, mut flags) = words.split_first().map_or(("", Vec::new()), |(b, f)| (*b, f.to_vec()));
    flags.sort_by_key(|flag| ORDER.iter().position(|o| o == flag));
    let (base, flags) = (json!(base.to_ascii_lowercase()), json!(flags));
    let csv = |key: &str| json!(self::words(&node[key]).join(","));
    let (features, active) = (csv("features"), csv("active_features"));
    let idle = node["alloc_idle_cpus"].clone();
    let changed = [
        ("state", base),
        ("state_flags", flags),
        ("features", features),
        ("active_features", active),
        ("idle_cpus", idle),
    ];
    for (key, value) in changed {
        node[key] = value;
    }
    // nobody, and there never was a reason
    if node["reason"] == "" {
        node["reason_set_by_user"] = Value::Null;
    }
    node
}

pub(in super::super) fn partition(ours: Value) -> Value {
    let flags: Vec<String> = words(&ours["flags"]).iter().map(|f| f.to_ascii_lowercase()).collect();
    json!({
        "name": ours["name"],
        "nodes": ours["nodes"]["configured"],
        "total_nodes": ours["nodes"]["total"],
        "total_cpus": ours["cpus"]["total"],
        "state": ours["partition"]["state"][0],
        "priority_tier": ours["priority"]["tier"],
        "flags": flags,
    })
}

pub(in super::super) fn job(ours: Value) -> Value {
    let exit = exit(&ours["exit_code"]);
    let mut job = plain(ours);
    // a job that is leaving tells of that alone
    let state = words(&job["job_state"]).last().map(|s| json!(s)).unwrap_or_default();
    (job["job_state"], job["exit_code"], job["derived_exit_code"]) = (state, exit, json!(0));
    job["shared"] = job["shared"][0].clone();
    job["job_resources"] = match &job["job_resources"]["nodes"]["list"] {
        Value::String(nodes) => json!({"nodes": nodes, "allocated_nodes": []}),
        _ => json!({}),
    };
    if job["state_reason"] == "RaisedSignal" {
        (job["state_reason"], job["state_description"]) = (json!("JobLaunchFailure"), json!(""));
    }
    job
}

pub(in super::super) fn reservation(ours: Value) -> Value {
    plain(ours)
}

pub(in super::super) fn accounted(ours: Value) -> Value {
    let mut job = plain(ours);
    job["state"]["current"] = job["state"]["current"][0].clone();
    job
}

/// slurmdbd 22.05.8 tells of every job that was not killed that it ended well (facts: slurm §6).
pub(in super::super) fn accounted_exit(exit: &Value) -> Value {
    match exit["signal"]["id"]["number"].as_i64().unwrap_or_default() {
        0 => json!({"status": "SUCCESS", "return_code": 0}),
        signal => {
            let name = if signal == 9 { "Killed" } else { "" };
            json!({"status": "SIGNALED", "return_code": null, "signal": {"signal_id": signal, "name": name}})
        }
    }
}

/// The raw status of a wait: the exit code above eight bits of the signal.
fn exit(code: &Value) -> Value {
    let of = |value: &Value| value["number"].as_i64().unwrap_or_default();
    json!(of(&code["return_code"]) * 256 + of(&code["signal"]["id"]))
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// SLURM's wrapped numbers bare, or null.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            if let (Some(set), Some(number)) = (object.get("set"), object.get("number")) {
                return if *set == json!(true) { number.clone() } else { Value::Null };
            }
            object.into_iter().map(|(key, value)| (key, plain(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(plain).collect(),
        other => other,
    }
}
