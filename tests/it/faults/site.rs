//! The site of one device, as an activity sees it: real SLURM behind a door, an imitated project, the
//! reference hub.

use std::collections::BTreeMap;
use std::time::Duration;

use activities::{PowerSaving, World, burn_in};
use clients::hub::Hub;
use clients::oauth::Principal;
use clients::openstack::{Credentials, Networks, NewServer, OpenStack, User};
use clients::slurm::{Slurm, Token};
use fakes::{Beside, CloudOptions, ImageSeed, MachineSeed, SlurmOptions};
use hub::config::{Client, Config, PublicKey, Scope};
use hub::db::{Import, Store};
use jiff::SignedDuration;
use model::burn_in::{Catalogue, Digest};
use model::{Device, DeviceId, DevicePatch, NodeTemplate, PrincipalId, Role, ServerId, SiteId};
use sandbox::SlurmUser;

use super::door::Door;

const ISSUER: &str = "https://hub.test";
const AGENT: &str = "slurm-agent-lab";
/// Its test ends well once the file is there.
const SCRIPT: &str = "#!/bin/sh\nuntil [ -e \"/tmp/go-$SLURMD_NODENAME\" ]; do sleep 0.2; done\n";

/// The device `d-NODE`, which is that node.
pub(crate) struct Site {
    pub(crate) device: DeviceId,
    pub(crate) world: World,
    /// The project, and the wire that the hub and the door are behind.
    pub(crate) fakes: fakes::World,
    _beside: [Beside; 2],
}

impl Site {
    pub(crate) async fn start(root: &SlurmUser, node: &str, door: &Door) -> Self {
        let device = DeviceId::parse(&format!("d-{node}")).unwrap();
        let machine = MachineSeed { name: format!("{node}.rack"), behaviour: Default::default() };
        let images = vec![ImageSeed::new("slurm-node", "active")];
        let cloud = CloudOptions { images, machines: vec![machine], ..CloudOptions::default() };
        let fakes = fakes::World::start(SlurmOptions::default(), cloud).await.unwrap();
        fakes.tick_by_requests();

        let store = Store::in_memory(&[lab()]).await.unwrap();
        store.import(vec![import(node, &device)]).await.unwrap().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let router = hub::router(hub::Hub::new(config(&key), store, hub::clock::system()));
        let served = fakes.beside("hub", router).await.unwrap();
        let slurmrestd = fakes.beside("slurmrestd", door.router()).await.unwrap();

        let as_agent = || speaker(served.url(), &key);
        let token = Token::in_environment("SLURM_JWT", root.token.clone().into());
        let world = World {
            site: site(),
            burn_in: Some(burns_in()),
            slurm: Slurm::new(slurmrestd.url().parse().unwrap(), root.name.clone(), token).unwrap(),
            openstack: project(&fakes),
            hub: as_agent(),
            configs: as_agent(),
        };
        Self { device, world, fakes, _beside: [served, slurmrestd] }
    }

    /// The device's server, as an adoption leaves it.
    pub(crate) async fn deploy(&self, node: &str) {
        let openstack = &self.world.openstack;
        let new = NewServer {
            name: node.to_owned(),
            image: self.fakes.cloud.image_id("slurm-node").unwrap(),
            flavor: openstack.flavor_called("bm.small").await.unwrap().unwrap().id,
            machine: Some(format!("{node}.rack")),
            user_data: None,
            networks: Networks::None,
            config_drive: false,
            metadata: BTreeMap::new(),
            tag: format!("fleet.device.{}", self.device),
        };
        let id: ServerId = openstack.create_server(&new).await.unwrap();
        self.fakes.ticks(10);
        let patch = DevicePatch { server_id: Some(Some(id)), ..DevicePatch::default() };
        self.world.hub.update_device(&self.device, &patch).await.unwrap();
    }

    /// The device, as the hub has it.
    pub(crate) async fn hub_device(&self) -> Device {
        self.world.hub.device(&self.device).await.unwrap().unwrap()
    }
}

fn lab() -> SiteId {
    SiteId::parse("lab").unwrap()
}

fn site() -> activities::Site {
    activities::Site {
        id: lab(),
        node_template: NodeTemplate::default(),
        networks: Networks::None,
        config_drive: false,
        power_saving: PowerSaving::Off,
        stale_after: Duration::from_secs(300),
        look_every: Duration::from_millis(200),
        settle: Duration::from_secs(6),
        repeat_after: Duration::from_secs(1),
        heartbeat_timeout: Duration::from_secs(3),
    }
}

/// One test, as bob.
fn burns_in() -> burn_in::Settings {
    let digest = Digest::of(SCRIPT.as_bytes());
    let catalogue = format!(
        "[[test]]\nname = \"disk\"\nscript = \"disk.sh\"\ndigest = \"{digest}\"\ntime_limit_seconds = 120\n"
    );
    burn_in::Settings {
        catalogue: Catalogue::parse(&catalogue, |_| Ok(SCRIPT.into())).unwrap(),
        tests: Vec::new(),
        user: "bob".to_owned(),
        own: None,
        account: None,
        qos: None,
        partition: None,
        free_text: false,
        hold: Duration::from_secs(120),
        start_within: Duration::from_secs(15),
    }
}

fn import(node: &str, device: &DeviceId) -> Import {
    Import {
        id: device.clone(),
        site: lab(),
        name: node.to_owned(),
        role: Role::parse("gpu").unwrap(),
        slurm_node_name: None,
        nova_host: Some(Some(format!("{node}.rack"))),
    }
}

fn config(key: &rcgen::KeyPair) -> Config {
    let key = PublicKey::parse(key.public_key_pem().as_bytes()).unwrap();
    let client = Client { site: lab(), key, scopes: [Scope::DeviceUpdate].into() };
    Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        database: "unused".into(),
        issuer: ISSUER.to_owned(),
        stale_after: SignedDuration::from_secs(300),
        temporal: "http://127.0.0.1:1".parse().unwrap(),
        sites: BTreeMap::from([(lab(), "lab".to_owned())]),
        clients: BTreeMap::from([(PrincipalId::parse(AGENT).unwrap(), client)]),
    }
}

fn speaker(hub: &str, key: &rcgen::KeyPair) -> Hub {
    let base: url::Url = hub.parse().unwrap();
    let token = base.join("oauth/token").unwrap();
    let principal = Principal::new(AGENT, &key.serialize_pem().into(), token, ISSUER.to_owned()).unwrap();
    Hub::new(base, lab(), principal).unwrap()
}

fn project(fakes: &fakes::World) -> OpenStack {
    let credentials = Credentials::Password {
        user: User { name: "deployer".to_owned(), domain: "Default".to_owned() },
        password: "deployer".to_owned().into(),
        project: "lab".to_owned(),
        project_domain: "Default".to_owned(),
    };
    OpenStack::new(fakes.cloud.keystone_url().parse().unwrap(), credentials, None).unwrap()
}
