//! Node names: SLURM's rules, Nova's rules, and how a device gets its name.

use serde::{Deserialize, Serialize};

use crate::{Device, Invalid};

/// A SLURM node's name. Compared exactly, never by prefix and never case-folded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(String);

impl NodeName {
    /// Checks `text` against what slurm.conf accepts as one node's name.
    ///
    /// # Errors
    /// [`Invalid`] for a hostlist (`n[1-2]`, `a,b`), white space, or more than 64 characters.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let remedy = "name one node with 1 to 64 letters, digits, `-`, `_` and `.`, a letter or digit first";
        let fault = |problem: &str| Invalid::new("slurm_node_name", problem, remedy);
        if text.is_empty() {
            return Err(fault("is empty"));
        }
        if text.len() > 64 {
            return Err(fault("is longer than 64 characters"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(fault("starts with a character that is not allowed").at(0));
        }
        match text.chars().position(|c| !(c.is_ascii_alphanumeric() || "-_.".contains(c))) {
            Some(at) => Err(fault("holds a character that is not allowed").at(at)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a hostname that Nova stores unaltered: the guest learns its node name from it.
    ///
    /// Nova lower-cases a display name, turns `_` into `-` and cuts at a dot, and at microversion
    /// 2.90 refuses a hostname with a dot (facts: openstack §4).
    ///
    /// # Errors
    /// [`Invalid`] when Nova would alter or refuse it.
    pub fn hostname(&self) -> Result<&str, Invalid> {
        let same = self.0.len() <= 63
            && !self.0.ends_with('-')
            && self.0.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if same {
            Ok(&self.0)
        } else {
            Err(Invalid::new(
                "slurm_node_name",
                format!("`{}` is not a hostname that Nova keeps as it is", self.0),
                "use up to 63 lower-case letters, digits and `-` inside, in SLURM and in the hub",
            ))
        }
    }
}

impl std::fmt::Display for NodeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for NodeName {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl TryFrom<String> for NodeName {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<NodeName> for String {
    fn from(name: NodeName) -> Self {
        name.0
    }
}

/// How a site names the node of a device that has no `slurm_node_name`: text with `{name}` or
/// `{id}` in it, such as `{name}` (the default) or `gpu-{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTemplate(String);

impl Default for NodeTemplate {
    fn default() -> Self {
        Self("{name}".to_owned())
    }
}

impl NodeTemplate {
    /// Checks and keeps a template.
    ///
    /// # Errors
    /// [`Invalid`] when it names neither the device's name nor its id (all devices would share a
    /// node), or when what stands around them cannot be part of a node name.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let remedy = "write a node name with `{name}` or `{id}` in it, such as `{name}`";
        if !text.contains("{name}") && !text.contains("{id}") {
            return Err(Invalid::new("node_template", "holds neither `{name}` nor `{id}`", remedy));
        }
        NodeName::parse(&text.replace("{name}", "n").replace("{id}", "1"))
            .map_err(|e| Invalid::new("node_template", e.problem, remedy))?;
        Ok(Self(text.to_owned()))
    }

    /// The node of a device: its own `slurm_node_name`, else what the template makes of it.
    ///
    /// # Errors
    /// [`Invalid`] when the template and the device's name make no valid node name.
    pub fn node_of(&self, device: &Device) -> Result<NodeName, Invalid> {
        match &device.slurm_node_name {
            Some(name) => Ok(name.clone()),
            None => {
                NodeName::parse(&self.0.replace("{name}", &device.name).replace("{id}", device.id.as_str()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::device;

    #[test]
    fn a_hostlist_is_not_a_node() {
        for text in ["n[1-2]", "a,b", "a b", "", "-a", &"a".repeat(65)] {
            assert!(NodeName::parse(text).is_err(), "{text}");
        }
        assert_eq!(NodeName::parse("rack1_n2.x-3").unwrap().as_str(), "rack1_n2.x-3");
    }

    #[test]
    fn names_that_nova_would_alter_are_refused() {
        for text in ["GPU-1", "gpu_1", "gpu.site", "gpu-", &"a".repeat(64)] {
            assert!(NodeName::parse(text).unwrap().hostname().is_err(), "{text}");
        }
        assert_eq!(NodeName::parse("gpu-001").unwrap().hostname().unwrap(), "gpu-001");
    }

    #[test]
    fn a_template_names_what_has_no_name() {
        let mut device = device("d-1");
        device.name = "h7".to_owned();
        let template = NodeTemplate::parse("gpu-{name}").unwrap();
        assert_eq!(template.node_of(&device).unwrap().as_str(), "gpu-h7");
        device.slurm_node_name = Some(NodeName::parse("own").unwrap());
        assert_eq!(template.node_of(&device).unwrap().as_str(), "own");
    }

    #[test]
    fn a_template_without_the_device_is_refused() {
        assert_eq!(NodeTemplate::parse("gpu").unwrap_err().problem, "holds neither `{name}` nor `{id}`");
        assert!(NodeTemplate::parse("{name}[1]").is_err());
    }
}
