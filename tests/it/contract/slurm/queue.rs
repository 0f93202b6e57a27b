//! Which of two jobs starts when their closed node is opened: what the queued burn-in rests on.

use clients::slurm::Job;

use super::jobs::FIRST;
use super::subject::Subject;
use super::wanted::{Wanted, ours};

/// Alice's job is there first; bob's is ours. Each case has a node of its own.
struct Case {
    node: &'static str,
    what: &'static str,
    priority: Option<u32>,
    alices_partition: &'static str,
    first: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        node: "n1",
        what: "the older one of equal priority",
        priority: None,
        alices_partition: "main",
        first: "alice",
    },
    Case {
        node: "n2",
        what: "the one of higher priority",
        priority: Some(FIRST),
        alices_partition: "main",
        first: "bob",
    },
    Case {
        node: "n3",
        what: "the one in the partition of a higher tier",
        priority: Some(FIRST),
        alices_partition: "burnin",
        first: "alice",
    },
];

pub(super) async fn holds(s: &Subject) {
    let root = s.client("root");
    let mut waiting = Vec::new();
    for case in &CASES {
        s.drain(case.node).await;
        let script = s.long("rival");
        let wanted = Wanted { partition: case.alices_partition, ..Wanted::on(case.node, "rival", &script) };
        let alices = s.submit("alice", &wanted).await;
        let bobs = root.submit_job(&ours(case.node, "fleet-rank", s.long("fleet-rank"))).await.unwrap().id;
        if let Some(priority) = case.priority {
            root.set_job_priority(bobs, priority).await.unwrap();
        }
        waiting.push((case, alices, bobs));
    }
    for (case, ..) in &waiting {
        s.resume(case.node).await;
    }
    for (case, alices, bobs) in waiting {
        who_is_first(s, case, alices, bobs).await;
    }
}

async fn who_is_first(s: &Subject, case: &Case, alices: i64, bobs: i64) {
    let (found, root) = (&s.findings, s.client("root"));
    let is_running = async |id| root.job(id).await.unwrap().is_some_and(|j: Job| j.is_running());
    let first = s
        .sees(case.what, || async {
            match (is_running(alices).await, is_running(bobs).await) {
                (false, false) => Err("none runs".to_owned()),
                (true, _) => Ok("alice"),
                (false, true) => Ok("bob"),
            }
        })
        .await;
    s.drain(case.node).await;
    found.same(&format!("first is {}", case.what), &first, &case.first);
    let other = if first == "bob" { alices } else { bobs };
    let other = root.job(other).await.unwrap().unwrap();
    found.same("the other one waits", &other.is_pending(), &true);
    root.cancel_job("alice", alices).await.unwrap();
    root.cancel_job("bob", bobs).await.unwrap();
    s.state(case.node, "DRAIN+IDLE").await;
    s.resume(case.node).await;
    s.state(case.node, "IDLE").await;
}
