//! A change of a bootstrap config: JSON Merge Patch (RFC 7396) over what was written.
//!
//! *Invariant*: pure. What a row is called by and what the hub counts cannot be changed; saying so
//! is a mistake of its own, never ignored.

use model::{BootstrapDraft, Invalid, NodeSource, UserData};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// `PATCH …/slurm-bootstrap-configs/{id}`. A field that is absent is kept; null clears it, lists
/// are replaced whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Patch {
    #[serde(deserialize_with = "given")]
    image: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    flavor: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    features: Option<Option<Vec<String>>>,
    #[serde(deserialize_with = "given")]
    gres: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    user_data: Option<Option<UserData>>,
    #[serde(deserialize_with = "given")]
    node_source: Option<Option<NodeSource>>,
    // Sent or not; what was sent does not matter.
    #[serde(deserialize_with = "given")]
    id: Option<Option<Value>>,
    #[serde(deserialize_with = "given")]
    site_id: Option<Option<Value>>,
    #[serde(deserialize_with = "given")]
    device_role: Option<Option<Value>>,
    #[serde(deserialize_with = "given")]
    revision: Option<Option<Value>>,
    #[serde(deserialize_with = "given")]
    updated_at: Option<Option<Value>>,
    #[serde(deserialize_with = "given")]
    updated_by: Option<Option<Value>>,
}

/// Tells null from absent.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

impl Patch {
    /// What it asks that no row allows, all together.
    pub(crate) fn check(&self) -> Result<(), Vec<Invalid>> {
        let other = "leave it out; another role's row is written by POST";
        let fixed = [
            ("id", &self.id, "leave it out; the URL says which row"),
            ("site_id", &self.site_id, "leave it out; the URL says which site"),
            ("device_role", &self.device_role, other),
            ("revision", &self.revision, "leave it out and send it as If-Match; the hub counts it up"),
            ("updated_at", &self.updated_at, "leave it out; the hub notes it"),
            ("updated_by", &self.updated_by, "leave it out; the token says who"),
        ];
        let fixed = fixed.into_iter().filter(|(_, sent, _)| sent.is_some());
        let mut mistakes: Vec<Invalid> =
            fixed.map(|(field, _, remedy)| Invalid::new(field, "cannot be changed", remedy)).collect();
        if self.node_source == Some(None) {
            let remedy = "give `static`, `registers` or `created`, or leave it out to keep it";
            mistakes.push(Invalid::new("node_source", "cannot be cleared", remedy));
        }
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }

    /// The row's draft after the change, unchecked. What null clears is what it is in a POST that
    /// leaves the field out.
    pub(crate) fn over(self, have: &BootstrapDraft) -> BootstrapDraft {
        let have = have.clone();
        BootstrapDraft {
            device_role: have.device_role,
            image: self.image.unwrap_or(have.image),
            flavor: self.flavor.unwrap_or(have.flavor),
            features: self.features.map_or(have.features, Option::unwrap_or_default),
            gres: self.gres.map_or(have.gres, Option::unwrap_or_default),
            user_data: self.user_data.unwrap_or(have.user_data),
            node_source: self.node_source.flatten().unwrap_or(have.node_source),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(patch: Value) -> Value {
        let have = json!({
            "device_role": "gpu", "image": "i-1", "flavor": "f-1", "features": ["a", "b"], "gres": "gpu:4",
            "user_data": "IyE=", "node_source": "static",
        });
        let patch: Patch = serde_json::from_value(patch).unwrap();
        assert_eq!(patch.check(), Ok(()));
        serde_json::to_value(patch.over(&serde_json::from_value(have).unwrap())).unwrap()
    }

    #[test]
    fn absent_is_kept_null_clears_and_lists_are_replaced() {
        let mut row = patched(json!({}));
        assert_eq!((&row["image"], &row["features"]), (&json!("i-1"), &json!(["a", "b"])));
        for (field, value, comes_to) in [
            ("image", json!("i-2"), json!("i-2")),
            ("image", Value::Null, Value::Null),
            ("flavor", Value::Null, Value::Null),
            ("user_data", Value::Null, Value::Null),
            ("features", json!(["b"]), json!(["b"])),
            ("features", Value::Null, json!([])),
            ("gres", Value::Null, json!("")),
            ("node_source", json!("created"), json!("created")),
        ] {
            row = patched(json!({ field: value }));
            let mut kept = patched(json!({}));
            kept[field] = comes_to;
            assert_eq!(row, kept, "{field}");
        }
    }

    #[test]
    fn what_cannot_be_changed_is_refused_even_as_null() {
        let patch = json!({
            "id": null, "site_id": "lab", "device_role": "gpu", "revision": 2, "updated_at": 1,
            "updated_by": [], "node_source": null,
        });
        let patch: Patch = serde_json::from_value(patch).unwrap();
        let fields: Vec<String> = patch.check().unwrap_err().into_iter().map(|m| m.field).collect();
        let all = ["id", "site_id", "device_role", "revision", "updated_at", "updated_by", "node_source"];
        assert_eq!(fields, all);
    }
}
