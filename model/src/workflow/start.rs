//! What is asked of a device.
//!
//! *Invariant*: what a verb has no use for is a mistake, never dropped: who asks for it believes that
//! it happens.

use serde::{Deserialize, Serialize};

use crate::burn_in::{TestName, check_free_text};
use crate::{DrainReason, Invalid, Verb};

/// A time is at most a year, in seconds.
const YEAR: u32 = 31_536_000;
/// More tests than any catalogue has.
const TESTS: usize = 20;

/// `POST …/devices/{d}/workflows/`, with the request id in the header `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRequest {
    /// What shall be done.
    pub verb: Verb,
    /// Why, in the caller's words; becomes the last part of the mark.
    pub reason: DrainReason,
    /// Adopt: plan and stop there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Go on over what somebody else has closed; for all but drain, which leaves that as it is. Needs
    /// `device-workflow:force`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Adopt and resume: open the node without a burn-in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_burn_in: bool,
    /// Adopt: seconds the adoption may take. Drain and release: seconds the jobs on the node may go on.
    /// Burn-in: seconds until it starts. Unset: the verb's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<u32>,
    /// Drain and release: what is done with the jobs that are there at the deadline. Unset: `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_deadline: Option<AtDeadline>,
    /// Burn-in: which tests of the site's catalogue, by name; none: those of the site's settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Burn-in: a script in place of the tests, where the site allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Burn-in: seconds the script may take; unset: ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_seconds: Option<u32>,
}

/// What is done with the jobs that still hold a node when a drain's time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtDeadline {
    /// Nothing: they run on, and the verb fails with the node closed.
    #[default]
    Fail,
    /// They are cancelled.
    CancelJobs,
}

impl StartRequest {
    /// A request that asks for nothing but the verb.
    #[must_use]
    pub fn new(verb: Verb, reason: DrainReason) -> Self {
        Self {
            verb,
            reason,
            dry_run: false,
            force: false,
            skip_burn_in: false,
            deadline_seconds: None,
            at_deadline: None,
            tests: Vec::new(),
            script: None,
            time_limit_seconds: None,
        }
    }

    /// Every mistake in it.
    #[must_use]
    pub fn mistakes(&self) -> Vec<Invalid> {
        let mut mistakes = self.useless();
        for (field, seconds) in
            [("deadline_seconds", self.deadline_seconds), ("time_limit_seconds", self.time_limit_seconds)]
        {
            if seconds.is_some_and(|s| !(1..=YEAR).contains(&s)) {
                let problem = "is not between a second and a year";
                mistakes.push(Invalid::new(field, problem, "leave it out for the default"));
            }
        }
        mistakes.extend(check_tests(&self.tests).err());
        if let Some(script) = &self.script {
            mistakes.extend(check_free_text(script).err());
            if !self.tests.is_empty() {
                mistakes.push(Invalid::new("script", "came with tests beside it", "send one of the two"));
            }
        }
        if self.script.is_none() && self.time_limit_seconds.is_some() && self.verb == Verb::BurnIn {
            let remedy = "leave it out: each test has its own, or send the script";
            mistakes.push(Invalid::new("time_limit_seconds", "goes with a script alone", remedy));
        }
        mistakes
    }

    /// What was given, and the verb has no use for.
    fn useless(&self) -> Vec<Invalid> {
        use Verb::{Adopt, BurnIn, Drain, Release, Resume};
        let fields: [(&str, bool, &[Verb]); 8] = [
            ("dry_run", self.dry_run, &[Adopt]),
            ("force", self.force, &[Adopt, Release, Resume, BurnIn]),
            ("skip_burn_in", self.skip_burn_in, &[Adopt, Resume]),
            ("deadline_seconds", self.deadline_seconds.is_some(), &[Adopt, Drain, Release, BurnIn]),
            ("at_deadline", self.at_deadline.is_some(), &[Drain, Release]),
            ("tests", !self.tests.is_empty(), &[BurnIn]),
            ("script", self.script.is_some(), &[BurnIn]),
            ("time_limit_seconds", self.time_limit_seconds.is_some(), &[BurnIn]),
        ];
        let useless = |(_, given, verbs): &(&str, bool, &[Verb])| *given && !verbs.contains(&self.verb);
        let mistake = |(field, _, verbs): (&str, bool, &[Verb])| {
            let verbs: Vec<&str> = verbs.iter().map(|v| v.as_str()).collect();
            let remedy = format!("leave it out: it is for {}", verbs.join(", "));
            Invalid::new(field, format!("is not for {}", self.verb.as_str()), remedy)
        };
        fields.into_iter().filter(useless).map(mistake).collect()
    }
}

