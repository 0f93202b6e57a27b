//! The grammar of our marks, and whose a closed node is.
//!
//! On a node: the drain reason `fleet:<verb> <request>: <who>: <why>` and the claim
//! `fleet:<request>` in its `extra`, which also holds the id of the request's burn-in job,
//! `fleet:<request> job <id>`, from before it may start on. A node that registers closed carries `fleet:registering`
//! until its adoption has marked it. On an open node `fleet:opened` stands where SLURM would
//! otherwise keep an old mark for ever.

use serde::{Deserialize, Serialize};

use crate::{Actor, Invalid, RequestId};

/// What every mark starts with.
const PREFIX: &str = "fleet:";
/// The reason with which a node registers closed (`fleet_slurm_conf`).
const REGISTERING: &str = "fleet:registering";
/// What takes the place of our mark on an open node. It says nothing of one that is closed later:
/// there it is somebody's who gave no reason.
const OPENED: &str = "fleet:opened";
/// What slurmctld adds to the reason of a node that goes away: 24.11 to any that it kept, 26.05 to
/// that of a closed one (run on both).
const WENT_AWAY: &str = " : Not responding";
/// SLURM stores megabytes and returns them in every list (facts: slurm §4).
const MAX_WHY: usize = 100;

/// Why a node is closed, in a person's words: one printable line, at most 100 characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DrainReason(String);

impl DrainReason {
    /// Checks and keeps `text`.
    ///
    /// # Errors
    /// [`Invalid`] when it is empty, longer than 100 characters, or not printable on one line.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let remedy = "give one line of 1 to 100 printable ASCII characters";
        if text.trim().is_empty() {
            return Err(Invalid::new("reason", "is empty", remedy));
        }
        if let Some(at) = text.chars().position(|c| !(c == ' ' || c.is_ascii_graphic())) {
            return Err(
                Invalid::new("reason", "holds a character that is not printable ASCII", remedy).at(at)
            );
        }
        if text.len() > MAX_WHY {
            return Err(Invalid::new("reason", format!("is {} characters long", text.len()), remedy));
        }
        Ok(Self(text.trim().to_owned()))
    }

    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for DrainReason {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<DrainReason> for String {
    fn from(reason: DrainReason) -> Self {
        reason.0
    }
}

/// What we are doing to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Making a device a node.
    Adopt,
    /// Taking a node out of SLURM.
    Release,
    /// Closing a node.
    Drain,
    /// Opening a node.
    Resume,
    /// Testing a node that is closed to users.
    BurnIn,
}

impl Verb {
    const ALL: [Self; 5] = [Self::Adopt, Self::Release, Self::Drain, Self::Resume, Self::BurnIn];

    /// The verb as marks and messages write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopt => "adopt",
            Self::Release => "release",
            Self::Drain => "drain",
            Self::Resume => "resume",
            Self::BurnIn => "burn_in",
        }
    }
}

/// Our mark on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// What is being done.
    pub verb: Verb,
    /// For which request.
    pub request: RequestId,
    /// Who asked.
    pub actor: Actor,
    /// In their words.
    pub why: DrainReason,
}

impl Mark {
    /// The drain reason.
    #[must_use]
    pub fn reason(&self) -> String {
        format!("{PREFIX}{} {}: {}: {}", self.verb.as_str(), self.request, self.actor, self.why.as_str())
    }

    /// Whether this mark is the reason of a node, also when the node went away since.
    #[must_use]
    pub fn stands_in(&self, reason: &str) -> bool {
        as_given(reason) == self.reason()
    }

    /// The claim for the node's `extra`: the second witness, since SLURM overwrites and clears
    /// reasons by itself (facts: slurm §12).
    #[must_use]
    pub fn claim(&self) -> String {
        format!("{PREFIX}{}", self.request)
    }

    /// The claim together with the request's burn-in job. A later attempt that finds it knows that the
    /// job was submitted, also when SLURM does not know the job any more.
    #[must_use]
    pub fn claim_with_job(&self, job: i64) -> String {
        format!("{PREFIX}{} job {job}", self.request)
    }

    /// The burn-in job of this mark's request, where a node's `extra` names one.
    #[must_use]
    pub fn job(&self, extra: &str) -> Option<i64> {
        let (request, job) = claim(extra)?;
        job.filter(|_| request == self.request)
    }

    /// Whether a node's `extra` holds the claim of this mark's request.
    #[must_use]
    pub fn claims(&self, extra: &str) -> bool {
        claim(extra).is_some_and(|(request, _)| request == self.request)
    }

