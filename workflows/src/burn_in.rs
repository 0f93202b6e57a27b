//! The step that proves a node's health: burn in, and undo what a burn-in that did not end well left.

use proto::v1::{BurnInRequest, BurnInResult, BurnInVerdict, FailureDetails};
use proto::{BurnIn, Input, Proto};
use temporalio_workflow::{WorkflowContext, WorkflowTermination};

use crate::stop::Stop;
use crate::{BurnInSbatch, BurnInStop, failure, options};

/// The patch since which a node is burned in before it is opened, and `stop` is heeded before the first
/// activity. Histories without it hold the order of the release before.
pub(crate) const PATCH: &str = "burn-in";

/// Burns in. `None` when `stop` came before it, or ended it: the node is left closed then.
///
/// # Errors
/// Its failure, and each verdict that does not open a node. Whatever ended it but its own result, also a
/// cancel of the workflow, `burn_in_stop` runs before that is handed on.
pub(crate) async fn prove<W>(
    ctx: &WorkflowContext<W>,
    stop: &Stop,
    request: BurnInRequest,
    parsed: &BurnIn,
) -> Result<Option<BurnInResult>, WorkflowTermination> {
    if stop.is_asked() {
        return Ok(None);
    }
    // nothing has begun that could be undone
    if ctx.cancellation_token().is_cancelled() {
        return Err(WorkflowTermination::cancelled());
    }
    let device = request.device_id.clone();
    let input = Input::from(request.clone());
    let error = match stop.interrupts(ctx, BurnInSbatch, input, options::burn_in(parsed)).await {
        Ok(Proto(result)) => return check(&device, result).map(Some),
        Err(error) => error,
    };
    let undone = ctx.execute_activity(BurnInStop, Input::from(request), options::burn_in_stop()).await;
    match undone {
        // that a job may be left is said in place of an end that says that none is
        Err(left) if failure::is_cancellation(&error) => Err(failure::of_activity(&device, left)),
        _ if stop.ended(ctx, &error) => Ok(None),
        _ => Err(failure::of_activity(&device, error)),
    }
}

/// Only these verdicts open a node, and only where nobody's job slipped in.
fn check(device: &str, result: BurnInResult) -> Result<BurnInResult, WorkflowTermination> {
    use BurnInVerdict::{AlreadyOpen, Failed, NotRun, Off, Passed, Unknown, Unspecified};
    let leaked = !result.leaked_jobs.is_empty();
    // a verdict of a newer worker is not known here
    let verdict = BurnInVerdict::try_from(result.verdict).unwrap_or(Unspecified);
    let (code, remedy) = match verdict {
        Passed | Off | AlreadyOpen if !leaked => return Ok(result),
        Failed => ("burn_in.failed", "read the test's output on the node; mend it, then start again"),
        Passed | Off | AlreadyOpen | Unknown | Unspecified if leaked => {
            ("burn_in.leaked", "tell HPC which jobs; drain the node, then start again")
        }
        NotRun => ("burn_in.not_run", "clear what the message names, then start again"),
        Passed | Off | AlreadyOpen | Unknown | Unspecified => {
            ("burn_in.unknown", "read the message and the job's output, then start again")
        }
    };
    let message = match result.reason.as_str() {
        "" => format!("the burn-in of {} ended as {}", result.node, verdict.as_str_name()),
        reason => reason.to_owned(),
    };
    let details = FailureDetails {
        device: device.to_owned(),
        step: "burn_in".to_owned(),
        remedy: remedy.to_owned(),
        ..FailureDetails::default()
    };
    Err(failure::fail(code, &message, details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use temporalio_common::error::OutgoingWorkflowError;

    /// The code and message of a verdict; `opens` where it opens a node.
    fn said(verdict: i32, leaked_jobs: Vec<i64>) -> String {
        let reason = "as it went".to_owned();
        let result = BurnInResult { verdict, reason, leaked_jobs, ..BurnInResult::default() };
        match check("d-1", result) {
            Ok(_) => "opens".to_owned(),
            Err(WorkflowTermination::Failed(OutgoingWorkflowError::Application(failure))) => {
                assert!(failure.is_non_retryable());
                format!("{}: {failure}", failure.type_name().unwrap())
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_proof_of_health_opens() {
        for verdict in [BurnInVerdict::Passed, BurnInVerdict::Off, BurnInVerdict::AlreadyOpen] {
            assert_eq!(said(verdict.into(), vec![]), "opens");
            assert_eq!(said(verdict.into(), vec![7]), "burn_in.leaked: as it went");
        }
        assert_eq!(said(BurnInVerdict::Failed.into(), vec![]), "burn_in.failed: as it went");
        assert_eq!(said(BurnInVerdict::Failed.into(), vec![7]), "burn_in.failed: as it went");
        assert_eq!(said(BurnInVerdict::NotRun.into(), vec![]), "burn_in.not_run: as it went");
        assert_eq!(said(BurnInVerdict::Unknown.into(), vec![]), "burn_in.unknown: as it went");
        assert_eq!(said(BurnInVerdict::Unknown.into(), vec![7]), "burn_in.leaked: as it went");
        assert_eq!(said(0, vec![]), "burn_in.unknown: as it went");
        assert_eq!(said(99, vec![]), "burn_in.unknown: as it went");
    }
}
