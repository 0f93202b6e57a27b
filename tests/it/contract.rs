//! One contract suite, two subjects: what our clients count on, asked of the fakes and of the real ones.
//!
//! Where the two differ the fake is mended, never the suite. A suite goes on after a difference, and
//! tells all of them at its end: starting the real ones costs a minute.
//!
//! *Invariant*: a suite does not know which subject it has. What only one can do (let a second pass,
//! start a node, make a machine slow) is its subject's.

mod openstack;
mod slurm;

use std::fmt::Debug;
use std::sync::Mutex;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

/// An answer, whatever it is.
#[derive(Debug)]
struct Got {
    status: u16,
    text: String,
    /// `x-subject-token`, of Keystone.
    subject: String,
}

impl Got {
    async fn of(request: RequestBuilder) -> Self {
        let answer = request.send().await.unwrap();
        let header = |name| answer.headers().get(name).map_or("", |v| v.to_str().unwrap()).to_owned();
        let (status, subject) = (answer.status().as_u16(), header("x-subject-token"));
        Self { status, subject, text: answer.text().await.unwrap() }
    }

    /// The body; null when it is no JSON.
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The status, and the numbers of slurmrestd's errors, which 22.05 gives under three names; none of these
    /// when it lists none at all.
    fn errors(&self) -> (u16, Option<Vec<i64>>) {
        let keys = ["error_number", "errno", "error_code"];
        let number = |e: &Value| keys.iter().find_map(|key| e[key].as_i64()).unwrap_or(-1);
        (self.status, self.json()["errors"].as_array().map(|errors| errors.iter().map(number).collect()))
    }

    /// The status, and whether an error of OpenStack's own says this.
    fn says(&self, words: &str) -> (u16, bool) {
        let body = self.json();
        let inner = body.as_object().and_then(|b| b.values().find_map(|v| v.get("message")));
        let message = body.get("message").or(inner).and_then(Value::as_str).unwrap_or_default().to_owned();
        (self.status, message.contains(words))
    }
}

/// What was not as expected.
#[derive(Debug, Default)]
struct Findings(Mutex<Vec<String>>);

impl Findings {
    fn add(&self, finding: String) {
        self.0.lock().unwrap().push(finding);
    }

    /// Notes a difference and goes on.
    fn same<T: PartialEq + Debug>(&self, what: &str, seen: &T, expected: &T) {
        if seen != expected {
            self.add(format!("{what}: {seen:?}, not {expected:?}"));
        }
    }

    /// As [`Self::same`], of an answer, which is shown.
    fn answer<T: PartialEq + Debug>(&self, what: &str, got: &Got, seen: &T, expected: &T) {
        if seen != expected {
            self.add(format!("{what}: {seen:?}, not {expected:?}: {} {}", got.status, got.text));
        }
    }

    /// Each field is there, and of its type.
    fn shape(&self, what: &str, object: &Value, fields: &[(&str, &str)]) {
        for (path, expected) in fields {
            let value = path.split('/').try_fold(object, |o, key| o.get(key));
            self.same(&format!("{what}, type of {path}"), &value.map_or("absent", kind), expected);
        }
    }

    /// Every key of the object, and its type, is as in the snapshot, which both subjects share.
    fn whole(&self, name: &str, object: &Value) {
        let shape = shape(object);
        let told = std::panic::catch_unwind(|| insta::assert_yaml_snapshot!(name, shape));
        if told.is_err() {
            self.add(format!("the shape of {name} is another one: {object}"));
        }
    }

    /// Fails with all of them, if there are any, also when the suite itself could not go on.
    fn tell(self, ended: std::thread::Result<()>) {
        let found = self.0.into_inner().unwrap();
        let all = format!("{} differences:\n{}", found.len(), found.join("\n"));
        if let Err(panic) = ended {
            crate::wait::say(&all);
            std::panic::resume_unwind(panic);
        }
        assert!(found.is_empty(), "{all}");
    }
}

/// The types of everything in it, by key.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
        Value::Array(items) if items.iter().any(Value::is_object) => json!([shape(&items[0])]),
        other => json!(kind(other)),
    }
}

/// The JSON type of a value; of a list of strings that it is one.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(items) if items.iter().all(Value::is_string) => "strings",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}
