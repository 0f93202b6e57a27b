//! The bootstrap config: what makes a device of a role a SLURM node.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Features, Gres, Invalid, PrincipalId, Role, SiteId, UserData, user_data};

/// Where a node's record in SLURM comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeSource {
    /// slurm.conf.
    Static,
    /// The node registers itself (`slurmd -Z`), and must do so closed.
    Registers,
    /// The satellite creates it by REST (v0.0.44 and later; shown on SLURM 26.05).
    Created,
}

/// What a writer sends to `POST …/slurm-bootstrap-configs/`, unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapDraft {
    /// The role.
    pub device_role: String,
    /// Glance image: its id, or the name that one active image alone has. Null makes adoption of the
    /// role fail with `bootstrap.incomplete`. A UUID is an id and never looked for as a name. A name is
    /// resolved at each plan, and what a server runs is compared with the id that it stands for then:
    /// another image under the same name is a rebuild.
    #[serde(default)]
    pub image: Option<String>,
    /// Nova flavor: its id, else its name; null as with the image. Ids are free text, so what is one
    /// flavor's id and another's name is the first. A server shows its flavor's name alone, and that is
    /// what is compared.
    #[serde(default)]
    pub flavor: Option<String>,
    /// SLURM features the node must show.
    #[serde(default)]
    pub features: Vec<String>,
    /// GRES the node must show, in slurm.conf's syntax; empty for none.
    #[serde(default)]
    pub gres: String,
    /// cloud-init user-data in base64; null for an image that needs none.
    #[serde(default)]
    pub user_data: Option<UserData>,
    /// Where the node's record comes from.
    pub node_source: NodeSource,
}

/// A row, as the hub serves it. Unchecked: the worker checks it again with the same code, so that
/// one bad row spoils its own role alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootstrapConfig {
    /// The row's id.
    pub id: String,
    /// Its site.
    pub site_id: SiteId,
    /// What was written.
    #[serde(flatten)]
    pub draft: BootstrapDraft,
    /// Counts up with every change, from 1.
    pub revision: u64,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// By whom.
    pub updated_by: PrincipalId,
}

/// A row whose fields are all valid and all there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// The role.
    pub role: Role,
    /// Glance image, by id or name.
    pub image: String,
    /// Nova flavor, by id or name.
    pub flavor: String,
    /// Features the node must show.
    pub features: Features,
    /// GRES the node must show.
    pub gres: Gres,
    /// User-data, base64 as written.
    pub user_data: Option<UserData>,
    /// Where the node's record comes from.
    pub node_source: NodeSource,
    /// Its revision.
    pub revision: u64,
    /// What an operator should know, in a sentence each; adoption goes on.
    pub warnings: Vec<&'static str>,
}

/// Why a row cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incomplete {
    /// Fields that are null.
    #[error("role {role}: {} is null", .fields.join(" and "))]
    Null {
        /// The role.
        role: Role,
        /// The fields.
        fields: Vec<&'static str>,
    },
    /// Fields that are wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Invalid>),
}

impl BootstrapDraft {
    /// Checks every field and reports all mistakes together. A null image or flavor is no mistake
    /// here: people may write a row in two steps.
    ///
    /// # Errors
    /// One [`Invalid`] a mistake.
    pub fn check(&self) -> Result<(), Vec<Invalid>> {
        let mistakes: Vec<Invalid> = [
            Role::parse(&self.device_role).map(drop),
            reference("image", self.image.as_deref()),
            reference("flavor", self.flavor.as_deref()),
            Features::parse(&self.features).map(drop),
            Gres::parse(&self.gres).map(drop),
            self.user_data.as_ref().map_or(Ok(()), |u| u.decode().map(drop)),
        ]
        .into_iter()
        .filter_map(Result::err)
        .collect();
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }
}

