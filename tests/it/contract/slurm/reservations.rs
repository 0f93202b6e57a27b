//! A reservation for the burn-in user, made and deleted by REST where the release can.

use std::collections::HashSet;

use clients::Kind;
use clients::slurm::{Creation, Job, NewJob, NewReservation, Reservation};
use serde_json::json;

use super::reads::came_to;
use super::subject::{STRANGER, Subject, named};
use super::wanted::{Wanted, ours};

const NAME: &str = "fleet-r-1";

fn wanted() -> NewReservation {
    NewReservation { name: NAME.to_owned(), user: "bob".to_owned(), node: named("n1"), seconds: 7200 }
}

pub(super) async fn hold(s: &Subject) {
    if !s.writes().makes_reservations {
        // that it is not served, and that our client does not ask: what every release is read for
        return;
    }
    who_may_make_one(s).await;
    it_is_made_once(s).await;
    who_may_run(s).await;
    it_is_deleted(s).await;
}

async fn who_may_make_one(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let denied = s.client("alice").create_reservation(&wanted()).await;
    found.same("alice makes one", &came_to(denied), &"forbidden".to_owned());
    let of_nobody = NewReservation { user: STRANGER.to_owned(), ..wanted() };
    let refused = root.create_reservation(&of_nobody).await;
    found.same("for an unknown user", &came_to(refused), &"rejected".to_owned());
    let denied = s.client("alice").delete_reservation(NAME).await;
    found.same("alice deletes one", &came_to(denied), &"forbidden".to_owned());
    found.same("nothing was made", &root.reservations().await.unwrap(), &vec![]);
}

async fn it_is_made_once(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let now = root.now().await.unwrap();
    found.same("it is made", &root.create_reservation(&wanted()).await.unwrap(), &Creation::Created);
    found.same("it is made again", &root.create_reservation(&wanted()).await.unwrap(), &Creation::Exists);
    let all = root.reservations().await.unwrap();
    let start_time = all[0].start_time;
    let expected = Reservation {
        name: NAME.to_owned(),
        users: vec!["bob".to_owned()],
        nodes: HashSet::from(["n1".to_owned()]),
        start_time,
        end_time: start_time + 7200,
        flags: ["MAINT", "IGNORE_JOBS", "SPEC_NODES"].map(str::to_owned).into(),
    };
    found.same("our client: it", &all, &vec![expected]);
    found.same("it has begun", &((start_time - now).abs() < 60), &true);

    // the call itself is an update
    let body = json!({"name": NAME, "start_time": {"set": true, "number": now},
        "duration": {"set": true, "number": 60}, "users": ["alice"], "node_list": ["n1"]});
    let got = s.post("reservation", &body).await;
    found.answer("it is changed", &got, &got.errors(), &(s.writes().refused, Some(vec![2104])));
    found.same("it is as it was", &root.reservations().await.unwrap(), &all);
    let got = s.get("reservation/nosuch").await;
    found.answer("an unknown one", &got, &got.errors(), &(422, Some(vec![9000])));
    s.state("n1", "IDLE+MAINTENANCE+RESERVED").await;
}

async fn who_may_run(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let alices = s.submit("alice", &Wanted::on("n1", "outside", &s.long("outside"))).await;
    let reservation = Some(NAME.to_owned());
    let job = NewJob { reservation, ..ours("n1", "fleet-inside", s.long("fleet-inside")) };
    let intruder = NewJob { user: "alice".to_owned(), ..job.clone() };
    let refused = root.submit_job(&intruder).await;
    found.same("alice in it", &came_to(refused), &"rejected".to_owned());
    let unknown = NewJob { reservation: Some("nosuch".to_owned()), ..job.clone() };
    found.same("in an unknown one", &came_to(root.submit_job(&unknown).await), &"rejected".to_owned());
    let submitted = root.submit_job(&job).await.unwrap();
    found.same("our client: warnings", &submitted.warnings, &vec![]);
    let running = s.job(submitted.id, "bob's job runs in it", Job::is_running).await;
    found.same("our client: its reservation", &running.reservation.as_str(), &NAME);
    s.state("n1", "ALLOCATED+MAINTENANCE+RESERVED").await;
    let waits = root.job(alices).await.unwrap().unwrap();
    let seen = (waits.is_pending(), waits.reason.as_str());
    found.same("alice's job outside", &seen, &(true, "ReqNodeNotAvail"));

    let in_use = root.delete_reservation(NAME).await;
    let in_use = in_use.map_err(|e| matches!(e.kind, Kind::Conflict(_)));
    found.same("it is deleted while it is in use", &in_use, &Err(true));
    s.drain("n1").await;
    s.state("n1", "ALLOCATED+DRAIN+MAINTENANCE+RESERVED").await;
    root.cancel_job("bob", submitted.id).await.unwrap();
    root.cancel_job("alice", alices).await.unwrap();
    s.job(submitted.id, "bob's job has ended", Job::has_ended).await;
    s.state("n1", "DRAIN+IDLE+MAINTENANCE+RESERVED").await;
}

async fn it_is_deleted(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    found.same("it is deleted", &root.delete_reservation(NAME).await.unwrap(), &true);
    // at once, unlike when it was made
    found.same("its node", &s.tokens("n1").await.as_str(), &"DRAIN+IDLE");
    found.same("it is deleted again", &root.delete_reservation(NAME).await.unwrap(), &false);
    found.same("none is left", &root.reservations().await.unwrap(), &vec![]);
    s.resume("n1").await;
    s.state("n1", "IDLE").await;
}
