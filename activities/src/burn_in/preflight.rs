//! What could start on the node before our job does: looked for while it is still closed.
//!
//! *Invariant*: on doubt it could. A refusal leaves everything as it was.

use clients::slurm::{Job, Node, Partition, Reservation};

use super::BurnIn;
use super::job::TOP;
use crate::wait::{patiently, settle};
use crate::{Code, Failure};

/// What a node is or is about to be that lets no job start there, or takes it away again.
pub(super) const IN_THE_WAY: [&str; 7] = [
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
    "POWER_DOWN",
    "POWERING_DOWN",
    "POWERED_DOWN",
    "POWER_UP",
    "POWERING_UP",
];

/// The reasons of a job whose node is closed, and that nothing else keeps waiting: the second where no node
/// of its partition is open (run on 24.11).
const CLOSED: [&str; 2] = ["ReqNodeNotAvail", "Resources"];
/// The reason of a job that the scheduler does not look at as long as another of its partition, which comes
/// first, waits (run on 24.11: behind one of equal priority that any node would do for).
const BEHIND: &str = "Priority";

impl BurnIn<'_> {
    /// Why the node must not be opened for the job; `None` where nothing speaks against it.
    pub(super) async fn preflight(
        &self,
        job: &Job,
        reserved: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let slurm = &self.world.slurm;
        let (world, attempt) = (self.world, self.attempt);
        settle(world, attempt, Code::BurnInNotRun, "the node is ours alone").await?;
        attempt.step("preflight", Code::BurnInNotRun)?;
        let job = match reserved {
            Some(_) => job.clone(),
            None => match self.wait_ranked(job).await? {
                Ok(job) => job,
                Err(reason) => return Ok(Some(reason)),
            },
        };
        let reservations = patiently(world, attempt, || slurm.reservations()).await?;
        let needed = i64::try_from(self.time_limit().as_secs()).unwrap_or(i64::MAX);
        let until = job.submit_time.saturating_add(needed);
        if reserved.is_some_and(|ours| !reservations.iter().any(|r| r.name == ours)) {
            return Err(self.forgotten("the reservation was made"));
        }
        if let Some(other) = in_the_way(&reservations, &self.name, reserved, until) {
            return Ok(Some(format!("reservation {other} holds {}", self.name)));
        }
        if reserved.is_some() {
            return Ok(None);
        }
        self.outranked(&job).await
    }

    /// Which pending jobs could start on the node before ours; `None` where none could.
    async fn outranked(&self, ours: &Job) -> Result<Option<String>, Failure> {
        let (world, attempt) = (self.world, self.attempt);
        let node = self.existing().await?;
        let partitions = patiently(world, attempt, || world.slurm.partitions()).await?;
        let jobs = patiently(world, attempt, || world.slurm.jobs()).await?;
        let rivals = rivals(&node, &partitions, &jobs, ours);
        if rivals.is_empty() {
            return Ok(None);
        }
        let some: Vec<String> = rivals.iter().take(5).map(|j| j.id.to_string()).collect();
        let more = rivals.len() - some.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Ok(Some(format!("pending jobs could start on {} first: {}{more}", self.name, some.join(", "))))
    }

    /// Waits until the scheduler has looked at the job with its new priority: it pends for its closed node
    /// alone. A priority that slurmctld has forgotten is set once more. `Err`: what else keeps it.
    async fn wait_ranked(&self, job: &Job) -> Result<Result<Job, String>, Failure> {
        let (world, attempt) = (self.world, self.attempt);
        let (began, mut again) = (tokio::time::Instant::now(), true);
        loop {
            let now = patiently(world, attempt, || world.slurm.job(job.id)).await?;
            let Some(now) = now.filter(|j| j.name == job.name) else {
                return Err(self.forgotten(&format!("job {} was submitted", job.id)));
            };
            let ranked = now.priority == Some(i64::from(TOP));
            if ranked && CLOSED.contains(&now.reason.as_str()) {
                return Ok(Ok(now));
            }
            if ranked
                && now.reason == BEHIND
                && let Some(reason) = self.outranked(&now).await?
            {
                return Ok(Err(reason));
            }
            if !ranked && std::mem::take(&mut again) {
                patiently(world, attempt, || world.slurm.set_job_priority(job.id, TOP)).await?;
            }
            let priority = now.priority.map_or("none".to_owned(), |p| p.to_string());
            let seen = format!("job {} pends for {} with priority {priority}", job.id, now.reason);
            // four times as long as it may take to start
            if began.elapsed() >= self.settings.start_within * 4 {
                return Ok(Err(format!("{seen}, not for its closed node with {TOP}")));
            }
            attempt.waiting(&seen);
            attempt.pause(world.site.look_every).await?;
        }
    }
}

/// A reservation of somebody else's that holds the node, or will before `until`.
fn in_the_way<'a>(
    reservations: &'a [Reservation],
    node: &model::NodeName,
    ours: Option<&str>,
    until: i64,
) -> Option<&'a str> {
    let holds = |r: &&Reservation| r.nodes.contains(node.as_str()) && r.start_time <= until;
    reservations.iter().filter(|r| Some(r.name.as_str()) != ours).find(holds).map(|r| r.name.as_str())
}

/// Pending jobs that could start on the node, and that the scheduler may look at before `ours`: by the
/// tier of their partition, then by priority. One that is held may be released at any moment; its
/// priority is then what SLURM computes.
fn rivals<'a>(node: &Node, partitions: &[Partition], jobs: &'a [Job], ours: &Job) -> Vec<&'a Job> {
    let tier = |job: &Job| {
        let of = partitions.iter().filter(|p| job.partitions.contains(&p.name) && p.holds(node));
        of.map(|p| p.tier).max()
    };
    let our_tier = tier(ours);
    let could = |job: &&Job| {
        job.id != ours.id
            && job.is_pending()
            && job.reservation.is_empty()
            && (job.required_nodes.is_empty() || job.required_nodes.iter().any(|n| n == node.name.as_str()))
            && fits(&job.features, node)
    };
    let outranks = |job: &&Job| {
        let theirs = tier(job);
        theirs.is_some() && (theirs > our_tier || theirs == our_tier && job.priority >= ours.priority)
    };
    jobs.iter().filter(could).filter(outranks).collect()
}

/// Whether a node may be what a job's features ask for. Only a plain list of words, all of which are
/// needed, is judged; whatever else may fit.
fn fits(features: &str, node: &Node) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.&,".contains(c);
    if features.is_empty() || !features.chars().all(plain) {
        return true;
    }
    features.split(['&', ',']).filter(|w| !w.is_empty()).all(|w| node.active_features.iter().any(|f| f == w))
}
