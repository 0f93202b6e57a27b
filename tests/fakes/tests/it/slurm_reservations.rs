//! Reservations: made, read, deleted; who may run in one, and what its nodes tell.

use fakes::{JobSeed, NodeSeed, Release, ReservationSeed, SlurmOptions, Slurmrestd};
use serde_json::{Value, json};

use crate::{job, shown, slurm, slurm_at};

const NOW: i64 = 1_790_000_000;

async fn start() -> Slurmrestd {
    let nodes = vec![NodeSeed::new("n1"), NodeSeed::new("n2")];
    Slurmrestd::start(SlurmOptions { nodes, job_ticks: None, ..SlurmOptions::default() }).await.unwrap()
}

fn burn(over: Value) -> Value {
    let mut body = json!({
        "name": "burn",
        "start_time": {"set": true, "number": NOW},
        "duration": {"set": true, "number": 120},
        "users": ["bob"],
        "node_list": ["n1"],
        "flags": ["MAINT", "IGNORE_JOBS"],
    });
    for (key, value) in over.as_object().unwrap() {
        body[key] = value.clone();
    }
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    body
}

#[tokio::test]
async fn it_is_made_read_and_deleted() {
    let fake = start().await;
    let root = slurm(&fake, "root");
    let got = root.post("/reservation", &burn(json!({}))).await;
    let body = got.json();
    assert_eq!(
        (got.status, &body["errors"], body["warnings"].as_array().unwrap().len()),
        (200, &json!([]), 2)
    );
    assert_eq!(body["reservations"][0]["users"], json!(["bob"]));
    for path in ["/reservations", "/reservation/burn"] {
        let shown = root.get(path).await.json()["reservations"][0].clone();
        let seen = (&shown["name"], &shown["node_list"], &shown["users"], &shown["end_time"]["number"]);
        assert_eq!(seen, (&json!("burn"), &json!("n1"), &json!("bob"), &json!(NOW + 7200)), "{path}");
        assert_eq!(shown["flags"], json!(["MAINT", "IGNORE_JOBS", "SPEC_NODES"]));
    }
    assert_eq!(root.get("/reservation/nosuch").await.slurm(), (422, Some(9000)));
    assert_eq!(root.delete("/reservation/burn").await.status, 200);
    assert_eq!(root.get("/reservations").await.json()["reservations"], json!([]));
    // with none at all, an unknown one is no error of HTTP's
    let got = root.get("/reservation/burn").await;
    assert_eq!((got.slurm(), got.json().get("reservations")), ((200, Some(0)), None));
}

#[tokio::test]
async fn what_is_refused() {
    let fake = start().await;
    let root = slurm(&fake, "root");
    for (over, status, number, said) in [
        (json!({"users": []}), 422, 2053, "Either Users/Groups"),
        (json!({"node_list": []}), 422, 2053, "CoreCnt, Nodes"),
        (json!({"name": null}), 422, 2053, "Reservation must be given."),
        (json!({"duration": null}), 422, 2053, "Error creating reservation  burn"),
        (json!({"start_time": null}), 422, 2053, "Error creating reservation  burn"),
        (
            json!({"start_time": {"set": true, "number": NOW - 3600}}),
            422,
            2054,
            "Error creating reservation  burn",
        ),
        (json!({"node_list": ["nosuch"]}), 422, 2018, "Error creating reservation  burn"),
    ] {
        let got = root.post("/reservation", &burn(over.clone())).await;
        assert_eq!(got.slurm(), (status, Some(number)), "{over}");
        let text = got.json()["errors"][0]["description"].as_str().unwrap().to_owned();
        assert!(text.starts_with(said), "{text}");
    }
    let alice = slurm(&fake, "alice");
    assert_eq!(alice.post("/reservation", &burn(json!({}))).await.slurm(), (422, Some(2010)));
    assert_eq!(alice.delete("/reservation/burn").await.slurm(), (422, Some(2010)));
    assert_eq!(root.delete("/reservation/burn").await.slurm(), (422, Some(2053)));
    assert_eq!(fake.reservations(), Vec::<String>::new());
}

#[tokio::test]
async fn the_same_name_again_is_a_change_and_refused_once_it_began() {
    let fake = start().await;
    let root = slurm(&fake, "root");
    let later = json!({"start_time": {"set": true, "number": NOW + 600}});
    root.post("/reservation", &burn(later.clone())).await;
    let changed = burn(json!({"users": ["alice"], "start_time": later["start_time"]}));
    assert_eq!(root.post("/reservation", &changed).await.status, 200);
    assert_eq!(root.get("/reservations").await.json()["reservations"][0]["users"], "alice");
    assert_eq!(root.post("/reservation", &burn(json!({}))).await.status, 200);
    let got = root.post("/reservation", &burn(json!({}))).await;
    assert_eq!(got.slurm(), (422, Some(2104)));
    assert_eq!(got.json()["errors"][0]["description"], "Error updating reservation burn");
}

#[tokio::test]
async fn one_for_maintenance_lies_over_any_other() {
    let fake = start().await;
    let root = slurm(&fake, "root");
    let named = |name: &str, flags: Value| burn(json!({"name": name, "flags": flags}));
    assert_eq!(root.post("/reservation", &named("plain", json!([]))).await.status, 200);
    assert_eq!(root.post("/reservation", &named("plain-2", json!([]))).await.slurm(), (422, Some(2058)));
    assert_eq!(root.post("/reservation", &burn(json!({}))).await.status, 200);
    fake.run(JobSeed::on(&["n2"]));
    let on_n2 = burn(json!({"name": "n2", "node_list": ["n2"], "flags": ["MAINT"]}));
    assert_eq!(root.post("/reservation", &on_n2).await.slurm(), (422, Some(2016)));
}

