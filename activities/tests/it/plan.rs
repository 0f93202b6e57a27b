//! The plan: what is to be done, from what is there.

use std::collections::HashSet;

use activities::plan::{Act, Plan, Seen, Target, digest, plan, shortfalls, slurm_conf};
use activities::{Code, Failure};
use clients::openstack::{Flavor, Image, Server, ServerStatus};
use clients::slurm::{Node, Partition, Tokens};
use jiff::Timestamp;
use model::{
    BootstrapConfig, BootstrapDraft, NodeName, NodeSource, PrincipalId, RequestId, ServerId, SiteId,
};

use crate::site::row;

/// The row of role `gpu`, as the hub serves it.
fn config(node_source: NodeSource) -> BootstrapConfig {
    let named = |name: &str| Some(name.to_owned());
    BootstrapConfig {
        id: "c-1".to_owned(),
        site_id: SiteId::parse("lab").unwrap(),
        draft: BootstrapDraft { image: named("image-1"), flavor: named("flavor-1"), ..row(node_source) },
        revision: 7,
        updated_at: Timestamp::UNIX_EPOCH,
        updated_by: PrincipalId::parse("hpc").unwrap(),
    }
}

pub(crate) fn target() -> Target {
    Target {
        node: NodeName::parse("gpu-1").unwrap(),
        machine: "gpu-1.rack".to_owned(),
        config: config(NodeSource::Registers).complete().unwrap(),
    }
}

/// The server that the target asks for, made by this request.
pub(crate) fn server(id: &str, request: &str) -> Server {
    let metadata = [
        ("fleet_device", "d-gpu-1".to_owned()),
        ("fleet_request", request.to_owned()),
        ("fleet_user_data_sha256", digest(target().config.user_data.as_ref())),
    ];
    Server {
        id: ServerId::parse(id).unwrap(),
        name: "gpu-1".to_owned(),
        status: ServerStatus::Active,
        task_state: None,
        locked: false,
        image: "image-1".to_owned(),
        flavor_name: "bm.gpu".to_owned(),
        machine: Some("gpu-1.rack".to_owned()),
        metadata: metadata.map(|(k, v)| (k.to_owned(), v)).into(),
        tags: vec!["fleet.device.d-gpu-1".to_owned()],
        fault: None,
        launched_at: Some("2026-11-30T10:00:00.000000".to_owned()),
    }
}

/// The same, failed before it was ever launched.
pub(crate) fn failed(id: &str, request: &str) -> Server {
    Server {
        status: ServerStatus::Error,
        machine: None,
        fault: Some("No valid host was found.".to_owned()),
        launched_at: None,
        ..server(id, request)
    }
}

/// The node that the target asks for, closed.
pub(crate) fn node() -> Node {
    let words = |list: &[&str]| list.iter().map(|w| (*w).to_owned()).collect();
    Node {
        name: target().node,
        tokens: Tokens::new(["IDLE", "DRAIN", "DYNAMIC_NORM"]),
        reason: "fleet:registering".to_owned(),
        extra: String::new(),
        features: words(&["h100", "rack7"]),
        active_features: words(&["h100", "rack7"]),
        gres: "gpu:h100:4(S:0-1)".to_owned(),
        partitions: words(&["main", "burnin"]),
        slurmd_start_time: 1_790_000_000,
        suspend_time: None,
    }
}

pub(crate) fn image(id: &str) -> Image {
    Image { id: id.to_owned(), name: Some("slurm-node".to_owned()), status: "active".to_owned() }
}

pub(crate) fn seen(servers: Vec<Server>) -> Seen {
    Seen {
        images: vec![image("image-1")],
        flavor: Some(Flavor { id: "flavor-1".to_owned(), name: "bm.gpu".to_owned() }),
        servers,
        node: Some(node()),
        partitions: vec![
            Partition { name: "main".to_owned(), up: true, tier: 1, nodes: HashSet::new() },
            Partition { name: "burnin".to_owned(), up: false, tier: 1, nodes: HashSet::new() },
        ],
    }
}

pub(crate) fn planned(seen: &Seen) -> Result<Plan, Failure> {
    plan(&target(), seen, &RequestId::parse("r-1").unwrap())
}

fn create(leftovers: &[&str]) -> Act {
    Act::Create { leftovers: leftovers.iter().map(|id| ServerId::parse(id).unwrap()).collect() }
}

fn keep(server: Server) -> Act {
    Act::Noop(Box::new(server))
}

#[test]
fn no_server_is_created() {
    let plan = planned(&seen(Vec::new())).unwrap();
    assert_eq!(plan.act, create(&[]));
    assert_eq!(plan.differences, ["there is no server"]);
}

#[test]
fn a_deleted_server_is_no_server() {
    let gone = Server { status: ServerStatus::Deleted, ..server("s-1", "r-0") };
    assert_eq!(planned(&seen(vec![gone])).unwrap().act, create(&[]));
}

#[test]
fn the_server_of_the_row_is_kept_without_a_difference() {
    let plan = planned(&seen(vec![server("s-1", "r-0")])).unwrap();
    assert_eq!(plan, Plan { act: keep(server("s-1", "r-0")), differences: Vec::new() });
}

