//! The table of DESIGN §6, row by row.

use std::collections::HashSet;

use activities::conditions::{Sight, Verdict, evaluate, unknown_tokens};
use clients::slurm::{Node, Partition, Tokens};
use jiff::Timestamp;
use model::Status::{self, False, True, Unknown};
use model::{Condition, ConditionType, DeviceId, NodeName, Observed};
use proptest::prelude::*;

const TICK: i64 = 1_790_000_000;

fn name() -> NodeName {
    NodeName::parse("n1").unwrap()
}

fn node(states: &[&str]) -> Node {
    Node {
        name: name(),
        tokens: Tokens::new(states),
        reason: String::new(),
        extra: String::new(),
        features: Vec::new(),
        active_features: Vec::new(),
        gres: String::new(),
        partitions: vec!["main".to_owned()],
        slurmd_start_time: 0,
        suspend_time: None,
    }
}

fn partition(name: &str, up: bool) -> Partition {
    Partition { name: name.to_owned(), up, tier: 1, nodes: HashSet::new() }
}

/// A row that has had its reason for so many seconds.
fn row(kind: ConditionType, status: Status, reason: &str, seconds: i64) -> Condition {
    let since = Timestamp::from_second(TICK - seconds).unwrap();
    Condition {
        device_id: DeviceId::parse("d").unwrap(),
        kind,
        observed: Observed { status, reason: reason.to_owned(), message: String::new() },
        observed_at: since,
        last_transition_time: since,
        reason_since: since,
    }
}

fn rows(status: Status, reason: &str, seconds: i64) -> Vec<Condition> {
    ConditionType::ALL.map(|kind| row(kind, status, reason, seconds)).into()
}

fn judge_at(rows: &[Condition], sight: Sight<'_>, tick: i64) -> Verdict {
    let up = [partition("main", true)];
    evaluate(rows, &name(), sight, &up, Timestamp::from_second(tick).unwrap())
}

fn judge(rows: &[Condition], node: &Node) -> Verdict {
    judge_at(rows, Sight::Node(node), TICK)
}

fn short(observed: &Observed) -> (Status, &str) {
    (observed.status, observed.reason.as_str())
}

