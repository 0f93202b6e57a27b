//! Cancelling: one job, one task of an array, all that is left of one.

use clients::slurm::{Array, Job, JobKey};

use super::reads::came_to;
use super::subject::Subject;
use super::wanted::{Wanted, ours};

pub(super) async fn holds(s: &Subject) {
    one_job(s).await;
    an_array(s).await;
}

async fn one_job(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    s.drain("n1").await;
    let script = s.long("unwanted");
    let id = root.submit_job(&ours("n1", "unwanted", script)).await.unwrap().id;
    s.job(id, "it waits", |j| j.reason == "ReqNodeNotAvail").await;
    found.same("of a pending job", &came_to(root.cancel_job("bob", id).await), &"Cancelled".to_owned());
    let ended = s.job(id, "it has ended", Job::has_ended).await;
    let seen = (ended.states, ended.exit_code, ended.signal, ended.nodes);
    let cancelled = vec!["CANCELLED".to_owned()];
    found.same("cancelled while it was pending", &seen, &(cancelled, Some(0), None, vec![]));
    // it keeps the reason that it had
    found.same("its reason", &ended.reason.as_str(), &"ReqNodeNotAvail");
    found.same("its times", &(ended.start_time, ended.end_time > 0), &(ended.end_time, true));
    for (what, user) in [("again", "bob"), ("again, as root", "root")] {
        found.same(what, &came_to(root.cancel_job(user, id).await), &s.release.over.to_owned());
    }
    found.same(
        "of an unknown job",
        &came_to(root.cancel_job("bob", 999_999).await),
        &s.release.over.to_owned(),
    );
    let got = s.delete_as("root", "job/abc").await;
    found.answer("of no number", &got, &got.errors(), &(422, Some(vec![9000])));
    s.resume("n1").await;
    s.state("n1", "IDLE").await;
}

/// Alice's, of four tasks for one node: one at a time.
async fn an_array(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    s.drain("n3").await;
    let base =
        s.submit("alice", &Wanted { array: "1-4", ..Wanted::on("n3", "tasks", &s.long("tasks")) }).await;
    let waits = s.job(base, "the array waits", |j| j.reason == "ReqNodeNotAvail").await;
    let rest = |tasks: &str| Some(Array { job: base, task: None, tasks: tasks.to_owned() });
    found.same("an array", &(waits.array.clone(), waits.key()), &(rest("1-4"), JobKey::Job(base)));
    let cancel = async |task| root.cancel_job("alice", JobKey::Task { array: base, task }).await;
    found.same("of a task", &came_to(cancel(2).await), &"Cancelled".to_owned());
    let waits = s.job(base, "the others wait", |j| j.array != rest("1-4")).await;
    found.same("the others", &(waits.is_pending(), waits.array), &(true, rest("1,3-4")));
    found.same("of no such task", &came_to(cancel(99).await), &s.release.over.to_owned());

    s.resume("n3").await;
    let first = running(s, base).await;
    let task = |task| Some(Array { job: base, task: Some(task), tasks: String::new() });
    let seen = (first.array.clone(), first.key(), first.id == base);
    let expected = (task(1), JobKey::Task { array: base, task: 1 }, false);
    found.same("the first task", &seen, &expected);
    found.same(
        "of a running task",
        &came_to(root.cancel_job("alice", first.key()).await),
        &"Cancelled".into(),
    );
    let ended = s.job(first.id, "it has ended", Job::has_ended).await;
    let seen = (ended.states, ended.exit_code, ended.signal);
    found.same("of a running task", &seen, &(vec!["CANCELLED".to_owned()], None, Some(15)));
    let second = running(s, base).await;
    found.same("the next task starts", &second.array, &task(3));
    let last = if s.writes().names_last_task { task(4) } else { rest("4") };
    let waits = s.job(base, "the last one waits", |j| j.array == last).await;
    found.same("the last one waits", &waits.is_pending(), &true);
    // some had ended before, and of the others nothing is said
    let all = came_to(root.cancel_job("alice", base).await);
    found.same("of all that is left", &all.as_str(), &s.release.over);
    for id in [base, second.id] {
        let ended = s.job(id, "all have ended", Job::has_ended).await;
        found.same("of all that is left", &ended.states, &vec!["CANCELLED".to_owned()]);
    }
    found.same("of all, again", &came_to(root.cancel_job("alice", base).await), &s.release.over.to_owned());
    s.state("n3", "IDLE").await;
}

/// The task of the array that runs.
async fn running(s: &Subject, base: i64) -> Job {
    let root = s.client("root");
    s.sees("a task runs", || async {
        let jobs = root.jobs().await.map_err(|e| e.to_string())?;
        let of = |job: &&Job| job.is_running() && job.array.as_ref().is_some_and(|a| a.job == base);
        jobs.iter().find(of).cloned().ok_or_else(|| format!("{:?}", jobs.iter().map(|j| &j.states)))
    })
    .await
}
