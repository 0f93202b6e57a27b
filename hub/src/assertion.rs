//! Client assertions (RFC 7523): who signed, for whom, until when. Pure but for the caller's clock.
//!
//! *Invariant*: until the signature holds, a refusal says only that it does not.

use jiff::Timestamp;
use jsonwebtoken::Validation;
use model::PrincipalId;
use serde::Deserialize;

use crate::config::{Client, Config};

/// How far clocks may differ, in seconds.
const LEEWAY: f64 = 30.0;
/// How long an assertion may live, in seconds.
const LONGEST: f64 = 600.0;

/// An assertion whose signature and claims hold; whether it was used before is yet to be looked up.
#[derive(Debug)]
pub(crate) struct Verified<'a> {
    /// The client's id.
    pub(crate) id: PrincipalId,
    /// The client.
    pub(crate) client: &'a Client,
    /// Its id of this assertion.
    pub(crate) jti: String,
    /// When it ends, in seconds since 1970.
    pub(crate) expires: i64,
}

#[derive(Deserialize)]
struct Claims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<Audience>,
    exp: Option<f64>,
    iat: Option<f64>,
    nbf: Option<f64>,
    jti: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

const UNSIGNED: &str = "the assertion is not signed by a registered client's key with that key's algorithm";

/// Verifies an assertion; `Err` is the description of `invalid_client`.
pub(crate) fn verify<'a>(
    assertion: &str,
    config: &'a Config,
    now: Timestamp,
) -> Result<Verified<'a>, &'static str> {
    let unverified: Claims =
        jsonwebtoken::dangerous::insecure_decode_claims(assertion).map_err(|_| UNSIGNED)?;
    let id = unverified.iss.as_deref().and_then(|iss| PrincipalId::parse(iss).ok()).ok_or(UNSIGNED)?;
    let client = config.clients.get(&id).ok_or(UNSIGNED)?;
    let mut validation = Validation::new(client.key.algorithm());
    // the claims are checked below, on the clock that was handed in
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let claims =
        jsonwebtoken::decode::<Claims>(assertion, client.key.key(), &validation).map_err(|_| UNSIGNED)?;
    let (jti, expires) = check(claims.claims, &id, config, now)?;
    Ok(Verified { id, client, jti, expires })
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "seconds of this century")]
fn check(
    claims: Claims,
    id: &PrincipalId,
    config: &Config,
    now: Timestamp,
) -> Result<(String, i64), &'static str> {
    let now = now.as_second() as f64;
    if claims.sub.as_deref() != Some(id.as_str()) {
        return Err("iss and sub must both be the client's id");
    }
    let audience = match &claims.aud {
        Some(Audience::One(one)) => std::slice::from_ref(one),
        Some(Audience::Many(many)) => many.as_slice(),
        None => &[],
    };
    if !audience.iter().any(|a| config.is_audience(a)) {
        return Err("aud must be the issuer or its token endpoint");
    }
    let exp = claims.exp.filter(|e| e.is_finite()).ok_or("exp is missing")?;
    if exp + LEEWAY <= now {
        return Err("the assertion has expired");
    }
    if exp > now + LONGEST + LEEWAY {
        return Err("exp must be at most 10 minutes ahead");
    }
    if claims.iat.is_some_and(|iat| iat > now + LEEWAY) {
        return Err("iat is in the future");
    }
    if claims.nbf.is_some_and(|nbf| nbf > now + LEEWAY) {
        return Err("the assertion is not valid yet");
    }
    match claims.jti {
        Some(jti) if (1..=256).contains(&jti.len()) => Ok((jti, exp.ceil() as i64)),
        _ => Err("jti is missing or longer than 256 characters"),
    }
}
