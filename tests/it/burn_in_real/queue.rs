//! alice's jobs, queued as she would: by `sbatch` on the cluster's login host.

use sandbox::exec;
use serde_json::{Value, json};

use crate::adopt_real::world::World;
use crate::wait::eventually;

use super::CEILING;

/// What each of her jobs does, unless it waits to be let go.
const SHORT: &str = "sleep 0.2";

/// alice at the cluster.
pub(super) struct Queue<'a>(pub(super) &'a World);

impl Queue<'_> {
    /// Submits so many jobs with these words of `sbatch`; their ids.
    pub(super) async fn submit(&self, many: u32, words: &str) -> Vec<i64> {
        self.sbatch(many, words, SHORT).await
    }

    /// One that ends when it is [let go](Self::let_go); its id.
    pub(super) async fn submit_waiting(&self, node: &str) -> i64 {
        let until = "while ! [ -e /tmp/let-go-$SLURM_JOB_ID ]; do sleep 0.2; done";
        self.sbatch(1, &format!("-w {node}"), until).await[0]
    }

    async fn sbatch(&self, many: u32, words: &str, does: &str) -> Vec<i64> {
        let one = format!(
            "sbatch --parsable -J users-job -n1 --mem=100 -t5 -D /tmp -o /dev/null {words} --wrap '{does}'"
        );
        let all = format!("for i in $(seq {many}); do {one}; done");
        let ids = exec(&self.0.services.slurm, &["runuser", "-u", "alice", "--", "sh", "-ec", &all]).await;
        ids.unwrap().lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Her job ends by itself, on this machine.
    pub(super) async fn let_go(&self, machine: &str, job: i64) {
        self.0.services.room.exec(machine, &["touch", &format!("/tmp/let-go-{job}")]).await.unwrap();
    }

    /// A job of hers in this state.
    pub(super) async fn is(&self, job: i64, state: &str) -> Value {
        eventually(&format!("job {job} is {state}"), CEILING, || async {
            let job = self.0.root.job(job).await.unwrap();
            if job["job_state"] == json!([state]) { Ok(job) } else { Err(job["job_state"].to_string()) }
        })
        .await
    }

    /// Waits until all of hers that may run have ended by themselves; she cancels those that are held.
    pub(super) async fn ends(&self) {
        eventually("alice's jobs have ended", CEILING, || async {
            let jobs = self.0.root.get("jobs").await.unwrap()["jobs"].take();
            let ends = ["PENDING", "RUNNING", "COMPLETING"];
            let alive = |j: &&Value| {
                let held = j["state_reason"].as_str().is_some_and(|r| r.starts_with("JobHeld"));
                let words = j["job_state"].as_array().into_iter().flatten();
                j["user_name"] == "alice" && !held && words.into_iter().any(|w| ends.iter().any(|e| w == e))
            };
            let alive: Vec<String> = jobs
                .as_array()
                .unwrap()
                .iter()
                .filter(alive)
                .map(|j| format!("{} {} {}", j["job_id"], j["job_state"], j["state_reason"]))
                .collect();
            if alive.is_empty() { Ok(()) } else { Err(alive.join(", ")) }
        })
        .await;
        self.cancel(&[]).await;
    }

    /// She cancels these, or, where none are named, all that still wait; what runs ends by itself.
    pub(super) async fn cancel(&self, jobs: &[i64]) {
        let mut command = vec!["runuser", "-u", "alice", "--", "scancel", "-u", "alice", "-t", "PENDING"];
        let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        command.extend(ids.iter().map(String::as_str));
        exec(&self.0.services.slurm, &command).await.unwrap();
    }

    /// What root does to a job, in words of `scontrol`.
    pub(super) async fn scontrol(&self, words: &str) {
        let command: Vec<&str> = ["scontrol"].into_iter().chain(words.split(' ')).collect();
        exec(&self.0.services.slurm, &command).await.unwrap();
    }
}
