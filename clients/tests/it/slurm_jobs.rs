//! Jobs: submitted, raised, cancelled, and read, on 26.05.5 and 24.11.5.

use clients::Kind;
use clients::slurm::{Cancellation, Job, JobKey, NewJob};
use serde_json::{Value, json};

use crate::fake::Reply;
use crate::slurm::{JWT, name, serving, slurm};

const SUBMIT: &str = "POST /slurm/v0.0.45/job/submit";
const JOB: &str = "GET /slurm/v0.0.45/job/47";
const CANCEL: &str = "DELETE /slurm/v0.0.45/job/47";

/// The two releases: API version, and where its recordings are.
const RELEASES: [(&str, &str); 2] = [("v0.0.45", ""), ("v0.0.42", "24.11.5/")];

pub(crate) fn new_job() -> NewJob {
    NewJob {
        user: "bob".to_owned(),
        name: "fleet-burnin-d1-r1".to_owned(),
        node: name("n1"),
        script: "#!/bin/sh\nexit 0\n".to_owned(),
        account: None,
        qos: None,
        partition: None,
        reservation: None,
        minutes: 5,
        comment: None,
    }
}

#[tokio::test]
async fn case_b09_a_job_is_submitted_with_all_that_slurmctld_needs_and_as_its_user() {
    let (fake, slurm) = slurm().await;
    fake.on(SUBMIT, [Reply::slurm("job_submit_toplevel")]);
    let submitted = slurm.submit_job(&new_job()).await.unwrap();
    assert_eq!((submitted.id, submitted.warnings.len()), (1, 0));
    let whole = NewJob {
        account: Some("fleet".to_owned()),
        qos: Some("normal".to_owned()),
        partition: Some("burnin".to_owned()),
        reservation: Some("fleet-n1".to_owned()),
        comment: Some("r1".to_owned()),
        ..new_job()
    };
    slurm.submit_job(&whole).await.unwrap();

    let [first, second] = fake.asked(SUBMIT).try_into().unwrap();
    assert_eq!(first.header("x-slurm-user-name"), Some("bob"));
    assert_eq!(first.header("x-slurm-user-token"), Some(JWT));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(slurm.user(), "root");
    let mut body = json!({
        "script": "#!/bin/sh\nexit 0\n",
        "job": {
            "name": "fleet-burnin-d1-r1",
            "required_nodes": ["n1"],
            "shared": ["none"],
            "requeue": false,
            "environment": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "current_working_directory": "/tmp",
            "standard_output": "/tmp/fleet-burnin-d1-r1.out",
            "time_limit": {"set": true, "number": 5},
        },
    });
    assert_eq!(first.json(), body);
    for (key, value) in [
        ("account", "fleet"),
        ("qos", "normal"),
        ("partition", "burnin"),
        ("reservation", "fleet-n1"),
        ("comment", "r1"),
    ] {
        body["job"][key] = json!(value);
    }
    assert_eq!(second.json(), body);
}

#[tokio::test]
async fn a_closed_node_is_the_one_warning_that_is_expected() {
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        let warned = |mut body: Value, more: Value| {
            body["warnings"].as_array_mut().unwrap().push(more);
            Reply::json(200, &body)
        };
        let pinned = Reply::slurm(&format!("{folder}job_submit_pinned"));
        let secret = "x ".to_owned() + &"A".repeat(40);
        fake.on(
            &format!("POST /slurm/{version}/job/submit"),
            [
                pinned.clone(),
                Reply::slurm(&format!("{folder}job_submit_bogus")),
                warned(pinned.body(), json!({"description": secret, "source": ""})),
                warned(pinned.body(), json!("odd")),
            ],
        );
        let closed = slurm.submit_job(&new_job()).await.unwrap();
        assert_eq!((closed.warnings.len(), closed.unexpected_warnings()), (2, vec![]), "{version}");
        let bogus = slurm.submit_job(&new_job()).await.unwrap();
        let [said] = bogus.unexpected_warnings().try_into().unwrap();
        assert!(said.starts_with("Ignoring unknown field \"bogus\""), "{version}: {said}");
        let masked = slurm.submit_job(&new_job()).await.unwrap();
        assert_eq!(masked.unexpected_warnings(), ["x [masked]"], "{version}");
        let odd = slurm.submit_job(&new_job()).await.unwrap();
        assert_eq!(odd.unexpected_warnings(), ["\"odd\""], "{version}");
    }
}

