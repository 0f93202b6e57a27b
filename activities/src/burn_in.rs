//! Burn-in: runs the site's tests as a job on a node that is closed to users, and leaves it closed.
//!
//! After success the node is drained under our mark, no job of this request and no reservation of ours is
//! left, and the verdict says what the job said. The steps: closed and empty; where the release makes
//! reservations by REST, one that keeps the node for the burn-in user; the job submitted, while the node
//! is drained; whatever could start before it looked for; the node opened, until the job runs, and drained
//! at once (`window.rs`: not interruptible); the job waited for; the node found closed once more after
//! slurmctld has saved it; other jobs that started meanwhile looked for.
//!
//! Idempotent by the job's name, and by its id in the node's `extra`, written before it may start: one job
//! a request. A later attempt drains before anything else. Waits for users' jobs until the request's
//! deadline, for its own until its time limit. Never opens what somebody else closed, unless that is
//! forced, and never says `passed` on doubt.

mod job;
mod preflight;
mod reservation;
mod stop;
mod window;

use std::collections::BTreeMap;
use std::time::Duration;

use clients::slurm::{Job, Node, Slurm};
use model::burn_in::{Catalogue, Judgement, Test, TestName, free_text, time_needed};
use model::{AtDeadline, Invalid, Mark, NodeName, Owner, Verb};

use crate::close::{Patience, ensure_closed, is_foreign, wait_drained};
use crate::drain::end;
use crate::look::{ensure_nodes_can_be_changed, ensure_stays_up, existing, find_subject};
use crate::wait::{Look, patiently, settle, until};
use crate::{Asked, Attempt, Code, Failure, World};
use job::Found;
pub use stop::{Stopped, burn_in_stop};
use window::Window;

/// How a site burns in.
#[derive(Debug)]
pub struct Settings {
    /// The tests that there are.
    pub catalogue: Catalogue,
    /// Those that are run where a request names none; none: all.
    pub tests: Vec<TestName>,
    /// As whom they run.
    pub user: String,
    /// The SLURM client with that user's own token; none: the worker's token, which must be root's or
    /// SlurmUser's, acts as the user.
    pub own: Option<Slurm>,
    /// The account; SLURM's default where none is given.
    pub account: Option<String>,
    /// The QOS; SLURM's default where none is given.
    pub qos: Option<String>,
    /// The partition; none: the one of the highest tier that holds the node.
    pub partition: Option<String>,
    /// Whether a request may bring a script of its own.
    pub free_text: bool,
    /// How long the job holds the node after its tests, at most, until it sees that it is drained.
    pub hold: Duration,
    /// How long the node is open at most, until the job runs.
    pub start_within: Duration,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// Of which device, by whom, and why.
    pub asked: Asked,
    /// Which tests of the site's catalogue, by name; none: those that the site's settings name.
    pub tests: Vec<String>,
    /// A script in place of the tests, and how long it may take.
    pub script: Option<(String, Duration)>,
    /// How long it may take until the burn-in starts, from when the verb was first scheduled.
    pub deadline: Duration,
    /// An open node is left open, and nothing is run.
    pub only_if_closed: bool,
}

/// What a burn-in says of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every test ended well, and every threshold is met.
    Passed,
    /// A test failed by its own word, or the node went away under it.
    Failed,
    /// It ran, and nothing can be said of the node.
    Unknown,
    /// It did not run.
    NotRun,
    /// The site's settings turn burn-in off.
    Off,
    /// The node was open, and was to be left so.
    AlreadyOpen,
}

