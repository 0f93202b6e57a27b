//! SLURM's REST API, as one user of the cluster.
//!
//! What every call must know (facts: slurm §0–§4): success is HTTP 200 *and* no `errors`; an
//! unknown node is HTTP 200 *with* `errors`; a 404 without a body of slurmrestd's is a version that
//! is not served, never an absent node; bytes need not be UTF-8; one odd node must not spoil the list;
//! both headers are always sent; the content type is exactly `application/json`.
//!
//! *Invariant*: no call is repeated here, and nothing is looked up before or after it, save where its
//! comment says so. A write that the API version does not have is refused before anything is sent.

mod accounting;
mod decode;
mod dialect;
mod job;
mod jobs;
mod node;
mod nodes;
mod partition;
mod probe;
mod reservation;
#[cfg(test)]
mod shapes;
mod submit;
mod token;

use std::sync::{Mutex, RwLock};

use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::http::{Answer, Http, with_token};
use crate::{Error, Kind, Service};
use dialect::Capability;
pub use dialect::Dialect;
pub use job::{Array, Job, JobKey};
pub use jobs::Cancellation;
pub use node::{Node, Nodes, Tokens};
pub use nodes::{Creation, Deletion, NodeUpdate, SetState};
pub use partition::Partition;
pub use reservation::{NewReservation, Reservation};
pub use submit::{NewJob, Submitted};
pub use token::{Life, Token, TokenSource};

/// slurmctld's own error numbers that we tell apart.
mod number {
    /// "Unspecified error".
    pub(super) const UNSPECIFIED: i64 = -1;
    /// "Protocol authentication error".
    pub(super) const AUTHENTICATION: i64 = 1007;
    /// "Unable to contact slurm controller".
    pub(super) const CONTROLLER: std::ops::RangeInclusive<i64> = 1800..=1810;
    /// "Operation not permitted" and "Unexpected message received": what a cancel and a job update are told
    /// when slurmctld is away or hangs. Either may be done later (run on 24.11 and 26.05).
    pub(super) const UNANSWERED: [i64; 2] = [1, 1000];
    /// The system's own errors of a connection, to slurmctld: 104, "Connection reset by peer", is what a read
    /// or a write that was on its way gets from 24.11 and 26.05 when slurmctld is restarted or killed (run).
    /// slurmctld's own begin at 1000.
    pub(super) const CONNECTION: std::ops::RangeInclusive<i64> = 100..=113;
    /// "Access/permission denied", of another's job; "Invalid user id": the
    /// token's user lacks AdminLevel Administrator.
    pub(super) const NOT_ALLOWED: [i64; 2] = [2002, 2010];
    /// "Requested nodes are busy".
    pub(super) const BUSY: i64 = 2016;
    /// "Invalid job id specified": never there, or forgotten.
    pub(super) const UNKNOWN_JOB: i64 = 2017;
    /// "Invalid node name specified".
    pub(super) const UNKNOWN_NODE: i64 = 2018;
    /// "Job/step already completing or completed".
    pub(super) const JOB_OVER: i64 = 2021;
    /// "Invalid node state specified": of a deletion, that the node stands in slurm.conf.
    pub(super) const NODE_STATE: i64 = 2028;
    /// "Requested reservation is invalid": of a deletion, that there is none.
    pub(super) const UNKNOWN_RESERVATION: i64 = 2053;
    /// "Requested reservation is in use".
    pub(super) const RESERVATION_IN_USE: i64 = 2055;
    /// "Reservation already started": what a second creation is told, which is an update.
    pub(super) const RESERVATION_STARTED: i64 = 2104;
    /// "Node already exists in the node table".
    pub(super) const EXISTS: i64 = 2168;
    /// "Socket timed out".
    pub(super) const TIMED_OUT: i64 = 5004;
    /// "Unable to connect to database": slurmdbd is away, which 22.05 says with HTTP 200.
    pub(super) const DATABASE: i64 = 7000;
    /// "Nothing found with query": slurmdbd of 22.05, of a job that it does not know.
    pub(super) const NOTHING_FOUND: i64 = 9003;
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

    /// The user that it speaks as: the token's.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// A read below the dialect's version.
    async fn get(&self, operation: &'static str, path: &str) -> Result<Answer, Error> {
        let answer = self.call(operation, &self.user, Method::GET, path, |r| r).await?;
        if decode::is_unspecified(&answer) {
            return Err(answer.error(Service::Slurm, operation, Kind::Unavailable));
        }
        Ok(answer)
    }

    /// The API version that is spoken, if it can do it.
    async fn able(
        &self,
        operation: &'static str,
        capability: &Capability,
    ) -> Result<&'static Dialect, Error> {
        let dialect = self.dialect().await?;
        if (capability.has)(dialect) {
            return Ok(dialect);
        }
        let kind = Kind::TooOld(format!("{}; this slurmrestd speaks {}", capability.needs, dialect.version));
        Err(Error::new(Service::Slurm, operation, kind))
    }

    /// Sends below the dialect's version, as `user`. A 404 without a body of ours means that slurmrestd
    /// no longer serves it (it was upgraded) or is not there behind its proxy: the dialect is forgotten,
    /// the call has failed, and a later one probes anew.
    async fn call(
        &self,
        operation: &'static str,
        user: &str,
        method: Method,
        path: &str,
        build: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<Answer, Error> {
        let dialect = self.dialect().await?;
        let path = format!("slurm/{}/{path}", dialect.version);
        let answer = self.send(operation, user, method, &path, &build).await?;
        if answer.status.as_u16() == 404 && decode::envelope(&answer).is_none() {
            self.forget_dialect();
            tracing::warn!(version = dialect.version, "slurmrestd does not serve it any more; probing anew");
            return Err(answer.error(Service::Slurm, operation, Kind::Unavailable));
        }
        Ok(answer)
    }

    /// Sends with the token; once more with a re-read one when it is refused, or may be, and has
    /// changed. `user` is the token's, or any where that is root or SlurmUser: slurmctld then acts as
    /// `user` (facts: slurm §1).
    async fn send(
        &self,
        operation: &'static str,
        user: &str,
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
                .header("X-SLURM-USER-NAME", user)
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
        with_token(token, send, |a| is_refused(a) || decode::may_be_refused(a), another).await
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

/// The API must not be reached by a path that a name bends: a name that a path cannot hold as it is.
fn fits_in_a_path(operation: &'static str, name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain) {
        return Ok(());
    }
    let kind = Kind::Rejected("a name of other than letters, digits, `-`, `_` and `.`".to_owned());
    Err(Error::new(Service::Slurm, operation, kind))
}