impl BootstrapConfig {
    /// What adoption needs, checked again.
    ///
    /// # Errors
    /// [`Incomplete::Null`] names the role and the null fields; [`Incomplete::Invalid`] lists every
    /// mistake. Null comes first: it is what a half-written row has.
    pub fn complete(&self) -> Result<Complete, Incomplete> {
        let draft = &self.draft;
        let role = Role::parse(&draft.device_role).map_err(|e| Incomplete::Invalid(vec![e]))?;
        let (Some(image), Some(flavor)) = (draft.image.clone(), draft.flavor.clone()) else {
            let null = |field, value: &Option<String>| value.is_none().then_some(field);
            let fields = [null("image", &draft.image), null("flavor", &draft.flavor)];
            return Err(Incomplete::Null { role, fields: fields.into_iter().flatten().collect() });
        };
        draft.check().map_err(Incomplete::Invalid)?;
        let one = |e: Invalid| Incomplete::Invalid(vec![e]);
        let raw = draft.user_data.as_ref().map(UserData::decode).transpose().map_err(one)?;
        let told = draft.node_source != NodeSource::Static;
        Ok(Complete {
            role,
            image,
            flavor,
            features: Features::parse(&draft.features).map_err(one)?,
            gres: Gres::parse(&draft.gres).map_err(one)?,
            user_data: draft.user_data.clone(),
            node_source: draft.node_source,
            revision: self.revision,
            warnings: user_data::warnings(&raw.unwrap_or_default(), told),
        })
    }
}

/// OpenStack's names have up to 255 characters, of any script, and no space at either end.
fn reference(field: &str, value: Option<&str>) -> Result<(), Invalid> {
    let fine = |text: &str| {
        let length = text.chars().count();
        (1..=255).contains(&length) && text.trim() == text && !text.chars().any(char::is_control)
    };
    match value {
        Some(text) if !fine(text) => Err(Invalid::new(
            field,
            "is neither an id nor a name",
            format!("give the {field}'s id or name in OpenStack, or null until it is known"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BootstrapConfig {
        BootstrapConfig {
            id: "c1".to_owned(),
            site_id: SiteId::parse("lab").unwrap(),
            draft: BootstrapDraft {
                device_role: "gpu".to_owned(),
                image: Some("i-1".to_owned()),
                flavor: Some("f-1".to_owned()),
                features: vec!["dyn".to_owned()],
                gres: "gpu:h100:4".to_owned(),
                user_data: Some(UserData::encode(b"#cloud-config\n")),
                node_source: NodeSource::Registers,
            },
            revision: 3,
            updated_at: Timestamp::UNIX_EPOCH,
            updated_by: PrincipalId::parse("hpc").unwrap(),
        }
    }

    #[test]
    fn null_names_role_and_field() {
        let mut config = config();
        config.draft.flavor = None;
        assert_eq!(config.complete().unwrap_err().to_string(), "role gpu: flavor is null");
        config.draft.image = None;
        assert_eq!(config.complete().unwrap_err().to_string(), "role gpu: image and flavor is null");
    }

    #[test]
    fn all_mistakes_are_reported_together() {
        let mut draft = config().draft;
        draft.device_role = "g pu".to_owned();
        draft.image = Some(String::new());
        draft.features = vec!["a,b".to_owned()];
        draft.gres = "gpu:".to_owned();
        draft.user_data = Some(UserData::from("%".to_owned()));
        let fields: Vec<String> = draft.check().unwrap_err().into_iter().map(|i| i.field).collect();
        assert_eq!(fields, ["device_role", "image", "features", "gres", "user_data"]);
    }

    #[test]
    fn an_image_and_a_flavor_are_ids_or_names() {
        let long = "n".repeat(255);
        for fine in
            ["4c2d913a-123d-402a-892c-cb88177793e5", "Debian 13 (trixie)", "ubuntu/24.04", "für", &long]
        {
            assert_eq!(reference("image", Some(fine)), Ok(()), "{fine}");
        }
        for wrong in ["", " ", " debian", "debian ", "a\nb", "a\tb", &format!("{long}n")] {
            let said = reference("flavor", Some(wrong)).unwrap_err().to_string();
            let expected = "flavor: is neither an id nor a name; give the flavor's id or name in OpenStack, or \
                            null until it is known";
            assert_eq!(said, expected, "{wrong:?}");
        }
        assert_eq!(reference("image", None), Ok(()));
    }

    #[test]
    fn a_complete_row_is_as_written() {
        let complete = config().complete().unwrap();
        assert_eq!(complete.user_data, Some(UserData::encode(b"#cloud-config\n")));
        assert_eq!((complete.revision, complete.warnings.len()), (3, 1));
    }

    #[test]
    fn the_row_keeps_its_fields_on_the_wire() {
        let json = serde_json::to_value(config()).unwrap();
        assert_eq!(json["device_role"], "gpu");
        assert_eq!(json["node_source"], "registers");
        assert_eq!(serde_json::from_value::<BootstrapConfig>(json).unwrap(), config());
    }
}