    /// Reads a drain reason of ours, whole: a tail that SLURM or a person added makes it foreign.
    fn parse(reason: &str) -> Option<Self> {
        let (verb, rest) = reason.strip_prefix(PREFIX)?.split_once(' ')?;
        let verb = Verb::ALL.into_iter().find(|v| v.as_str() == verb)?;
        let (request, rest) = rest.split_once(": ")?;
        let (actor, why) = rest.split_once(": ")?;
        let mark = Self {
            verb,
            request: RequestId::parse(request).ok()?,
            actor: Actor::parse(actor).ok()?,
            why: DrainReason::parse(why).ok()?,
        };
        (mark.reason() == reason).then_some(mark)
    }
}

/// Whose the closing of a node is, judged by its reason and its `extra`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Ours. The request is unknown where only `fleet:registering` is left.
    Ours(Option<RequestId>),
    /// SLURM's own words for a node that went away: nobody's.
    Nobody,
    /// Somebody else's, who said this: left alone, word for word.
    Other(String),
}

impl Owner {
    /// Judges a node that is closed (DRAIN, DOWN or FAIL). On an open node a reason says nothing:
    /// 24.11 keeps old ones for ever (facts: slurm §4).
    #[must_use]
    pub fn of(reason: &str, extra: &str) -> Self {
        let given = as_given(reason);
        if let Some(mark) = Mark::parse(given) {
            return Self::Ours(Some(mark.request));
        }
        if given == REGISTERING {
            return Self::Ours(claimed(extra));
        }
        let slurms = slurms_own(given) || given == OPENED && given != reason;
        match claimed(extra) {
            // a drain of ours that has no reason of its own yet, where the release keeps old ones
            Some(request) if reason.is_empty() || slurms || given == OPENED => Self::Ours(Some(request)),
            _ if slurms => Self::Nobody,
            _ => Self::Other(reason.to_owned()),
        }
    }

    /// The request whose claim is on an open node: it has closed the node, and somebody, or SLURM's power
    /// saving, has opened it behind us. For the seconds of a RESUME of ours it is so as well.
    #[must_use]
    pub fn lost(closed: bool, extra: &str) -> Option<RequestId> {
        if closed { None } else { claimed(extra) }
    }

    /// Whether `extra` may be written: it is empty or holds a claim of ours.
    #[must_use]
    pub fn may_claim(extra: &str) -> bool {
        extra.is_empty() || claimed(extra).is_some()
    }

    /// What to write in place of an open node's reason: 24.11 keeps ours after a RESUME, and a node
    /// that somebody then closes without a word would seem to be ours. `None` where the reason says
    /// nothing of us.
    #[must_use]
    pub fn after_opening(reason: &str) -> Option<&'static str> {
        let given = as_given(reason);
        let stale = Mark::parse(given).is_some() || given == REGISTERING || given == OPENED;
        (stale && reason != OPENED).then_some(OPENED)
    }

    /// The reason a node is told to register with.
    #[must_use]
    pub fn registering() -> &'static str {
        REGISTERING
    }
}

fn claimed(extra: &str) -> Option<RequestId> {
    claim(extra).map(|(request, _)| request)
}

/// A claim of ours: the request, and its burn-in job.
fn claim(extra: &str) -> Option<(RequestId, Option<i64>)> {
    let rest = extra.strip_prefix(PREFIX)?;
    match rest.split_once(" job ") {
        Some((request, job)) => Some((RequestId::parse(request).ok()?, Some(job.parse().ok()?))),
        None => Some((RequestId::parse(rest).ok()?, None)),
    }
}

/// A reason as it was given: without what slurmctld has added to it since, each time the node went
/// away.
fn as_given(reason: &str) -> &str {
    reason.trim_end_matches(WENT_AWAY)
}

