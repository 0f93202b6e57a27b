//! Each verb while SLURM's daemons fail, on real SLURM: slurmctld stopped, hung, restarted, killed before it
//! has saved what it acknowledged, failed over; slurmrestd killed.
//!
//! The rows of a fault are played side by side on one cluster, a node each, until every one has come to its
//! moment; then SLURM fails under all of them at once. The activities' bodies run here, without Temporal; OpenStack
//! is imitated.
//!
//! *Invariant*: the fault comes at a moment that is seen, and ends once every row has felt it.

mod cluster;
mod door;
mod row;
mod site;

use std::time::Duration;

use futures::future::join_all;
use futures::stream::{StreamExt as _, iter};
use sandbox::{Daemon, Release, Run, Signal};
use serde_json::json;

use cluster::Cluster;
use door::Stage;
use row::{Moment, Play, Row, Verb};

/// Longer than any of them takes.
const CEILING: Duration = Duration::from_secs(240);
/// What a person closed a node with that no verb is about.
const WORDS: &str = "bad DIMM A3 [alice]";

/// How SLURM fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// slurmctld ends, and is started once everybody has felt it.
    Stopped,
    /// slurmctld hangs until everybody has felt it.
    Hung,
    /// slurmctld ends and is started at once.
    Restarted,
    /// slurmctld is killed before it has saved the writes that it has just acknowledged, and is started.
    Forgets,
    /// The same, and the backup takes over.
    FailsOver,
    /// slurmrestd is killed, and started once everybody has felt it.
    RestKilled,
}

const DRAINED: &[&str] = &["Drained"];
const OPEN: &[&str] = &["Resumed", "AlreadyOpen"];
const KEPT: &[&str] = &["Kept"];
const GONE: &[&str] = &["Deleted"];
const STOPPED: &[&str] = &["Stopped"];
const PASSED: &[&str] = &["Passed: passed: disk"];
/// It may not have started in time.
const PASSED_OR_NOT_RUN: &[&str] = &["Passed: passed: disk", "NotRun: "];