impl From<model::burn_in::Verdict> for Verdict {
    fn from(verdict: model::burn_in::Verdict) -> Self {
        match verdict {
            model::burn_in::Verdict::Passed => Self::Passed,
            model::burn_in::Verdict::Failed => Self::Failed,
            model::burn_in::Verdict::Unknown => Self::Unknown,
            model::burn_in::Verdict::NotRun => Self::NotRun,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What it says of the node.
    pub verdict: Verdict,
    /// The node.
    pub node: NodeName,
    /// The job; none where none was submitted.
    pub job: Option<i64>,
    /// Why the verdict is what it is, in a line.
    pub reason: String,
    /// What the tests measured.
    pub values: BTreeMap<String, String>,
    /// The tests that were to run, each `name sha256:DIGEST`.
    pub tests: Vec<String>,
    /// Other jobs that started on the node while it should have been closed to them.
    pub leaked: Vec<i64>,
}

/// Burns in.
///
/// # Errors
/// `request.*`, `slurm.release_too_old`, `slurm.node_unknown`, `slurm.drain_not_ours`, `slurm.node_busy`
/// when time was up before it began, `slurm.config_mismatch`, `slurm.refused` where SLURM does not take
/// the job, and what keeps the systems from answering.
pub async fn burn_in_sbatch(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    Box::pin(steps(world, attempt, request)).await.map_err(|f| f.in_step(attempt.current()))
}

/// One burn-in, and what it acts on.
struct BurnIn<'a> {
    world: &'a World,
    attempt: &'a Attempt,
    settings: &'a Settings,
    request: &'a Request,
    name: NodeName,
    mark: Mark,
    tests: Vec<Test>,
}

async fn steps(world: &World, attempt: &Attempt, request: &Request) -> Result<Outcome, Failure> {
    attempt.step("read_hub", Code::HubUnavailable)?;
    let name = find_subject(world, attempt, &request.asked.device).await?.node;
    let Some(settings) = &world.burn_in else {
        return Ok(nothing_run(Verdict::Off, name, "the site's settings turn burn-in off"));
    };
    let mark = request.asked.mark(Verb::BurnIn);
    let tests = choose(settings, request).map_err(|e| Failure::permanent(Code::RequestInvalid, &e))?;
    let burn_in = BurnIn { world, attempt, settings, request, name, mark, tests };

    attempt.step("look", Code::SlurmUnavailable)?;
    ensure_nodes_can_be_changed(world, attempt).await?;
    let node = burn_in.existing().await?;
    let ours = node.tokens.is_closed() || burn_in.mark.claims(&node.extra);
    if request.only_if_closed && !ours {
        return Ok(nothing_run(Verdict::AlreadyOpen, burn_in.name, "the node is open"));
    }
    ensure_stays_up(world, &node, &burn_in.mark)?;
    let words = burn_in.foreign_words(&node);
    attempt.step("close_node", Code::SlurmUnavailable)?;
    let node = ensure_closed(world, attempt, node, &request.asked, Verb::BurnIn).await?;

    attempt.step("find_job", Code::SlurmUnavailable)?;
    let job = match burn_in.find_job(&node).await? {
        Found::Gone(job) => return burn_in.gone(job, words.as_deref()).await,
        Found::Job(job) if !job.is_pending() => *job,
        found => match burn_in.start(node, found, words.as_deref()).await? {
            Window::Started(job) => job,
            Window::NotStarted { job, reason } => {
                return burn_in.give_up(job, &reason, words.as_deref()).await;
            }
        },
    };
    attempt.step("wait_job", Code::BurnInUnknown)?;
    let (judgement, since) = burn_in.wait_job(&job, words.as_deref()).await?;
    burn_in.end(Some(job.id), judgement, since, words.as_deref()).await
}

fn choose(settings: &Settings, request: &Request) -> Result<Vec<Test>, Invalid> {
    if let Some((script, time_limit)) = &request.script {
        if !settings.free_text {
            let remedy = "name tests of the catalogue, or have the site set burn_in.free_text";
            return Err(Invalid::new("script", "is not allowed by the site's settings", remedy));
        }
        return Ok(vec![free_text(script, *time_limit)?]);
    }
    let named = request.tests.iter().map(|t| TestName::parse(t)).collect::<Result<Vec<_>, _>>()?;
    let names = if named.is_empty() { &settings.tests } else { &named };
    Ok(settings.catalogue.choose(names)?.into_iter().cloned().collect())
}

fn nothing_run(verdict: Verdict, node: NodeName, reason: &str) -> Outcome {
    let (job, leaked, tests) = (None, Vec::new(), Vec::new());
    Outcome { verdict, node, job, reason: reason.to_owned(), values: BTreeMap::new(), tests, leaked }
}

impl BurnIn<'_> {
    /// The node, as it is now.
    async fn existing(&self) -> Result<Node, Failure> {
        patiently(self.world, self.attempt, || existing(self.world, &self.name)).await
    }

    /// What somebody else has closed it with, where that is forced.
    fn foreign_words(&self, node: &Node) -> Option<String> {
        let forced = node.tokens.is_closed() && self.request.asked.force;
        match Owner::of(&node.reason, &node.extra) {
            Owner::Other(words) if forced => Some(words),
            Owner::Other(_) | Owner::Ours(_) | Owner::Nobody => None,
        }
    }

