//! Waiting on state.

use std::future::Future;
use std::time::{Duration, Instant};

use std::io::Write as _;

/// Looks until it is there; past the ceiling it panics with what was last seen.
pub(crate) async fn eventually<T, F>(what: &str, ceiling: Duration, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    let started = Instant::now();
    loop {
        match look().await {
            Ok(value) => return value,
            Err(seen) if started.elapsed() > ceiling => {
                panic!("{what}: not within {ceiling:?}; last seen: {seen}")
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// An HTTP client, with TLS set up as the satellite does it.
pub(crate) fn http() -> reqwest::Client {
    clients::http::Http::new(clients::Service::Hub).unwrap().client().clone()
}

/// A line for whoever watches: not captured, since the whole takes minutes.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "  adopt_real: {line}");
}
