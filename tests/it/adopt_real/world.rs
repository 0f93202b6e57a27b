//! Everything that an adoption touches, real, in one run of its own.

use std::path::PathBuf;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandbox::{
    Container, Hub, PRINCIPALS, Process, Release, Run, Services, Site, SlurmUser, Temporal, Tuning, binary,
    exec, folder, free_port,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::wait::say;

/// The worker's log shows every call.
const TUNING: Tuning = Tuning { poll_seconds: 3, http_port: 0, log: "info,clients=debug" };

/// Everything of one run.
pub(crate) struct World {
    pub(crate) folder: PathBuf,
    pub(crate) temporal: Temporal,
    pub(crate) hub: Hub,
    pub(crate) services: Services,
    pub(crate) site: Site,
    pub(crate) root: SlurmUser,
    pub(crate) gpu_row: Value,
}

impl World {
    pub(crate) async fn start(run: Run) -> Self {
        let name = format!("it/adopt-{}", &Uuid::new_v4().simple().to_string()[..8]);
        let folder = folder(&name).unwrap();
        let slurm = run.release.name;
        say(&format!("starting Temporal, SLURM {slurm} and OpenStack; logs in target/{name}"));
        let started = Instant::now();
        let (temporal, services) =
            tokio::join!(Temporal::start(&folder, "lab", port(), None), Services::start(run, say));
        let services = services.unwrap();
        let temporal = match temporal {
            Ok(temporal) => temporal,
            Err(error) => {
                // containers must be told to end while the runtime still runs
                services.end().await.unwrap();
                panic!("{error:#}");
            }
        };
        say(&format!("all three are up after {} s", started.elapsed().as_secs()));
        let device = |id: &str, role: &str, machine: &str| json!({"id": id, "site_id": "lab", "name": id, "role": role, "nova_host": machine});
        let devices = json!([
            device("gpu-001", "gpu", "node-1"),
            device("gpu-002", "gpu", "node-2"),
            device("cpu-001", "cpu", "node-3"),
            device("gpu-003", "gpu", "node-4"),
            device("fix-001", "fixed", "node-5"),
            device("new-001", "made", "node-6"),
        ]);
        let hub = Hub::start(&folder, &temporal, port(), &PRINCIPALS, &devices).await.unwrap();
        let site = Site::configure(&folder, &temporal, &hub, &services.systems, TUNING).unwrap();
        let root = services.user("root").unwrap();
        let gpu_row = json!({
            "device_role": "gpu", "image": services.image, "flavor": "bm.small",
            "features": ["dyn", "h100"], "gres": "gpu:h100:4",
            "user_data": STANDARD.encode(services.run.user_data()), "node_source": "registers",
        });
        Self { folder, temporal, hub, services, site, root, gpu_row }
    }

    /// The reason of a node that we have opened.
    pub(crate) fn unmarked(&self) -> &'static str {
        // 24.11 keeps reasons, so ours gives way to another
        if self.services.run.release == Release::V24_11 { "fleet:opened" } else { "" }
    }

    pub(crate) fn worker(&self) -> Process {
        self.site.worker(&binary("satellite").unwrap()).unwrap()
    }

    /// How many writes each system has seen: node updates by slurmctld, calls that are no GET by
    /// Nova and Glance.
    pub(crate) async fn writes(&self) -> [usize; 3] {
        let slurm = "grep -cE 'update_node|_slurm_rpc_update_node' /var/log/slurm/slurmctld.log || true";
        let of = |service: &str| {
            format!("grep -hcE '(POST|PUT|PATCH|DELETE) /v2' /var/log/os/{service}-uwsgi.log || true")
        };
        let openstack = &self.services.openstack;
        [
            count(&self.services.slurm, slurm).await,
            count(openstack, &of("nova-api")).await,
            count(openstack, &of("glance")).await,
        ]
    }

    /// How many calls of any kind OpenStack has seen from others than itself.
    pub(crate) async fn keystone_logins(&self) -> usize {
        let script = "grep -hcE 'POST /v3/auth/tokens' /var/log/os/keystone-uwsgi.log || true";
        count(&self.services.openstack, script).await
    }

    /// What SLURM's daemons said stays in the run's folder when their containers are gone.
    pub(crate) async fn keep_logs(&self) {
        let slurmctld = ["cat", "/var/log/slurm/slurmctld.log"];
        let mut logs = vec![("slurmctld".to_owned(), exec(&self.services.slurm, &slurmctld).await)];
        for machine in (1..=6).map(|n| format!("node-{n}")) {
            let slurmd = ["sh", "-c", "cat /var/log/slurm/slurmd.*.log"];
            let log = self.services.room.exec(&machine, &slurmd).await;
            logs.push((machine, log));
        }
        for (name, log) in logs {
            // a machine that never ran has none
            let _ = log.map(|text| std::fs::write(self.folder.join(format!("{name}.log")), text));
        }
    }

    pub(crate) async fn end(self) {
        self.services.end().await.unwrap();
    }

    pub(crate) async fn spawns(&self, machine: &str) -> Vec<Value> {
        let of = |e: &Value| e["kind"] == "spawn" && e["node"] == machine;
        self.services.room.events().await.unwrap().into_iter().filter(of).collect()
    }
}

fn port() -> u16 {
    free_port().unwrap()
}

async fn count(container: &Container, script: &str) -> usize {
    exec(container, &["sh", "-c", script]).await.unwrap().trim().parse().unwrap()
}
