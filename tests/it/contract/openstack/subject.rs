//! A cloud that is asked, fake or real: as the project's user who may choose the machine.

use clients::openstack::{Credentials, OpenStack, User};
use reqwest::{Client, Method};
use sandbox::exec;
use serde_json::{Value, json};

use super::{CEILING, CLOUD_CONFIG, Release, Site};
use crate::contract::{Findings, Got};
use crate::wait::{eventually, http};

/// A cloud with machines node-1 to node-8 and no server.
pub(super) struct Subject {
    pub(super) http: Client,
    pub(super) keystone: String,
    /// `slurm-node-a`.
    pub(super) image: String,
    pub(super) site: Site,
    pub(super) release: Release,
    pub(super) findings: Findings,
}

/// Where a token opens what.
pub(super) struct Session {
    pub(super) token: String,
    pub(super) glance: String,
    pub(super) nova: String,
}

/// What a machine does, where the driver is told by a file.
pub(super) enum Machine {
    /// A build and a rebuild take long enough to be looked at.
    Slow,
    /// A rebuild fails with this text.
    Fails(&'static str),
    /// What is asked.
    Works,
}

impl Subject {
    pub(super) fn new(keystone: String, image: String, site: Site, release: Release) -> Self {
        Self { http: http(), keystone, image, site, release, findings: Findings::default() }
    }

    /// A second passes, where time does not pass by itself.
    pub(super) fn tick(&self) {
        if let Site::Fake(fake) = &self.site {
            fake.tick();
        }
    }

    /// From now on the machine does so. The fake's are looked at between two ticks: never too fast.
    pub(super) async fn behave(&self, machine: &str, does: &Machine) {
        match (&self.site, does) {
            (Site::Real(container), _) => {
                let told = match does {
                    Machine::Slow => json!({"delay": 4}),
                    Machine::Fails(text) => json!({"fail": text}),
                    Machine::Works => json!({}),
                };
                let script = format!("printf %s '{told}' > /var/lib/lab/behave/{machine}.json");
                exec(container, &["sh", "-c", &script]).await.unwrap();
            }
            (Site::Fake(fake), Machine::Fails(text)) => {
                let rebuild = fakes::Rebuild::Fails((*text).to_owned());
                fake.behave(machine, &fakes::Behaviour { rebuild, ..fakes::Behaviour::default() });
            }
            (Site::Fake(fake), _) => fake.behave(machine, &fakes::Behaviour::default()),
        }
    }

    /// What the virt driver was asked to do to a server: `spawn` or `destroy`, with image and
    /// user-data. What reached the machine.
    pub(super) async fn events(&self, id: &str) -> Vec<(String, String, Option<String>)> {
        match &self.site {
            Site::Fake(fake) => {
                let of = |e: fakes::Event| match e.kind {
                    fakes::EventKind::Spawn => Some(("spawn".to_owned(), e.image, e.user_data)),
                    fakes::EventKind::Destroy => Some(("destroy".to_owned(), e.image, e.user_data)),
                    fakes::EventKind::PowerOff | fakes::EventKind::PowerOn => None,
                };
                fake.events().into_iter().filter(|e| e.uuid == id).filter_map(of).collect()
            }
            Site::Real(container) => {
                let lines = exec(container, &["cat", "/var/lib/lab/events.jsonl"]).await.unwrap();
                let text = |e: &Value, key: &str| e[key].as_str().map(str::to_owned);
                let events = lines.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
                let of = |e: Value| Some((text(&e, "kind")?, text(&e, "image")?, text(&e, "user_data")));
                events.filter(|e| e["uuid"] == id).filter_map(of).collect()
            }
        }
    }

    pub(super) async fn authenticate(&self, password: &str) -> Got {
        self.tokens(&by_password("deployer", password, "lab")).await
    }

    pub(super) async fn tokens(&self, body: &Value) -> Got {
        Got::of(self.http.post(format!("{}/auth/tokens", self.keystone)).json(body)).await
    }

    pub(super) async fn log_in(&self) -> Session {
        session(&self.authenticate("deployer").await)
    }

    /// The cloud's administrator, where there is one.
    pub(super) async fn log_in_as_admin(&self) -> Session {
        session(&self.tokens(&by_password("admin", "admin", "admin")).await)
    }

