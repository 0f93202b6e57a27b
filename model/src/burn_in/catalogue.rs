//! The tests of a site, from a TOML file beside their scripts.
//!
//! ```toml
//! [[test]]
//! name = "disk"
//! script = "disk.sh"             # beside the catalogue
//! digest = "…"                   # sha256sum disk.sh
//! time_limit_seconds = 300
//! at_least = { write_mbs = 50 }  # of the lines `key=value` that it prints
//! at_most = { errors = 0 }
//! ```

use std::time::Duration;

use toml::{Table, Value};

use super::test::{Bound, Digest, MAX_SCRIPT, MAX_SECONDS, Test, Threshold, check_script};
use super::{TestName, verdict};
use crate::Invalid;

/// The most tests of a catalogue: the exit codes of all fit into the job's comment.
const MAX_TESTS: usize = 16;
/// The most bytes of all scripts. slurmctld took a job's script of 1 MB (facts: slurm §6).
const MAX_TOGETHER: usize = 900 * 1024;

/// The tests that a site may run, in the order of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue(Vec<Test>);

impl Catalogue {
    /// Reads a catalogue; `read` is given the name of a script, a file beside the catalogue, and
    /// answers its bytes or why it cannot.
    ///
    /// # Errors
    /// Every mistake, with the test and its field (`test.disk.digest`; `test[2]` where a test has no
    /// usable name). A digest that is not its script's comes with the right one.
    pub fn parse(text: &str, read: impl Fn(&str) -> Result<Vec<u8>, String>) -> Result<Self, Vec<Invalid>> {
        let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map_or(0, |s| text[..s.start].lines().count().max(1));
            let problem = format!("is not TOML: line {line}: {}", e.message());
            vec![Invalid::new("catalogue", problem, "correct that line")]
        })?;
        let mut mistakes = Vec::new();
        let entries = match table.remove("test") {
            Some(Value::Array(entries)) if !entries.is_empty() => entries,
            _ => {
                mistakes.push(Invalid::new("test", "there is none", "write one as [[test]]"));
                Vec::new()
            }
        };
        left_over("", &table, &mut mistakes);
        let mut tests: Vec<Test> = Vec::new();
        let mut names: Vec<TestName> = Vec::new();
        for (at, entry) in entries.into_iter().enumerate() {
            let table = match entry {
                Value::Table(table) => table,
                _ => Table::new(),
            };
            let mut entry = Entry::new(at + 1, table, &mut mistakes);
            if let Some(name) = entry.name.clone() {
                if names.contains(&name) {
                    entry.wrong::<()>("name", "is the name of an earlier test", "give each its own");
                }
                names.push(name);
            }
            tests.extend(entry.read(&read));
        }
        if tests.len() > MAX_TESTS {
            let problem = format!("there are {}", tests.len());
            mistakes.push(Invalid::new("test", problem, format!("keep {MAX_TESTS} or fewer")));
        }
        let together: usize = tests.iter().map(|t| t.script.len()).sum();
        if together > MAX_TOGETHER {
            let problem = format!("the scripts are {together} bytes together");
            let remedy = format!("one job runs them all: keep {} KB or less", MAX_TOGETHER / 1024);
            mistakes.push(Invalid::new("test", problem, remedy));
        }
        if mistakes.is_empty() { Ok(Self(tests)) } else { Err(mistakes) }
    }

    /// These tests in the order asked for; all in the file's order where none is named.
    ///
    /// # Errors
    /// [`Invalid`] for `tests` when a name is unknown (with those that are known) or named twice.
    pub fn choose(&self, names: &[TestName]) -> Result<Vec<&Test>, Invalid> {
        if names.is_empty() {
            return Ok(self.0.iter().collect());
        }
        let mut chosen: Vec<&Test> = Vec::new();
        for name in names {
            if chosen.iter().any(|t| t.name == *name) {
                return Err(Invalid::new("tests", format!("names {name} twice"), "name it once"));
            }
            let Some(test) = self.0.iter().find(|t| t.name == *name) else {
                let known: Vec<&str> = self.0.iter().map(|t| t.name.as_str()).collect();
                let remedy = format!("the site's catalogue has {}", known.join(", "));
                return Err(Invalid::new("tests", format!("{name} is not in the catalogue"), remedy));
            };
            chosen.push(test);
        }
        Ok(chosen)
    }
}

/// One `[[test]]` that is being read; every reader takes its key out.
struct Entry<'a> {
    prefix: String,
    name: Option<TestName>,
    table: Table,
    mistakes: &'a mut Vec<Invalid>,
}

