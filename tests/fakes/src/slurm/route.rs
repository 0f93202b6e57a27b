//! Paths to answers, in slurmrestd's order: body, token, path, content type, query, slurmctld.

use serde_json::{Value, json};

use super::SlurmOptions;
use super::auth::{Caller, caller};
use super::controller::{Controller, Slurmctld};
use super::envelope::{
    self, AUTHENTICATION, BUSY, JOB, NO_CONTROLLER, NO_ERROR, NODE, Operation, STATE, Said, TIMED_OUT,
    UNREADABLE, USER, done, error, number, refused, unknown_field,
};
use super::release::Release;
use super::{make, submit, update};
use crate::serve::{Call, Reply};

/// Paths of the real one that are not imitated.
const NOT_HERE: [&str; 7] =
    ["diag", "licenses", "partition", "reconfigure", "reservation", "reservations", "shares"];
/// Methods of the real one that are not imitated, on paths that are.
const NOT_DONE: [(&str, &str); 5] =
    [("POST", "nodes"), ("POST", "partitions"), ("DELETE", "jobs"), ("POST", "job"), ("DELETE", "job")];
pub(super) fn answer(ctld: &mut Slurmctld, options: &SlurmOptions, call: &Call) -> Reply {
    said(ctld, options, call).written(options.release)
}

fn said(ctld: &mut Slurmctld, options: &SlurmOptions, call: &Call) -> Said {
    let release = options.release;
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
    let path = match path.as_slice() {
        ["slurm", version, path @ ..] if *version == release.version() => path,
        _ => return refused(404, release.no_url()),
    };
    let Some(operation) = operation(release, &call.method, path) else {
        return unserved(release, &call.method, path);
    };
    let accepts = call.header("accept").unwrap_or("*/*");
    if !accepts.contains("application/json") && !accepts.contains("*/*") {
        return refused(415, release.unaccepted());
    }
    if !call.body.is_empty() && call.header("content-type") != Some("application/json") {
        let (status, text) = release.unknown_type();
        return refused(status, text);
    }
    let body = match call.body.len() {
        0 => json!({}),
        _ => match serde_json::from_slice(&call.body) {
            Ok(body) => body,
            Err(_) => return refused(400, release.unparsed()),
        },
    };
    if body.is_array() {
        return envelope::no_dictionary();
    }
    if let ["ping"] = path {
        return ping(release, ctld.controller);
    }
    match (ctld.controller, user) {
        (Controller::Down, _) => operation.failed(NO_CONTROLLER),
        (Controller::Hung, _) => operation.failed(TIMED_OUT),
        (_, None) => operation.failed(AUTHENTICATION),
        (_, Some(user)) => Asked { ctld, options, call, operation, user }.perform(path, &body),
    }
}

/// What a method and path are for; none is a path that is not served.
fn operation(release: Release, method: &str, path: &[&str]) -> Option<Operation> {
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
        ("POST", ["new", "node"]) if release.makes_nodes() => make::operation(),
        _ => return None,
    })
}

fn unserved(release: Release, method: &str, path: &[&str]) -> Said {
    match path {
        [first, ..] if NOT_HERE.contains(first) || NOT_DONE.contains(&(method, first)) => {
            refused(501, "fakes: this path is not imitated")
        }
        _ => refused(404, release.no_url()),
    }
}

/// Always 200, with any token: it says whether slurmctld answers.
fn ping(release: Release, controller: Controller) -> Said {
    let (up, status) = match controller {
        Controller::Up | Controller::Restarting(_) => (true, NO_ERROR.2),
        Controller::Down => (false, NO_CONTROLLER.2),
        Controller::Hung => (false, TIMED_OUT.2),
    };
    done(json!({"pings": [release.ping(up, status)]}), Vec::new())
}

struct Asked<'a> {
    ctld: &'a mut Slurmctld,
    options: &'a SlurmOptions,
    call: &'a Call,
    operation: Operation,
    user: String,
}

impl Asked<'_> {
    fn perform(self, path: &[&str], body: &Value) -> Said {
        let method = self.call.method.as_str();
        match (method, path) {
            ("GET", ["nodes"]) => self.list("nodes", "NODES", |ctld| {
                ctld.nodes.iter().filter(|n| n.base != "FUTURE").map(|n| ctld.show(n)).collect()
            }),
            ("GET", ["partitions"]) => self.list("partitions", "PARTITIONS", |ctld| {
                ctld.partitions.iter().map(|p| ctld.show_partition(p)).collect()
            }),
            ("GET", ["jobs"]) => {
                self.list("jobs", "JOB_INFO", |ctld| ctld.jobs.iter().map(|j| j.show(ctld.release)).collect())
            }
            ("GET", ["node", name]) => match self.ctld.node(name).filter(|n| n.base != "FUTURE") {
                Some(node) => {
                    let mut shown = self.ctld.show(node);
                    if let Some(first) = self.ctld.nodes.first()
                        && self.options.release.tells_firsts_partitions()
                    {
                        shown["partitions"] = json!(first.partitions);
                    }
                    done(json!({"nodes": [shown], "last_update": number(self.ctld.changed)}), Vec::new())
                }
                None => self.operation.failed(NO_ERROR),
            },
            ("GET", ["job", id]) => match self.ctld.jobs.iter().find(|j| j.id.to_string() == **id) {
                Some(job) => {
                    let changed = number(self.ctld.changed);
                    done(
                        json!({"jobs": [job.show(self.options.release)], "last_backfill": changed, "last_update": changed}),
                        Vec::new(),
                    )
                }
                None => self.operation.failed(JOB),
            },
            ("POST", ["node", name]) => {
                let admin = self.is_admin().then_some(self.user.as_str());
                let at = (self.options.release, self.ctld.now);
                update::update(self.ctld.node_mut(name), name, body, admin, at)
            }
            ("DELETE", ["node", name]) => self.delete(name),
            ("POST", ["new", "node"]) => {
                let admin = self.is_admin();
                make::make(self.ctld, body, admin)
            }
            _ => submit::submit(self.ctld, body, &self.user, self.options.job_ticks),
        }
    }

    fn is_admin(&self) -> bool {
        self.options.admins.contains(&self.user)
    }

    fn list(&self, key: &str, parser: &str, show: impl Fn(&Slurmctld) -> Vec<Value>) -> Said {
        let mut warnings = Vec::new();
        for (name, value) in self.call.pairs() {
            match name.as_str() {
                "flags" => {}
                "update_time" => match value.parse::<i64>() {
                    Ok(since) if since >= self.ctld.changed => return Said::Bare(Reply::empty(304)),
                    Ok(_) if key == "nodes" && self.options.release.fails_lists_by_time() => {
                        return Operation::new("Unable to query partitions", "_dump_nodes")
                            .failed(UNREADABLE);
                    }
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

    fn bad_time(&self, value: &str) -> Said {
        let text = format!("Parsing of {value} for timestamp failed");
        let first = error(&text, 9202, "Unable to convert Data type", "#/update_time/");
        Operation::new("Rejecting request. Failure parsing query.", self.operation.source)
            .failed_after(vec![first], envelope::QUERY)
    }

    fn delete(self, name: &str) -> Said {
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
