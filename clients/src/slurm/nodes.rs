//! Calls about nodes.

use model::NodeName;
use reqwest::{Method, RequestBuilder};
use serde::Serialize;

use super::dialect::{NODE_CREATE, NODE_WRITE, RECORD_DELETE};
use super::{Node, Nodes, Slurm, decode, number};
use crate::{Error, Kind, Service};

/// One change of a node. Fields that are `None` are left as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeUpdate {
    /// One state at a time: two are refused after the reason was changed (facts: slurm §4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<[SetState; 1]>,
    /// The reason; an empty one is ignored by slurmctld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `extra`; an empty one clears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
}

/// What became of a node or a reservation that was to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// It was made.
    Created,
    /// SLURM has one of that name, which stays as it is.
    Exists,
}

/// What became of a node's record that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Deleted,
    /// SLURM has no node of that name.
    Unknown,
    /// The node stands in slurm.conf, and stays.
    Static,
}

/// A state that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SetState {
    /// No new job; running ones go on. Idempotent.
    Drain,
    /// Open again. An error on a node that is not closed.
    Resume,
}

impl Slurm {
    /// `GET /slurm/{v}/nodes`: every node that slurmctld lists (FUTURE ones are hidden). Costs
    /// about 3.5 s at 10,000 nodes: one at a time.
    ///
    /// # Errors
    /// [`Kind::Malformed`] when it holds no list. An odd node is left out and counted.
    pub async fn nodes(&self) -> Result<Nodes, Error> {
        let answer = self.get("list nodes", "nodes").await?;
        Nodes::decode(&self.success("list nodes", &answer)?)
            .map_err(|what| answer.error(Service::Slurm, "list nodes", Kind::Malformed(what)))
    }

    /// Has slurmctld reckon what each node has given to jobs. It does so when the list is asked for, and never
    /// for one node, which can so be MIXED for ever after its last job (run on 22.05, 24.11 and 26.05). Asks for
    /// what has changed since a time to come: 304, without a body. False: this dialect cannot.
    ///
    /// # Errors
    /// Whatever kept slurmctld from answering.
    pub async fn reckon(&self) -> Result<bool, Error> {
        const OPERATION: &str = "reckon nodes";
        /// The year 2100.
        const TO_COME: &str = "nodes/?update_time=4102444800";
        if !self.dialect().await?.reads_update_time {
            return Ok(false);
        }
        let answer = self.get(OPERATION, TO_COME).await?;
        if answer.status.as_u16() != 304 {
            self.success(OPERATION, &answer)?;
        }
        Ok(true)
    }

    /// `GET /slurm/{v}/node/{name}`. `None`: slurmctld answered that it has no such node that may
    /// be shown. Absence is concluded from this *and* the full list, never from one.
    ///
    /// # Errors
    /// Whatever kept slurmctld from answering.
    ///
    /// Where the dialect's word for a single node's partitions is not to be trusted, the node comes
    /// without any: [`Partition::holds`](super::Partition::holds) decides.
    pub async fn node(&self, name: &NodeName) -> Result<Option<Node>, Error> {
        const OPERATION: &str = "get node";
        let answer = self.get(OPERATION, &format!("node/{name}")).await?;
        if decode::is_unknown_node(&answer, name) {
            return Ok(None);
        }
        let body = self.success(OPERATION, &answer)?;
        let malformed = |what: String| answer.error(Service::Slurm, OPERATION, Kind::Malformed(what));
        let mut nodes = Nodes::decode(&body).map_err(malformed)?;
        match nodes.list.pop() {
            Some(mut node) if node.name == *name && nodes.list.is_empty() && nodes.unreadable == 0 => {
                if !self.dialect().await?.partitions_of_one {
                    node.partitions.clear();
                }
                Ok(Some(node))
            }
            _ => Err(malformed(format!("not exactly the node {name}"))),
        }
    }

    /// Whether nodes can be changed at all, by the version that is spoken. Nothing is sent for it.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where they cannot; whatever kept slurmrestd from saying what it speaks.
    pub async fn can_change_nodes(&self) -> Result<(), Error> {
        self.able("change nodes", &NODE_WRITE).await.map(drop)
    }

    /// `POST /slurm/{v}/node/{name}`. Not durable for about 5 s after it is acknowledged (facts:
    /// slurm §12). Read back what matters.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version has no such call; [`Kind::Forbidden`] when the token's user
    /// may not; [`Kind::Rejected`] with slurmctld's words.
    pub async fn update_node(&self, name: &NodeName, update: &NodeUpdate) -> Result<(), Error> {
        const OPERATION: &str = "update node";
        self.able(OPERATION, &NODE_WRITE).await?;
        let build = |r: RequestBuilder| r.json(update);
        let answer = self.call(OPERATION, &self.user, Method::POST, &format!("node/{name}"), build).await?;
        self.success(OPERATION, &answer).map(drop)
    }

    /// `DELETE /slurm/{v}/node/{name}`: the record of a dynamic node. Safe to repeat. A slurmd that still
    /// runs stays out until it is started again, and then registers anew, open: its machine goes first
    /// (facts: slurm §5). slurmctld deletes a node that a reservation names.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version has no such call; [`Kind::Conflict`] when jobs are on the node;
    /// [`Kind::Forbidden`] when the token's user may not; [`Kind::Rejected`] with slurmctld's words.
    pub async fn delete_node(&self, name: &NodeName) -> Result<Deletion, Error> {
        const OPERATION: &str = "delete node";
        self.able(OPERATION, &RECORD_DELETE).await?;
        let answer = self.call(OPERATION, &self.user, Method::DELETE, &format!("node/{name}"), |r| r).await?;
        match decode::error_numbers(&answer).as_slice() {
            [number::UNKNOWN_NODE] => Ok(Deletion::Unknown),
            [number::NODE_STATE] => Ok(Deletion::Static),
            _ => self.success(OPERATION, &answer).map(|_| Deletion::Deleted),
        }
    }

    /// `POST /slurm/{v}/new/node/`: a node of state CLOUD, which is `IDLE+CLOUD+POWERED_DOWN+
    /// DYNAMIC_NORM` until a `slurmd -Z -N NAME` registers, and open: close it before anything boots.
    /// `conf` holds the other words of its line in slurm.conf, such as `CPUs=4 RealMemory=4000
    /// Gres=gpu:h100:4 Feature=dyn`; the caller has checked that it is one line without `NodeName`
    /// and `State`. Safe to repeat: a node that is there is left as it is (facts: slurm §5).
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the release has no such call; [`Kind::Forbidden`] when the token's user
    /// may not; [`Kind::Rejected`] with slurmctld's words, which are few: a word that it cannot read
    /// is "Unspecified error".
    pub async fn create_node(&self, name: &NodeName, conf: &str) -> Result<Creation, Error> {
        const OPERATION: &str = "create node";
        self.able(OPERATION, &NODE_CREATE).await?;
        let body = serde_json::json!({"node_conf": format!("NodeName={name} {conf} State=CLOUD")});
        let build = |r: RequestBuilder| r.json(&body);
        let answer = self.call(OPERATION, &self.user, Method::POST, "new/node/", build).await?;
        if decode::error_numbers(&answer) == [number::EXISTS] {
            self.token.accepted();
            return Ok(Creation::Exists);
        }
        self.success(OPERATION, &answer).map(|_| Creation::Created)
    }
}
