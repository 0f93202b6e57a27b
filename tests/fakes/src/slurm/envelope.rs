//! The envelope of every answer: pretty-printed, slashes escaped, `meta`, `errors` and `warnings` in
//! each; an error closes the connection.

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::raw;
use crate::serve::Reply;

/// One of slurmctld's or slurmrestd's errors: the HTTP status that 26.05 gives it, number and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) u16, pub(super) i64, pub(super) &'static str);

pub(super) const NO_ERROR: Wrong = Wrong(200, 0, "No error");
pub(super) const AUTHENTICATION: Wrong = Wrong(511, 1007, "Protocol authentication error");
pub(super) const NO_CONTROLLER: Wrong =
    Wrong(502, 1800, "Unable to contact slurm controller (connect failure)");
pub(super) const TIMED_OUT: Wrong = Wrong(504, 5004, "Socket timed out on send/recv operation");
/// To a cancel that slurmctld does not answer; 22.05 says it of keys.
pub(super) const NOT_PERMITTED: Wrong = Wrong(403, 1, "Operation not permitted");
/// To a change of a job that slurmctld does not answer.
pub(super) const UNEXPECTED: Wrong = Wrong(500, 1000, "Unexpected message received");
pub(super) const PARTITION: Wrong = Wrong(422, 2000, "Invalid partition name specified");
pub(super) const DENIED: Wrong = Wrong(422, 2002, "Access/permission denied");
pub(super) const NOT_IN_PARTITION: Wrong = Wrong(422, 2004, "Requested nodes not in this partition");
pub(super) const USER: Wrong = Wrong(422, 2010, "Invalid user id");
pub(super) const BUSY: Wrong = Wrong(422, 2016, "Requested nodes are busy");
pub(super) const JOB: Wrong = Wrong(404, 2017, "Invalid job id specified");
pub(super) const NODE: Wrong = Wrong(422, 2018, "Invalid node name specified");
pub(super) const FINISHED: Wrong = Wrong(422, 2021, "Job/step already completing or completed");
pub(super) const STATE: Wrong = Wrong(422, 2028, "Invalid node state specified");
pub(super) const FEATURE: Wrong = Wrong(422, 2029, "Invalid feature specification");
/// The text is from SLURM's source; the number was seen.
pub(super) const NOT_SUBSET: Wrong = Wrong(422, 2031, "Active features not subset of configured features");
pub(super) const HELD: Wrong = Wrong(422, 2042, "Job is in held state, pending scheduler release");
pub(super) const NOT_IN_RESERVATION: Wrong = Wrong(422, 2052, "Access denied to requested reservation");
pub(super) const RESERVATION: Wrong = Wrong(422, 2053, "Requested reservation is invalid");
pub(super) const TIME: Wrong = Wrong(422, 2054, "Invalid time specified");
pub(super) const IN_USE: Wrong = Wrong(422, 2055, "Requested reservation is in use");
pub(super) const OVERLAP: Wrong = Wrong(422, 2058, "Requested reservation overlaps with another reservation");
pub(super) const NOT_AVAILABLE_NOW: Wrong =
    Wrong(422, 2068, "Required node not available (down, drained or reserved)");
pub(super) const NO_DIRECTORY: Wrong =
    Wrong(422, 2063, "Job cannot be submitted without the current working directory specified.");
pub(super) const FINISHED_ALREADY: Wrong = Wrong(422, 2084, "Job has already finished");
pub(super) const PRIORITY: Wrong =
    Wrong(422, 2095, "Changes to job priority are not persistent, change nice instead");
pub(super) const STARTED: Wrong = Wrong(422, 2104, "Reservation already started");
pub(super) const NO_ENVIRONMENT: Wrong = Wrong(422, 2127, "Environment is missing in job");
/// Without a text of its own: slurmctld could not read what it was sent.
pub(super) const UNREADABLE: Wrong = Wrong(500, -1, "Unspecified error");
pub(super) const EXISTS: Wrong = Wrong(422, 2168, "Node already exists in the node table");
pub(super) const TRANSITION: Wrong = Wrong(422, 2180, "Invalid node state transition");
pub(super) const POWER: Wrong = Wrong(422, 2187, "Invalid power action");
pub(super) const QUERY: Wrong = Wrong(422, 9000, "Query empty or not RFC7320 compliant");
pub(super) const NO_DATABASE: Wrong = Wrong(502, 7000, "Unable to connect to database");
/// To 22.05's submit, of a token that slurmctld refuses.
pub(super) const CUT_OFF: Wrong = Wrong(500, 5005, "Zero Bytes were transmitted or received");
/// Of slurmdbd, on 22.05.
pub(super) const NOTHING_FOUND: Wrong = Wrong(200, 9003, "Nothing found with query");

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

/// An answer, before a dialect writes it.
#[derive(Debug)]
pub(super) enum Said {
    /// Without an envelope.
    Bare(Reply),
    /// It was done.
    Done { body: Value, warnings: Vec<Value> },
    /// slurmdbd has said this.
    Accounted { body: Value, warnings: Vec<Value> },
    /// A token was refused, and no error is listed.
    Unlisted,
    /// It was not done.
    Failed { operation: Operation, before: Vec<Value>, wrong: Wrong },
}

impl Said {
    /// As this dialect writes it, with or without slurmdbd.
    pub(super) fn written(self, dialect: Dialect, accounting: bool) -> Reply {
        let slurmdbd = matches!(self, Self::Accounted { .. });
        let (status, mut body, errors, warnings) = match self {
            Self::Bare(reply) => return reply,
            Self::Done { body, warnings } | Self::Accounted { body, warnings } => {
                (200, body, Vec::new(), warnings)
            }
            Self::Unlisted => (AUTHENTICATION.0, json!({}), Vec::new(), Vec::new()),
            Self::Failed { operation, before: mut errors, wrong } => {
                let Wrong(status, number, text) = dialect.release().says(wrong);
                let status = if errors.is_empty() { status } else { 500 };
                errors.push(error(&operation.description, number, text, operation.source));
                (status, operation.remains, errors, Vec::new())
            }
        };
        body["errors"] = Value::Array(errors);
        body["warnings"] = Value::Array(warnings);
        body = dialect.finished(body);
        body["meta"] = dialect.meta(accounting, slurmdbd);
        json_reply(status, &body)
    }
}

/// Pretty-printed, slashes escaped.
pub(super) fn json_reply(status: u16, body: &Value) -> Reply {
    let reply = Reply { body: raw::bytes(pretty(body)), ..Reply::empty(status) };
    closing(reply.with("content-type", "application/json"))
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

/// Of a cluster without slurmdbd.
pub(super) fn storage_disabled() -> Value {
    warning("Slurm accounting storage is disabled. Could not query the following: [TRES].", "")
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
