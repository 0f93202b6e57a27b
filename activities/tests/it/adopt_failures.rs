//! Adoptions that somebody must do something about, in words.

use activities::adopt::adopt;
use activities::{Attempt, Class, Code};
use fakes::{Answer, Behaviour, Build, Fault, Registers, Service};
use jiff::Timestamp;
use model::NodeSource;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::adopt::{
    MARK, registers_closed, request, run, run_as, servers, state_of, with_machine, with_static,
};
use crate::site::{Setup, Site, T, attempt, node, row, within_ceiling};

const ALICE: &str = "bad DIMM A3 [alice]";

#[tokio::test]
async fn case_b13_a_foreign_drain_is_refused_without_one_write() {
    let site = with_static(node("gpu-1", &["IDLE", "DRAIN"], ALICE)).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(
        (failure.code, failure.class, failure.step),
        (Code::DrainNotOurs, Class::NeedsHuman, "close_node")
    );
    assert_eq!(failure.message, "gpu-1 is DRAIN+IDLE and not by us: bad DIMM A3 [alice]");
    assert_eq!(site.written(), Vec::<String>::new());
    assert_eq!(state_of(&site)[1], ALICE);
}

#[tokio::test]
async fn case_b13_a_foreign_drain_of_an_adopted_node_is_refused_too() {
    let site = registers_closed().await;
    run(&site, 1).await.unwrap();
    site.fakes.slurm.put(node("gpu-1", &["IDLE", "DRAIN", "DYNAMIC_NORM"], ALICE));
    site.conversation();
    let failure = run_as(&site, attempt(1, T + 100), "r-2").await.unwrap_err();
    assert_eq!(failure.code, Code::DrainNotOurs);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn a_static_node_that_slurm_lacks_is_refused_before_nova_is_asked() {
    let site = Site::start(Setup::of(&["gpu-1"]).with_static_nodes()).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!(failure.code, Code::NodeUnknown);
    assert_eq!(site.written(), Vec::<String>::new());
}

#[tokio::test]
async fn case_b42_a_server_in_error_fails_at_once_with_its_text() {
    let site = Site::start(Setup { paced: false, ..Setup::of(&["gpu-1"]) }).await;
    let fails = Behaviour { build: Build::Fails("no power".to_owned()), ..Behaviour::default() };
    site.fakes.cloud.behave("gpu-1.rack", &fails);
    let (world, request, started) = (site.world(), request("r-1"), Timestamp::from_second(T).unwrap());
    let (attempt, mut progress) = Attempt::new(1, started, None, CancellationToken::new());
    let time_passes = async {
        progress.wait_for(|p| p.step == "wait_active" && !p.waiting_for.is_empty()).await.unwrap();
        site.fakes.tick();
    };
    let both = async { tokio::join!(adopt(&world, &attempt, &request), time_passes) };
    let failure = within_ceiling(both).await.0.unwrap_err();
    assert_eq!(
        (failure.code, failure.class, failure.step),
        (Code::ServerError, Class::NeedsHuman, "wait_active")
    );
    let id = &servers(&site)[0];
    let text = format!(
        "server {id} is in ERROR: Exceeded maximum number of retries. Exhausted all hosts available for \
         retrying build failures for instance {id}."
    );
    assert_eq!(failure.message, text);
    assert_eq!(site.fakes.slurm.node("gpu-1"), None);
    assert_eq!(site.device("gpu-1").await.server_id.unwrap().as_str(), id);
}

#[tokio::test]
async fn case_b25_no_valid_host_is_its_own_code() {
    let site = with_machine(Behaviour { build: Build::NoValidHost, ..Behaviour::default() }).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::NoValidHost, "nova_host"));
}

#[tokio::test]
async fn case_b24_a_node_that_registers_invalid_is_never_adopted() {
    let site = with_machine(Behaviour { gpus: Some(0), ..Behaviour::default() }).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::ConfigMismatch, "wait_registered"));
    let reason = "gres/gpu count reported lower than configured (0 < 4)";
    assert!(failure.message.ends_with(reason), "{}", failure.message);
    assert_eq!(state_of(&site), ["IDLE+DRAIN+INVALID_REG+DYNAMIC_NORM", reason, ""]);
}

#[tokio::test]
async fn case_b26_a_node_with_the_old_resources_stays_closed() {
    let old = "Gres=gpu:h100:8 Feature=h100 State=DRAIN Reason=fleet:registering".to_owned();
    let site = with_machine(Behaviour { registers: Registers::As(old), ..Behaviour::default() }).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.step), (Code::ConfigMismatch, "check_node"));
    let said = "gpu-1 is not what its row says (it stays closed): \
                gpu-1 has GRES `gpu:h100:8`, the row says `gpu:h100:4`";
    assert_eq!(failure.message, said);
    assert_eq!(state_of(&site)[..2], ["IDLE+DRAIN+DYNAMIC_NORM", MARK]);
}

#[tokio::test]
async fn a_null_flavor_stops_the_role_before_openstack_is_asked() {
    let row = model::BootstrapDraft { flavor: None, ..row(model::NodeSource::Registers) };
    let site = Site::start(Setup { row: Some(row), ..Setup::of(&["gpu-1"]) }).await;
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::BootstrapIncomplete, "flavor"));
    assert_eq!(failure.message, "role gpu: flavor is null");
    assert_eq!(site.count("POST", "/v3/auth/tokens"), 0);
}

/// Our hub lets none in; another fleet manager's may.
#[tokio::test]
async fn a_row_whose_user_data_is_no_base64_stops_its_role_before_openstack_is_asked() {
    let site = registers_closed().await;
    let mut row = serde_json::to_value(row(NodeSource::Registers)).unwrap();
    let written = json!({"id": "b-1", "site_id": "lab", "revision": 1, "updated_by": "hpc-lab",
        "updated_at": "2026-11-30T10:00:00Z", "user_data": "I2Nsb3Vk!"});
    row.as_object_mut().unwrap().extend(written.as_object().unwrap().clone());
    let body = json!({"items": [row]});
    let rows = "*/slurm-bootstrap-configs/";
    site.fakes.fault(Fault::on(Service::Beside("hub"), "GET", rows, Answer::Status { code: 200, body }));
    let failure = run(&site, 1).await.unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::BootstrapInvalid, Class::NeedsHuman));
    assert_eq!((failure.field.as_str(), failure.step), ("user_data", "read_hub"));
    let said = "user_data (position 8): is not base64; encode it once with the standard alphabet and no \
                line breaks, as `base64 -w0` does";
    assert_eq!(failure.message, said);
    assert_eq!(failure.remedy, "have HPC correct the site's bootstrap config for the role");
    assert_eq!(site.count("POST", "/auth/tokens"), 0);
    assert_eq!(site.written(), Vec::<String>::new());
}
