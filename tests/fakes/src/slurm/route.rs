//! Paths to answers, in slurmrestd's order: body, token, path, content type, query, slurmctld.

use serde_json::{Value, json};

use super::SlurmOptions;
use super::auth::{Caller, caller};
use super::controller::{Controller, Slurmctld};
use super::envelope::{
    self, AUTHENTICATION, BUSY, JOB, NO_CONTROLLER, NO_ERROR, NODE, Operation, STATE, TIMED_OUT, USER, done,
    error, number, refused, unknown_field,
};
use super::{submit, update};
use crate::serve::{Call, Reply};

/// Paths of the real one that are not imitated.
const NOT_HERE: [&str; 8] =
    ["diag", "licenses", "new", "partition", "reconfigure", "reservation", "reservations", "shares"];
/// Methods of the real one that are not imitated, on paths that are.
const NOT_DONE: [(&str, &str); 5] =
    [("POST", "nodes"), ("POST", "partitions"), ("DELETE", "jobs"), ("POST", "job"), ("DELETE", "job")];
/// Of a path, a version or a method that is not served.
const NO_URL: &str = "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit \
                      'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a \
                      list of all possible slurmrestd endpoints.";

pub(super) fn answer(ctld: &mut Slurmctld, options: &SlurmOptions, call: &Call) -> Reply {
    if call.header("transfer-encoding").is_some() {
        // its own spelling
        return refused(406, "Invalid HTTP Tranfser-Encoding header");
    }
    let user = match caller(call, &options.jwt_key, &options.admins, ctld.now) {
        Caller::Nobody => return refused(401, "Authentication failure"),
        Caller::Refused => None,
        Caller::User(user) => Some(user),
    };
    let segments = call.segments();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let ["slurm", "v0.0.45", path @ ..] = path.as_slice() else {
        return refused(404, NO_URL);
    };
    let Some(operation) = operation(&call.method, path) else { return unserved(&call.method, path) };
    let accepts = call.header("accept").unwrap_or("*/*");
    if !accepts.contains("application/json") && !accepts.contains("*/*") {
        return refused(415, "HTTP Accept header content type is unknown or unsupported");
    }
    if !call.body.is_empty() && call.header("content-type") != Some("application/json") {
        return refused(415, "MIME type is unknown to any loaded plugins");
    }
    let body = match call.body.len() {
        0 => json!({}),
        _ => match serde_json::from_slice(&call.body) {
            Ok(body) => body,
            Err(_) => return refused(400, "Failure during parsing"),
        },
    };
    if body.is_array() {
        return envelope::no_dictionary();
    }
    if let ["ping"] = path {
        return ping(ctld.controller);
    }
    match (ctld.controller, user) {
        (Controller::Down, _) => operation.failed(NO_CONTROLLER),
        (Controller::Hung, _) => operation.failed(TIMED_OUT),
        (_, None) => operation.failed(AUTHENTICATION),
        (_, Some(user)) => Asked { ctld, options, call, operation, user }.perform(path, &body),
    }
}

/// What a method and path are for; none is a path that is not served.
fn operation(method: &str, path: &[&str]) -> Option<Operation> {
    let lists = json!({"jobs": [], "last_backfill": number(0), "last_update": number(0)});
    Some(match (method, path) {
        ("GET", ["ping"]) => Operation::new("", "op_handler_ping"),
        ("GET", ["nodes"]) => Operation::new("Failure to query nodes", "_dump_nodes"),
        ("GET", ["node", name]) => Operation::new(format!("Failure to query node {name}"), "_dump_nodes"),
        ("POST", ["node", name]) => Operation::new(format!("Failure to update node {name}"), "_update_node"),
        ("DELETE", ["node", name]) => {
            Operation::new(format!("Failure to delete node {name}"), "op_handler_node")
        }
        ("GET", ["partitions"]) => Operation::new("Unable to query partitions", "slurm_load_partitions()"),
        ("GET", ["jobs"]) => {
            Operation { remains: lists, ..Operation::new("Unable to query jobs", "slurm_load_jobs()") }
        }
        ("GET", ["job", id]) => Operation {
            remains: lists,
            ..Operation::new(format!("Unable to query JobId={id}"), "_handle_job_get")
        },
        ("POST", ["job", "submit"]) => submit::operation(),
        _ => return None,
    })
}

fn unserved(method: &str, path: &[&str]) -> Reply {
    match path {
        [first, ..] if NOT_HERE.contains(first) || NOT_DONE.contains(&(method, first)) => {
            refused(501, "fakes: this path is not imitated")
        }
        _ => refused(404, NO_URL),
    }
}

