//! Every refusal: RFC 9457 problem documents.
//!
//! *Invariant*: what a caller reads here is our own words. A value that was sent, a source error, a
//! token never is; sources go to the log, once, where they become a problem.

use std::error::Error;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Invalid, Problem};

/// Which problem. A row a kind: its slug, its status, its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No token, or one that is not valid (any more).
    Unauthenticated,
    /// The token lacks a scope.
    ScopeMissing,
    /// The token is another site's.
    OtherSite,
    /// No such thing.
    NotFound,
    /// No such method there.
    MethodNotAllowed,
    /// The body is not JSON by its content type.
    MediaType,
    /// The body is too large.
    BodyTooLarge,
    /// The body is not JSON.
    MalformedJson,
    /// Fields, parameters or headers are wrong; `errors` lists them.
    Invalid,
    /// A newer tick was claimed.
    TickOvertaken,
    /// The tick was never claimed.
    TickUnclaimed,
    /// The role has a bootstrap config.
    ConfigExists,
    /// A row is to be changed without saying which revision of it was read.
    PreconditionRequired,
    /// The row is at another revision than the one that was read.
    RevisionMoved,
    /// Another run holds the device.
    DeviceBusy,
    /// A run that is over is to be ended.
    RunClosed,
    /// The idempotency key came with another request before.
    KeyReused,
    /// Temporal does not answer.
    TemporalUnavailable,
    /// Temporal refuses what the hub asks.
    TemporalRefused,
    /// A fault of the hub's own.
    Internal,
}

impl Kind {
    /// Its slug, its status and its title.
    pub(crate) fn row(self) -> (&'static str, StatusCode, &'static str) {
        use StatusCode as S;
        match self {
            Self::Unauthenticated => ("unauthenticated", S::UNAUTHORIZED, "A valid access token is needed"),
            Self::ScopeMissing => ("scope-missing", S::FORBIDDEN, "The token lacks a scope"),
            Self::OtherSite => ("other-site", S::FORBIDDEN, "The principal belongs to another site"),
            Self::NotFound => ("not-found", S::NOT_FOUND, "There is no such thing"),
            Self::MethodNotAllowed => ("method-not-allowed", S::METHOD_NOT_ALLOWED, "No such method here"),
            Self::MediaType => ("media-type", S::UNSUPPORTED_MEDIA_TYPE, "The body must be JSON"),
            Self::BodyTooLarge => ("body-too-large", S::PAYLOAD_TOO_LARGE, "The body is too large"),
            Self::MalformedJson => ("malformed-json", S::BAD_REQUEST, "The body is not JSON"),
            Self::Invalid => ("invalid", S::UNPROCESSABLE_ENTITY, "Something in the request is wrong"),
            Self::TickOvertaken => ("tick-overtaken", S::CONFLICT, "A newer tick was claimed"),
            Self::TickUnclaimed => ("tick-unclaimed", S::CONFLICT, "The tick was never claimed"),
            Self::ConfigExists => ("config-exists", S::CONFLICT, "The role has a bootstrap config"),
            Self::PreconditionRequired => {
                ("precondition-required", S::PRECONDITION_REQUIRED, "A change needs If-Match")
            }
            Self::RevisionMoved => ("revision-moved", S::PRECONDITION_FAILED, "The row has changed since"),
            Self::DeviceBusy => ("device-busy", S::CONFLICT, "Another run holds the device"),
            Self::RunClosed => ("run-closed", S::CONFLICT, "The run is over"),
            Self::KeyReused => {
                ("idempotency-key-reused", S::UNPROCESSABLE_ENTITY, "The key came with another request")
            }
            Self::TemporalUnavailable => {
                ("temporal-unavailable", S::SERVICE_UNAVAILABLE, "Temporal does not answer")
            }
            Self::TemporalRefused => ("temporal-refused", S::BAD_GATEWAY, "Temporal refused the call"),
            Self::Internal => ("internal", S::INTERNAL_SERVER_ERROR, "The hub failed"),
        }
    }
}

/// A refusal on its way to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    kind: Kind,
    detail: Option<String>,
    errors: Vec<Invalid>,
}

/// What handlers return.
pub(crate) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    /// A refusal with what happened this time, in our own words.
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: Some(detail.into()), errors: Vec::new() }
    }

    /// 422 with every mistake.
    pub(crate) fn invalid(errors: Vec<Invalid>) -> Self {
        Self { kind: Kind::Invalid, detail: None, errors }
    }

    /// 404 for `what`, such as "the site has no such device".
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(Kind::NotFound, what)
    }

    /// A fault of ours: the source is logged here, once, and stays here.
    pub(crate) fn internal(operation: &str, source: &(dyn Error + 'static)) -> Self {
        tracing::error!(operation, error = chain(source), "the hub failed");
        Self::new(Kind::Internal, format!("{operation} failed; the hub's log says why"))
    }

    /// The document.
    pub(crate) fn document(&self) -> Problem {
        let (slug, status, title) = self.kind.row();
        Problem {
            kind: format!("urn:fleet:problem:{slug}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.detail.clone(),
            errors: self.errors.clone(),
        }
    }
}

/// An error and its sources on one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut links = vec![error.to_string()];
    let mut next = error.source();
    while let Some(link) = next {
        links.push(link.to_string());
        next = link.source();
    }
    links.join(": ")
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(vec![invalid])
    }
}

impl From<crate::db::Error> for Refusal {
    fn from(error: crate::db::Error) -> Self {
        Self::internal("a database operation", &error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (_, status, _) = self.kind.row();
        let mut response = (status, Json(self.document())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.kind == Kind::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
