//! What our clients count on in slurmrestd, as it happens to one node.

use clients::Kind;
use clients::slurm::{Node, NodeUpdate, SetState, Slurm, Token};
use model::NodeName;
use reqwest::Method;
use serde_json::json;

use super::{CEILING, Subject, gone, make};
use crate::contract::Got;
use crate::wait::eventually;

pub(super) async fn holds(s: &Subject) {
    who_asks(s).await;
    what_cannot_be_read(s).await;
    what_is_not_there(s).await;
    what_is_no_job(s).await;
    s.register("c1").await;
    a_node_that_registers_closed(s).await;
    what_can_be_changed(s).await;
    what_is_refused(s).await;
    it_opens(s).await;
    a_job_holds_it(s).await;
    gone::it_goes_away(s).await;
    make::a_node_is_made(s).await;
}

fn c1() -> NodeName {
    NodeName::parse("c1").unwrap()
}

async fn who_asks(s: &Subject) {
    let found = &s.findings;
    let got = s.get("ping").await;
    found.answer("ping", &got, &got.errors(), &(200, Some(vec![])));
    s.whole("ping", &got.json());
    found.answer("ping", &got, &got.json()["pings"][0]["responding"], &json!(true));

    let nobody = s.http.get(format!("{}/slurm/{}", s.url, s.at("nodes")));
    let got = Got::of(nobody).await;
    found.answer("no token", &got, &got.errors(), &(401, None));

    let got = Got::of(s.request(Method::GET, &s.at("nodes"), "garbage")).await;
    found.answer("a garbage token", &got, &got.errors(), &(511, Some(vec![1007])));
    let got = Got::of(s.request(Method::GET, &s.at("nodes"), &s.alice)).await;
    found.answer("alice's token under root's name", &got, &got.errors(), &(511, Some(vec![1007])));

    let client = Slurm::new(
        s.url.parse().unwrap(),
        "root".to_owned(),
        Token::in_environment("SLURM_JWT", s.alice.clone().into()),
    );
    let refused = client.unwrap().nodes().await.unwrap_err();
    found.same("our client: not the token's user", &refused.kind, &Kind::Unauthenticated);
}

/// Refused by slurmrestd itself, in plain text.
async fn what_cannot_be_read(s: &Subject) {
    let found = &s.findings;
    let (no_url, unparsed) = (s.writes().no_url, s.writes().unparsed);
    let (unknown, unknown_type) = s.writes().unknown_type;
    let json = "application/json";
    let with_charset = "application/json; charset=utf-8";
    for (what, method, path, content, body, status, text) in [
        ("a version", "GET", "../v0.0.1/ping", json, "", 404, no_url),
        ("a path", "GET", "bogus", json, "", 404, no_url),
        ("a method of a node", "PUT", "node/c1", json, "", 404, no_url),
        ("a method of the nodes", "DELETE", "nodes", json, "", 404, no_url),
        ("a charset", "POST", "node/c1", with_charset, "{}", unknown, unknown_type),
        ("a text", "POST", "node/c1", "text/plain", "{}", unknown, unknown_type),
        ("half a body", "POST", "node/c1", json, "{\"reason\":", 400, unparsed),
        ("no JSON", "POST", "node/c1", json, "x", 400, unparsed),
    ] {
        let path = match path.strip_prefix("../") {
            Some(above) => above.to_owned(),
            None => s.at(path),
        };
        let request = s.request(method.parse().unwrap(), &path, &s.root).header("Content-Type", content);
        let got = Got::of(request.body(body)).await;
        let seen = (got.errors(), got.text.starts_with(text));
        found.answer(&format!("not read: {what}"), &got, &seen, &((status, None), true));
    }
    let html = s.request(Method::GET, &s.at("ping"), &s.root).header("Accept", "text/html");
    let got = Got::of(html).await;
    let expected = (415, s.writes().unaccepted);
    found.answer("not read: Accept", &got, &(got.status, got.text.as_str()), &expected);
    let got = s.post("node/c1", &json!([])).await;
    found.answer("not read: a list", &got, &got.errors(), &(500, Some(vec![9209])));
    let got = s.get("nodes?update_time=abc").await;
    found.answer("not read: a time", &got, &got.errors(), &(500, Some(vec![9202, 9000])));
    let got = s.get("nodes?bogus=1").await;
    found.answer("an unknown query is ignored", &got, &got.errors(), &(200, Some(vec![])));
}

