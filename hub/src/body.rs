//! Request bodies and query parameters, parsed at the door.
//!
//! *Invariant*: a field or parameter that the hub does not know is refused by name; a value that
//! was sent is never part of an answer.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use model::Invalid;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::problem::{Answer, Kind, Refusal};

/// The largest body that is read, in bytes.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// The content type of JSON.
pub(crate) const JSON: &str = "application/json";

/// The content type of JSON Merge Patch (RFC 7396), which a PATCH may have too.
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// A JSON object of which every field is known and of the right type.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let kind = kind.and_then(|t| t.split(';').next()).unwrap_or_default().trim();
        let merge = request.method() == Method::PATCH && kind.eq_ignore_ascii_case(MERGE_PATCH);
        if !merge && !kind.eq_ignore_ascii_case(JSON) {
            return Err(Refusal::new(Kind::MediaType, "send Content-Type: application/json"));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|e| unreadable(&e))?;
        parse(&bytes).map(Self)
    }
}

fn unreadable(rejection: &BytesRejection) -> Refusal {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Refusal::new(Kind::BodyTooLarge, format!("send at most {MAX_BODY} bytes"))
        }
        _ => Refusal::new(Kind::MalformedJson, "the body ended early"),
    }
}

/// Parses a body; the refusal names the fields.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Answer<T> {
    // serde would take a list for a struct, by position.
    let object = bytes.trim_ascii_start().starts_with(b"{");
    if !object && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return Err(Invalid::new("body", "is not an object", "send the fields as one JSON object").into());
    }
    let mut unknown = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let tracked = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
    let parsed = serde_ignored::deserialize(tracked, |path| unknown.push(indexed(&path.to_string())));
    let parsed: Result<T, serde_json::Error> = parsed.and_then(|value| reader.end().map(|()| value));
    let value = parsed.map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Refusal::from(mistyped(&track.path().to_string(), &error)),
        _ => {
            let place = format!("at line {}, column {}", error.line(), error.column());
            Refusal::new(Kind::MalformedJson, place)
        }
    })?;
    if unknown.is_empty() {
        return Ok(value);
    }
    Err(Refusal::invalid(
        unknown
            .iter()
            .map(|f| Invalid::new(f, "is not known here", "leave it out; see /openapi.json"))
            .collect(),
    ))
}

/// `rows.1.color` as `rows[1].color`, which is how mistyped fields are called.
fn indexed(path: &str) -> String {
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = path.split('.');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(
        first,
        |all, part| if number(part) { format!("{all}[{part}]") } else { format!("{all}.{part}") },
    )
}

/// What our own parsers call their fields: a message that starts with one of them is an
/// [`Invalid`] in words, and holds no value.
const OURS: [&str; 8] =
    ["device_id", "site", "device_role", "request_id", "server_id", "slurm_node_name", "reason", "client_id"];

/// serde_json's messages quote what they found. Kept of them is what is known to be ours.
fn mistyped(path: &str, error: &serde_json::Error) -> Invalid {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(said, _)| said);
    let field = if path == "." { "body" } else { path };
    let ours = OURS.iter().find_map(|name| text.strip_prefix(name).filter(|t| t.starts_with([':', ' '])));
    if let Some((place, said)) = ours.and_then(|rest| rest.split_once(": "))
        && let Some((problem, remedy)) = said.split_once("; ")
    {
        let position = place.strip_prefix(" (position ").and_then(|p| p.strip_suffix(')')?.parse().ok());
        return Invalid { position, ..Invalid::new(field, problem, remedy) };
    }
    if let Some(name) = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        let field = if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        return Invalid::new(&field, "is missing", "give it; see /openapi.json");
    }
    let standard = ["invalid type", "invalid value", "invalid length", "unknown variant"];
    match text.rsplit_once(", expected ") {
        Some((_, expected)) if standard.iter().any(|s| text.starts_with(s)) => {
            Invalid::new(field, "is not of the right type", format!("give {expected}"))
        }
        _ => Invalid::new(field, "cannot be read", "see /openapi.json"),
    }
}

