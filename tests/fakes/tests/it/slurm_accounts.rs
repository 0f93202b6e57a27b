//! slurmdbd, where there is one.

use fakes::{End, JobSeed, NodeSeed, Release, SlurmOptions, Slurmrestd};
use serde_json::json;

use crate::slurm_at;

async fn start(release: Release, accounting: bool) -> Slurmrestd {
    let options =
        SlurmOptions { release, accounting, nodes: vec![NodeSeed::new("n1")], ..SlurmOptions::default() };
    Slurmrestd::start(options).await.unwrap()
}

#[tokio::test]
async fn it_has_the_jobs_that_slurmctld_has_forgotten_without_their_comments() {
    for release in [Release::V24_11, Release::V26_05] {
        let fake = start(release, true).await;
        let id = fake.run(JobSeed { name: "ours".to_owned(), ..JobSeed::on(&["n1"]) });
        let pending = fake.submit(JobSeed { name: "waits".to_owned(), ..JobSeed::on(&["n1"]) });
        fake.comment(id, "a=1");
        fake.end(id, End::Failed(3));
        fake.lose(id);
        let client = slurm_at(&fake, "root", &format!("slurmdb/{}", release.version()));
        for path in [format!("/job/{id}"), "/jobs?job_name=ours".to_owned(), "/jobs?users=alice".to_owned()] {
            let body = client.get(&path).await.json();
            let job = &body["jobs"][0];
            let seen = (
                &job["state"]["current"],
                &job["exit_code"]["return_code"]["number"],
                &job["comment"]["job"],
            );
            assert_eq!(seen, (&json!(["FAILED"]), &json!(3), &json!("")), "{path}");
            assert_eq!(body["meta"]["plugin"]["type"], "openapi/slurmdbd");
        }
        // what never started is known by its id alone
        let waits = client.get(&format!("/job/{pending}")).await.json()["jobs"][0].clone();
        assert_eq!(
            (&waits["state"]["current"][0], &waits["nodes"]),
            (&json!("PENDING"), &json!("None assigned"))
        );
        for query in ["job_name=waits", "job_name=nosuch", "users=bob"] {
            let got = client.get(&format!("/jobs?{query}")).await;
            let body = got.json();
            assert_eq!(
                (got.status, &body["jobs"], &body["errors"]),
                (200, &json!([]), &json!([])),
                "{query}"
            );
            assert_eq!(body["warnings"][0]["source"], "_dump_jobs");
        }
        // a query that it does not know is none
        let all = client.get("/jobs?name=nosuch").await.json();
        assert_eq!(all["jobs"].as_array().unwrap().len(), 1);
        let text = "Ignoring unknown field \"name\" of type string in DATA_PARSER_JOB_CONDITION";
        assert_eq!(all["warnings"], json!([{"description": text, "source": "#/name/"}]));
    }
}

#[tokio::test]
async fn it_answers_a_ping_or_is_away() {
    for release in [Release::V24_11, Release::V26_05] {
        let fake = start(release, true).await;
        let client = slurm_at(&fake, "root", &format!("slurmdb/{}", release.version()));
        let got = client.get("/ping/").await;
        assert_eq!((got.status, &got.json()["pings"][0]["responding"]), (200, &json!(true)));
        fake.slurmdbd(false);
        for path in ["/ping", "/job/1", "/jobs?job_name=x"] {
            assert_eq!(client.get(path).await.slurm(), (502, Some(7000)), "{path}");
        }
    }
}

#[tokio::test]
async fn that_of_22_05_says_that_all_jobs_ended_well_and_errs_with_200() {
    let fake = start(Release::V22_05, true).await;
    let (failed, killed) = (fake.run(JobSeed::on(&["n1"])), fake.run(JobSeed::on(&["n1"])));
    fake.end(failed, End::Failed(3));
    fake.end(killed, End::Killed(9));
    let client = slurm_at(&fake, "root", "slurmdb/v0.0.38");
    let job = client.get(&format!("/job/{failed}")).await.json()["jobs"][0].clone();
    let success = json!({"status": "SUCCESS", "return_code": 0});
    assert_eq!((&job["state"]["current"], &job["exit_code"]), (&json!("FAILED"), &success));
    let job = client.get(&format!("/job/{killed}")).await.json()["jobs"][0].clone();
    assert_eq!(job["exit_code"]["signal"]["signal_id"], 9);
    let got = client.get("/job/99999999").await;
    assert_eq!((got.slurm(), &got.json()["jobs"]), ((200, Some(9003)), &json!([])));
    assert_eq!(client.get("/jobs?users=alice").await.slurm(), (500, Some(9000)));
    assert_eq!((client.get("/ping").await.status, client.get("/diag").await.status), (404, 200));
    fake.slurmdbd(false);
    assert_eq!(client.get("/jobs?job_name=users-job").await.slurm(), (200, Some(7000)));
}

#[tokio::test]
async fn without_one_its_paths_are_not_served() {
    for release in [Release::V22_05, Release::V24_11, Release::V26_05] {
        let fake = start(release, false).await;
        let got = slurm_at(&fake, "root", &format!("slurmdb/{}", release.version())).get("/job/1").await;
        assert_eq!((got.status, got.header("content-type")), (404, "text/plain"));
    }
}
