//! slurmrestd 22.05.8, API v0.0.38: it can be looked at, in other shapes, and nothing is written.

use clients::Kind;
use clients::slurm::{JobKey, NewReservation, NodeUpdate, Slurm};
use serde_json::{Value, json};

use crate::fake::{Fake, Reply};
use crate::slurm::{JWT, client, name, serving};
use crate::slurm_jobs::new_job;
use crate::slurm_token::{File, jwt};

const PING: &str = "GET /slurm/v0.0.38/ping";
const NODES: &str = "GET /slurm/v0.0.38/nodes";
const NOSUCH: &str = "GET /slurm/v0.0.38/node/nosuch";

fn recorded(name: &str) -> Reply {
    Reply::slurm(&format!("22.05.8/{name}"))
}

async fn slurm() -> (Fake, Slurm) {
    let (fake, slurm) = serving("v0.0.38").await;
    fake.on(PING, [recorded("ping")]);
    (fake, slurm)
}

#[tokio::test]
async fn case_b08_the_oldest_of_ours_is_spoken_where_nothing_newer_is() {
    let (fake, slurm) = slurm().await;
    assert_eq!(slurm.dialect().await.unwrap().version, "v0.0.38");
    for version in ["v0.0.45", "v0.0.42", "v0.0.40"] {
        assert_eq!(fake.asked(&format!("GET /slurm/{version}/ping")).len(), 1, "{version}");
    }
}

#[tokio::test]
async fn nodes_are_read_whole() {
    let (fake, slurm) = slurm().await;
    fake.on(NODES, [recorded("nodes_v0.0.38"), recorded("node_latin1_reason")]);
    let nodes = slurm.nodes().await.unwrap();
    let names: Vec<&str> = nodes.list.iter().map(|n| n.name.as_str()).collect();
    assert_eq!((names, nodes.unreadable), (vec!["n1", "n2", "n3", "n4"], 0));
    let n1 = &nodes.list[0];
    assert_eq!((n1.tokens.to_string().as_str(), n1.gres.as_str()), ("IDLE", "gpu:h100:4"));
    assert_eq!((&n1.features, &n1.active_features), (&n1.active_features, &n1.features));
    assert_eq!(
        (n1.features.as_slice(), n1.partitions.as_slice()),
        (&owned(["rack1", "ib"])[..], &owned(["main", "burnin"])[..])
    );
    assert!(n1.slurmd_start_time > 1_796_000_000);
    assert_eq!(slurm.nodes().await.unwrap().list[0].reason, "caf\u{fffd}");
}

fn owned<const N: usize>(words: [&str; N]) -> [String; N] {
    words.map(str::to_owned)
}

#[tokio::test]
async fn a_node_by_itself_comes_without_the_partitions_of_another_and_one_that_the_list_hides_is_found() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.38/node/n3", [recorded("node_no_partition")]);
    assert_eq!(recorded("node_no_partition").body()["nodes"][0]["partitions"], json!(["main", "burnin"]));
    assert_eq!(slurm.node(&name("n3")).await.unwrap().unwrap().partitions, Vec::<String>::new());

    let cloud = recorded("node_cloud_powered_down");
    let hidden = name(cloud.body()["nodes"][0]["name"].as_str().unwrap());
    fake.on(&format!("GET /slurm/v0.0.38/node/{hidden}"), [cloud]);
    let node = slurm.node(&hidden).await.unwrap().unwrap();
    assert!(node.tokens.has("CLOUD") && node.tokens.has("POWERED_DOWN"), "{}", node.tokens);
}

