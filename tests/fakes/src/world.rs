//! A site: a cluster and a cloud on one wire, and the machines between them.
//!
//! *Invariant*: a machine learns only what Nova's driver was handed, from the events; slurmctld learns
//! of it only by its slurmd.

use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cloud::{Cloud, CloudOptions, Event, EventKind};
use crate::machine::Boot;
use crate::slurm::{Registration, SlurmOptions, Slurmrestd};
use crate::wire::Wire;

/// A cluster, a cloud, and machines that boot. A handle: clones are the same site.
#[derive(Debug, Clone)]
pub struct World {
    /// The cluster.
    pub slurm: Slurmrestd,
    /// The cloud.
    pub cloud: Cloud,
    site: Arc<Site>,
    wire: Wire,
}

/// What a tick moves.
#[derive(Debug)]
struct Site {
    slurm: Slurmrestd,
    cloud: Cloud,
    room: Mutex<Room>,
    wire: Wire,
}

/// The machines that are booting.
#[derive(Debug, Default)]
struct Room {
    /// So many events were seen to.
    seen: usize,
    booting: Vec<(Event, u64)>,
    /// The node that each machine is, once its slurmd runs: a rebuild may give it another name.
    running: BTreeMap<String, String>,
}

impl Deref for World {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl World {
    /// Starts both on one wire: one log, one list of faults.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(slurm: SlurmOptions, cloud: CloudOptions) -> io::Result<Self> {
        let wire = Wire::new();
        let slurm = Slurmrestd::start_on(wire.clone(), slurm).await?;
        let cloud = Cloud::start_on(wire.clone(), cloud).await?;
        let (room, on) = (Mutex::default(), wire.clone());
        let site = Arc::new(Site { slurm: slurm.clone(), cloud: cloud.clone(), room, wire: on });
        Ok(Self { slurm, cloud, site, wire })
    }

    /// A second passes: in the cluster, then in the cloud, then in the machines.
    pub fn tick(&self) {
        self.site.tick();
    }

    /// So many seconds pass.
    pub fn ticks(&self, many: usize) {
        (0..many).for_each(|_| self.tick());
    }

    /// From now on a second also passes before each request is answered: a caller who asks one thing at a
    /// time has the same conversation in every run.
    pub fn tick_by_requests(&self) {
        // the wire must not keep alive what is on it
        let site = Arc::downgrade(&self.site);
        self.wire.pace(move || site.upgrade().iter().for_each(|site| site.tick()));
    }
}

impl Site {
    fn tick(&self) {
        self.slurm.tick_alone();
        self.cloud.tick_alone();
        self.boot();
        self.wire.tick();
    }

    fn boot(&self) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        // those that were switched on before this tick are a tick further
        room.booting.iter_mut().for_each(|(_, left)| *left = left.saturating_sub(1));
        let events = self.cloud.events();
        for event in events.iter().skip(room.seen) {
            room.booting.retain(|(b, _)| b.node != event.node);
            let boot = self.cloud.behaviour(&event.node).unwrap_or_default().boot;
            match (event.kind, boot) {
                (EventKind::Destroy | EventKind::PowerOff, _) => {
                    if let Some(node) = room.running.remove(&event.node) {
                        self.slurm.stop_slurmd(&node);
                    }
                }
                (EventKind::Spawn | EventKind::PowerOn, Boot::Never) => {}
                (EventKind::Spawn | EventKind::PowerOn, Boot::Takes(ticks)) => {
                    room.booting.push((event.clone(), ticks));
                }
            }
        }
        room.seen = events.len();
        let (up, booting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut room.booting).into_iter().partition(|(_, left)| *left == 0);
        room.booting = booting;
        for (event, _) in up {
            let behaviour = self.cloud.behaviour(&event.node).unwrap_or_default();
            let told = event.metadata.get("fleet_slurm_conf");
            room.running.insert(event.node, event.hostname.clone());
            self.slurm.register(&Registration {
                node: event.hostname,
                conf: behaviour.conf(told.map(String::as_str)),
                gpus: behaviour.gpus,
            });
        }
    }
}
