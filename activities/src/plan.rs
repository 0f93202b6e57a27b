//! The plan of an adoption: pure, and made before anything is done.

use clients::openstack::{Flavor, Image, Server, ServerStatus};
use clients::slurm::{Node, Partition};
use model::{Complete, Gres, NodeName, NodeSource, RequestId, ServerId, UserData};
use sha2::{Digest as _, Sha256};

use crate::{Code, Failure};

/// The metadata by which a server of ours says what it is.
pub(crate) mod metadata {
    /// What every key of ours starts with; the others are somebody else's.
    pub(crate) const OURS: &str = "fleet_";
    /// The device.
    pub(crate) const DEVICE: &str = "fleet_device";
    /// The request that made it what it is.
    pub(crate) const REQUEST: &str = "fleet_request";
    /// How that request made it so: [`Made`](super::Made).
    pub(crate) const MADE: &str = "fleet_made";
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
    /// Each image that the row may mean: its name need not be one image's alone.
    pub images: Vec<Image>,
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
    /// Its image or user-data differ, or it is in ERROR: it is rebuilt in place and keeps its id.
    Rebuild(Box<Server>),
}

/// How a request made a server what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Created it.
    Created,
    /// Rebuilt it in place.
    Rebuilt,
}

impl Made {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Rebuilt => "rebuilt",
        }
    }

    /// How `request` made this server what it is; `None` when another did.
    #[must_use]
    pub fn by(request: &RequestId, server: &Server) -> Option<Self> {
        if requested_by(server) != Some(request.as_str()) {
            return None;
        }
        let rebuilt = server.metadata.get(metadata::MADE).is_some_and(|m| m == Self::Rebuilt.as_str());
        Some(if rebuilt { Self::Rebuilt } else { Self::Created })
    }
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
    let (image, flavor) = usable(target, seen)?;
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
            let wrong = compare(target, image, flavor, server, request)?;
            let act = if wrong.is_empty() { Act::Noop } else { Act::Rebuild };
            differences.extend(wrong);
            if let Some(node) = &seen.node
                && node.slurmd_start_time != 0
                && !has_registered(node, server)
            {
                differences.push(format!("slurmd of {} has not registered since", target.node));
            }
            act(Box::new(server.clone()))
        }
        None => {
            differences.push("there is no server".to_owned());
            Act::Create { leftovers: leftovers.iter().map(|s| s.id.clone()).collect() }
        }
    };
    differences.extend(shortfalls(target, seen.node.as_ref(), &seen.partitions));
    Ok(Plan { act, differences })
}

/// Whether the slurmd of the server as it is now has registered: it started at another time than the
/// one that was noted before. Not `boot_time`, which is the host's in containers.
pub(crate) fn has_registered(node: &Node, server: &Server) -> bool {
    let before = server.metadata.get(metadata::SLURMD_BEFORE).and_then(|t| t.parse().ok()).unwrap_or(0);
    node.slurmd_start_time != 0 && node.slurmd_start_time != before
}

/// Whether `request` has made the server what the row says.
pub(crate) fn is_as_asked(server: &Server, target: &Target, seen: &Seen, request: &RequestId) -> bool {
    seen.images.iter().any(|i| i.id == server.image)
        && has_user_data(server, target)
        && requested_by(server) == Some(request.as_str())
}