/// Checks the names of tests, by themselves: which there are is the site's to say.
///
/// # Errors
/// [`Invalid`] names the first that is no name, or stands there twice.
pub fn check_tests(names: &[String]) -> Result<(), Invalid> {
    if names.len() > TESTS {
        let problem = format!("names {} tests", names.len());
        return Err(Invalid::new("tests", problem, format!("name at most {TESTS}")));
    }
    for (position, name) in names.iter().enumerate() {
        let field = format!("tests[{position}]");
        TestName::parse(name).map_err(|e| e.named(&field))?;
        if names[..position].contains(name) {
            return Err(Invalid::new(&field, "is named twice", "name each test once"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(verb: Verb) -> StartRequest {
        StartRequest::new(verb, DrainReason::parse("r").unwrap())
    }

    fn everything(verb: Verb) -> StartRequest {
        StartRequest {
            dry_run: true,
            force: true,
            skip_burn_in: true,
            deadline_seconds: Some(60),
            at_deadline: Some(AtDeadline::CancelJobs),
            script: Some("#!/bin/sh\n".to_owned()),
            time_limit_seconds: Some(60),
            ..start(verb)
        }
    }

    #[test]
    fn what_a_verb_has_no_use_for_is_refused() {
        let refused =
            |verb| -> Vec<String> { everything(verb).mistakes().into_iter().map(|m| m.field).collect() };
        assert_eq!(refused(Verb::Adopt), ["at_deadline", "script", "time_limit_seconds"]);
        assert_eq!(
            refused(Verb::Drain),
            ["dry_run", "force", "skip_burn_in", "script", "time_limit_seconds"]
        );
        assert_eq!(refused(Verb::Release), ["dry_run", "skip_burn_in", "script", "time_limit_seconds"]);
        assert_eq!(
            refused(Verb::Resume),
            ["dry_run", "deadline_seconds", "at_deadline", "script", "time_limit_seconds"]
        );
        assert_eq!(refused(Verb::BurnIn), ["dry_run", "skip_burn_in", "at_deadline"]);
        let tests = StartRequest { tests: vec!["disk".to_owned()], ..start(Verb::Drain) };
        assert_eq!(
            tests.mistakes()[0].to_string(),
            "tests: is not for drain; leave it out: it is for burn_in"
        );
        for verb in [Verb::Adopt, Verb::Release, Verb::Drain, Verb::Resume, Verb::BurnIn] {
            assert!(start(verb).mistakes().is_empty());
        }
    }

    #[test]
    fn values_are_checked_together() {
        let wrong = StartRequest {
            deadline_seconds: Some(0),
            tests: vec!["a b".to_owned()],
            script: Some("echo".to_owned()),
            time_limit_seconds: Some(31_536_001),
            ..start(Verb::BurnIn)
        };
        let fields: Vec<String> = wrong.mistakes().into_iter().map(|m| m.field).collect();
        assert_eq!(fields, ["deadline_seconds", "time_limit_seconds", "tests[0]", "script", "script"]);
        let lonely = StartRequest { time_limit_seconds: Some(60), ..start(Verb::BurnIn) };
        assert_eq!(lonely.mistakes()[0].problem, "goes with a script alone");
    }

    #[test]
    fn names_of_tests_have_bounds() {
        let names: Vec<String> = (0..21).map(|n| format!("t{n}")).collect();
        assert_eq!(check_tests(&names).unwrap_err().problem, "names 21 tests");
        assert!(check_tests(&names[..20]).is_ok());
        assert_eq!(check_tests(&[String::new()]).unwrap_err().field, "tests[0]");
        assert_eq!(check_tests(&["x".repeat(41)]).unwrap_err().field, "tests[0]");
    }
}
