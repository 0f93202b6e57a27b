//! The one error of every client.

use std::time::Duration;

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// slurmrestd, and slurmctld behind it.
    Slurm,
    /// Keystone.
    Keystone,
    /// Glance.
    Glance,
    /// Nova.
    Nova,
    /// The hub.
    Hub,
}

impl Service {
    /// The name in messages and metric labels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slurm => "slurm",
            Self::Keystone => "keystone",
            Self::Glance => "glance",
            Self::Nova => "nova",
            Self::Hub => "hub",
        }
    }
}

/// What kind of failure it was. Whether it is worth a retry is decided in one place,
/// `activities::failure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// No connection.
    Unreachable,
    /// No answer in time: a write may have happened.
    Timeout,
    /// Told to wait, for so long where it was said.
    Throttled(Option<Duration>),
    /// It answered that it, or what is behind it, is not there: a write may have happened.
    Unavailable,
    /// The token or assertion was refused, also when it was new.
    Unauthenticated,
    /// Known, and not allowed.
    Forbidden(String),
    /// Something else is being done to the same thing, or it is not in a state for this.
    Conflict(String),
    /// Somebody has locked the thing against changes.
    Locked(String),
    /// Refused for what was asked, in the service's words, cut and masked.
    Rejected(String),
    /// Its release cannot do what was asked; a newer one can.
    TooOld(String),
    /// It speaks none of the API versions that we speak.
    Unspoken(String),
    /// It failed by itself (5xx): a write may have happened.
    Broken(String),
    /// It answered something that cannot be read as what it should be.
    Malformed(String),
    /// What we would have to send cannot be made: a key or token that cannot be read.
    Secret(String),
}

/// A call that brought no answer to its question.
#[derive(Debug, thiserror::Error)]
#[error("{} {operation}: {}{}", .service.as_str(), describe(.kind), .status.map(|s| format!(" (HTTP {s})")).unwrap_or_default())]
pub struct Error {
    /// Who was asked.
    pub service: Service,
    /// For what, such as `get node`.
    pub operation: &'static str,
    /// What kind of failure.
    pub kind: Kind,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// The service's own id of the request, where it gave one.
    pub request_id: Option<String>,
    /// What lies beneath. Goes to the log, never into a message.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error without an answer.
    #[must_use]
    pub fn new(service: Service, operation: &'static str, kind: Kind) -> Self {
        Self { service, operation, kind, status: None, request_id: None, source: None }
    }

    /// The same, caused by `source`.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Whether a write that ended so may have happened all the same: look before repeating it.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        match self.kind {
            Kind::Timeout | Kind::Unavailable | Kind::Broken(_) | Kind::Malformed(_) => true,
            // the connection may have broken after the request was sent
            Kind::Unreachable => true,
            Kind::Throttled(_)
            | Kind::Unauthenticated
            | Kind::Forbidden(_)
            | Kind::Conflict(_)
            | Kind::Locked(_)
            | Kind::Rejected(_)
            | Kind::TooOld(_)
            | Kind::Unspoken(_)
            | Kind::Secret(_) => false,
        }
    }
}

fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Unreachable => "cannot be reached".to_owned(),
        Kind::Timeout => "no answer in time".to_owned(),
        Kind::Throttled(_) => "asked to slow down".to_owned(),
        Kind::Unavailable => "not available".to_owned(),
        Kind::Unauthenticated => "token refused".to_owned(),
        Kind::Forbidden(detail) => format!("not allowed: {detail}"),
        Kind::Conflict(detail) => format!("conflict: {detail}"),
        Kind::Locked(detail) => format!("locked: {detail}"),
        Kind::Rejected(detail) => format!("refused: {detail}"),
        Kind::TooOld(detail) => format!("its release is too old: {detail}"),
        Kind::Unspoken(detail) => format!("no API version in common: {detail}"),
        Kind::Broken(detail) => format!("failed: {detail}"),
        Kind::Malformed(detail) => format!("unreadable answer: {detail}"),
        Kind::Secret(detail) => detail.clone(),
    }
}

/// The longest excerpt, in characters.
const EXCERPT: usize = 200;
/// The shortest run of base64 characters that is taken for a secret: 18 bytes of user-data.
const MASKED_RUN: usize = 24;

/// A service's words made fit for a message: one line, at most 200 characters, every long run of
/// base64 masked. Nova's validation errors echo the whole user-data (facts: openstack §3).
#[must_use]
pub fn excerpt(text: &str) -> String {
    let encoded = |c: char| c.is_ascii_alphanumeric() || "+/=_".contains(c);
    let mut out = String::new();
    let mut run = String::new();
    for c in text.chars().chain(std::iter::once('\0')) {
        if encoded(c) {
            run.push(c);
            continue;
        }
        if run.len() >= MASKED_RUN {
            out.push_str("[masked]");
        } else {
            out.push_str(&run);
        }
        run.clear();
        match c {
            '\0' => {}
            c if c.is_control() || c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
        if out.chars().count() > EXCERPT {
            break;
        }
    }
    if out.chars().count() > EXCERPT {
        out = out.chars().take(EXCERPT).collect::<String>() + "…";
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn novas_echo_of_user_data_is_masked() {
        let echo = format!("Invalid input for user_data. Value: {}. is not a base64", "QUJD".repeat(3000));
        assert_eq!(excerpt(&echo), "Invalid input for user_data. Value: [masked]. is not a base64");
    }

    #[test]
    fn a_token_is_masked_and_lines_become_one() {
        let jwt = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
        assert_eq!(excerpt(&format!("a\nb {jwt}.{jwt} c")), "a b [masked].[masked] c");
        assert_eq!(excerpt(&"word ".repeat(100)).chars().count(), 201);
    }

    #[test]
    fn an_error_says_who_what_and_status_but_not_its_source() {
        let mut error = Error::new(Service::Nova, "create server", Kind::Rejected("no".to_owned()))
            .because(std::io::Error::other("secret"));
        error.status = Some(400);
        assert_eq!(error.to_string(), "nova create server: refused: no (HTTP 400)");
    }
}
