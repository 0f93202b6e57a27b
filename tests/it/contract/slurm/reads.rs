//! What is read on every release, of nodes that stand in slurm.conf, and what nobody may write.

use std::collections::HashSet;
use std::fmt::Debug;

use clients::slurm::{Job, NewReservation, Node, NodeUpdate, Partition, Tokens};
use clients::{Error, Kind};
use fakes::End;
use reqwest::Method;
use serde_json::{Value, json};

use super::Got;
use super::subject::{Subject, named};
use super::wanted::{Wanted, ours};

pub(super) async fn holds(s: &Subject) {
    who_asks(s).await;
    what_is_there(s).await;
    what_is_not_there(s).await;
    what_is_not_served(s).await;
    a_job(s).await;
    a_reservation(s).await;
    what_is_hidden(s).await;
    what_is_no_utf_8(s).await;
}

async fn who_asks(s: &Subject) {
    let (found, release) = (&s.findings, s.release);
    let got = s.get("ping").await;
    found.answer("ping", &got, &got.errors(), &(200, Some(vec![])));
    s.whole("ping", &got.json());
    let nobody = Got::of(s.http.get(format!("{}/slurm/{}", s.url, s.at("nodes")))).await;
    found.answer("no token", &nobody, &nobody.errors(), &(401, None));
    let nameless = s.http.get(format!("{}/slurm/{}", s.url, s.at("nodes")));
    let nameless = Got::of(nameless.header("X-SLURM-USER-TOKEN", &s.root)).await;
    found.answer("no name", &nameless, &nameless.status, &release.nameless);

    for token in ["garbage", &s.alice] {
        let garbage = async |path| Got::of(s.request(Method::GET, &s.at(path), token)).await;
        let (status, number) = release.refused_token;
        for path in ["nodes", "node/n1", "reservations", "jobs"] {
            let got = garbage(path).await;
            found.answer(
                &format!("a refused token: {path}"),
                &got,
                &got.errors(),
                &(status, Some(vec![number])),
            );
        }
        for (path, (status, numbers)) in
            [("ping", release.refused_ping), ("partitions", release.refused_partitions)]
        {
            let (what, got) = (format!("a refused token: {path}"), garbage(path).await);
            found.answer(&what, &got, &got.errors(), &(status, Some(numbers.to_vec())));
        }
        let job = (release.job)(&Wanted::on("n1", "x", "#!/bin/sh\n"));
        let got = Got::of(s.request(Method::POST, &s.at("job/submit"), token).json(&job)).await;
        let (status, number) = release.refused_submit;
        found.answer("a refused token: a job", &got, &got.errors(), &(status, Some(vec![number])));
    }
    let refused = came_to(s.client_with("root", &s.alice).nodes().await);
    found.same("our client: a refused token", &refused.as_str(), &release.refused);
}

async fn what_is_there(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let nodes = root.nodes().await.unwrap();
    found.same("our client: unreadable nodes", &nodes.unreadable, &0);
    let reads_time = s.release.real.version != "v0.0.40";
    found.same("our client: has nodes reckoned", &root.reckon().await.unwrap(), &reads_time);
    let names: Vec<&str> = nodes.list.iter().map(|n| n.name.as_str()).collect();
    found.same("our client: the nodes", &json!(names), &json!(s.shape.names()));
    for node in &nodes.list {
        let features = vec!["rack1".to_owned(), "ib".to_owned()];
        let expected = Node {
            name: node.name.clone(),
            tokens: Tokens::new(["IDLE"]),
            reason: String::new(),
            extra: String::new(),
            features: features.clone(),
            active_features: features,
            gres: "gpu:h100:4".to_owned(),
            partitions: s.shape.partitions_of(node.name.as_str()),
            slurmd_start_time: node.slurmd_start_time,
            suspend_time: None,
        };
        found.same("our client: a node", node, &expected);
        found.same("our client: it has started", &(node.slurmd_start_time > 0), &true);
        let one = root.node(&node.name).await.unwrap().unwrap();
        let partitions = if s.release.partitions_of_one { node.partitions.clone() } else { Vec::new() };
        found.same("our client: one node", &one, &Node { partitions, ..expected });
    }
    // the last is in another partition than the first
    let last = format!("n{}", s.shape.nodes);
    let got = s.get(&format!("node/{last}")).await;
    s.whole("node", &got.json()["nodes"][0]);
    let told = s.shape.partitions_of(if s.release.partitions_of_one { &last } else { "n1" });
    found.answer("the partitions of one", &got, &got.json()["nodes"][0]["partitions"], &json!(told));

    let got = s.get("partitions").await;
    s.whole("partition", &got.json()["partitions"][0]);
    let mut partitions = root.partitions().await.unwrap();
    partitions.sort_by_key(|p| p.tier);
    let partition = |name: &str, tier: i64| {
        let of = |node: &String| s.shape.partitions_of(node).iter().any(|p| p == name);
        let nodes: HashSet<String> = s.shape.names().into_iter().filter(of).collect();
        Partition { name: name.to_owned(), up: true, tier, nodes }
    };
    found.same("our client: partitions", &partitions, &vec![partition("main", 1), partition("burnin", 10)]);
    found.same("our client: slurmdbd", &root.accounting().await.unwrap(), &s.shape.accounting);
    found.same("our client: no past job", &root.past_job(999_999).await.unwrap(), &None);
}

