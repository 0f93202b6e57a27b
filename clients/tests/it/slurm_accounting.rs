//! slurmdbd: there, not there, and away, on 26.05.5 and 24.11.5.

use clients::Kind;
use serde_json::json;

use crate::fake::Reply;
use crate::slurm::serving;

/// The two releases: API version, and where its recordings are.
const RELEASES: [(&str, &str); 2] = [("v0.0.45", ""), ("v0.0.42", "24.11.5/")];

#[tokio::test]
async fn case_b30_a_job_that_slurmctld_has_forgotten_is_read() {
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        let call = format!("GET /slurmdb/{version}/job/1");
        let replies = ["slurmdb_job", "slurmdb_job_unknown"];
        fake.on(&call, replies.map(|r| Reply::slurm(&format!("{folder}{r}"))));
        let past = slurm.past_job(1).await.unwrap().unwrap();
        assert_eq!((past.id, past.name.as_str(), past.user.as_str()), (1, "p", "root"));
        assert_eq!((past.states.as_slice(), past.reason.as_str()), (&["FAILED".to_owned()][..], "None"));
        assert_eq!((past.has_ended(), past.exit_code, past.signal), (true, Some(3), None));
        assert_eq!((past.nodes, past.partitions), (vec!["n1".to_owned()], vec!["main".to_owned()]));
        assert_eq!((past.time_limit_minutes, past.priority), (Some(525_600), Some(1)));
        assert_eq!((past.submit_time, past.array), (1_796_011_954, None));
        assert_eq!(slurm.past_job(1).await.unwrap(), None, "{version}");
    }
}

#[tokio::test]
async fn of_two_jobs_with_one_id_the_later_is_meant_and_of_another_id_none() {
    let (fake, slurm) = serving("v0.0.45").await;
    let mut body = Reply::slurm("slurmdb_job").body();
    let (mut later, mut other) = (body["jobs"][0].clone(), body["jobs"][0].clone());
    later["name"] = json!("later");
    later["time"]["submission"] = json!(1_796_011_999);
    other["job_id"] = json!(2);
    other["time"]["submission"] = json!(1_796_012_000);
    for job in [later, other] {
        body["jobs"].as_array_mut().unwrap().insert(0, job);
    }
    fake.on("GET /slurmdb/v0.0.45/job/1", [Reply::json(200, &body)]);
    fake.on("GET /slurmdb/v0.0.45/job/3", [Reply::json(200, &body)]);
    assert_eq!(slurm.past_job(1).await.unwrap().unwrap().name, "later");
    assert_eq!(slurm.past_job(3).await.unwrap(), None);
}

#[tokio::test]
async fn slurmdbd_answers_is_away_or_is_none() {
    let text = |body: &str| Reply::text(404, "text/plain", body);
    let away = json!({"errors": [{"description": "Failed to open slurmdbd connection", "error_number": 7000,
        "error": "Unable to connect to database", "source": "openapi_get_db_conn"}], "warnings": []});
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        let call = format!("GET /slurmdb/{version}/job/99999999");
        fake.on(
            &call,
            [
                Reply::slurm(&format!("{folder}slurmdb_job_unknown")),
                text("Unable find requested URL. Please view /openapi/v3 for API reference."),
                Reply::json(502, &away),
            ],
        );
        assert!(slurm.accounting().await.unwrap(), "{version}");
        assert!(!slurm.accounting().await.unwrap(), "{version}");
        assert_eq!(slurm.accounting().await.unwrap_err().kind, Kind::Unavailable, "{version}");
    }
}

#[tokio::test]
async fn an_upgrade_or_an_answer_that_cannot_be_read_is_no_missing_slurmdbd() {
    let (fake, slurm) = serving("v0.0.45").await;
    slurm.dialect().await.unwrap();
    let call = "GET /slurmdb/v0.0.45/job/1";
    let mut odd = Reply::slurm("slurmdb_job").body();
    odd["jobs"][0]["state"] = json!(7);
    let malformed = |what: &str| Kind::Malformed(what.to_owned());
    for (reply, kind) in [
        (Reply::json(200, &odd), malformed("a past job")),
        (Reply::json(200, &json!({"errors": [], "warnings": []})), malformed("no `jobs` list")),
        (Reply::text(200, "text/html", "<html>"), malformed("no `errors` list")),
        (Reply::text(503, "text/html", "<html>"), Kind::Unavailable),
        (Reply::slurm("auth_garbage_nodes"), Kind::Unauthenticated),
    ] {
        fake.on(call, [reply.clone()]);
        assert_eq!(slurm.past_job(1).await.unwrap_err().kind, kind, "{reply:?}");
    }
    // nothing of this version is served any more
    fake.on(call, [Reply::text(404, "text/plain", "Unable find requested URL")]);
    fake.on("GET /slurm/v0.0.45/ping", [Reply::text(404, "text/plain", "Unable find requested URL")]);
    assert_eq!(slurm.past_job(1).await.unwrap_err().kind, Kind::Unavailable);
}