#[tokio::test]
async fn only_its_users_jobs_that_name_it_run_on_its_nodes() {
    let fake = start().await;
    let (root, alice, bob) = (slurm(&fake, "root"), slurm(&fake, "alice"), slurm(&fake, "bob"));
    fake.put(NodeSeed::new("n1").in_state(&["IDLE", "DRAIN"], "ours"));
    root.post("/reservation", &burn(json!({}))).await;
    let pinned = json!({"required_nodes": ["n1"]});
    let inside = json!({"required_nodes": ["n1"], "reservation": "burn"});
    let got = alice.post("/job/submit", &job(pinned.clone())).await;
    assert_eq!(got.json()["warnings"].as_array().unwrap().len(), 2);
    assert_eq!(alice.post("/job/submit", &job(inside.clone())).await.slurm(), (422, Some(2052)));
    let outside = bob.post("/job/submit", &job(pinned)).await.json()["job_id"].as_i64().unwrap();
    let ours = bob.post("/job/submit", &job(inside)).await.json()["job_id"].as_i64().unwrap();
    fake.tick();
    assert_eq!(fake.state("n1"), "IDLE+RESERVED+DRAIN+MAINTENANCE");
    assert_eq!(shown(&fake, ours).1, "ReqNodeNotAvail");
    root.post("/node/n1", &json!({"state": ["RESUME"]})).await;
    fake.tick();
    fake.tick();
    assert_eq!(shown(&fake, ours), (json!(["RUNNING"]), json!("None"), json!("n1")));
    assert_eq!((shown(&fake, 1).0, shown(&fake, outside).0), (json!(["PENDING"]), json!(["PENDING"])));
    assert_eq!(fake.state("n1"), "ALLOCATED+RESERVED+MAINTENANCE");
    assert_eq!(root.delete("/reservation/burn").await.slurm(), (422, Some(2055)));
    root.post("/node/n1", &json!({"state": ["DRAIN"], "reason": "ours"})).await;
    fake.finish(ours, 0);
    fake.tick();
    assert_eq!(root.delete("/reservation/burn").await.status, 200);
    assert_eq!(fake.state("n1"), "IDLE+DRAIN");
    fake.tick();
    assert_eq!(shown(&fake, 1).0, json!(["PENDING"]));
}

#[tokio::test]
async fn its_nodes_tell_of_it_a_tick_after_it_began_and_jobs_that_would_last_into_it_wait() {
    let fake = start().await;
    fake.reserve(ReservationSeed {
        start: NOW + 90,
        minutes: 1,
        ..ReservationSeed::new("m", "root", &["n1"])
    });
    let short = fake.submit(JobSeed { time_limit: Some(1), ..JobSeed::on(&["n1"]) });
    let long = fake.submit(JobSeed { time_limit: Some(5), ..JobSeed::on(&["n1"]) });
    fake.tick();
    assert_eq!((shown(&fake, short).0, shown(&fake, long).1), (json!(["RUNNING"]), json!("ReqNodeNotAvail")));
    (0..89).for_each(|_| fake.tick());
    assert_eq!(fake.state("n1"), "IDLE+RESERVED+MAINTENANCE");
    (0..60).for_each(|_| fake.tick());
    // over
    assert_eq!((fake.reservations(), shown(&fake, long).0), (vec![], json!(["RUNNING"])));
}

#[tokio::test]
async fn a_job_whose_reservation_is_gone_is_held() {
    let fake = start().await;
    fake.reserve(ReservationSeed::new("m", "alice", &["n1"]));
    fake.put(NodeSeed::new("n1").in_state(&["IDLE", "DRAIN"], "x"));
    let id = fake.submit(JobSeed { reservation: "m".to_owned(), ..JobSeed::on(&["n1"]) });
    fake.unreserve("m");
    fake.put(NodeSeed::new("n1"));
    fake.tick();
    let job = fake.job(id).unwrap();
    let seen = (&job["job_state"], &job["state_reason"], &job["resv_name"], &job["hold"]);
    let expected = json!(["PENDING", "RESV_DEL_HOLD"]);
    assert_eq!(seen, (&expected, &json!("ReservationDeleted"), &json!(""), &json!(true)));
}

#[tokio::test]
async fn on_24_11_they_are_read_and_no_more() {
    let options = SlurmOptions {
        release: Release::V24_11,
        nodes: vec![NodeSeed::new("n1")],
        ..SlurmOptions::default()
    };
    let fake = Slurmrestd::start(options).await.unwrap();
    fake.reserve(ReservationSeed::new("m", "alice", &["n1"]));
    let root = slurm_at(&fake, "root", "slurm/v0.0.42");
    let shown = root.get("/reservations").await.json()["reservations"][0].clone();
    assert_eq!((&shown["name"], &shown["watts"]), (&json!("m"), &json!({})));
    assert_eq!(root.post("/reservation", &burn(json!({}))).await.status, 404);
    assert_eq!(root.delete("/reservation/m").await.status, 404);
}
