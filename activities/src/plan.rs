//! The plan of an adoption: pure, and made before anything is done.

use clients::openstack::{Flavor, Image, Server, ServerStatus};
use clients::slurm::{Node, Partition};
use model::{Complete, Gres, NodeName, NodeSource, RequestId, ServerId, UserData};
use sha2::{Digest as _, Sha256};

use crate::{Code, Failure};

/// The metadata by which a server of ours says what it is.
pub(crate) mod metadata {
    /// The device.
    pub(crate) const DEVICE: &str = "fleet_device";
    /// The request that made it what it is.
    pub(crate) const REQUEST: &str = "fleet_request";
    /// The row's revision.
    pub(crate) const REVISION: &str = "fleet_revision";
    /// SHA-256 of the row's user-data, base64 as written; empty for none.
    pub(crate) const USER_DATA: &str = "fleet_user_data_sha256";
    /// `slurmd_start_time` of the node before: registered anew is when it differs.
    pub(crate) const SLURMD_BEFORE: &str = "fleet_slurmd_before";
    /// What `slurmd -Z --conf` must be given so that the node registers closed.
    pub(crate) const SLURM_CONF: &str = "fleet_slurm_conf";
}

/// What a device is to become.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its node.
    pub node: NodeName,
    /// Its machine, by hypervisor hostname.
    pub machine: String,
    /// The row of its role.
    pub config: Complete,
}

/// What there is.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The row's image.
    pub image: Option<Image>,
    /// The row's flavor.
    pub flavor: Option<Flavor>,
    /// Every server with the device's mark.
    pub servers: Vec<Server>,
    /// Its node.
    pub node: Option<Node>,
    /// The cluster's partitions.
    pub partitions: Vec<Partition>,
}

/// What is to be done about the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// It is as the row says.
    Noop(Box<Server>),
    /// There is none; leftovers of failed creations go first.
    Create {
        /// Servers of ours that were never launched.
        leftovers: Vec<ServerId>,
    },
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is to be done.
    pub act: Act,
    /// Everything that differs from the row, a sentence each.
    pub differences: Vec<String>,
}

/// Plans. Refuses with a code what adoption must not do by itself.
///
/// # Errors
/// `bootstrap.invalid` for an image or flavor that is not there, `openstack.ambiguous`,
/// `openstack.no_valid_host`, `openstack.server_error`, `request.conflict`.
pub fn plan(target: &Target, seen: &Seen, request: &RequestId) -> Result<Plan, Failure> {
    let flavor = usable(target, seen)?;
    let (mut servers, mut leftovers): (Vec<&Server>, Vec<&Server>) =
        seen.servers.iter().filter(|s| s.status != ServerStatus::Deleted).partition(|s| !never_launched(s));
    // Nova could not place what this very request asked for: trying again by ourselves would loop.
    let own = leftovers.iter().find(|s| requested_by(s) == Some(request.as_str()));
    if let (true, Some(failed)) = (servers.is_empty(), own) {
        return Err(fault(failed));
    }
    let foreign_failure = leftovers.iter().any(|s| requested_by(s).is_none());
    if servers.len() > 1 || foreign_failure || (!servers.is_empty() && leftovers.len() > 1) {
        servers.append(&mut leftovers);
        return Err(ambiguous(&servers));
    }
    let mut differences = Vec::new();
    let act = match servers.pop() {
        Some(server) => {
            if let [twin] = leftovers.as_slice()
                && requested_by(twin) != Some(request.as_str())
            {
                return Err(ambiguous(&[server, twin]));
            }
            compare(target, flavor, server)?;
            Act::Noop(Box::new(server.clone()))
        }
        None => {
            differences.push("there is no server".to_owned());
            Act::Create { leftovers: leftovers.iter().map(|s| s.id.clone()).collect() }
        }
    };
    differences.extend(shortfalls(target, seen.node.as_ref(), &seen.partitions));
    Ok(Plan { act, differences })
}

/// What keeps the node from being what its row says, a sentence each.
#[must_use]
pub fn shortfalls(target: &Target, node: Option<&Node>, partitions: &[Partition]) -> Vec<String> {
    let name = &target.node;
    let Some(node) = node else { return vec![format!("SLURM has no node {name}")] };
    let mut short = Vec::new();
    if node.tokens.has("INVALID_REG") {
        short.push(format!("SLURM calls the registration of {name} invalid: {}", node.reason));
    }
    if node.slurmd_start_time == 0 || !node.tokens.is_responding() {
        short.push(format!("{name} does not respond ({})", node.tokens));
    }
    let wanted = &target.config.features;
    for (list, what) in [(&node.features, "feature"), (&node.active_features, "active feature")] {
        short.extend(wanted.missing_from(list).iter().map(|f| format!("{name} lacks {what} {f}")));
    }
    // what SLURM shows and we cannot read is a difference, not a match
    if Gres::parse(&node.gres).ok().as_ref() != Some(&target.config.gres) {
        short.push(format!("{name} has GRES `{}`, the row says `{}`", node.gres, target.config.gres));
    }
    if !partitions.iter().any(|p| p.up && p.holds(node)) {
        short.push(format!("{name} is in no partition that is UP"));
    }
    short
}

