//! What SLURM 26.05.5 showed in each state (clients/tests/fixtures), judged by DESIGN §6.
//!
//! Where the table and the code differ on purpose: a node that is POWERING_UP does not respond
//! yet and is PoweringUp all the same; COMPLETING has a reason of its own, so that its age is known.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use activities::conditions::{Sight, evaluate, unknown_tokens};
use activities::drained::{Drained, drained};
use clients::slurm::Partition;
use fakes::{Answer, Fault, Release, Service};
use jiff::Timestamp;
use model::NodeName;
use model::Status::{self, False, True, Unknown};
use serde_json::Value;

use crate::site::{Setup, Site};

/// Each recording, without its ending, under its verdict.
const EXPECTED: [(Status, &str, &[&str]); 24] = [
    (
        True,
        "Idle",
        &[
            "1s_after_resume",
            "4s_after_resume",
            "4s_later",
            "6s_after_reservation_delete",
            "DYNAMIC_NORM",
            "FUTURE_static_4s_after_restart",
            "FUTURE_static_after_reconfigure",
            "IDLE",
            "MAINT_reservation",
            "RESERVED",
            "configured_but_slurmd_never_started",
            "future_reservation_-not_active",
            "partition_DOWN",
            "partition_DRAIN",
            "reason_after_resume_by_scontrol",
            "resume_of_FAIL",
            "slurmd_back_-ReturnToService-1",
            "slurmd_continued",
        ],
    ),
    (
        True,
        "InUse",
        &[
            "ALLOCATED",
            "BLOCKED_owner",
            "MIXED",
            "MIXED_-stable",
            "PLANNED_v0.0.45",
            "RESERVED_with_job_in_it",
            "reboot_cancelled",
            "slurmd_killed_with_job_-7s",
        ],
    ),
    (True, "Blocked", &["BLOCKED"]),
    (True, "Completing", &["COMPLETING"]),
    (True, "Planned", &["PLANNED"]),
    (True, "Reserved", &["RESERVED_idle_12s"]),
    (True, "RebootRequested", &["REBOOT_idle_immediate_nextstate-DOWN", "REBOOT_requested_while_allocated"]),
    (True, "PoweredDown", &["POWERED_DOWN", "power_n6_later"]),
    (True, "PoweringUp", &["POWERING_UP_3s", "POWER_UP_issued"]),
    (
        False,
        "PoweringDown",
        &["POWERING_DOWN_3s", "POWER_DOWN_just_issued", "REST_power_down", "REST_power_up"],
    ),
    (False, "Maintenance", &["MAINT-RESERVED_idle_12s", "MAINT_with_job_in_it"]),
    (
        False,
        "Drained",
        &[
            "DRAIN_resume_after-5",
            "DRAIN_resume_after-5_-9s",
            "IDLE_DRAIN_-drained",
            "MAINT_DRAIN",
            "MAINT_RESERVED_DRAIN",
        ],
    ),
    (
        False,
        "Draining",
        &[
            "ALLOCATED_DRAIN_-draining",
            "COMPLETING_DRAIN",
            "MIXED_DRAIN_-draining",
            "POWER_DOWN_ASAP_allocated",
            "REBOOT_ASAP_while_allocated",
        ],
    ),
    (False, "Failed", &["FAIL_idle"]),
    (False, "Failing", &["FAIL_allocated_-failing"]),
    (False, "Down", &["DOWN_DRAIN", "DOWN_admin"]),
    (
        False,
        "NotResponding",
        &["slurmd_killed_with_job_-35s", "slurmd_killed_with_job_-42s", "slurmd_stopped_long"],
    ),
    (
        False,
        "PoweredDown",
        &["ctld_just_restarted_-UNKNOWN", "power_up_timeout_expired", "power_up_timeout_expired_later"],
    ),
    (False, "Rebooting", &["REBOOT_after_job_end", "REBOOT_issued_3s"]),
    (
        False,
        "RebootTimedOut",
        &[
            "4s_after_ctld_restart",
            "in_no_partition",
            "reboot_n2_late",
            "reboot_n2_slurmd_-b",
            "reboot_n3_late",
            "reboot_n3_slurmd_-b",
        ],
    ),
    (False, "InvalidRegistration", &["INVALID_REG", "slurmd_dead_>_SlurmdTimeout"]),
    (False, "External", &["EXTERNAL"]),
    (Unknown, "StateUnknownGrace", &["FUTURE_static_after_ctld_restart", "never_started_-refused_port"]),
    (
        Unknown,
        "NotRespondingGrace",
        &[
            "MIXED_after_resume_of_draining",
            "just_after_reservation_delete",
            "just_after_resume",
            "reason_after_resume_by_REST",
            "resume_of_DOWN-DRAIN",
            "slurmd_killed_with_job_-14s",
            "slurmd_killed_with_job_-21s",
            "slurmd_killed_with_job_-28s",
            "slurmd_stopped_40s_-early",
        ],
    ),
];

