//! Waiting on state, with a reason; and repeating a safe call a little.

use std::future::Future;

use clients::Error;

use crate::failure::is_absorbed;
use crate::{Attempt, Class, Code, Failure, World};

/// A safe call is repeated so often, each time after so many units of `Site::repeat_after`.
pub(crate) const REPEATS: [u32; 3] = [1, 3, 6];

/// What a look at something brought.
pub(crate) enum Look<T> {
    /// It has come true.
    Ready(T),
    /// Not yet; this was seen instead.
    NotYet(String),
}

/// Looks until it has come true. The workflow owns the deadline: a time-out says what was last
/// seen. What may pass by itself is waited out; any other failure ends the wait.
pub(crate) async fn until<T, F>(
    world: &World,
    attempt: &Attempt,
    mut look: impl FnMut() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<Look<T>, Failure>>,
{
    loop {
        match look().await {
            Ok(Look::Ready(value)) => return Ok(value),
            Ok(Look::NotYet(seen)) => attempt.waiting(&seen),
            Err(failure) if absorbs(&failure) => attempt.waiting(&failure.message),
            Err(failure) => return Err(failure),
        }
        attempt.pause(world.site.look_every).await?;
    }
}

/// Repeats a call that is safe to repeat, three times in ten seconds, while its failure may pass by
/// itself. Stops before it when cancelled.
pub(crate) async fn patiently<T, E, F>(
    world: &World,
    attempt: &Attempt,
    call: impl Fn() -> F,
) -> Result<T, Failure>
where
    E: Into<Failure>,
    F: Future<Output = Result<T, E>>,
{
    attempt.check()?;
    for times in REPEATS {
        let failure: Failure = match call().await {
            Ok(value) => return Ok(value),
            Err(error) => error.into(),
        };
        match failure.class {
            Class::Retry | Class::RetryAfter(_) => {
                attempt.waiting(&failure.message);
                attempt.pause(world.site.repeat_after * times).await?;
            }
            Class::Permanent | Class::NeedsHuman | Class::Cancelled => return Err(failure),
        }
    }
    call().await.map_err(Into::into)
}

/// Whether a wait goes on over it.
pub(crate) fn absorbs(failure: &Failure) -> bool {
    let source = failure.source.as_ref().and_then(|s| s.downcast_ref::<Error>());
    source.is_some_and(|e| is_absorbed(&e.kind))
}

/// Lets slurmctld save what it has acknowledged: until then it may forget it (facts: slurm §12). What
/// rests on it is looked at after this.
pub(crate) async fn settle(
    world: &World,
    attempt: &Attempt,
    timeout: Code,
    saved: &str,
) -> Result<(), Failure> {
    attempt.step("settle", timeout)?;
    attempt.waiting(&format!("slurmctld to have saved that {saved}"));
    attempt.pause(world.site.settle).await
}
