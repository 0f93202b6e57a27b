//! What an ended burn-in job says of its node.

use std::collections::BTreeMap;

use super::Test;
use super::job_script::{COMMENT, NOTHING_TO_SAY, TIME_LIMIT};
use super::test::{Bound, Threshold};

/// The longest key and the longest value that a test can print, in characters.
const MAX_WORD: usize = 40;
/// The longest reason, in characters.
const MAX_REASON: usize = 200;
/// The last signal that is not a real-time one. A job whose folder or output file cannot be opened
/// ends as FAILED with signal 53 (run on 24.11.5 and 26.05.5), and was killed by nobody.
const LAST_SIGNAL: i64 = 31;

/// What is proved of a node. Only `Passed` opens it, only `Failed` blames it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every test ended with 0, and every threshold is met.
    Passed,
    /// A test failed, or the node went away under it.
    Failed,
    /// Neither is proved.
    Unknown,
    /// The job did not start.
    NotRun,
}

impl Verdict {
    /// As it stands in results: `passed`, `failed`, `unknown`, `not_run`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::NotRun => "not_run",
        }
    }
}

/// How SLURM says that the job ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// State and flags, upper-cased.
    pub states: Vec<String>,
    /// The exit code of its script, not the raw wait status.
    pub exit_code: Option<i64>,
    /// The signal that ended it; 0 for none.
    pub signal: Option<i64>,
    /// Its comment, where [`job_script`](super::job_script()) writes what the tests found.
    pub comment: String,
}

/// A verdict and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What is proved.
    pub verdict: Verdict,
    /// Why, for a person: one line of at most 200 printable ASCII characters.
    pub reason: String,
    /// What the chosen tests printed, and their exit codes: `disk.write_mbs` to `120.5`.
    pub values: BTreeMap<String, String>,
}

/// Whether a job with these states will not run again: it has one word for an end, and none that says
/// it runs or waits. `["COMPLETED","COMPLETING"]` has ended, `["RUNNING","COMPLETING"]` has not.
#[must_use]
pub fn has_ended(states: &[String]) -> bool {
    end(states).is_some()
}

/// Judges the job that ran these tests. What is contradictory, missing or not known is
/// [`Verdict::Unknown`].
#[must_use]
pub fn judge(tests: &[&Test], ended: &Ended) -> Judgement {
    let values = values(tests, &ended.comment);
    let (verdict, reason) = match end(&ended.states) {
        Some("COMPLETED") => completed(tests, ended, &values),
        Some("FAILED") => failed(tests, ended, &values),
        Some(word @ ("NODE_FAIL" | "BOOT_FAIL")) => {
            (Verdict::Failed, format!("the node went away under the job ({word}): hardware suspect"))
        }
        Some("OUT_OF_MEMORY") => (Verdict::Failed, "the job ran out of memory".to_owned()),
        Some(word) => (Verdict::Unknown, format!("the job ended as {word}, which says nothing of the node")),
        None => (Verdict::Unknown, format!("the job's state {} is no end of a job", ended.states.join("+"))),
    };
    Judgement { verdict, reason: one_line(&reason), values }
}

/// The one word for how the job ended; none when it has not, or when it has two.
fn end(states: &[String]) -> Option<&'static str> {
    const ENDS: [&str; 10] = [
        "COMPLETED",
        "FAILED",
        "NODE_FAIL",
        "BOOT_FAIL",
        "OUT_OF_MEMORY",
        "TIMEOUT",
        "CANCELLED",
        "PREEMPTED",
        "DEADLINE",
        "REVOKED",
    ];
    /// Those that say that it runs, waits, or will.
    const AGAIN: [&str; 8] = [
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "CONFIGURING",
        "REQUEUED",
        "REQUEUE_HOLD",
        "REQUEUE_FED",
        "SPECIAL_EXIT",
    ];
    let mut ends = ENDS.into_iter().filter(|end| states.iter().any(|s| s == end));
    let again = states.iter().any(|s| AGAIN.contains(&s.as_str()));
    match (ends.next(), ends.next()) {
        (Some(end), None) if !again => Some(end),
        _ => None,
    }
}

