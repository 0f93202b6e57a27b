//! The envelope of every answer, and the shapes that differ between releases and settings.

use model::NodeName;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::number;
use crate::http::Answer;
use crate::{Kind, excerpt};

/// What every body of slurmrestd's holds, whatever was asked.
#[derive(Deserialize)]
pub(super) struct Envelope {
    errors: Vec<Value>,
    /// 22.05 has none.
    warnings: Option<IgnoredAny>,
}

/// The envelope of a body, if it is one of slurmrestd's. The rest is not kept: it may be large.
pub(super) fn envelope(answer: &Answer) -> Option<Envelope> {
    serde_json::from_str(&answer.text()).ok()
}

/// What went wrong, if anything did. The status alone says little (24.11 answers 500 for nearly
/// all); the error number decides, then the status.
pub(super) fn kind(answer: &Answer) -> Option<Kind> {
    match (answer.status.as_u16(), envelope(answer)) {
        (200, Some(body)) if body.errors.is_empty() => None,
        (200, None) => Some(Kind::Malformed("no `errors` list".to_owned())),
        (_, Some(body)) if !body.errors.is_empty() => Some(of_errors(&body, answer)),
        _ => Some(answer.kind("no reason given")),
    }
}

/// Whether it may be that the token was refused: 22.05 says the same "Unspecified error" then as when
/// slurmctld is away (facts: slurm §1).
pub(super) fn may_be_refused(answer: &Answer) -> bool {
    answer.status.as_u16() == 500 && envelope(answer).is_some_and(|body| body.is_blurred())
}

/// Whether it says no more than "Unspecified error": of a read, that slurmctld is away or hangs (22.05,
/// and 24.11 of a single job). Of a write it may be a refusal.
pub(super) fn is_unspecified(answer: &Answer) -> bool {
    error_numbers(answer) == [number::UNSPECIFIED]
}

/// The numbers of its errors, in their order.
pub(super) fn error_numbers(answer: &Answer) -> Vec<i64> {
    envelope(answer).map_or_else(Vec::new, |body| body.numbers())
}

impl Envelope {
    /// 22.05 writes `error_number`, `errno` or `error_code`, each in another call.
    fn numbers(&self) -> Vec<i64> {
        let number =
            |e: &Value| ["error_number", "errno", "error_code"].iter().find_map(|k| e.get(k)?.as_i64());
        self.errors.iter().filter_map(number).collect()
    }

    /// 22.05's word for whatever it cannot tell. The number alone would not do: newer releases say it
    /// of a request that slurmctld took and refused.
    fn is_blurred(&self) -> bool {
        self.warnings.is_none() && self.numbers() == [number::UNSPECIFIED]
    }

    /// Each error in its own words, which are two, or one on 22.05.
    fn words(&self) -> Vec<String> {
        let word = |e: &Value, key| e.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let both = |e| [word(e, "description"), word(e, "error")];
        let said = |e| both(e).into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join(": ");
        self.errors.iter().map(said).collect()
    }
}

fn of_errors(body: &Envelope, answer: &Answer) -> Kind {
    let (numbers, words) = (body.numbers(), body.words());
    let detail = excerpt(&words.join("; "));
    let has = |n: i64| numbers.contains(&n);
    let no_controller = words.iter().any(|w| w.contains("Unable to contact slurm controller"));
    if has(number::AUTHENTICATION) {
        Kind::Unauthenticated
    } else if no_controller
        || body.is_blurred()
        || has(number::TIMED_OUT)
        || has(number::DATABASE)
        || numbers.iter().any(|n| number::CONTROLLER.contains(n))
        || numbers.iter().any(|n| number::UNANSWERED.contains(n) || number::CONNECTION.contains(n))
    {
        Kind::Unavailable
    } else if numbers.iter().any(|n| number::NOT_ALLOWED.contains(n)) {
        Kind::Forbidden(detail)
    } else if has(number::BUSY) || has(number::RESERVATION_IN_USE) {
        Kind::Conflict(detail)
    } else {
        match answer.kind(&detail) {
            // the status of an error that slurmctld named: 24.11 says 500 for all of them
            Kind::Malformed(_) | Kind::Broken(_) => Kind::Rejected(detail),
            other => other,
        }
    }
}

/// The two shapes that mean "no such node", and nothing else does: anything that differs is a look-up
/// that failed.
///
/// From 24.11 on HTTP 200, no `nodes`, and a single error with number 0 that names the very node; on
/// 22.05 HTTP 500, an empty list, and a single error that is "Invalid node name specified" and no more
/// (facts: slurm §0.6).
pub(super) fn is_unknown_node(answer: &Answer, name: &NodeName) -> bool {
    let Ok(body) = serde_json::from_str::<Value>(&answer.text()) else { return false };
    let nodes = body.get("nodes");
    let is_empty = nodes.and_then(Value::as_array).is_some_and(Vec::is_empty);
    let Some([error]) = body.get("errors").and_then(Value::as_array).map(Vec::as_slice) else { return false };
    let said = format!("Failure to query node {name}");
    match answer.status.as_u16() {
        200 => {
            (nodes.is_none() || is_empty)
                && error.get("error_number").and_then(Value::as_i64) == Some(0)
                && error.get("description").and_then(Value::as_str) == Some(said.as_str())
        }
        500 => is_empty && *error == json!({"error": "Invalid node name specified", "errno": 2018}),
        _ => false,
    }
}

