//! The site of these tests.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use fakes::{CloudOptions, SlurmOptions, World};
use model::{BootstrapDraft, NodeSource, SiteId, UserData};
use sandbox::{
    Hub, PRINCIPALS, Process, Site, Systems, Temporal, Tuning, binary, folder, free_port, output, tool,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// A client takes no longer.
const CEILING: Duration = Duration::from_secs(120);
/// Imitated machines move on so often.
const TICK: Duration = Duration::from_millis(100);

/// A site. What ends first stands first.
pub(super) struct Lab {
    worker: Process,
    _hub: Hub,
    pub(super) temporal: Temporal,
    world: World,
    folder: PathBuf,
}

impl Lab {
    /// A site whose devices are `plain-1`, `typed-1` and so on, with a machine each; the role of
    /// `no-flavor` has a row without a flavor.
    pub(super) async fn start(name: &str) -> Self {
        let folder = folder(&format!("it/{name}")).unwrap();
        let world = World::start(SlurmOptions::default(), CloudOptions::default()).await.unwrap();
        let mut temporal = Temporal::start(&folder, "elsewhere", free_port().unwrap(), None).await.unwrap();
        "lab".clone_into(&mut temporal.namespace);
        let devices = ["plain-1", "plain-2", "typed-1", "typed-2", "hand-1", "no-flavor"];
        let device = |(n, id): (usize, &str)| {
            let role = if id == "no-flavor" { id } else { "good" };
            json!({"id": id, "site_id": "lab", "name": id, "role": role, "nova_host": format!("node-{}", n + 1)})
        };
        let devices: Vec<Value> = devices.into_iter().enumerate().map(device).collect();
        let hub =
            Hub::start(&folder, &temporal, free_port().unwrap(), &PRINCIPALS, &json!(devices)).await.unwrap();
        let hpc = hub.api("hpc-lab", &SiteId::parse("lab").unwrap()).unwrap();
        let image = world.cloud.image_id("slurm-node-a").unwrap();
        for (role, flavor) in [("good", Some("bm.small")), ("no-flavor", None)] {
            hpc.create_bootstrap_config(&row(role, &image, flavor)).await.unwrap();
        }
        let systems = Systems {
            slurm: world.slurm.url().to_owned(),
            slurm_token: world.slurm.token("root"),
            keystone: world.cloud.keystone_url(),
            password: "deployer".to_owned(),
        };
        let tuning = Tuning { poll_seconds: 60, http_port: 0, log: "info" };
        let site = Site::configure(&folder, &temporal, &hub, &systems, tuning).unwrap();
        let satellite = binary("satellite").unwrap();
        output(Command::new(&satellite).args(["setup", "--config"]).arg(folder.join("site.toml"))).unwrap();
        let worker = site.worker(&satellite).unwrap();
        Self { worker, _hub: hub, temporal, world, folder }
    }

    /// Runs a program of `tests/interop` to its end, and returns its lines. Machines stand still until
    /// it has said this case: what it needs an adoption to be running for is done by then.
    pub(super) async fn python(&self, program: &str, still_until: &str) -> Vec<Value> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let python = tool("python").unwrap();
        let classes = self.folder.join("classes");
        std::fs::create_dir_all(&classes).unwrap();
        let mut protoc = Command::new(&python);
        protoc
            .args(["-m", "grpc_tools.protoc", "-I"])
            .arg(root.join("proto"))
            .arg("--python_out")
            .arg(&classes);
        output(protoc.arg("fleet/slurm/v1/lifecycle.proto")).unwrap();

        let log = std::fs::File::create(self.folder.join("python.log")).unwrap();
        let mut client = tokio::process::Command::new(&python)
            .arg(root.join("tests/interop").join(program))
            .args([self.temporal.address.as_str(), "lab", "lab"])
            .env("PYTHONPATH", &classes)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let mut said: Vec<Value> = Vec::new();
        let mut moving = false;
        let whole = async {
            while let Some(line) = self.moving(moving, lines.next_line()).await.unwrap() {
                let case: Value = serde_json::from_str(&line).unwrap();
                moving |= case["case"] == still_until;
                said.push(case);
            }
            client.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(CEILING, whole).await;
        let log = std::fs::read_to_string(self.folder.join("python.log")).unwrap();
        assert!(
            ended.is_ok_and(|e| e.success()),
            "{program}: {said:#?}\n{log}\nworker: {}",
            self.worker.text()
        );
        said
    }

    /// Waits for this, while machines move on if they are to.
    pub(super) async fn moving<T>(&self, moving: bool, until: impl Future<Output = T>) -> T {
        let ticks = async {
            let mut every = tokio::time::interval(TICK);
            loop {
                every.tick().await;
                if moving {
                    self.world.tick();
                }
            }
        };
        tokio::select! {
            done = until => done,
            never = ticks => never,
        }
    }

    /// The id of the one server of this name.
    pub(super) fn server(&self, device: &str) -> String {
        let servers = self.world.cloud.servers();
        let ids: Vec<&str> =
            servers.iter().filter(|s| s["name"] == device).filter_map(|s| s["id"].as_str()).collect();
        let [id] = ids.as_slice() else { panic!("{device}: {ids:?}") };
        (*id).to_owned()
    }

    /// The node is there, and takes jobs.
    pub(super) fn assert_open(&self, device: &str) {
        let node = self.world.slurm.node(device).unwrap();
        assert_eq!(node["state"], json!(["IDLE", "DYNAMIC_NORM"]), "{node}");
    }
}

fn row(role: &str, image: &str, flavor: Option<&str>) -> BootstrapDraft {
    BootstrapDraft {
        device_role: role.to_owned(),
        image: Some(image.to_owned()),
        flavor: flavor.map(str::to_owned),
        features: vec!["dyn".to_owned()],
        gres: String::new(),
        user_data: Some(UserData::encode(b"#!/bin/sh\n# fleet_slurm_conf\n")),
        node_source: NodeSource::Registers,
    }
}
