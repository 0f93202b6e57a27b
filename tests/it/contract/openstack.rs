//! Keystone, Glance and Nova at 2.90: the fake ones, those of Debian 13 (Nova 31) and of Debian 12
//! (Nova 26).

mod login;
mod names;
mod rebuild;
mod roles;
mod subject;
mod suite;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use fakes::CloudOptions;
use futures::FutureExt as _;
use sandbox::{Cloud, Container, Run};

use subject::Subject;

const CEILING: Duration = Duration::from_secs(60);
const CLOUD_CONFIG: &str = "I2Nsb3VkLWNvbmZpZwo=";

enum Site {
    Fake(fakes::Cloud),
    Real(Box<Container>),
}

/// In what the releases differ that we count on. The fake is the newest.
struct Release {
    /// Nova has 2.94 and later.
    beyond_2_93: bool,
    /// A reader may create servers: the policy's defaults were older.
    readers_create: bool,
}

const NOVA_31: Release = Release { beyond_2_93: true, readers_create: false };
const NOVA_26: Release = Release { beyond_2_93: false, readers_create: true };

#[tokio::test]
async fn contract_openstack_fake() {
    let mut options = CloudOptions::default();
    options.images.extend(names::images());
    options.flavors.push(names::flavor());
    let fake = fakes::Cloud::start(options).await.unwrap();
    let (keystone, image) = (fake.keystone_url(), fake.image_id("slurm-node-a").unwrap());
    holds(Subject::new(keystone, image, Site::Fake(fake), NOVA_31)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_openstack_real_nova_31() {
    real("openstack", NOVA_31).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_openstack_real_nova_26() {
    real("openstack-bookworm", NOVA_26).await;
}

async fn real(image: &str, release: Release) {
    let (container, keystone) = sandbox::openstack(&Run::new(), image).await.unwrap();
    let image = Cloud::log_in(&keystone).await.unwrap().image("slurm-node-a").await.unwrap();
    let subject = Subject::new(keystone, image, Site::Real(container.into()), release);
    names::seed(&subject).await;
    holds(subject).await;
}

/// The container is ended here: a drop comes when the runtime cannot ask its engine any more.
async fn holds(subject: Subject) {
    let ended = AssertUnwindSafe(suite::holds(&subject)).catch_unwind().await;
    if let Site::Real(container) = subject.site {
        container.rm().await.unwrap();
    }
    subject.findings.tell(ended);
}