#[tokio::test]
async fn case_b01_the_very_answer_for_an_unknown_node_is_absence_and_anything_else_is_not() {
    let (fake, slurm) = slurm().await;
    fake.on(NOSUCH, [recorded("node_unknown_v0.0.38")]);
    assert_eq!(slurm.node(&name("nosuch")).await.unwrap(), None);

    let body = recorded("node_unknown_v0.0.38").body();
    let with = |key: &str, value: Value| {
        let mut body = body.clone();
        body[key] = value;
        Reply::json(500, &body)
    };
    let error = |error: Value| with("errors", json!([error]));
    let words = "Invalid node name specified";
    let rejected = Kind::Rejected(words.to_owned());
    let node = recorded("node_v0.0.38").body()["nodes"].clone();
    for (reply, kind) in [
        (with("nodes", node), rejected.clone()),
        (with("nodes", Value::Null), rejected.clone()),
        (Reply::json(200, &body), rejected.clone()),
        (Reply::json(404, &body), rejected.clone()),
        (error(json!({"error": words, "error_code": 2018})), rejected.clone()),
        (error(json!({"error": words, "errno": 2017})), rejected.clone()),
        (
            error(json!({"description": "x", "error": words, "error_number": 2018, "source": "y"})),
            Kind::Rejected(format!("x: {words}")),
        ),
        (with("errors", json!([])), Kind::Broken("no reason given".to_owned())),
        (recorded("ctld_down_node_n1"), Kind::Unavailable),
        (recorded("auth_none_nodes"), Kind::Unauthenticated),
    ] {
        fake.on(NOSUCH, [reply.clone()]);
        assert_eq!(slurm.node(&name("nosuch")).await.unwrap_err().kind, kind, "{reply:?}");
    }
}

#[tokio::test]
async fn jobs_partitions_and_reservations_are_read() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.38/jobs", [recorded("jobs"), recorded("ctld_down_jobs")]);
    let jobs = slurm.jobs().await.unwrap();
    let running = jobs.iter().filter(|j| !j.has_ended()).map(|j| (j.id, j.holds(&name("n1"))));
    assert_eq!(running.collect::<Vec<_>>(), [(24, true)]);
    assert_eq!(slurm.jobs().await.unwrap_err().kind, Kind::Unavailable);

    fake.on("GET /slurm/v0.0.38/job/1", [recorded("job_failed_exit7"), recorded("job_purged")]);
    let failed = slurm.job(1).await.unwrap().unwrap();
    assert_eq!((failed.states.as_slice(), failed.user.as_str()), (&owned(["FAILED"])[..], "root"));
    assert_eq!((failed.exit_code, failed.signal), (Some(7), None));
    assert_eq!(slurm.job(1).await.unwrap(), None);
    fake.on("GET /slurm/v0.0.38/job/23", [recorded("job_cancelled")]);
    let cancelled = slurm.job(23).await.unwrap().unwrap();
    assert_eq!((cancelled.exit_code, cancelled.signal, cancelled.key()), (None, Some(15), JobKey::Job(23)));

    fake.on("GET /slurm/v0.0.38/partitions", [recorded("partitions"), recorded("partition_down")]);
    let shown = |p: &clients::slurm::Partition| (p.name.clone(), p.up, p.tier, p.nodes.len());
    let partitions: Vec<_> = slurm.partitions().await.unwrap().iter().map(shown).collect();
    assert_eq!(partitions, [("main".to_owned(), true, 1, 4), ("burnin".to_owned(), true, 10, 4)]);
    assert!(!slurm.partitions().await.unwrap()[0].up);

    fake.on("GET /slurm/v0.0.38/reservations", [recorded("reservations")]);
    let [burn] = slurm.reservations().await.unwrap().try_into().unwrap();
    assert_eq!((burn.name.as_str(), burn.users), ("burn", owned(["root", "alice"]).to_vec()));
    assert_eq!((burn.start_time, burn.end_time), (1_796_010_882, 1_796_018_082));
    assert!(burn.nodes.contains("n1") && burn.nodes.contains("n2") && burn.nodes.len() == 2);
}

#[tokio::test]
async fn what_slurmdbd_keeps_is_read_as_far_as_it_can_be_believed() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurmdb/v0.0.38/job/1", [recorded("slurmdb_job"), recorded("slurmdb_job_unknown")]);
    let away = json!({"errors": [{"description": "Failed connecting to slurmdbd", "error_number": 7000,
        "error": "Unable to connect to database", "source": "slurmdb_jobs_get"}], "jobs": []});
    let ask = "GET /slurmdb/v0.0.38/job/99999999";
    fake.on(ask, [recorded("slurmdb_job_unknown"), Reply::json(200, &away)]);
    let past = slurm.past_job(1).await.unwrap().unwrap();
    assert_eq!(
        (past.name.as_str(), past.user.as_str(), past.nodes.clone()),
        ("p", "root", owned(["n1"]).to_vec())
    );
    assert!(past.has_ended());
    assert_eq!(past.states, owned(["FAILED"]));
    assert_eq!(slurm.past_job(1).await.unwrap(), None);
    assert!(slurm.accounting().await.unwrap());
    assert_eq!(slurm.accounting().await.unwrap_err().kind, Kind::Unavailable);
}

