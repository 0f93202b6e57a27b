//! Ticks and conditions (DESIGN §11).

use super::*;

const POLLS: &str = "/sites/lab/polls/";
const CONDITIONS: &str = "/sites/lab/device-conditions/";
const AGENT: &str = "slurm-agent-lab";

fn row(kind: &str, status: &str, reason: &str) -> Value {
    json!({ "device_id": "d-1", "type": kind, "status": status, "reason": reason, "message": "m" })
}

async fn claim(lab: &Lab, tick: i64) -> Answer {
    lab.post(AGENT, POLLS, &json!({ "tick": Lab::tick(tick) })).await
}

async fn post(lab: &Lab, tick: i64, rows: Value) -> Answer {
    lab.post(AGENT, CONDITIONS, &json!({ "tick": Lab::tick(tick), "rows": rows })).await
}

async fn rev(lab: &Lab, tick: i64) -> u64 {
    claim(lab, tick).await.good()["rev"].as_u64().unwrap()
}

async fn stored(lab: &Lab) -> Value {
    lab.get("ops", CONDITIONS).await.good()["items"].clone()
}

#[tokio::test]
async fn ticks_are_claimed_in_order() {
    let lab = Lab::new().await;
    let first = claim(&lab, 60).await.good();
    assert_eq!(
        (&first["rev"], &first["devices_rev"], &first["good_at"]),
        (&json!(1), &json!(1), &Value::Null)
    );
    assert_eq!(claim(&lab, 60).await.good(), first);
    let older = claim(&lab, 59).await;
    assert_eq!((older.problem(), older.status), ("tick-overtaken", StatusCode::CONFLICT));
    assert_eq!(claim(&lab, 61).await.good()["incarnation"], first["incarnation"]);
    let other = Lab::new().await;
    assert_ne!(claim(&other, 60).await.good()["incarnation"], first["incarnation"]);
    // to the nanosecond
    let at = |text: &str| json!({ "tick": text });
    lab.post(AGENT, POLLS, &at("2026-11-30T08:02:00.000000002Z")).await.good();
    let older = lab.post(AGENT, POLLS, &at("2026-11-30T08:02:00.000000001Z")).await;
    assert_eq!(older.problem(), "tick-overtaken");
}

#[tokio::test]
async fn good_is_said_of_the_highest_tick_alone() {
    let lab = Lab::new().await;
    let good =
        async |tick: i64| lab.post(AGENT, POLLS, &json!({ "tick": Lab::tick(tick), "good": true })).await;
    assert_eq!(good(0).await.problem(), "tick-unclaimed");
    claim(&lab, 0).await.good();
    assert_eq!(good(0).await.good()["good_at"], Lab::tick(0));
    claim(&lab, 60).await.good();
    assert_eq!(good(0).await.problem(), "tick-overtaken");
    assert_eq!(claim(&lab, 60).await.good()["good_at"], Lab::tick(0));
}

#[tokio::test]
async fn a_tick_from_the_future_is_refused() {
    let lab = Lab::new().await;
    claim(&lab, 600).await.good();
    assert_eq!(claim(&lab, 601).await.fields(), ["tick"]);
    assert_eq!(post(&lab, 601, json!([])).await.fields(), ["tick"]);
}

#[tokio::test]
async fn an_older_tick_writes_nothing() {
    let lab = Lab::new().await;
    claim(&lab, 60).await.good();
    let older = post(&lab, 0, json!([row("SlurmMember", "True", "Idle")])).await;
    assert_eq!((older.problem(), older.status), ("tick-overtaken", StatusCode::CONFLICT));
    assert_eq!(stored(&lab).await, json!([]));
    post(&lab, 60, json!([row("SlurmMember", "True", "Idle")])).await.good();
    // one that was never claimed is a claim of its own
    post(&lab, 90, json!([])).await.good();
    assert_eq!(claim(&lab, 60).await.problem(), "tick-overtaken");
}

#[tokio::test]
async fn a_change_moves_rev_once_and_an_unchanged_row_writes_nothing() {
    let lab = Lab::new().await;
    let before = rev(&lab, 0).await;
    let rows = json!([row("SlurmMember", "True", "Idle"), row("SlurmSchedulable", "True", "Idle")]);
    let answer = post(&lab, 0, rows.clone()).await.good();
    assert_eq!(
        answer["results"][1],
        json!({ "device_id": "d-1", "type": "SlurmSchedulable", "result": "written" })
    );
    assert_eq!(rev(&lab, 0).await, before + 1);
    let first = stored(&lab).await;
    let answer = post(&lab, 60, rows).await.good();
    assert!(answer["results"].as_array().unwrap().iter().all(|r| r["result"] == "unchanged"));
    assert_eq!((rev(&lab, 60).await, stored(&lab).await), (before + 1, first));
    let unknown = json!([{ "device_id": "m-1", "type": "SlurmMember", "status": "True", "reason": "R", "message": "" }]);
    assert_eq!(post(&lab, 60, unknown).await.good()["results"][0]["result"], "unknown_device");
    assert_eq!(rev(&lab, 60).await, before + 1);
}

#[tokio::test]
async fn times_move_with_what_they_count() {
    let lab = Lab::new().await;
    let times = async |tick: i64, status: &str, reason: &str| {
        post(&lab, tick, json!([row("SlurmSchedulable", status, reason)])).await.good();
        let row = stored(&lab).await[0].clone();
        ["observed_at", "last_transition_time", "reason_since"].map(|f| row[f].as_str().unwrap().to_owned())
    };
    assert_eq!(times(0, "True", "Idle").await, [0, 0, 0].map(Lab::tick));
    assert_eq!(times(1, "True", "InUse").await, [1, 0, 1].map(Lab::tick));
    assert_eq!(times(2, "False", "InUse").await, [2, 2, 1].map(Lab::tick));
    assert_eq!(times(3, "False", "Drained").await, [3, 2, 3].map(Lab::tick));
}

#[tokio::test]
async fn a_silent_poller_makes_conditions_unknown() {
    let lab = Lab::new().await;
    post(&lab, 0, json!([row("SlurmMember", "True", "Idle")])).await.good();
    lab.pass(300);
    assert_eq!(stored(&lab).await[0]["status"], "True");
    lab.pass(1);
    insta::assert_json_snapshot!(stored(&lab).await);
    let device = lab.get("ops", "/sites/lab/devices/d-1").await.good();
    assert_eq!(device["conditions"][0]["reason"], "PollerSilent");
    claim(&lab, 301).await.good();
    assert_eq!(
        (&stored(&lab).await[0]["status"], &stored(&lab).await[0]["reason"]),
        (&json!("True"), &json!("Idle"))
    );
}

#[tokio::test]
async fn rows_are_checked() {
    let lab = Lab::new().await;
    let good = || row("SlurmMember", "True", "Idle");
    let mut with = good();
    with["color"] = json!("red");
    assert_eq!(post(&lab, 0, json!([good(), with])).await.fields(), ["rows[1].color"]);
    assert_eq!(
        post(&lab, 0, json!([good(), row("SlurmMember", "Maybe", "R")])).await.fields(),
        ["rows[1].status"]
    );
    assert_eq!(post(&lab, 0, json!([good(), good()])).await.fields(), ["rows[1]"]);
    assert_eq!(
        post(&lab, 0, json!([row("SlurmMember", "True", "not camel")])).await.fields(),
        ["rows[0].reason"]
    );
    assert_eq!(post(&lab, 0, Value::Array(vec![good(); 501])).await.fields(), ["rows"]);
    assert_eq!(stored(&lab).await, json!([]));
}
