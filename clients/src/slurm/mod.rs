//! SLURM's REST API, as one user of the cluster.
//!
//! What every call must know (facts: slurm §0–§4): success is HTTP 200 *and* no `errors`; an
//! unknown node is HTTP 200 *with* `errors`; a 404 is a version that is not served, never an absent
//! node; bytes need not be UTF-8; one odd node must not spoil the list; both headers are always
//! sent; the content type is exactly `application/json`.

mod decode;
mod dialect;
mod job;
mod node;
mod probe;
mod token;

use std::sync::{Mutex, RwLock};

use model::NodeName;
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use url::Url;

use crate::http::{Answer, Http, with_token};
use crate::{Error, Kind, Service};
pub use dialect::Dialect;
pub use job::Job;
pub use node::{Node, Nodes, Partition, Tokens};
pub use token::{Life, Token, TokenSource};

/// slurmctld's own error numbers that we tell apart.
mod number {
    /// "Protocol authentication error".
    pub(super) const AUTHENTICATION: i64 = 1007;
    /// "Unable to contact slurm controller".
    pub(super) const CONTROLLER: std::ops::RangeInclusive<i64> = 1800..=1810;
    /// "Invalid user id": the token's user lacks AdminLevel Administrator.
    pub(super) const NOT_ALLOWED: i64 = 2010;
    /// "Requested nodes are busy".
    pub(super) const BUSY: i64 = 2016;
    /// "Node already exists in the node table".
    pub(super) const EXISTS: i64 = 2168;
    /// "Socket timed out".
    pub(super) const TIMED_OUT: i64 = 5004;
}

/// A cluster's slurmrestd.
#[derive(Debug)]
pub struct Slurm {
    http: Http,
    base: Url,
    user: String,
    token: Token,
    dialect: RwLock<Option<&'static Dialect>>,
    /// The version and release that were logged last.
    told: Mutex<Option<(&'static str, String)>>,
}

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

/// What became of a node that was to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// It was made.
    Created,
    /// SLURM has a node of that name, which stays as it is.
    Exists,
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
    /// The slurmrestd at `base` (its root URL), as `user` (the token's `sun`).
    ///
    /// # Errors
    /// As [`Http::new`].
    pub fn new(base: Url, user: String, token: Token) -> Result<Self, Error> {
        let http = Http::new(Service::Slurm)?;
        Ok(Self { http, base, user, token, dialect: RwLock::new(None), told: Mutex::new(None) })
    }

    /// The token that it sends, to ask what is left of it.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

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

    /// `GET /slurm/{v}/node/{name}`. `None`: slurmctld answered that it has no such node that may
    /// be shown. Absence is concluded from this *and* the full list, never from one.
    ///
    /// # Errors
    /// Whatever kept slurmctld from answering.
    ///
    /// Where the dialect's word for a single node's partitions is not to be trusted, the node comes
    /// without any: [`Partition::holds`] decides.
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

    /// `GET /slurm/{v}/partitions`.
    ///
    /// # Errors
    /// [`Kind::Malformed`] when a partition or its hostlist cannot be read: a list cut short would
    /// say that its nodes cannot be used.
    pub async fn partitions(&self) -> Result<Vec<Partition>, Error> {
        let answer = self.get("list partitions", "partitions").await?;
        Partition::decode(&self.success("list partitions", &answer)?)
            .map_err(|what| answer.error(Service::Slurm, "list partitions", Kind::Malformed(what)))
    }

    /// `GET /slurm/{v}/jobs`: every job that slurmctld still holds.
    ///
    /// # Errors
    /// [`Kind::Malformed`] when one job cannot be read: it might be the one that holds a node.
    pub async fn jobs(&self) -> Result<Vec<Job>, Error> {
        let answer = self.get("list jobs", "jobs").await?;
        Job::decode(&self.success("list jobs", &answer)?)
            .map_err(|what| answer.error(Service::Slurm, "list jobs", Kind::Malformed(what)))
    }