#[tokio::test]
async fn every_write_is_too_old_and_nothing_is_sent() {
    let (fake, slurm) = slurm().await;
    let n1 = name("n1");
    let reservation = NewReservation {
        name: "fleet-n1".to_owned(),
        user: "bob".to_owned(),
        node: n1.clone(),
        seconds: 600,
    };
    let errors = [
        slurm.update_node(&n1, &NodeUpdate::default()).await.unwrap_err(),
        slurm.delete_node(&n1).await.unwrap_err(),
        slurm.create_node(&n1, "CPUs=4").await.unwrap_err(),
        slurm.submit_job(&new_job()).await.unwrap_err(),
        slurm.set_job_priority(1, 5).await.unwrap_err(),
        slurm.cancel_job("bob", 1).await.unwrap_err(),
        slurm.create_reservation(&reservation).await.unwrap_err(),
        slurm.delete_reservation("fleet-n1").await.unwrap_err(),
    ];
    let needed = [
        "changing nodes needs v0.0.40 or newer, as SLURM 24.11 serves",
        "deleting a node's record needs v0.0.40 or newer, as SLURM 24.11 serves",
        "making nodes needs v0.0.44 or newer, as SLURM 26.05 serves",
        "submitting and cancelling jobs needs v0.0.40 or newer, as SLURM 24.11 serves",
        "submitting and cancelling jobs needs v0.0.40 or newer, as SLURM 24.11 serves",
        "submitting and cancelling jobs needs v0.0.40 or newer, as SLURM 24.11 serves",
        "making and deleting reservations needs v0.0.43 or newer, as SLURM 26.05 serves",
        "making and deleting reservations needs v0.0.43 or newer, as SLURM 26.05 serves",
    ];
    for (error, needed) in errors.into_iter().zip(needed) {
        let said = format!("{needed}; this slurmrestd speaks v0.0.38");
        assert_eq!(error.kind, Kind::TooOld(said), "{}", error.operation);
    }
    assert_eq!(fake.methods(), ["GET"]);
}

#[tokio::test]
async fn case_b35_a_token_that_may_be_refused_is_read_again_and_the_call_repeated_once() {
    let file = File::holding(&jwt(4_000_000_000));
    let (fake, slurm) = file.slurm("v0.0.38").await;
    fake.on(
        NODES,
        [recorded("auth_garbage_nodes"), recorded("nodes_v0.0.38"), recorded("auth_garbage_nodes")],
    );
    slurm.dialect().await.unwrap();
    std::fs::write(&file.0, jwt(4_000_000_001)).unwrap();
    assert_eq!(slurm.nodes().await.unwrap().list.len(), 4);
    assert_eq!(fake.asked(NODES).len(), 2);

    // there is no other: it may as well be slurmctld that is away, and the token is not blamed
    assert_eq!(slurm.nodes().await.unwrap_err().kind, Kind::Unavailable);
    assert_eq!(fake.asked(NODES).len(), 3);
    assert!(!slurm.token().life().await.unwrap().refused);
}

#[tokio::test]
async fn case_b12_whatever_22_05_says_when_slurmctld_is_away_is_no_empty_cluster() {
    let (fake, slurm) = slurm().await;
    for recording in ["ctld_down_nodes", "ctld_hung_nodes", "auth_garbage_nodes"] {
        fake.on(NODES, [recorded(recording)]);
        let error = slurm.nodes().await.unwrap_err();
        assert_eq!((error.kind, error.status), (Kind::Unavailable, Some(500)), "{recording}");
    }
    let fake = Fake::start().await;
    fake.on(PING, [recorded("ctld_down_ping"), recorded("auth_none_nodes"), recorded("ping")]);
    let slurm = client(&fake, JWT);
    assert_eq!(slurm.dialect().await.unwrap_err().kind, Kind::Unavailable);
    assert_eq!(slurm.dialect().await.unwrap_err().kind, Kind::Unauthenticated);
    assert_eq!(slurm.dialect().await.unwrap().version, "v0.0.38");
}