async fn what_is_not_there(s: &Subject) {
    let found = &s.findings;
    let got = s.get("node/nosuch").await;
    found.answer("an unknown node", &got, &got.errors(), &(200, Some(vec![0])));
    let said = got.json()["errors"][0]["description"].clone();
    found.answer("an unknown node is named", &got, &said, &json!("Failure to query node nosuch"));
    let nodes = got.json()["nodes"].as_array().map_or(0, Vec::len);
    found.answer("an unknown node is none", &got, &nodes, &0);

    let got = s.get("job/999999").await;
    found.answer("an unknown job", &got, &got.errors(), &(404, Some(vec![2017])));
    let got = s.post("node/nosuch", &json!({"state": ["DRAIN"], "reason": "x"})).await;
    found.answer("a change of an unknown node", &got, &got.errors(), &(s.writes().refused, Some(vec![2018])));

    let nosuch = NodeName::parse("nosuch").unwrap();
    found.same("our client: an unknown node", &s.client("root").node(&nosuch).await.unwrap(), &None);
    let nodes = s.client("root").nodes().await.unwrap();
    found.same("our client: no node", &(nodes.list.len(), nodes.unreadable), &(0, 0));
    let partitions = s.client("root").partitions().await.unwrap();
    let partitions: Vec<_> = partitions.iter().map(|p| (p.name.as_str(), p.up)).collect();
    found.same("our client: partitions", &partitions, &vec![("main", true)]);
    found.same("our client: no job", &s.client("root").jobs().await.unwrap(), &vec![]);

    let got = s.get("partitions").await;
    found.answer("partitions", &got, &got.errors(), &(200, Some(vec![])));
    let partition = got.json()["partitions"][0].clone();
    found.shape(
        "a partition",
        &partition,
        &[("name", "string"), ("partition/state", "strings"), ("nodes/configured", "string")],
    );
    found.answer("a partition's state", &got, &partition["partition"]["state"], &json!(["UP"]));
}

async fn what_is_no_job(s: &Subject) {
    let job = json!({"name": "x", "environment": ["A=b"], "current_working_directory": "/tmp"});
    let (script, refused) = ("#!/bin/sh\n", s.writes().refused);
    for (what, script, over, status, number) in [
        ("no script", "", json!({}), 422, 9000),
        ("no environment", script, json!({"environment": null}), refused, s.writes().no_environment),
        ("no directory", script, json!({"current_working_directory": null}), refused, 2063),
        ("no such partition", script, json!({"partition": "nosuch"}), refused, 2000),
        ("no such node", script, json!({"required_nodes": ["nosuch"]}), refused, 2018),
        ("no such feature", script, json!({"constraints": "nosuch"}), refused, 2029),
    ] {
        let mut job = job.clone();
        for (key, value) in over.as_object().unwrap() {
            job[key] = value.clone();
        }
        job.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let got = s.post("job/submit", &json!({"script": script, "job": job})).await;
        s.findings.answer(what, &got, &got.errors(), &(status, Some(vec![number])));
    }
}

async fn a_node_that_registers_closed(s: &Subject) {
    let found = &s.findings;
    let node = s.until(&["IDLE", "DRAIN", "DYNAMIC_NORM"]).await;
    s.whole("node", &node);
    let fields = [
        ("name", json!("c1")),
        ("hostname", json!("c1")),
        ("reason", json!("fleet:registering")),
        ("extra", json!("")),
        ("comment", json!("")),
        ("features", json!(["dyn", "h100"])),
        ("active_features", json!(["dyn", "h100"])),
        ("gres", json!("gpu:h100:4")),
        ("partitions", json!(["main"])),
        ("cpus", json!(4)),
        ("real_memory", json!(4000)),
        ("alloc_cpus", json!(0)),
    ];
    for (field, expected) in fields {
        found.same(&format!("a node's {field}"), &node[field], &expected);
    }
    let wrapper = [("set", "bool"), ("infinite", "bool"), ("number", "number")];
    found.shape("slurmd_start_time", &node["slurmd_start_time"], &wrapper);
    found.same("it has started", &node["slurmd_start_time"]["set"], &json!(true));
    found.shape("reason_changed_at", &node["reason_changed_at"], &wrapper);
    found.shape("a node", &node, &[("reason_set_by_user", "string"), ("state", "strings")]);

    let list = s.client("root").nodes().await.unwrap();
    let one = s.client("root").node(&c1()).await.unwrap().unwrap();
    let told = if s.release.partitions_of_one { vec!["main".to_owned()] } else { Vec::new() };
    found.same("our client: the partitions of one", &one.partitions, &told);
    let whole = Node { partitions: vec!["main".to_owned()], ..one.clone() };
    found.same("our client: the list and the one agree", &list.list, &vec![whole]);
    let partitions = s.client("root").partitions().await.unwrap();
    found.same("our client: its partition", &partitions.iter().all(|p| p.up && p.holds(&one)), &true);
    found.same("our client: the partition's nodes", &partitions[0].nodes, &["c1".to_owned()].into());
    found.same("our client: it is closed", &one.tokens.is_closed(), &true);
    found.same("our client: it has started", &(one.slurmd_start_time > 0), &true);
    let got = s.get("partitions").await;
    s.whole("partition", &got.json()["partitions"][0]);
    let configured = got.json()["partitions"][0]["nodes"]["total"].clone();
    found.answer("a partition counts it", &got, &configured, &json!(1));
}

