//! Reservations: listed on every release, made and deleted from 26.05 on.

use std::collections::HashSet;

use model::NodeName;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::decode::{list, named, number};
use super::dialect::RESERVATIONS;
use super::job::{hosts, words};
use super::{Creation, Slurm, decode, fits_in_a_path, number as code};
use crate::{Error, Kind, Service};

/// What we use of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// Who may run jobs in it.
    pub users: Vec<String>,
    /// The nodes in it.
    pub nodes: HashSet<String>,
    /// When it starts, in seconds of Unix time; 0 where it is not said.
    pub start_time: i64,
    /// When it ends, in seconds of Unix time; the largest number where it is not said.
    pub end_time: i64,
    /// Its flags, upper-cased, such as `MAINT`, `IGNORE_JOBS`, `SPEC_NODES`.
    pub flags: Vec<String>,
}

/// A reservation that keeps everybody but one user off one node, from now on: `MAINT` and
/// `IGNORE_JOBS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReservation {
    /// Its name.
    pub name: String,
    /// Who may run jobs in it.
    pub user: String,
    /// The node.
    pub node: NodeName,
    /// How long it is to last, in seconds. SLURM counts minutes: it lasts to the next full one.
    pub seconds: u64,
}

impl Slurm {
    /// `GET /slurm/{v}/reservations`: those that are, and those that are to come. None is an empty list.
    ///
    /// # Errors
    /// [`Kind::Malformed`] when the nodes of one cannot be read: they might be the ones that matter.
    pub async fn reservations(&self) -> Result<Vec<Reservation>, Error> {
        const OPERATION: &str = "list reservations";
        let answer = self.get(OPERATION, "reservations").await?;
        Reservation::decode(&self.success(OPERATION, &answer)?)
            .map_err(|what| answer.error(Service::Slurm, OPERATION, Kind::Malformed(what)))
    }

    /// `POST /slurm/{v}/reservation`, which changes a reservation of that name where there is one: so
    /// [`Slurm::reservations`] is asked first, and one that is there is left as it is. It starts by
    /// slurmctld's own clock, for which `GET /slurm/{v}/diag` is asked: a start to come would leave the
    /// node open until then. Safe to repeat. Read it back: the nodes show `RESERVED` and `MAINTENANCE` up
    /// to 10 s later (facts: slurm §6, §8, §12).
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version has no such call; [`Kind::Forbidden`] when the token's user
    /// may not; [`Kind::Conflict`] when the node is busy in a way that `IGNORE_JOBS` does not cover;
    /// [`Kind::Rejected`] with slurmctld's words: a user that it does not know is "Unspecified error".
    pub async fn create_reservation(&self, new: &NewReservation) -> Result<Creation, Error> {
        const OPERATION: &str = "create reservation";
        self.able(OPERATION, &RESERVATIONS).await?;
        fits_in_a_path(OPERATION, &new.name)?;
        if self.reservations().await?.iter().any(|r| r.name == new.name) {
            return Ok(Creation::Exists);
        }
        let body = json!({
            "name": new.name,
            "start_time": {"set": true, "number": self.now().await?},
            "duration": {"set": true, "number": new.seconds.div_ceil(60).max(1)},
            "users": [new.user],
            "node_list": [new.node],
            "flags": ["MAINT", "IGNORE_JOBS"],
        });
        let build = |r: RequestBuilder| r.json(&body);
        let answer = self.call(OPERATION, &self.user, Method::POST, "reservation", build).await?;
        if decode::error_numbers(&answer) == [code::RESERVATION_STARTED] {
            return Ok(Creation::Exists);
        }
        self.success(OPERATION, &answer).map(|_| Creation::Created)
    }

    /// `DELETE /slurm/{v}/reservation/{name}`. False: there was none. Safe to repeat.
    ///
    /// # Errors
    /// [`Kind::TooOld`] where the version has no such call; [`Kind::Conflict`] when a job runs in it or
    /// waits for it; [`Kind::Forbidden`] when the token's user may not.
    pub async fn delete_reservation(&self, name: &str) -> Result<bool, Error> {
        const OPERATION: &str = "delete reservation";
        self.able(OPERATION, &RESERVATIONS).await?;
        fits_in_a_path(OPERATION, name)?;
        let path = format!("reservation/{name}");
        let answer = self.call(OPERATION, &self.user, Method::DELETE, &path, |r| r).await?;
        if decode::error_numbers(&answer) == [code::UNKNOWN_RESERVATION] {
            return Ok(false);
        }
        self.success(OPERATION, &answer).map(|_| true)
    }

    /// slurmctld's clock: `req_time` of `GET /slurm/{v}/diag`, in seconds of Unix time.
    ///
    /// # Errors
    /// [`Kind::Malformed`] where it is not said.
    pub async fn now(&self) -> Result<i64, Error> {
        const OPERATION: &str = "read slurmctld's clock";
        let answer = self.get(OPERATION, "diag").await?;
        let body = self.success(OPERATION, &answer)?;
        body.get("statistics").and_then(|s| number(s, "req_time")).filter(|now| *now > 0).ok_or_else(|| {
            answer.error(Service::Slurm, OPERATION, Kind::Malformed("no `statistics.req_time`".to_owned()))
        })
    }
}

impl Reservation {
    pub(super) fn decode(body: &Value) -> Result<Vec<Self>, String> {
        let raw = body.get("reservations").and_then(Value::as_array).ok_or("no `reservations` list")?;
        raw.iter().map(|r| Self::decode_one(r).ok_or_else(|| named("reservation", r))).collect()
    }

    fn decode_one(raw: &Value) -> Option<Self> {
        raw.get("node_list")?;
        Some(Self {
            name: raw.get("name")?.as_str()?.to_owned(),
            users: list(raw, "users")?,
            nodes: hosts(raw, "node_list")?.into_iter().collect(),
            start_time: number(raw, "start_time").unwrap_or(0),
            end_time: number(raw, "end_time").unwrap_or(i64::MAX),
            flags: words(list(raw, "flags")?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_in_every_shape() {
        let set = |n: i64| json!({"set": true, "infinite": false, "number": n});
        let expected = Reservation {
            name: "burn".to_owned(),
            users: vec!["root".to_owned(), "alice".to_owned()],
            nodes: HashSet::from(["n1".to_owned(), "n2".to_owned()]),
            start_time: 10,
            end_time: 20,
            flags: vec!["MAINT".to_owned()],
        };
        for (users, nodes, start, end, flags) in [
            (json!("root,alice"), json!("n[1-2]"), json!(10), json!(20), json!("MAINT")),
            (json!(["root", "alice"]), json!(["n1", "n2"]), set(10), set(20), json!(["maint"])),
        ] {
            let raw = json!({"name": "burn", "users": users, "node_list": nodes, "start_time": start,
                "end_time": end, "flags": flags});
            assert_eq!(Reservation::decode_one(&raw), Some(expected.clone()), "{raw}");
        }
        let endless = json!({"name": "r", "node_list": null, "end_time": 4_294_967_294_u64});
        let endless = Reservation::decode_one(&endless).unwrap();
        assert_eq!((endless.nodes.len(), endless.start_time, endless.end_time), (0, 0, i64::MAX));
    }

    #[test]
    fn nodes_that_cannot_be_read_are_no_reservation_without_nodes() {
        for nodes in [json!("n[1"), json!(7), json!([7])] {
            assert_eq!(Reservation::decode_one(&json!({"name": "r", "node_list": nodes})), None, "{nodes}");
        }
        assert_eq!(Reservation::decode_one(&json!({"name": "r"})), None);
    }
}