    /// From a closed node to a job that runs on a closed node.
    async fn start(&self, node: Node, found: Found, words: Option<&str>) -> Result<Window, Failure> {
        self.attempt.step("wait_empty", Code::NodeBusy)?;
        let ours = found.job().map(|j| j.id);
        let deadline = Some((end(self.attempt, self.request.deadline), AtDeadline::Fail));
        let patience = Patience { by_anybody: words.is_some(), ours, deadline };
        wait_drained(self.world, self.attempt, &self.name, Some(node), patience).await?;
        self.wait_ready().await?;

        let reserved = self.ensure_reserved().await?;
        let job = match self.ensure_submitted(found, reserved.as_deref()).await? {
            Ok(job) => job,
            Err(reason) => return Ok(Window::NotStarted { job: None, reason }),
        };
        if let Some(reason) = self.preflight(&job, reserved.as_deref()).await? {
            return Ok(Window::NotStarted { job: Some(job), reason });
        }
        self.open_until_it_runs(job, words).await
    }

    /// Waits until slurmd answers: a job would not start before.
    async fn wait_ready(&self) -> Result<(), Failure> {
        self.attempt.step("wait_ready", Code::BurnInNotRun)?;
        until(self.world, self.attempt, || async {
            let node = existing(self.world, &self.name).await?;
            if node.tokens.has("INVALID_REG") {
                let message =
                    format!("SLURM calls the registration of {} invalid: {}", self.name, node.reason);
                let remedy = "compare the row, the user-data and slurm.conf";
                return Err(Failure::needs_human(Code::ConfigMismatch, message, remedy));
            }
            let (tokens, late) = (&node.tokens, end(self.attempt, self.request.deadline));
            if tokens.is_responding() && !tokens.any(&preflight::IN_THE_WAY) {
                return Ok(Look::Ready(()));
            }
            let seen = format!("{} is {tokens}", self.name);
            if late <= jiff::Timestamp::now() {
                let remedy = "see why slurmd does not answer, then start again";
                return Err(Failure::needs_human(Code::BurnInNotRun, format!("time was up: {seen}"), remedy));
            }
            Ok(Look::NotYet(seen))
        })
        .await
    }

    /// How long the job may take at most.
    fn time_limit(&self) -> Duration {
        time_needed(&self.tests.iter().collect::<Vec<_>>(), self.settings.hold)
    }

    /// The job did not start: it goes, and the node stays closed.
    async fn give_up(&self, job: Option<Job>, reason: &str, words: Option<&str>) -> Result<Outcome, Failure> {
        let id = job.as_ref().map(|j| j.id);
        if let Some(job) = &job {
            self.cancel(job).await?;
        }
        let judgement = Judgement {
            verdict: model::burn_in::Verdict::NotRun,
            reason: reason.to_owned(),
            values: BTreeMap::new(),
        };
        self.end(id, judgement, job.map_or(i64::MAX, |j| j.submit_time), words).await
    }

    /// It was submitted, and SLURM knows it no more: nothing can be said (cases: B30).
    async fn gone(&self, job: i64, words: Option<&str>) -> Result<Outcome, Failure> {
        let (judgement, since) = self.judge_past(job).await?;
        self.end(Some(job), judgement, since, words).await
    }

    /// What is left to be done whatever the verdict: nothing of ours stays but the closed node. Jobs that
    /// started there after `since` are looked for.
    async fn end(
        &self,
        job: Option<i64>,
        judgement: Judgement,
        since: i64,
        words: Option<&str>,
    ) -> Result<Outcome, Failure> {
        self.leave_closed(words).await?;
        self.attempt.step("look_for_leaks", Code::BurnInUnknown)?;
        let leaked = self.leaked(job, since).await?;
        let Judgement { verdict, mut reason, values } = judgement;
        let mut verdict = Verdict::from(verdict);
        if !leaked.is_empty() {
            let some: Vec<String> = leaked.iter().map(ToString::to_string).collect();
            verdict = Verdict::Unknown;
            reason = format!("jobs of others started on {}: {}", self.name, some.join(", "));
        }
        self.tell(verdict, &reason).await?;
        let tests = self.tests.iter().map(|t| format!("{} sha256:{}", t.name(), t.digest())).collect();
        Ok(Outcome { verdict, node: self.name.clone(), job, reason, values, tests, leaked })
    }

    /// The node closed and no reservation of ours there, also once slurmctld has saved that: until then it
    /// may forget what it acknowledged (facts: slurm §12).
    async fn leave_closed(&self, words: Option<&str>) -> Result<(), Failure> {
        self.remove_reservation().await?;
        loop {
            settle(self.world, self.attempt, Code::BurnInUnknown, "the node is closed").await?;
            let node = self.existing().await?;
            let closed = node.tokens.is_draining() || node.tokens.is_closed() && is_foreign(&node);
            if !closed {
                self.close_now(words).await?;
            }
            let was_reserved = self.remove_reservation().await?;
            if closed && !was_reserved {
                return Ok(());
            }
        }
    }
}
