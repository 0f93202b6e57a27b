//! What slurmrestd writes when it was started with `+complex` (26.05.5, measured): bare numbers, null for what is
//! not set, the string `Infinity`, and null for most empty texts.

use serde_json::{Value, json};

/// Texts that stay empty, and lists that become null when they are.
const TEXTS: [&str; 2] = ["owner", "reason_set_by_user"];
const LISTS: [&str; 1] = ["shared"];

/// What of a partition becomes null whatever it is.
const UNSAID: [&str; 5] = [
    "/defaults/memory_per_cpu",
    "/maximums/memory_per_cpu",
    "/maximums/oversubscribe/flags",
    "/maximums/oversubscribe/jobs",
    "/maximums/shares",
];

/// A partition, without what is not said of it.
pub(super) fn unsaid(partition: &mut Value) {
    for path in UNSAID {
        if let Some(value) = partition.pointer_mut(path) {
            *value = Value::Null;
        }
    }
}

/// The same, its numbers and empty texts so.
pub(super) fn written(body: Value) -> Value {
    match body {
        Value::Object(object) => {
            if let (Some(Value::Bool(set)), Some(Value::Bool(infinite)), Some(number)) =
                (object.get("set"), object.get("infinite"), object.get("number"))
            {
                return match (set, infinite) {
                    (_, true) => json!("Infinity"),
                    (false, _) => Value::Null,
                    (true, _) => number.clone(),
                };
            }
            object.into_iter().map(|(key, value)| (key.clone(), field(&key, value))).collect()
        }
        Value::Array(items) => items.into_iter().map(written).collect(),
        other => other,
    }
}

fn field(key: &str, value: Value) -> Value {
    let empty = match &value {
        Value::String(text) => text.is_empty() && !TEXTS.contains(&key),
        Value::Array(items) => items.is_empty() && LISTS.contains(&key),
        _ => false,
    };
    if empty { Value::Null } else { written(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts() {
        let body = json!({
            "a": {"set": true, "infinite": false, "number": 7},
            "b": {"set": false, "infinite": true, "number": 0},
            "c": [{"d": {"set": false, "infinite": false, "number": 0}, "e": "", "owner": ""}],
            "shared": [],
        });
        let expected =
            json!({"a": 7, "b": "Infinity", "c": [{"d": null, "e": null, "owner": ""}], "shared": null});
        assert_eq!(written(body), expected);
    }
}
