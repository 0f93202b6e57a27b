//! What is done to a cluster and not asked of it: each subject has its own way.

use fakes::{Controller, NodeSeed, Registration, ReservationSeed};
use sandbox::{Daemon, Signal, exec};
use serde_json::json;

use super::subject::{Cluster, Shape, Subject};

/// What a node of ours says of itself when it registers.
const CONF: &str = "Gres=gpu:h100:4 Feature=dyn,h100 State=DRAIN Reason=fleet:registering";

/// How slurmctld goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Away {
    /// It has ended.
    Ended,
    /// It is there, and does not answer.
    Hung,
}

impl Subject {
    /// A second passes, where time does not pass by itself.
    pub(super) fn tick(&self) {
        if let Cluster::Fake(fake) = &self.cluster {
            fake.tick();
        }
    }

    /// A machine boots, and its slurmd registers a dynamic node with [`CONF`].
    pub(super) async fn register(&self, name: &str) {
        match &self.cluster {
            Cluster::Fake(_) => self.register_beside(name).await,
            Cluster::Real { run, nodes, .. } => {
                let user_data = run.user_data().into_bytes();
                let metadata = json!({"fleet_slurm_conf": CONF});
                let node = sandbox::node(run, name, name, user_data, &metadata).await.unwrap();
                nodes.lock().await.push(node);
            }
        }
    }

    /// A slurmd starts beside slurmctld, and registers a dynamic node with [`CONF`].
    pub(super) async fn register_beside(&self, name: &str) {
        let conf = format!("CPUs=4 RealMemory=4000 {CONF}");
        match &self.cluster {
            Cluster::Fake(fake) => {
                let conf = Some(conf);
                assert!(fake.register(&Registration { node: name.to_owned(), conf, gpus: None }));
            }
            Cluster::Real { controller, .. } => {
                let script = format!(
                    "mkdir -p /var/spool/slurmd/{name} && slurmd -Z -N {name} --conf 'Port=17101 {conf}'"
                );
                exec(controller, &["sh", "-c", &script]).await.unwrap();
            }
        }
    }

    /// A node's machine goes away.
    pub(super) async fn stop(&self, name: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.stop_slurmd(name),
            Cluster::Real { nodes, .. } => {
                for container in nodes.lock().await.drain(..) {
                    container.rm().await.unwrap();
                }
            }
        }
    }

    /// An administrator makes a node that is to be powered up when it is needed.
    pub(super) async fn cloud(&self, name: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => {
                let state = ["IDLE", "CLOUD", "POWERED_DOWN", "DYNAMIC_NORM"];
                let (features, partitions) = (vec!["dyn".to_owned()], vec!["main".to_owned()]);
                let seed = NodeSeed { features, partitions, gres: String::new(), ..NodeSeed::new(name) };
                fake.put(seed.in_state(&state, ""));
            }
            Cluster::Real { controller, .. } => {
                let node = format!("nodename={name}");
                let create = ["scontrol", "create", &node, "cpus=4", "realmemory=4000", "feature=dyn"];
                exec(controller, &[&create[..], &["state=cloud"]].concat()).await.unwrap();
            }
        }
    }

    /// An administrator drains a node for a reason that is not UTF-8: `caf\xe9`.
    pub(super) async fn drain_in_latin1(&self, name: &str, shape: Shape) {
        match &self.cluster {
            Cluster::Fake(fake) => {
                let seed = NodeSeed { partitions: shape.partitions_of(name), ..NodeSeed::new(name) };
                fake.put(seed.in_state(&["IDLE", "DRAIN"], "").because_of_bytes(b"caf\xe9"));
            }
            Cluster::Real { controller, .. } => {
                let script =
                    format!("scontrol update nodename={name} state=drain reason=\"$(printf 'caf\\351')\"");
                exec(controller, &["sh", "-c", &script]).await.unwrap();
            }
        }
    }

    /// An administrator drains a node, or opens it.
    pub(super) async fn scontrol(&self, name: &str, state: &str, reason: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => assert!(fake.scontrol(name, state, reason)),
            Cluster::Real { controller, .. } => {
                let (node, state) = (format!("nodename={name}"), format!("state={state}"));
                let reason = format!("reason={reason}");
                exec(controller, &["scontrol", "update", &node, &state, &reason]).await.unwrap();
            }
        }
    }

    /// An administrator reserves a node for bob, for two hours from now on.
    pub(super) async fn reserve(&self, name: &str, node: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.reserve(ReservationSeed::new(name, "bob", &[node])),
            Cluster::Real { controller, .. } => {
                let script = format!(
                    "scontrol create reservation reservationname={name} starttime=now duration=120 \
                     users=bob nodes={node} flags=maint,ignore_jobs"
                );
                exec(controller, &["sh", "-c", &script]).await.unwrap();
            }
        }
    }

    /// An administrator deletes a reservation.
    pub(super) async fn unreserve(&self, name: &str) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.unreserve(name),
            Cluster::Real { controller, .. } => {
                let name = format!("reservationname={name}");
                exec(controller, &["scontrol", "delete", &name]).await.unwrap();
            }
        }
    }

    /// An administrator suspends a running job.
    pub(super) async fn suspend(&self, job: i64) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.suspend(job),
            Cluster::Real { controller, .. } => {
                exec(controller, &["scontrol", "suspend", &job.to_string()]).await.unwrap();
            }
        }
    }

    /// And lets it run on.
    pub(super) async fn unsuspend(&self, job: i64) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.unsuspend(job),
            Cluster::Real { controller, .. } => {
                exec(controller, &["scontrol", "resume", &job.to_string()]).await.unwrap();
            }
        }
    }

    /// slurmctld goes away.
    pub(super) async fn leaves(&self, how: Away) {
        let (imitated, signal) = match how {
            Away::Ended => (Controller::Down, Signal::Term),
            Away::Hung => (Controller::Hung, Signal::Stop),
        };
        match &self.cluster {
            Cluster::Fake(fake) => fake.controller(imitated),
            Cluster::Real { controller, .. } => {
                Daemon::Slurmctld.signal(controller, signal).await.unwrap();
            }
        }
    }

    /// slurmctld is back: started again, or let go on.
    pub(super) async fn comes_back(&self, from: Away) {
        match (&self.cluster, from) {
            (Cluster::Fake(fake), Away::Ended) => fake.controller(Controller::Restarting(3)),
            (Cluster::Fake(fake), Away::Hung) => fake.controller(Controller::Up),
            (Cluster::Real { controller, .. }, Away::Ended) => {
                Daemon::Slurmctld.start(controller).await.unwrap();
            }
            (Cluster::Real { controller, .. }, Away::Hung) => {
                Daemon::Slurmctld.signal(controller, Signal::Continue).await.unwrap();
            }
        }
    }

    /// slurmdbd is killed.
    pub(super) async fn slurmdbd_dies(&self) {
        match &self.cluster {
            Cluster::Fake(fake) => fake.slurmdbd(false),
            Cluster::Real { controller, .. } => {
                Daemon::Slurmdbd.signal(controller, Signal::Kill).await.unwrap();
            }
        }
    }
}
