//! slurmctld goes away and comes back, as our client sees it.

use clients::Kind;
use clients::slurm::NodeUpdate;
use futures::future::LocalBoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};

use super::deeds::Away;
use super::reads::came_to;
use super::subject::{Subject, named};

pub(super) async fn it_goes_away(s: &Subject) {
    s.scontrol("n1", "drain", "kept").await;
    for away in [Away::Hung, Away::Ended] {
        nothing_is_said(s, away).await;
        s.comes_back(away).await;
        it_answers_again(s, away).await;
    }
    s.scontrol("n1", "resume", "").await;
    s.state("n1", "IDLE").await;
}

/// That it is away, and of nothing that it is not there, or that it was refused.
async fn nothing_is_said(s: &Subject, away: Away) {
    let (found, root) = (&s.findings, s.client("root"));
    // a ping of 22.05's is answered by slurmctld, so which version is spoken must be known before
    root.dialect().await.unwrap();
    s.leaves(away).await;
    let (nosuch, update) = (named("nosuch"), NodeUpdate::default());
    let asked: [(&str, LocalBoxFuture<'_, String>); 6] = [
        ("list nodes", async { came_to(root.nodes().await) }.boxed_local()),
        ("get node", async { came_to(root.node(&nosuch).await) }.boxed_local()),
        ("list jobs", async { came_to(root.jobs().await) }.boxed_local()),
        ("update node", async { came_to(root.update_node(&nosuch, &update).await) }.boxed_local()),
        ("set job priority", async { came_to(root.set_job_priority(999_999, 7).await) }.boxed_local()),
        ("cancel job", async { came_to(root.cancel_job("root", 999_999).await) }.boxed_local()),
    ];
    let asked = stream::iter(asked).map(|(what, asked)| asked.map(move |seen| (what, seen)));
    let seen: Vec<(&str, String)> = asked.buffered(s.release.at_once).collect().await;
    for (what, seen) in seen {
        let too_old = s.release.of_nothing.contains(&(what, "too old"));
        let expected = if too_old { "too old" } else { "Unavailable" };
        found.same(&format!("our client, {away:?}: {what}"), &seen.as_str(), &expected);
    }
}

/// Until slurmd has been heard of a node is UNKNOWN, and a drained one drained all the while.
async fn it_answers_again(s: &Subject, away: Away) {
    let (found, root, n1) = (&s.findings, s.client("root"), named("n1"));
    s.sees("slurmctld answers, and has heard of n1", || async {
        let node = match root.node(&n1).await {
            Ok(node) => node,
            Err(error) => {
                found.same("our client, while it starts", &error.kind, &Kind::Unavailable);
                return Err(error.to_string());
            }
        };
        let Some(node) = node else {
            found.add(format!("n1 is unknown after {away:?}"));
            return Err("no such node".to_owned());
        };
        let seen = (node.tokens.is_draining(), node.reason.as_str());
        found.same("our client, while it starts", &seen, &(true, "kept"));
        if node.tokens.to_string() == "DRAIN+IDLE" { Ok(()) } else { Err(node.tokens.to_string()) }
    })
    .await;
}
