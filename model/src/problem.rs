//! The hub's errors: RFC 9457 problem documents.

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable, such as `urn:fleet:problem:scope-missing`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A sentence, the same for every problem of this type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// One entry a mistake of the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Invalid>,
}