/// Always 200, with any token: it says whether slurmctld answers, on v0.0.45 in `responding` (the
/// `pinged` of older versions is gone: images, README).
fn ping(controller: Controller) -> Reply {
    let up = matches!(controller, Controller::Up | Controller::Restarting(_));
    let status = match controller {
        Controller::Up | Controller::Restarting(_) => NO_ERROR.2,
        Controller::Down => NO_CONTROLLER.2,
        Controller::Hung => TIMED_OUT.2,
    };
    let ping = json!({
        "hostname": "ctl",
        "responding": up,
        "latency": 452,
        "primary": true,
        "status": status,
    });
    done(json!({"pings": [ping]}), Vec::new())
}

struct Asked<'a> {
    ctld: &'a mut Slurmctld,
    options: &'a SlurmOptions,
    call: &'a Call,
    operation: Operation,
    user: String,
}

impl Asked<'_> {
    fn perform(self, path: &[&str], body: &Value) -> Reply {
        let method = self.call.method.as_str();
        match (method, path) {
            ("GET", ["nodes"]) => self.list("nodes", "NODES", |ctld| {
                ctld.nodes.iter().filter(|n| n.base != "FUTURE").map(|n| ctld.show(n)).collect()
            }),
            ("GET", ["partitions"]) => self.list("partitions", "PARTITIONS", |ctld| {
                ctld.partitions.iter().map(|p| ctld.show_partition(p)).collect()
            }),
            ("GET", ["jobs"]) => {
                self.list("jobs", "JOB_INFO", |ctld| ctld.jobs.iter().map(super::job::Job::show).collect())
            }
            ("GET", ["node", name]) => match self.ctld.node(name).filter(|n| n.base != "FUTURE") {
                Some(node) => {
                    let body =
                        json!({"nodes": [self.ctld.show(node)], "last_update": number(self.ctld.changed)});
                    done(body, Vec::new())
                }
                None => self.operation.failed(NO_ERROR),
            },
            ("GET", ["job", id]) => match self.ctld.jobs.iter().find(|j| j.id.to_string() == **id) {
                Some(job) => {
                    let changed = number(self.ctld.changed);
                    done(
                        json!({"jobs": [job.show()], "last_backfill": changed, "last_update": changed}),
                        Vec::new(),
                    )
                }
                None => self.operation.failed(JOB),
            },
            ("POST", ["node", name]) => {
                let admin = self.is_admin().then_some(self.user.as_str());
                let now = self.ctld.now;
                update::update(self.ctld.node_mut(name), name, body, admin, now)
            }
            ("DELETE", ["node", name]) => self.delete(name),
            _ => submit::submit(self.ctld, body, &self.user, self.options.job_ticks),
        }
    }

    fn is_admin(&self) -> bool {
        self.options.admins.contains(&self.user)
    }

    fn list(&self, key: &str, parser: &str, show: impl Fn(&Slurmctld) -> Vec<Value>) -> Reply {
        let mut warnings = Vec::new();
        for (name, value) in self.call.pairs() {
            match name.as_str() {
                "flags" => {}
                "update_time" => match value.parse::<i64>() {
                    Ok(since) if since >= self.ctld.changed => return Reply::empty(304),
                    Ok(_) => {}
                    Err(_) => return self.bad_time(&value),
                },
                _ => {
                    let parser = format!("OPENAPI_{parser}_QUERY");
                    warnings.push(unknown_field(&name, &json!(value), &parser, "#/"));
                }
            }
        }
        let changed = number(self.ctld.changed);
        let mut body = json!({"last_update": changed});
        body[key] = Value::Array(show(self.ctld));
        if key == "jobs" {
            body["last_backfill"] = changed;
        }
        if key == "partitions" {
            let text = "Slurm accounting storage is disabled. Could not query the following: [TRES].";
            warnings.push(envelope::warning(text, ""));
        }
        done(body, warnings)
    }

    fn bad_time(&self, value: &str) -> Reply {
        let text = format!("Parsing of {value} for timestamp failed");
        let first = error(&text, 9202, "Unable to convert Data type", "#/update_time/");
        Operation::new("Rejecting request. Failure parsing query.", self.operation.source)
            .failed_after(vec![first], envelope::QUERY)
    }

    fn delete(self, name: &str) -> Reply {
        if !self.is_admin() {
            return self.operation.failed(USER);
        }
        let Some(node) = self.ctld.node(name) else { return self.operation.failed(NODE) };
        if !node.is_dynamic() {
            return self.operation.failed(STATE);
        }
        let held = |j: &super::job::Job| j.runs_on(name) || j.completing && j.nodes.iter().any(|n| n == name);
        if self.ctld.jobs.iter().any(held) {
            return self.operation.failed(BUSY);
        }
        self.ctld.nodes.retain(|n| n.name != name);
        self.ctld.changed = self.ctld.now;
        done(json!({}), Vec::new())
    }
}
