//! Everything that an adoption touches, real, in one run of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::containers::{self, Container, Run, exec};
use crate::fleet::{Hub, Site};
use crate::machine_room::MachineRoom;
use crate::processes::Temporal;
use crate::slurm::SlurmUser;
use crate::wait::say;

/// The user-data of the GPU role: what HPC people write.
pub(crate) fn user_data(run: &Run) -> String {
    include_str!("../../images/node/user-data.example")
        .replace("MUNGE_KEY_BASE64", &run.munge_key)
        .replace("CONTROLLER:6817", &format!("{}:6817", run.controller))
}

fn folder(run: &Run) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/it").join(&run.id);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Everything of one run.
pub(super) struct World {
    pub(super) run: Run,
    pub(super) folder: PathBuf,
    pub(super) temporal: Temporal,
    pub(super) hub: Hub,
    pub(super) slurm: Container,
    pub(super) openstack: Arc<Container>,
    pub(super) room: MachineRoom,
    pub(super) root: SlurmUser,
    pub(super) slurm_url: String,
    pub(super) cloud: Cloud,
    pub(super) openstack_password: String,
    pub(super) gpu_row: Value,
    pub(super) image: String,
}

impl World {
    pub(super) async fn start() -> Self {
        let run = Run::new();
        let folder = folder(&run);
        say(&format!("starting Temporal, SLURM 26.05 and OpenStack; logs in target/it/{}", run.id));
        let started = Instant::now();
        let (temporal, (slurm, slurm_url), (openstack, keystone_url)) = tokio::join!(
            Temporal::start(&folder, "lab"),
            containers::slurm(&run),
            containers::openstack(&run, "openstack")
        );
        say(&format!("all three are up after {} s", started.elapsed().as_secs()));
        let openstack = Arc::new(openstack);
        let openstack_password = uuid::Uuid::new_v4().to_string();
        let cloud = Cloud::log_in(&keystone_url).await;
        cloud.set_password(&openstack_password).await;
        let image = cloud.image("slurm-node-a").await;
        let device = |id: &str, role: &str, machine: &str| json!({"id": id, "site_id": "lab", "name": id, "role": role, "nova_host": machine});
        let devices = json!([
            device("gpu-001", "gpu", "node-1"),
            device("gpu-002", "gpu", "node-2"),
            device("cpu-001", "cpu", "node-3"),
            device("gpu-003", "gpu", "node-4"),
        ]);
        let hub = Hub::start(&folder, &temporal, &devices).await;
        let root =
            SlurmUser { url: slurm_url.clone(), name: "root".to_owned(), token: run.slurm_token("root") };
        let gpu_row = json!({
            "device_role": "gpu", "image": image, "flavor": "bm.small",
            "features": ["dyn", "h100"], "gres": "gpu:h100:4",
            "user_data": STANDARD.encode(user_data(&run)), "node_source": "registers",
        });
        let room = MachineRoom::open(run.clone(), openstack.clone());
        Self {
            run,
            folder,
            temporal,
            hub,
            slurm,
            openstack,
            room,
            root,
            slurm_url,
            cloud,
            openstack_password,
            gpu_row,
            image,
        }
    }

    pub(super) fn site(&self) -> Site<'_> {
        Site {
            folder: &self.folder,
            temporal: &self.temporal,
            hub: &self.hub,
            slurm_url: &self.slurm_url,
            slurm_token: &self.root.token,
            keystone_url: &self.cloud.keystone,
            openstack_password: &self.openstack_password,
        }
    }

    pub(super) fn user(&self, name: &str) -> SlurmUser {
        SlurmUser { url: self.slurm_url.clone(), name: name.to_owned(), token: self.run.slurm_token(name) }
    }

    /// How many writes each system has seen: node updates by slurmctld, calls that are no GET by
    /// Nova and Glance.
    pub(super) async fn writes(&self) -> [usize; 3] {
        let count = |text: String| text.trim().parse::<usize>().unwrap();
        let slurm = "grep -cE 'update_node|_slurm_rpc_update_node' /var/log/slurm/slurmctld.log || true";
        let of = |service: &str| {
            format!("grep -hcE '(POST|PUT|PATCH|DELETE) /v2' /var/log/os/{service}-uwsgi.log || true")
        };
        [
            count(exec(&self.slurm, &["sh", "-c", slurm]).await),
            count(exec(&self.openstack, &["sh", "-c", &of("nova-api")]).await),
            count(exec(&self.openstack, &["sh", "-c", &of("glance")]).await),
        ]
    }

    /// How many calls of any kind OpenStack has seen from others than itself.
    pub(super) async fn keystone_logins(&self) -> usize {
        let script = "grep -hcE 'POST /v3/auth/tokens' /var/log/os/keystone-uwsgi.log || true";
        exec(&self.openstack, &["sh", "-c", script]).await.trim().parse().unwrap()
    }

    pub(super) async fn end(self) {
        self.room.close().await;
        self.slurm.rm().await.unwrap();
        Arc::into_inner(self.openstack).unwrap().rm().await.unwrap();
    }

    pub(super) async fn spawns(&self, machine: &str) -> Vec<Value> {
        let of = |e: &Value| e["kind"] == "spawn" && e["node"] == machine;
        self.room.events().await.into_iter().filter(of).collect()
    }
}