/// Whether it says that slurmctld holds no such job: HTTP 404 (22.05: 500), no jobs, and the single
/// error 2017 (facts: slurm §6). A job that has ended is forgotten after MinJobAge.
pub(super) fn is_unknown_job(answer: &Answer) -> bool {
    let Ok(body) = serde_json::from_str::<Value>(&answer.text()) else { return false };
    let is_none = |jobs: &Value| jobs.is_null() || jobs.as_array().is_some_and(Vec::is_empty);
    let none = body.get("jobs").is_none_or(is_none);
    none && matches!(answer.status.as_u16(), 404 | 500) && error_numbers(answer) == [number::UNKNOWN_JOB]
}

/// A string, `""` where it is null or absent; `None` where it is something else.
pub(super) fn text(object: &Value, key: &str) -> Option<String> {
    match object.get(key) {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(s)) => Some(s.clone()),
        Some(_) => None,
    }
}

/// A list of strings, from a list, a comma-separated string, null or nothing; `None` where it is
/// something else.
pub(super) fn list(object: &Value, key: &str) -> Option<Vec<String>> {
    match object.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(s)) => Some(s.split(',').filter(|p| !p.is_empty()).map(str::to_owned).collect()),
        Some(Value::Array(items)) => items.iter().map(|i| i.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    }
}

/// What cannot be read, for a message: `partition main`.
pub(super) fn named(kind: &str, object: &Value) -> String {
    match object.get("name").and_then(Value::as_str) {
        Some(name) => excerpt(&format!("{kind} {name}")),
        None => format!("a {kind} without a name"),
    }
}

/// A number, from `{set,infinite,number}` or bare; `None` where it is not set, infinite (also the text
/// "Infinity", as the `+complex` shape has it), SLURM's NO_VAL, or absent.
pub(super) fn number(object: &Value, key: &str) -> Option<i64> {
    /// NO_VAL and INFINITE of 16, 32 and 64 bits.
    const SENTINELS: [u64; 6] = [0xfffe, 0xffff, 0xffff_fffe, 0xffff_ffff, u64::MAX - 1, u64::MAX];
    let value = object.get(key)?;
    let flag = |name| value.get(name).and_then(Value::as_bool);
    let bare = if value.is_object() {
        if flag("set") != Some(true) || flag("infinite") == Some(true) {
            return None;
        }
        value.get("number")?
    } else {
        value
    };
    match bare.as_u64() {
        Some(n) if SENTINELS.contains(&n) => None,
        Some(n) => i64::try_from(n).ok(),
        None => bare.as_i64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_b04_numbers_in_every_shape() {
        for (value, expected) in [
            (json!({"set": true, "infinite": false, "number": 1_750_000_000}), Some(1_750_000_000)),
            (json!(1_750_000_000), Some(1_750_000_000)),
            (json!({"set": false, "infinite": false, "number": 0}), None),
            (json!({"set": true, "infinite": true, "number": 0}), None),
            (json!(4_294_967_294_u64), None),
            (json!(null), None),
            (json!("Infinity"), None),
        ] {
            assert_eq!(number(&json!({"n": value}), "n"), expected, "{value}");
        }
        assert_eq!(number(&json!({}), "n"), None);
        let node = json!({"cpu_load": 4_294_967_294_u64, "free_mem": {"set": false, "infinite": false, "number": 0},
            "reason_changed_at": {"set": true, "infinite": false, "number": 1_750_000_000}});
        assert_eq!((number(&node, "cpu_load"), number(&node, "free_mem")), (None, None));
        assert_eq!(number(&node, "reason_changed_at"), number(&json!({"t": 1_750_000_000}), "t"));
    }

    #[test]
    fn strings_and_lists_in_every_shape() {
        let object = json!({"s": "a", "null": null, "list": ["a", "b"], "csv": "a,b", "odd": 7});
        assert_eq!(text(&object, "s").as_deref(), Some("a"));
        assert_eq!(text(&object, "null").as_deref(), Some(""));
        assert_eq!(text(&object, "odd"), None);
        assert_eq!(list(&object, "list").unwrap(), ["a", "b"]);
        assert_eq!(list(&object, "csv").unwrap(), ["a", "b"]);
        assert_eq!(list(&object, "absent").unwrap(), Vec::<String>::new());
        assert_eq!(list(&object, "odd"), None);
    }
}
