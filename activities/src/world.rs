//! Everything an activity acts on.

use std::time::Duration;

use clients::hub::Hub;
use clients::openstack::{Networks, OpenStack};
use clients::slurm::Slurm;
use model::{NodeTemplate, SiteId};

use crate::burn_in;

/// The systems of one site, and how the site wants things done.
#[derive(Debug)]
pub struct World {
    /// The site's settings.
    pub site: Site,
    /// How the site burns in; none: its settings turn it off.
    pub burn_in: Option<burn_in::Settings>,
    /// The site's SLURM.
    pub slurm: Slurm,
    /// The site's OpenStack project.
    pub openstack: OpenStack,
    /// The hub, as `slurm-agent-<site>`: everything that is written goes as this principal.
    pub hub: Hub,
    /// The hub, as `temporal-worker-<site>`: bootstrap configs are read as this principal.
    pub configs: Hub,
}

/// How a site wants things done.
#[derive(Debug, Clone)]
pub struct Site {
    /// Which site this is.
    pub id: SiteId,
    /// How the node of a device without a `slurm_node_name` is called.
    pub node_template: NodeTemplate,
    /// How new servers are connected.
    pub networks: Networks,
    /// Whether new servers get a config drive.
    pub config_drive: bool,
    /// What the site says of SLURM's power saving.
    pub power_saving: PowerSaving,
    /// Without a good tick for so long, blind ticks say `Unknown`.
    pub stale_after: Duration,
    /// How often a wait looks.
    pub look_every: Duration,
    /// A write that slurmctld acknowledged may be lost for so long: what destroys something rests on
    /// looks after that.
    pub settle: Duration,
    /// The unit in which a safe call that failed is repeated: after 1, 3 and 6 of it. A second, but in
    /// tests.
    pub repeat_after: Duration,
    /// The heartbeat time-out of the verbs: a later attempt waits so long before it creates.
    pub heartbeat_timeout: Duration,
}

/// What a site says of SLURM's power saving, which takes the machine from a drained node, unless
/// slurm.conf tells it not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerSaving {
    /// There is none.
    Off,
    /// There is, and `SuspendExcStates` of slurm.conf holds DRAIN.
    SparesDrained,
}
