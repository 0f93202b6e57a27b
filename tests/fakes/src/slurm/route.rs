//! Paths to answers, in slurmrestd's order: body, token, path, content type, query, slurmctld.

use serde_json::{Value, json};

use super::SlurmOptions;
use super::auth::{Caller, caller};
use super::controller::{Controller, Slurmctld};
use super::dialect::Dialect;
use super::envelope::{
    self, AUTHENTICATION, BUSY, JOB, NO_CONTROLLER, NO_ERROR, NODE, NOT_PERMITTED, Operation, STATE, Said,
    TIMED_OUT, UNEXPECTED, UNREADABLE, USER, Wrong, done, error, number, refused, storage_disabled,
    unknown_field,
};
use super::job::Job;
use super::{accounts, alter, cancel, make, old, raw, reserve, submit, update};
use crate::serve::{Call, Reply};

/// Paths of the real one that are not imitated.
const NOT_HERE: [&str; 4] = ["licenses", "partition", "reconfigure", "shares"];
/// Methods of the real one that are not imitated, on paths that are.
const NOT_DONE: [(&str, &str); 3] = [("POST", "nodes"), ("POST", "partitions"), ("DELETE", "jobs")];

pub(super) fn answer(ctld: &mut Slurmctld, options: &SlurmOptions, call: &Call) -> Reply {
    let Some(newest) = options.newest() else { return Reply::empty(500) };
    if options.release.is_oldest() {
        return old::answer(ctld, options, newest, call);
    }
    match asked(ctld, options, call) {
        Ok((dialect, said)) => said.written(dialect, options.accounting),
        // refused before it was known in which version it was asked
        Err(said) => said.written(newest, options.accounting),
    }
}

fn asked(ctld: &mut Slurmctld, options: &SlurmOptions, call: &Call) -> Result<(Dialect, Said), Said> {
    let release = options.release;
    if call.header("transfer-encoding").is_some() {
        // its own spelling
        return Err(refused(406, "Invalid HTTP Tranfser-Encoding header"));
    }
    let user = match caller(call, &options.jwt_key, &options.admins, ctld.now) {
        Caller::Nobody => return Err(refused(401, "Authentication failure")),
        Caller::Refused => None,
        Caller::User(user) => Some(user),
    };
    let segments = call.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (dialect, path, accounts) = match segments.as_slice() {
        ["openapi" | "openapi.json"] | ["openapi", "v3"] if call.method == "GET" => {
            return Err(Said::Bare(openapi(options)));
        }
        ["slurm", version, path @ ..] => (options.dialect(version), path, false),
        ["slurmdb", version, path @ ..] if options.accounting => (options.dialect(version), path, true),
        _ => (None, &[][..], false),
    };
    let Some(dialect) = dialect else { return Err(refused(404, release.no_url())) };
    let said = said(ctld, options, dialect, call, (path, accounts), user);
    Ok((dialect, said))
}

fn said(
    ctld: &mut Slurmctld,
    options: &SlurmOptions,
    dialect: Dialect,
    call: &Call,
    (path, accounts): (&[&str], bool),
    user: Option<String>,
) -> Said {
    let release = options.release;
    if accounts {
        return match user {
            Some(_) => accounts::answer(ctld, dialect, call, path),
            None => Operation::new("Unable to query jobs", "slurmdb_jobs_get").failed(AUTHENTICATION),
        };
    }
    let Some(operation) = operation(dialect, &call.method, path) else {
        return unserved(dialect, &call.method, path);
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
        _ => match serde_json::from_str(&raw::text(&call.body)) {
            Ok(body) => body,
            Err(_) => return refused(400, release.unparsed()),
        },
    };
    if body.is_array() {
        return envelope::no_dictionary();
    }
    if let ["ping"] = path {
        return ping(dialect, ctld.controller);
    }
    match (ctld.controller, user) {
        (Controller::Down, _) => operation.failed(unanswered(&call.method, path).unwrap_or(NO_CONTROLLER)),
        (Controller::Hung, _) => operation.failed(unanswered(&call.method, path).unwrap_or(TIMED_OUT)),
        (_, None) if path == ["partitions"] => Said::Unlisted,
        (_, None) => operation.failed(AUTHENTICATION),
        (_, Some(user)) => Asked { ctld, options, dialect, call, operation, user }.perform(path, &body),
    }
}

