//! What a site starts with, as values.

use fakes::{CloudOptions, ImageSeed, MachineSeed, NodeSeed, PartitionSeed, SlurmOptions};
use hub::config::Scope;
use hub::db::Import;
use model::{BootstrapDraft, DeviceId, NodeSource, Role, SiteId, UserData};

/// The image of the row of role `gpu`.
const IMAGE: &str = "slurm-node";
/// Another one, which the row may come to name.
pub(crate) const ANOTHER: &str = "slurm-node-b";

/// What a site starts with.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// The hub's devices.
    pub(crate) devices: Vec<Import>,
    /// The row of role `gpu`, which HPC have written.
    pub(crate) row: Option<BootstrapDraft>,
    /// What `slurm-agent-lab` may do.
    pub(crate) agent: Vec<Scope>,
    /// What `temporal-worker-lab` may do.
    pub(crate) worker: Vec<Scope>,
    /// The cluster; its nodes with the feature `h100` are in its partition.
    pub(crate) slurm: SlurmOptions,
    /// The project.
    pub(crate) cloud: CloudOptions,
    /// A second passes with every request; else only where the test says so.
    pub(crate) paced: bool,
    /// The site burns in, as bob, with one test; its job works for three seconds, leaves this in its
    /// comment, and holds its node until that is drained.
    pub(crate) burn_in: Option<String>,
}

/// The script of the test `disk`.
pub(crate) const DISK: &str = "#!/bin/sh\necho write_mbs=100\n";

/// How the site burns in.
pub(crate) fn burn_in() -> activities::burn_in::Settings {
    activities::burn_in::Settings {
        catalogue: catalogue("at_least = { write_mbs = 50 }"),
        tests: Vec::new(),
        user: "bob".to_owned(),
        own: None,
        account: None,
        qos: None,
        partition: None,
        free_text: false,
        hold: std::time::Duration::from_secs(60),
        start_within: std::time::Duration::from_secs(15),
    }
}

/// The test `disk`, with these thresholds.
pub(crate) fn catalogue(thresholds: &str) -> model::burn_in::Catalogue {
    let digest = model::burn_in::Digest::of(DISK.as_bytes());
    let text = format!(
        "[[test]]\nname = \"disk\"\nscript = \"disk.sh\"\ndigest = \"{digest}\"\ntime_limit_seconds = 60\n{thresholds}\n"
    );
    model::burn_in::Catalogue::parse(&text, |_| Ok(DISK.into())).unwrap()
}

impl Setup {
    /// Devices of these names, each on a machine of its own, and nodes that register closed.
    pub(crate) fn of(names: &[&str]) -> Self {
        let machine =
            |name: &&str| MachineSeed { name: format!("{name}.rack"), behaviour: Default::default() };
        let partition = PartitionSeed { feature: Some("h100".to_owned()), ..PartitionSeed::new("main") };
        let queued = ImageSeed::new("queued", "queued");
        Self {
            devices: names.iter().map(|name| device(name)).collect(),
            row: Some(row(NodeSource::Registers)),
            agent: vec![Scope::DeviceUpdate, Scope::DeviceConditionCreate],
            worker: vec![Scope::BootstrapConfigRead],
            slurm: SlurmOptions { partitions: vec![partition], ..SlurmOptions::default() },
            cloud: CloudOptions {
                images: vec![ImageSeed::new(IMAGE, "active"), ImageSeed::new(ANOTHER, "active"), queued],
                machines: names.iter().map(machine).collect(),
                ..CloudOptions::default()
            },
            paced: true,
            burn_in: None,
        }
    }

    /// The same with nodes that slurm.conf has.
    pub(crate) fn with_static_nodes(self) -> Self {
        Self { row: Some(row(NodeSource::Static)), ..self }
    }

    /// The same with these nodes in the cluster.
    pub(crate) fn with_nodes(mut self, nodes: impl IntoIterator<Item = NodeSeed>) -> Self {
        self.slurm.nodes.extend(nodes);
        self
    }
}

/// A device of role `gpu` on machine `<name>.rack`, `d-<name>`.
pub(crate) fn device(name: &str) -> Import {
    Import {
        id: DeviceId::parse(&format!("d-{name}")).unwrap(),
        site: SiteId::parse("lab").unwrap(),
        name: name.to_owned(),
        role: Role::parse("gpu").unwrap(),
        slurm_node_name: None,
        nova_host: Some(Some(format!("{name}.rack"))),
    }
}

/// The row of role `gpu`.
pub(crate) fn row(node_source: NodeSource) -> BootstrapDraft {
    BootstrapDraft {
        device_role: "gpu".to_owned(),
        image: Some(ImageSeed::new(IMAGE, "active").id),
        flavor: Some("bm.small".to_owned()),
        features: vec!["h100".to_owned()],
        gres: "gpu:h100:4".to_owned(),
        user_data: Some(UserData::encode(b"#!/bin/sh\n: fleet_slurm_conf\n")),
        node_source,
    }
}

/// A node that is as the row of role `gpu` says, in this state, for this reason.
pub(crate) fn node(name: &str, state: &[&str], reason: &str) -> NodeSeed {
    NodeSeed {
        features: vec!["h100".to_owned(), "rack7".to_owned()],
        gres: "gpu:h100:4(S:0-1)".to_owned(),
        ..NodeSeed::new(name).in_state(state, reason)
    }
}