#[tokio::test]
async fn case_b09_no_answer_but_a_job_id_without_errors_is_a_job() {
    let (fake, slurm) = slurm().await;
    let failed = json!([{"error_number": 2019, "description": "Batch job submission failed"}]);
    let malformed = |what: &str| Kind::Malformed(what.to_owned());
    let rejected = |what: &str| Kind::Rejected(what.to_owned());
    let no_id = malformed("a job without an id");
    for (reply, kind, unknown) in [
        (
            Reply::json(200, &json!({"job_id": 0, "errors": failed, "warnings": []})),
            rejected("Batch job submission failed"),
            false,
        ),
        (Reply::json(200, &json!({"job_id": 0, "errors": [], "warnings": []})), no_id.clone(), true),
        (Reply::json(200, &json!({"job_id": null, "errors": [], "warnings": []})), no_id.clone(), true),
        (Reply::json(200, &json!({"errors": [], "warnings": []})), no_id, true),
        // a job that came with errors may be there
        (Reply::json(200, &json!({"job_id": 7, "errors": failed})), malformed("job 7 with an error"), true),
        (
            Reply::slurm("job_submit_badpart"),
            rejected("Batch job submission failed: Invalid partition name specified"),
            false,
        ),
        (
            Reply::slurm("24.11.5/job_submit_noenv"),
            rejected("Batch job submission failed: I/O error writing script/environment to file"),
            false,
        ),
        (Reply::slurm("ctld_down_submit"), Kind::Unavailable, true),
        (Reply::text(401, "text/html", "<html>"), Kind::Unauthenticated, false),
        (Reply::text(401, "text/plain", ""), Kind::Unauthenticated, false),
        (Reply::text(200, "text/html", "<html>"), malformed("no `errors` list"), true),
        (Reply::text(200, "application/json", ""), malformed("no `errors` list"), true),
        (Reply::text(404, "text/html", "<html>"), Kind::Unavailable, true),
        (Reply::text(404, "text/plain", ""), Kind::Unavailable, true),
    ] {
        fake.on(SUBMIT, [reply.clone()]);
        let error = slurm.submit_job(&new_job()).await.unwrap_err();
        assert_eq!((error.kind.clone(), error.is_unknown()), (kind, unknown), "{reply:?}");
    }
    let before = fake.asked(SUBMIT).len();
    let endless = NewJob { minutes: 0, ..new_job() };
    let said = rejected("a time limit of 0 minutes is none to SLURM");
    assert_eq!(slurm.submit_job(&endless).await.unwrap_err().kind, said);
    assert_eq!(fake.asked(SUBMIT).len(), before);
}

#[tokio::test]
async fn a_priority_is_set_by_who_may() {
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        let call = format!("POST /slurm/{version}/job/1");
        let replies = ["job_priority", "job_priority_denied", "job_priority_unknown"];
        fake.on(&call, replies.map(|r| Reply::slurm(&format!("{folder}{r}"))));
        slurm.set_job_priority(1, 4_294_967_290).await.unwrap();
        let asked = &fake.asked(&call)[0];
        assert_eq!(asked.json(), json!({"priority": {"set": true, "number": 4_294_967_290_u32}}));
        assert_eq!(asked.header("x-slurm-user-name"), Some("root"));
        let said = |why: &str| format!("Job update requested failed: {why}");
        let denied = slurm.set_job_priority(1, 5).await.unwrap_err();
        assert_eq!(denied.kind, Kind::Forbidden(said("Access/permission denied")), "{version}");
        let unknown = slurm.set_job_priority(1, 5).await.unwrap_err();
        assert_eq!(unknown.kind, Kind::Rejected(said("Invalid job id specified")), "{version}");
    }
}

