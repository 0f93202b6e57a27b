//! The envelope of every answer: pretty-printed, slashes escaped, `meta`, `errors` and `warnings` in
//! each; an error closes the connection.

use serde_json::{Value, json};

use super::release::Release;
use crate::serve::Reply;

/// One of slurmctld's or slurmrestd's errors: the HTTP status that 26.05 gives it, number and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) u16, pub(super) i64, pub(super) &'static str);

pub(super) const NO_ERROR: Wrong = Wrong(200, 0, "No error");
pub(super) const AUTHENTICATION: Wrong = Wrong(511, 1007, "Protocol authentication error");
pub(super) const NO_CONTROLLER: Wrong =
    Wrong(502, 1800, "Unable to contact slurm controller (connect failure)");
pub(super) const TIMED_OUT: Wrong = Wrong(504, 5004, "Socket timed out on send/recv operation");
pub(super) const PARTITION: Wrong = Wrong(422, 2000, "Invalid partition name specified");
pub(super) const NOT_IN_PARTITION: Wrong = Wrong(422, 2004, "Requested nodes not in this partition");
pub(super) const USER: Wrong = Wrong(422, 2010, "Invalid user id");
pub(super) const BUSY: Wrong = Wrong(422, 2016, "Requested nodes are busy");
pub(super) const JOB: Wrong = Wrong(404, 2017, "Invalid job id specified");
pub(super) const NODE: Wrong = Wrong(422, 2018, "Invalid node name specified");
pub(super) const STATE: Wrong = Wrong(422, 2028, "Invalid node state specified");
pub(super) const FEATURE: Wrong = Wrong(422, 2029, "Invalid feature specification");
/// The text is from SLURM's source; the number was seen.
pub(super) const NOT_SUBSET: Wrong = Wrong(422, 2031, "Active features not subset of configured features");
pub(super) const RESERVATION: Wrong = Wrong(422, 2053, "Requested reservation is invalid");
pub(super) const NO_DIRECTORY: Wrong =
    Wrong(422, 2063, "Job cannot be submitted without the current working directory specified.");
pub(super) const NO_ENVIRONMENT: Wrong = Wrong(422, 2127, "Environment is missing in job");
/// Without a text of its own: slurmctld could not read what it was sent.
pub(super) const UNREADABLE: Wrong = Wrong(500, -1, "Unspecified error");
pub(super) const EXISTS: Wrong = Wrong(422, 2168, "Node already exists in the node table");
pub(super) const TRANSITION: Wrong = Wrong(422, 2180, "Invalid node state transition");
pub(super) const POWER: Wrong = Wrong(422, 2187, "Invalid power action");
pub(super) const QUERY: Wrong = Wrong(422, 9000, "Query empty or not RFC7320 compliant");

/// What a call is for: how its errors are described, and which of slurmrestd's functions says so.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) description: String,
    pub(super) source: &'static str,
    /// What its answer holds besides the envelope when it failed.
    pub(super) remains: Value,
}

impl Operation {
    pub(super) fn new(description: impl Into<String>, source: &'static str) -> Self {
        Self { description: description.into(), source, remains: json!({}) }
    }

    /// It failed.
    pub(super) fn failed(&self, wrong: Wrong) -> Said {
        self.failed_after(Vec::new(), wrong)
    }

    /// It failed, and these errors came before; then the status is 500, as seen.
    pub(super) fn failed_after(&self, before: Vec<Value>, wrong: Wrong) -> Said {
        Said::Failed { operation: self.clone(), before, wrong }
    }
}

/// An answer, before a release writes it.
#[derive(Debug)]
pub(super) enum Said {
    /// Without an envelope.
    Bare(Reply),
    /// It was done.
    Done { body: Value, warnings: Vec<Value> },
    /// It was not.
    Failed { operation: Operation, before: Vec<Value>, wrong: Wrong },
}

impl Said {
    /// As this release writes it.
    pub(super) fn written(self, release: Release) -> Reply {
        let (status, mut body, errors, warnings) = match self {
            Self::Bare(reply) => return reply,
            Self::Done { body, warnings } => (200, body, Vec::new(), warnings),
            Self::Failed { operation, before: mut errors, wrong } => {
                let Wrong(status, number, text) = release.says(wrong);
                let status = if errors.is_empty() { status } else { 500 };
                errors.push(error(&operation.description, number, text, operation.source));
                (status, operation.remains, errors, Vec::new())
            }
        };
        body["meta"] = release.meta();
        body["errors"] = Value::Array(errors);
        body["warnings"] = Value::Array(warnings);
        let reply = Reply { body: pretty(&body).into_bytes(), ..Reply::empty(status) };
        closing(reply.with("content-type", "application/json"))
    }
}

/// An entry of `errors`.
pub(super) fn error(description: &str, number: i64, error: &str, source: &str) -> Value {
    json!({"description": description, "error_number": number, "error": error, "source": source})
}

/// An entry of `warnings`.
pub(super) fn warning(description: impl Into<String>, source: impl Into<String>) -> Value {
    json!({"description": description.into(), "source": source.into()})
}

/// The warning about a key that slurmrestd does not know.
pub(super) fn unknown_field(key: &str, value: &Value, parser: &str, at: &str) -> Value {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "floating point number",
        Value::Number(_) => "64 bit integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "dictionary",
    };
    let description = format!("Ignoring unknown field \"{key}\" of type {kind} in DATA_PARSER_{parser}");
    warning(description, format!("{at}{key}/"))
}

/// It was done.
pub(super) fn done(body: Value, warnings: Vec<Value>) -> Said {
    Said::Done { body, warnings }
}

/// The body is a list.
pub(super) fn no_dictionary() -> Said {
    let wrong = Wrong(500, 9209, "Data parser expected a dictionary or object");
    Operation::new("Rejecting list when dictionary expected", "#/").failed(wrong)
}

fn pretty(body: &Value) -> String {
    format!("{body:#}").replace('/', "\\/")
}

/// Every answer that is not a success closes the connection.
pub(super) fn closing(reply: Reply) -> Reply {
    if reply.status < 400 { reply } else { reply.with("connection", "Close") }
}

/// Refused before anything was looked at: plain text.
pub(super) fn refused(status: u16, text: &str) -> Said {
    Said::Bare(closing(Reply::text(status, text)))
}

/// SLURM's number that is set.
pub(super) fn number(n: i64) -> Value {
    json!({"set": true, "infinite": false, "number": n})
}
