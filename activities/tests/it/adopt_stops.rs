//! Adoption that is told to stop, told as a story; `cancelled` does it at every request.

use activities::adopt::adopt;
use activities::{Attempt, Class, Code};
use fakes::{Behaviour, Build};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::adopt::{registers_closed, request, run_as, servers, with_machine};
use crate::site::{T, attempt, within_ceiling};

#[tokio::test]
async fn cancelled_before_it_began_it_asks_nobody() {
    let site = registers_closed().await;
    let attempt = attempt(1, T);
    attempt.cancelled.cancel();
    let failure = run_as(&site, attempt, "r-1").await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::Cancelled, Class::Cancelled));
    assert_eq!(site.conversation(), "");
}

#[tokio::test]
async fn cancelled_in_a_wait_it_says_where_and_undoes_nothing() {
    let site = with_machine(Behaviour { build: Build::Takes(u64::MAX), ..Behaviour::default() }).await;
    let (world, request, cancelled) = (site.world(), request("r-1"), CancellationToken::new());
    let (attempt, mut progress) = Attempt::new(1, Timestamp::UNIX_EPOCH, None, cancelled.clone());
    let waits = async {
        let seen = progress.wait_for(|p| p.step == "wait_active" && !p.waiting_for.is_empty()).await.unwrap();
        assert!(seen.waiting_for.starts_with(&format!("server {} is BUILD", servers(&site)[0])));
        assert_eq!(seen.timeout, Code::ServerError);
        drop(seen);
        cancelled.cancel();
    };
    let (result, ()) = within_ceiling(async { tokio::join!(adopt(&world, &attempt, &request), waits) }).await;
    let failure = result.unwrap_err();
    assert_eq!((failure.class, failure.step), (Class::Cancelled, "wait_active"));
    assert_eq!(servers(&site).len(), 1);
    assert!(site.writes().iter().all(|r| r.method != "DELETE"));
}
