//! What people get wrong, through the hub to a site on the fakes: each its code, one line with field
//! and remedy, and nothing created.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use clients::{Error, Kind};
use fakes::{Behaviour, Build, CloudOptions, SlurmOptions, World};
use model::{
    BootstrapDraft, DeviceId, DrainReason, FailureView, NodeSource, RequestId, RunStatus, SiteId,
    StartRequest, UserData, Verb,
};
use sandbox::{Hub, PRINCIPALS, Process, Scopes, Site, Systems, Temporal, Tuning, binary, folder, free_port};
use serde_json::json;

/// A site, and its imitated systems.
struct Lab {
    world: World,
    hub: Hub,
    _temporal: Temporal,
    _worker: Process,
}

fn lab_id() -> SiteId {
    SiteId::parse("lab").unwrap()
}

/// A site whose every role but `none` has a row; `token` makes the worker's SLURM token.
async fn lab(name: &str, principals: &[Scopes], token: impl Fn(&World) -> String) -> Lab {
    let folder = folder(&format!("it/{name}")).unwrap();
    let world = World::start(SlurmOptions::default(), CloudOptions::default()).await.unwrap();
    let port = || free_port().unwrap();
    let temporal = Temporal::start(&folder, "lab", port(), None).await.unwrap();
    let roles = ["none", "no-image", "no-flavor", "gone-flavor", "gone-image", "good", "no-machine"];
    let devices = roles.map(|role| {
        let machine = (role != "no-machine").then_some("node-1");
        json!({"id": role, "site_id": "lab", "name": role, "role": role, "nova_host": machine})
    });
    let elsewhere = json!({"id": "moon-1", "site_id": "moon", "name": "moon-1", "role": "good"});
    let devices: Vec<_> = devices.into_iter().chain([elsewhere]).collect();
    let hub = Hub::start(&folder, &temporal, port(), principals, &json!(devices)).await.unwrap();
    let image = world.cloud.image_id("slurm-node-a").unwrap();
    let gone = "11111111-2222-4333-8444-555555555555";
    let hpc = hub.api("hpc-lab", &lab_id()).unwrap();
    for (role, image, flavor) in [
        ("no-image", None, Some("bm.small")),
        ("no-flavor", Some(image.as_str()), None),
        ("gone-flavor", Some(image.as_str()), Some("bm.gone")),
        ("gone-image", Some(gone), Some("bm.small")),
        ("good", Some(image.as_str()), Some("bm.small")),
        ("no-machine", Some(image.as_str()), Some("bm.small")),
    ] {
        hpc.create_bootstrap_config(&row(role, image, flavor)).await.unwrap();
    }
    let systems = Systems {
        slurm: world.slurm.url().to_owned(),
        slurm_token: token(&world),
        keystone: world.cloud.keystone_url(),
        password: "deployer".to_owned(),
    };
    let tuning = Tuning { poll_seconds: 60, http_port: 0, log: "info" };
    let site = Site::configure(&folder, &temporal, &hub, &systems, tuning).unwrap();
    let worker = site.worker(&binary("satellite").unwrap()).unwrap();
    Lab { world, hub, _temporal: temporal, _worker: worker }
}

fn row(role: &str, image: Option<&str>, flavor: Option<&str>) -> BootstrapDraft {
    BootstrapDraft {
        device_role: role.to_owned(),
        image: image.map(str::to_owned),
        flavor: flavor.map(str::to_owned),
        features: vec!["dyn".to_owned()],
        gres: String::new(),
        user_data: Some(UserData::encode(b"#!/bin/sh\n# fleet_slurm_conf\n")),
        node_source: NodeSource::Registers,
    }
}

fn root(world: &World) -> String {
    world.slurm.token("root")
}

impl Lab {
    /// Adopts, and returns why that failed; machines move on meanwhile.
    async fn adopt(&self, device: &str) -> Result<FailureView, Error> {
        let why = DrainReason::parse("a test").unwrap();
        let start = StartRequest { deadline_seconds: Some(60), ..StartRequest::new(Verb::Adopt, why) };
        self.run(device, &start).await
    }

    async fn run(&self, device: &str, start: &StartRequest) -> Result<FailureView, Error> {
        let hub = self.hub.api("fleet-squad", &lab_id()).unwrap();
        let device = DeviceId::parse(device).unwrap();
        let request = RequestId::parse(&format!("r-{}-{device}", start.verb.as_str())).unwrap();
        let mut view = hub.start(&device, &request, start).await?;
        while view.status == RunStatus::Running {
            self.world.tick();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            view = hub.run(&device, &view.run_id).await.unwrap().unwrap();
        }
        assert_eq!(view.status, RunStatus::Failed, "{view:?}");
        Ok(view.failure.unwrap())
    }

