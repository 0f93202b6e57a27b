//! A burn-in's request: tests by name, or a script in their place.

use std::time::Duration;

use model::burn_in::check_free_text;
use model::{Invalid, Verb, check_tests};

use super::{Lifecycle, lifecycle, time};
use crate::v1::BurnInRequest;

/// How long a burn-in may take until it starts, where the request does not say.
const DEADLINE: Duration = Duration::from_secs(2 * 60 * 60);
/// How long a script may take, where the request does not say.
const TIME_LIMIT: Duration = Duration::from_secs(10 * 60);

/// What a burn-in is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BurnIn {
    /// Of which device, by whom, and why.
    pub asked: Lifecycle,
    /// Which tests of the site's catalogue, by name; none: those that the site's settings name.
    pub tests: Vec<String>,
    /// A script in place of the tests.
    pub script: Option<ScriptRun>,
    /// How long it may take until it starts: a second to a year.
    pub deadline: Duration,
}

/// A script that came with the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    /// Its text; the first line names its interpreter.
    pub text: String,
    /// How long it may take: a second to a year.
    pub time_limit: Duration,
}

impl BurnInRequest {
    /// Parses the request.
    ///
    /// # Errors
    /// [`Invalid`] names the first field that is wrong.
    pub fn parse(&self) -> Result<BurnIn, Invalid> {
        let common = [&self.request_id, &self.site, &self.device_id, &self.actor, &self.reason];
        let asked = lifecycle(Verb::BurnIn, common)?;
        let deadline = time("deadline", self.deadline.as_ref())?.unwrap_or(DEADLINE);
        let time_limit = time("time_limit", self.time_limit.as_ref())?;
        check_tests(&self.tests)?;
        if self.script.is_empty() {
            return match time_limit {
                Some(_) => Err(Invalid::new(
                    "time_limit",
                    "goes with a script alone",
                    "leave it out: each test has its own, or send the script",
                )),
                None => Ok(BurnIn { asked, tests: self.tests.clone(), script: None, deadline }),
            };
        }
        check_free_text(&self.script)?;
        if !self.tests.is_empty() {
            return Err(Invalid::new("script", "came with tests beside it", "send one of the two"));
        }
        let script = ScriptRun { text: self.script.clone(), time_limit: time_limit.unwrap_or(TIME_LIMIT) };
        Ok(BurnIn { asked, tests: Vec::new(), script: Some(script), deadline })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#!/bin/sh\nexit 0\n";

    fn request() -> BurnInRequest {
        BurnInRequest {
            request_id: "r-1".to_owned(),
            site: "lab".to_owned(),
            device_id: "d-1".to_owned(),
            actor: "ada".to_owned(),
            reason: "new fan".to_owned(),
            ..BurnInRequest::default()
        }
    }

    fn seconds(seconds: i64) -> Option<pbjson_types::Duration> {
        Some(pbjson_types::Duration { seconds, nanos: 0 })
    }

    #[test]
    fn tests_by_name_or_none_or_a_script() {
        let parsed = request().parse().unwrap();
        assert_eq!((parsed.tests, parsed.script, parsed.deadline), (vec![], None, DEADLINE));
        let named = BurnInRequest { tests: vec!["gpus".to_owned(), "disk".to_owned()], ..request() };
        assert_eq!(named.parse().unwrap().tests, ["gpus", "disk"]);
        let script =
            BurnInRequest { script: SCRIPT.to_owned(), ..request() }.parse().unwrap().script.unwrap();
        assert_eq!((script.text.as_str(), script.time_limit), (SCRIPT, Duration::from_secs(600)));
        let timed = BurnInRequest { script: SCRIPT.to_owned(), time_limit: seconds(30), ..request() };
        assert_eq!(timed.parse().unwrap().script.unwrap().time_limit, Duration::from_secs(30));
    }

    #[test]
    fn each_mistake_names_its_field_and_what_to_do() {
        let script = |text: &str| BurnInRequest { script: text.to_owned(), ..request() };
        let tests = |names: &[&str]| BurnInRequest {
            tests: names.iter().map(|&n| n.to_owned()).collect(),
            ..request()
        };
        for (request, said) in [
            (
                script("exit 0\n"),
                "script: names no interpreter in its first line; begin it with `#!/bin/bash`",
            ),
            (
                BurnInRequest { time_limit: seconds(0), ..script(SCRIPT) },
                "time_limit: is not between a second and a year; leave it out for the default",
            ),
            (
                BurnInRequest { time_limit: seconds(60), ..request() },
                "time_limit: goes with a script alone; leave it out: each test has its own, or send the script",
            ),
            (
                BurnInRequest { tests: vec!["disk".to_owned()], ..script(SCRIPT) },
                "script: came with tests beside it; send one of the two",
            ),
            (
                tests(&["disk", "Disk"]),
                "tests[1] (position 0): holds a character that is not allowed; use 1 to 40 lower-case letters, digits and `-`",
            ),
            (tests(&["disk", "disk"]), "tests[1]: is named twice; name each test once"),
            (
                BurnInRequest { deadline: seconds(-1), ..request() },
                "deadline: is not between a second and a year; leave it out for the default",
            ),
            (
                BurnInRequest { actor: String::new(), ..request() },
                "actor: is empty; use 1 to 64 letters, digits and `-`, `_`, `.`, `@`",
            ),
        ] {
            assert_eq!(request.parse().unwrap_err().to_string(), said);
        }
    }
}