/// The digest that stands for a user-data.
#[must_use]
pub fn digest(user_data: Option<&UserData>) -> String {
    user_data.map(|u| hex::encode(Sha256::digest(u.as_base64()))).unwrap_or_default()
}

/// The configuration with which a node registers closed, for `slurmd -Z --conf`.
///
/// # Errors
/// `bootstrap.invalid` when it is longer than a metadata value of Nova may be.
pub fn slurm_conf(config: &Complete) -> Result<Option<String>, Failure> {
    const LONGEST: usize = 255;
    if config.node_source != NodeSource::Registers {
        return Ok(None);
    }
    let mut words = Vec::new();
    if !config.gres.is_empty() {
        words.push(format!("Gres={}", config.gres));
    }
    if !config.features.is_empty() {
        words.push(format!("Feature={}", config.features.to_csv()));
    }
    words.push(format!("State=DRAIN Reason={}", model::Owner::registering()));
    let text = words.join(" ");
    if text.len() > LONGEST {
        let message = format!("features and GRES make {} characters of `fleet_slurm_conf`", text.len());
        let remedy = "shorten them: Nova keeps 255 characters of metadata";
        return Err(Failure::needs_human(Code::BootstrapInvalid, message, remedy).about("features"));
    }
    Ok(Some(text))
}

/// Why a server is in ERROR, as a failure.
pub(crate) fn fault(server: &Server) -> Failure {
    let fault = server.fault.clone().unwrap_or_else(|| "no fault given".to_owned());
    let message = format!("server {} is in ERROR: {fault}", server.id);
    // "Exceeded maximum number of retries" comes after the driver failed: that is the machine's.
    if fault.contains("No valid host") {
        let remedy = "see whether the machine is free and up in Nova, then adopt again";
        return Failure::needs_human(Code::NoValidHost, message, remedy).about("nova_host");
    }
    Failure::needs_human(Code::ServerError, message, "read the server's fault in Nova, then adopt again")
}

/// Who made it, by its metadata.
pub(crate) fn requested_by(server: &Server) -> Option<&str> {
    server.metadata.get(metadata::REQUEST).map(String::as_str)
}

fn never_launched(server: &Server) -> bool {
    server.status == ServerStatus::Error && server.launched_at.is_none()
}

fn usable<'a>(target: &Target, seen: &'a Seen) -> Result<&'a Flavor, Failure> {
    let unusable = |field: &str, problem: String| {
        let remedy = format!("have HPC name another {field} in the row of role {}", target.config.role);
        Failure::needs_human(Code::BootstrapInvalid, problem, remedy).about(field)
    };
    match &seen.image {
        None => return Err(unusable("image", format!("Glance has no image {}", target.config.image))),
        Some(image) if image.status != "active" => {
            return Err(unusable("image", format!("image {} is {}, not active", image.id, image.status)));
        }
        Some(_) => {}
    }
    let missing = || unusable("flavor", format!("Nova has no flavor {}", target.config.flavor));
    seen.flavor.as_ref().ok_or_else(missing)
}

/// A server that differs is not changed here.
fn compare(target: &Target, flavor: &Flavor, server: &Server) -> Result<(), Failure> {
    let waiting = matches!(server.status, ServerStatus::Build | ServerStatus::Rebuild);
    match &server.status {
        ServerStatus::Error => return Err(fault(server)),
        status @ (ServerStatus::Shutoff | ServerStatus::Other(_)) => {
            let message = format!("server {} is {status}", server.id);
            let remedy = "bring it to ACTIVE in Nova, or release the device";
            return Err(Failure::needs_human(Code::ServerError, message, remedy));
        }
        ServerStatus::Active | ServerStatus::Build | ServerStatus::Rebuild | ServerStatus::Deleted => {}
    }
    let mut differences = Vec::new();
    let mut differs = |what: &str, is: &str, wanted: &str| {
        if is != wanted {
            differences.push(format!("{what} is {is}, should be {wanted}"));
        }
    };
    differs("image", &server.image, &target.config.image);
    differs("flavor", &server.flavor_name, &flavor.name);
    differs("name", &server.name, target.node.as_str());
    let noted = server.metadata.get(metadata::USER_DATA).map(String::as_str).unwrap_or_default();
    if noted != digest(target.config.user_data.as_ref()) {
        differences.push("user-data differs".to_owned());
    }
    let placed = server.machine.as_ref().filter(|_| !waiting);
    if let Some(machine) = placed.filter(|m| **m != target.machine) {
        differences.push(format!("it is on {machine}, the device's machine is {}", target.machine));
    }
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("server {} differs from its row: {}", server.id, differences.join("; "));
    let remedy = "release the device, then adopt it";
    Err(Failure::needs_human(Code::RequestConflict, message, remedy))
}

fn ambiguous(servers: &[&Server]) -> Failure {
    let list: Vec<String> = servers.iter().map(|s| format!("{} ({})", s.id, s.status)).collect();
    let message = format!("more than one server carries the device's mark: {}", list.join(", "));
    Failure::needs_human(Code::Ambiguous, message, "delete the wrong one; nothing was deleted")
}