impl<'a> Entry<'a> {
    /// The test at `place`, counted from 1. Its mistakes carry its name once that is known.
    fn new(place: usize, mut table: Table, mistakes: &'a mut Vec<Invalid>) -> Self {
        let prefix = format!("test[{place}].");
        let name = match table.remove("name") {
            Some(Value::String(text)) => TestName::parse(&text),
            _ => Err(Invalid::new("name", "is missing, or is not a text", "write name = \"…\"")),
        };
        match name {
            Ok(name) => Self { prefix: format!("test.{name}."), name: Some(name), table, mistakes },
            Err(e) => {
                mistakes.push(e.named(&format!("{prefix}name")));
                Self { prefix, name: None, table, mistakes }
            }
        }
    }

    fn read(mut self, read: &impl Fn(&str) -> Result<Vec<u8>, String>) -> Option<Test> {
        let bytes = self.bytes(read);
        let script = bytes.as_ref().and_then(|bytes| match check_script(bytes, MAX_SCRIPT) {
            Ok(script) => Some(script),
            Err(e) => self.wrong("script", e.problem, e.remedy),
        });
        let digest = self.digest(bytes.as_deref());
        let time_limit = match self.table.remove("time_limit_seconds") {
            Some(Value::Integer(n)) if n > 0 && n.unsigned_abs() <= MAX_SECONDS => {
                Some(Duration::from_secs(n.unsigned_abs()))
            }
            _ => {
                let remedy = "write a whole number from 1 to 86400";
                self.wrong("time_limit_seconds", "is missing, or no number of seconds", remedy)
            }
        };
        let mut thresholds = self.thresholds("at_least", Bound::AtLeast);
        thresholds.extend(self.thresholds("at_most", Bound::AtMost));
        left_over(&self.prefix, &self.table, self.mistakes);
        Some(Test { name: self.name?, digest: digest?, script: script?, time_limit: time_limit?, thresholds })
    }

    fn bytes(&mut self, read: &impl Fn(&str) -> Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        const REMEDY: &str = "name a file beside the catalogue";
        match self.table.remove("script") {
            Some(Value::String(file)) if !file.is_empty() && !file.contains('/') => match read(&file) {
                Ok(bytes) => Some(bytes),
                Err(why) => self.wrong("script", format!("cannot be read: {why}"), REMEDY),
            },
            _ => self.wrong("script", "is missing, or is no name of a file", REMEDY),
        }
    }

    /// The digest, if it is that of the script's bytes.
    fn digest(&mut self, bytes: Option<&[u8]>) -> Option<Digest> {
        let stated = match self.table.remove("digest") {
            Some(Value::String(text)) => Digest::parse(&text).ok(),
            _ => None,
        };
        let actual = Digest::of(bytes?);
        match stated {
            Some(stated) if stated == actual => Some(stated),
            Some(_) => {
                let remedy = format!("look at what changed in the script, then write digest = \"{actual}\"");
                self.wrong("digest", "is that of another script", remedy)
            }
            None => {
                let remedy = format!("write digest = \"{actual}\"");
                self.wrong("digest", "is missing, or is no SHA-256", remedy)
            }
        }
    }

    fn thresholds(&mut self, field: &str, bound: fn(f64) -> Bound) -> Vec<Threshold> {
        let table = match self.table.remove(field) {
            None => return Vec::new(),
            Some(Value::Table(table)) => table,
            Some(_) => {
                self.wrong::<()>(field, "is no table", format!("write {field} = {{ key = 1 }}"));
                return Vec::new();
            }
        };
        let mut thresholds = Vec::new();
        for (key, value) in table {
            let number = match value {
                #[expect(clippy::cast_precision_loss, reason = "a threshold is no larger than that")]
                Value::Integer(n) => Some(n as f64),
                Value::Float(n) if n.is_finite() => Some(n),
                _ => None,
            };
            let place = format!("{field}.{key}");
            if !verdict::is_key(&key) {
                let remedy = "use 1 to 40 lower-case letters, digits, `_` and `.`; `exit` is taken";
                self.wrong::<()>(&place, "is no key that a test can print", remedy);
            }
            match number {
                Some(number) => thresholds.push(Threshold { key, bound: bound(number) }),
                None => {
                    self.wrong::<()>(&place, "is no number", "write a number");
                }
            }
        }
        thresholds
    }

    fn wrong<T>(&mut self, field: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.mistakes.push(Invalid::new(&format!("{}{field}", self.prefix), problem, remedy));
        None
    }
}

/// What nobody has taken is a typing error.
fn left_over(prefix: &str, table: &Table, mistakes: &mut Vec<Invalid>) {
    for key in table.keys() {
        let field = format!("{prefix}{key}");
        mistakes.push(Invalid::new(
            &field,
            "is not a field of a catalogue",
            "remove it, or correct its name",
        ));
    }
}

#[cfg(test)]
mod tests;
