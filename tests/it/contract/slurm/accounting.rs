//! What slurmdbd adds: who may cancel, what became of a job, and that it is away.

use clients::Kind;
use clients::slurm::{Job, NodeUpdate};
use fakes::End;

use super::reads::{came_to, timeless};
use super::subject::{Subject, named};
use super::wanted::Wanted;

pub(super) async fn holds(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    found.same("our client: there is a slurmdbd", &root.accounting().await.unwrap(), &true);
    found.same("our client: an unknown past job", &root.past_job(999_999).await.unwrap(), &None);
    what_became_of_a_job(s).await;
    let id = s.submit("bob", &Wanted::on("n1", "bobs", &s.long("bobs"))).await;
    s.job(id, "bob's job runs", Job::is_running).await;
    another_user_cancels(s, id).await;
    s.slurmdbd_dies().await;
    it_is_away(s, id).await;
    another_user_cancels(s, id).await;
}

/// Alice's job, which ended with 7 and said so in its comment.
async fn what_became_of_a_job(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let script = s.script("seven", 1, "a=1", End::Failed(7));
    let id = s.submit("alice", &Wanted::on("n2", "seven", &script)).await;
    let ended = s.job(id, "alice's job has ended", Job::has_ended).await;
    found.same("our client: what it ended with", &ended.exit_code, &Some(7));
    found.same("our client: its comment", &ended.comment.as_str(), &"a=1");
    let past = s
        .sees("slurmdbd knows of its end", || async {
            let past = root.past_job(id).await.map_err(|e| e.to_string())?;
            // 22.05 hears of its end before it hears of its start
            let heard = past.filter(|j| j.has_ended() && j.name == "seven");
            heard.ok_or_else(|| "not yet".to_owned())
        })
        .await;
    let expected = Job {
        id,
        name: "seven".to_owned(),
        user: "alice".to_owned(),
        states: vec!["FAILED".to_owned()],
        reason: "None".to_owned(),
        nodes: vec!["n2".to_owned()],
        partitions: vec!["main".to_owned()],
        priority: past.priority,
        submit_time: 1,
        start_time: 1,
        end_time: 1,
        time_limit_minutes: Some(30),
        exit_code: Some(s.release.past_exit),
        ..Job::default()
    };
    found.same("our client: a past job", &timeless(&past), &expected);
    let times = (past.start_time - ended.start_time, past.end_time - ended.end_time);
    found.same("its times are those of slurmctld", &times, &(0, 0));
    let theirs = s.client("bob").past_job(id).await.unwrap().map(|j| j.user);
    found.same("our client: another's past job", &theirs, &Some("alice".to_owned()));
}

/// Alice cancels bob's job, and slurmctld goes on.
async fn another_user_cancels(s: &Subject, id: i64) {
    let (found, root) = (&s.findings, s.client("root"));
    let got = s.delete_as("alice", &format!("job/{id}")).await;
    let status = got.json()["status"].clone();
    let codes = status.as_array().into_iter().flatten().filter_map(|line| line["error"]["code"].as_i64());
    let (status, errors, expected) = s.release.denied;
    let seen = (got.errors(), codes.collect());
    found.answer("another user cancels", &got, &seen, &((status, Some(errors.to_vec())), expected.to_vec()));
    let denied = came_to(root.cancel_job("alice", id).await);
    let expected = if s.release.writes.is_some() { "forbidden" } else { "too old" };
    found.same("our client: another user cancels", &denied.as_str(), &expected);
    found.same("it runs on", &root.job(id).await.unwrap().unwrap().is_running(), &true);
    found.same("slurmctld goes on", &root.nodes().await.unwrap().list.len(), &2);
}

async fn it_is_away(s: &Subject, id: i64) {
    let (found, root) = (&s.findings, s.client("root"));
    let path = format!("{}/slurmdb/{}/job/{id}", s.url, s.release.real.version);
    let request = s.http.get(path).header("X-SLURM-USER-NAME", "root").header("X-SLURM-USER-TOKEN", &s.root);
    let got = super::Got::of(request).await;
    let (status, errors) = s.release.no_database;
    found.answer("slurmdbd is away", &got, &got.errors(), &(status, Some(errors.to_vec())));
    let away = [came_to(root.accounting().await), came_to(root.past_job(id).await)];
    found.same("our client: slurmdbd is away", &away, &["Unavailable", "Unavailable"].map(str::to_owned));
    found.same("slurmctld knows of the job", &root.job(id).await.unwrap().is_some(), &true);
}

/// Without slurmdbd, and on no real one: slurmctld hangs for good.
pub(super) async fn none_and_a_cancel_by_another(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let id = s.submit("bob", &Wanted::on("n1", "bobs", &s.long("bobs"))).await;
    found.same("our client: no slurmdbd", &root.accounting().await.unwrap(), &false);
    let denied = came_to(root.cancel_job("alice", id).await);
    found.same("our client: another user cancels", &denied, &"Unavailable".to_owned());
    let hung = root.nodes().await.map_err(|e| e.kind);
    found.same("slurmctld hangs", &hung.map(|n| n.list.len()), &Err(Kind::Unavailable));
    let update = root.update_node(&named("n1"), &NodeUpdate::default()).await.map_err(|e| e.is_unknown());
    found.same("whether a write was done is not known", &update, &Err(true));
}
