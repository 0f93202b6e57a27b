//! SLURM feature lists.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// A set of SLURM features, in alphabetical order. May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Features(BTreeSet<String>);

impl Features {
    /// Checks each feature: letters, digits, and `_ - . : / + @`, at most 64 characters. SLURM's
    /// own operators (`,`, `&`, `|`, brackets) and anything that could end a line are refused.
    ///
    /// # Errors
    /// [`Invalid`] with the position of the feature in the list.
    pub fn parse<S: AsRef<str>>(list: &[S]) -> Result<Self, Invalid> {
        let remedy = "use letters, digits and `_ - . : / + @`, up to 64 characters a feature";
        let mut set = BTreeSet::new();
        for (at, feature) in list.iter().map(AsRef::as_ref).enumerate() {
            let fault = |problem: &str| Invalid::new("features", problem, remedy).at(at);
            if feature.is_empty() {
                return Err(fault("holds an empty feature"));
            }
            if feature.len() > 64 {
                return Err(fault("holds a feature of more than 64 characters"));
            }
            if !feature.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/+@".contains(c)) {
                return Err(fault("holds a feature with a character that is not allowed"));
            }
            if !set.insert(feature.to_owned()) {
                return Err(Invalid::new("features", "names a feature twice", "name it once").at(at));
            }
        }
        Ok(Self(set))
    }

    /// The features in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As SLURM's configuration writes them: `a,b`.
    #[must_use]
    pub fn to_csv(&self) -> String {
        self.iter().collect::<Vec<_>>().join(",")
    }

    /// Those of ours that `shown` (a node's features) lacks; others' features do not matter.
    pub fn missing_from(&self, shown: &[String]) -> Vec<String> {
        self.0.iter().filter(|f| !shown.contains(f)).cloned().collect()
    }
}

impl TryFrom<Vec<String>> for Features {
    type Error = Invalid;
    fn try_from(list: Vec<String>) -> Result<Self, Invalid> {
        Self::parse(&list)
    }
}

impl From<Features> for Vec<String> {
    fn from(features: Features) -> Self {
        features.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_break_out_is_refused_with_its_place() {
        for bad in ["a,b", "a&b", "a b", "a\nb", "a|b", "a[0]", "a=b", "a'b", "a\"b", "", "ä"] {
            let invalid = Features::parse(&["ok", bad]).unwrap_err();
            assert_eq!((invalid.field.as_str(), invalid.position), ("features", Some(1)), "{bad:?}");
        }
    }

    #[test]
    fn only_ours_must_be_shown() {
        let ours = Features::parse(&["dyn", "h100"]).unwrap();
        assert_eq!(ours.to_csv(), "dyn,h100");
        assert!(ours.missing_from(&["h100".into(), "rack7".into(), "dyn".into()]).is_empty());
        assert_eq!(ours.missing_from(&["dyn".into()]), ["h100"]);
    }
}
