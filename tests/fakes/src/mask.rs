//! What a log must not hold: secrets, and ids that differ from run to run.
//!
//! *Invariant*: a body is masked before it is kept; nothing keeps the raw one.

use serde_json::{Map, Value};

/// Keys whose value is never kept.
const SECRET: [&str; 6] = ["password", "adminPass", "user_data", "secret", "token", "client_secret"];

/// The body as it may be kept: none where there is none, its length where it is not JSON.
pub(crate) fn body(bytes: &[u8]) -> Option<Value> {
    if bytes.is_empty() {
        return None;
    }
    match serde_json::from_slice(bytes) {
        Ok(body) => Some(masked(body)),
        Err(_) => Some(Value::String(format!("<{} bytes>", bytes.len()))),
    }
}

fn masked(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mask = |(key, value): (String, Value)| {
                let value = match value {
                    // a token to authenticate with: {"token": {"id": …}}
                    Value::Object(inner) if key == "token" => Value::Object(without_id(inner)),
                    Value::Null => Value::Null,
                    Value::Object(_) | Value::Array(_) => masked(value),
                    _ if SECRET.contains(&key.as_str()) => Value::String(format!("<{key}>")),
                    value => value,
                };
                (key, value)
            };
            Value::Object(object.into_iter().map(mask).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(masked).collect()),
        value => value,
    }
}

fn without_id(object: Map<String, Value>) -> Map<String, Value> {
    let mask = |(key, value): (String, Value)| {
        let value = if key == "id" { Value::String("<token>".to_owned()) } else { masked(value) };
        (key, value)
    };
    object.into_iter().map(mask).collect()
}

/// The text with each UUID replaced by `<id-1>`, `<id-2>` … in the order of first appearance.
pub(crate) fn normalised(text: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let inside = out.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
        match uuid_at(rest) {
            Some(uuid) if !inside => {
                let at = seen.iter().position(|s| s == uuid).unwrap_or_else(|| {
                    seen.push(uuid.to_owned());
                    seen.len() - 1
                });
                out.push_str(&format!("<id-{}>", at + 1));
                rest = &rest[uuid.len()..];
            }
            _ => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// The UUID with hyphens that `text` begins with.
fn uuid_at(text: &str) -> Option<&str> {
    const LENGTH: usize = 36;
    let head = text.get(..LENGTH)?;
    let ends = text[LENGTH..].chars().next().is_none_or(|c| !c.is_ascii_alphanumeric());
    let fits = |(at, c): (usize, char)| match at {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    };
    (ends && head.char_indices().all(fits)).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_go_wherever_they_stand() {
        let raw = json!({"auth": {"identity": {"password": {"user": {"name": "u", "password": "p"}}}},
                         "server": {"name": "n", "user_data": "I2Nsb3Vk"}, "token": {"id": "t"}});
        let expected = json!({"auth": {"identity": {"password": {"user": {"name": "u", "password": "<password>"}}}},
                              "server": {"name": "n", "user_data": "<user_data>"}, "token": {"id": "<token>"}});
        assert_eq!(body(raw.to_string().as_bytes()), Some(expected));
        assert_eq!(body(b""), None);
        assert_eq!(body(b"a secret"), Some(json!("<8 bytes>")));
    }

    #[test]
    fn the_same_id_has_the_same_name() {
        let (a, b) = ("8414bf5f-25c8-4dba-a4ae-326e2d8f2345", "9b3cd39e-bb80-409b-9261-44ac6ae598b8");
        let text = format!("/servers/{a}?marker={b}\n{a} x{a}");
        assert_eq!(normalised(&text), format!("/servers/<id-1>?marker=<id-2>\n<id-1> x{a}"));
    }
}
