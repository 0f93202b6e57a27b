//! The records of nodes: what can be done with one that is powered down, and which can be deleted.

use clients::slurm::{Deletion, Job, NodeUpdate, SetState};

use super::reads::came_to;
use super::subject::{Subject, named};
use super::wanted::Wanted;

pub(super) async fn hold(s: &Subject) {
    one_that_is_powered_down(s).await;
    a_dynamic_one(s).await;
}

/// Made by an administrator, and never booted.
async fn one_that_is_powered_down(s: &Subject) {
    let (found, root, g1) = (&s.findings, s.client("root"), named("g1"));
    let asleep = "CLOUD+DYNAMIC_NORM+IDLE+POWERED_DOWN";
    found.same("it sleeps", &s.tokens("g1").await.as_str(), &asleep);
    let update = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
    let refused = came_to(root.update_node(&g1, &update).await);
    found.same("RESUME of one that sleeps", &refused, &"rejected".to_owned());
    s.drain("g1").await;
    let drained = "CLOUD+DRAIN+DYNAMIC_NORM+IDLE+POWERED_DOWN";
    found.same("DRAIN of one that sleeps", &s.tokens("g1").await.as_str(), &drained);
    s.resume("g1").await;
    let again = s.tokens("g1").await;
    found.same("RESUME of one that sleeps drained", &again.as_str(), &s.writes().asleep_again);
    found.same("it is deleted", &root.delete_node(&g1).await.unwrap(), &Deletion::Deleted);
}

async fn a_dynamic_one(s: &Subject) {
    let (found, root, d1) = (&s.findings, s.client("root"), named("d1"));
    s.register_beside("d1").await;
    s.state("d1", "DRAIN+DYNAMIC_NORM+IDLE").await;
    s.resume("d1").await;
    let id = s.submit("alice", &Wanted::on("d1", "sitting", &s.long("sitting"))).await;
    s.job(id, "alice's job runs", Job::is_running).await;
    s.drain("d1").await;
    let busy = came_to(root.delete_node(&d1).await);
    found.same("one with a job", &busy, &"conflict".to_owned());
    let pending = s.submit("alice", &Wanted::on("d1", "standing", "#!/bin/sh\n")).await;
    root.cancel_job("alice", id).await.unwrap();
    s.state("d1", "DRAIN+DYNAMIC_NORM+IDLE").await;
    let denied = came_to(s.client("alice").delete_node(&d1).await);
    found.same("alice deletes one", &denied, &"forbidden".to_owned());

    // although a job requires it
    found.same("one without a job", &root.delete_node(&d1).await.unwrap(), &Deletion::Deleted);
    found.same("it is gone", &root.node(&d1).await.unwrap(), &None);
    let list = root.nodes().await.unwrap().list;
    found.same("it is gone from the list", &list.iter().any(|n| n.name == d1), &false);
    found.same("one that is gone", &root.delete_node(&d1).await.unwrap(), &Deletion::Unknown);
    found.same("one of slurm.conf", &root.delete_node(&named("n1")).await.unwrap(), &Deletion::Static);
    let ended = root.job(id).await.unwrap().unwrap();
    found.same("the job that ended there", &ended.nodes, &vec!["d1".to_owned()]);
    let waits = root.job(pending).await.unwrap().unwrap();
    let seen = (waits.is_pending(), waits.required_nodes);
    found.same("a job that requires it", &seen, &(true, vec!["d1".to_owned()]));
    root.cancel_job("alice", pending).await.unwrap();
}
