//! slurmrestd 24.11.5, API v0.0.42: found by the probe, and read as its successor is, where its
//! words can be taken.

use clients::Kind;
use clients::slurm::{Creation, NodeUpdate, SetState, Slurm};
use serde_json::json;

use crate::fake::{Fake, Reply};
use crate::slurm::{JWT, PING, client, name};

const OLD_PING: &str = "GET /slurm/v0.0.42/ping";
const NODES: &str = "GET /slurm/v0.0.42/nodes";
const N2: &str = "POST /slurm/v0.0.42/node/n2";
const NEW: &str = "POST /slurm/v0.0.45/new/node/";

fn recorded(name: &str) -> Reply {
    Reply::slurm(&format!("24.11.5/{name}"))
}

/// A slurmrestd that serves v0.0.42 and nothing newer, and a client of it.
async fn slurm() -> (Fake, Slurm) {
    let fake = Fake::start().await;
    fake.on(OLD_PING, [recorded("ping")]);
    let slurm = client(&fake, JWT);
    (fake, slurm)
}

#[tokio::test]
async fn case_b08_the_newest_version_that_is_served_is_spoken() {
    let (fake, slurm) = slurm().await;
    let dialect = slurm.dialect().await.unwrap();
    let can = (dialect.node_write, dialect.record_delete, dialect.node_create, dialect.reservations);
    assert_eq!((dialect.version, can), ("v0.0.42", (true, true, false, false)));
    assert_eq!((dialect.job_write, dialect.tells_cancelled, dialect.partitions_of_one), (true, true, false));
    assert_eq!(dialect.hides, ["BLOCKED", "EXTERNAL"]);
    slurm.dialect().await.unwrap();
    assert_eq!((fake.asked(PING).len(), fake.asked(OLD_PING).len()), (1, 1));

    // SLURM is upgraded: nobody notices until the next resync
    fake.on(PING, [Reply::slurm("ping")]);
    assert_eq!(slurm.dialect().await.unwrap().version, "v0.0.42");
    slurm.forget_dialect();
    assert_eq!(slurm.dialect().await.unwrap().version, "v0.0.45");
}

#[tokio::test]
async fn case_b08_a_probe_that_fails_says_nothing_of_a_version() {
    let (fake, slurm) = slurm().await;
    for (reply, kind) in [
        (Reply::text(503, "text/plain", "busy"), Kind::Unavailable),
        (Reply::text(500, "text/plain", ""), Kind::Broken("no reason given".to_owned())),
        (recorded("auth_garbage_nodes"), Kind::Unauthenticated),
    ] {
        fake.on(PING, [reply.clone()]);
        assert_eq!(slurm.dialect().await.unwrap_err().kind, kind, "{reply:?}");
    }
    assert_eq!(fake.asked(OLD_PING).len(), 0);
}

#[tokio::test]
async fn case_b08_versions_that_come_and_go_leave_what_both_sides_speak() {
    for (served, spoken) in [
        (["v0.0.44", "v0.0.45"].as_slice(), "v0.0.45"),
        (&["v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"], "v0.0.45"),
        (&["v0.0.41", "v0.0.42", "v0.0.43"], "v0.0.42"),
        (&["v0.0.39", "v0.0.40", "v0.0.41"], "v0.0.40"),
        (&["v0.0.36", "v0.0.37", "v0.0.38"], "v0.0.38"),
    ] {
        let fake = Fake::start().await;
        for version in served {
            fake.on(&format!("GET /slurm/{version}/ping"), [Reply::slurm("ping")]);
        }
        assert_eq!(client(&fake, JWT).dialect().await.unwrap().version, spoken, "{served:?}");
    }
}

