//! Reservations, on 26.05.5; and how an older release lists them.

use clients::Kind;
use clients::slurm::{Creation, NewReservation};
use serde_json::json;

use crate::fake::{Fake, Reply};
use crate::slurm::{name, serving, slurm};

const LIST: &str = "GET /slurm/v0.0.45/reservations";
const DIAG: &str = "GET /slurm/v0.0.45/diag";
const MAKE: &str = "POST /slurm/v0.0.45/reservation";
const DELETE: &str = "DELETE /slurm/v0.0.45/reservation/burn";

fn burn(seconds: u64) -> NewReservation {
    NewReservation { name: "burn".to_owned(), user: "bob".to_owned(), node: name("n1"), seconds }
}

fn empty(fake: &Fake) {
    fake.on(LIST, [Reply::slurm("reservations_none")]);
    fake.on(DIAG, [Reply::slurm("diag")]);
}

#[tokio::test]
async fn reservations_are_read_and_none_is_an_empty_list() {
    let (fake, slurm) = slurm().await;
    fake.on(LIST, [Reply::slurm("reservations"), Reply::slurm("reservations_none")]);
    let [burn] = slurm.reservations().await.unwrap().try_into().unwrap();
    assert_eq!((burn.name.as_str(), burn.users.as_slice()), ("burn", &["bob".to_owned()][..]));
    assert_eq!(burn.flags, ["MAINT", "IGNORE_JOBS", "SPEC_NODES"]);
    assert_eq!(burn.nodes.into_iter().collect::<Vec<_>>(), ["n1"]);
    assert_eq!((burn.start_time, burn.end_time), (1_796_062_971, 1_796_070_171));
    assert_eq!(slurm.reservations().await.unwrap(), []);

    let (fake, older) = serving("v0.0.42").await;
    fake.on("GET /slurm/v0.0.42/reservations", [Reply::slurm("24.11.5/reservations")]);
    let [burn] = older.reservations().await.unwrap().try_into().unwrap();
    assert_eq!((burn.users, burn.nodes.len()), (vec!["root".to_owned(), "alice".to_owned()], 2));
}

#[tokio::test]
async fn case_b10_a_reservation_whose_nodes_cannot_be_read_spoils_the_list() {
    let (fake, slurm) = slurm().await;
    for nodes in [json!("n[1"), json!("n[]"), json!("n[3-1]"), json!(7)] {
        let mut body = Reply::slurm("reservations").body();
        body["reservations"][0]["node_list"] = nodes.clone();
        fake.on(LIST, [Reply::json(200, &body)]);
        let kind = Kind::Malformed("reservation burn".to_owned());
        assert_eq!(slurm.reservations().await.unwrap_err().kind, kind, "{nodes}");
    }
}

#[tokio::test]
async fn a_reservation_begins_by_slurmctlds_clock_and_lasts_full_minutes() {
    let (fake, slurm) = slurm().await;
    empty(&fake);
    fake.on(MAKE, [Reply::slurm("reservation_made")]);
    assert_eq!(slurm.create_reservation(&burn(7201)).await.unwrap(), Creation::Created);
    let body = json!({
        "name": "burn",
        "start_time": {"set": true, "number": 1_796_010_186},
        "duration": {"set": true, "number": 121},
        "users": ["bob"],
        "node_list": ["n1"],
        "flags": ["MAINT", "IGNORE_JOBS"],
    });
    assert_eq!(fake.asked(MAKE)[0].json(), body);
    slurm.create_reservation(&burn(0)).await.unwrap();
    assert_eq!(fake.asked(MAKE)[1].json()["duration"]["number"], json!(1));
}

#[tokio::test]
async fn a_reservation_that_is_there_is_left_as_it_is() {
    let (fake, slurm) = slurm().await;
    fake.on(LIST, [Reply::slurm("reservations"), Reply::slurm("reservations_none")]);
    fake.on(DIAG, [Reply::slurm("diag")]);
    fake.on(MAKE, [Reply::slurm("reservation_again")]);
    assert_eq!(slurm.create_reservation(&burn(60)).await.unwrap(), Creation::Exists);
    assert_eq!(fake.asked(MAKE).len(), 0);
    // made by another between our look and our request, which slurmctld takes for a change
    assert_eq!(slurm.create_reservation(&burn(60)).await.unwrap(), Creation::Exists);
}

#[tokio::test]
async fn a_reservation_that_is_refused_keeps_slurmctlds_words() {
    let (fake, slurm) = slurm().await;
    empty(&fake);
    let words = |name: &str, why: &str| format!("Error creating reservation  {name}: {why}");
    for (recording, kind) in [
        ("reservation_no_user", Kind::Rejected(words("u2", "Unspecified error"))),
        ("reservation_busy", Kind::Conflict(words("m2", "Requested nodes are busy"))),
        ("reservation_denied", Kind::Forbidden(words("na", "Invalid user id"))),
    ] {
        fake.on(MAKE, [Reply::slurm(recording)]);
        assert_eq!(slurm.create_reservation(&burn(60)).await.unwrap_err().kind, kind, "{recording}");
    }
    let made = fake.asked(MAKE).len();
    fake.on(DIAG, [Reply::json(200, &json!({"statistics": {}, "errors": []}))]);
    let kind = Kind::Malformed("no `statistics.req_time`".to_owned());
    assert_eq!(slurm.create_reservation(&burn(60)).await.unwrap_err().kind, kind);
    fake.on(LIST, [Reply::slurm("ctld_down_jobs")]);
    assert_eq!(slurm.create_reservation(&burn(60)).await.unwrap_err().kind, Kind::Unavailable);
    assert_eq!(fake.asked(MAKE).len(), made, "without a look and a clock nothing is made");
}

#[tokio::test]
async fn a_reservation_is_deleted_once() {
    let (fake, slurm) = slurm().await;
    let replies = ["reservation_deleted", "reservation_unknown", "reservation_in_use"].map(Reply::slurm);
    fake.on(DELETE, replies);
    assert!(slurm.delete_reservation("burn").await.unwrap());
    assert!(!slurm.delete_reservation("burn").await.unwrap());
    let said = "Error deleting reservation burn: Requested reservation is in use".to_owned();
    assert_eq!(slurm.delete_reservation("burn").await.unwrap_err().kind, Kind::Conflict(said));
}

#[tokio::test]
async fn a_name_that_would_bend_the_path_is_not_sent() {
    let (fake, slurm) = slurm().await;
    let kind = Kind::Rejected("a name of other than letters, digits, `-`, `_` and `.`".to_owned());
    for bent in ["", "..", "a/b", "a b", "../node/n1", "a?b", "a#b", "%2e"] {
        assert_eq!(slurm.delete_reservation(bent).await.unwrap_err().kind, kind, "{bent}");
        let new = NewReservation { name: bent.to_owned(), ..burn(60) };
        assert_eq!(slurm.create_reservation(&new).await.unwrap_err().kind, kind, "{bent}");
    }
    assert_eq!(fake.methods(), ["GET"]);
}

#[tokio::test]
async fn no_reservation_is_made_where_the_release_cannot() {
    let (fake, slurm) = serving("v0.0.42").await;
    let needed = "making and deleting reservations needs v0.0.43 or newer, as SLURM 26.05 serves";
    let kind = Kind::TooOld(format!("{needed}; this slurmrestd speaks v0.0.42"));
    assert_eq!(slurm.create_reservation(&burn(60)).await.unwrap_err().kind, kind);
    assert_eq!(slurm.delete_reservation("burn").await.unwrap_err().kind, kind);
    assert_eq!(fake.methods(), ["GET"]);
}
