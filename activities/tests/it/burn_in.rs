//! Burn-in on a node that is closed to users.

use activities::burn_in::{Outcome, Request, Stopped, Verdict, burn_in_sbatch, burn_in_stop};
use activities::{Class, Code, Failure};
use fakes::{Answer, End, Fault, JobBehaviour, JobSeed, NodeSeed, PartitionSeed, Release, Service};
use serde_json::{Value, json};

use crate::adopt::{asked, state_of};
use crate::site::{Setup, Site, T, attempt, catalogue, node, within_ceiling};

/// The mark of what Ada asks.
pub(crate) const MARK: &str = "fleet:burn_in r-1: ada: new rack";
/// What a test that is content leaves in its job's comment.
pub(crate) const CONTENT: &str = "disk.write_mbs=100 disk.exit=0";
const NAME: &str = "fleet-burnin-d-gpu-1-r-1";

pub(crate) fn request(id: &str) -> Request {
    Request {
        asked: asked(id),
        tests: Vec::new(),
        script: None,
        deadline: crate::drain::LONG,
        only_if_closed: false,
    }
}

/// A site that burns in, on this release; its one node is closed under the mark of its adoption.
pub(crate) fn setup(release: Release, says: &str) -> Setup {
    let closed = node("gpu-1", &["IDLE", "DRAIN"], crate::adopt::MARK);
    let closed = NodeSeed { extra: "fleet:r-1".to_owned(), ..closed };
    let mut setup = Setup::of(&["gpu-1"]).with_nodes([closed]);
    setup.slurm.release = release;
    setup.burn_in = Some(says.to_owned());
    setup
}

async fn site(release: Release) -> Site {
    Site::start(setup(release, CONTENT)).await
}

async fn run(site: &Site) -> Result<Outcome, Failure> {
    within_ceiling(burn_in_sbatch(&site.world(), &attempt(1, now()), &request("r-1"))).await
}

/// Deadlines count from a time on the machine's clock.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// Every job that is not a user's.
pub(crate) fn ours(site: &Site) -> Vec<Value> {
    site.fakes.slurm.jobs().into_iter().filter(|j| j["user_name"] == "bob").collect()
}

fn users_jobs(site: &Site) -> Vec<Value> {
    let users = site.fakes.slurm.jobs().into_iter().filter(|j| j["user_name"] != "bob");
    users.map(|j| j["job_state"].clone()).collect()
}

pub(crate) const BOTH: [Release; 2] = [Release::V26_05, Release::V24_11];

#[tokio::test]
async fn the_conversation_of_a_burn_in_within_a_reservation() {
    let site = site(Release::V26_05).await;
    run(&site).await.unwrap();
    insta::assert_snapshot!(without_scripts(&site.conversation()));
}

#[tokio::test]
async fn the_conversation_of_a_burn_in_ahead_of_the_queue() {
    let site = site(Release::V24_11).await;
    run(&site).await.unwrap();
    insta::assert_snapshot!(without_scripts(&site.conversation()));
}

/// The script is model's, and long.
fn without_scripts(conversation: &str) -> String {
    let line = |line: &str| match line.split_once("\"script\":") {
        Some((before, rest)) => format!("{before}\"script\":…{}\n", &rest[rest.rfind(" -> ").unwrap()..]),
        None => format!("{line}\n"),
    };
    conversation.lines().map(line).collect()
}

#[tokio::test]
async fn a_passed_burn_in_leaves_a_closed_node_and_nothing_else() {
    for release in BOTH {
        let site = site(release).await;
        let rivals: Vec<i64> = (0..30).map(|_| site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]))).collect();
        let outcome = run(&site).await.unwrap();
        assert_eq!((outcome.verdict, outcome.reason.as_str()), (Verdict::Passed, "passed: disk"));
        assert_eq!(outcome.values["disk.write_mbs"], "100");
        assert!(outcome.tests[0].starts_with("disk sha256:"), "{:?}", outcome.tests);
        assert_eq!(outcome.leaked, Vec::<i64>::new());
        let job = &ours(&site)[..];
        let [job] = job else { panic!("{job:?}") };
        assert_eq!((&job["name"], &job["job_state"]), (&json!(NAME), &json!(["COMPLETED"])));
        assert_eq!(outcome.job, job["job_id"].as_i64());
        let state = state_of(&site);
        assert_eq!(state[..2], ["IDLE+DRAIN", MARK], "{release:?}");
        assert!(state[2].starts_with("fleet:r-1 job "), "{state:?}");
        assert_eq!(site.fakes.slurm.reservations(), Vec::<String>::new());
        assert_eq!(users_jobs(&site), vec![json!(["PENDING"]); rivals.len()], "{release:?}");
    }
}

