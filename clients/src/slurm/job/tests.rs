//! Jobs in every shape.

use super::*;
use serde_json::json;

fn one(raw: Value) -> Option<Job> {
    Job::decode(&json!({"jobs": [raw]})).ok().map(|mut all| all.remove(0))
}

#[test]
fn what_holds_a_node() {
    let node = NodeName::parse("n2").unwrap();
    for (states, nodes, holds) in [
        (json!(["RUNNING"]), "n[1-3]", true),
        (json!("running"), "n2", true),
        (json!(["SUSPENDED"]), "n2", true),
        (json!(["RUNNING", "STOPPED"]), "n2", true),
        (json!(["COMPLETED", "COMPLETING"]), "n2", true),
        (json!(["CANCELLED", "SIGNALING"]), "n2", true),
        (json!(["COMPLETED", "STAGE_OUT"]), "n2", true),
        (json!(["RUNNING", "RESIZING"]), "n2", true),
        (json!(["CONFIGURING"]), "n2", true),
        (json!(["SOMETHING_NEW"]), "n2", true),
        (json!(["COMPLETED", "SOMETHING_NEW"]), "n2", true),
        (json!([]), "n2", true),
        (json!(["COMPLETED"]), "n2", false),
        (json!(["PENDING"]), "", false),
        (json!(["PENDING", "REQUEUED"]), "n2", false),
        (json!(["RUNNING"]), "n20", false),
    ] {
        let job = one(json!({"job_id": 1, "name": "x", "job_state": states, "nodes": nodes})).unwrap();
        assert_eq!(job.holds(&node), holds, "{states} {nodes}");
    }
}

#[test]
fn case_b03_a_state_in_every_shape_and_when_it_is_over() {
    for (state, pending, ended) in [
        (json!("COMPLETED"), false, true),
        (json!(["COMPLETED"]), false, true),
        (json!(["RUNNING", "COMPLETING"]), false, false),
        (json!(["COMPLETED", "COMPLETING"]), false, false),
        (json!(["NODE_FAIL"]), false, true),
        (json!(["OUT_OF_MEMORY"]), false, true),
        (json!(["FAILED", "LAUNCH_FAILED"]), false, true),
        (json!("PENDING"), true, false),
        (json!(["PENDING", "REQUEUED"]), true, false),
        (json!(["SUSPENDED"]), false, false),
        (json!(["SOMETHING_NEW"]), false, false),
        (json!([]), false, false),
    ] {
        let job = one(json!({"job_id": 1, "job_state": state, "nodes": "n1"})).unwrap();
        assert_eq!((job.is_pending(), job.has_ended()), (pending, ended), "{state}");
    }
}

#[test]
fn only_what_decides_whether_it_holds_a_node_can_make_a_job_unreadable() {
    for (raw, readable) in [
        (json!({"job_id": 1, "job_state": ["RUNNING"], "nodes": "n[1"}), false),
        (json!({"job_id": 1, "job_state": ["RUNNING"], "nodes": 7}), false),
        (json!({"job_id": 1, "job_state": ["RUNNING"]}), false),
        (json!({"job_id": 1, "job_state": 7, "nodes": "n1"}), false),
        (json!({"job_state": ["RUNNING"], "nodes": "n1"}), false),
        (json!({"job_id": 1, "job_state": ["PENDING"], "nodes": "n[1"}), true),
        (json!({"job_id": 1, "job_state": ["COMPLETED"]}), true),
    ] {
        assert_eq!(one(raw.clone()).is_some(), readable, "{raw}");
    }
    let odd = one(json!({
        "job_id": 1, "job_state": ["RUNNING"], "nodes": "n1", "name": 7, "user_name": [], "state_reason": {},
        "required_nodes": "n[", "partition": 1, "features": 1, "resv_name": 0, "priority": "x",
        "array_job_id": "x", "submit_time": "x", "time_limit": "Infinity", "exit_code": "x", "comment": 1,
    }));
    let states = vec!["RUNNING".to_owned()];
    let plain = Job { id: 1, states, nodes: vec!["n1".to_owned()], ..Job::default() };
    assert_eq!(odd, Some(plain));
}

#[test]
fn what_it_ended_with_in_every_shape() {
    let unset = json!({"set": false, "infinite": false, "number": 0});
    let set = |n: i64| json!({"set": true, "infinite": false, "number": n});
    for (state, raw, exit_code, signal) in [
        ("FAILED", json!(1792), Some(7), None),
        ("CANCELLED", json!(15), None, Some(15)),
        ("COMPLETED", json!(0), Some(0), None),
        ("FAILED", json!({"return_code": set(7), "signal": {"id": unset}}), Some(7), None),
        ("FAILED", json!({"return_code": unset, "signal": {"id": set(9)}}), None, Some(9)),
        ("FAILED", json!({"return_code": 7, "signal": {"id": null}}), Some(7), None),
        ("FAILED", json!({"return_code": null, "signal": {"id": 9}}), None, Some(9)),
        ("RUNNING", json!({"return_code": set(0), "signal": {"id": unset}}), None, None),
        ("PENDING", json!(0), None, None),
    ] {
        let job = one(json!({"job_id": 1, "job_state": state, "nodes": "n1", "exit_code": raw})).unwrap();
        assert_eq!((job.exit_code, job.signal), (exit_code, signal), "{state} {raw}");
    }
}

#[test]
fn a_task_is_called_by_its_array() {
    let of = |task: Value, tasks: &str| {
        let raw = json!({"job_id": 15, "job_state": ["RUNNING"], "nodes": "n1",
            "array_job_id": {"set": true, "infinite": false, "number": 11},
            "array_task_id": task, "array_task_string": tasks});
        one(raw).unwrap()
    };
    let unset = json!({"set": false, "infinite": false, "number": 0});
    assert_eq!(of(json!({"set": true, "number": 0}), "").key().to_string(), "11_0");
    assert_eq!(of(json!(4), "").key(), JobKey::Task { array: 11, task: 4 });
    let several = of(unset, "2-10%3");
    assert_eq!(several.array, Some(Array { job: 11, task: None, tasks: "2-10%3".to_owned() }));
    assert_eq!(several.key(), JobKey::Job(15));
    let none = one(json!({"job_id": 15, "job_state": "RUNNING", "nodes": "n1", "array_job_id": 0}));
    assert_eq!(none.unwrap().array, None);
}
