//! The request's one job: found, submitted, waited for, judged.
//!
//! *Invariant*: a job is ours by id *and* name: slurmctld gives an id again when it has forgotten its last
//! seconds (facts: slurm §12). Nothing is submitted before a look by name, and a submit whose answer was
//! lost is looked for until it can no longer be on its way.

use clients::Kind;
use clients::slurm::{Job, NewJob, Node, NodeUpdate, Slurm};
use model::burn_in::{Ended, Judgement, Verdict, job_script, judge};
use model::{DrainReason, Mark, Owner};

use super::{BurnIn, Verdict as Ours};
use crate::wait::{absorbs, patiently};
use crate::{Code, Failure};

/// The priority that is asked for where no reservation keeps others away: the highest that slurmctld
/// takes as one is 4294967293; some are left for whoever has to go before it (facts: tools, burn-in).
pub(super) const TOP: u32 = 4_294_967_290;
/// A result lists so many jobs that leaked.
const LISTED: usize = 20;

/// What is there of this request.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing: it was never submitted.
    Nothing,
    /// The job.
    Job(Box<Job>),
    /// It was submitted, and slurmctld knows it no more.
    Gone(i64),
}

impl Found {
    pub(super) fn job(&self) -> Option<&Job> {
        match self {
            Self::Job(job) => Some(job),
            Self::Nothing | Self::Gone(_) => None,
        }
    }
}

