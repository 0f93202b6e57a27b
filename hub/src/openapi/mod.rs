//! `GET /openapi.json`: the document, made of one table of operations.

mod schemas;

use axum::Json;
use axum::http::StatusCode;
use utoipa::OpenApi;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, Info, ObjectBuilder, PathItem, Ref, RefOr, Required, ResponseBuilder, Type,
};

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

const COMMON: [Kind; 4] = [Kind::Unauthenticated, Kind::OtherSite, Kind::Invalid, Kind::Internal];
const BODY: [Kind; 3] = [Kind::MalformedJson, Kind::MediaType, Kind::BodyTooLarge];

fn rows() -> [Row; 11] {
    use HttpMethod::{Get, Patch, Post};
    let ok = StatusCode::OK;
    let temporal = &[Kind::NotFound, Kind::TemporalUnavailable, Kind::TemporalRefused];
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
            "Starts a workflow; 200 with the run when the same request came before",
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
        let item = PathItem::new(row.method.clone(), operation(&row));
        match document.paths.paths.get_mut(&path) {
            Some(have) => have.merge_operations(item),
            None => drop(document.paths.paths.insert(path, item)),
        }
    }
    document
}

fn operation(row: &Row) -> OperationBuilder {
    let scope = row.scope.map(Scope::as_str);
    let described =
        scope.map_or("Any principal of the site.".to_owned(), |s| format!("Needs the scope `{s}`."));
    let reference = |name: &str| RefOr::Ref(Ref::from_schema_name(name));
    let content = |name: &str| ContentBuilder::new().schema(Some(reference(name))).build();
    let (status, shape) = row.good;
    let good = ResponseBuilder::new().description(shape).content("application/json", content(shape));
    let mut operation = OperationBuilder::new()
        .summary(Some(row.summary))
        .description(Some(described))
        .security(SecurityRequirement::new("bearer", scope))
        .response(status.as_str(), good);
    let in_path = row.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    for name in in_path {
        operation = operation.parameter(parameter(name, ParameterIn::Path, Required::True));
    }
    for name in row.query {
        operation = operation.parameter(parameter(name, ParameterIn::Query, Required::False));
    }
    if row.scope == Some(Scope::WorkflowStart) {
        operation = operation.parameter(parameter("Idempotency-Key", ParameterIn::Header, Required::True));
    }
    let mut kinds: Vec<Kind> = COMMON.iter().chain(row.problems).copied().collect();
    kinds.extend(row.scope.map(|_| Kind::ScopeMissing));
    if let Some(body) = row.body {
        kinds.extend(BODY);
        let body = RequestBodyBuilder::new().content("application/json", content(body));
        operation = operation.request_body(Some(body.required(Some(Required::True)).build()));
    }
    let mut statuses: Vec<StatusCode> = kinds.iter().map(|k| k.row().1).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let slugs: Vec<&str> = kinds.iter().map(|k| k.row()).filter(|r| r.1 == status).map(|r| r.0).collect();
        let problem = ResponseBuilder::new().description(slugs.join(", "));
        let problem = problem.content("application/problem+json", content("Problem"));
        operation = operation.response(status.as_str(), problem);
    }
    operation
}

fn parameter(name: &str, place: ParameterIn, required: Required) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).build();
    ParameterBuilder::new().name(name).parameter_in(place).required(required).schema(Some(text)).build()
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