#[tokio::test]
async fn burnt_in_twice_is_one_job_and_the_same_verdict() {
    for release in BOTH {
        let site = site(release).await;
        let first = run(&site).await.unwrap();
        site.conversation();
        let again = within_ceiling(burn_in_sbatch(&site.world(), &attempt(2, now()), &request("r-1"))).await;
        assert_eq!(again.unwrap(), first);
        assert_eq!(ours(&site).len(), 1);
        let opened = |r: &fakes::Request| r.body.as_ref().is_some_and(|b| b["state"] == json!(["RESUME"]));
        assert!(!site.writes().iter().any(opened), "{}", site.conversation());
    }
}

/// Rivals of every kind, and whether ours may run beside them on the older release.
#[tokio::test]
async fn no_users_job_starts_whatever_is_queued() {
    type Queue = fn(&Site);
    let kinds: [(&str, Queue, bool); 6] = [
        (
            "unpinned",
            |s| {
                s.fakes.slurm.submit(JobSeed::on(&[]));
            },
            true,
        ),
        (
            "an array",
            |s| {
                let array = JobSeed { array: "1-10".to_owned(), ..JobSeed::on(&["gpu-1"]) };
                s.fakes.slurm.submit(array);
            },
            true,
        ),
        (
            "held",
            |s| {
                s.fakes.slurm.submit(JobSeed { hold: true, ..JobSeed::on(&["gpu-1"]) });
            },
            true,
        ),
        (
            "of the same priority",
            |s| {
                let (priority, partition) = (Some(4_294_967_290), "urgent".to_owned());
                s.fakes.slurm.submit(JobSeed { priority, partition, ..JobSeed::on(&["gpu-1"]) });
            },
            false,
        ),
        (
            "in a higher tier that we use as well",
            |s| {
                s.fakes.slurm.submit(JobSeed { partition: "urgent".to_owned(), ..JobSeed::on(&["gpu-1"]) });
            },
            true,
        ),
        (
            "of other features",
            |s| {
                let priority = Some(4_294_967_292);
                let features = vec!["a100".to_owned()];
                s.fakes.slurm.submit(JobSeed { priority, features, ..JobSeed::on(&[]) });
            },
            true,
        ),
    ];
    for release in BOTH {
        for (what, queue, runs) in kinds {
            let mut setup = setup(release, CONTENT);
            let urgent = PartitionSeed { tier: 10, ..PartitionSeed::new("urgent") };
            setup.slurm.partitions.push(urgent);
            setup.slurm.nodes[0].partitions.push("urgent".to_owned());
            let site = Site::start(setup).await;
            queue(&site);
            let outcome = run(&site).await.unwrap();
            let expected = if runs || release == Release::V26_05 { Verdict::Passed } else { Verdict::NotRun };
            assert_eq!(outcome.verdict, expected, "{what} on {release:?}: {}", outcome.reason);
            assert_eq!(outcome.leaked, Vec::<i64>::new(), "{what}");
            assert!(users_jobs(&site).iter().all(|j| *j == json!(["PENDING"])), "{what} on {release:?}");
            assert_eq!(site.fakes.slurm.state("gpu-1"), "IDLE+DRAIN", "{what} on {release:?}");
        }
    }
}

#[tokio::test]
async fn a_job_of_a_higher_tier_than_ours_stands_in_the_way() {
    let mut setup = setup(Release::V24_11, CONTENT);
    setup.slurm.partitions.push(PartitionSeed { tier: 10, ..PartitionSeed::new("urgent") });
    setup.slurm.nodes[0].partitions.push("urgent".to_owned());
    let site = Site::start(setup).await;
    let job = site.fakes.slurm.submit(JobSeed { partition: "urgent".to_owned(), ..JobSeed::on(&["gpu-1"]) });
    let mut world = site.world();
    world.burn_in.as_mut().unwrap().partition = Some("main".to_owned());
    let outcome = within_ceiling(burn_in_sbatch(&world, &attempt(1, now()), &request("r-1"))).await.unwrap();
    assert_eq!(outcome.verdict, Verdict::NotRun);
    assert_eq!(outcome.reason, format!("pending jobs could start on gpu-1 first: {job}"));
    assert_eq!(ours(&site)[0]["job_state"], json!(["CANCELLED"]));
    assert_eq!(
        state_of(&site)[..2],
        [
            "IDLE+DRAIN",
            &format!(
                "fleet:burn_in r-1: ada: burn-in not run: pending jobs could start on gpu-1 first: {job}"
            )
        ]
    );
}

