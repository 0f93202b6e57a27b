//! `GET /openapi.json`: the document, made of one table of operations.

mod config_schemas;
mod operation;
mod schemas;

use axum::Json;
use axum::http::StatusCode;
use utoipa::OpenApi;
use utoipa::openapi::path::HttpMethod;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Info, PathItem};

use crate::auth::Scope;
use crate::problem::Kind;

/// The shapes that operations name.
#[derive(OpenApi)]
#[openapi(components(schemas(
    schemas::Device,
    schemas::DevicePage,
    schemas::DevicePatch,
    schemas::ConditionList,
    schemas::ConditionPost,
    schemas::ConditionResults,
    schemas::PollPost,
    schemas::Claim,
    schemas::BootstrapDraft,
    schemas::BootstrapConfig,
    schemas::BootstrapConfigList,
    config_schemas::BootstrapPatch,
    config_schemas::ConfigHistory,
    schemas::StartRequest,
    schemas::RunView,
    schemas::RunList,
    schemas::Problem,
)))]
struct Shapes;

/// One operation under `/api/v1`: a row of the table.
struct Row {
    method: HttpMethod,
    path: &'static str,
    summary: &'static str,
    /// `None`: any principal of the site.
    scope: Option<Scope>,
    query: &'static [&'static str],
    body: Option<&'static str>,
    good: (StatusCode, &'static str),
    problems: &'static [Kind],
}

