//! Keystone, Glance and Nova at 2.90, as the project's user who may choose the machine.

mod suite;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use clients::openstack::{Credentials, OpenStack};
use fakes::CloudOptions;
use futures::FutureExt as _;
use reqwest::{Client, Method};
use sandbox::{Cloud, Container, Run, exec};
use serde_json::{Value, json};

use super::{Findings, Got};
use crate::wait::{eventually, http};

const CEILING: Duration = Duration::from_secs(60);
const CLOUD_CONFIG: &str = "I2Nsb3VkLWNvbmZpZwo=";

enum Site {
    Fake(fakes::Cloud),
    Real(Box<Container>),
}

/// A cloud with machines node-1 to node-8 and no server.
struct Subject {
    http: Client,
    keystone: String,
    /// `slurm-node-a`.
    image: String,
    site: Site,
    findings: Findings,
}

/// Where a token opens what.
struct Session {
    token: String,
    glance: String,
    nova: String,
}

#[tokio::test]
async fn contract_openstack_fake() {
    let fake = fakes::Cloud::start(CloudOptions::default()).await.unwrap();
    let (keystone, image) = (fake.keystone_url(), fake.image_id("slurm-node-a").unwrap());
    holds(Subject::new(keystone, image, Site::Fake(fake))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_openstack_real() {
    let (container, keystone) = sandbox::openstack(&Run::new()).await.unwrap();
    let image = Cloud::log_in(&keystone).await.unwrap().image("slurm-node-a").await.unwrap();
    holds(Subject::new(keystone, image, Site::Real(container.into()))).await;
}

/// The container is ended here: a drop comes when the runtime cannot ask its engine any more.
async fn holds(subject: Subject) {
    let ended = AssertUnwindSafe(suite::holds(&subject)).catch_unwind().await;
    if let Site::Real(container) = subject.site {
        container.rm().await.unwrap();
    }
    subject.findings.tell(ended);
}

impl Subject {
    fn new(keystone: String, image: String, site: Site) -> Self {
        Self { http: http(), keystone, image, site, findings: Findings::default() }
    }

    /// A second passes, where time does not pass by itself.
    fn tick(&self) {
        if let Site::Fake(fake) = &self.site {
            fake.tick();
        }
    }

    /// A server on this machine is BUILD for long enough to be looked at.
    async fn slow(&self, machine: &str) {
        if let Site::Real(container) = &self.site {
            let script = format!("printf '{{\"delay\": 4}}' > /var/lib/lab/behave/{machine}.json");
            exec(container, &["sh", "-c", &script]).await.unwrap();
        }
    }

    async fn authenticate(&self, password: &str) -> Got {
        let domain = json!({"name": "Default"});
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "deployer", "domain": domain, "password": password}}},
            "scope": {"project": {"name": "lab", "domain": domain}},
        }});
        Got::of(self.http.post(format!("{}/auth/tokens", self.keystone)).json(&body)).await
    }

    async fn log_in(&self) -> Session {
        let got = self.authenticate("deployer").await;
        let url = |service: &str| {
            let catalog = got.json()["token"]["catalog"].as_array().cloned().unwrap_or_default();
            let entry = catalog.iter().find(|e| e["type"] == service)?;
            let public = entry["endpoints"].as_array()?.iter().find(|e| e["interface"] == "public")?;
            public["url"].as_str().map(|u| u.trim_end_matches('/').to_owned())
        };
        Session { glance: url("image").unwrap(), nova: url("compute").unwrap(), token: got.subject.clone() }
    }

    async fn glance(&self, session: &Session, path: &str) -> Got {
        let request = self.http.get(format!("{}/v2/{path}", session.glance));
        let request = request.header("X-Auth-Token", &session.token);
        Got::of(request.header("Accept", "application/json")).await
    }

    async fn nova(&self, session: &Session, method: Method, path: &str, body: Option<&Value>) -> Got {
        let request = self.http.request(method, format!("{}/{path}", session.nova));
        let request = request.header("X-Auth-Token", &session.token).header("Accept", "application/json");
        let request = request.header("OpenStack-API-Version", "compute 2.90");
        Got::of(if let Some(body) = body { request.json(body) } else { request }).await
    }

    async fn get(&self, session: &Session, path: &str) -> Got {
        self.nova(session, Method::GET, path, None).await
    }

    /// A server that can be made on this machine, with this over it; null takes a key away.
    fn body(&self, machine: &str, over: &Value) -> Value {
        let mut server = json!({
            "name": "gpu-001", "hostname": "gpu-001", "imageRef": self.image, "flavorRef": "bm.small",
            "networks": "none", "config_drive": true, "metadata": {"fleet_role": "gpu"},
            "tags": ["fleet.device.gpu-001", "fleet"], "user_data": CLOUD_CONFIG,
            "hypervisor_hostname": machine,
        });
        for (key, value) in over.as_object().unwrap() {
            server[key] = value.clone();
        }
        server.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        json!({"server": server})
    }

    async fn create(&self, session: &Session, machine: &str, over: &Value) -> Got {
        self.nova(session, Method::POST, "servers", Some(&self.body(machine, over))).await
    }

    /// Waits until the server is neither BUILD nor being deleted.
    async fn settled(&self, session: &Session, id: &str) -> Value {
        eventually("the server is settled", CEILING, || async {
            let server = self.get(session, &format!("servers/{id}")).await.json()["server"].clone();
            if server["status"] != "BUILD" {
                return Ok(server);
            }
            self.tick();
            Err(server["status"].to_string())
        })
        .await
    }

    /// Waits until it is gone; the answer that says so.
    async fn gone(&self, session: &Session, id: &str) -> Got {
        eventually("the server is gone", CEILING, || async {
            let got = self.get(session, &format!("servers/{id}")).await;
            if got.status == 404 {
                return Ok(got);
            }
            self.tick();
            Err(got.text)
        })
        .await
    }

    /// Our own client.
    fn client(&self, password: &str) -> OpenStack {
        let credentials = Credentials {
            username: "deployer".to_owned(),
            password: password.to_owned().into(),
            project: "lab".to_owned(),
            user_domain: "Default".to_owned(),
            project_domain: "Default".to_owned(),
        };
        OpenStack::new(self.keystone.parse().unwrap(), credentials, None).unwrap()
    }
}