/// Texts that slurmctld writes by itself.
fn slurms_own(reason: &str) -> bool {
    let starts = ["Not responding", "Node unexpectedly rebooted", "ResumeTimeout reached", "gres/"];
    starts.iter().any(|s| reason.starts_with(s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Mark {
        Mark {
            verb: Verb::Adopt,
            request: RequestId::parse("r-1").unwrap(),
            actor: Actor::parse("ada").unwrap(),
            why: DrainReason::parse("new node: see FM-12").unwrap(),
        }
    }

    #[test]
    fn a_mark_reads_back() {
        let text = mark().reason();
        assert_eq!(text, "fleet:adopt r-1: ada: new node: see FM-12");
        assert_eq!(Mark::parse(&text), Some(mark()));
        assert_eq!(Owner::of(&text, ""), Owner::Ours(Some(RequestId::parse("r-1").unwrap())));
    }

    #[test]
    fn longest_mark_stays_under_300_characters() {
        let mark = Mark {
            request: RequestId::parse(&"r".repeat(RequestId::MAX)).unwrap(),
            actor: Actor::parse(&"a".repeat(Actor::MAX)).unwrap(),
            why: DrainReason::parse(&"w".repeat(MAX_WHY)).unwrap(),
            ..mark()
        };
        assert!(mark.reason().len() < 300);
    }

    #[test]
    fn whose_a_closed_node_is() {
        let ours = |r: &str| Owner::Ours(Some(RequestId::parse(r).unwrap()));
        let other = |r: &str| Owner::Other(r.to_owned());
        for (reason, extra, owner) in [
            ("fleet:registering", "", Owner::Ours(None)),
            ("fleet:registering", "fleet:r-1", ours("r-1")),
            ("", "fleet:r-1", ours("r-1")),
            ("gres/gpu count reported lower than configured (0 < 4)", "fleet:r-1", ours("r-1")),
            ("Not responding", "fleet:r-1", ours("r-1")),
            ("Not responding", "", Owner::Nobody),
            ("Not responding", "{\"a\":1}", Owner::Nobody),
            ("fleet:opened : Not responding", "", Owner::Nobody),
            ("fleet:opened : Not responding : Not responding", "", Owner::Nobody),
            ("fleet:opened", "", other("fleet:opened")),
            ("fleet:opened", "fleet:r-2", ours("r-2")),
            ("fleet:adopt r-1: ada: x : Not responding", "", ours("r-1")),
            ("fleet:registering : Not responding", "fleet:r-1", ours("r-1")),
            ("Not responding : Not responding", "", Owner::Nobody),
            ("bad DIMM A3 [alice] : Not responding", "", other("bad DIMM A3 [alice] : Not responding")),
            ("bad DIMM A3 [alice]", "", other("bad DIMM A3 [alice]")),
            ("bad DIMM A3 [alice]", "fleet:r-1", other("bad DIMM A3 [alice]")),
            ("", "", other("")),
            ("fleet:adopt r-1: ada", "", other("fleet:adopt r-1: ada")),
            ("fleet: hands off", "", other("fleet: hands off")),
            ("fleet:registering, bob looks", "", other("fleet:registering, bob looks")),
            ("fleet:adopt r-1: ada: x\n[bob]", "", other("fleet:adopt r-1: ada: x\n[bob]")),
        ] {
            assert_eq!(Owner::of(reason, extra), owner, "{reason:?} {extra:?}");
        }
    }

    #[test]
    fn what_24_11_keeps_on_an_open_node_is_made_to_say_nothing() {
        let mark = mark().reason();
        let gone = format!("{mark} : Not responding");
        for stale in [&mark, &gone, "fleet:registering", "fleet:opened : Not responding"] {
            assert_eq!(Owner::after_opening(stale), Some("fleet:opened"), "{stale:?}");
        }
        for kept in ["", "fleet:opened", "bad DIMM A3 [alice]", "Not responding", "fleet: hands off"] {
            assert_eq!(Owner::after_opening(kept), None, "{kept:?}");
        }
    }

    #[test]
    fn a_claim_may_name_the_requests_job() {
        let mark = mark();
        assert_eq!(mark.claim_with_job(42), "fleet:r-1 job 42");
        let read = |extra| (mark.claims(extra), mark.job(extra));
        assert_eq!(read("fleet:r-1 job 42"), (true, Some(42)));
        assert_eq!(read("fleet:r-1"), (true, None));
        for foreign in ["fleet:r-2 job 42", "fleet:r-1 job x", "fleet:r-1 job 42 ", "fleet:r-1 note", ""] {
            assert_eq!(read(foreign), (false, None), "{foreign:?}");
        }
        assert!(Owner::may_claim("fleet:r-2 job 42") && !Owner::may_claim("fleet:r-1 note"));
        assert_eq!(Owner::of("", "fleet:r-1 job 42"), Owner::Ours(Some(mark.request)));
    }

    #[test]
    fn a_foreign_extra_is_not_written_over() {
        assert!(Owner::may_claim("") && Owner::may_claim("fleet:r-1"));
        assert!(!Owner::may_claim("{\"rack\":7}") && !Owner::may_claim("fleet:"));
    }

    #[test]
    fn reasons_are_one_printable_line() {
        for bad in ["", "  ", "a\nb", "a\tb", "ünicode", &"x".repeat(101)] {
            assert_eq!(DrainReason::parse(bad).unwrap_err().field, "reason", "{bad:?}");
        }
    }
}
