//! The name of a test.

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The name of a test: 1 to 40 lower-case letters, digits and dashes. It is a part of the keys in the
/// job's comment (`NAME.exit=0`), so it holds no dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TestName(String);

impl TestName {
    /// The longest accepted length, in characters.
    pub const MAX: usize = 40;

    /// Checks and keeps `text`.
    ///
    /// # Errors
    /// [`Invalid`] when it is empty, too long, or holds another character.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let remedy = "use 1 to 40 lower-case letters, digits and `-`";
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() {
            return Err(Invalid::new("name", "is empty", remedy));
        }
        if let Some(at) = text.chars().position(|c| !allowed(c)) {
            return Err(Invalid::new("name", "holds a character that is not allowed", remedy).at(at));
        }
        if text.len() > Self::MAX {
            return Err(Invalid::new("name", format!("is {} characters long", text.len()), remedy));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TestName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TestName {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<TestName> for String {
    fn from(name: TestName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_break_out_of_the_job_is_no_name() {
        for bad in ["", "Disk", "a b", "a.b", "a=b", "a,b", "a/b", "a$b", "a\nb", "ä"] {
            assert_eq!(TestName::parse(bad).unwrap_err().field, "name", "{bad:?}");
        }
        assert_eq!(TestName::parse(&"a".repeat(41)).unwrap_err().problem, "is 41 characters long");
        assert_eq!(TestName::parse("cpu-memory2").unwrap().as_str(), "cpu-memory2");
    }
}
