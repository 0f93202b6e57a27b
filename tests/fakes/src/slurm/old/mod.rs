//! slurmrestd 22.05.8, v0.0.38: nodes, partitions, reservations and jobs can be read, jobs submitted, changed and
//! cancelled, and nothing else.

mod accounts;
mod shape;
mod submit;

use serde_json::{Value, json};

use super::SlurmOptions;
use super::auth::{Caller, caller};
use super::cancel::Cancelled;
use super::controller::{Controller, Slurmctld};
use super::dialect::Dialect;
use super::envelope::{
    CUT_OFF, DENIED, JOB, NO_CONTROLLER, NODE, RESERVATION, UNREADABLE, Wrong, closing, json_reply,
};
use super::{alter, raw};
use crate::serve::{Call, Reply};

pub(super) use shape::{accounted, accounted_exit, job, node, partition, reservation};

/// Paths that are served, with their methods.
const PATHS: [(&str, &[&str]); 8] = [
    ("ping", &["GET"]),
    ("nodes", &["GET"]),
    ("node", &["GET"]),
    ("partitions", &["GET"]),
    ("reservations", &["GET"]),
    ("reservation", &["GET"]),
    ("jobs", &["GET"]),
    ("job", &["GET", "POST", "DELETE"]),
];

/// An answer, before `meta` is put to it.
enum Old {
    Bare(Reply),
    /// The status, what it holds, its errors.
    Body(u16, Value, Vec<Value>),
}

pub(super) fn answer(ctld: &mut Slurmctld, options: &SlurmOptions, dialect: Dialect, call: &Call) -> Reply {
    let slurmdbd = call.path.starts_with("/slurmdb/");
    match said(ctld, options, dialect, call) {
        Old::Bare(reply) => closing(reply),
        Old::Body(status, mut body, errors) => {
            body["errors"] = Value::Array(errors);
            body["meta"] = dialect.meta(options.accounting, slurmdbd);
            json_reply(status, &body)
        }
    }
}

fn text(status: u16, text: &str) -> Old {
    Old::Bare(Reply::text(status, text))
}

fn said(ctld: &mut Slurmctld, options: &SlurmOptions, dialect: Dialect, call: &Call) -> Old {
    if call.header("transfer-encoding").is_some() {
        return text(406, "Invalid HTTP Tranfser-Encoding header");
    }
    let named = call.header("x-slurm-user-name").is_some() && call.header("x-slurm-user-token").is_some();
    let user = match caller(call, &options.jwt_key, &options.admins, ctld.now) {
        Caller::User(user) if named => Some(user),
        Caller::Refused if named => None,
        _ => return text(401, "Authentication failure"),
    };
    let segments = call.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let path = match segments.as_slice() {
        ["openapi" | "openapi.json"] | ["openapi", "v3"] => return Old::Bare(super::route::openapi(options)),
        ["slurm", "v0.0.38", path @ ..] => path,
        ["slurmdb", "v0.0.38", path @ ..] if options.accounting => {
            return accounts::answer(ctld, dialect, call, path);
        }
        _ => return text(404, options.release.no_url()),
    };
    let methods: &[&str] = match path {
        ["job", "submit"] => &["POST"],
        ["reservation"] => &[],
        ["node" | "job" | "reservation", _] | ["ping" | "nodes" | "partitions" | "reservations" | "jobs"] => {
            PATHS.iter().find(|(first, _)| *first == path[0]).map_or(&[], |(_, methods)| methods)
        }
        _ => return text(404, options.release.no_url()),
    };
    if !methods.contains(&call.method.as_str()) {
        let said = "Requested REST method is not defined at URL. Please view /openapi/v3 for API reference.";
        return text(405, said);
    }
    let up = matches!(ctld.controller, Controller::Up | Controller::Restarting(_));
    match user {
        Some(user) if up => perform(ctld, options, dialect, call, path, &user),
        _ => down(path, !up),
    }
}

/// slurmctld cannot be reached, or does not know the token: the two look the same.
fn down(path: &[&str], away: bool) -> Old {
    let (key, error) = match path {
        ["nodes" | "node", ..] => ("nodes", bare(UNREADABLE)),
        ["partitions"] => ("partitions", bare(UNREADABLE)),
        ["reservations" | "reservation", ..] => ("reservations", bare(UNREADABLE)),
        ["jobs"] => ("jobs", whole("Failed while looking for jobs", UNREADABLE, "slurm_load_jobs")),
        ["job", "submit"] => {
            let wrong = if away { NO_CONTROLLER } else { CUT_OFF };
            return Old::Body(500, json!({}), vec![coded(wrong)]);
        }
        ["job", id] => ("jobs", whole(&format!("Unable to find JobId={id}"), UNREADABLE, "slurm_load_job")),
        _ => {
            let error = whole("slurmctld config is unable to load", UNREADABLE, "slurm_load_ctl_conf");
            return Old::Body(500, json!({}), vec![error]);
        }
    };
    Old::Body(500, json!({key: []}), vec![error])
}