fn has_user_data(server: &Server, target: &Target) -> bool {
    server.metadata.get(metadata::USER_DATA).is_some_and(|d| *d == digest(target.config.user_data.as_ref()))
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

/// The configuration with which a node registers closed, for `slurmd -Z --conf`. A node that was made by
/// REST is closed already, and needs the rest of it: slurmd takes no GRES from its record (seen: 26.05). A
/// static node has slurm.conf's.
///
/// # Errors
/// `bootstrap.invalid` when it is longer than a metadata value of Nova may be.
pub fn slurm_conf(config: &Complete) -> Result<Option<String>, Failure> {
    const LONGEST: usize = 255;
    if config.node_source == NodeSource::Static {
        return Ok(None);
    }
    let text = format!("{} State=DRAIN Reason={}", node_conf(config), model::Owner::registering());
    let text = text.trim_start().to_owned();
    if text.len() > LONGEST {
        let message = format!("features and GRES make {} characters of `fleet_slurm_conf`", text.len());
        let remedy = "shorten them: Nova keeps 255 characters of metadata";
        return Err(Failure::needs_human(Code::BootstrapInvalid, message, remedy).about("features"));
    }
    Ok(Some(text))
}

/// What the row says of a node, as slurm.conf would.
pub(crate) fn node_conf(config: &Complete) -> String {
    let gres = (!config.gres.is_empty()).then(|| format!("Gres={}", config.gres));
    let features = (!config.features.is_empty()).then(|| format!("Feature={}", config.features.to_csv()));
    gres.into_iter().chain(features).collect::<Vec<_>>().join(" ")
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

/// Nova could not place it: nothing has ever run there.
pub(crate) fn never_launched(server: &Server) -> bool {
    server.status == ServerStatus::Error && server.launched_at.is_none()
}

/// The image and the flavor that the row means.
pub(crate) fn usable<'a>(target: &Target, seen: &'a Seen) -> Result<(&'a Image, &'a Flavor), Failure> {
    let unusable = |field: &str, problem: String| {
        let remedy = format!("have HPC name another {field} in the row of role {}", target.config.role);
        Failure::needs_human(Code::BootstrapInvalid, problem, remedy).about(field)
    };
    let image = match seen.images.as_slice() {
        [image] => image,
        [] => return Err(unusable("image", format!("Glance has no image {}", target.config.image))),
        several => {
            let ids: Vec<&str> = several.iter().map(|i| i.id.as_str()).collect();
            let problem =
                format!("image {} is {} images: {}", target.config.image, ids.len(), ids.join(", "));
            return Err(Failure {
                remedy: "have HPC name one of them by its id".to_owned(),
                ..unusable("image", problem)
            });
        }
    };
    if image.status != "active" {
        return Err(unusable("image", format!("image {} is {}, not active", image.id, image.status)));
    }
    let Some(flavor) = &seen.flavor else {
        return Err(unusable("flavor", format!("Nova has no flavor {}", target.config.flavor)));
    };
    Ok((image, flavor))
}

/// What a rebuild in place would mend, a sentence each. Refuses what it would not.
fn compare(
    target: &Target,
    image: &Image,
    flavor: &Flavor,
    server: &Server,
    request: &RequestId,
) -> Result<Vec<String>, Failure> {
    let mut wrong = Vec::new();
    match &server.status {
        // a rebuild that failed leaves the new image and user-data, and ERROR
        ServerStatus::Error
            if requested_by(server) == Some(request.as_str()) || server.task_state.is_some() =>
        {
            return Err(fault(server));
        }
        ServerStatus::Error => wrong.push(fault(server).message),
        ServerStatus::Other(status) => {
            let message = format!("server {} is {status}", server.id);
            let remedy = "bring it to ACTIVE in Nova, or release the device";
            return Err(Failure::needs_human(Code::ServerError, message, remedy));
        }
        ServerStatus::Active | ServerStatus::Build | ServerStatus::Rebuild | ServerStatus::Deleted => {}
    }
    keeps(target, flavor, server)?;
    if server.image != image.id {
        wrong.push(format!("image is {}, should be {}", server.image, image.id));
    }
    if !has_user_data(server, target) {
        wrong.push("user-data differs".to_owned());
    }
    Ok(wrong)
}

/// Refuses a server whose flavor, name or machine differ: no rebuild changes the first and the last,
/// and another name is another node, which may be running jobs.
fn keeps(target: &Target, flavor: &Flavor, server: &Server) -> Result<(), Failure> {
    let mut differences = Vec::new();
    if server.flavor_name != flavor.name {
        differences.push(format!("flavor is {}, should be {}", server.flavor_name, flavor.name));
    }
    if server.name != target.node.as_str() {
        differences.push(format!("name is {}, should be {}", server.name, target.node));
    }
    let waiting = matches!(server.status, ServerStatus::Build | ServerStatus::Rebuild);
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

/// More than one server is the device's, and nothing tells which is right.
pub(crate) fn ambiguous(servers: &[&Server]) -> Failure {
    let list: Vec<String> = servers.iter().map(|s| format!("{} ({})", s.id, s.status)).collect();
    let message = format!("more than one server carries the device's mark: {}", list.join(", "));
    Failure::needs_human(Code::Ambiguous, message, "delete the wrong one; nothing was deleted")
}