fn rows() -> [Row; 16] {
    use HttpMethod::{Get, Patch, Post};
    let ok = StatusCode::OK;
    let temporal = &[Kind::NotFound, Kind::TemporalUnavailable, Kind::TemporalRefused];
    let ending = &[Kind::NotFound, Kind::RunClosed, Kind::TemporalUnavailable, Kind::TemporalRefused];
    let row = |method, path, summary, scope, query, body, good, problems| Row {
        method,
        path,
        summary,
        scope,
        query,
        body,
        good,
        problems,
    };
    [
        row(
            Get,
            "/sites/{site}/devices/",
            "A page of the site's devices, by id",
            None,
            &["role", "limit", "cursor"],
            None,
            (ok, "DevicePage"),
            &[],
        ),
        row(
            Get,
            "/sites/{site}/devices/{device}",
            "One device",
            None,
            &[],
            None,
            (ok, "Device"),
            &[Kind::NotFound],
        ),
        row(
            Patch,
            "/devices/{device}",
            "Changes a device's node name and server",
            Some(Scope::DeviceUpdate),
            &[],
            Some("DevicePatch"),
            (ok, "Device"),
            &[Kind::NotFound],
        ),
        row(
            Get,
            "/sites/{site}/device-conditions/",
            "Every condition of the site",
            None,
            &[],
            None,
            (ok, "ConditionList"),
            &[],
        ),
        row(
            Post,
            "/sites/{site}/device-conditions/",
            "Writes the rows of one tick that differ",
            Some(Scope::DeviceConditionCreate),
            &[],
            Some("ConditionPost"),
            (ok, "ConditionResults"),
            &[Kind::TickOvertaken],
        ),
        row(
            Post,
            "/sites/{site}/polls/",
            "Claims a tick, or says that it ended well",
            Some(Scope::DeviceConditionCreate),
            &[],
            Some("PollPost"),
            (ok, "Claim"),
            &[Kind::TickOvertaken, Kind::TickUnclaimed],
        ),
        row(
            Get,
            "/sites/{site}/slurm-bootstrap-configs/",
            "The site's bootstrap configs, or a role's",
            Some(Scope::BootstrapConfigRead),
            &["device_role"],
            None,
            (ok, "BootstrapConfigList"),
            &[],
        ),
        row(
            Post,
            "/sites/{site}/slurm-bootstrap-configs/",
            "Writes a role's first bootstrap config",
            Some(Scope::BootstrapConfigCreate),
            &[],
            Some("BootstrapDraft"),
            (StatusCode::CREATED, "BootstrapConfig"),
            &[Kind::ConfigExists],
        ),
        row(
            Get,
            "/sites/{site}/slurm-bootstrap-configs/{id}",
            "One bootstrap config, with its ETag",
            Some(Scope::BootstrapConfigRead),
            &[],
            None,
            (ok, "BootstrapConfig"),
            &[Kind::NotFound],
        ),
        row(
            Patch,
            "/sites/{site}/slurm-bootstrap-configs/{id}",
            "Changes a bootstrap config (RFC 7396); where nothing differs it keeps its revision",
            Some(Scope::BootstrapConfigUpdate),
            &[],
            Some("BootstrapPatch"),
            (ok, "BootstrapConfig"),
            &[Kind::NotFound, Kind::PreconditionRequired, Kind::RevisionMoved],
        ),
        row(
            Get,
            "/sites/{site}/slurm-bootstrap-configs/{id}/history",
            "A page of the changes of a bootstrap config, newest first",
            Some(Scope::BootstrapConfigRead),
            &["limit", "cursor"],
            None,
            (ok, "ConfigHistory"),
            &[Kind::NotFound],
        ),
        row(
            Get,
            "/sites/{site}/devices/{device}/workflows/",
            "The device's latest runs, newest first",
            Some(Scope::WorkflowRead),
            &[],
            None,
            (ok, "RunList"),
            temporal,
        ),
        row(
            Post,
            "/sites/{site}/devices/{device}/workflows/",
            "Starts a workflow; 200 with the run when the same request came before; `force` needs the scope \
             device-workflow:force too",
            Some(Scope::WorkflowStart),
            &[],
            Some("StartRequest"),
            (StatusCode::CREATED, "RunView"),
            &[
                Kind::NotFound,
                Kind::DeviceBusy,
                Kind::KeyReused,
                Kind::TemporalUnavailable,
                Kind::TemporalRefused,
            ],
        ),
        row(
            Get,
            "/sites/{site}/devices/{device}/workflows/{run}",
            "One run",
            Some(Scope::WorkflowRead),
            &[],
            None,
            (ok, "RunView"),
            temporal,
        ),
        row(
            Post,
            "/sites/{site}/devices/{device}/workflows/{run}/stop",
            "Ends a run at its next closed point: what is closed stays closed, a node that is being opened is \
             opened",
            Some(Scope::WorkflowCancel),
            &[],
            None,
            (StatusCode::ACCEPTED, "RunView"),
            ending,
        ),
        row(
            Post,
            "/sites/{site}/devices/{device}/workflows/{run}/cancel",
            "Cancels a run where it is",
            Some(Scope::WorkflowCancel),
            &[],
            None,
            (StatusCode::ACCEPTED, "RunView"),
            ending,
        ),
    ]
}

/// Serves the document.
pub(crate) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(build())
}

fn build() -> utoipa::openapi::OpenApi {
    let mut document = Shapes::openapi();
    document.info = Info::new("Fleet Manager", "1");
    document.info.description =
        Some("Errors are RFC 9457 problem documents. Tokens: POST /oauth/token (RFC 6749, RFC 7523).".into());
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    document.components.get_or_insert_default().add_security_scheme("bearer", bearer);
    for row in rows() {
        let path = format!("/api/v1{}", row.path);
        let item = PathItem::new(row.method.clone(), operation::of(&row));
        match document.paths.paths.get_mut(&path) {
            Some(have) => have.merge_operations(item),
            None => drop(document.paths.paths.insert(path, item)),
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_reviewed() {
        insta::assert_json_snapshot!(build());
    }

    #[test]
    fn every_named_shape_is_there() {
        let document = build();
        let shapes = document.components.unwrap().schemas;
        for row in rows() {
            assert!(shapes.contains_key(row.good.1) && row.body.is_none_or(|b| shapes.contains_key(b)));
        }
    }
}