/// slurmctld does not look at ours then, and its reason says as much for ever.
#[tokio::test]
async fn a_job_before_ours_that_any_node_would_do_for_is_named_at_once() {
    let site = site(Release::V24_11).await;
    let job = site.fakes.slurm.submit(JobSeed { priority: Some(4_294_967_290), ..JobSeed::on(&[]) });
    let outcome = run(&site).await.unwrap();
    assert_eq!(outcome.verdict, Verdict::NotRun);
    assert_eq!(outcome.reason, format!("pending jobs could start on gpu-1 first: {job}"));
    assert_eq!(ours(&site)[0]["state_reason"], "Priority");
    assert_eq!(site.fakes.slurm.state("gpu-1"), "IDLE+DRAIN");
}

#[tokio::test]
async fn a_failed_test_blames_the_node_and_says_so_on_it() {
    for release in BOTH {
        let site = Site::start(setup(release, "disk.write_mbs=12 disk.exit=0")).await;
        let outcome = run(&site).await.unwrap();
        assert_eq!(
            (outcome.verdict, outcome.reason.as_str()),
            (Verdict::Failed, "disk: write_mbs 12 is below 50")
        );
        let told = "fleet:burn_in r-1: ada: burn-in failed: disk: write_mbs 12 is below 50";
        assert_eq!(state_of(&site)[..2], ["IDLE+DRAIN", told]);
    }
}

