//! Values as Python prints them, which is how Nova's schema errors quote what they were sent.

use serde_json::Value;

/// `str(value)`.
pub(crate) fn str(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => repr(value),
    }
}

/// `repr(value)`.
pub(crate) fn repr(value: &Value) -> String {
    let join = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", join(items.iter().map(repr).collect())),
        Value::Object(object) => {
            let pair = |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), repr(value));
            format!("{{{}}}", join(object.iter().map(pair).collect()))
        }
    }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn as_nova_quotes() {
        assert_eq!(repr(&json!({"a": [null, true, 1, "x\n"]})), r"{'a': [None, True, 1, 'x\n']}");
        assert_eq!(str(&json!("#cloud-config\n")), "#cloud-config\n");
        assert_eq!(repr(&json!("it's")), "\"it's\"");
    }
}
