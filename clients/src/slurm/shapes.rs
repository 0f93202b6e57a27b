//! One node, one job: read alike in whichever shapes their fields come.

use model::NodeName;
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Value, json};

use super::{Array, Job, Node, Tokens};

/// Which of its shapes a field comes in, drawn for each.
#[derive(Debug, Clone)]
struct Shapes(Vec<u8>);

impl Shapes {
    fn next(&mut self, of: u8) -> u8 {
        self.0.pop().unwrap_or(0) % of
    }

    fn text(&mut self, text: &str) -> Value {
        if text.is_empty() && self.next(2) == 1 { Value::Null } else { json!(text) }
    }

    fn number(&mut self, number: i64) -> Value {
        if self.next(2) == 1 {
            json!(number)
        } else {
            json!({"set": true, "infinite": false, "number": number})
        }
    }

    /// A number that is not there.
    fn unset(&mut self) -> Value {
        let shapes = [
            Value::Null,
            json!({"set": false, "infinite": false, "number": 0}),
            json!({"set": false, "infinite": true, "number": 0}),
            json!("Infinity"),
            json!(4_294_967_294_u64),
        ];
        shapes[usize::from(self.next(5))].clone()
    }

    fn list(&mut self, items: &[String]) -> Value {
        match self.next(3) {
            0 if items.is_empty() => Value::Null,
            0 | 1 => json!(items.join(",")),
            _ => json!(items),
        }
    }
}

fn shapes() -> impl Strategy<Value = Shapes> {
    proptest::collection::vec(any::<u8>(), 40).prop_map(Shapes)
}

fn words(of: &[&str]) -> impl Strategy<Value = Vec<String>> + use<> {
    let all: Vec<String> = of.iter().map(|w| (*w).to_owned()).collect();
    let most = all.len();
    subsequence(all, 0..=most)
}

proptest! {
    #[test]
    fn one_node_in_any_shapes(
        mut shapes in shapes(),
        flags in words(&["DRAIN", "COMPLETING", "MAINTENANCE", "SOME_NEW_FLAG_2027"]),
        base in prop_oneof![Just("IDLE"), Just("ALLOCATED"), Just("DOWN")],
        features in words(&["rack1", "ib", "dyn"]),
        partitions in words(&["main", "burnin"]),
        reason in prop_oneof![Just(""), Just("Not responding [slurm@2026-11-30]"), Just("caf\u{fffd}")],
        extra in prop_oneof![Just(""), Just("{\"a\":\"b=c\"}")],
        started in prop_oneof![Just(0), Just(1_796_009_660_i64)],
        suspend_time in prop_oneof![Just(None), Just(Some(8_i64))],
    ) {
        let expected = Node {
            name: NodeName::parse("n1").unwrap(),
            tokens: Tokens::new(flags.iter().map(String::as_str).chain([base])),
            reason: reason.to_owned(),
            extra: extra.to_owned(),
            features: features.clone(),
            active_features: features.clone(),
            gres: "gpu:h100:4".to_owned(),
            partitions: partitions.clone(),
            slurmd_start_time: started,
            suspend_time,
        };
        let mut raw = json!({
            "name": "n1",
            "reason": shapes.text(reason),
            "extra": shapes.text(extra),
            "features": shapes.list(&features),
            "active_features": shapes.list(&features),
            "gres": "gpu:h100:4",
            "partitions": shapes.list(&partitions),
            "slurmd_start_time": if started == 0 { shapes.unset() } else { shapes.number(started) },
            "suspend_time": match suspend_time {
                Some(seconds) => shapes.number(seconds),
                None => shapes.unset(),
            },
            "cpu_load": shapes.unset(),
        });
        // 22.05 puts the flags beside the state; its first versions write it in lower case
        let state = [vec![base.to_owned()], flags.clone()].concat();
        match shapes.next(4) {
            0 => raw["state"] = json!(state),
            1 => raw["state"] = json!(state.iter().map(|w| w.to_lowercase()).collect::<Vec<_>>()),
            2 => {
                raw["state"] = json!(base.to_lowercase());
                raw["state_flags"] = json!(flags);
            }
            _ => {
                raw["state"] = json!(base);
                raw["state_flags"] = shapes.list(&flags);
            }
        }
        prop_assert_eq!(Node::decode(&raw), Some(expected), "{}", raw);
    }

    #[test]
    fn one_job_in_any_shapes(
        mut shapes in shapes(),
        state in prop_oneof![Just("RUNNING"), Just("PENDING"), Just("COMPLETED"), Just("FAILED")],
        partitions in words(&["main", "burnin"]),
        pinned in words(&["n1", "n2"]),
        priority in prop_oneof![Just(None), Just(Some(0)), Just(Some(4_294_967_290_i64))],
        limit in prop_oneof![Just(None), Just(Some(5))],
        task in prop_oneof![Just(None), Just(Some(None)), Just(Some(Some(0)))],
        exit in 0..3_i64,
    ) {
        let ended = matches!(state, "COMPLETED" | "FAILED");
        let expected = Job {
            id: 11,
            name: "fleet-burnin".to_owned(),
            user: "bob".to_owned(),
            states: vec![state.to_owned()],
            reason: "None".to_owned(),
            nodes: vec!["n1".to_owned()],
            required_nodes: pinned.clone(),
            partitions: partitions.clone(),
            priority,
            array: task.map(|task| Array { job: 11, task, tasks: String::new() }),
            submit_time: 10,
            start_time: 20,
            end_time: 0,
            time_limit_minutes: limit,
            exit_code: ended.then_some(exit),
            ..Job::default()
        };
        let optional = |shapes: &mut Shapes, n: Option<i64>| match n {
            Some(n) => shapes.number(n),
            None => shapes.unset(),
        };
        let exit_code = match shapes.next(2) {
            0 => json!(exit << 8),
            _ => json!({"return_code": shapes.number(exit), "signal": {"id": shapes.unset(), "name": ""}}),
        };
        let raw = json!({
            "job_id": shapes.number(11),
            "name": "fleet-burnin",
            "user_name": "bob",
            "job_state": match shapes.next(3) {
                0 => json!([state]),
                1 => json!(state.to_lowercase()),
                _ => json!(state),
            },
            "state_reason": "None",
            "nodes": "n1",
            "required_nodes": shapes.list(&pinned),
            "partition": shapes.list(&partitions),
            "features": shapes.text(""),
            "resv_name": shapes.text(""),
            "priority": optional(&mut shapes, priority),
            "array_job_id": shapes.number(if task.is_some() { 11 } else { 0 }),
            "array_task_id": optional(&mut shapes, task.flatten()),
            "array_task_string": shapes.text(""),
            "submit_time": shapes.number(10),
            "start_time": shapes.number(20),
            "end_time": shapes.number(0),
            "time_limit": optional(&mut shapes, limit),
            "exit_code": exit_code,
            "comment": shapes.text(""),
        });
        prop_assert_eq!(Job::decode(&json!({"jobs": [raw.clone()]})), Ok(vec![expected]), "{}", raw);
    }
}
