//! Jobs of a burn-in user's, as we submit, rank and follow them.

use clients::slurm::{Job, NewJob, Submitted};
use fakes::End;
use serde_json::json;

use super::reads::{came_to, timeless};
use super::subject::{Cluster, Subject, named};
use super::wanted::{Wanted, ours};

/// What slurmctld warns of when a node is closed.
const CLOSED: &str = "Required node not available (down, drained or reserved)";
/// The priority that we ask for.
pub(super) const FIRST: u32 = 4_294_967_290;

pub(super) async fn hold(s: &Subject) {
    s.drain("n1").await;
    let id = it_waits(s).await;
    who_ranks_it(s, id).await;
    one_that_is_held(s).await;
    it_runs_and_fails(s, id).await;
    one_that_is_killed(s).await;
    one_that_is_suspended(s).await;
}

fn states(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

/// Submitted, and not yet seen by the scheduler.
fn pending(id: i64, job: &NewJob) -> Job {
    let node = job.node.as_str().to_owned();
    Job {
        id,
        name: job.name.clone(),
        user: job.user.clone(),
        states: states(&["PENDING"]),
        reason: "ReqNodeNotAvail".to_owned(),
        required_nodes: vec![node],
        partitions: vec!["main".to_owned()],
        priority: Some(1),
        submit_time: 1,
        time_limit_minutes: Some(i64::from(job.minutes)),
        comment: job.comment.clone().unwrap_or_default(),
        ..Job::default()
    }
}

/// Bob's job for n1, which is closed.
async fn it_waits(s: &Subject) -> i64 {
    let (found, root) = (&s.findings, s.client("root"));
    let script = s.script("fleet-seven", 2, "a=1 b=2", End::Failed(7));
    let comment = Some("c=3".to_owned());
    let job = NewJob { comment, ..ours("n1", "fleet-seven", script) };
    let submitted = root.submit_job(&job).await.unwrap();
    let long = format!("Job submission resulted in non-zero return code: {CLOSED}");
    found.same("our client: warnings", &submitted.warnings, &vec![long, CLOSED.to_owned()]);
    found.same("our client: unexpected ones", &submitted.unexpected_warnings(), &vec![]);
    let Submitted { id, .. } = submitted;
    let seen = s.job(id, "bob's job waits for its node", |j| j.reason == "ReqNodeNotAvail").await;
    found.same("our client: a pending job", &timeless(&seen), &pending(id, &job));
    id
}

async fn who_ranks_it(s: &Subject, id: i64) {
    let (found, root) = (&s.findings, s.client("root"));
    for _ in 0..2 {
        found.same("root ranks it", &came_to(root.set_job_priority(id, FIRST).await), &"()".to_owned());
        let seen = root.job(id).await.unwrap().unwrap();
        found.same("its priority", &seen.priority, &Some(FIRST.into()));
        let reason = ["None", "ReqNodeNotAvail"].contains(&seen.reason.as_str());
        found.same("right after, its reason is that of before, or None", &reason, &true);
    }
    s.job(id, "its reason is told again", |j| j.reason == "ReqNodeNotAvail").await;
    for user in ["bob", "alice"] {
        let refused = s.client(user).set_job_priority(id, FIRST + 1).await;
        found.same(&format!("{user} ranks it"), &came_to(refused), &"forbidden".to_owned());
    }
    // the owner may lower it, and is told an error
    let got = s.post_as("bob", &format!("job/{id}"), &json!({"priority": {"set": true, "number": 7}})).await;
    found.answer("bob lowers it", &got, &got.errors(), &(s.writes().refused, Some(vec![2095])));
    found.same("it is lower", &root.job(id).await.unwrap().unwrap().priority, &Some(7));
    root.set_job_priority(id, FIRST).await.unwrap();
    found.same("it is higher", &root.job(id).await.unwrap().unwrap().priority, &Some(FIRST.into()));
}

async fn one_that_is_held(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let id = s.submit("bob", &Wanted { hold: true, ..Wanted::on("n1", "held", "#!/bin/sh\n") }).await;
    let seen = s.job(id, "it is held by its user", |j| j.reason == "JobHeldUser").await;
    found.same("a held job", &(seen.states, seen.priority), &(states(&["PENDING"]), Some(0)));
    let refused = came_to(root.set_job_priority(id, FIRST).await);
    found.same("a held job is ranked", &refused, &"rejected".to_owned());
    let got = s.post(&format!("job/{id}"), &json!({"hold": true})).await;
    found.answer("root holds it", &got, &got.errors(), &(200, Some(vec![])));
    let seen = s.job(id, "it is held by an administrator", |j| j.reason == "JobHeldAdmin").await;
    found.same("a held job", &(seen.states, seen.priority), &(states(&["PENDING"]), Some(0)));
    let cancelled = came_to(root.cancel_job("bob", id).await);
    found.same("a held job is cancelled", &cancelled, &"Cancelled".to_owned());
}

/// Its node opens.
async fn it_runs_and_fails(s: &Subject, id: i64) {
    let (found, root) = (&s.findings, s.client("root"));
    s.resume("n1").await;
    let running = s.job(id, "bob's job runs", Job::is_running).await;
    let known = (running.start_time > 0, running.end_time - running.start_time, running.exit_code);
    found.same("a running job", &known, &(true, 1800, None));
    found.same("its node", &running.nodes, &vec!["n1".to_owned()]);
    // and not MIXED: all of it
    found.same("its node is its own", &s.tokens("n1").await.as_str(), &"ALLOCATED");
    let ended = s.job(id, "bob's job has ended", Job::has_ended).await;
    let expected = Job {
        states: states(&["FAILED"]),
        reason: "NonZeroExitCode".to_owned(),
        nodes: vec!["n1".to_owned()],
        priority: Some(FIRST.into()),
        start_time: 1,
        end_time: 1,
        exit_code: Some(7),
        comment: "a=1 b=2".to_owned(),
        ..pending(id, &ours("n1", "fleet-seven", String::new()))
    };
    found.same("a job that failed", &timeless(&ended), &expected);
    let over = came_to(root.set_job_priority(id, FIRST).await);
    found.same("a job that is over is ranked", &over, &"rejected".to_owned());
}

async fn one_that_is_killed(s: &Subject) {
    let script = s.script("killed", 1, "", End::Killed(9));
    let id = s.client("root").submit_job(&ours("n1", "killed", script)).await.unwrap().id;
    let ended = s.job(id, "it has been killed", Job::has_ended).await;
    let seen = (ended.states, ended.reason.as_str(), ended.exit_code, ended.signal);
    s.findings.same("a killed job", &seen, &(states(&["FAILED"]), "RaisedSignal", None, Some(9)));
}

/// It hides: its node looks drained.
async fn one_that_is_suspended(s: &Subject) {
    let (found, root, n2) = (&s.findings, s.client("root"), named("n2"));
    let id = s.submit("alice", &Wanted::on("n2", "sleeper", &s.long("sleeper"))).await;
    s.job(id, "alice's job runs", Job::is_running).await;
    s.suspend(id).await;
    s.drain("n2").await;
    let seen = s.job(id, "it is suspended", |j| !j.is_running()).await;
    found.same("a suspended job", &seen.states, &states(&["SUSPENDED"]));
    let holds = (seen.holds(&n2), seen.has_ended(), seen.is_pending());
    found.same("a suspended job holds its node", &holds, &(true, false, false));
    s.state("n2", "DRAIN+IDLE").await;
    let jobs = root.jobs().await.unwrap();
    let held = jobs.iter().any(|j| j.id == id && j.holds(&n2));
    found.same("it holds its node in the list too", &held, &true);
    s.unsuspend(id).await;
    s.job(id, "it runs on", Job::is_running).await;
    s.state("n2", "ALLOCATED+DRAIN").await;
    let cancelled = came_to(root.cancel_job("alice", id).await);
    found.same("a running job is cancelled", &cancelled, &"Cancelled".to_owned());
    let ended = s.job(id, "it has ended", Job::has_ended).await;
    found.same("a job that was cancelled", &ended.states, &states(&["CANCELLED"]));
    s.state("n2", "DRAIN+IDLE").await;
    s.resume("n2").await;
    s.state("n2", "IDLE").await;
}

/// Bob's job on n4, of a minute: it is ended when that is over, up to half a minute later.
pub(super) async fn one_that_will_be_late(s: &Subject) -> i64 {
    let job = NewJob { minutes: 1, ..ours("n4", "late", s.long("late")) };
    s.client("root").submit_job(&job).await.unwrap().id
}

pub(super) async fn it_is_late(s: &Subject, id: i64) {
    if let Cluster::Fake(fake) = &s.cluster {
        (0..60).for_each(|_| fake.tick());
    }
    let ended = s.job(id, "its time is up", Job::has_ended).await;
    // 26.05 says that it ended with 0 when slurmctld was away then: the state comes first
    let seen = (ended.states, ended.reason.as_str());
    s.findings.same("a job whose time was up", &seen, &(states(&["TIMEOUT"]), "TimeLimit"));
}