#[test]
fn case_b06_b20_the_table_row_by_row() {
    for (states, status, reason) in [
        ("IDLE EXTERNAL DYNAMIC_NORM", False, "External"),
        ("IDLE INVALID_REG", False, "InvalidRegistration"),
        ("IDLE DRAIN INVALID_REG", False, "InvalidRegistration"),
        ("ERROR", False, "StateError"),
        ("INVALID", False, "StateError"),
        ("DOWN ERROR", False, "StateError"),
        ("DOWN REBOOT_ISSUED", False, "Rebooting"),
        ("IDLE REBOOT_ISSUED", False, "Rebooting"),
        ("IDLE DRAIN REBOOT_REQUESTED", False, "Rebooting"),
        ("DOWN REBOOT_REQUESTED", False, "Rebooting"),
        ("ALLOCATED DRAIN REBOOT_REQUESTED", False, "Draining"),
        ("DOWN", False, "Down"),
        ("DOWN DRAIN", False, "Down"),
        ("DOWN NOT_RESPONDING", False, "NotResponding"),
        ("DOWN CLOUD POWERED_DOWN", False, "PoweredDown"),
        ("DOWN CLOUD POWERED_DOWN NOT_RESPONDING", False, "PoweredDown"),
        ("ALLOCATED FAIL", False, "Failing"),
        ("IDLE FAIL", False, "Failed"),
        ("IDLE FAIL DRAIN", False, "Failed"),
        ("ALLOCATED DRAIN", False, "Draining"),
        ("MIXED DRAIN", False, "Draining"),
        ("IDLE DRAIN COMPLETING", False, "Draining"),
        ("MIXED DRAIN POWER_DOWN", False, "Draining"),
        ("IDLE DRAIN", False, "Drained"),
        ("IDLE DRAIN NOT_RESPONDING", False, "Drained"),
        ("IDLE DRAIN MAINTENANCE RESERVED", False, "Drained"),
        ("IDLE DRAIN UNDRAIN", True, "Idle"),
        ("IDLE UNDRAIN", True, "Idle"),
        ("IDLE MAINTENANCE RESERVED", False, "Maintenance"),
        ("ALLOCATED MAINTENANCE", False, "Maintenance"),
        ("IDLE POWERING_DOWN", False, "PoweringDown"),
        ("IDLE POWER_DOWN", False, "PoweringDown"),
        ("IDLE POWER_DOWN POWERED_DOWN", False, "PoweringDown"),
        ("IDLE POWERING_UP", True, "PoweringUp"),
        ("IDLE POWERING_UP NOT_RESPONDING", True, "PoweringUp"),
        ("IDLE POWER_UP POWERED_DOWN", True, "PoweringUp"),
        ("IDLE CLOUD POWERED_DOWN", True, "PoweredDown"),
        ("IDLE BLOCKED", True, "Blocked"),
        ("IDLE REBOOT_REQUESTED", True, "RebootRequested"),
        ("ALLOCATED REBOOT_REQUESTED", True, "RebootRequested"),
        ("IDLE PLANNED", True, "Planned"),
        ("ALLOCATED RESERVED", True, "Reserved"),
        ("ALLOCATED", True, "InUse"),
        ("MIXED COMPLETING", True, "InUse"),
        ("IDLE", True, "Idle"),
        ("IDLE CLOUD DYNAMIC_NORM", True, "Idle"),
        ("IDLE SOME_NEW_FLAG_2027", True, "Idle"),
    ] {
        let tokens: Vec<&str> = states.split(' ').collect();
        let verdict = judge(&[], &node(&tokens));
        assert_eq!(short(&verdict.schedulable), (status, reason), "{states}");
        assert_eq!(short(&verdict.member), (True, "Known"), "{states}");
    }
}

#[test]
fn a_future_node_is_no_member() {
    let verdict = judge(&[], &node(&["FUTURE"]));
    assert_eq!(short(&verdict.member), (False, "Future"));
    assert_eq!(short(&verdict.schedulable), (False, "NotMember"));
}

#[test]
fn case_b20_a_reboot_that_slurm_gave_up_is_said_so() {
    let mut node = node(&["DOWN", "DRAIN"]);
    node.reason = "fw : reboot issued : reboot timed out".to_owned();
    assert_eq!(short(&judge(&[], &node).schedulable), (False, "RebootTimedOut"));
}

#[test]
fn case_b23_absence_is_pending_for_one_tick() {
    let pending = judge_at(&rows(True, "Idle", 600), Sight::Absent, TICK);
    assert_eq!(short(&pending.member), (True, "NotInSlurmPending"));
    assert_eq!(short(&pending.schedulable), (True, "NotInSlurmPending"));
    let concluded = judge_at(&rows(True, "NotInSlurmPending", 60), Sight::Absent, TICK);
    assert_eq!(short(&concluded.member), (False, "NotInSlurm"));
    assert_eq!(short(&concluded.schedulable), (False, "NotMember"));
    let still = judge_at(&rows(False, "NotInSlurm", 6000), Sight::Absent, TICK);
    assert_eq!(still, concluded);
}

#[test]
fn absence_of_a_device_never_judged_begins_as_unknown() {
    let verdict = judge_at(&[], Sight::Absent, TICK);
    assert_eq!(short(&verdict.member), (Unknown, "NotInSlurmPending"));
    assert_eq!(short(&verdict.schedulable), (Unknown, "NotInSlurmPending"));
}

