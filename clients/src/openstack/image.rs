//! Images, by id and by name.

use reqwest::Method;
use serde::Deserialize;
use uuid::Uuid;

use super::OpenStack;
use crate::{Error, Service};

/// A Glance image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Image {
    /// Its id: what a server shows of its image, and what a new one must be given.
    pub id: String,
    /// Its name; not unique.
    #[serde(default)]
    pub name: Option<String>,
    /// `active` when it can be booted.
    pub status: String,
}

impl OpenStack {
    /// Glance `GET /v2/images/{id}`; `None` when there is no such image that may be seen.
    ///
    /// # Errors
    /// What HTTP brings, and the service's words, cut and masked. So in every call here.
    pub async fn image(&self, id: &str) -> Result<Option<Image>, Error> {
        const OPERATION: &str = "get image";
        let answer = self.call(Service::Glance, OPERATION, Method::GET, &["v2", "images", id], |r| r).await?;
        self.unless_missing(Service::Glance, OPERATION, &answer)
    }

    /// Every image that may be meant: of a UUID, [`Self::image`] alone, whatever its status; of
    /// anything else, Glance `GET /v2/images?name=&status=active`: all active images of exactly this
    /// name, of which there may be several. None is no error.
    ///
    /// # Errors
    /// As [`Self::image`]; [`Kind::Malformed`](crate::Kind::Malformed) when pages do not end.
    pub async fn images_called(&self, id_or_name: &str) -> Result<Vec<Image>, Error> {
        if is_id(id_or_name) {
            return Ok(self.image(id_or_name).await?.into_iter().collect());
        }
        let query = [("name", id_or_name), ("status", "active")];
        let mut images: Vec<Image> =
            self.pages(Service::Glance, "list images", &["v2", "images"], &query).await?;
        // `in:a,b` as a name is a list of names to Glance
        images.retain(|i| i.name.as_deref() == Some(id_or_name));
        Ok(images)
    }
}

/// Glance makes its ids so; a name of this shape is not looked for.
fn is_id(text: &str) -> bool {
    Uuid::try_parse(text).is_ok_and(|id| id.hyphenated().to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_as_glance_writes_it() {
        for (text, expected) in [
            ("4c2d913a-123d-402a-892c-cb88177793e5", true),
            ("4c2d913a123d402a892ccb88177793e5", false),
            ("{4c2d913a-123d-402a-892c-cb88177793e5}", false),
            ("4C2D913A-123D-402A-892C-CB88177793E5", false),
            ("debian-13", false),
            ("", false),
        ] {
            assert_eq!(is_id(text), expected, "{text}");
        }
    }
}
