//! SLURM and OpenStack, in containers of one network of their own.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testcontainers::core::{CmdWaitFor, ExecCommand, WaitFor};
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt as _};

/// A container.
pub(crate) type Container = ContainerAsync<GenericImage>;

/// Names and secrets of one run, so that runs do not meet.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) network: String,
    pub(crate) controller: String,
    pub(crate) munge_key: String,
    pub(crate) jwt_key: Vec<u8>,
}

impl Run {
    pub(crate) fn new() -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string()[..8].to_owned();
        let random = || [uuid::Uuid::new_v4().into_bytes(), uuid::Uuid::new_v4().into_bytes()].concat();
        Self {
            network: format!("fleet-{id}"),
            controller: format!("ctl-{id}"),
            munge_key: STANDARD.encode([random(), random()].concat()),
            jwt_key: random(),
            id,
        }
    }

    /// A token that slurmctld accepts for `user`.
    pub(crate) fn slurm_token(&self, user: &str) -> String {
        let now = jiff::Timestamp::now().as_second();
        let claims = json!({"exp": now + 7200, "iat": now, "sun": user});
        let key = jsonwebtoken::EncodingKey::from_secret(&self.jwt_key).unwrap();
        jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key).unwrap()
    }
}

/// The image that `build.sh` made of this name.
pub(crate) fn image(name: &str) -> GenericImage {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/target/images.json");
    let text = std::fs::read_to_string(path).expect("target/images.json is missing: run `make images`");
    let images: Value = serde_json::from_str(&text).unwrap();
    let (image, tag) = images[name].as_str().expect(name).split_once(':').unwrap();
    GenericImage::new(image, tag)
}

async fn start(what: &str, request: ContainerRequest<GenericImage>) -> Container {
    request.start().await.unwrap_or_else(|e| panic!("{what} cannot be started: {e}"))
}

/// slurmctld and slurmrestd, without a node. Its REST API is at the returned URL.
pub(crate) async fn slurm(run: &Run) -> (Container, String) {
    let request = image("slurm-26.05")
        .with_wait_for(WaitFor::message_on_stdout("READY"))
        .with_network(&run.network)
        .with_container_name(&run.controller)
        .with_hostname(&run.controller)
        .with_env_var("MUNGE_KEY", &run.munge_key)
        .with_env_var("JWT_KEY", STANDARD.encode(&run.jwt_key))
        .with_startup_timeout(Duration::from_secs(90));
    let container = start("SLURM", request).await;
    let address = container.get_bridge_ip_address().await.unwrap();
    (container, format!("http://{address}:6820"))
}

/// Keystone, Glance, Placement and Nova, of this image. Keystone is at the returned URL.
pub(crate) async fn openstack(run: &Run, release: &str) -> (Container, String) {
    let request = image(release)
        .with_wait_for(WaitFor::message_on_stdout("READY"))
        .with_network(&run.network)
        .with_container_name(format!("os-{}", run.id))
        .with_hostname(format!("os-{}", run.id))
        .with_startup_timeout(Duration::from_secs(300));
    let container = start("OpenStack", request).await;
    let address = container.get_bridge_ip_address().await.unwrap();
    (container, format!("http://{address}:5000/v3"))
}

/// A machine that boots this user-data under this hostname: real cloud-init in a container.
pub(crate) async fn node(
    run: &Run,
    machine: &str,
    hostname: &str,
    user_data: Vec<u8>,
    metadata: &Value,
) -> Container {
    let meta_data = json!({
        "instance-id": uuid::Uuid::new_v4().to_string(),
        "local-hostname": hostname,
        "meta": metadata,
    });
    let request = image("node-26.05")
        .with_wait_for(WaitFor::message_on_stdout("CLOUD-INIT DONE"))
        .with_network(&run.network)
        .with_container_name(format!("{machine}-{}", run.id))
        .with_hostname(hostname)
        .with_cap_add("SYS_ADMIN")
        .with_copy_to("/seed/user-data", user_data)
        .with_copy_to("/seed/meta-data", meta_data.to_string().into_bytes())
        .with_startup_timeout(Duration::from_secs(120));
    start(machine, request).await
}

/// Runs a command in a container to its end; panics when it fails.
pub(crate) async fn exec(container: &Container, command: &[&str]) -> String {
    // the exit code comes with the output: asking the engine for it makes a future that is not Send
    let shell = ["sh", "-c", "\"$@\" 2>&1; echo \"exit:$?\"", "sh"];
    let whole =
        ExecCommand::new(shell.iter().chain(command).copied()).with_cmd_ready_condition(CmdWaitFor::exit());
    let mut result = container.exec(whole).await.unwrap();
    let out = String::from_utf8_lossy(&result.stdout_to_vec().await.unwrap()).into_owned();
    let (out, code) = out.trim_end().rsplit_once("exit:").unwrap();
    assert_eq!(code, "0", "{command:?}: {out}");
    out.to_owned()
}
