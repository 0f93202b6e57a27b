//! Servers that are there: rebuilt, started, and what keeps Nova from it.

use clients::openstack::{Rebuild, ServerStatus};
use clients::{Error, Kind};
use model::{ServerId, UserData};
use serde_json::json;

use crate::fake::Reply;
use crate::openstack::cloud;

const ACTION: &str = "POST /v2.1/servers/s-1/action";

fn id() -> ServerId {
    ServerId::parse("s-1").unwrap()
}

fn rebuild() -> Rebuild {
    Rebuild {
        name: "gpu-1".to_owned(),
        image: "image-2".to_owned(),
        user_data: Some(UserData::encode(b"#cloud-config\n")),
        metadata: [("fleet_request".to_owned(), "r-2".to_owned())].into(),
    }
}

/// What comes of a rebuild that is answered so.
async fn answered(recording: &str) -> Result<(), Error> {
    let (fake, openstack) = cloud().await;
    fake.on(ACTION, [Reply::openstack(recording)]);
    openstack.rebuild(&id(), &rebuild()).await
}

#[tokio::test]
async fn a_rebuild_replaces_image_user_data_name_and_metadata_in_one_call() {
    let (fake, openstack) = cloud().await;
    fake.on(ACTION, [Reply::openstack("rebuild-userdata")]);
    openstack.rebuild(&id(), &rebuild()).await.unwrap();
    let [asked] = fake.asked(ACTION).try_into().unwrap();
    assert_eq!(asked.header("openstack-api-version"), Some("compute 2.90"));
    assert_eq!(
        asked.json(),
        json!({"rebuild": {
            "name": "gpu-1",
            "hostname": "gpu-1",
            "imageRef": "image-2",
            "user_data": "I2Nsb3VkLWNvbmZpZwo=",
            "metadata": {"fleet_request": "r-2"},
        }})
    );
}

#[tokio::test]
async fn no_user_data_takes_away_what_is_there() {
    let (fake, openstack) = cloud().await;
    fake.on(ACTION, [Reply::openstack("rebuild-userdata")]);
    openstack.rebuild(&id(), &Rebuild { user_data: None, ..rebuild() }).await.unwrap();
    let body = fake.asked(ACTION)[0].json();
    assert_eq!(body["rebuild"].get("user_data"), Some(&json!(null)));
}

#[tokio::test]
async fn the_answer_to_a_rebuild_is_not_read() {
    let (fake, openstack) = cloud().await;
    fake.on(ACTION, [Reply::text(202, "text/html", "<html>")]);
    openstack.rebuild(&id(), &rebuild()).await.unwrap();
}

#[tokio::test]
async fn a_locked_server_is_told_from_one_that_is_busy() {
    for (recording, kind) in [
        (
            "rebuild-locked-member",
            Kind::Locked("Instance ead60ff8-b6c5-4782-8ac3-9fbbded81778 is locked".to_owned()),
        ),
        (
            "rebuild-while-rebuilding",
            Kind::Conflict(
                "Cannot 'rebuild' instance eb6182e9-34cb-4f32-afa4-c7fd589e141f while it is in task_state \
                 rebuilding"
                    .to_owned(),
            ),
        ),
        (
            "rebuild-while-building",
            Kind::Conflict(
                "Cannot 'rebuild' instance aeb0cd17-2f76-4e63-befe-f1c64206a35b while it is in vm_state \
                 building"
                    .to_owned(),
            ),
        ),
        (
            "rebuild-of-error-never-scheduled",
            Kind::Conflict(
                "Instance a49f9168-bf3f-4f6d-bac0-26183ba30be6 is in an invalid state for 'rebuild'"
                    .to_owned(),
            ),
        ),
    ] {
        let error = answered(recording).await.unwrap_err();
        assert!(!error.is_unknown(), "{recording}");
        assert_eq!((error.kind, error.status), (kind, Some(409)), "{recording}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_conflict_and_a_404_of_a_proxy_is_not() {
    let gone = answered("server-missing").await.unwrap_err();
    assert!(matches!(&gone.kind, Kind::Conflict(words) if words.ends_with("could not be found.")), "{gone}");
    let (fake, openstack) = cloud().await;
    fake.on(ACTION, [Reply::text(404, "text/html", "<html>")]);
    let error = openstack.rebuild(&id(), &rebuild()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Rejected("no reason given".to_owned()));
}

#[tokio::test]
async fn a_5xx_of_rebuild_may_have_been_accepted() {
    let (fake, openstack) = cloud().await;
    for (status, kind) in [(500, Kind::Broken("no reason given".to_owned())), (504, Kind::Unavailable)] {
        fake.on(ACTION, [Reply::text(status, "text/html", "<html>")]);
        let error = openstack.rebuild(&id(), &rebuild()).await.unwrap_err();
        assert!(error.is_unknown());
        assert_eq!(error.kind, kind);
    }
    assert_eq!(fake.asked(ACTION).len(), 2);
}

#[tokio::test]
async fn neither_user_data_nor_password_is_printed() {
    let (fake, openstack) = cloud().await;
    let echo = Reply::openstack("create-userdata-65536");
    fake.on(ACTION, [echo]);
    let error = openstack.rebuild(&id(), &rebuild()).await.unwrap_err();
    let printed = format!("{error} {error:?} {:?}", rebuild());
    assert!(!printed.contains(&"A".repeat(32)) && !printed.contains("I2Nsb3Vk"), "{printed}");
}

#[tokio::test]
async fn a_rebuilding_and_a_failed_server_are_read() {
    let (fake, openstack) = cloud().await;
    fake.on(
        "GET /v2.1/servers/s-1",
        [Reply::openstack("server-rebuilding"), Reply::openstack("server-rebuild-failed-admin")],
    );
    let rebuilding = openstack.server(&id()).await.unwrap().unwrap();
    assert_eq!(
        (rebuilding.status, rebuilding.task_state.as_deref(), rebuilding.locked),
        (ServerStatus::Rebuild, Some("rebuilding"), false)
    );
    assert_eq!(rebuilding.metadata["request_key"], "req-2");
    // the launch before
    assert_eq!(rebuilding.launched_at.as_deref(), Some("2026-11-30T04:11:43.000000"));
    let failed = openstack.server(&id()).await.unwrap().unwrap();
    assert_eq!((failed.status, failed.task_state), (ServerStatus::Error, None));
    assert_eq!(failed.fault.as_deref(), Some("deploy failed: no PXE boot"));
    assert_eq!(failed.launched_at.as_deref(), Some("2026-11-30T04:12:24.000000"));
}

#[tokio::test]
async fn a_server_is_started() {
    let (fake, openstack) = cloud().await;
    fake.on(ACTION, [Reply::openstack("start")]);
    openstack.start(&id()).await.unwrap();
    let [asked] = fake.asked(ACTION).try_into().unwrap();
    assert_eq!(asked.json(), json!({"os-start": null}));
    fake.on(ACTION, [Reply::openstack("rebuild-locked-member")]);
    let error = openstack.start(&id()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "nova start server: locked: Instance ead60ff8-b6c5-4782-8ac3-9fbbded81778 is locked (HTTP 409)"
    );
}