async fn what_can_be_changed(s: &Subject) {
    let found = &s.findings;
    let done = (200, Some(vec![]));
    for (what, change, reason, extra) in [
        ("reason alone", json!({"reason": "fleet: one"}), "fleet: one", ""),
        ("extra alone", json!({"extra": "fleet:r-1"}), "fleet: one", "fleet:r-1"),
        ("an empty reason", json!({"reason": ""}), "fleet: one", "fleet:r-1"),
        ("an empty extra", json!({"extra": ""}), "fleet: one", ""),
        ("DRAIN again", json!({"state": ["DRAIN"]}), "fleet: one", ""),
        ("DRAIN and a reason", json!({"state": ["DRAIN"], "reason": "two"}), "two", ""),
        ("a state that is no list", json!({"state": "DRAIN", "extra": "e"}), "two", "e"),
        ("nothing", json!({}), "two", "e"),
        ("an unknown key", json!({"bogus": 1}), "two", "e"),
        ("comment", json!({"comment": "c", "extra": ""}), "two", ""),
    ] {
        let got = s.post("node/c1", &change).await;
        found.answer(what, &got, &got.errors(), &done);
        let node = s.node().await;
        let seen = (&node["state"], &node["reason"], &node["extra"]);
        found.same(what, &seen, &(&json!(["IDLE", "DRAIN", "DYNAMIC_NORM"]), &json!(reason), &json!(extra)));
    }
    let got = s.post("node/c1", &json!({"bogus": 1})).await;
    let warnings = got.json()["warnings"].as_array().map(Vec::len);
    found.answer("an unknown key is warned about", &got, &warnings, &Some(1));

    let update = NodeUpdate {
        state: Some([SetState::Drain]),
        reason: Some("fleet: ours".to_owned()),
        extra: Some("fleet:r-2".to_owned()),
    };
    for _ in 0..2 {
        s.client("root").update_node(&c1(), &update).await.unwrap();
        let node = s.client("root").node(&c1()).await.unwrap().unwrap();
        found.same("our client: DRAIN", &node.tokens.is_draining(), &true);
        found.same("our client", &(node.reason, node.extra), &("fleet: ours".into(), "fleet:r-2".into()));
    }
}

async fn what_is_refused(s: &Subject) {
    let found = &s.findings;
    let refused = s.client("alice").update_node(&c1(), &NodeUpdate::default()).await;
    let kind = refused.map_err(|e| matches!(e.kind, Kind::Forbidden(_)));
    found.same("our client: alice may not", &kind, &Err(true));
    let mine = s.request_as("alice", Method::POST, &s.at("node/c1"), &s.alice);
    let got = Got::of(mine.json(&json!({"reason": "mine"}))).await;
    found.answer("alice may not", &got, &got.errors(), &(s.writes().refused, Some(vec![2010])));

    let got = s.post("node/c1", &json!({"state": ["BANANA"]})).await;
    let transition = s.writes().transition;
    found.answer("an unknown state", &got, &got.errors(), &(500, Some(vec![9207, transition])));
    let got = s.post("node/c1", &json!({"state": ["DRAIN", "RESUME"], "reason": "half"})).await;
    found.answer("two states", &got, &got.errors(), &(s.writes().refused, Some(vec![transition])));
    let node = s.node().await;
    let seen = (&node["state"], &node["reason"]);
    found.same("two states", &seen, &(&json!(["IDLE", "DRAIN", "DYNAMIC_NORM"]), &json!("half")));
}

