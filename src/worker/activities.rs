//! The activities, as Temporal calls them: decode, check, run as an attempt, encode.

#![expect(
    dead_code,
    reason = "the macro makes a constant for each activity; the worker registers the struct"
)]

use std::sync::Arc;
use std::time::Duration;

use ::activities::plan::Made;
use ::activities::{Attempt, Code, Failure, World, adopt, poll_conditions, resume};
use model::{Invalid, SiteId};
use proto::names::{ADOPT, POLL_SCHEDULER_CONDITIONS as POLL, RESUME};
use proto::{Input, Lifecycle, Proto, v1};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::attempts::Attempts;
use super::cross_over;
use crate::telemetry::metrics::Metrics;

/// What the activities of a process share.
#[derive(Debug)]
pub(super) struct Activities {
    site: SiteId,
    world: Arc<World>,
    attempts: Attempts,
    poller: poll_conditions::Poller,
    metrics: Arc<Metrics>,
}

#[activities]
impl Activities {
    #[activity(definition = workflows::Adopt)]
    async fn adopt(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::AdoptRequest>,
    ) -> Result<Proto<v1::AdoptResult>, ActivityError> {
        let request = self.decode(ADOPT, input)?;
        let asked = self.accept(ADOPT, request.parse())?;
        let wanted = adopt::Request {
            id: asked.request,
            device: asked.device,
            actor: asked.actor,
            why: asked.why,
            dry_run: request.dry_run,
        };
        let (world, wanted) = (&self.world, &wanted);
        let body = |attempt| async move { adopt::adopt(world, &attempt, wanted).await };
        self.attempts.run(&ctx, ADOPT, Some(&wanted.device), adoption, body).await.map(adopted)
    }

    #[activity(definition = workflows::Resume)]
    async fn resume(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::ResumeRequest>,
    ) -> Result<Proto<v1::ResumeResult>, ActivityError> {
        let request = self.decode(RESUME, input)?;
        let device = self.accept(RESUME, request.parse())?.device;
        let (world, device) = (&self.world, &device);
        let body = |attempt| async move { resume::resume(world, &attempt, device).await };
        self.attempts.run(&ctx, RESUME, Some(device), resumption, body).await.map(resumed)
    }

    #[activity(definition = workflows::Poll)]
    async fn poll(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::PollRequest>,
    ) -> Result<Proto<v1::PollResult>, ActivityError> {
        let request = self.decode(POLL, input)?;
        let site = SiteId::parse(&request.site).map_err(|e| self.invalid(POLL, "", &e))?;
        self.own_site(POLL, "", &site)?;
        let (world, poller, metrics) = (&self.world, &self.poller, &self.metrics);
        let body = |attempt: Attempt| async move {
            let result = poller.poll(world, &attempt).await;
            result.inspect(|outcome| metrics.tick(attempt.started, outcome))
        };
        self.attempts.run(&ctx, POLL, None, tick, body).await.map(polled)
    }
}

impl Activities {
    pub(super) fn new(site: SiteId, world: Arc<World>, metrics: Arc<Metrics>) -> Self {
        let attempts = Attempts::new(metrics.clone());
        Self { site, world, attempts, poller: poll_conditions::Poller::default(), metrics }
    }

    /// An input that cannot be read fails at once: the SDK would retry it for ever.
    fn decode<T>(&self, activity: &'static str, input: Input<T>) -> Result<T, ActivityError> {
        input.0.map_err(|e| {
            let field = e.field.unwrap_or_else(|| "input".to_owned());
            let remedy = "send one message of the activity's input type";
            self.invalid(activity, "", &Invalid::new(&field, e.problem, remedy))
        })
    }

    /// A request that is whole and for this site.
    fn accept(
        &self,
        activity: &'static str,
        parsed: Result<Lifecycle, Invalid>,
    ) -> Result<Lifecycle, ActivityError> {
        let asked = parsed.map_err(|e| self.invalid(activity, "", &e))?;
        self.own_site(activity, asked.device.as_str(), &asked.site)?;
        Ok(asked)
    }

    fn own_site(&self, activity: &'static str, device: &str, site: &SiteId) -> Result<(), ActivityError> {
        if *site == self.site {
            return Ok(());
        }
        let problem = format!("is {site}, and this worker serves {}", self.site);
        let mistake = Invalid::new("site", problem, "send it to the site's own task queue");
        Err(self.invalid(activity, device, &mistake))
    }

    fn invalid(&self, activity: &'static str, device: &str, mistake: &Invalid) -> ActivityError {
        let failure = Failure::permanent(Code::RequestInvalid, mistake).in_step("decode");
        self.metrics.activity(activity, failure.code.as_str(), Duration::ZERO);
        cross_over::error(activity, device, failure)
    }
}

/// An adoption in a word, for the metrics.
fn adoption(outcome: &adopt::Outcome) -> &'static str {
    match outcome {
        adopt::Outcome { dry_run: true, .. } => "planned",
        adopt::Outcome { made: Some(Made::Created), .. } => "created",
        adopt::Outcome { made: Some(Made::Rebuilt), .. } => "rebuilt",
        adopt::Outcome { made: None, .. } => "unchanged",
    }
}

/// A resumption in a word, for the metrics.
fn resumption(outcome: &resume::Outcome) -> &'static str {
    match outcome {
        resume::Outcome::Resumed(_) => "resumed",
        resume::Outcome::AlreadyOpen(_) => "already_open",
    }
}

/// A tick in a word, for the metrics.
fn tick(outcome: &poll_conditions::Outcome) -> &'static str {
    match outcome.end {
        poll_conditions::End::Seen => "seen",
        poll_conditions::End::Blind => "blind",
        poll_conditions::End::Overtaken => "overtaken",
        poll_conditions::End::Busy => "busy",
    }
}

fn adopted(outcome: adopt::Outcome) -> Proto<v1::AdoptResult> {
    let plan = match outcome.made {
        Some(Made::Created) => v1::Plan::Create,
        Some(Made::Rebuilt) => v1::Plan::Rebuild,
        None => v1::Plan::Noop,
    };
    Proto(v1::AdoptResult {
        plan: plan.into(),
        dry_run: outcome.dry_run,
        node: outcome.node.to_string(),
        server_id: outcome.server.map(|s| s.to_string()).unwrap_or_default(),
        differences: outcome.plan.differences,
        warnings: outcome.warnings,
    })
}

fn resumed(outcome: resume::Outcome) -> Proto<v1::ResumeResult> {
    let (outcome, node) = match outcome {
        resume::Outcome::Resumed(node) => (v1::ResumeOutcome::Resumed, node),
        resume::Outcome::AlreadyOpen(node) => (v1::ResumeOutcome::AlreadyOpen, node),
    };
    Proto(v1::ResumeResult { outcome: outcome.into(), node: node.to_string() })
}

fn polled(outcome: poll_conditions::Outcome) -> Proto<v1::PollResult> {
    let end = match outcome.end {
        poll_conditions::End::Seen => v1::PollOutcome::Seen,
        poll_conditions::End::Blind => v1::PollOutcome::Blind,
        poll_conditions::End::Overtaken => v1::PollOutcome::Overtaken,
        poll_conditions::End::Busy => v1::PollOutcome::Busy,
    };
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Proto(v1::PollResult {
        outcome: end.into(),
        devices: count(outcome.devices),
        nodes: count(outcome.nodes),
        written: count(outcome.written),
        devices_without_node: count(outcome.devices_without_node),
        nodes_without_device: count(outcome.nodes_without_device),
        devices_in_conflict: count(outcome.devices_in_conflict),
        unknown_tokens: count(outcome.unknown_tokens),
    })
}
