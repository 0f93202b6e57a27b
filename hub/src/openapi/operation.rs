//! One operation of the document, from its row of the table.

use axum::http::StatusCode;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{ContentBuilder, Object, ObjectBuilder, Ref, RefOr, Required, ResponseBuilder, Type};

use super::Row;
use crate::auth::Scope;
use crate::body::{JSON, MERGE_PATCH};
use crate::problem::Kind;

/// How a reader of the list knows what to send.
const IF_MATCH: &str =
    "The row's ETag, which is its revision in quotes: `\"3\"` for a row with `revision` 3. `*` is refused.";

const COMMON: [Kind; 4] = [Kind::Unauthenticated, Kind::OtherSite, Kind::Invalid, Kind::Internal];
const BODY: [Kind; 3] = [Kind::MalformedJson, Kind::MediaType, Kind::BodyTooLarge];

/// What a row of the table says, in OpenAPI's words.
pub(super) fn of(row: &Row) -> OperationBuilder {
    let scope = row.scope.map(Scope::as_str);
    let described =
        scope.map_or("Any principal of the site.".to_owned(), |s| format!("Needs the scope `{s}`."));
    let reference = |name: &str| RefOr::Ref(Ref::from_schema_name(name));
    let content = |name: &str| ContentBuilder::new().schema(Some(reference(name))).build();
    let (status, shape) = row.good;
    let mut good = ResponseBuilder::new().description(shape).content(JSON, content(shape));
    if shape == "BootstrapConfig" {
        let tag =
            HeaderBuilder::new().schema(Some(text())).description(Some("The row's revision, in quotes."));
        good = good.header("ETag", tag.build());
    }
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
    if row.scope == Some(Scope::BootstrapConfigUpdate) {
        let mut tag = parameter("If-Match", ParameterIn::Header, Required::True);
        tag.description = Some(IF_MATCH.to_owned());
        operation = operation.parameter(tag);
    }
    let mut kinds: Vec<Kind> = COMMON.iter().chain(row.problems).copied().collect();
    kinds.extend(row.scope.map(|_| Kind::ScopeMissing));
    if let Some(body) = row.body {
        kinds.extend(BODY);
        let mut request = RequestBodyBuilder::new().content(JSON, content(body));
        if row.method == HttpMethod::Patch {
            request = request.content(MERGE_PATCH, content(body));
        }
        operation = operation.request_body(Some(request.required(Some(Required::True)).build()));
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
    ParameterBuilder::new().name(name).parameter_in(place).required(required).schema(Some(text())).build()
}

fn text() -> Object {
    ObjectBuilder::new().schema_type(Type::String).build()
}