    /// `POST /slurm/{v}/node/{name}`. Not durable for about 5 s after it is acknowledged (facts:
    /// slurm §12). Read back what matters.
    ///
    /// # Errors
    /// [`Kind::Forbidden`] when the token's user may not; [`Kind::Rejected`] with slurmctld's words.
    pub async fn update_node(&self, name: &NodeName, update: &NodeUpdate) -> Result<(), Error> {
        let build = |r: RequestBuilder| r.json(update);
        let answer = self.call("update node", Method::POST, &format!("node/{name}"), build).await?;
        self.success("update node", &answer).map(drop)
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
        let dialect = self.dialect().await?;
        if !dialect.node_create {
            let needed = "making nodes needs v0.0.44 or newer, as SLURM 26.05 serves";
            let kind = Kind::TooOld(format!("{needed}; this slurmrestd speaks {}", dialect.version));
            return Err(Error::new(Service::Slurm, OPERATION, kind));
        }
        let body = serde_json::json!({"node_conf": format!("NodeName={name} {conf} State=CLOUD")});
        let build = |r: RequestBuilder| r.json(&body);
        let answer = self.call(OPERATION, Method::POST, "new/node/", build).await?;
        if decode::error_numbers(&answer) == [number::EXISTS] {
            self.token.accepted();
            return Ok(Creation::Exists);
        }
        self.success(OPERATION, &answer).map(|_| Creation::Created)
    }

    async fn get(&self, operation: &'static str, path: &str) -> Result<Answer, Error> {
        self.call(operation, Method::GET, path, |r| r).await
    }

    /// Sends below the dialect's version. A 404 without a body of ours means that slurmrestd no
    /// longer serves it (it was upgraded) or is not there behind its proxy: the dialect is forgotten,
    /// the call has failed, and a later one probes anew.
    async fn call(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        build: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<Answer, Error> {
        let dialect = self.dialect().await?;
        let path = format!("slurm/{}/{path}", dialect.version);
        let answer = self.send(operation, method, &path, &build).await?;
        if answer.status.as_u16() == 404 && decode::envelope(&answer).is_none() {
            self.forget_dialect();
            tracing::warn!(version = dialect.version, "slurmrestd does not serve it any more; probing anew");
            return Err(answer.error(Service::Slurm, operation, Kind::Unavailable));
        }
        Ok(answer)
    }

    /// Sends with the token; once more with a re-read one when it is refused and has changed.
    async fn send(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        build: &(dyn Fn(RequestBuilder) -> RequestBuilder + Send + Sync),
    ) -> Result<Answer, Error> {
        let url = self.base.join(path).map_err(|e| {
            Error::new(Service::Slurm, operation, Kind::Malformed("base URL".to_owned())).because(e)
        })?;
        let secret = |what: String| Error::new(Service::Slurm, operation, Kind::Secret(what));
        let (method, url) = (&method, &url);
        let send = |token: SecretString| async move {
            let request = self.http.client().request(method.clone(), url.clone());
            let request = request
                .header("X-SLURM-USER-NAME", &self.user)
                .header("X-SLURM-USER-TOKEN", token.expose_secret())
                .header("Accept", "application/json");
            let answer = self.http.send(operation, build(request)).await?;
            if is_refused(&answer) {
                self.token.refused(&token);
            }
            Ok(answer)
        };
        let another = |refused: SecretString| async move {
            let renewed = self.token.get(Some(&refused)).await.map_err(secret)?;
            Ok(Some(renewed).filter(|r| r.expose_secret() != refused.expose_secret()))
        };
        let token = self.token.get(None).await.map_err(secret)?;
        with_token(token, send, is_refused, another).await
    }

    /// The body, if slurmctld did what was asked. That alone proves the token: slurmrestd answers a
    /// ping whatever it was sent (facts: slurm §0.5).
    fn success(&self, operation: &'static str, answer: &Answer) -> Result<serde_json::Value, Error> {
        match decode::kind(answer) {
            None => {
                self.token.accepted();
                answer.json(Service::Slurm, operation)
            }
            Some(kind) => Err(answer.error(Service::Slurm, operation, kind)),
        }
    }
}

fn is_refused(answer: &Answer) -> bool {
    decode::kind(answer) == Some(Kind::Unauthenticated)
}