#[test]
fn a_server_that_is_made_is_waited_for_wherever_it_lands() {
    let building = Server { status: ServerStatus::Build, machine: None, ..server("s-1", "r-0") };
    assert_eq!(planned(&seen(vec![building.clone()])).unwrap().act, keep(building));
    let rebuilding = Server {
        status: ServerStatus::Rebuild,
        machine: Some("elsewhere".to_owned()),
        ..server("s-1", "r-0")
    };
    assert_eq!(planned(&seen(vec![rebuilding.clone()])).unwrap().act, keep(rebuilding));
}

#[test]
fn a_server_whose_machine_the_policy_hides_is_kept() {
    let hidden = Server { machine: None, ..server("s-1", "r-0") };
    assert_eq!(planned(&seen(vec![hidden.clone()])).unwrap().act, keep(hidden));
}

#[test]
fn a_server_never_launched_of_an_earlier_request_goes_first() {
    let plan = planned(&seen(vec![failed("s-1", "r-0")])).unwrap();
    assert_eq!(plan.act, create(&["s-1"]));
    assert_eq!(plan.differences, ["there is no server"]);
}

#[test]
fn a_failed_twin_of_this_request_beside_a_good_one_is_no_matter() {
    let plan = planned(&seen(vec![failed("s-2", "r-1"), server("s-1", "r-1")])).unwrap();
    assert_eq!(plan.act, keep(server("s-1", "r-1")));
}

#[test]
fn what_the_node_lacks_is_listed_each() {
    let mut other = node();
    other.tokens = Tokens::new(["IDLE", "INVALID_REG", "NOT_RESPONDING"]);
    other.reason = "low memory".to_owned();
    other.features = vec!["rack7".to_owned()];
    other.active_features = vec!["rack7".to_owned()];
    other.gres = "gpu:h100:8".to_owned();
    other.partitions = vec!["burnin".to_owned()];
    let up = seen(Vec::new()).partitions;
    assert_eq!(
        shortfalls(&target(), Some(&other), &up),
        [
            "SLURM calls the registration of gpu-1 invalid: low memory",
            "gpu-1 does not respond (IDLE+INVALID_REG+NOT_RESPONDING)",
            "gpu-1 lacks feature h100",
            "gpu-1 lacks active feature h100",
            "gpu-1 has GRES `gpu:h100:8`, the row says `gpu:h100:4`",
            "gpu-1 is in no partition that is UP",
        ]
    );
}

#[test]
fn each_shortfall_alone_is_a_difference_of_a_kept_server() {
    type Change = fn(&mut Node);
    let changes: [(Change, &str); 7] = [
        (|n| n.slurmd_start_time = 0, "gpu-1 does not respond (DRAIN+DYNAMIC_NORM+IDLE)"),
        (|n| n.tokens = Tokens::new(["UNKNOWN"]), "gpu-1 does not respond (UNKNOWN)"),
        (|n| n.features = Vec::new(), "gpu-1 lacks feature h100"),
        (|n| n.active_features = Vec::new(), "gpu-1 lacks active feature h100"),
        (|n| n.gres = String::new(), "gpu-1 has GRES ``, the row says `gpu:h100:4`"),
        (|n| n.gres = "gpu:".to_owned(), "gpu-1 has GRES `gpu:`, the row says `gpu:h100:4`"),
        (|n| n.partitions = Vec::new(), "gpu-1 is in no partition that is UP"),
    ];
    for (change, said) in changes {
        let mut seen = seen(vec![server("s-1", "r-0")]);
        seen.node.as_mut().map(change).unwrap();
        let plan = planned(&seen).unwrap();
        assert_eq!((plan.act, plan.differences), (keep(server("s-1", "r-0")), vec![said.to_owned()]));
    }
}

#[test]
fn a_node_that_slurm_lacks_is_one_difference() {
    assert_eq!(shortfalls(&target(), None, &[]), ["SLURM has no node gpu-1"]);
}

#[test]
fn only_a_static_node_gets_no_configuration() {
    let conf = |source| slurm_conf(&config(source).complete().unwrap()).unwrap();
    let text = "Gres=gpu:h100:4 Feature=h100 State=DRAIN Reason=fleet:registering";
    assert_eq!(conf(NodeSource::Registers).as_deref(), Some(text));
    assert_eq!(conf(NodeSource::Created).as_deref(), Some(text));
    assert_eq!(conf(NodeSource::Static), None);
    let mut bare = config(NodeSource::Registers);
    bare.draft.features = Vec::new();
    bare.draft.gres = String::new();
    let text = slurm_conf(&bare.complete().unwrap()).unwrap().unwrap();
    assert_eq!(text, "State=DRAIN Reason=fleet:registering");
}

#[test]
fn a_configuration_longer_than_novas_metadata_is_refused() {
    let with = |last: usize| {
        let mut config = config(NodeSource::Registers);
        // 53 characters around the features; three of 64 and their commas
        config.draft.gres = String::new();
        let feature = |n: usize, c: &str| c.repeat(n);
        config.draft.features =
            vec![feature(64, "a"), feature(64, "b"), feature(64, "c"), feature(last, "d")];
        slurm_conf(&config.complete().unwrap())
    };
    let rest = "Feature=,,, State=DRAIN Reason=fleet:registering".len() + 3 * 64;
    assert_eq!(with(255 - rest).unwrap().unwrap().len(), 255);
    let failure = with(256 - rest).unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::BootstrapInvalid, "features"));
    assert_eq!(failure.message, "features and GRES make 256 characters of `fleet_slurm_conf`");
}
