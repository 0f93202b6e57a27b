//! What happens without slurmrestd: what users do at the machine, what jobs do by themselves, and what their
//! administrators do.

use serde_json::{Value, json};

use super::behave::JobBehaviour;
use super::envelope::Said;
use super::job::{End, Job, JobSeed};
use super::reserve::ReservationSeed;
use super::{Slurmrestd, lock, update};

impl Slurmrestd {
    /// A job runs on these nodes at once; its id.
    pub fn run(&self, job: JobSeed) -> i64 {
        lock(&self.ctld).run(job)
    }

    /// A job is submitted with `sbatch`: it starts at the first tick at which its nodes are open, or any
    /// one node where it names none, and runs as long as [`SlurmOptions::job_ticks`](super::SlurmOptions::job_ticks)
    /// says; its id.
    pub fn submit(&self, job: JobSeed) -> i64 {
        lock(&self.ctld).submit(job, self.options.job_ticks)
    }

    /// From now on jobs of this name do so; of several that fit the last counts.
    pub fn behave(&self, behaviour: JobBehaviour) {
        lock(&self.ctld).behaviours.push(behaviour);
    }

    /// A running job is suspended: its node looks idle from then on.
    pub fn suspend(&self, job: i64) {
        self.each(job, |job| {
            if job.state == "RUNNING" {
                job.state = "SUSPENDED";
            }
        });
    }

    /// A suspended job runs on.
    pub fn unsuspend(&self, job: i64) {
        self.each(job, |job| {
            if job.state == "SUSPENDED" {
                job.state = "RUNNING";
            }
        });
    }

    /// A held job is released by an administrator.
    pub fn release_job(&self, job: i64) {
        let first = lock(&self.ctld).release.priority(job);
        self.each(job, |job| (job.held, job.priority) = (None, first));
    }

    /// A job ends with this exit code; until the next tick it is COMPLETING.
    pub fn finish(&self, job: i64, exit: u32) {
        self.end(job, if exit == 0 { End::Completed } else { End::Failed(exit) });
    }

    /// A job that has not ended ends so; if it ran it is COMPLETING until the next tick.
    pub fn end(&self, job: i64, end: End) {
        let now = lock(&self.ctld).now;
        self.each(job, |job| {
            if job.is_unfinished() {
                job.end(end, now);
            }
        });
    }

    /// A job writes into its comment, as `scontrol update jobid=$SLURM_JOB_ID comment=…` within it.
    pub fn comment(&self, job: i64, text: &str) {
        self.each(job, |job| text.clone_into(&mut job.comment));
    }

    /// slurmctld forgets a job, as it does MinJobAge after its end. slurmdbd still has it.
    pub fn lose(&self, job: i64) {
        lock(&self.ctld).lose(job);
    }

    /// The script of a job that was submitted by REST.
    #[must_use]
    pub fn script(&self, job: i64) -> Option<String> {
        let ctld = lock(&self.ctld);
        ctld.jobs.iter().find(|j| j.id == job && !j.script.is_empty()).map(|j| j.script.clone())
    }

    /// A job, as the API would show it.
    #[must_use]
    pub fn job(&self, id: i64) -> Option<Value> {
        let dialect = self.options.newest()?;
        lock(&self.ctld).jobs.iter().find(|j| j.id == id).map(|job| job.show(dialect))
    }

    /// Every job that slurmctld knows, as the API would show it, in the order of their ids.
    #[must_use]
    pub fn jobs(&self) -> Vec<Value> {
        let Some(dialect) = self.options.newest() else { return Vec::new() };
        let ctld = lock(&self.ctld);
        let mut jobs: Vec<&Job> = ctld.jobs.iter().collect();
        jobs.sort_by_key(|j| j.id);
        jobs.into_iter().map(|j| j.show(dialect)).collect()
    }

    /// An administrator changes a node, with `scontrol`: to this state, such as `DRAIN`, for this reason. On every
    /// release. False: slurmctld does not know the node, or refuses.
    pub fn scontrol(&self, node: &str, state: &str, reason: &str) -> bool {
        let mut ctld = lock(&self.ctld);
        let at = (ctld.release, ctld.now);
        let body = json!({"state": state, "reason": reason});
        let said = update::update(ctld.node_mut(node), node, &body, Some("root"), at);
        ctld.queue_again(node);
        matches!(said, Said::Done { .. })
    }

    /// An administrator makes a reservation, with `scontrol`.
    pub fn reserve(&self, seed: ReservationSeed) {
        lock(&self.ctld).reservations.push(seed.into());
    }

    /// An administrator deletes a reservation.
    pub fn unreserve(&self, name: &str) {
        lock(&self.ctld).end_reservations(|r| r.name == name);
    }

    /// The names of the reservations.
    #[must_use]
    pub fn reservations(&self) -> Vec<String> {
        lock(&self.ctld).reservations.iter().map(|r| r.name.clone()).collect()
    }

    fn each(&self, id: i64, change: impl Fn(&mut Job)) {
        let mut ctld = lock(&self.ctld);
        ctld.changed = ctld.now;
        ctld.jobs.iter_mut().filter(|j| j.id == id).for_each(change);
    }
}
