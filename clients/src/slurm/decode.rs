//! The envelope of every answer, and the shapes that differ between releases and settings.

use model::NodeName;
use serde_json::Value;

use super::number;
use crate::http::Answer;
use crate::{Kind, excerpt};

/// The `errors` of a body, if it is one of slurmrestd's.
pub(super) fn envelope(answer: &Answer) -> Option<Vec<Value>> {
    let body: Value = serde_json::from_str(&answer.text()).ok()?;
    Some(body.get("errors")?.as_array()?.clone())
}

/// What went wrong, if anything did. The status alone says little (24.11 answers 500 for nearly
/// all); the error number decides, then the status.
pub(super) fn kind(answer: &Answer) -> Option<Kind> {
    let errors = envelope(answer);
    match (answer.status.as_u16(), errors) {
        (200, Some(errors)) if errors.is_empty() => None,
        (200, None) => Some(Kind::Malformed("no `errors` list".to_owned())),
        (_, Some(errors)) if !errors.is_empty() => Some(of_errors(&errors, answer)),
        _ => Some(answer.kind("no reason given")),
    }
}

/// The numbers of its errors, in their order.
pub(super) fn error_numbers(answer: &Answer) -> Vec<i64> {
    envelope(answer).map_or_else(Vec::new, |errors| numbers(&errors))
}

fn numbers(errors: &[Value]) -> Vec<i64> {
    errors.iter().filter_map(|e| e.get("error_number")?.as_i64()).collect()
}

fn of_errors(errors: &[Value], answer: &Answer) -> Kind {
    let numbers = numbers(errors);
    let word = |e: &Value, key| e.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let words: Vec<String> =
        errors.iter().map(|e| format!("{}: {}", word(e, "description"), word(e, "error"))).collect();
    let detail = excerpt(&words.join("; "));
    let has = |n: i64| numbers.contains(&n);
    let no_controller = words.iter().any(|w| w.contains("Unable to contact slurm controller"));
    if has(number::AUTHENTICATION) {
        Kind::Unauthenticated
    } else if no_controller
        || has(number::TIMED_OUT)
        || numbers.iter().any(|n| number::CONTROLLER.contains(n))
    {
        Kind::Unavailable
    } else if has(number::NOT_ALLOWED) {
        Kind::Forbidden(detail)
    } else if has(number::BUSY) {
        Kind::Conflict(detail)
    } else {
        match answer.kind(&detail) {
            // the status of an error that slurmctld named: 24.11 says 500 for all of them
            Kind::Malformed(_) | Kind::Broken(_) => Kind::Rejected(detail),
            other => other,
        }
    }
}

/// The one shape that means "no such node": HTTP 200, no `nodes`, and a single error with number 0
/// that names the very node (facts: slurm §0.6). Anything else is a look-up that failed.
pub(super) fn is_unknown_node(answer: &Answer, name: &NodeName) -> bool {
    let Ok(body) = serde_json::from_str::<Value>(&answer.text()) else { return false };
    let none = body.get("nodes").is_none_or(|n| n.as_array().is_some_and(Vec::is_empty));
    let errors = body.get("errors").and_then(Value::as_array);
    let said = format!("Failure to query node {name}");
    answer.status.as_u16() == 200
        && none
        && errors.is_some_and(|e| {
            e.len() == 1
                && e[0].get("error_number").and_then(Value::as_i64) == Some(0)
                && e[0].get("description").and_then(Value::as_str) == Some(said.as_str())
        })
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

/// A number, from `{set,infinite,number}` or bare; `None` where it is not set, infinite, SLURM's
/// NO_VAL, or absent.
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
    use serde_json::json;

    #[test]
    fn case_b04_numbers_in_every_shape() {
        for (value, expected) in [
            (json!({"set": true, "infinite": false, "number": 1_750_000_000}), Some(1_750_000_000)),
            (json!(1_750_000_000), Some(1_750_000_000)),
            (json!({"set": false, "infinite": false, "number": 0}), None),
            (json!({"set": true, "infinite": true, "number": 0}), None),
            (json!(4_294_967_294_u64), None),
            (json!(null), None),
        ] {
            assert_eq!(number(&json!({"n": value}), "n"), expected, "{value}");
        }
        assert_eq!(number(&json!({}), "n"), None);
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
