//! Waiting on state.

use std::time::{Duration, Instant};

use anyhow::bail;

/// How often state is looked at.
const EVERY: Duration = Duration::from_millis(200);

/// Looks until it is there.
///
/// # Errors
/// Past the ceiling, with what was last seen.
pub async fn eventually<T, F>(what: &str, ceiling: Duration, look: impl FnMut() -> F) -> anyhow::Result<T>
where
    F: Future<Output = Result<T, String>>,
{
    while_going(|| Ok(()), what, ceiling, look).await
}

/// As [`eventually`], and ends at once with the error of `going`.
pub(crate) async fn while_going<T, F>(
    mut going: impl FnMut() -> anyhow::Result<()>,
    what: &str,
    ceiling: Duration,
    mut look: impl FnMut() -> F,
) -> anyhow::Result<T>
where
    F: Future<Output = Result<T, String>>,
{
    let started = Instant::now();
    loop {
        going()?;
        match look().await {
            Ok(value) => return Ok(value),
            Err(seen) if started.elapsed() > ceiling => {
                bail!("{what}: not within {ceiling:?}; last seen: {seen}")
            }
            Err(_) => tokio::time::sleep(EVERY).await,
        }
    }
}
