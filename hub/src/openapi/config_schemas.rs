//! The shapes of a bootstrap config's changes, for the OpenAPI document alone.
#![expect(dead_code, reason = "read by their derived schemas")]

use utoipa::ToSchema;

use super::schemas::{BootstrapDraft, NodeSource};

/// JSON Merge Patch (RFC 7396): a field that is absent is kept, null clears it, lists are replaced
/// whole. Everything else of a row cannot be changed.
#[derive(ToSchema)]
pub(super) struct BootstrapPatch {
    /// Glance image, by id or by a name that one active image alone has; adoption of the role fails while
    /// it is null.
    image: Option<String>,
    /// Nova flavor, by id or name; adoption of the role fails while it is null.
    flavor: Option<String>,
    features: Option<Vec<String>>,
    gres: Option<String>,
    /// cloud-init user-data in strict base64.
    #[schema(max_length = 65532)]
    user_data: Option<String>,
    /// Cannot be cleared.
    #[schema(nullable = false)]
    node_source: Option<NodeSource>,
}

/// One change of a bootstrap config.
#[derive(ToSchema)]
pub(super) struct ConfigChange {
    /// The revision that it made.
    revision: u64,
    #[schema(format = DateTime)]
    changed_at: String,
    /// The principal.
    changed_by: String,
    /// What was there; null for the creation.
    #[schema(required)]
    before: Option<BootstrapDraft>,
    /// What was there from then on.
    after: BootstrapDraft,
}

/// A page of changes, newest first.
#[derive(ToSchema)]
pub(super) struct ConfigHistory {
    items: Vec<ConfigChange>,
    /// Pass it as `cursor`; null on the last page.
    #[schema(required)]
    next_cursor: Option<String>,
}
