//! Flavors, by id and by name.

use reqwest::Method;
use serde::Deserialize;

use super::OpenStack;
use crate::{Error, Service};

/// A Nova flavor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Flavor {
    /// Its id: what a new server must be given.
    pub id: String,
    /// Its name, which is all that a server shows of it. No other flavor has it.
    pub name: String,
}

impl OpenStack {
    /// Nova `GET /flavors/{id}`; `None` when there is no such flavor that may be seen.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub async fn flavor(&self, id: &str) -> Result<Option<Flavor>, Error> {
        const OPERATION: &str = "get flavor";
        #[derive(Deserialize)]
        struct Body {
            flavor: Flavor,
        }
        let answer = self.nova(OPERATION, Method::GET, &["flavors", id], |r| r).await?;
        Ok(self.unless_missing::<Body>(Service::Nova, OPERATION, &answer)?.map(|b| b.flavor))
    }

    /// The flavor that is meant: the one of this id, which is free text, else the one of exactly
    /// this name, from Nova `GET /flavors/detail`. One that is another's id and its own name loses.
    ///
    /// # Errors
    /// As [`Self::image`]; [`Kind::Malformed`](crate::Kind::Malformed) when pages do not end.
    pub async fn flavor_called(&self, id_or_name: &str) -> Result<Option<Flavor>, Error> {
        if may_be_id(id_or_name)
            && let Some(flavor) = self.flavor(id_or_name).await?
        {
            return Ok(Some(flavor));
        }
        let flavors: Vec<Flavor> =
            self.pages(Service::Nova, "list flavors", &["flavors", "detail"], &[]).await?;
        Ok(flavors.into_iter().find(|f| f.name == id_or_name))
    }
}

/// Nova lets an id have these characters alone (Nova 31, schemas/flavors.py). A path's dots would
/// not be sent as they are.
fn may_be_id(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || ". _-".contains(c);
    text.chars().all(fine) && !text.is_empty() && ![".", "..", "detail"].contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_an_id_is_not_asked_for_as_one() {
        for (text, expected) in
            [("bm.small", true), ("a b", true), ("gpu/h100", false), ("..", false), ("détail", false)]
        {
            assert_eq!(may_be_id(text), expected, "{text}");
        }
    }
}
