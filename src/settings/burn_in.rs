//! `[burn_in]`: what a node must prove, and as whom the proof runs; or that the site asks for none.

use std::path::PathBuf;
use std::time::Duration;

use clients::slurm::Token;
use model::Invalid;
use model::burn_in::{Catalogue, TestName};

use super::section::Section;

/// The keys beside `off`.
const KEYS: [&str; 10] = [
    "catalogue",
    "tests",
    "user",
    "account",
    "qos",
    "partition",
    "token_file",
    "free_text",
    "hold_seconds",
    "start_within_seconds",
];

/// `[burn_in]` of a site that runs one.
#[derive(Debug)]
pub(crate) struct BurnIn {
    /// `catalogue`: the TOML file of the site's tests, their scripts beside it.
    pub(crate) catalogue: Catalogue,
    /// `tests`: those that run where a request names none, in this order; none for all of the catalogue.
    pub(crate) tests: Vec<TestName>,
    /// `user`: as whom the job runs; never root.
    pub(crate) user: String,
    /// `account`: default the user's own.
    pub(crate) account: Option<String>,
    /// `qos`: default the user's or the account's.
    pub(crate) qos: Option<String>,
    /// `partition`: default the one of the highest tier that holds the node.
    pub(crate) partition: Option<String>,
    /// `token_file`: a token of that user, re-read as it is rotated. Without it the token of `[slurm]`
    /// acts as the user, which then must be root's or SlurmUser's.
    pub(crate) token: Option<Token>,
    /// `free_text`: whether a request may bring a script of its own; default false.
    pub(crate) free_text: bool,
    /// `hold_seconds`: how long the job keeps its node when nobody drains it; default 3600.
    pub(crate) hold: Duration,
    /// `start_within_seconds`: how long an opened node waits for the job to start; default 15.
    pub(crate) start_within: Duration,
}

impl BurnIn {
    /// `Some(None)` where the site runs none.
    pub(super) fn read(s: &mut Section<'_>) -> Option<Option<Self>> {
        if s.flag_or("off", false)? {
            for key in KEYS.iter().filter(|key| s.has(key)) {
                s.mistake(key, "does not go with `off = true`", "remove it, or `off`");
            }
            s.ignore(&KEYS);
            return Some(None);
        }
        let catalogue = catalogue(s);
        let tests = s.list_or_empty("tests", TestName::parse).and_then(|tests| match &catalogue {
            Some(catalogue) => s.check("tests", catalogue.choose(&tests).map(|_| tests.clone())),
            None => Some(tests),
        });
        let user = s.parsed("user", user);
        let account = s.optional("account", word);
        let qos = s.optional("qos", word);
        let partition = s.optional("partition", word);
        let token = if s.has("token_file") {
            s.path("token_file").map(|p| Some(Token::in_file(p)))
        } else {
            Some(None)
        };
        let free_text = s.flag_or("free_text", false);
        let hold = s.seconds_or("hold_seconds", 3600);
        let start_within = s.seconds_or("start_within_seconds", 15);
        Some(Some(Self {
            catalogue: catalogue?,
            tests: tests?,
            user: user?,
            account: account?,
            qos: qos?,
            partition: partition?,
            token: token?,
            free_text: free_text?,
            hold: hold?,
            start_within: start_within?,
        }))
    }
}

fn catalogue(s: &mut Section<'_>) -> Option<Catalogue> {
    let path = s.path("catalogue")?;
    let reading = |path: PathBuf| std::fs::read(path).map_err(|e| e.kind().to_string());
    let text = reading(path.clone()).and_then(|b| String::from_utf8(b).map_err(|_| "is no UTF-8".to_owned()));
    let text = match text {
        Ok(text) => text,
        Err(why) => {
            let problem = format!("{} cannot be read: {why}", path.display());
            s.mistake(
                "catalogue",
                &problem,
                "name the site's catalogue of tests, or write burn_in.off = true",
            );
            return None;
        }
    };
    match Catalogue::parse(&text, |script| reading(path.with_file_name(script))) {
        Ok(catalogue) => Some(catalogue),
        Err(mistakes) => {
            for mistake in mistakes {
                let place = format!("catalogue: {}", mistake.field);
                s.mistake_of(&place, mistake);
            }
            None
        }
    }
}

/// A user's name as Linux has it, and upper-case letters and dots as directories have them.
fn user(text: &str) -> Result<String, Invalid> {
    let remedy = "name the site's burn-in user";
    if text == "root" {
        return Err(Invalid::new("user", "is root, as whom no test may run", remedy));
    }
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let later = |c: char| first(c) || c.is_ascii_digit() || c == '-' || c == '.';
    if !text.starts_with(first) || !text.chars().all(later) || text.len() > 32 {
        return Err(Invalid::new("user", "is no name of a user", remedy));
    }
    Ok(text.to_owned())
}

/// A name of SLURM's: an account, a QOS, a partition.
fn word(text: &str) -> Result<String, Invalid> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if text.len() > 64 || !text.chars().all(allowed) {
        let remedy = "use up to 64 letters, digits and `_ - .`";
        return Err(Invalid::new("", "is no single name", remedy));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
