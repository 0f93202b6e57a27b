//! Keystone, Glance and Nova: an image, a flavor, and servers that come up or fail.

use serde_json::{Value, json};

use super::Reply;

/// What becomes of the next server.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// It runs.
    Active,
    /// It fails with this text.
    Error(&'static str),
}

/// A project.
#[derive(Debug)]
pub(crate) struct Fake {
    /// In order of creation.
    pub(crate) servers: Vec<Value>,
    /// So many looks at a server find it BUILD.
    pub(crate) looks_before_fate: usize,
    /// What becomes of it then.
    pub(crate) fate: Fate,
    /// A server has just come up.
    pub(super) launched: bool,
    created: usize,
}

impl Default for Fake {
    fn default() -> Self {
        Self { servers: Vec::new(), looks_before_fate: 1, fate: Fate::Active, launched: false, created: 0 }
    }
}

/// Keystone's answer; everything is at `base`.
pub(super) fn token(base: &str) -> Value {
    let entry = |kind: &str, url: String| json!({"type": kind, "endpoints": [{"interface": "public", "region_id": "RegionOne", "url": url}]});
    let catalog = [entry("image", base.to_owned()), entry("compute", format!("{base}v2.1"))];
    json!({"token": {"expires_at": "2096-01-01T00:00:00.000000Z", "catalog": catalog}})
}

impl Fake {
    /// A server of this request that Nova could not place.
    pub(crate) fn put_failed(&mut self, id: &str, device: &str, request: &str) {
        self.servers.push(json!({
            "id": id,
            "status": "ERROR",
            "metadata": {"fleet_request": request},
            "tags": [format!("fleet.device.{device}")],
            "fault": {"code": 500, "message": "No valid host was found. "},
        }));
    }

    pub(super) fn answer(&mut self, method: &str, path: &[&str], query: &str, body: &Value) -> Reply {
        match (method, path) {
            ("GET", ["images", "image-1"]) => {
                (200, json!({"id": "image-1", "name": "slurm-node", "status": "active"}))
            }
            ("GET", ["flavors", "flavor-1"]) => {
                (200, json!({"flavor": {"id": "flavor-1", "name": "bm.gpu"}}))
            }
            ("GET", ["servers", "detail"]) => {
                let tag = query.strip_prefix("tags=").unwrap_or_default();
                let tagged = |s: &&Value| s["tags"][0] == tag;
                (200, json!({"servers": self.servers.iter().filter(tagged).collect::<Vec<_>>()}))
            }
            ("POST", ["servers"]) => self.create(&body["server"]),
            ("GET", ["servers", id]) => self.look(id),
            ("DELETE", ["servers", id]) => {
                self.servers.retain(|s| s["id"] != *id);
                (204, Value::Null)
            }
            _ => (404, Value::Null),
        }
    }

    fn create(&mut self, new: &Value) -> Reply {
        self.created += 1;
        let id = format!("server-{}", self.created);
        self.servers.push(json!({
            "id": id,
            "name": new["name"],
            "status": "BUILD",
            "OS-EXT-STS:task_state": "spawning",
            "image": {"id": new["imageRef"]},
            "flavor": {"original_name": "bm.gpu"},
            "metadata": new["metadata"],
            "tags": new["tags"],
            "wanted_machine": new["hypervisor_hostname"],
        }));
        (202, json!({"server": {"id": id}}))
    }

    fn look(&mut self, id: &str) -> Reply {
        let Some(server) = self.servers.iter_mut().find(|s| s["id"] == id) else {
            let message = format!("Instance {id} could not be found.");
            return (404, json!({"itemNotFound": {"code": 404, "message": message}}));
        };
        if server["status"] == "BUILD" {
            match (self.looks_before_fate, self.fate.clone()) {
                (1.., _) => self.looks_before_fate -= 1,
                (0, Fate::Active) => {
                    server["status"] = json!("ACTIVE");
                    server["OS-EXT-STS:task_state"] = Value::Null;
                    server["OS-SRV-USG:launched_at"] = json!("2026-11-30T10:00:00.000000");
                    server["OS-EXT-SRV-ATTR:hypervisor_hostname"] = server["wanted_machine"].clone();
                    self.launched = true;
                }
                (0, Fate::Error(message)) => {
                    server["status"] = json!("ERROR");
                    server["OS-EXT-STS:task_state"] = Value::Null;
                    server["fault"] = json!({"code": 500, "message": message});
                }
            }
        }
        (200, json!({"server": server}))
    }
}