    async fn fails(&self, device: &str, code: &str, message: &str, remedy: &str) {
        let failure = self.adopt(device).await.unwrap();
        assert_eq!((failure.code.as_str(), failure.message.as_str()), (code, message), "{device}");
        assert!(failure.remedy.contains(remedy), "{device}: {}", failure.remedy);
        assert!(self.world.cloud.events().is_empty(), "{device}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_gets_its_code_a_line_and_nothing_created() {
    let lab = lab("bad-input", &PRINCIPALS, root).await;
    for device in ["nobody", "moon-1"] {
        let unknown = lab.adopt(device).await.unwrap_err();
        assert_eq!(unknown.status, Some(404), "{unknown}");
        assert!(unknown.to_string().contains("no such device"), "{unknown}");
    }

    let fill = "have HPC fill the field in, in the site's bootstrap config for the role";
    lab.fails("none", "bootstrap.missing", "site lab has no bootstrap config for role none", "have HPC")
        .await;
    lab.fails("no-image", "bootstrap.incomplete", "role no-image: image is null", fill).await;
    lab.fails("no-flavor", "bootstrap.incomplete", "role no-flavor: flavor is null", fill).await;
    lab.fails("gone-flavor", "bootstrap.invalid", "Nova has no flavor bm.gone", "another flavor in the row")
        .await;
    let gone = "Glance has no image 11111111-2222-4333-8444-555555555555";
    lab.fails("gone-image", "bootstrap.invalid", gone, "another image in the row").await;
    let machine = "nova_host: device no-machine has no machine; set its hypervisor hostname in the hub";
    lab.fails("no-machine", "request.invalid", machine, "set its hypervisor hostname").await;
    assert_eq!(lab.world.cloud.servers().len(), 0);

    let behaviour = Behaviour { build: Build::NoValidHost, ..Behaviour::default() };
    lab.world.cloud.behave("node-1", &behaviour);
    let failure = lab.adopt("good").await.unwrap();
    assert_eq!(failure.code, "openstack.no_valid_host", "{failure:?}");
    assert!(failure.message.ends_with("is in ERROR: No valid host was found."), "{failure:?}");
    assert_eq!(failure.remedy, "see whether the machine is free and up in Nova, then adopt again");
    assert!(lab.world.cloud.events().is_empty());
    assert_eq!(lab.world.slurm.node("good"), None);

    let mut bad = row("worse", None, None);
    bad.user_data = Some(UserData::from("#cloud-config".to_owned()));
    let hpc = lab.hub.api("hpc-lab", &lab_id()).unwrap();
    let refused = hpc.create_bootstrap_config(&bad).await.unwrap_err();
    assert_eq!(refused.status, Some(422));
    assert!(
        refused.to_string().contains("user_data (position 0): is not base64; encode it once"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_the_cluster_does_not_know_is_said_so() {
    let lab = lab("bad-node", &PRINCIPALS, root).await;
    for verb in [Verb::Drain, Verb::Resume] {
        let start = StartRequest::new(verb, DrainReason::parse("a test").unwrap());
        let failure = lab.run("good", &start).await.unwrap();
        let said = (failure.code.as_str(), failure.message.as_str(), failure.remedy.as_str());
        let remedy = "compare the hub's names with slurm.conf";
        assert_eq!(said, ("slurm.node_unknown", "SLURM has no node good", remedy), "{verb:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slurm_token_that_is_refused_is_said_so() {
    let wrong = |_: &World| fakes::token(b"another key than slurmctld's own", "root", 4_000_000_000);
    let lab = lab("bad-token", &PRINCIPALS, wrong).await;
    let remedy = "renew the SLURM token; its user needs AdminLevel Administrator";
    lab.fails("good", "slurm.forbidden", "slurm get node: token refused (HTTP 511)", remedy).await;
    assert_eq!(lab.world.cloud.servers().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_that_the_hub_refuses_is_said_so() {
    let mut principals = PRINCIPALS;
    principals[1].1 = &[];
    let lab = lab("bad-scope", &principals, root).await;
    let message = "hub get bootstrap config: not allowed: slurm-bootstrap-config:read is needed (HTTP 403)";
    let remedy = "compare the principal's key and scopes with its registration at the hub";
    lab.fails("good", "hub.forbidden", message, remedy).await;
    assert!(!matches!(lab.adopt("nobody").await.unwrap_err().kind, Kind::Unreachable));
}
