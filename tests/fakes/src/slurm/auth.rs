//! Who asks. slurmrestd wants a token to be there; whether it is a good one slurmctld finds out, so a
//! ping answers with any.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Value, json};

use crate::serve::Call;

/// What the headers say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// No token at all.
    Nobody,
    /// A token that slurmctld refuses.
    Refused,
    /// This user.
    User(String),
}

/// HS256, `sun` or `username`, a whole-numbered `exp` that is not past `now`. Only a token of an
/// admin may say that it is somebody else; it acts as that one.
pub(super) fn caller(call: &Call, key: &[u8], admins: &[String], now: i64) -> Caller {
    let bearer = call.header("authorization").and_then(|h| h.strip_prefix("Bearer "));
    let Some(token) = call.header("x-slurm-user-token").or(bearer) else { return Caller::Nobody };
    let Some(user) = user(token, key, now) else { return Caller::Refused };
    match call.header("x-slurm-user-name") {
        Some(name) if name != user && !admins.contains(&user) => Caller::Refused,
        Some(name) => Caller::User(name.to_owned()),
        None => Caller::User(user),
    }
}

fn user(token: &str, key: &[u8], now: i64) -> Option<String> {
    let mut validation = Validation::new(Algorithm::HS256);
    // by the fake's own time, and without leeway
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    let key = DecodingKey::from_secret(key).ok()?;
    let claims = jsonwebtoken::decode::<Value>(token, &key, &validation).ok()?.claims;
    let ends = claims.get("exp")?.as_i64()?;
    let user = claims.get("sun").or_else(|| claims.get("username"))?.as_str()?;
    (ends > now).then(|| user.to_owned())
}

/// A token as `scontrol token` makes it, for `user`, until `exp` (seconds of Unix time).
#[must_use]
pub fn token(key: &[u8], user: &str, exp: i64) -> String {
    let claims = json!({"exp": exp, "iat": 0, "sun": user});
    let header = Header::new(Algorithm::HS256);
    let signed = EncodingKey::from_secret(key).and_then(|key| jsonwebtoken::encode(&header, &claims, &key));
    signed.unwrap_or_default()
}
