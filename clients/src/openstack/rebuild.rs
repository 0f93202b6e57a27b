//! What is done to a server that is there: rebuilt in place, or started.
//!
//! *Invariant*: an answer's body is never read. The one to a rebuild holds the user-data and a
//! password; what a server has become is what a later [`OpenStack::server`] shows.

use std::collections::BTreeMap;

use model::{ServerId, UserData};
use reqwest::Method;
use serde_json::{Value, json};

use super::{OpenStack, is_missing, kind, message};
use crate::{Error, Kind, Service};

/// What a server is to be from now on, on the machine that it is on and under its id.
#[derive(Debug, Clone)]
pub struct Rebuild {
    /// Its name and hostname.
    pub name: String,
    /// Glance image id.
    pub image: String,
    /// Sent exactly as written. `None` takes away what is there: left out, it would be kept.
    pub user_data: Option<UserData>,
    /// In place of all that is there. At most 255 characters a value.
    pub metadata: BTreeMap<String, String>,
}

impl OpenStack {
    /// Nova `POST /servers/{id}/action`, `rebuild`: from the moment it is accepted the server is
    /// REBUILD and shows the new name, image and metadata, also when the machine fails it later; so
    /// a request id in the metadata tells whether it was accepted. It is done when the server is
    /// ACTIVE with no task and a `launched_at` newer than before. One that was SHUTOFF is ACTIVE for
    /// half a second and then SHUTOFF again: [`Self::start`] it then. One in ERROR can be rebuilt,
    /// if it was ever launched (facts: openstack §3, §4; Nova 26 and 31).
    ///
    /// Repeated while it runs it is a conflict; repeated later it is another rebuild, which wipes
    /// the machine again: look first. An error of [`Error::is_unknown`] may have been accepted.
    ///
    /// # Errors
    /// As [`Self::image`]. [`Kind::Locked`] until somebody unlocks it; [`Kind::Conflict`] when it is
    /// being built, rebuilt or deleted, is in a state that has no rebuild, or is gone: look again.
    pub async fn rebuild(&self, id: &ServerId, rebuild: &Rebuild) -> Result<(), Error> {
        self.act("rebuild server", id, &rebuild.body()).await
    }

    /// Nova `POST /servers/{id}/action`, `os-start`: a SHUTOFF server becomes ACTIVE, with the
    /// `launched_at` that it had. Safe to repeat: on one that is not SHUTOFF it is a conflict.
    ///
    /// # Errors
    /// As [`Self::rebuild`].
    pub async fn start(&self, id: &ServerId) -> Result<(), Error> {
        self.act("start server", id, &json!({"os-start": null})).await
    }

    async fn act(&self, operation: &'static str, id: &ServerId, body: &Value) -> Result<(), Error> {
        let path = ["servers", id.as_str(), "action"];
        let answer = self.nova(operation, Method::POST, &path, |r| r.json(body)).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        let kind = match message(&answer) {
            Some(gone) if is_missing(&answer) => Kind::Conflict(crate::excerpt(&gone)),
            _ => kind(&answer),
        };
        Err(answer.error(Service::Nova, operation, kind))
    }
}

impl Rebuild {
    fn body(&self) -> Value {
        json!({"rebuild": {
            "name": self.name,
            "hostname": self.name,
            "imageRef": self.image,
            "user_data": self.user_data.as_ref().map(UserData::as_base64),
            "metadata": self.metadata,
        }})
    }
}