async fn it_opens(s: &Subject) {
    let found = &s.findings;
    let resume = json!({"state": ["RESUME"]});
    let got = s.post("node/c1", &resume).await;
    found.answer("RESUME", &got, &got.errors(), &(200, Some(vec![])));
    // a release that clears it does so at once
    found.same("the reason after RESUME", &s.node().await["reason"], &json!(s.writes().left("half")));
    let node = s.until(&["IDLE", "DYNAMIC_NORM"]).await;
    let seen = (&node["reason"], &node["extra"], &node["comment"]);
    let expected = (&json!(s.writes().left("half")), &json!("fleet:r-2"), &json!("c"));
    found.same("an open node", &seen, &expected);
    let got = s.post("node/c1", &json!({"reason": "open"})).await;
    found.answer("a reason for an open node", &got, &got.errors(), &(200, Some(vec![])));
    found.same("a reason for an open node", &s.node().await["reason"], &json!(s.writes().left("open")));
    let one = s.client("root").node(&c1()).await.unwrap().unwrap();
    let seen = (one.tokens.is_closed(), one.tokens.is_responding(), one.tokens.is_busy());
    found.same("our client: an open node", &seen, &(false, true, false));

    let got = s.post("node/c1", &resume).await;
    let refused = (s.writes().refused, Some(vec![s.writes().transition]));
    found.answer("RESUME of an open node", &got, &got.errors(), &refused);
    let update = NodeUpdate { state: Some([SetState::Resume]), ..NodeUpdate::default() };
    let refused = s.client("root").update_node(&c1(), &update).await;
    let rejected = refused.map_err(|e| matches!(e.kind, Kind::Rejected(_)));
    found.same("our client: RESUME of an open node", &rejected, &Err(true));

    let got = s.post("node/c1", &json!({"state": ["DRAIN"]})).await;
    found.answer("DRAIN without a reason", &got, &got.errors(), &(200, Some(vec![])));
    let node = s.until(&["IDLE", "DRAIN", "DYNAMIC_NORM"]).await;
    found.same("DRAIN without a reason", &node["reason"], &json!(s.writes().left("open")));
    s.post("node/c1", &resume).await;
    s.until(&["IDLE", "DYNAMIC_NORM"]).await;
}

async fn a_job_holds_it(s: &Subject) {
    let (found, alice) = (&s.findings, s.user("alice"));
    let id = alice.submit("c1", "#!/bin/sh\nsleep 3\n").await.unwrap();
    let root = s.client("root");
    eventually("alice's job runs", CEILING, || async {
        let job = alice.job(id).await.unwrap();
        if job["job_state"] == json!(["RUNNING"]) {
            return Ok(());
        }
        s.tick();
        Err(job["job_state"].to_string())
    })
    .await;
    let job = alice.job(id).await.unwrap();
    s.whole("job", &job);
    let seen = (&job["job_id"], &job["name"], &job["nodes"], &job["user_name"], &job["partition"]);
    let expected = (&json!(id), &json!("users-job"), &json!("c1"), &json!("alice"), &json!("main"));
    found.same("a job", &seen, &expected);
    let jobs = root.jobs().await.unwrap();
    found.same("our client: it holds the node", &jobs.iter().any(|j| j.holds(&c1())), &true);
    let node = root.node(&c1()).await.unwrap().unwrap();
    found.same(
        "our client: the node is busy",
        &(node.tokens.is_busy(), node.tokens.is_closed()),
        &(true, false),
    );

    let drain = NodeUpdate { state: Some([SetState::Drain]), reason: Some("later".into()), extra: None };
    root.update_node(&c1(), &drain).await.unwrap();
    let node = root.node(&c1()).await.unwrap().unwrap();
    let seen = (node.tokens.is_busy(), node.tokens.is_draining(), node.reason.as_str());
    found.same("our client: a busy node drains", &seen, &(true, true, "later"));
    eventually("alice's job has ended", CEILING, || async {
        let job = alice.job(id).await.unwrap();
        if job["job_state"] == json!(["COMPLETED"]) {
            return Ok(());
        }
        s.tick();
        Err(job["job_state"].to_string())
    })
    .await;
    let node = s.until(&["IDLE", "DRAIN", "DYNAMIC_NORM"]).await;
    found.same("drained, and its reason is kept", &node["reason"], &json!("later"));
    let jobs = root.jobs().await.unwrap();
    let seen = (jobs.len(), jobs.iter().any(|j| j.holds(&c1())));
    found.same("our client: an ended job is listed and holds nothing", &seen, &(1, false));
}