fn completed(tests: &[&Test], ended: &Ended, values: &BTreeMap<String, String>) -> (Verdict, String) {
    let unknown = |reason: String| (Verdict::Unknown, reason);
    if ended.exit_code != Some(0) || ended.signal.is_some_and(|s| s != 0) {
        return unknown("the job is COMPLETED without an exit code of 0".to_owned());
    }
    let mut doubt = None;
    for test in tests {
        let name = test.name();
        match values.get(&format!("{name}.exit")).map(String::as_str) {
            Some("0") => {}
            Some(code) => return unknown(format!("the job ended with 0, but {name} with {code}")),
            None => return unknown(format!("the job's comment lacks {name}.exit")),
        }
        for threshold in &test.thresholds {
            match missed(test, threshold, values) {
                None => {}
                Some((Verdict::Failed, reason)) => return (Verdict::Failed, reason),
                Some((_, reason)) => doubt = doubt.or(Some(reason)),
            }
        }
    }
    match doubt {
        Some(reason) => unknown(reason),
        None if tests.is_empty() => unknown("no test was chosen".to_owned()),
        None => {
            let names: Vec<&str> = tests.iter().map(|t| t.name().as_str()).collect();
            (Verdict::Passed, format!("passed: {}", names.join(", ")))
        }
    }
}

fn missed(
    test: &Test,
    threshold: &Threshold,
    values: &BTreeMap<String, String>,
) -> Option<(Verdict, String)> {
    let (name, key) = (test.name(), &threshold.key);
    let Some(text) = values.get(&format!("{name}.{key}")) else {
        return Some((Verdict::Unknown, format!("the job's comment lacks {name}.{key}")));
    };
    let Some(value) = text.parse::<f64>().ok().filter(|n| n.is_finite()) else {
        return Some((Verdict::Unknown, format!("{name}: {key} {text} is no number")));
    };
    let (met, words, number) = match threshold.bound {
        Bound::AtLeast(number) => (value >= number, "below", number),
        Bound::AtMost(number) => (value <= number, "above", number),
    };
    (!met).then(|| (Verdict::Failed, format!("{name}: {key} {text} is {words} {number}")))
}

fn failed(tests: &[&Test], ended: &Ended, values: &BTreeMap<String, String>) -> (Verdict, String) {
    let signal = ended.signal.filter(|s| *s != 0);
    let code = ended.exit_code.filter(|c| *c != 0);
    let who = |code: i64| {
        let with = |t: &&&Test| values.get(&format!("{}.exit", t.name())) == Some(&code.to_string());
        tests.iter().find(with).map_or_else(|| "a test".to_owned(), |t| t.name().to_string())
    };
    match (signal, code) {
        (Some(signal), _) if signal > LAST_SIGNAL => {
            (Verdict::Unknown, format!("SLURM could not start the job's script (signal {signal})"))
        }
        (Some(signal), _) => (Verdict::Failed, format!("the job was killed by signal {signal}")),
        (None, Some(TIME_LIMIT)) => {
            let who = who(TIME_LIMIT);
            (Verdict::Unknown, format!("{who} reached its time limit: a slow check is not a broken node"))
        }
        (None, Some(NOTHING_TO_SAY)) => {
            (Verdict::Unknown, format!("{} could not say (exit code 125)", who(NOTHING_TO_SAY)))
        }
        (None, Some(code)) if (129..=128 + LAST_SIGNAL).contains(&code) => {
            (Verdict::Failed, format!("{} was killed by signal {}", who(code), code - 128))
        }
        (None, Some(code)) => (Verdict::Failed, format!("{} failed with exit code {code}", who(code))),
        (None, None) => (Verdict::Unknown, "the job FAILED without an exit code".to_owned()),
    }
}

/// The pairs of these tests in a comment, which may hold other words too. Of a key that stands there
/// twice the last counts. A comment that is longer than the wrapper's is somebody else's.
fn values(tests: &[&Test], comment: &str) -> BTreeMap<String, String> {
    if comment.trim().len() > COMMENT {
        return BTreeMap::new();
    }
    comment.split([',', ' ']).filter_map(|word| pair(tests, word)).collect()
}

fn pair(tests: &[&Test], word: &str) -> Option<(String, String)> {
    let (place, value) = word.split_once('=')?;
    let (name, key) = place.split_once('.')?;
    let known = tests.iter().any(|t| t.name().as_str() == name);
    let whole = (key == "exit" || is_key(key)) && is_value(value);
    (known && whole).then(|| (place.to_owned(), value.to_owned()))
}

/// Whether a test can print this key. `exit` is the wrapper's own.
pub(super) fn is_key(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'.';
    (1..=MAX_WORD).contains(&text.len()) && text != "exit" && text.bytes().all(allowed)
}

fn is_value(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'.' || b == b'+' || b == b'-';
    (1..=MAX_WORD).contains(&text.len()) && text.bytes().all(allowed)
}

fn one_line(text: &str) -> String {
    let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    text.chars().take(MAX_REASON).map(printable).collect()
}

#[cfg(test)]
mod tests;