async fn what_is_not_there(s: &Subject) {
    let (found, release, root) = (&s.findings, s.release, s.client("root"));
    let mut errors = json!({});
    for (path, (status, number)) in [
        ("node/nosuch", release.unknown_node),
        ("job/999999", release.unknown_job),
        ("reservation/nosuch", release.unknown_reservation),
    ] {
        let got = s.get(path).await;
        found.answer(path, &got, &got.errors(), &(status, Some(vec![number])));
        errors[path] = got.json()["errors"][0].clone();
    }
    s.whole("errors", &errors);
    found.same("our client: an unknown node", &root.node(&named("nosuch")).await.unwrap(), &None);
    found.same("our client: an unknown job", &root.job(999_999).await.unwrap(), &None);
    found.same("our client: no reservation", &root.reservations().await.unwrap(), &vec![]);
}

async fn what_is_not_served(s: &Subject) {
    let found = &s.findings;
    for (method, path, status) in s.release.unserved {
        let request = s.request(method.parse().unwrap(), &s.at(path), &s.root);
        let got = Got::of(request.json(&json!({}))).await;
        found.answer(&format!("{method} {path}"), &got, &got.errors(), &(*status, None));
    }
    found.same("our client: writes of nothing", &of_nothing(s).await, &s.release.of_nothing.map(told));
}

fn told((what, came_to): (&str, &str)) -> (String, String) {
    (what.to_owned(), came_to.to_owned())
}

/// What each write of our client comes to when what it means is not there.
async fn of_nothing(s: &Subject) -> [(String, String); 8] {
    let (root, nosuch, no_job) = (s.client("root"), named("nosuch"), 999_999);
    let reservation = NewReservation {
        name: "nosuch".to_owned(),
        user: "bob".to_owned(),
        node: nosuch.clone(),
        seconds: 60,
    };
    let job = ours("nosuch", "nosuch", "#!/bin/sh\n".to_owned());
    let update = NodeUpdate { reason: Some("x".to_owned()), ..NodeUpdate::default() };
    [
        ("update node", came_to(root.update_node(&nosuch, &update).await)),
        ("delete node", came_to(root.delete_node(&nosuch).await)),
        ("create node", came_to(root.create_node(&nosuch, "Bogus=1").await)),
        ("create reservation", came_to(root.create_reservation(&reservation).await)),
        ("delete reservation", came_to(root.delete_reservation("nosuch").await)),
        ("submit job", came_to(root.submit_job(&job).await)),
        ("set job priority", came_to(root.set_job_priority(no_job, 7).await)),
        ("cancel job", came_to(root.cancel_job("root", no_job).await)),
    ]
    .map(|(what, came_to)| (what.to_owned(), came_to))
}

/// What it was, or the kind of its error without words.
pub(super) fn came_to<T: Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(Error { kind: Kind::Rejected(_), .. }) => "rejected".to_owned(),
        Err(Error { kind: Kind::TooOld(_), .. }) => "too old".to_owned(),
        Err(Error { kind: Kind::Forbidden(_), .. }) => "forbidden".to_owned(),
        Err(Error { kind: Kind::Conflict(_), .. }) => "conflict".to_owned(),
        Err(Error { kind, .. }) => format!("{kind:?}"),
    }
}

/// The same with its times told apart only as unknown (0) and known (1).
pub(super) fn timeless(job: &Job) -> Job {
    let known = |time: i64| i64::from(time > 0);
    Job {
        submit_time: known(job.submit_time),
        start_time: known(job.start_time),
        end_time: known(job.end_time),
        ..job.clone()
    }
}

