//! What is absence, and what is a look-up that failed (cases: B01, B08, B12).

use clients::Kind;
use clients::slurm::{Slurm, Token};
use serde_json::{Value, json};

use crate::fake::Reply;
use crate::slurm::{JWT, NODES, PING, name, serving, slurm};

const NOSUCH: &str = "GET /slurm/v0.0.45/node/nosuch";

fn unknown(mut change: impl FnMut(&mut Value)) -> Reply {
    let mut body = Reply::slurm("node_unknown_v0.0.45").body();
    change(&mut body);
    Reply::json(200, &body)
}

#[tokio::test]
async fn case_b01_the_very_answer_for_an_unknown_node_is_absence() {
    let (fake, slurm) = slurm().await;
    let empty_list = unknown(|b| b["nodes"] = json!([]));
    fake.on(NOSUCH, [Reply::slurm("node_unknown_v0.0.45"), empty_list]);
    assert_eq!(slurm.node(&name("nosuch")).await.unwrap(), None);
    assert_eq!(slurm.node(&name("nosuch")).await.unwrap(), None);
}

#[tokio::test]
async fn case_b01_anything_else_is_a_look_up_that_failed() {
    let (fake, slurm) = slurm().await;
    let said = "Failure to query node nosuch: No error";
    let rejected = |words: &str| Kind::Rejected(words.to_owned());
    let malformed = |what: &str| Kind::Malformed(what.to_owned());
    let other = "Failure to query node nosuch2";
    let twice = |b: &mut Value| {
        let again = b["errors"][0].clone();
        b["errors"].as_array_mut().unwrap().push(again);
    };
    let node = Reply::slurm("node_v0.0.45").body()["nodes"].clone();
    let body = Reply::slurm("node_unknown_v0.0.45").body();
    for (reply, kind) in [
        (
            unknown(|b| b["errors"][0]["description"] = json!(other)),
            rejected("Failure to query node nosuch2: No error"),
        ),
        (unknown(|b| b["errors"][0]["error_number"] = json!(2018)), rejected(said)),
        (unknown(twice), rejected(&format!("{said}; {said}"))),
        (unknown(|b| b["nodes"] = node.clone()), rejected(said)),
        (Reply::json(500, &body), rejected(said)),
        (Reply::json(404, &body), rejected(said)),
        (unknown(|b| b["errors"] = json!([])), malformed("no `nodes` list")),
        (unknown(|b| b["errors"] = Value::Null), malformed("no `errors` list")),
        (Reply::json(200, &json!({"nodes": [], "errors": []})), malformed("not exactly the node nosuch")),
        (Reply::slurm("node_v0.0.45"), malformed("not exactly the node nosuch")),
        (Reply::slurm("nodes_v0.0.45"), malformed("not exactly the node nosuch")),
        (Reply::text(200, "text/html", "<html>"), malformed("no `errors` list")),
    ] {
        fake.on(NOSUCH, [reply.clone()]);
        let error = slurm.node(&name("nosuch")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{reply:?}");
    }
}

#[tokio::test]
async fn case_b12_a_controller_that_is_down_is_not_an_empty_cluster() {
    let (fake, slurm) = slurm().await;
    let nothing = json!({"nodes": [], "errors": [{"description": "Unable to contact slurm controller"}]});
    let n1 = "GET /slurm/v0.0.45/node/n1";
    // 24.11 and 26.05, of what was on its way when slurmctld was restarted
    let reset = json!({"nodes": [], "warnings": [], "errors": [{"description": "Failure to query node n1",
        "error_number": 104, "error": "Connection reset by peer", "source": "_dump_nodes"}]});
    for (list, one, status) in [
        (Reply::json(200, &nothing), Reply::json(200, &nothing), 200),
        (Reply::json(500, &reset), Reply::json(500, &reset), 500),
        (Reply::slurm("ctld_down_nodes"), Reply::slurm("ctld_down_node_n1"), 502),
        (Reply::slurm("ctld_hung_nodes"), Reply::slurm("ctld_hung_nodes"), 504),
    ] {
        fake.on(NODES, [list]);
        fake.on(n1, [one]);
        let error = slurm.nodes().await.unwrap_err();
        assert_eq!((error.kind.clone(), error.status), (Kind::Unavailable, Some(status)));
        assert!(error.is_unknown());
        assert_eq!(slurm.node(&name("n1")).await.unwrap_err().kind, Kind::Unavailable);
    }
}

#[tokio::test]
async fn case_b12_a_list_without_nodes_is_no_list() {
    let (fake, slurm) = slurm().await;
    fake.on(NODES, [Reply::json(200, &json!({"errors": [], "warnings": []}))]);
    assert_eq!(slurm.nodes().await.unwrap_err().kind, Kind::Malformed("no `nodes` list".to_owned()));
}

#[tokio::test]
async fn case_b08_a_version_that_is_no_longer_served_is_an_error_and_probed_anew() {
    let (fake, slurm) = slurm().await;
    fake.on(
        NODES,
        [Reply::slurm("nodes_v0.0.45"), Reply::text(404, "text/plain", "Unable find requested URL")],
    );
    slurm.nodes().await.unwrap();
    let kind = Kind::Unavailable;
    assert_eq!(slurm.nodes().await.unwrap_err().kind, kind);
    assert_eq!(fake.asked(PING).len(), 1);
    // one node, of which nothing is in the table: no absence either
    assert_eq!(slurm.node(&name("n1")).await.unwrap_err().kind, kind);
    assert_eq!(fake.asked(PING).len(), 2);
}

/// What a look-up answers: how many there were, or what failed.
async fn count(slurm: &Slurm, what: &str) -> Result<usize, Kind> {
    let counted = match what {
        "nodes" => slurm.nodes().await.map(|n| n.list.len()),
        "partitions" => slurm.partitions().await.map(|p| p.len()),
        "jobs" => slurm.jobs().await.map(|j| j.len()),
        "reservations" => slurm.reservations().await.map(|r| r.len()),
        "node/n1" => slurm.node(&name("n1")).await.map(|n| n.into_iter().count()),
        _ => slurm.job(1).await.map(|j| j.into_iter().count()),
    };
    counted.map_err(|error| error.kind)
}

#[tokio::test]
async fn case_b12_a_failing_answer_is_an_error_on_every_version_and_never_an_empty_list() {
    let empty = |errors: Value| json!({"nodes": [], "partitions": [], "jobs": [], "reservations": [], "errors": errors});
    let away = json!([{"description": "Unable to contact slurm controller"}]);
    let cut = Reply::slurm("nodes_v0.0.45").body().to_string();
    let html = "<html>busy</html>";
    for version in ["v0.0.45", "v0.0.42", "v0.0.40", "v0.0.38"] {
        let (fake, slurm) = serving(version).await;
        for what in ["nodes", "partitions", "jobs", "reservations", "node/n1", "job/1"] {
            let call = format!("GET /slurm/{version}/{what}");
            for reply in [
                Reply::json(200, &empty(away.clone())),
                Reply::json(500, &empty(json!([{"error": "Unspecified error", "errno": -1}]))),
                Reply::json(500, &empty(json!([]))),
                Reply::json(200, &json!({"errors": []})),
                Reply::json(200, &json!({})),
                Reply::json(200, &Value::Null),
                Reply::text(200, "application/json", &cut[..cut.len() / 2]),
                Reply::text(200, "text/html", html),
                Reply::text(200, "application/json", ""),
                Reply::text(401, "text/plain", "Authentication failure"),
                Reply::text(403, "text/html", html),
                Reply::text(404, "text/html", html),
                Reply::text(500, "text/plain", ""),
                Reply::text(503, "text/html", html),
                Reply::slurm("ctld_down_nodes"),
                Reply::slurm("ctld_hung_nodes"),
                Reply::slurm("auth_garbage_nodes"),
                Reply::slurm("22.05.8/ctld_down_jobs"),
                Reply::slurm("22.05.8/ctld_down_nodes"),
            ] {
                fake.on(&call, [reply.clone()]);
                let counted = count(&slurm, what).await;
                assert!(counted.is_err(), "{version} {what} {counted:?} {reply:?}");
            }
        }
    }
}

#[tokio::test]
async fn case_b12_a_slurmrestd_that_is_not_there_is_an_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let token = Token::in_environment("SLURM_JWT", JWT.to_owned().into());
    let base = format!("http://127.0.0.1:{port}/").parse().unwrap();
    let slurm = Slurm::new(base, "root".to_owned(), token).unwrap();
    for what in ["nodes", "partitions", "jobs", "reservations", "node/n1", "job/1"] {
        assert_eq!(count(&slurm, what).await, Err(Kind::Unreachable), "{what}");
    }
}