#[tokio::test]
async fn what_becomes_of_a_cancelled_job_is_in_its_status() {
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        let call = format!("DELETE /slurm/{version}/job/47");
        let replies = ["job_cancel", "job_cancel_again", "job_cancel_unknown"];
        fake.on(&call, replies.map(|r| Reply::slurm(&format!("{folder}{r}"))));
        assert_eq!(slurm.cancel_job("bob", 47).await.unwrap(), Cancellation::Cancelled, "{version}");
        assert_eq!(slurm.cancel_job("bob", 47).await.unwrap(), Cancellation::Over, "{version}");
        assert_eq!(slurm.cancel_job("bob", 47).await.unwrap(), Cancellation::Over, "{version}");
        assert_eq!(fake.asked(&call)[0].header("x-slurm-user-name"), Some("bob"));

        let task = format!("DELETE /slurm/{version}/job/11_3");
        fake.on(&task, [Reply::slurm(&format!("{folder}job_cancel"))]);
        let key = JobKey::Task { array: 11, task: 3 };
        assert_eq!(slurm.cancel_job("root", key).await.unwrap(), Cancellation::Cancelled);
        assert_eq!(fake.asked(&task)[0].header("x-slurm-user-name"), Some("root"));
    }
}

#[tokio::test]
async fn a_cancellation_that_was_refused_or_cannot_be_read_is_an_error() {
    let (fake, slurm) = slurm().await;
    let status = |lines: Value| Reply::json(200, &json!({"status": lines, "errors": [], "warnings": []}));
    let line = |code: Value| json!({"error": {"string": "word", "code": code}, "step_id": "47"});
    let word = || "word".to_owned();
    for (reply, kind) in [
        (status(json!([line(json!(2002))])), Kind::Forbidden(word())),
        (status(json!([line(json!(2021)), line(json!(2010))])), Kind::Forbidden(word())),
        (status(json!([line(json!(1234))])), Kind::Rejected(word())),
        (status(json!([line(json!(null))])), Kind::Malformed("a `status` without a code".to_owned())),
        (status(json!([7])), Kind::Malformed("a `status` without a code".to_owned())),
        (status(json!("x")), Kind::Malformed("no `status` list".to_owned())),
        (Reply::slurm("node_delete_dyn"), Kind::Malformed("no `status` list".to_owned())),
        // slurmctld does not answer: here on a cluster without slurmdbd, where it hangs from then on
        (Reply::slurm("24.11.5/job_cancel_denied"), Kind::Unavailable),
        (Reply::slurm("ctld_down_jobs"), Kind::Unavailable),
    ] {
        fake.on(CANCEL, [reply.clone()]);
        assert_eq!(slurm.cancel_job("bob", 47).await.unwrap_err().kind, kind, "{reply:?}");
    }
    let mixed = status(json!([line(json!(2021)), line(json!(0))]));
    fake.on(CANCEL, [mixed]);
    assert_eq!(slurm.cancel_job("bob", 47).await.unwrap(), Cancellation::Cancelled);
}

#[tokio::test]
async fn v0_0_40_does_not_say_what_became_of_a_cancelled_job() {
    let (fake, slurm) = serving("v0.0.40").await;
    fake.on("DELETE /slurm/v0.0.40/job/47", [Reply::json(200, &json!({"errors": [], "warnings": []}))]);
    assert_eq!(slurm.cancel_job("bob", 47).await.unwrap(), Cancellation::Cancelled);
}

