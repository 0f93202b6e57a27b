//! SLURM, OpenStack and machines, in containers of one network of their own. What the images do is in
//! `tests/images/README.md`.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testcontainers::core::{CmdWaitFor, ExecCommand, WaitFor};
use testcontainers::runners::AsyncRunner as _;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt as _};
use uuid::Uuid;

use crate::files::ROOT;
use crate::reaper;

/// A container. Ended with `rm`: a drop may come when the runtime cannot ask the engine any more.
/// What is left when this process ends, however it does, goes a moment later.
pub type Container = ContainerAsync<GenericImage>;

/// A release of SLURM that there are images of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// As it stands in the names of images.
    pub name: &'static str,
    /// The newest API version that it serves.
    pub version: &'static str,
}

impl Release {
    /// Debian bookworm's.
    pub const V22_05: Self = Self { name: "22.05", version: "v0.0.38" };
    /// Debian trixie's.
    pub const V24_11: Self = Self { name: "24.11", version: "v0.0.42" };
    /// Debian forky's.
    pub const V26_05: Self = Self { name: "26.05", version: "v0.0.45" };
}

/// Names and secrets of one run, so that runs do not meet.
#[derive(Clone)]
pub struct Run {
    /// Of its cluster, and of the machines in it.
    pub release: Release,
    /// Lines for its slurm.conf, `\n` between them.
    pub extra_conf: String,
    /// Nodes n1, n2, … of slurm.conf, whose slurmds run beside slurmctld: 4 CPUs and 4000 MB each.
    pub static_nodes: u32,
    /// Seconds for which slurmctld knows a finished job. It looks every few seconds.
    pub min_job_age: u32,
    /// Whether there is a slurmdbd, with account `fleet` of alice and bob.
    pub accounting: bool,
    /// In the name of everything that is its own.
    pub id: String,
    /// The network.
    pub network: String,
    /// The host name of the container that slurmctld runs in.
    pub controller: String,
    /// Munge's key, in base64.
    pub munge_key: String,
    /// The key that SLURM's tokens are signed with.
    pub jwt_key: Vec<u8>,
}

impl Run {
    /// A new one, on SLURM 26.05.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Self {
        Self::of(Release::V26_05)
    }

    /// A new one, on this release.
    #[must_use]
    pub fn of(release: Release) -> Self {
        let id = Uuid::new_v4().simple().to_string()[..8].to_owned();
        let random = || [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
        Self {
            network: format!("fleet-{}-{id}", reaper::id()),
            controller: format!("ctl-{id}"),
            munge_key: STANDARD.encode([random(), random()].concat()),
            jwt_key: random(),
            release,
            extra_conf: String::new(),
            static_nodes: 0,
            min_job_age: 300,
            accounting: false,
            id,
        }
    }

    /// A token that slurmctld accepts for `user`, for two hours.
    ///
    /// # Errors
    /// When it cannot be signed.
    pub fn slurm_token(&self, user: &str) -> anyhow::Result<String> {
        let now = jiff::Timestamp::now().as_second();
        let claims = json!({"exp": now + 7200, "iat": now, "sun": user});
        let key = jsonwebtoken::EncodingKey::from_secret(&self.jwt_key);
        Ok(jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key?)?)
    }

    /// The user-data that makes a machine a node of this run's cluster: what HPC people write.
    #[must_use]
    pub fn user_data(&self) -> String {
        include_str!("../../images/node/user-data.example")
            .replace("MUNGE_KEY_BASE64", &self.munge_key)
            .replace("CONTROLLER:6817", &format!("{}:6817", self.controller))
    }

    /// The same for a node that slurm.conf has: its slurmd says nothing of itself.
    #[must_use]
    pub fn static_user_data(&self) -> String {
        let dynamic = self.user_data();
        let words = |line: &str| match line.split_once("slurmd -Z ") {
            Some((indent, _)) => {
                format!("{indent}slurmd -N \"$(hostname)\" --conf-server {}:6817", self.controller)
            }
            None => line.to_owned(),
        };
        dynamic.lines().map(words).map(|line| line + "\n").collect()
    }
}