/// Every recorded node below this folder of the fixtures, by its name.
fn recordings(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/tests/fixtures/slurm").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    files
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| {
            let name = p.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_slice(&std::fs::read(p).unwrap()).unwrap())
        })
        .collect()
}

fn expected(recording: &str) -> Option<(Status, &'static str)> {
    let short = recording.trim_end_matches("_v0.0.45");
    let find = |name: &str| EXPECTED.iter().find(|(_, _, names)| names.contains(&name));
    find(recording).or_else(|| find(short)).map(|(status, reason, _)| (*status, *reason))
}

#[tokio::test]
async fn every_recorded_state_has_its_verdict() {
    let site = Site::start(Setup::of(&[])).await;
    let world = site.world();
    let up = ["main", "burnin", "blk", "xp"].map(|p| Partition {
        name: p.to_owned(),
        up: true,
        tier: 1,
        nodes: HashSet::new(),
    });
    let tick = Timestamp::from_second(1_796_000_000).unwrap();
    let mut judged = 0;
    for (recording, body) in recordings("states") {
        let name = NodeName::parse(body["nodes"][0]["name"].as_str().unwrap()).unwrap();
        let answer = Answer::Status { code: 200, body };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", &format!("*/node/{name}"), answer));
        let node = world.slurm.node(&name).await.unwrap().unwrap();
        let verdict = evaluate(&[], &name, Sight::Node(&node), &up, tick);
        let found = (verdict.schedulable.status, verdict.schedulable.reason.as_str());
        if recording == "FUTURE_static_v0.0.45" {
            assert_eq!(found, (False, "NotMember"));
            assert_eq!(verdict.member.reason, "Future");
        } else {
            assert_eq!(Some(found), expected(&recording), "{recording}: {}", node.tokens);
            assert_eq!(verdict.member.status, True, "{recording}");
        }
        assert_eq!(unknown_tokens(&node.tokens), Vec::<String>::new(), "{recording}");
        judged += 1;
    }
    let listed: BTreeSet<&str> = EXPECTED.iter().flat_map(|(_, _, names)| names.iter().copied()).collect();
    assert_eq!(judged, listed.len() + 1);
}

/// The words of a recorded node's state, in whichever shape its release writes them.
fn words(node: &Value) -> BTreeSet<String> {
    let list = |value: &Value| match value {
        Value::Array(words) => words.iter().map(|w| w.as_str().unwrap().to_owned()).collect(),
        Value::String(word) => vec![word.to_ascii_uppercase()],
        _ => Vec::new(),
    };
    list(&node["state"]).into_iter().chain(list(&node["state_flags"])).collect()
}

#[tokio::test]
async fn every_recorded_node_of_every_release_is_drained_as_its_words_say() {
    for (release, folder, count) in [
        (Release::V22_05, "22.05.8/states", 74),
        (Release::V24_11, "24.11.5/states", 83),
        (Release::V26_05, "states", 85),
    ] {
        let mut setup = Setup::of(&[]);
        setup.slurm.release = release;
        let site = Site::start(setup).await;
        let world = site.world();
        let recordings = recordings(folder);
        let mut yes = 0;
        for (recording, body) in &recordings {
            let raw = &body["nodes"][0];
            let name = NodeName::parse(raw["name"].as_str().unwrap()).unwrap();
            let answer = Answer::Status { code: 200, body: body.clone() };
            site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", &format!("*/node/{name}"), answer));
            let node = world.slurm.node(&name).await.unwrap().unwrap();
            let words = words(raw);
            let has = |word: &str| words.contains(word);
            let busy = ["ALLOCATED", "MIXED", "COMPLETING"].into_iter().any(has);
            let expected = match (has("DRAIN"), busy) {
                (false, _) => Drained::Open,
                (true, true) => Drained::Held(Vec::new()),
                (true, false) => Drained::Yes,
            };
            yes += usize::from(expected == Drained::Yes);
            assert_eq!(drained(&node, &[], None), expected, "{release:?} {recording}: {words:?}");
        }
        assert_eq!(recordings.len(), count, "{release:?}");
        assert!(yes >= 5, "{release:?}: {yes}");
    }
}