#[tokio::test]
async fn case_b08_a_release_that_speaks_none_of_ours_says_what_it_speaks() {
    const OURS: &str = "slurmrestd serves none of v0.0.45, v0.0.42, v0.0.40, v0.0.38";
    let fake = Fake::start().await;
    let slurm = client(&fake, JWT);
    let paths = |versions: &[&str]| {
        let path = |v: &&str| (format!("/slurm/{v}/nodes"), json!({}));
        let mut paths: serde_json::Map<_, _> = versions.iter().map(path).collect();
        paths.insert("/slurmdb/v0.0.42/jobs".to_owned(), json!({}));
        Reply::json(200, &json!({"openapi": "3.0.3", "paths": paths}))
    };
    for (reply, kind) in [
        (paths(&["v0.0.37", "v0.0.36"]), Kind::TooOld(format!("{OURS}, but v0.0.36, v0.0.37"))),
        (paths(&["v0.0.47", "v0.0.100"]), Kind::Unspoken(format!("{OURS}, but v0.0.47, v0.0.100"))),
        (paths(&[]), Kind::Unspoken(format!("{OURS}, and does not say which it serves"))),
        (
            Reply::text(404, "text/html", "<html>"),
            Kind::Unspoken(format!("{OURS}, and does not say which it serves")),
        ),
    ] {
        fake.on("GET /openapi/v3", [reply]);
        assert_eq!(slurm.nodes().await.unwrap_err().kind, kind);
    }
    assert_eq!(fake.asked(NODES).len(), 0);
}

#[tokio::test]
async fn nodes_are_read_whole() {
    let (fake, slurm) = slurm().await;
    fake.on(NODES, [recorded("nodes_v0.0.42"), recorded("node_latin1_reason")]);
    let nodes = slurm.nodes().await.unwrap();
    let names: Vec<&str> = nodes.list.iter().map(|n| n.name.as_str()).collect();
    assert_eq!((names, nodes.unreadable), (vec!["n1", "n2", "n3", "n4"], 0));
    let node = &nodes.list[0];
    assert_eq!(node.tokens.to_string(), "IDLE");
    assert_eq!((&node.features, &node.active_features), (&node.active_features, &node.features));
    assert_eq!(node.features, ["rack1", "ib"]);
    assert_eq!((node.gres.as_str(), node.reason.as_str(), node.extra.as_str()), ("gpu:h100:4", "", ""));
    assert_eq!(node.partitions, ["main", "burnin"]);
    assert_eq!(node.slurmd_start_time, 1_796_009_660);
    assert_eq!(slurm.nodes().await.unwrap().list[0].reason, "caf\u{fffd}");
}

#[tokio::test]
async fn a_node_that_was_asked_for_by_itself_comes_without_the_partitions_of_another() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.42/node/n3", [recorded("node_no_partition")]);
    fake.on("GET /slurm/v0.0.42/node/n1", [recorded("node_v0.0.42")]);
    fake.on("GET /slurm/v0.0.42/partitions", [recorded("partitions"), recorded("partition_down")]);
    let told = recorded("node_no_partition").body();
    assert_eq!(told["nodes"][0]["partitions"], json!(["main", "burnin"]));
    let n3 = slurm.node(&name("n3")).await.unwrap().unwrap();
    assert_eq!(n3.partitions, Vec::<String>::new());

    let partitions = slurm.partitions().await.unwrap();
    let shown: Vec<_> = partitions.iter().map(|p| (p.name.as_str(), p.up, p.nodes.len())).collect();
    assert_eq!(shown, [("main", true, 4), ("burnin", true, 4)]);
    let n1 = slurm.node(&name("n1")).await.unwrap().unwrap();
    assert!(partitions.iter().all(|p| p.holds(&n1)));
    let down = slurm.partitions().await.unwrap();
    assert_eq!((down[0].up, down[0].nodes.len(), down[0].holds(&n1)), (false, 6, true));
}

#[tokio::test]
async fn dynamic_and_invalid_nodes_and_the_reason_that_is_kept() {
    let (fake, slurm) = slurm().await;
    let replies = ["node_dynamic_norm", "node_invalid_reg"].map(recorded);
    fake.on("GET /slurm/v0.0.42/node/d1", replies);
    let dynamic = slurm.node(&name("d1")).await.unwrap().unwrap();
    assert_eq!(dynamic.tokens.to_string(), "DYNAMIC_NORM+IDLE");
    let invalid = slurm.node(&name("d1")).await.unwrap().unwrap();
    assert_eq!(invalid.tokens.to_string(), "DRAIN+DYNAMIC_NORM+IDLE+INVALID_REG");
    assert!(invalid.reason.starts_with("gres/gpu count reported lower"), "{}", invalid.reason);

    let resumed = recorded("reason_after_resume_by_REST_v0.0.42");
    fake.on("GET /slurm/v0.0.42/node/n3", [resumed]);
    let open = slurm.node(&name("n3")).await.unwrap().unwrap();
    assert_eq!((open.tokens.is_closed(), open.reason.as_str()), (false, "rr"));
}