/// What a method and path are for; none is a path that is not served.
fn operation(dialect: Dialect, method: &str, path: &[&str]) -> Option<Operation> {
    let lists = json!({"jobs": [], "last_backfill": number(0), "last_update": number(0)});
    let (makes_nodes, reserves) = (dialect.makes_nodes(), dialect.makes_reservations());
    Some(match (method, path) {
        ("GET", ["ping"]) => Operation::new("", "op_handler_ping"),
        ("GET", ["diag"]) => {
            let text = "slurm_get_statistics() failed to get slurmctld statistics";
            Operation::new(text, "op_handler_diag")
        }
        ("GET", ["nodes"]) => Operation::new("Failure to query nodes", "_dump_nodes"),
        ("GET", ["node", name]) => Operation::new(format!("Failure to query node {name}"), "_dump_nodes"),
        ("POST", ["node", name]) => Operation::new(format!("Failure to update node {name}"), "_update_node"),
        ("DELETE", ["node", name]) => {
            Operation::new(format!("{} {name}", dialect.release().deleting()), "op_handler_node")
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
        ("POST", ["job", _]) => alter::operation(),
        ("DELETE", ["job", _]) => cancel::operation(dialect),
        ("GET", ["reservations"] | ["reservation", _]) => reserve::listing(),
        ("POST", ["reservation"]) if reserves => {
            Operation::new("Error creating reservation", "slurm_create_reservation")
        }
        ("DELETE", ["reservation", name]) if reserves => {
            Operation::new(format!("Error deleting reservation {name}"), "slurm_delete_reservation")
        }
        ("POST", ["new", "node"]) if makes_nodes => make::operation(),
        _ => return None,
    })
}

/// What is said in place of slurmctld's being away, of a job that is to be cancelled or changed.
fn unanswered(method: &str, path: &[&str]) -> Option<Wrong> {
    match (method, path) {
        ("DELETE", ["job", _]) => Some(NOT_PERMITTED),
        ("POST", ["job", id]) if *id != "submit" => Some(UNEXPECTED),
        _ => None,
    }
}

fn unserved(dialect: Dialect, method: &str, path: &[&str]) -> Said {
    match path {
        [first, ..] if NOT_HERE.contains(first) || NOT_DONE.contains(&(method, first)) => {
            refused(501, "fakes: this path is not imitated")
        }
        _ => refused(404, dialect.release().no_url()),
    }
}

/// Always 200, with any token: it says whether slurmctld answers.
fn ping(dialect: Dialect, controller: Controller) -> Said {
    let (up, status) = match controller {
        Controller::Up | Controller::Restarting(_) => (true, NO_ERROR.2),
        Controller::Down => (false, NO_CONTROLLER.2),
        Controller::Hung => (false, TIMED_OUT.2),
    };
    done(json!({"pings": [dialect.ping(up, status)]}), Vec::new())
}

/// The paths of each version that is served, as far as they tell of it.
pub(super) fn openapi(options: &SlurmOptions) -> Reply {
    let ping = |version: &&str| (format!("/slurm/{version}/ping/"), json!({"get": {}}));
    let paths: serde_json::Map<String, Value> = options.served().iter().map(ping).collect();
    Reply::json(200, &json!({"openapi": "3.0.3", "info": {"title": "Slurm REST API"}, "paths": paths}))
}

struct Asked<'a> {
    ctld: &'a mut Slurmctld,
    options: &'a SlurmOptions,
    dialect: Dialect,
    call: &'a Call,
    operation: Operation,
    user: String,
}