const fn at(verb: Verb, what: &'static str, ends: &'static [&'static str]) -> Row {
    Row { verb, moment: Moment::Write(what), ends }
}

const fn during(verb: Verb, step: &'static str, ends: &'static [&'static str]) -> Row {
    Row { verb, moment: Moment::Step(step), ends }
}

/// Every write of each verb.
fn writes(release: Release) -> Vec<Row> {
    let mut rows = vec![
        at(Verb::Drain, "\"DRAIN\"", DRAINED),
        at(Verb::Drain, "fleet:drain", DRAINED),
        at(Verb::Resume, "\"RESUME\"", OPEN),
        at(Verb::Resume, "\"extra\":\"\"", OPEN),
        at(Verb::Release, "\"DRAIN\"", KEPT),
        at(Verb::Release, "fleet:release", KEPT),
        at(Verb::Remove, "\"DRAIN\"", GONE),
        at(Verb::Remove, "DELETE /slurm/", GONE),
        at(Verb::Stop, "DELETE /slurm/", STOPPED),
        at(Verb::BurnIn, "fleet:burn_in", PASSED),
        at(Verb::BurnIn, "/job/submit", PASSED),
        at(Verb::BurnIn, "\"fleet:r-1 job ", PASSED),
        at(Verb::BurnIn, "\"RESUME\"", PASSED_OR_NOT_RUN),
        at(Verb::BurnIn, "\"DRAIN\"", PASSED),
    ];
    rows.extend(match release == Release::V26_05 {
        true => vec![
            at(Verb::BurnIn, "/reservation {", PASSED),
            at(Verb::BurnIn, "DELETE /slurm/v0.0.45/reservation/", PASSED),
            at(Verb::Stop, "DELETE /slurm/v0.0.45/reservation/", STOPPED),
        ],
        false => vec![at(Verb::BurnIn, "\"priority\":", PASSED)],
    });
    rows
}

/// Some writes and every long wait.
fn writes_and_waits() -> Vec<Row> {
    vec![
        at(Verb::Drain, "\"DRAIN\"", DRAINED),
        during(Verb::Drain, "wait_empty", DRAINED),
        during(Verb::Drain, "settle", DRAINED),
        at(Verb::Resume, "\"RESUME\"", OPEN),
        during(Verb::Resume, "settle", OPEN),
        at(Verb::Release, "fleet:release", KEPT),
        during(Verb::Release, "wait_empty", KEPT),
        during(Verb::Release, "settle", KEPT),
        at(Verb::Remove, "DELETE /slurm/", GONE),
        during(Verb::Remove, "settle", GONE),
        at(Verb::Stop, "DELETE /slurm/", STOPPED),
        during(Verb::Stop, "settle", STOPPED),
        at(Verb::BurnIn, "/job/submit", PASSED),
        at(Verb::BurnIn, "\"RESUME\"", PASSED_OR_NOT_RUN),
        at(Verb::BurnIn, "\"DRAIN\"", PASSED),
        during(Verb::BurnIn, "wait_job", PASSED),
    ]
}

async fn play(release: Release, fault: Fault, rows: Vec<Row>) {
    // a slurmctld that hangs for longer than SlurmdTimeout believes its nodes DOWN; SLURM's default is 300
    let extra_conf = "SlurmdTimeout=300\\nSlurmctldTimeout=10".to_owned();
    // the last node is a person's
    let nodes: Vec<String> = (1..=rows.len() + 1).map(|n| format!("n{n}")).collect();
    let static_nodes = u32::try_from(nodes.len()).unwrap();
    let run = Run { static_nodes, extra_conf, ..Run::of(release) };
    let cluster = match fault {
        Fault::FailsOver => Cluster::start_pair(&run).await,
        _ => Cluster::start(&run).await,
    };
    let (theirs, nodes) = nodes.split_last().unwrap();
    cluster.root.update(theirs, &json!({"state": ["DRAIN"], "reason": WORDS})).await.unwrap();
    let prepared = rows.into_iter().zip(nodes).map(|(row, node)| Play::prepare(&cluster, fault, row, node));
    let plays = join_all(prepared).await;
    let of = |wanted: &[Verb]| -> Vec<&str> {
        plays.iter().filter(|p| wanted.contains(&p.row.verb)).map(|p| p.node.as_str()).collect()
    };
    cluster.occupy(&of(&[Verb::Drain, Verb::Release])).await;
    cluster.queue(&of(&[Verb::Drain, Verb::Release, Verb::BurnIn, Verb::Stop])).await;
    cluster.saved("prepared").await;

    let whole = async { tokio::join!(run_all(&cluster, &plays), fail(&cluster, fault, &plays)) };
    let (ends, ()) = tokio::time::timeout(CEILING, whole).await.unwrap();

    let jobs = cluster.jobs().await.unwrap();
    for (play, end) in plays.iter().zip(ends) {
        play.assert_ended_right(&cluster, &jobs, &end).await;
    }
    let node = cluster.root.node(theirs).await.unwrap().unwrap();
    assert_eq!((&node["state"], &node["reason"]), (&json!(["IDLE", "DRAIN"]), &json!(WORDS)));
    assert_eq!(cluster.root.get("reservations").await.unwrap()["reservations"], json!([]));
    cluster.end().await;
}

async fn run_all(cluster: &Cluster, plays: &[Play]) -> Vec<String> {
    join_all(plays.iter().map(|p| p.run(cluster))).await
}

/// Brings every row to its moment, has SLURM fail and come back, and lets the jobs end.
async fn fail(cluster: &Cluster, fault: Fault, plays: &[Play]) {
    for phase in 0..=2 {
        let now: Vec<&Play> = plays.iter().filter(|p| p.row.phase() == phase).collect();
        now.iter().for_each(|p| p.start());
        let late: Vec<&Play> = now.iter().copied().filter(|p| p.row.is_late()).collect();
        join_all(late.iter().map(|p| p.until_closed())).await;
        cluster.let_end(&late.iter().map(|p| p.node.as_str()).collect::<Vec<_>>()).await;
        join_all(now.iter().map(|p| p.until_moment())).await;
    }
    let felt: Vec<usize> = plays.iter().map(|p| p.door.failures()).collect();
    let all_feel_it = || join_all(plays.iter().zip(&felt).map(|(p, before)| p.door.until_failed(*before)));
    let let_through = |to| plays.iter().for_each(|p| p.door.let_through(to));
    match fault {
        Fault::Stopped => {
            cluster.signal(Daemon::Slurmctld, Signal::Term).await;
            let_through(Stage::Answered);
            all_feel_it().await;
            cluster.start_again(Daemon::Slurmctld).await;
        }
        Fault::Hung => {
            cluster.signal(Daemon::Slurmctld, Signal::Stop).await;
            let_through(Stage::Answered);
            all_feel_it().await;
            cluster.signal(Daemon::Slurmctld, Signal::Continue).await;
        }
        Fault::Restarted => {
            cluster.signal(Daemon::Slurmctld, Signal::Term).await;
            cluster.start_again(Daemon::Slurmctld).await;
            let_through(Stage::Answered);
        }
        Fault::RestKilled => {
            cluster.signal(Daemon::Slurmrestd, Signal::Kill).await;
            let_through(Stage::Answered);
            all_feel_it().await;
            cluster.start_again(Daemon::Slurmrestd).await;
        }
        Fault::Forgets | Fault::FailsOver => {
            cluster.saved("just-before").await;
            let saved = cluster.freeze().await;
            let_through(Stage::Acknowledged);
            join_all(plays.iter().map(|p| p.door.until(Stage::Acknowledged))).await;
            cluster.signal(Daemon::Slurmctld, Signal::Kill).await;
            assert_eq!(cluster.saved_state().await, saved, "what was acknowledged is not saved");
            cluster.thaw().await;
            let_through(Stage::Answered);
            if fault == Fault::Forgets {
                cluster.start_again(Daemon::Slurmctld).await;
            }
        }
    }
    let emptied = plays.iter().filter(|p| p.row.is_of_users());
    cluster.until_closed(&emptied.map(|p| p.node.as_str()).collect::<Vec<_>>()).await;
    cluster.let_end(&plays.iter().map(|p| p.node.as_str()).collect::<Vec<_>>()).await;
}

/// So many clusters at once.
const AT_ONCE: usize = 2;

async fn play_all(release: Release) {
    let during = |fault| (fault, writes_and_waits());
    let plays = [
        (Fault::Forgets, writes(release)),
        during(Fault::Hung),
        during(Fault::Stopped),
        during(Fault::Restarted),
        during(Fault::RestKilled),
    ];
    let one = |(fault, rows)| Box::pin(play(release, fault, rows));
    iter(plays).for_each_concurrent(AT_ONCE, one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_24_11_real() {
    play_all(Release::V24_11).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_26_05_real() {
    play_all(Release::V26_05).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_fail_over_24_11_real() {
    Box::pin(play(Release::V24_11, Fault::FailsOver, writes(Release::V24_11))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_fail_over_26_05_real() {
    Box::pin(play(Release::V26_05, Fault::FailsOver, writes(Release::V26_05))).await;
}
