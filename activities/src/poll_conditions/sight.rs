//! Looking at SLURM: the whole list at once, or node by node where that is cheaper.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use clients::slurm::{Node, Partition};
use clients::{Error, Kind, Service};
use futures::stream::{StreamExt as _, TryStreamExt as _};
use model::NodeName;

use crate::World;

/// What one GET of a node costs (facts: slurm §9).
const SINGLE: Duration = Duration::from_millis(4);
/// A list that takes longer never ends: the HTTP layer gives up.
const NEVER: Duration = Duration::from_secs(30);
/// GETs at once.
const AT_ONCE: usize = 8;

/// What was seen.
pub(super) struct Seen {
    /// Every node that slurmctld shows, or those asked for.
    pub(super) nodes: BTreeMap<NodeName, Node>,
    /// Asked for, and shown in a way that could not be read.
    pub(super) unreadable: HashSet<NodeName>,
    /// Every partition.
    pub(super) partitions: Vec<Partition>,
}

/// How the last looks went.
#[derive(Debug, Default)]
pub(super) struct Eyes {
    last_full: Option<Duration>,
}

impl Eyes {
    /// Looks. A node is absent only if the full list lacks it *and* its own GET does;
    /// `known_absent` ones are not asked for again.
    pub(super) async fn look(
        &mut self,
        world: &World,
        wanted: &[NodeName],
        known_absent: &HashSet<NodeName>,
    ) -> Result<Seen, Error> {
        let singles = SINGLE * u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        // single GETs alone would show the allocations of some earlier list
        let by_one = self.last_full.is_some_and(|full| singles < full) && world.slurm.reckon().await?;
        let mut seen = if by_one { one_by_one(world, wanted).await? } else { self.full(world).await? };
        let absent = |n: &&NodeName| !seen.nodes.contains_key(*n) && !known_absent.contains(*n);
        let doubtful: Vec<NodeName> = wanted.iter().filter(absent).cloned().collect();
        if !doubtful.is_empty() {
            // each way of looking has its own lies: absence needs both
            let other = if by_one { self.full(world).await? } else { one_by_one(world, &doubtful).await? };
            seen.nodes.extend(other.nodes);
            seen.unreadable.extend(other.unreadable);
        }
        let all_unknown = seen.nodes.values().all(|n| n.tokens.has("UNKNOWN"));
        if !seen.nodes.is_empty() && all_unknown {
            // slurmctld has just started and has heard of no slurmd yet (facts: slurm §7)
            let kind = Kind::Malformed("every node is UNKNOWN".to_owned());
            return Err(Error::new(Service::Slurm, "look at nodes", kind));
        }
        seen.partitions = world.slurm.partitions().await?;
        Ok(seen)
    }

    async fn full(&mut self, world: &World) -> Result<Seen, Error> {
        let started = Instant::now();
        let result = world.slurm.nodes().await;
        match &result {
            Ok(_) => self.last_full = Some(started.elapsed()),
            Err(error) if error.kind == Kind::Timeout => self.last_full = Some(NEVER),
            // refused or unreachable: that says nothing of how long a list takes
            Err(_) => {}
        }
        let list = result?;
        if list.unreadable > 0 {
            tracing::warn!(unreadable = list.unreadable, "nodes that cannot be read");
        }
        let nodes = list.list.into_iter().map(|n| (n.name.clone(), n)).collect();
        Ok(Seen { nodes, unreadable: HashSet::new(), partitions: Vec::new() })
    }
}

/// Asks for each node by itself. One that cannot be read spoils nobody else.
async fn one_by_one(world: &World, names: &[NodeName]) -> Result<Seen, Error> {
    enum One {
        Node(Box<Node>),
        Absent,
        Unreadable(NodeName),
    }
    let look = |name: NodeName| async move {
        match world.slurm.node(&name).await {
            Ok(Some(node)) => Ok(One::Node(Box::new(node))),
            Ok(None) => Ok(One::Absent),
            Err(Error { kind: Kind::Malformed(_), .. }) => Ok(One::Unreadable(name)),
            Err(error) => Err(error),
        }
    };
    let ones: Vec<One> = futures::stream::iter(names.iter().cloned().map(look))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let mut seen = Seen { nodes: BTreeMap::new(), unreadable: HashSet::new(), partitions: Vec::new() };
    for one in ones {
        match one {
            One::Node(node) => drop(seen.nodes.insert(node.name.clone(), *node)),
            One::Absent => {}
            One::Unreadable(name) => drop(seen.unreadable.insert(name)),
        }
    }
    Ok(seen)
}
