//! Adoption that is told to stop, and what it leaves alone.

use activities::adopt::adopt;
use activities::{Attempt, Class, Code};
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::adopt::{MARK, registers_closed, request, run, run_as, servers, state_of};
use crate::site::attempt;

#[tokio::test]
async fn cancelled_before_it_began_it_asks_nobody() {
    let site = registers_closed().await;
    let attempt = attempt(1, 1_790_000_100);
    attempt.cancelled.cancel();
    let failure = run_as(&site, attempt, "r-1").await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::Cancelled, Class::Cancelled));
    assert_eq!(site.conversation(), "");
}

#[tokio::test]
async fn cancelled_in_a_wait_it_says_where_and_undoes_nothing() {
    let site = registers_closed().await;
    site.state().openstack.looks_before_fate = usize::MAX;
    let (world, request, cancelled) = (site.world(), request("r-1"), CancellationToken::new());
    let (attempt, mut progress) = Attempt::new(1, Timestamp::UNIX_EPOCH, None, cancelled.clone());
    let waits = async {
        let seen = progress.wait_for(|p| p.step == "wait_active" && !p.waiting_for.is_empty()).await.unwrap();
        assert_eq!(seen.waiting_for, "server server-1 is BUILD, spawning");
        assert_eq!(seen.timeout, Code::ServerError);
        drop(seen);
        cancelled.cancel();
    };
    let (result, ()) = tokio::join!(adopt(&world, &attempt, &request), waits);
    let failure = result.unwrap_err();
    assert_eq!((failure.class, failure.step), (Class::Cancelled, "wait_active"));
    assert_eq!(servers(&site), ["server-1"]);
    assert_eq!(site.count("DELETE", "/server-1"), 0);
}

#[tokio::test]
async fn the_extra_of_others_is_left_as_it_is() {
    let site = registers_closed().await;
    site.state().slurm.boots.as_mut().unwrap()["extra"] = json!("{\"rack\":7}");
    run(&site, 1).await.unwrap();
    let (_, reason, extra) = state_of(&site);
    assert_eq!((reason, extra), (json!(MARK), json!("{\"rack\":7}")));
}