    /// A user of the project with this role. The fake has one user, whose role it is until the next.
    pub(super) async fn log_in_as(&self, role: fakes::Role) -> Session {
        if let Site::Fake(fake) = &self.site {
            fake.role(role);
            return self.log_in().await;
        }
        let user = match role {
            fakes::Role::Reader => "reader",
            fakes::Role::Member => "worker",
            fakes::Role::Deployer => "deployer",
            fakes::Role::Admin => return self.log_in_as_admin().await,
        };
        session(&self.tokens(&by_password(user, user, "lab")).await)
    }

    pub(super) async fn glance(&self, session: &Session, path: &str) -> Got {
        let request = self.http.get(format!("{}/v2/{path}", session.glance));
        let request = request.header("X-Auth-Token", &session.token);
        Got::of(request.header("Accept", "application/json")).await
    }

    pub(super) async fn nova(
        &self,
        session: &Session,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Got {
        self.nova_at("2.90", session, method, path, body).await
    }

    pub(super) async fn nova_at(
        &self,
        version: &str,
        session: &Session,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Got {
        let request = self.http.request(method, format!("{}/{path}", session.nova));
        let request = request.header("X-Auth-Token", &session.token).header("Accept", "application/json");
        let request = request.header("OpenStack-API-Version", format!("compute {version}"));
        Got::of(if let Some(body) = body { request.json(body) } else { request }).await
    }

    pub(super) async fn get(&self, session: &Session, path: &str) -> Got {
        self.nova(session, Method::GET, path, None).await
    }

    /// A server that can be made on this machine, with this over it; null takes a key away.
    pub(super) fn body(&self, machine: &str, over: &Value) -> Value {
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

    pub(super) async fn create(&self, session: &Session, machine: &str, over: &Value) -> Got {
        self.nova(session, Method::POST, "servers", Some(&self.body(machine, over))).await
    }

    /// Waits until the server is neither BUILD nor being deleted.
    pub(super) async fn settled(&self, session: &Session, id: &str) -> Value {
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

    /// What is done to a server that is there.
    pub(super) async fn act(&self, session: &Session, id: &str, what: &Value) -> Got {
        self.nova(session, Method::POST, &format!("servers/{id}/action"), Some(what)).await
    }

    /// Waits until its status and task are these; the server then.
    pub(super) async fn until(&self, session: &Session, id: &str, status: &str, task: &Value) -> Value {
        eventually(&format!("the server is {status}"), CEILING, || async {
            let server = self.get(session, &format!("servers/{id}")).await.json()["server"].clone();
            if server["status"] == status && server["OS-EXT-STS:task_state"] == *task {
                return Ok(server);
            }
            self.tick();
            Err(format!("{} {}", server["status"], server["OS-EXT-STS:task_state"]))
        })
        .await
    }

    /// Waits until it is gone; the answer that says so.
    pub(super) async fn gone(&self, session: &Session, id: &str) -> Got {
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
    pub(super) fn client(&self, password: &str) -> OpenStack {
        self.client_with(of_user("deployer", password))
    }

    /// As this user, whose password is its name.
    pub(super) fn client_of(&self, user: &str) -> OpenStack {
        self.client_with(of_user(user, user))
    }

    pub(super) fn client_with(&self, credentials: Credentials) -> OpenStack {
        OpenStack::new(self.keystone.parse().unwrap(), credentials, None).unwrap()
    }
}

fn of_user(user: &str, password: &str) -> Credentials {
    Credentials::Password {
        user: User { name: user.to_owned(), domain: "Default".to_owned() },
        password: password.to_owned().into(),
        project: "lab".to_owned(),
        project_domain: "Default".to_owned(),
    }
}

fn by_password(user: &str, password: &str, project: &str) -> Value {
    let domain = json!({"name": "Default"});
    json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": {
            "name": user, "domain": domain, "password": password}}},
        "scope": {"project": {"name": project, "domain": domain}},
    }})
}

/// What a token opens.
pub(super) fn session(got: &Got) -> Session {
    let url = |service: &str| {
        let catalog = got.json()["token"]["catalog"].as_array().cloned().unwrap_or_default();
        let entry = catalog.iter().find(|e| e["type"] == service)?;
        let public = entry["endpoints"].as_array()?.iter().find(|e| e["interface"] == "public")?;
        public["url"].as_str().map(|u| u.trim_end_matches('/').to_owned())
    };
    Session { glance: url("image").unwrap(), nova: url("compute").unwrap(), token: got.subject.clone() }
}