#[tokio::test]
async fn case_b31_a_job_that_does_not_start_is_not_left_in_the_queue() {
    for release in BOTH {
        let mut setup = setup(release, CONTENT);
        // its slurmd is away, and slurmctld will not notice
        (setup.slurm.unheard_ticks, setup.slurm.down_ticks) = (u64::MAX, u64::MAX);
        let site = Site::start(setup).await;
        let mut world = site.world();
        world.burn_in.as_mut().unwrap().start_within = std::time::Duration::from_millis(40);
        site.fakes.slurm.stop_slurmd("gpu-1");
        let outcome =
            within_ceiling(burn_in_sbatch(&world, &attempt(1, now()), &request("r-1"))).await.unwrap();
        assert_eq!(outcome.verdict, Verdict::NotRun, "{}", outcome.reason);
        assert_eq!(ours(&site)[0]["job_state"], json!(["CANCELLED"]), "{release:?}");
        assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"));
        assert_eq!(site.fakes.slurm.reservations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn case_b30_a_job_that_slurmctld_forgot_is_asked_of_slurmdbd_and_else_unknown() {
    let measured = "at_least = { write_mbs = 50 }";
    for (accounting, thresholds, verdict, reason) in [
        (true, "", Verdict::Passed, "passed: disk"),
        // slurmdbd keeps no comment: what was measured is not known any more
        (true, measured, Verdict::Unknown, "the job's comment lacks disk.write_mbs"),
        (false, "", Verdict::Unknown, "neither slurmctld nor slurmdbd knows how job 1 ended"),
    ] {
        let mut setup = setup(Release::V24_11, CONTENT);
        setup.slurm.accounting = accounting;
        let site = Site::start(setup).await;
        run(&site).await.unwrap();
        site.fakes.slurm.lose(1);
        let mut world = site.world();
        world.burn_in.as_mut().unwrap().catalogue = catalogue(thresholds);
        let outcome =
            within_ceiling(burn_in_sbatch(&world, &attempt(2, now()), &request("r-1"))).await.unwrap();
        assert_eq!((outcome.verdict, outcome.reason.as_str(), outcome.job), (verdict, reason, Some(1)));
        assert_eq!(ours(&site), Vec::<Value>::new(), "none is submitted again");
    }
}

#[tokio::test]
async fn case_b13_a_foreign_drain_is_refused_and_keeps_its_words_when_forced() {
    for release in BOTH {
        let mut setup = setup(release, CONTENT);
        setup.slurm.nodes[0] = node("gpu-1", &["IDLE", "DRAIN"], "bad DIMM A3 [alice]");
        let site = Site::start(setup).await;
        let failure = run(&site).await.unwrap_err();
        assert_eq!((failure.code, failure.class), (Code::DrainNotOurs, Class::NeedsHuman));
        assert_eq!(site.written(), Vec::<String>::new());
        let mut forced = request("r-1");
        forced.asked.force = true;
        let outcome = within_ceiling(burn_in_sbatch(&site.world(), &attempt(1, now()), &forced)).await;
        assert_eq!(outcome.unwrap().verdict, Verdict::Passed);
        assert_eq!(state_of(&site)[..2], ["IDLE+DRAIN", "bad DIMM A3 [alice]"], "{release:?}");
    }
}

#[tokio::test]
async fn a_node_that_is_open_is_left_so_where_that_is_asked() {
    let mut setup = setup(Release::V26_05, CONTENT);
    setup.slurm.nodes[0] = node("gpu-1", &["IDLE"], "");
    let site = Site::start(setup).await;
    let request = Request { only_if_closed: true, ..request("r-1") };
    let outcome = within_ceiling(burn_in_sbatch(&site.world(), &attempt(1, T), &request)).await.unwrap();
    assert_eq!(outcome.verdict, Verdict::AlreadyOpen);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn bad_input_is_refused_in_a_line_and_nothing_is_changed() {
    let script = |text: &str, seconds| Some((text.to_owned(), std::time::Duration::from_secs(seconds)));
    for (what, tests, script, free_text, field, says) in [
        ("an unknown test", vec!["gpu"], None, false, "tests", "gpu is not in the catalogue"),
        ("a name that is none", vec!["GPU 1"], None, false, "name", ""),
        (
            "a script where none is allowed",
            vec![],
            script("#!/bin/sh\n", 60),
            false,
            "script",
            "is not allowed",
        ),
        ("a script without #!", vec![], script("date\n", 60), true, "script", ""),
        ("a time limit of zero", vec![], script("#!/bin/sh\n", 0), true, "time_limit", ""),
    ] {
        let site = site(Release::V26_05).await;
        let mut world = site.world();
        world.burn_in.as_mut().unwrap().free_text = free_text;
        let tests = tests.into_iter().map(str::to_owned).collect();
        let request = Request { tests, script, ..request("r-1") };
        let failure = within_ceiling(burn_in_sbatch(&world, &attempt(1, T), &request)).await.unwrap_err();
        assert_eq!((failure.code, failure.class), (Code::RequestInvalid, Class::Permanent), "{what}");
        assert!(failure.field.contains(field) && failure.message.contains(says), "{what}: {failure:?}");
        assert!(!failure.message.contains('\n') && !failure.remedy.is_empty(), "{what}");
        assert_eq!(site.written(), Vec::<String>::new(), "{what}");
    }
}

#[tokio::test]
async fn what_slurm_does_not_take_is_said_in_its_words_and_leaves_the_node_closed() {
    for release in BOTH {
        for what in ["a partition that does not exist"] {
            let site = site(release).await;
            let mut world = site.world();
            world.burn_in.as_mut().unwrap().partition = Some("nosuch".to_owned());
            let (attempt, request) = (attempt(1, now()), request("r-1"));
            let failure = within_ceiling(burn_in_sbatch(&world, &attempt, &request)).await.unwrap_err();
            assert_eq!((failure.code, failure.class), (Code::SlurmRefused, Class::NeedsHuman), "{what}");
            assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"), "{what} on {release:?}");
            // what it has left is the workflow's to end
            within_ceiling(burn_in_stop(&world, &attempt, &request)).await.unwrap();
            assert_eq!(state_of(&site)[..2], ["IDLE+DRAIN", MARK], "{what} on {release:?}");
            assert_eq!(ours(&site), Vec::<Value>::new());
        }
    }
}

#[tokio::test]
async fn a_stop_cancels_the_job_and_leaves_the_node_closed_wherever_the_burn_in_was() {
    for release in BOTH {
        let site = site(release).await;
        site.fakes.slurm.behave(long());
        // the process dies while its job runs
        let (world, first) = (site.world(), attempt(1, now()));
        let request = request("r-1");
        let died = async {
            tokio::select! {
                never = burn_in_sbatch(&world, &first, &request) => panic!("{never:?}"),
                () = runs(&site) => {}
            }
        };
        within_ceiling(died).await;
        let users = site.fakes.slurm.submit(JobSeed::on(&["gpu-1"]));
        let job = ours(&site)[0]["job_id"].as_i64().unwrap();
        let stopped = within_ceiling(burn_in_stop(&site.world(), &attempt(1, T), &request)).await.unwrap();
        assert_eq!(stopped.cancelled, [job]);
        assert_eq!(ours(&site)[0]["job_state"], json!(["CANCELLED"]));
        assert_eq!(site.fakes.slurm.reservations(), Vec::<String>::new());
        assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"));
        assert_eq!(site.fakes.slurm.job(users).unwrap()["job_state"], json!(["PENDING"]));
        // a second one finds nothing to do
        site.conversation();
        let again = within_ceiling(burn_in_stop(&site.world(), &attempt(2, T), &request)).await.unwrap();
        assert_eq!(again, Stopped { cancelled: Vec::new(), ..stopped });
        let done = |r: &&fakes::Request| r.status.is_some_and(|s| s < 400);
        assert_eq!(site.writes().iter().find(done), None);
    }
}

/// A burn-in that takes long.
fn long() -> JobBehaviour {
    let (name, comment) = ("fleet-burnin-".to_owned(), CONTENT.to_owned());
    JobBehaviour { name, takes: 100_000, comment, holds: true, end: End::Completed }
}

/// Until a job of the burn-in runs.
async fn runs(site: &Site) {
    while !ours(site).iter().any(|j| j["job_state"] == json!(["RUNNING"])) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stop_leaves_a_node_alone_that_no_burn_in_has_touched() {
    let mut setup = setup(Release::V26_05, CONTENT);
    setup.slurm.nodes[0] = node("gpu-1", &["IDLE"], "");
    let site = Site::start(setup).await;
    within_ceiling(burn_in_stop(&site.world(), &attempt(1, T), &request("r-1"))).await.unwrap();
    assert_eq!(state_of(&site), ["IDLE", "", ""]);
}

#[tokio::test]
async fn case_b22_a_slurmrestd_that_times_out_is_no_verdict() {
    for release in BOTH {
        let site = site(release).await;
        let times_out = async {
            runs(&site).await;
            for _ in 0..5 {
                let answer = Answer::Status { code: 504, body: "upstream timed out".into() };
                site.fakes.fault(Fault::on(Service::Slurmrestd, "GET", "*/job/1", answer));
            }
        };
        let outcome = tokio::join!(run(&site), times_out).0.unwrap();
        assert_eq!(site.fakes.faults_left(), 0);
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.reason);
        assert_eq!(ours(&site).len(), 1);
        assert_eq!(state_of(&site)[..2], ["IDLE+DRAIN", MARK]);
    }
}

#[tokio::test]
async fn a_users_job_that_slips_in_makes_the_verdict_unknown_and_runs_on() {
    for release in BOTH {
        let site = site(release).await;
        let slips_in = async {
            runs(&site).await;
            // somebody opens the node behind us, and ours does not have it to itself
            site.fakes.slurm.run(JobSeed::on(&["gpu-1"]))
        };
        let (world, attempt, request) = (site.world(), attempt(1, now()), request("r-1"));
        let both = async { tokio::join!(burn_in_sbatch(&world, &attempt, &request), slips_in) };
        let (outcome, job) = within_ceiling(both).await;
        let outcome = outcome.unwrap();
        assert_eq!((outcome.verdict, outcome.leaked), (Verdict::Unknown, vec![job]), "{release:?}");
        assert_eq!(site.fakes.slurm.job(job).unwrap()["job_state"], json!(["RUNNING"]));
        assert!(site.fakes.slurm.state("gpu-1").contains("DRAIN"));
    }
}

#[tokio::test]
async fn case_b29_a_submit_whose_answer_was_lost_is_one_job() {
    for release in BOTH {
        for answer in [Answer::DoneButLost, Answer::Lost] {
            let site = site(release).await;
            site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/job/submit", answer.clone()));
            let outcome = run(&site).await.unwrap();
            assert_eq!(outcome.verdict, Verdict::Passed, "{release:?} {answer:?}: {}", outcome.reason);
            let jobs = ours(&site);
            assert_eq!((jobs.len(), &jobs[0]["name"]), (1, &json!(NAME)), "{release:?} {answer:?}");
        }
    }
}

/// A slurmctld that hung lists its jobs before it takes the one whose submit had timed out.
#[tokio::test]
async fn case_b29_a_submit_that_is_taken_after_the_first_look_is_one_job() {
    for release in BOTH {
        let site = site(release).await;
        let late = Answer::Status { code: 504, body: "upstream timed out".into() };
        site.fakes.fault(Fault::on(Service::Slurmrestd, "POST", "*/job/submit", late));
        let looked = || {
            let log = site.fakes.log();
            let after = log.iter().skip_while(|r| r.method != "POST" || !r.path.ends_with("/job/submit"));
            after.filter(|r| r.path.ends_with("/jobs") && r.status == Some(200)).count() == 1
        };
        let is_taken = async {
            while !looked() {
                tokio::task::yield_now().await;
            }
            let reservation = if release == Release::V26_05 { NAME.to_owned() } else { String::new() };
            let (name, user) = (NAME.to_owned(), "bob".to_owned());
            site.fakes.slurm.submit(JobSeed { name, user, reservation, ..JobSeed::on(&["gpu-1"]) });
        };
        let outcome = tokio::join!(run(&site), is_taken).0.unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{release:?}: {}", outcome.reason);
        assert_eq!(ours(&site).len(), 1, "{release:?}");
    }
}