#[test]
fn unknown_and_not_responding_have_ninety_seconds() {
    for (token, grace, status, then) in [
        ("UNKNOWN", "StateUnknownGrace", Unknown, "StateUnknown"),
        ("NOT_RESPONDING", "NotRespondingGrace", False, "NotResponding"),
    ] {
        let node = node(&["IDLE", token]);
        for (before, reason, seconds, expected) in [
            (True, "Idle", 6000, (True, grace)),
            (False, "Drained", 6000, (False, grace)),
            (True, grace, 0, (True, grace)),
            (True, grace, 89, (True, grace)),
            (True, grace, 90, (status, then)),
            (True, grace, -5, (True, grace)),
            (status, then, 0, (status, then)),
            (status, then, 6000, (status, then)),
        ] {
            let verdict = judge(&rows(before, reason, seconds), &node);
            assert_eq!(short(&verdict.schedulable), expected, "{token} after {reason} for {seconds} s");
            assert_eq!(short(&verdict.member), (True, "Known"));
        }
    }
}

#[test]
fn completing_is_in_use_until_it_is_stuck() {
    let node = node(&["IDLE", "COMPLETING"]);
    for (status, reason, seconds, expected) in [
        (True, "InUse", 6000, (True, "Completing")),
        (True, "Completing", 599, (True, "Completing")),
        (True, "Completing", 600, (False, "StuckCompleting")),
        (False, "StuckCompleting", 0, (False, "StuckCompleting")),
    ] {
        let verdict = judge(&rows(status, reason, seconds), &node);
        assert_eq!(short(&verdict.schedulable), expected, "{reason} for {seconds} s");
    }
}

#[test]
fn a_node_needs_a_partition_that_is_up() {
    let tick = Timestamp::from_second(TICK).unwrap();
    let judge = |states: &[&str], of: &[&str], partitions: &[Partition]| {
        let mut node = node(states);
        node.partitions = of.iter().map(|p| (*p).to_owned()).collect();
        evaluate(&[], &name(), Sight::Node(&node), partitions, tick).schedulable
    };
    let (up, down) = (partition("main", true), partition("burnin", false));
    let both = [up, down];
    assert_eq!(short(&judge(&["IDLE"], &[], &both)), (False, "NoPartition"));
    assert_eq!(short(&judge(&["IDLE"], &["burnin"], &both)), (False, "PartitionDown"));
    assert_eq!(short(&judge(&["IDLE"], &["gone"], &both)), (False, "PartitionDown"));
    assert_eq!(short(&judge(&["IDLE"], &["burnin", "main"], &both)), (True, "Idle"));
    assert_eq!(short(&judge(&["ALLOCATED"], &["burnin"], &both)), (False, "PartitionDown"));
    assert_eq!(short(&judge(&["IDLE", "DRAIN"], &["burnin"], &both)), (False, "Drained"));
}

#[test]
fn the_message_holds_the_reason_only_while_it_means_something() {
    let mut closed = node(&["IDLE", "DRAIN"]);
    closed.reason = "bad DIMM A3\n[alice]".to_owned();
    assert_eq!(judge(&[], &closed).schedulable.message, "n1 is DRAIN+IDLE: bad DIMM A3 [alice]");
    let open = Node { tokens: Tokens::new(["IDLE"]), ..closed };
    assert_eq!(judge(&[], &open).schedulable.message, "n1 is IDLE");
}

#[test]
fn case_b05_an_unknown_token_is_named() {
    let verdict = judge(&[], &node(&["IDLE", "SOME_NEW_FLAG_2027", "ZZ"]));
    let message = "n1 is IDLE+SOME_NEW_FLAG_2027+ZZ (unknown to this release: SOME_NEW_FLAG_2027, ZZ)";
    assert_eq!(verdict.schedulable.message, message);
}

#[test]
fn a_node_that_carries_our_claim_and_is_open_is_said_to_have_lost_its_mark() {
    let with = |extra: &str, states: &[&str]| Node { extra: extra.to_owned(), ..node(states) };
    for (extra, states, message) in [
        ("fleet:r-1", &["IDLE"][..], "n1 is IDLE (mark lost: r-1 has closed it, and it is open)"),
        ("fleet:r-1 job 42", &["MIXED"], "n1 is MIXED (mark lost: r-1 has closed it, and it is open)"),
        ("fleet:r-1", &["IDLE", "DRAIN"], "n1 is DRAIN+IDLE"),
        ("{\"rack\":7}", &["IDLE"], "n1 is IDLE"),
        ("", &["IDLE"], "n1 is IDLE"),
    ] {
        assert_eq!(judge(&[], &with(extra, states)).schedulable.message, message, "{extra:?}");
    }
}

