//! One test: its script, how long it may take, and what it must reach.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::TestName;
use crate::Invalid;

/// The largest script of a catalogue, in bytes.
pub(super) const MAX_SCRIPT: usize = 256 * 1024;
/// The largest script that comes with a request, in bytes.
const MAX_FREE_TEXT: usize = 64 * 1024;
/// A day, in seconds: the longest time limit of a test.
pub(super) const MAX_SECONDS: u64 = 86_400;

/// The SHA-256 of a script's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// As `sha256sum` prints it: 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`Invalid`] when it is anything else.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let mut bytes = [0; 32];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(_) => {
                Err(Invalid::new("digest", "is no SHA-256", "write the 64 digits of `sha256sum SCRIPT`"))
            }
        }
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// On which side of its number a value must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The value or more.
    AtLeast(f64),
    /// The value or less.
    AtMost(f64),
}

/// What a number that a test prints must reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The key of the test's line `key=value`.
    pub key: String,
    /// What its value must be.
    pub bound: Bound,
}

/// A test that can be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    pub(super) name: TestName,
    pub(super) digest: Digest,
    pub(super) script: String,
    pub(super) time_limit: Duration,
    pub(super) thresholds: Vec<Threshold>,
}

impl Test {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &TestName {
        &self.name
    }

    /// The SHA-256 of its script.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How long it may run, in whole seconds. Longer says nothing about the node.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        self.time_limit
    }
}

/// The test of a script that came with a request, called `free-text`, without thresholds.
///
/// # Errors
/// [`Invalid`] for `script` (as in a catalogue, but at most 64 KB) or `time_limit` (1 s to a day).
pub fn free_text(script: &str, time_limit: Duration) -> Result<Test, Invalid> {
    check_free_text(script)?;
    if !(1..=MAX_SECONDS).contains(&time_limit.as_secs()) {
        return Err(Invalid::new(
            "time_limit",
            "is no time in which a test can run",
            "give 1 to 86400 seconds",
        ));
    }
    Ok(Test {
        name: TestName::parse("free-text")?,
        digest: Digest::of(script.as_bytes()),
        script: script.to_owned(),
        time_limit: Duration::from_secs(time_limit.as_secs()),
        thresholds: Vec::new(),
    })
}

/// Checks a script that comes with a request, by itself: it is kept in Temporal's history, which must stay
/// small.
///
/// # Errors
/// [`Invalid`] for `script`.
pub fn check_free_text(script: &str) -> Result<(), Invalid> {
    check_script(script.as_bytes(), MAX_FREE_TEXT).map(drop)
}

/// The script as text. slurmctld takes one without `#!` too, and it fails on the node (facts: slurm §6).
pub(super) fn check_script(bytes: &[u8], max: usize) -> Result<String, Invalid> {
    let wrong = |problem: String, remedy: &str| Invalid::new("script", problem, remedy);
    if bytes.is_empty() {
        return Err(wrong("is empty".to_owned(), "write a script that begins with `#!/bin/bash`"));
    }
    if bytes.len() > max {
        let problem = format!("is {} bytes long", bytes.len());
        return Err(wrong(problem, &format!("keep it at {} KB or less", max / 1024)));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        wrong(
            format!("is no UTF-8 from byte {} on", e.valid_up_to()),
            "write it in UTF-8, and encode data as base64",
        )
    })?;
    if text.contains('\0') {
        return Err(wrong("holds a NUL byte".to_owned(), "encode data as base64"));
    }
    if text.contains("\r\n") {
        return Err(wrong(
            "has lines that end with a carriage return".to_owned(),
            "save it with Unix line ends",
        ));
    }
    let interpreter = text.lines().next().and_then(|line| line.strip_prefix("#!")).map(str::trim_start);
    if !interpreter.is_some_and(|path| path.starts_with('/')) {
        return Err(wrong(
            "names no interpreter in its first line".to_owned(),
            "begin it with `#!/bin/bash`",
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(script: &str, seconds: u64) -> String {
        free_text(script, Duration::from_secs(seconds)).unwrap_err().to_string()
    }

    #[test]
    fn a_script_of_a_request_has_an_interpreter_and_a_limit() {
        let test = free_text("#!/bin/sh\nexit 0\n", Duration::from_millis(1500)).unwrap();
        assert_eq!((test.name().as_str(), test.time_limit()), ("free-text", Duration::from_secs(1)));
        assert_eq!(
            test.digest().to_string(),
            "306c6ca7407560340797866e077e053627ad409277d1b9da58106fce4cf717cb"
        );
        let no_interpreter = "script: names no interpreter in its first line; begin it with `#!/bin/bash`";
        for bad in ["echo hello\n", "#!\n/bin/sh\n", "#!bash\n", "\n#!/bin/sh\n"] {
            assert_eq!(refused(bad, 1), no_interpreter, "{bad:?}");
        }
        assert_eq!(
            refused("#!/bin/sh\n", 0),
            "time_limit: is no time in which a test can run; give 1 to 86400 seconds"
        );
        assert_eq!(refused("", 1), "script: is empty; write a script that begins with `#!/bin/bash`");
        assert_eq!(
            refused(&format!("#!/bin/sh\n{}", "#".repeat(64 * 1024)), 1),
            "script: is 65546 bytes long; keep it at 64 KB or less"
        );
        assert!(refused("#!/bin/sh\r\n", 1).starts_with("script: has lines that end with a carriage return"));
        assert!(refused("#!/bin/sh\n\0", 1).starts_with("script: holds a NUL byte"));
    }

    #[test]
    fn a_digest_is_read_as_sha256sum_prints_it() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&digest.to_string()).unwrap(), digest);
        assert_eq!(Digest::parse("ba78").unwrap_err().problem, "is no SHA-256");
    }
}