/// Alice's job on n3, which ends with 3.
async fn a_job(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let script = s.script("alices", 2, "", End::Failed(3));
    let id = s.submit("alice", &Wanted::on("n3", "alices", &script)).await;
    let running = s.job(id, "alice's job runs", Job::is_running).await;
    let expected = Job {
        id,
        name: "alices".to_owned(),
        user: "alice".to_owned(),
        states: vec!["RUNNING".to_owned()],
        reason: "None".to_owned(),
        nodes: vec!["n3".to_owned()],
        required_nodes: vec!["n3".to_owned()],
        partitions: vec!["main".to_owned()],
        priority: s.release.priority.or(running.priority),
        submit_time: 1,
        start_time: 1,
        end_time: 1,
        time_limit_minutes: Some(30),
        ..Job::default()
    };
    found.same("our client: a running job", &timeless(&running), &expected);
    found.same("our client: when it must end", &(running.end_time - running.start_time), &1800);
    let jobs = root.jobs().await.unwrap();
    let on_n3 = jobs.iter().filter(|j| j.holds(&named("n3"))).count();
    found.same("our client: one holds the node", &on_n3, &1);
    found.same("our client: a busy node", &s.tokens("n3").await, &"ALLOCATED".to_owned());
    let ended = s.job(id, "alice's job has ended", Job::has_ended).await;
    let expected = Job {
        states: vec!["FAILED".to_owned()],
        reason: "NonZeroExitCode".to_owned(),
        exit_code: Some(3),
        ..expected
    };
    found.same("our client: a job that ended", &timeless(&ended), &expected);
    s.state("n3", "IDLE").await;
}

/// One that an administrator made.
async fn a_reservation(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    s.reserve("theirs", "n2").await;
    let got = s.get("reservations").await;
    s.whole("reservation", &got.json()["reservations"][0]);
    let all = root.reservations().await.unwrap();
    let seen: Vec<_> = all.iter().map(|r| (&r.name, &r.users, &r.nodes, &r.flags)).collect();
    let flags: Vec<String> = ["MAINT", "IGNORE_JOBS", "SPEC_NODES"].map(str::to_owned).into();
    let (name, users) = ("theirs".to_owned(), vec!["bob".to_owned()]);
    let nodes = HashSet::from(["n2".to_owned()]);
    found.same("our client: a reservation", &seen, &vec![(&name, &users, &nodes, &flags)]);
    found.same("our client: it ends", &(all[0].end_time > all[0].start_time), &true);
    s.state("n2", "IDLE+MAINTENANCE+RESERVED").await;
    s.unreserve("theirs").await;
    s.state("n2", "IDLE").await;
}

async fn what_is_hidden(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    s.cloud("g1").await;
    let list = root.nodes().await.unwrap().list;
    let listed = list.iter().any(|n| n.name.as_str() == "g1");
    found.same("our client: a powered-down node is listed", &listed, &!s.release.hides_powered_down);
    let state = s.tokens("g1").await;
    found.same("our client: a powered-down node", &state.as_str(), &"CLOUD+DYNAMIC_NORM+IDLE+POWERED_DOWN");
}

/// One reason of such bytes, and the list of all nodes is no UTF-8.
async fn what_is_no_utf_8(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    s.drain_in_latin1("n2", s.shape).await;
    let answer = s.request(Method::GET, &s.at("nodes"), &s.root).send().await.unwrap();
    let bytes = answer.bytes().await.unwrap();
    found.same("the bytes of a reason", &bytes.windows(4).any(|four| four == b"caf\xe9"), &true);
    let nodes = root.nodes().await.unwrap();
    let of_n2 = nodes.list.iter().find(|n| n.name.as_str() == "n2").map(|n| n.reason.as_str());
    let seen = (nodes.unreadable, of_n2);
    found.same("our client: a reason that is no UTF-8", &seen, &(0, Some("caf\u{fffd}")));
    let node = s.get("node/n2").await.json()["nodes"][0].clone();
    let (state, flags) = s.release.drained;
    let expected: (Value, Value) =
        (serde_json::from_str(state).unwrap(), serde_json::from_str(flags).unwrap());
    found.same("a drained node", &(node["state"].clone(), node["state_flags"].clone()), &expected);
    found.same("our client: a drained node", &s.tokens("n2").await, &"DRAIN+IDLE".to_owned());
    s.scontrol("n2", "resume", "").await;
    s.state("n2", "IDLE").await;
}
