//! One mistake in something a person or a program handed us.

use serde::{Deserialize, Serialize};

/// What is wrong with one field, and what to do about it.
///
/// The value itself is never part of it: a field may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}{}: {problem}; {remedy}", .position.map(|p| format!(" (position {p})")).unwrap_or_default())]
pub struct Invalid {
    /// The field's name as its writer knows it, such as `user_data`.
    pub field: String,
    /// Where in the value, counted in characters from 0, if that can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl Invalid {
    /// A mistake in `field` as a whole.
    pub fn new(field: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.to_owned(), position: None, problem: problem.into(), remedy: remedy.into() }
    }

    /// The same mistake, at this character of the value.
    #[must_use]
    pub fn at(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    /// The same mistake, in a field that is called `field` where it came from.
    #[must_use]
    pub fn named(mut self, field: &str) -> Self {
        field.clone_into(&mut self.field);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_line() {
        let invalid = Invalid::new("gres", "count is not a number", "write name:type:count").at(4);
        assert_eq!(invalid.to_string(), "gres (position 4): count is not a number; write name:type:count");
    }
}
