//! Looks for secrets where none may be.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sandbox::Process;
use serde_json::Value;

use crate::adopt_real::world::World;

/// Named secrets.
pub(crate) struct Secrets(Vec<(String, String)>);

impl Secrets {
    pub(crate) fn new(secrets: &[(&str, &str)]) -> Self {
        for (name, secret) in secrets {
            assert!(secret.len() >= 12, "{name} is too short to be looked for");
        }
        Self(secrets.iter().map(|(n, s)| ((*n).to_owned(), (*s).to_owned())).collect())
    }

    /// Fails when a secret is in this text, whole or its first 40 characters, or when the text
    /// holds anything that looks like a JWT or a private key.
    pub(crate) fn assert_absent(&self, place: &str, text: &str) {
        for (name, secret) in &self.0 {
            let start = &secret[..secret.len().min(40)];
            assert!(!text.contains(start), "{place} holds {name}");
        }
        assert!(!text.contains("PRIVATE KEY-----"), "{place} holds a private key");
        let jwt = text.match_indices("eyJ").find(|(at, _)| {
            let word: String =
                text[*at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).collect();
            word.split('.').count() == 3
                && URL_SAFE_NO_PAD.decode(word.split('.').next().unwrap_or("")).is_ok()
        });
        assert!(jwt.is_none(), "{place} holds a JWT");
    }

    /// The same for every string of a JSON document, as it is and decoded from base64: that is how
    /// payloads stand in a history.
    pub(crate) fn assert_absent_in_json(&self, place: &str, json: &Value) {
        match json {
            Value::String(text) => {
                self.assert_absent(place, text);
                if let Ok(raw) = STANDARD.decode(text) {
                    self.assert_absent(place, &String::from_utf8_lossy(&raw));
                }
            }
            Value::Array(items) => items.iter().for_each(|i| self.assert_absent_in_json(place, i)),
            Value::Object(fields) => fields.values().for_each(|v| self.assert_absent_in_json(place, v)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Fails when a text holds a run of 43 characters of base64: 256 bits, as the hub's access tokens are.
fn assert_no_token(place: &str, text: &str) {
    let encoded = |c: char| c.is_ascii_alphanumeric() || "_+=-".contains(c);
    let word = text.split(|c| !encoded(c)).find(|w| w.len() >= 43);
    assert!(word.is_none(), "{place} holds what looks like a token");
}

/// Fails when a secret is in any history of Temporal's or any log.
pub(crate) fn nothing_secret(world: &World, secrets: &Secrets, worker: &Process) {
    let histories = world.temporal.histories().unwrap();
    assert!(!histories.is_empty());
    for (place, history) in &histories {
        secrets.assert_absent_in_json(place, history);
    }
    let logs = [
        ("the worker's log", worker.text()),
        ("the hub's log", world.hub.process.text()),
        ("Temporal's log", world.temporal.process.text()),
    ];
    assert!(
        logs[0].1.contains("worker runs") && logs[1].1.contains("fleet-hub listens"),
        "the logs are not those"
    );
    for (place, log) in logs {
        secrets.assert_absent(place, &log);
        assert_no_token(place, &log);
    }
}

#[test]
fn the_scan_finds_what_it_looks_for() {
    let secrets = Secrets::new(&[("password", "correct-horse-battery")]);
    let found =
        |json: Value| std::panic::catch_unwind(|| secrets.assert_absent_in_json("here", &json)).is_err();
    let payload = STANDARD.encode(r#"{"password":"correct-horse-battery"}"#);
    assert!(found(serde_json::json!({"a": [{"data": payload}]})));
    assert!(found(serde_json::json!("x correct-horse-battery y")));
    let part = |s: &str| URL_SAFE_NO_PAD.encode(s);
    assert!(found(serde_json::json!(format!("token {}.{}.c2ln", part("{\"alg\":1}"), part("{}")))));
    assert!(
        std::panic::catch_unwind(|| assert_no_token("here", &format!("a {} b", "x".repeat(43)))).is_err()
    );
    assert_no_token("here", "run 01a22bcc-e60b-7c91-a9e4-2dca507c3e1e");
    assert!(!found(serde_json::json!({"a": ["nothing", 1, null, "eyJust text"]})));
}