#[tokio::test]
async fn a_job_is_gone_only_by_the_very_answer() {
    let (fake, slurm) = slurm().await;
    let complex =
        json!({"jobs": null, "errors": [{"error_number": 2017, "error": "Invalid job id specified"}]});
    fake.on(JOB, [Reply::slurm("job_unknown"), Reply::json(404, &complex), Reply::slurm("job_cancelled")]);
    assert_eq!(slurm.job(47).await.unwrap(), None);
    assert_eq!(slurm.job(47).await.unwrap(), None);
    let cancelled = slurm.job(47).await.unwrap().unwrap();
    assert_eq!((cancelled.id, cancelled.exit_code, cancelled.signal), (47, None, Some(15)));
    let mut there = Reply::slurm("job_unknown").body();
    there["jobs"] = Reply::slurm("job_running").body()["jobs"].clone();
    let hung = json!({"errors": [{"description": "Unable to query JobId=47", "error_number": -1,
        "error": "Unspecified error", "source": "_handle_job_get"}], "warnings": []});
    let said = "Unable to query JobId=999999: Invalid job id specified";
    for (reply, kind) in [
        (Reply::json(404, &there), Kind::Rejected(said.to_owned())),
        (Reply::json(200, &Reply::slurm("job_unknown").body()), Kind::Rejected(said.to_owned())),
        (Reply::json(500, &hung), Kind::Unavailable),
        (Reply::slurm("job_failed_exit7"), Kind::Malformed("not the job 47".to_owned())),
        (Reply::json(200, &json!({"jobs": [], "errors": []})), Kind::Malformed("not the job 47".to_owned())),
        (Reply::text(404, "text/plain", "Unable find requested URL"), Kind::Unavailable),
    ] {
        fake.on(JOB, [reply.clone()]);
        assert_eq!(slurm.job(47).await.unwrap_err().kind, kind, "{reply:?}");
    }
}

#[tokio::test]
async fn jobs_of_users_are_read_whole() {
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        fake.on(&format!("GET /slurm/{version}/jobs"), [Reply::slurm(&format!("{folder}jobs_of_users"))]);
        let jobs = slurm.jobs().await.unwrap();
        let of = |id: i64| jobs.iter().find(|j| j.id == id).unwrap();
        let holding =
            |node: &str| -> Vec<i64> { jobs.iter().filter(|j| j.holds(&name(node))).map(|j| j.id).collect() };
        assert_eq!((holding("n1"), holding("n2")), (vec![14], vec![1, 5]), "{version}");
        let suspended = of(5);
        assert_eq!(
            (suspended.states.as_slice(), suspended.features.as_str()),
            (&["SUSPENDED".to_owned()][..], "rack1&ib")
        );
        assert_eq!((suspended.user.as_str(), suspended.comment.as_str()), ("bob", "k=v"));
        let short = |j: &Job| (j.reason.clone(), j.priority, j.is_pending(), j.required_nodes.clone());
        assert_eq!(short(of(7)), ("Resources".to_owned(), Some(1), true, vec!["n1".to_owned()]));
        assert_eq!(short(of(9)), ("JobHeldUser".to_owned(), Some(0), true, vec![]));
        assert_eq!(short(of(10)), ("JobHeldAdmin".to_owned(), Some(0), true, vec![]));
        let array = of(11).array.clone().unwrap();
        assert_eq!((array.job, array.task, array.tasks.as_str()), (11, None, "1-10%3"));
        assert_eq!(of(14).partitions, ["burnin"]);
        assert_eq!((of(14).time_limit_minutes, of(14).start_time > 0), (Some(5), true));
        let ends = |id: i64| (of(id).has_ended(), of(id).exit_code, of(id).signal);
        assert_eq!(ends(2), (true, Some(0), None), "{version}");
        assert_eq!(ends(3), (true, Some(7), None), "{version}");
        assert_eq!(ends(6), (true, None, Some(9)), "{version}");
        assert_eq!(ends(1), (false, None, None), "{version}");
    }
}
