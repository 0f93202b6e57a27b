//! Waiting on state, as a test does it: it fails.

use std::io::Write as _;
use std::time::Duration;

/// Looks until it is there; past the ceiling it panics with what was last seen.
pub(crate) async fn eventually<T, F>(what: &str, ceiling: Duration, look: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    sandbox::eventually(what, ceiling, look).await.unwrap_or_else(|seen| panic!("{seen}"))
}

/// An HTTP client, with TLS set up as the satellite does it.
pub(crate) fn http() -> reqwest::Client {
    clients::http::Http::new(clients::Service::Hub).unwrap().client().clone()
}

/// A line for whoever watches: not captured, since the whole takes minutes.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "  adopt_real: {line}");
}
