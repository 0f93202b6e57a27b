//! Waiting on state, with a reason; and repeating a safe call a little.

use std::future::Future;

use clients::Error;

use crate::failure::{class, is_absorbed};
use crate::{Attempt, Class, Failure, World};

/// A safe call is repeated so often, each time after so many units of `Site::repeat_after`.
const REPEATS: [u32; 3] = [1, 3, 6];

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

/// Repeats a call that is safe to repeat, three times in ten seconds, while its error may pass by
/// itself.
pub(crate) async fn patiently<T, F>(
    world: &World,
    attempt: &Attempt,
    call: impl Fn() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Error>>,
{
    for times in REPEATS {
        match call().await {
            Ok(value) => return Ok(value),
            Err(error) => match class(&error.kind) {
                Class::Retry | Class::RetryAfter(_) => {
                    attempt.waiting(&error.to_string());
                    attempt.pause(world.site.repeat_after * times).await?;
                }
                Class::Permanent | Class::NeedsHuman | Class::Cancelled => return Err(error.into()),
            },
        }
    }
    Ok(call().await?)
}

fn absorbs(failure: &Failure) -> bool {
    let source = failure.source.as_ref().and_then(|s| s.downcast_ref::<Error>());
    source.is_some_and(|e| is_absorbed(&e.kind))
}