impl Asked<'_> {
    fn perform(self, path: &[&str], body: &Value) -> Said {
        let (dialect, admin) = (self.dialect, self.options.admins.contains(&self.user));
        let (user, accounting) = (self.user.as_str(), self.options.accounting);
        if self.call.method == "GET" {
            return self.read(path);
        }
        self.ctld.save();
        match (self.call.method.as_str(), path) {
            ("POST", ["node", name]) => {
                let at = (self.options.release, self.ctld.now);
                let said = update::update(self.ctld.node_mut(name), name, body, admin.then_some(user), at);
                self.ctld.queue_again(name);
                said
            }
            ("DELETE", ["node", name]) => self.delete(name, admin),
            ("POST", ["new", "node"]) => make::make(self.ctld, body, admin),
            ("POST", ["reservation"]) => reserve::make(self.ctld, body, admin, self.options),
            ("DELETE", ["reservation", name]) => reserve::delete(self.ctld, name, admin),
            ("DELETE", ["job", key]) => cancel::cancel(self.ctld, dialect, key, (user, admin), accounting),
            ("POST", ["job", "submit"]) => {
                submit::submit(self.ctld, dialect, body, (user, admin), self.options.job_ticks)
            }
            ("POST", ["job", id]) => alter::alter(self.ctld, id, body, (user, admin)),
            _ => refused(404, self.options.release.no_url()),
        }
    }

    fn read(self, path: &[&str]) -> Said {
        let dialect = self.dialect;
        match path {
            // of its statistics the time alone
            ["diag"] => done(json!({"statistics": {"req_time": number(self.ctld.now)}}), Vec::new()),
            ["nodes"] => self.list("nodes", "NODES", |ctld| {
                ctld.nodes.iter().filter(|n| n.base != "FUTURE").map(|n| ctld.show(n, dialect)).collect()
            }),
            ["partitions"] => self.list("partitions", "PARTITIONS", |ctld| {
                ctld.partitions.iter().map(|p| ctld.show_partition(p, dialect)).collect()
            }),
            ["jobs"] => {
                self.list("jobs", "JOB_INFO", |ctld| ctld.jobs.iter().map(|j| j.show(dialect)).collect())
            }
            ["reservations"] => reserve::all(self.ctld, dialect),
            ["reservation", name] => reserve::one(self.ctld, dialect, name),
            ["node", name] => match self.ctld.shown_alone(name, dialect) {
                Some(shown) => {
                    done(json!({"nodes": [shown], "last_update": number(self.ctld.changed)}), Vec::new())
                }
                None => self.operation.failed(NO_ERROR),
            },
            ["job", id] => {
                let jobs = self.ctld.named(id, dialect);
                if jobs.is_empty() {
                    return self.operation.failed(JOB);
                }
                let changed = number(self.ctld.changed);
                done(json!({"jobs": jobs, "last_backfill": changed, "last_update": changed}), Vec::new())
            }
            _ => refused(404, self.options.release.no_url()),
        }
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
        if key == "partitions" && !self.options.accounting {
            warnings.push(storage_disabled());
        }
        done(body, warnings)
    }

    fn bad_time(&self, value: &str) -> Said {
        let text = format!("Parsing of {value} for timestamp failed");
        let first = error(&text, 9202, "Unable to convert Data type", "#/update_time/");
        Operation::new("Rejecting request. Failure parsing query.", self.operation.source)
            .failed_after(vec![first], envelope::QUERY)
    }

    /// The record alone: its slurmd runs on, and stays out until it is started again.
    fn delete(self, name: &str, admin: bool) -> Said {
        if !admin {
            return self.operation.failed(USER);
        }
        let Some(node) = self.ctld.node(name) else { return self.operation.failed(NODE) };
        if !node.is_dynamic() {
            return self.operation.failed(STATE);
        }
        let holds = |j: &Job| j.runs_on(name) || j.completing && j.holds(name);
        if self.ctld.jobs.iter().any(holds) {
            return self.operation.failed(BUSY);
        }
        self.ctld.nodes.retain(|n| n.name != name);
        let needs = |j: &&mut Job| j.state == "PENDING" && j.required.iter().any(|n| n == name);
        self.ctld.jobs.iter_mut().filter(needs).for_each(|j| j.bereft = true);
        self.ctld.changed = self.ctld.now;
        done(json!({}), Vec::new())
    }
}
