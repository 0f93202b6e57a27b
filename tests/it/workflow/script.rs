//! What a mocked activity is told to do, and what it answers.

use proto::v1::{
    AdoptRequest, AdoptResult, BurnInRequest, BurnInResult, BurnInVerdict, DrainOutcome, DrainRequest,
    DrainResult, FailureDetails, NodeRecord, Plan, PollOutcome, PollRequest, PollResult, Progress,
    ReleaseRequest, ReleaseResult, ResumeOutcome, ResumeRequest, ResumeResult,
};

/// What one attempt does.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Ends well.
    Succeed,
    /// Fails.
    Fail(Failure),
    /// Panics, as a mistake of ours would.
    Panic,
    /// Ends as cancelled.
    Stop,
    /// Ends as cancelled, once the test lets it go.
    StopLater,
    /// Waits, with a heartbeat of this progress where there is one. Ends well when the test lets it
    /// go; does `told` when it is told to stop.
    Wait { progress: Option<Progress>, told: Box<Act> },
}

impl Act {
    /// Waits for registration, and stops when told to.
    pub(crate) fn wait() -> Self {
        Self::wait_then(Self::Stop)
    }

    /// Waits for registration, and does this when told to stop.
    pub(crate) fn wait_then(told: Self) -> Self {
        Self::Wait { progress: Some(progress()), told: Box::new(told) }
    }

    /// Waits without a heartbeat.
    pub(crate) fn hang() -> Self {
        Self::Wait { progress: None, told: Box::new(Self::Stop) }
    }
}

/// A failure with a code: an activity's as told, a workflow's as read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) non_retryable: bool,
    pub(crate) details: FailureDetails,
}

impl Failure {
    /// One that the same request always ends in.
    pub(crate) fn permanent(code: &str, message: &str) -> Self {
        Self {
            code: code.to_owned(),
            message: message.to_owned(),
            non_retryable: true,
            details: FailureDetails {
                device: "gpu-001".to_owned(),
                step: "plan".to_owned(),
                field: "flavor".to_owned(),
                remedy: "have HPC fill it in".to_owned(),
            },
        }
    }

    /// One that may pass by itself.
    pub(crate) fn passing(code: &str, message: &str) -> Self {
        Self { non_retryable: false, ..Self::permanent(code, message) }
    }

    /// The same, as a workflow hands it on.
    pub(crate) fn handed_on(&self) -> Self {
        Self { non_retryable: true, ..self.clone() }
    }
}

pub(crate) fn progress() -> Progress {
    Progress {
        step: "wait_registered".to_owned(),
        waiting_for: "gpu-001 to register; seen: no such node".to_owned(),
        since: Some(pbjson_types::Timestamp { seconds: 1_796_040_000, nanos: 0 }),
        timeout_code: "slurm.registration_timeout".to_owned(),
    }
}

pub(crate) fn adopt_request() -> AdoptRequest {
    AdoptRequest {
        request_id: "r-1".to_owned(),
        site: "lab".to_owned(),
        device_id: "gpu-001".to_owned(),
        actor: "ada".to_owned(),
        reason: "new in rack 7".to_owned(),
        ..AdoptRequest::default()
    }
}

pub(crate) fn resume_request() -> ResumeRequest {
    ResumeRequest {
        request_id: "r-1".to_owned(),
        site: "lab".to_owned(),
        device_id: "gpu-001".to_owned(),
        actor: "ada".to_owned(),
        reason: "new in rack 7".to_owned(),
        ..ResumeRequest::default()
    }
}

pub(crate) fn drain_request() -> DrainRequest {
    DrainRequest {
        request_id: "r-1".to_owned(),
        site: "lab".to_owned(),
        device_id: "gpu-001".to_owned(),
        actor: "ada".to_owned(),
        reason: "bad fan".to_owned(),
        ..DrainRequest::default()
    }
}

pub(crate) fn release_request() -> ReleaseRequest {
    ReleaseRequest {
        request_id: "r-1".to_owned(),
        site: "lab".to_owned(),
        device_id: "gpu-001".to_owned(),
        actor: "ada".to_owned(),
        reason: "end of lease".to_owned(),
        ..ReleaseRequest::default()
    }
}

pub(crate) fn burn_in_request() -> BurnInRequest {
    BurnInRequest {
        request_id: "r-1".to_owned(),
        site: "lab".to_owned(),
        device_id: "gpu-001".to_owned(),
        actor: "ada".to_owned(),
        reason: "new fan".to_owned(),
        ..BurnInRequest::default()
    }
}

pub(crate) fn poll_request() -> PollRequest {
    PollRequest { site: "lab".to_owned() }
}

/// `seconds` for the whole adoption.
pub(crate) fn within(seconds: i64) -> AdoptRequest {
    AdoptRequest { deadline: Some(pbjson_types::Duration { seconds, nanos: 0 }), ..adopt_request() }
}

pub(crate) fn adopted(dry_run: bool) -> AdoptResult {
    AdoptResult {
        plan: Plan::Create.into(),
        dry_run,
        node: "gpu-001".to_owned(),
        server_id: if dry_run { String::new() } else { "6a1f3d2e".to_owned() },
        differences: vec!["there is no server".to_owned()],
        warnings: Vec::new(),
    }
}

pub(crate) fn resumed() -> ResumeResult {
    ResumeResult {
        outcome: ResumeOutcome::Resumed.into(),
        node: "gpu-001".to_owned(),
        ..ResumeResult::default()
    }
}

/// As ResumeDevice says it, with the burn-in before it.
pub(crate) fn proven_and_resumed() -> ResumeResult {
    ResumeResult { burn_in: Some(passed()), ..resumed() }
}

pub(crate) fn drained() -> DrainResult {
    DrainResult {
        outcome: DrainOutcome::Drained.into(),
        node: "gpu-001".to_owned(),
        ..DrainResult::default()
    }
}

pub(crate) fn released() -> ReleaseResult {
    ReleaseResult {
        node: "gpu-001".to_owned(),
        server_id: "6a1f3d2e".to_owned(),
        record: NodeRecord::Deleted.into(),
        cancelled_jobs: Vec::new(),
    }
}

pub(crate) fn passed() -> BurnInResult {
    BurnInResult {
        verdict: BurnInVerdict::Passed.into(),
        node: "gpu-001".to_owned(),
        job_id: 4711,
        reason: "3 tests passed".to_owned(),
        tests: vec!["disk sha256:9f86d081".to_owned()],
        ..BurnInResult::default()
    }
}

/// A burn-in that ended so.
pub(crate) fn burned(verdict: BurnInVerdict, reason: &str) -> BurnInResult {
    BurnInResult { verdict: verdict.into(), reason: reason.to_owned(), ..passed() }
}

pub(crate) fn polled() -> PollResult {
    PollResult {
        outcome: PollOutcome::Seen.into(),
        devices: 4,
        nodes: 3,
        written: 2,
        devices_without_node: 1,
        ..PollResult::default()
    }
}
