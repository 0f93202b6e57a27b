//! The moments in which the node is open: from RESUME until the job runs and DRAIN is confirmed.
//!
//! *Invariant*: nothing here is interruptible. A cancel is heeded before and after; whatever fails in
//! between, DRAIN is sent until slurmctld shows it.

use clients::Kind;
use clients::slurm::{Job, NodeUpdate, SetState};
use tokio::time::{Instant, sleep};

use super::BurnIn;
use crate::close::close;
use crate::look::existing;
use crate::wait::{Look, absorbs, until};
use crate::{Code, Failure};

/// What became of the job.
#[derive(Debug)]
pub(super) enum Window {
    /// It runs, or has run, and the node is drained.
    Started(Job),
    /// It did not start, and the node is drained.
    NotStarted {
        /// The job, where there is one.
        job: Option<Job>,
        /// Why.
        reason: String,
    },
}

impl BurnIn<'_> {
    /// Opens the node until the job runs, and drains it at once. `words`: what somebody else had closed it
    /// with.
    pub(super) async fn open_until_it_runs(&self, job: Job, words: Option<&str>) -> Result<Window, Failure> {
        self.attempt.step("start_job", Code::BurnInNotRun)?;
        let waited = self.open_and_wait(&job).await;
        self.close_now(words).await?;
        let last = waited?;
        let (world, name) = (self.world, &job.name);
        // it may have started between the last look and the DRAIN
        let look = || async { Ok(Look::Ready(world.slurm.job(job.id).await?)) };
        let now = until(world, self.attempt, look).await?;
        Ok(match now.filter(|j| j.name == *name) {
            Some(now) if now.is_pending() => {
                let reason = format!("job {} did not start in {} s: {last}", job.id, self.start_seconds());
                Window::NotStarted { job: Some(now), reason }
            }
            Some(now) => Window::Started(now),
            None => Window::Started(job),
        })
    }

    /// Sends RESUME, and looks until the job runs, has ended, or time is up; what was seen last. One whose
    /// answer was lost, or that came too early, is sent again where the node is still drained. A slurmctld
    /// that hung may do it after the DRAIN: the node is found closed again at the end.
    async fn open_and_wait(&self, job: &Job) -> Result<String, Failure> {
        let (world, began) = (self.world, Instant::now());
        let resume = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
        let mut sent = false;
        let mut seen = "nothing was seen".to_owned();
        loop {
            if !sent {
                match world.slurm.update_node(&self.name, &resume).await {
                    Ok(()) => sent = true,
                    // 24.11 refuses RESUME until the node has registered with a slurmctld that has just started
                    Err(error) if !error.is_unknown() && !matches!(error.kind, Kind::Rejected(_)) => {
                        return Err(error.into());
                    }
                    Err(error) => {
                        let node = existing(world, &self.name).await;
                        seen = error.to_string();
                        sent = node.is_ok_and(|n| !n.tokens.is_draining());
                    }
                }
            }
            match world.slurm.job(job.id).await {
                Ok(Some(now)) if now.is_running() || now.has_ended() => return Ok(seen),
                Ok(Some(now)) => seen = format!("{} ({})", now.states.join("+"), now.reason),
                Ok(None) => return Ok(seen),
                Err(error) => seen = error.to_string(),
            }
            if began.elapsed() >= self.settings.start_within {
                return Ok(seen);
            }
            self.attempt.waiting(&format!("job {} to start; seen: {seen}", job.id));
            sleep(world.site.look_every.min(self.settings.start_within / 15)).await;
        }
    }

    /// Drains the node under our mark, or under the words that it had, until slurmctld shows it.
    pub(super) async fn close_now(&self, words: Option<&str>) -> Result<(), Failure> {
        let world = self.world;
        loop {
            let closed = async {
                let node = existing(world, &self.name).await?;
                close(world, node, &self.mark, self.request.asked.force).await
            };
            match closed.await {
                Ok(Look::Ready(node)) => match words {
                    Some(words) if node.reason != words && !words.is_empty() => {
                        let reason = Some(words.to_owned());
                        let theirs = NodeUpdate { state: None, reason, extra: None };
                        match world.slurm.update_node(&self.name, &theirs).await {
                            Ok(()) => return Ok(()),
                            Err(error) => self.attempt.waiting(&error.to_string()),
                        }
                    }
                    Some(_) | None => return Ok(()),
                },
                Ok(Look::NotYet(seen)) => self.attempt.waiting(&seen),
                // somebody has closed it meanwhile, and is left to
                Err(failure) if failure.code == Code::DrainNotOurs => return Ok(()),
                Err(failure) if absorbs(&failure) => self.attempt.waiting(&failure.message),
                Err(failure) => return Err(failure),
            }
            sleep(world.site.look_every).await;
        }
    }

    fn start_seconds(&self) -> u64 {
        self.settings.start_within.as_secs()
    }
}
