//! Drained, as a function of tokens and jobs: every combination of the tokens that count, among all
//! others; every recorded answer; and jobs that do not show in the tokens.

use activities::drained::{Drained, Holding, drained, waiting_for};
use clients::slurm::{Job, Node, Tokens};
use model::NodeName;
use proptest::prelude::*;

/// The tokens on which it depends.
const COUNT: [&str; 8] = ["DRAIN", "UNDRAIN", "ALLOCATED", "MIXED", "COMPLETING", "IDLE", "DOWN", "FAIL"];
/// Others that SLURM has, and one that it may come to have.
const OTHERS: [&str; 20] = [
    "CLOUD",
    "DYNAMIC_NORM",
    "NOT_RESPONDING",
    "POWER_DOWN",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
    "POWER_UP",
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
    "MAINTENANCE",
    "RESERVED",
    "PLANNED",
    "BLOCKED",
    "EXTERNAL",
    "INVALID_REG",
    "UNKNOWN",
    "FUTURE",
    "ERROR",
    "SOME_NEW_FLAG_2027",
];
/// States of a job that holds its nodes, and of one that does not.
const HOLDING: [&[&str]; 8] = [
    &["RUNNING"],
    &["SUSPENDED"],
    &["STOPPED"],
    &["COMPLETING", "COMPLETED"],
    &["CONFIGURING", "RUNNING"],
    &["STAGE_OUT"],
    &["SIGNALING", "RUNNING"],
    &["SOMETHING_NEW"],
];
const FREE: [&[&str]; 5] = [&["PENDING"], &["COMPLETED"], &["FAILED"], &["CANCELLED"], &["NODE_FAIL"]];

fn node(tokens: &[&str]) -> Node {
    Node {
        name: NodeName::parse("n1").unwrap(),
        tokens: Tokens::new(tokens),
        reason: String::new(),
        extra: String::new(),
        features: Vec::new(),
        active_features: Vec::new(),
        gres: String::new(),
        partitions: Vec::new(),
        slurmd_start_time: 0,
        suspend_time: None,
    }
}

fn job(id: i64, states: &[&str], node: &str) -> Job {
    let states = states.iter().map(|s| (*s).to_owned()).collect();
    Job { id, name: "j".to_owned(), states, nodes: vec![node.to_owned()], ..Job::default() }
}

fn holding(id: i64, ends: Option<i64>) -> Holding {
    Holding { id, key: id.into(), ends }
}

#[test]
fn case_b15_every_combination_of_the_tokens_that_count() {
    for bits in 0..1_u32 << COUNT.len() {
        let tokens: Vec<&str> =
            COUNT.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, t)| *t).collect();
        let has = |t| tokens.contains(&t);
        let closed = has("DRAIN") && !has("UNDRAIN");
        let busy = has("ALLOCATED") || has("MIXED") || has("COMPLETING");
        let expected = match (closed, busy) {
            (false, _) => Drained::Open,
            (true, true) => Drained::Held(Vec::new()),
            (true, false) => Drained::Yes,
        };
        assert_eq!(drained(&node(&tokens), &[], None), expected, "{tokens:?}");
    }
}

proptest! {
    /// No other token changes anything, nor do jobs elsewhere or jobs that hold nothing; one job that
    /// holds the node always does.
    #[test]
    fn nothing_else_counts(
        bits in 0..1_u32 << COUNT.len(),
        others in prop::collection::hash_set(0..OTHERS.len(), 0..OTHERS.len()),
        free in prop::collection::vec(0..FREE.len(), 0..4),
        elsewhere in prop::collection::vec(0..HOLDING.len(), 0..4),
        held in prop::option::of(0..HOLDING.len()),
    ) {
        let of = |bits: u32| COUNT.iter().enumerate().filter(move |(n, _)| bits >> n & 1 == 1).map(|(_, t)| *t);
        let alone: Vec<&str> = of(bits).collect();
        let tokens: Vec<&str> = of(bits).chain(others.iter().map(|n| OTHERS[*n])).collect();
        let mut jobs: Vec<Job> = free.iter().map(|n| job(1, FREE[*n], "n1")).collect();
        jobs.extend(elsewhere.iter().map(|n| job(2, HOLDING[*n], "n11")));
        let without = drained(&node(&alone), &[], None);
        prop_assert_eq!(&drained(&node(&tokens), &jobs, None), &without, "{:?}", tokens);
        if let Some(n) = held {
            jobs.push(job(3, HOLDING[n], "n1"));
            let with = drained(&node(&tokens), &jobs, None);
            prop_assert_eq!(with, match without {
                Drained::Open => Drained::Open,
                _ => Drained::Held(vec![holding(3, None)]),
            });
        }
    }
}

#[test]
fn case_b19_to_be_powered_down_is_not_down() {
    let power_down = node(&["MIXED", "DRAIN", "POWER_DOWN"]);
    assert_eq!(drained(&power_down, &[], None), Drained::Held(Vec::new()));
    assert_eq!(drained(&node(&["IDLE", "POWER_DOWN", "POWERED_DOWN"]), &[], None), Drained::Open);
}

#[test]
fn a_suspended_job_does_not_show_in_the_tokens_and_counts() {
    let (node, suspended) = (node(&["IDLE", "DRAIN"]), job(7, &["SUSPENDED"], "n1"));
    assert_eq!(drained(&node, &[suspended], None), Drained::Held(vec![holding(7, None)]));
}

#[test]
fn our_own_job_does_not_count_nor_do_the_tokens_that_it_makes() {
    let (busy, ours) = (node(&["ALLOCATED", "DRAIN"]), job(42, &["RUNNING"], "n1"));
    assert_eq!(drained(&busy, std::slice::from_ref(&ours), Some(42)), Drained::Yes);
    assert_eq!(drained(&busy, &[], Some(42)), Drained::Held(Vec::new()));
    let another = job(43, &["RUNNING"], "n1");
    assert_eq!(drained(&busy, &[ours, another], Some(42)), Drained::Held(vec![holding(43, None)]));
}

#[test]
fn a_wait_says_which_jobs_and_when_the_last_must_end() {
    let node = node(&["ALLOCATED", "DRAIN"]);
    let one = waiting_for(&node, &[holding(77, Some(1_790_000_000))]);
    assert_eq!(one, "1 job holds n1 (ALLOCATED+DRAIN): 77; the last must end by 2026-09-21T14:13:20Z");
    let two = waiting_for(&node, &[holding(78, None), holding(77, Some(1_790_000_000))]);
    assert_eq!(two, "2 jobs hold n1 (ALLOCATED+DRAIN): 77, 78; not all have a time by which they must end");
    let many: Vec<Holding> = (1..=25).map(|id| holding(id, Some(1_790_000_000))).collect();
    let said = waiting_for(&node, &many);
    assert!(said.starts_with("25 jobs hold n1") && said.contains("19, 20 and 5 more;"), "{said}");
    assert_eq!(waiting_for(&node, &[]), "n1 is ALLOCATED+DRAIN, and no job is known to hold it");
}
