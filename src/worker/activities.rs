//! The activities, as Temporal calls them: decode, check, run as an attempt, encode.

#![expect(
    dead_code,
    reason = "the macro makes a constant for each activity; the worker registers the struct"
)]

mod answer;
mod ask;
mod word;

use std::sync::Arc;
use std::time::Duration;

use ::activities::{Attempt, Code, Failure, World, adopt, burn_in, drain, poll_conditions, release, resume};
use model::{Invalid, SiteId};
use proto::names::{
    ADOPT, BURN_IN_SBATCH, BURN_IN_STOP, DRAIN, POLL_SCHEDULER_CONDITIONS as POLL, RELEASE, RESUME,
};
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
        let parsed = self.accept(ADOPT, request.parse(), |p| &p.asked)?;
        let wanted = &ask::adoption(parsed.asked, &request);
        let world = &self.world;
        let body = |attempt| async move { adopt::adopt(world, &attempt, wanted).await };
        let ended = self.attempts.run(&ctx, ADOPT, Some(&wanted.asked.device), word::adoption, body);
        ended.await.map(answer::adopted)
    }

    #[activity(definition = workflows::Resume)]
    async fn resume(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::ResumeRequest>,
    ) -> Result<Proto<v1::ResumeResult>, ActivityError> {
        let request = self.decode(RESUME, input)?;
        let asked = &ask::of(self.accept(RESUME, request.parse(), |p| p)?, request.force);
        let world = &self.world;
        let body = |attempt| async move { resume::resume(world, &attempt, asked).await };
        let ended = self.attempts.run(&ctx, RESUME, Some(&asked.device), word::resumption, body);
        ended.await.map(answer::resumed)
    }

    #[activity(definition = workflows::Drain)]
    async fn drain(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::DrainRequest>,
    ) -> Result<Proto<v1::DrainResult>, ActivityError> {
        let request = self.decode(DRAIN, input)?;
        let wanted = &ask::drain(self.accept(DRAIN, request.parse(), |p| &p.asked)?);
        let world = &self.world;
        let body = |attempt| async move { drain::drain(world, &attempt, wanted).await };
        let ended = self.attempts.run(&ctx, DRAIN, Some(&wanted.asked.device), word::drain, body);
        ended.await.map(answer::drained)
    }

    #[activity(definition = workflows::Release)]
    async fn release(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::ReleaseRequest>,
    ) -> Result<Proto<v1::ReleaseResult>, ActivityError> {
        let request = self.decode(RELEASE, input)?;
        let parsed = self.accept(RELEASE, request.parse(), |p| &p.asked)?;
        let wanted = &ask::release(parsed, request.force);
        let world = &self.world;
        let body = |attempt| async move { release::release(world, &attempt, wanted).await };
        let ended = self.attempts.run(&ctx, RELEASE, Some(&wanted.asked.device), word::release, body);
        ended.await.map(answer::released)
    }

    #[activity(definition = workflows::BurnInSbatch)]
    async fn burn_in_sbatch(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::BurnInRequest>,
    ) -> Result<Proto<v1::BurnInResult>, ActivityError> {
        let request = self.decode(BURN_IN_SBATCH, input)?;
        let parsed = self.accept(BURN_IN_SBATCH, request.parse(), |p| &p.asked)?;
        let wanted = &ask::burn_in(parsed, &request);
        let world = &self.world;
        let body = |attempt| async move { burn_in::burn_in_sbatch(world, &attempt, wanted).await };
        let device = Some(&wanted.asked.device);
        let ended = self.attempts.run(&ctx, BURN_IN_SBATCH, device, word::burn_in, body);
        ended.await.map(answer::burned_in)
    }

    #[activity(definition = workflows::BurnInStop)]
    async fn burn_in_stop(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: Input<v1::BurnInRequest>,
    ) -> Result<Proto<v1::BurnInStopResult>, ActivityError> {
        let request = self.decode(BURN_IN_STOP, input)?;
        let parsed = self.accept(BURN_IN_STOP, request.parse(), |p| &p.asked)?;
        let wanted = &ask::burn_in(parsed, &request);
        let world = &self.world;
        let body = |attempt| async move { burn_in::burn_in_stop(world, &attempt, wanted).await };
        let device = Some(&wanted.asked.device);
        let ended = self.attempts.run(&ctx, BURN_IN_STOP, device, word::stopped, body);
        ended.await.map(answer::stopped)
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
        self.attempts.run(&ctx, POLL, None, word::tick, body).await.map(answer::polled)
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
    fn accept<T>(
        &self,
        activity: &'static str,
        parsed: Result<T, Invalid>,
        asked: impl FnOnce(&T) -> &Lifecycle,
    ) -> Result<T, ActivityError> {
        let parsed = parsed.map_err(|e| self.invalid(activity, "", &e))?;
        let asked = asked(&parsed);
        self.own_site(activity, asked.device.as_str(), &asked.site)?;
        Ok(parsed)
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