#[tokio::test]
async fn case_b01_an_unknown_node_is_absent() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.42/node/nosuch", [recorded("node_unknown_v0.0.42")]);
    assert_eq!(slurm.node(&name("nosuch")).await.unwrap(), None);
}

#[tokio::test]
async fn case_b12_a_controller_that_is_down_or_a_token_that_is_refused_is_no_empty_cluster() {
    let (fake, slurm) = slurm().await;
    for (recording, status, kind) in [
        ("ctld_down_nodes", 502, Kind::Unavailable),
        ("ctld_hung_nodes", 504, Kind::Unavailable),
        ("auth_garbage_nodes", 511, Kind::Unauthenticated),
    ] {
        fake.on(NODES, [recorded(recording)]);
        let error = slurm.nodes().await.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{recording}");
    }
}

#[tokio::test]
async fn the_one_running_job_of_many_holds_its_node() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.42/jobs", [recorded("jobs"), recorded("job_running")]);
    let jobs = slurm.jobs().await.unwrap();
    let holding: Vec<i64> = jobs.iter().filter(|j| j.holds(&name("n1"))).map(|j| j.id).collect();
    assert_eq!((jobs.len(), holding), (47, vec![48]));
    assert!(slurm.jobs().await.unwrap()[0].holds(&name("n1")));
}

#[tokio::test]
async fn case_b18_http_500_is_a_refusal_where_slurmctld_gives_its_number() {
    let (fake, slurm) = slurm().await;
    let state = "Invalid node state specified";
    let banana = "Unknown flag \"BANANA\": Data parser unable to parse invalid flag";
    let of = |node, why| format!("Failure to update node {node}: {why}");
    for (recording, kind) in [
        ("update_denied_v0.0.42", Kind::Forbidden(of("n2", "Invalid user id"))),
        ("update_resume_idle_v0.0.42", Kind::Rejected(of("n2", state))),
        ("update_badstate_v0.0.42", Kind::Rejected(format!("{banana}; {}", of("n2", state)))),
        ("update_unknown_node_v0.0.42", Kind::Rejected(of("nosuch", "Invalid node name specified"))),
    ] {
        fake.on(N2, [recorded(recording)]);
        let error = slurm.update_node(&name("n2"), &NodeUpdate::default()).await.unwrap_err();
        assert_eq!((error.kind.clone(), error.status), (kind, Some(500)), "{recording}");
        assert!(!error.is_unknown(), "{recording}");
    }
    fake.on(N2, [recorded("update_drain_v0.0.42")]);
    let drain = NodeUpdate { state: Some([SetState::Drain]), ..NodeUpdate::default() };
    slurm.update_node(&name("n2"), &drain).await.unwrap();
}

#[tokio::test]
async fn no_node_is_made_where_the_release_cannot() {
    let (fake, slurm) = slurm().await;
    let error = slurm.create_node(&name("c45"), "CPUs=4").await.unwrap_err();
    let said = "making nodes needs v0.0.44 or newer, as SLURM 26.05 serves; this slurmrestd speaks v0.0.42";
    assert_eq!(error.kind, Kind::TooOld(said.to_owned()));
    assert_eq!(fake.asked("POST /slurm/v0.0.42/new/node/").len(), 0);
}

#[tokio::test]
async fn a_node_is_made_as_cloud_and_one_that_is_there_is_left() {
    let (fake, slurm) = crate::slurm::slurm().await;
    let recordings = ["new_node_v0.0.45", "new_node_dup_v0.0.45", "new_node_nostate_v0.0.45"];
    fake.on(NEW, recordings.map(Reply::slurm));
    let c45 = name("c45");
    let conf = "CPUs=4 RealMemory=4000 Gres=gpu:h100:4 Feature=dyn";
    assert_eq!(slurm.create_node(&c45, conf).await.unwrap(), Creation::Created);
    assert_eq!(slurm.create_node(&c45, conf).await.unwrap(), Creation::Exists);
    let refused = slurm.create_node(&c45, conf).await.unwrap_err();
    let said = "Failure to create node: Invalid node state specified";
    assert_eq!((refused.kind, refused.status), (Kind::Rejected(said.to_owned()), Some(422)));
    let sent = fake.asked(NEW)[0].json();
    assert_eq!(sent, json!({"node_conf": format!("NodeName=c45 {conf} State=CLOUD")}));
}