/// The query's parameters, each at most once.
#[derive(Debug)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Answer<Self> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|_| Invalid::new("query", "cannot be read", "encode it as key=value&key=value"))?;
        let mut map = BTreeMap::new();
        for (name, value) in pairs.0 {
            if map.insert(name, value).is_some() {
                return Err(Invalid::new("query", "names a parameter twice", "name it once").into());
            }
        }
        Ok(Self(map))
    }
}

impl Parameters {
    /// Takes one out.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Takes `limit`, the length of a page: from 1 to `max`, `default` where it was not sent.
    pub(crate) fn limit(&mut self, default: u32, max: u32) -> Result<u32, Invalid> {
        let Some(text) = self.take("limit") else { return Ok(default) };
        let limit = text.parse().ok().filter(|n| (1..=max).contains(n));
        limit.ok_or_else(|| {
            let problem = format!("is not between 1 and {max}");
            Invalid::new("limit", problem, format!("give a number from 1 to {max}"))
        })
    }

    /// Refuses what nobody took.
    pub(crate) fn none_left(self, known: &str) -> Answer<()> {
        let left = |_: &String| {
            Invalid::new("query", "has a parameter that is not known here", format!("known: {known}"))
        };
        match self.0.keys().map(left).collect::<Vec<_>>() {
            errors if errors.is_empty() => Ok(()),
            errors => Err(Refusal::invalid(errors)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DevicePatch, PollPost, StartRequest};

    fn errors<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> Vec<String> {
        parse::<T>(body.as_bytes()).unwrap_err().document().errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn unknown_fields_are_named_together() {
        assert_eq!(
            errors::<PollPost>(r#"{"tick":"2026-01-01T00:00:00Z","god":true,"x":{"y":1}}"#),
            [
                "god: is not known here; leave it out; see /openapi.json",
                "x: is not known here; leave it out; see /openapi.json"
            ]
        );
    }

    #[test]
    fn values_are_never_echoed() {
        for (body, said) in [
            (
                r#"{"verb":"hunter2","reason":"r"}"#,
                "verb: is not of the right type; give one of `adopt`, `release`, `drain`, `resume`, `burn_in`",
            ),
            (
                r#"{"verb":"adopt","reason":"r","dry_run":"hunter2"}"#,
                "dry_run: is not of the right type; give a boolean",
            ),
            (
                r#"{"verb":"adopt","reason":"hunter2\n"}"#,
                "reason (position 7): holds a character that is not printable ASCII; \
                 give one line of 1 to 100 printable ASCII characters",
            ),
            (r#"{"verb":"adopt"}"#, "reason: is missing; give it; see /openapi.json"),
        ] {
            assert_eq!(errors::<StartRequest>(body), [said]);
        }
        assert_eq!(errors::<PollPost>(r#"{"tick":"hunter2"}"#), ["tick: cannot be read; see /openapi.json"]);
        assert_eq!(errors::<DevicePatch>(r#"{"server_id":"hunter 2"}"#).len(), 1);
        assert!(!errors::<DevicePatch>(r#"{"server_id":"hunter 2"}"#)[0].contains("hunter"));
    }

    #[test]
    fn a_body_is_an_object() {
        for body in ["[]", r#"["2026-01-01T00:00:00Z",true]"#, "null", " 7"] {
            assert_eq!(
                errors::<PollPost>(body),
                ["body: is not an object; send the fields as one JSON object"],
                "{body}"
            );
        }
    }

    #[test]
    fn not_json_says_where() {
        for (body, place) in [("{\"tick\":", 8), ("{\"tick\":\"2026-01-01T00:00:00Z\"} x", 33)] {
            let refusal = parse::<PollPost>(body.as_bytes()).unwrap_err();
            assert_eq!(refusal, Refusal::new(Kind::MalformedJson, format!("at line 1, column {place}")));
        }
    }
}
