//! Lists that come in pages.
//!
//! *Invariant*: a list is whole or an error: one that was cut short would make what it lacks absent.

use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::OpenStack;
use crate::{Error, Kind, Service};

/// More pages than any project has.
const PAGES: usize = 1_000;

/// Something that a list holds.
pub(super) trait Item: DeserializeOwned + Send {
    /// By which the page after it is asked for.
    fn marker(&self) -> &str;
}

impl Item for super::Image {
    fn marker(&self) -> &str {
        &self.id
    }
}

impl Item for super::Flavor {
    fn marker(&self) -> &str {
        &self.id
    }
}

impl Item for super::Server {
    fn marker(&self) -> &str {
        self.id.as_str()
    }
}

/// A page: Nova links to the next one in a list of links, Glance by a field.
#[derive(Deserialize)]
struct Page<T> {
    #[serde(alias = "servers", alias = "flavors", alias = "images")]
    items: Vec<T>,
    #[serde(default, alias = "servers_links", alias = "flavors_links")]
    links: Vec<Link>,
    #[serde(default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Link {
    rel: String,
}

impl<T> Page<T> {
    fn has_next(&self) -> bool {
        self.next.is_some() || self.links.iter().any(|l| l.rel == "next")
    }
}

impl OpenStack {
    /// Every page of a list. A last page that is full has a next one, which is empty (facts:
    /// openstack §3).
    ///
    /// # Errors
    /// As [`OpenStack::image`]; [`Kind::Malformed`] when pages do not end.
    pub(super) async fn pages<T: Item>(
        &self,
        service: Service,
        operation: &'static str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, Error> {
        let mut items: Vec<T> = Vec::new();
        let mut marker: Option<String> = None;
        for _ in 0..PAGES {
            let after = marker.as_deref().map(|m| ("marker", m));
            let query: Vec<(&str, &str)> = query.iter().copied().chain(after).collect();
            let answer = match service {
                Service::Nova => self.nova(operation, Method::GET, path, |r| r.query(&query)).await?,
                _ => self.call(service, operation, Method::GET, path, |r| r.query(&query)).await?,
            };
            let page: Page<T> = self.success(service, operation, &answer)?;
            let last = page.items.last().map(|i| i.marker().to_owned());
            let more = page.has_next();
            items.extend(page.items);
            match (more, last) {
                (false, _) | (true, None) => return Ok(items),
                (true, last) if last == marker => break,
                (true, last) => marker = last,
            }
        }
        Err(Error::new(service, operation, Kind::Malformed("pages that do not end".to_owned())))
    }
}
