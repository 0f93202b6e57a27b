//! Whether the worker is of use: what `/readyz` says, looked at anew whenever it is asked.
//!
//! *Invariant*: nothing is remembered but where the worker is in its life; a reason names a place,
//! never a secret.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use activities::World;
use clients::slurm::Life;
use jiff::SignedDuration;
use temporalio_client::Connection;
use temporalio_client::tonic::Request;
use temporalio_common::protos::temporal::api::workflowservice::v1::GetSystemInfoRequest;

/// Temporal has so long to answer: whoever probes a pod gives up after a second.
const ANSWER: Duration = Duration::from_millis(800);

/// What the worker needs to be of use.
#[derive(Debug)]
pub(super) struct Health {
    world: Arc<World>,
    phase: Mutex<Phase>,
}

/// Where the worker is in its life.
#[derive(Debug, Clone)]
enum Phase {
    Starting,
    Running(Connection),
    Stopping,
}

impl Health {
    /// A worker that does not run yet.
    pub(super) fn new(world: Arc<World>) -> Self {
        Self { world, phase: Mutex::new(Phase::Starting) }
    }

    /// It runs, and takes its work over `connection`.
    pub(super) fn runs(&self, connection: Connection) {
        self.enter(Phase::Running(connection));
    }

    /// It takes no more work.
    pub(super) fn stops(&self) {
        self.enter(Phase::Stopping);
    }

    /// Why it is not ready, a line each; none: it is.
    pub(super) async fn reasons(&self) -> Vec<String> {
        let phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (worker, token) = tokio::join!(worker(phase), self.world.slurm.token().life());
        worker.into_iter().chain(unusable(token)).collect()
    }

    /// What is left of the SLURM token, where it can be read.
    pub(super) async fn token_left(&self) -> Option<SignedDuration> {
        self.world.slurm.token().life().await.ok().map(|life| life.left)
    }

    fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }
}

/// Why no work comes.
async fn worker(phase: Phase) -> Option<String> {
    let connection = match phase {
        Phase::Starting => return Some("worker: waits for Temporal".to_owned()),
        Phase::Stopping => return Some("worker: is stopping".to_owned()),
        Phase::Running(connection) => connection,
    };
    let mut service = connection.workflow_service();
    let asked = service.get_system_info(Request::new(GetSystemInfoRequest::default()));
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(Ok(_)) => None,
        Ok(Err(status)) => Some(format!("Temporal: answers {:?}", status.code())),
        Err(_) => Some(format!("Temporal: no answer within {} ms", ANSWER.as_millis())),
    }
}

/// Why SLURM cannot be spoken to.
fn unusable(token: Result<Life, String>) -> Option<String> {
    match token {
        Err(problem) => Some(problem),
        Ok(life) if !life.left.is_positive() => {
            Some(format!("SLURM token: has ended, {} s ago", life.left.as_secs().unsigned_abs()))
        }
        Ok(life) if life.refused => Some("SLURM token: was refused by the last call".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_usable_while_it_lasts_and_is_not_refused() {
        let of = |left, refused| unusable(Ok(Life { left: SignedDuration::from_secs(left), refused }));
        assert_eq!(of(1, false), None);
        assert_eq!(of(0, false).unwrap(), "SLURM token: has ended, 0 s ago");
        assert_eq!(of(-90, true).unwrap(), "SLURM token: has ended, 90 s ago");
        assert_eq!(of(600, true).unwrap(), "SLURM token: was refused by the last call");
        let problem = "SLURM token file /x cannot be read: entity not found".to_owned();
        assert_eq!(unusable(Err(problem.clone())), Some(problem));
    }

    #[tokio::test]
    async fn a_worker_that_starts_or_stops_is_not_ready() {
        assert_eq!(worker(Phase::Starting).await.unwrap(), "worker: waits for Temporal");
        assert_eq!(worker(Phase::Stopping).await.unwrap(), "worker: is stopping");
    }
}