fn perform(
    ctld: &mut Slurmctld,
    options: &SlurmOptions,
    dialect: Dialect,
    call: &Call,
    path: &[&str],
    user: &str,
) -> Old {
    let admin = options.admins.iter().any(|a| a == user);
    let all = |key: &str, list: Vec<Value>| Old::Body(200, json!({key: list}), Vec::new());
    match path {
        ["ping"] => {
            all("pings", vec![json!({"hostname": "ctl", "ping": "UP", "status": 0, "mode": "primary"})])
        }
        ["nodes"] => match since(ctld, call) {
            Some(old) => old,
            None => {
                let hidden =
                    |n: &super::node::Node| n.base == "FUTURE" || n.has("CLOUD") && n.has("POWERED_DOWN");
                all(
                    "nodes",
                    ctld.nodes.iter().filter(|n| !hidden(n)).map(|n| ctld.show(n, dialect)).collect(),
                )
            }
        },
        ["node", name] => match ctld.shown_alone(name, dialect) {
            Some(node) => all("nodes", vec![node]),
            None => Old::Body(500, json!({"nodes": []}), vec![bare(NODE)]),
        },
        ["partitions"] => {
            all("partitions", ctld.partitions.iter().map(|p| ctld.show_partition(p, dialect)).collect())
        }
        ["reservations"] => {
            all("reservations", ctld.reservations.iter().map(|r| r.show(ctld, dialect)).collect())
        }
        ["reservation", name] => match ctld.reservations.iter().find(|r| r.name == *name) {
            Some(found) => all("reservations", vec![found.show(ctld, dialect)]),
            None => Old::Body(500, json!({"reservations": []}), vec![bare(RESERVATION)]),
        },
        ["jobs"] => all("jobs", ctld.jobs.iter().map(|j| j.show(dialect)).collect()),
        ["job", "submit"] => {
            ctld.save();
            let body = serde_json::from_str(&raw::text(&call.body)).unwrap_or_default();
            match submit::submit(ctld, &body, (user, admin), options.job_ticks) {
                Ok((id, errors)) => {
                    let body = json!({"job_id": id, "step_id": "BATCH", "job_submit_user_msg": ""});
                    Old::Body(200, body, errors)
                }
                Err((status, errors)) => Old::Body(status, json!({}), errors),
            }
        }
        ["job", id] if call.method == "DELETE" => {
            ctld.save();
            cancel(ctld, id, user, admin)
        }
        ["job", id] if call.method == "POST" => {
            ctld.save();
            let body = serde_json::from_str(&raw::text(&call.body)).unwrap_or_default();
            alter(ctld, id, &body, (user, admin))
        }
        ["job", id] => match ctld.named(id, dialect) {
            jobs if jobs.is_empty() => {
                let error = whole(&format!("Unable to find JobId={id}"), JOB, "slurm_load_job");
                Old::Body(500, json!({"jobs": []}), vec![error])
            }
            jobs => all("jobs", jobs),
        },
        _ => text(404, options.release.no_url()),
    }
}

/// What `update_time` makes of a list: not modified, failed as soon as nodes have changed, or no time at all.
fn since(ctld: &Slurmctld, call: &Call) -> Option<Old> {
    let (_, value) = call.pairs().into_iter().find(|(name, _)| name == "update_time")?;
    match value.parse::<i64>() {
        Ok(0) => None,
        Ok(since) if since >= ctld.changed => Some(Old::Bare(Reply::empty(304))),
        Ok(_) => Some(Old::Body(500, json!({"nodes": []}), vec![bare(UNREADABLE)])),
        Err(_) => Some(Old::Body(400, json!({"nodes": []}), Vec::new())),
    }
}

/// A key that is unknown is told with 200.
fn alter(ctld: &mut Slurmctld, id: &str, body: &Value, (user, admin): (&str, bool)) -> Old {
    const SOURCE: &str = "_parse_job_list";
    if let Some(key) = alter::unknown(body) {
        let unknown = json!({"description": format!("Unknown key \"{key}\""), "source": "hsearch_r"});
        let wrong = Wrong(200, 9001, "Failure during parsing");
        let failed = whole("job parsing failed for [localhost]:42010", wrong, SOURCE);
        return Old::Body(200, json!({}), vec![unknown, failed]);
    }
    match ctld.alter(id, body, user, admin) {
        Ok(()) => Old::Body(200, json!({}), Vec::new()),
        Err(wrong) => {
            let error = whole("job update from [localhost]:42010 failed", wrong, SOURCE);
            Old::Body(500, json!({}), vec![error])
        }
    }
}

/// Once more is no error here, and who may not is only told so.
fn cancel(ctld: &mut Slurmctld, id: &str, user: &str, admin: bool) -> Old {
    let wrong = match ctld.cancel(id, user, admin) {
        Cancelled::Done(_) => return Old::Body(200, json!({}), Vec::new()),
        Cancelled::Denied(_) => DENIED,
        Cancelled::Unknown => JOB,
    };
    let said = format!("unable to kill JobId={id} with signal 9: {}", wrong.2);
    Old::Body(500, json!({}), vec![whole(&said, wrong, "slurm_kill_job")])
}

/// The three shapes of an error: of nodes, of jobs, of a submit.
fn bare(Wrong(_, number, text): Wrong) -> Value {
    json!({"error": text, "errno": number})
}

fn whole(description: &str, Wrong(_, number, text): Wrong, source: &str) -> Value {
    json!({"description": description, "error_number": number, "error": text, "source": source})
}

fn coded(Wrong(_, number, text): Wrong) -> Value {
    json!({"error_code": number, "error": text})
}