/// The image that `build.sh` made of this name.
fn image(name: &str) -> anyhow::Result<GenericImage> {
    let path = Path::new(ROOT).join("target/images.json");
    let text = std::fs::read_to_string(path).context("target/images.json is missing: run `make images`")?;
    let images: Value = serde_json::from_str(&text).context("target/images.json")?;
    let found = images[name].as_str().and_then(|i| i.split_once(':'));
    let (image, tag) =
        found.with_context(|| format!("target/images.json lacks {name}: run `make images`"))?;
    Ok(GenericImage::new(image, tag))
}

async fn start(what: &str, request: ContainerRequest<GenericImage>) -> anyhow::Result<Container> {
    reaper::ensure()?;
    let request = request.with_label(reaper::KEY, reaper::id());
    request.start().await.with_context(|| format!("{what} cannot be started"))
}

/// slurmctld and slurmrestd. Its REST API is at the returned URL.
///
/// # Errors
/// When it is not up in time.
pub async fn slurm(run: &Run) -> anyhow::Result<(Container, String)> {
    started_slurm(slurm_on(run, &run.controller)?).await
}

/// The container of this host name that a slurmctld of the run's cluster runs in.
pub(crate) fn slurm_on(run: &Run, host: &str) -> anyhow::Result<ContainerRequest<GenericImage>> {
    let accounting = if run.accounting { "-dbd" } else { "" };
    Ok(image(&format!("slurm-{}{accounting}", run.release.name))?
        .with_wait_for(WaitFor::message_on_stdout("READY"))
        .with_network(&run.network)
        .with_container_name(host)
        .with_hostname(host)
        .with_env_var("MUNGE_KEY", &run.munge_key)
        .with_env_var("JWT_KEY", STANDARD.encode(&run.jwt_key))
        .with_env_var("EXTRA_CONF", &run.extra_conf)
        .with_env_var("NODES", run.static_nodes.to_string())
        .with_env_var("MIN_JOB_AGE", run.min_job_age.to_string())
        .with_startup_timeout(Duration::from_secs(90)))
}

/// Starts it; its slurmrestd is at the returned URL.
pub(crate) async fn started_slurm(
    request: ContainerRequest<GenericImage>,
) -> anyhow::Result<(Container, String)> {
    let container = start("SLURM", request).await?;
    let address = container.get_bridge_ip_address().await?;
    Ok((container, format!("http://{address}:6820")))
}

/// Keystone, Glance, Placement and Nova, from the image that the builder calls `name`: `openstack`
/// (Nova 31) or `openstack-bookworm` (Nova 26). Keystone is at the returned URL.
///
/// # Errors
/// When it is not up in time.
pub async fn openstack(run: &Run, name: &str) -> anyhow::Result<(Container, String)> {
    let request = image(name)?
        .with_wait_for(WaitFor::message_on_stdout("READY"))
        .with_network(&run.network)
        .with_container_name(format!("os-{}", run.id))
        .with_hostname(format!("os-{}", run.id))
        .with_startup_timeout(Duration::from_secs(300));
    let container = start("OpenStack", request).await?;
    let address = container.get_bridge_ip_address().await?;
    Ok((container, format!("http://{address}:5000/v3")))
}

/// A machine that boots this user-data under this hostname: real cloud-init in a container.
///
/// # Errors
/// When cloud-init has not ended in time.
pub async fn node(
    run: &Run,
    machine: &str,
    hostname: &str,
    user_data: Vec<u8>,
    metadata: &Value,
) -> anyhow::Result<Container> {
    let meta_data = json!({
        "instance-id": Uuid::new_v4().to_string(),
        "local-hostname": hostname,
        "meta": metadata,
    });
    let request = image(&format!("node-{}", run.release.name))?
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

/// Runs a command in a container to its end and returns what it printed.
///
/// # Errors
/// When it fails, with what it printed.
pub async fn exec(container: &Container, command: &[&str]) -> anyhow::Result<String> {
    // the exit code comes with the output: asking the engine for it makes a future that is not Send
    let shell = ["sh", "-c", "\"$@\" 2>&1; echo \"exit:$?\"", "sh"];
    let whole =
        ExecCommand::new(shell.iter().chain(command).copied()).with_cmd_ready_condition(CmdWaitFor::exit());
    let mut result = container.exec(whole).await?;
    let out = String::from_utf8_lossy(&result.stdout_to_vec().await?).into_owned();
    let (out, code) = out.trim_end().rsplit_once("exit:").context("a command without an exit code")?;
    ensure!(code == "0", "{command:?} ended with {code}: {out}");
    Ok(out.to_owned())
}