impl BurnIn<'_> {
    /// The name by which the request's job is found.
    pub(super) fn job_name(&self) -> String {
        format!("fleet-burnin-{}-{}", self.request.asked.device, self.request.asked.id)
    }

    /// The client that speaks as the burn-in user.
    pub(super) fn user(&self) -> &Slurm {
        self.settings.own.as_ref().unwrap_or(&self.world.slurm)
    }

    /// Looks for the job by name and user, then for its id in the node's claim.
    pub(super) async fn find_job(&self, node: &Node) -> Result<Found, Failure> {
        let mut ours = self.our_jobs().await?;
        match (ours.len(), self.mark.job(&node.extra)) {
            (0, None) => Ok(Found::Nothing),
            (0, Some(id)) => Ok(Found::Gone(id)),
            (1, _) => Ok(Found::Job(Box::new(ours.remove(0)))),
            (n, _) => {
                let message = format!("{n} jobs of {} are called {}", self.settings.user, self.job_name());
                Err(Failure::needs_human(Code::BurnInUnknown, message, "cancel those that are wrong"))
            }
        }
    }

    /// Every job of this request that slurmctld knows.
    pub(super) async fn our_jobs(&self) -> Result<Vec<Job>, Failure> {
        let name = self.job_name();
        let mut jobs = patiently(self.world, self.attempt, || self.world.slurm.jobs()).await?;
        jobs.retain(|j| j.name == name && j.user == self.settings.user);
        Ok(jobs)
    }

    /// The job, submitted once and pending on the closed node; its id is in the node's claim. `Err`: why
    /// SLURM has it, and it is not what was asked for.
    pub(super) async fn ensure_submitted(
        &self,
        found: Found,
        reservation: Option<&str>,
    ) -> Result<Result<Job, String>, Failure> {
        self.attempt.step("submit_job", Code::BurnInNotRun)?;
        let job = match found {
            Found::Job(job) => *job,
            Found::Nothing | Found::Gone(_) => match self.submit(reservation).await? {
                Ok(job) => job,
                Err(reason) => return Ok(Err(reason)),
            },
        };
        if reservation.is_none() && job.priority != Some(i64::from(TOP)) {
            patiently(self.world, self.attempt, || self.world.slurm.set_job_priority(job.id, TOP)).await?;
        }
        let node = self.existing().await?;
        if self.mark.job(&node.extra) != Some(job.id) && Owner::may_claim(&node.extra) {
            let extra = Some(self.mark.claim_with_job(job.id));
            let claim = NodeUpdate { state: None, reason: None, extra };
            patiently(self.world, self.attempt, || self.world.slurm.update_node(&self.name, &claim)).await?;
        }
        Ok(Ok(job))
    }

    async fn submit(&self, reservation: Option<&str>) -> Result<Result<Job, String>, Failure> {
        if self.attempt.number > 1 {
            self.attempt.waiting("an earlier attempt that may still run");
            if let Some(job) = self.came_late().await? {
                return Ok(Ok(job));
            }
        }
        let Some(new) = self.new_job(reservation).await? else {
            return Ok(Err(format!("no partition that is UP holds {}", self.name)));
        };
        loop {
            self.attempt.check()?;
            match self.user().submit_job(&new).await {
                Ok(submitted) => {
                    let warnings = submitted.unexpected_warnings().join("; ");
                    let job =
                        patiently(self.world, self.attempt, || self.world.slurm.job(submitted.id)).await?;
                    let Some(job) = job.filter(|j| j.name == new.name) else {
                        return Err(self.forgotten(&format!("job {} was submitted", submitted.id)));
                    };
                    if warnings.is_empty() {
                        return Ok(Ok(job));
                    }
                    self.cancel(&job).await?;
                    return Ok(Err(format!("SLURM took the job with a warning: {warnings}")));
                }
                Err(error) if error.is_unknown() => {
                    self.attempt.waiting(&error.to_string());
                    if let Some(job) = self.came_late().await? {
                        return Ok(Ok(job));
                    }
                }
                Err(error) if matches!(error.kind, Kind::Throttled(_) | Kind::Conflict(_)) => {
                    self.attempt.waiting(&error.to_string());
                    self.attempt.pause(self.world.site.look_every).await?;
                }
                Err(error) => {
                    let all = patiently(self.world, self.attempt, || self.world.slurm.reservations()).await?;
                    if reservation.is_some_and(|ours| !all.iter().any(|r| r.name == ours)) {
                        return Err(self.forgotten("the reservation was made"));
                    }
                    return Err(error.into());
                }
            }
        }
    }

    /// A job whose submit may still be on its way: looked for until it can no longer come. A slurmctld that
    /// hung does what it was asked meanwhile in any order once it goes on (run on 26.05: it listed the jobs
    /// before it took the one that had timed out), so that nothing is concluded from its first answer.
    async fn came_late(&self) -> Result<Option<Job>, Failure> {
        self.attempt.pause(self.world.site.heartbeat_timeout).await?;
        if let Some(job) = self.our_jobs().await?.pop() {
            return Ok(Some(job));
        }
        self.attempt.pause(self.world.site.settle).await?;
        Ok(self.our_jobs().await?.pop())
    }

    /// slurmctld has forgotten its last seconds. The next attempt goes on from what there is.
    pub(super) fn forgotten(&self, what: &str) -> Failure {
        let message = format!("slurmctld does not know any more that {what}");
        let failure = Failure::needs_human(Code::SlurmUnavailable, message, "look at slurmctld");
        Failure { class: crate::Class::Retry, ..failure }
    }

    /// `None`: no partition that is UP holds the node.
    async fn new_job(&self, reservation: Option<&str>) -> Result<Option<NewJob>, Failure> {
        let settings = self.settings;
        let partition = match &settings.partition {
            Some(partition) => partition.clone(),
            None => {
                let node = self.existing().await?;
                let partitions =
                    patiently(self.world, self.attempt, || self.world.slurm.partitions()).await?;
                let ours = partitions.into_iter().filter(|p| p.up && p.holds(&node));
                let Some(best) = ours.max_by_key(|p| p.tier) else { return Ok(None) };
                best.name
            }
        };
        let seconds = self.time_limit().as_secs();
        Ok(Some(NewJob {
            user: settings.user.clone(),
            name: self.job_name(),
            node: self.name.clone(),
            script: job_script(&self.tests.iter().collect::<Vec<_>>(), settings.hold),
            account: settings.account.clone(),
            qos: settings.qos.clone(),
            partition: Some(partition),
            reservation: reservation.map(str::to_owned),
            minutes: u32::try_from(seconds.div_ceil(60) + 1).unwrap_or(u32::MAX),
            comment: None,
        }))
    }

    /// Waits until the job has ended; what it says, and since when nobody else may have started. Should
    /// slurmctld have forgotten that the node is drained, it is drained at once.
    pub(super) async fn wait_job(&self, job: &Job, words: Option<&str>) -> Result<(Judgement, i64), Failure> {
        loop {
            match self.look_at(job, words).await {
                Ok(Some(ended)) => return Ok((ended, job.submit_time)),
                Ok(None) => {}
                Err(failure) if absorbs(&failure) => self.attempt.waiting(&failure.message),
                Err(failure) => return Err(failure),
            }
            self.attempt.pause(self.world.site.look_every).await?;
        }
    }

    async fn look_at(&self, job: &Job, words: Option<&str>) -> Result<Option<Judgement>, Failure> {
        let node = crate::look::existing(self.world, &self.name).await?;
        if !node.tokens.is_draining() {
            self.close_now(words).await?;
        }
        match self.world.slurm.job(job.id).await?.filter(|j| j.name == job.name) {
            None => self.judge_past(job.id).await.map(|(judgement, _)| Some(judgement)),
            Some(now) if now.has_ended() => Ok(Some(self.judge(&now))),
            // run on 24.11: slurmctld, killed, forgets that a job had started, and it pends again
            Some(now) if now.is_pending() => Err(self.forgotten(&format!("job {} has started", job.id))),
            Some(now) => {
                let until = jiff::Timestamp::from_second(now.end_time).ok().filter(|_| now.end_time > 0);
                let until = until.map(|u| format!(", until {u} at most")).unwrap_or_default();
                let states = now.states.join("+");
                self.attempt.waiting(&format!("burn-in job {} is {states}{until}", job.id));
                Ok(None)
            }
        }
    }

    /// What slurmdbd knows of a job that slurmctld knows no more; on doubt nothing.
    pub(super) async fn judge_past(&self, id: i64) -> Result<(Judgement, i64), Failure> {
        let past = patiently(self.world, self.attempt, || self.world.slurm.past_job(id)).await?;
        match past.filter(|j| j.name == self.job_name() && j.has_ended()) {
            Some(job) => {
                let since = job.submit_time;
                Ok((self.judge(&self.with_comment(job)), since))
            }
            None => {
                let reason = format!("neither slurmctld nor slurmdbd knows how job {id} ended");
                let values = Default::default();
                Ok((Judgement { verdict: Verdict::Unknown, reason, values }, 0))
            }
        }
    }

    /// slurmdbd keeps no comment unless it is told to (run on 24.11 and 26.05). The script ends with 0 only
    /// if each test did, so that much is known; what a test measured is not.
    fn with_comment(&self, mut job: Job) -> Job {
        if job.comment.is_empty() && job.exit_code == Some(0) {
            let exits: Vec<String> = self.tests.iter().map(|t| format!("{}.exit=0", t.name())).collect();
            job.comment = exits.join(",");
        }
        job
    }

    fn judge(&self, job: &Job) -> Judgement {
        let ended = Ended {
            states: job.states.clone(),
            exit_code: job.exit_code,
            signal: job.signal,
            comment: job.comment.clone(),
        };
        judge(&self.tests.iter().collect::<Vec<_>>(), &ended)
    }

    /// Cancels the job, as who submitted it, and waits until it has ended.
    pub(super) async fn cancel(&self, job: &Job) -> Result<(), Failure> {
        self.attempt.step("cancel_job", Code::BurnInNotRun)?;
        let (world, attempt) = (self.world, self.attempt);
        loop {
            patiently(world, attempt, || self.user().cancel_job(&self.settings.user, job.key())).await?;
            let now = patiently(world, attempt, || world.slurm.job(job.id)).await?;
            match now.filter(|j| j.name == job.name) {
                Some(now) if !now.has_ended() => {
                    attempt.waiting(&format!("job {} is cancelled, and {}", job.id, now.states.join("+")));
                    attempt.pause(world.site.look_every).await?;
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Other jobs that started on the node after `since`, by slurmctld's clock.
    pub(super) async fn leaked(&self, ours: Option<i64>, since: i64) -> Result<Vec<i64>, Failure> {
        if since == 0 {
            return Ok(Vec::new());
        }
        let jobs = patiently(self.world, self.attempt, || self.world.slurm.jobs()).await?;
        let on_it = |j: &Job| j.nodes.iter().any(|n| n == self.name.as_str());
        let leaked = |j: &&Job| Some(j.id) != ours && !j.is_pending() && j.start_time > since && on_it(j);
        Ok(jobs.iter().filter(leaked).map(|j| j.id).take(LISTED).collect())
    }

    /// Says on the node why it stays closed: whoever reads `sinfo -R` need not look elsewhere.
    pub(super) async fn tell(&self, verdict: Ours, reason: &str) -> Result<(), Failure> {
        let word = match verdict {
            Ours::Failed => "failed",
            Ours::Unknown => "unknown",
            Ours::NotRun => "not run",
            Ours::Passed | Ours::Off | Ours::AlreadyOpen => return Ok(()),
        };
        let node = self.existing().await?;
        let why: String = format!("burn-in {word}: {reason}").chars().take(100).collect();
        let Ok(why) = DrainReason::parse(&why) else { return Ok(()) };
        let told = Mark { why, ..self.mark.clone() };
        if !self.mark.stands_in(&node.reason) {
            return Ok(());
        }
        let update = NodeUpdate { state: None, reason: Some(told.reason()), extra: None };
        patiently(self.world, self.attempt, || self.world.slurm.update_node(&self.name, &update)).await
    }
}
