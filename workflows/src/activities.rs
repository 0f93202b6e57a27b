//! The activities as workflows call them: name, input, output. Implemented in `src/worker`.

use proto::v1::{AdoptRequest, AdoptResult, PollRequest, PollResult, ResumeRequest, ResumeResult};
use proto::{Input, Proto, names};
use temporalio_common::ActivityDefinition;

/// Makes a device a closed node.
#[derive(Debug, Clone, Copy)]
pub struct Adopt;

impl ActivityDefinition for Adopt {
    type Input = Input<AdoptRequest>;
    type Output = Proto<AdoptResult>;

    fn name(&self) -> &str {
        names::ADOPT
    }
}

/// Opens a node of ours.
#[derive(Debug, Clone, Copy)]
pub struct Resume;

impl ActivityDefinition for Resume {
    type Input = Input<ResumeRequest>;
    type Output = Proto<ResumeResult>;

    fn name(&self) -> &str {
        names::RESUME
    }
}

/// Turns node states into conditions.
#[derive(Debug, Clone, Copy)]
pub struct Poll;

impl ActivityDefinition for Poll {
    type Input = Input<PollRequest>;
    type Output = Proto<PollResult>;

    fn name(&self) -> &str {
        names::POLL_SCHEDULER_CONDITIONS
    }
}