#[test]
fn a_reason_of_five_megabytes_becomes_five_hundred_characters() {
    let mut long = node(&["IDLE", "DRAIN"]);
    long.reason = "x".repeat(5_000_000);
    assert_eq!(judge(&[], &long).schedulable.message.len(), 500);
}

#[test]
fn case_b48_a_later_tick_says_the_same_words() {
    for states in [&["IDLE"][..], &["IDLE", "NOT_RESPONDING"], &["IDLE", "COMPLETING"], &["UNKNOWN"]] {
        let (first, mut again) = (node(states), node(states));
        again.slurmd_start_time = 1_790_000_050;
        let before = judge_at(&[], Sight::Node(&first), TICK);
        let reason = before.schedulable.reason.clone();
        let rows = [row(ConditionType::SlurmSchedulable, before.schedulable.status, &reason, 0)];
        assert_eq!(judge_at(&rows, Sight::Node(&again), TICK + 60), before, "{states:?}");
    }
}

#[test]
fn a_token_is_known_only_if_slurm_has_that_word() {
    assert_eq!(unknown_tokens(&Tokens::new(TOKENS)), Vec::<String>::new());
    let others = ["CG", "LOW_CPU", "NO_RESPOND", "PARSING", "PERFCTRS", "POWERED_UP", "RES"];
    assert_eq!(unknown_tokens(&Tokens::new(others)), others);
}

/// Every token that SLURM has a word for.
const TOKENS: [&str; 32] = [
    "ALLOCATED",
    "BLOCKED",
    "CLOUD",
    "COMPLETING",
    "DOWN",
    "DRAIN",
    "DYNAMIC_FUTURE",
    "DYNAMIC_NORM",
    "ERROR",
    "EXTERNAL",
    "FAIL",
    "FUTURE",
    "IDLE",
    "INVALID",
    "INVALID_REG",
    "MAINTENANCE",
    "MIXED",
    "NOT_RESPONDING",
    "PLANNED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
    "POWER_DOWN",
    "POWER_DRAIN",
    "POWER_UP",
    "REBOOT_CANCELED",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "RESERVED",
    "RESUME",
    "UNDRAIN",
    "UNKNOWN",
];

proptest! {
    #[test]
    fn no_closed_node_is_ever_schedulable(
        tokens in proptest::sample::subsequence(TOKENS.to_vec(), 0..=TOKENS.len()),
        reason in proptest::sample::select(vec!["Idle", "StateUnknownGrace", "NotRespondingGrace", "Completing"]),
        seconds in 0_i64..1000,
    ) {
        let node = node(&tokens);
        let verdict = judge(&rows(True, reason, seconds), &node);
        let has = |t| tokens.contains(&t);
        let closed = ["DOWN", "FAIL", "INVALID_REG", "ERROR"].into_iter().any(has)
            || (has("DRAIN") && !has("UNDRAIN"));
        if closed {
            prop_assert_eq!(verdict.schedulable.status, False, "{:?}", tokens);
        }
        prop_assert_eq!(verdict.member.status == True, !has("FUTURE"));
        let camel = |r: &str| r.starts_with(char::is_uppercase) && r.chars().all(char::is_alphanumeric);
        prop_assert!(camel(&verdict.member.reason) && camel(&verdict.schedulable.reason));
        let mut reversed = tokens.clone();
        reversed.reverse();
        let lower: Vec<String> = reversed.iter().map(|t| t.to_lowercase()).collect();
        let shuffled = Node { tokens: Tokens::new(lower), ..node };
        prop_assert_eq!(judge(&rows(True, reason, seconds), &shuffled), verdict);
    }
}
