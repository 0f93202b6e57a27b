//! The SLURM JWT: read from where it is kept, re-read before it ends and after a refusal.

use std::path::PathBuf;
use std::sync::PoisonError;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Mutex;

/// A token is re-read when it has less than this left, in seconds.
const MARGIN: i64 = 60;

/// Where a token is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// A file, re-read as it is rotated.
    File(PathBuf),
    /// The environment, handed over at start. Cannot be rotated.
    Environment {
        /// The variable's name, for messages.
        name: String,
    },
}

/// A token and where it comes from.
pub struct Token {
    source: TokenSource,
    environment: Option<SecretString>,
    last_good: Mutex<Option<Held>>,
    refused: std::sync::Mutex<Option<SecretString>>,
}

/// What can be said of a token without saying it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Until it ends; negative once it has.
    pub left: SignedDuration,
    /// slurmctld refused it, and has done nothing for us since.
    pub refused: bool,
}

#[derive(Clone)]
struct Held {
    value: SecretString,
    ends: i64,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Token {
    /// A token that is kept in a file.
    #[must_use]
    pub fn in_file(path: PathBuf) -> Self {
        Self::new(TokenSource::File(path), None)
    }

    /// A token that was in the environment variable `name`.
    #[must_use]
    pub fn in_environment(name: &str, value: SecretString) -> Self {
        Self::new(TokenSource::Environment { name: name.to_owned() }, Some(value))
    }

    fn new(source: TokenSource, environment: Option<SecretString>) -> Self {
        Self { source, environment, last_good: Mutex::default(), refused: std::sync::Mutex::default() }
    }

    /// The token. `refused` is one that was just refused: the source is read again. The last good
    /// one is kept when the source cannot be read.
    ///
    /// # Errors
    /// What is wrong, naming the place and never the value.
    pub async fn get(&self, refused: Option<&SecretString>) -> Result<SecretString, String> {
        let mut last = self.last_good.lock().await;
        let now = Timestamp::now().as_second();
        if let Some(held) = last.as_ref()
            && refused.is_none()
            && held.ends > now + MARGIN
        {
            return Ok(held.value.clone());
        }
        match (self.read().await, last.as_ref()) {
            (Ok(held), _) => {
                let value = held.value.clone();
                *last = Some(held);
                Ok(value)
            }
            (Err(error), Some(held)) => {
                tracing::warn!(error, "SLURM token cannot be read again; the last good one is kept");
                Ok(held.value.clone())
            }
            (Err(error), None) => Err(error),
        }
    }

    /// What is left of the token that is at the source now, which a renewal or a restart would take.
    /// Reads it anew; what [`Token::get`] hands out stays as it is.
    ///
    /// # Errors
    /// What is wrong, naming the place and never the value.
    pub async fn life(&self) -> Result<Life, String> {
        let held = self.read().await?;
        let left = SignedDuration::from_secs(held.ends.saturating_sub(Timestamp::now().as_second()));
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = refused.as_ref().is_some_and(|r| r.expose_secret() == held.value.expose_secret());
        Ok(Life { left, refused })
    }

    /// slurmctld has refused this one.
    pub(super) fn refused(&self, token: &SecretString) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
    }

    /// slurmctld has done what was asked.
    pub(super) fn accepted(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn read(&self) -> Result<Held, String> {
        let (place, text) = match (&self.source, &self.environment) {
            (TokenSource::File(path), _) => {
                let place = format!("SLURM token file {}", path.display());
                let text = tokio::fs::read_to_string(path).await;
                (place.clone(), text.map_err(|e| format!("{place} cannot be read: {}", e.kind()))?)
            }
            (TokenSource::Environment { name }, value) => {
                let text = value.as_ref().map(|v| v.expose_secret().to_owned()).unwrap_or_default();
                (format!("SLURM token in ${name}"), text)
            }
        };
        parse(&text).map_err(|problem| format!("{place} {problem}"))
    }
}

/// Takes the token out of what people store: `SLURM_JWT=eyJ…`, white space around it (cases: B33).
fn parse(text: &str) -> Result<Held, String> {
    let text = text.trim();
    let token = text.strip_prefix("SLURM_JWT=").unwrap_or(text).trim();
    if token.is_empty() {
        return Err("is empty".to_owned());
    }
    let ends = token
        .split('.')
        .nth(1)
        .and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok())
        .and_then(|claims| serde_json::from_slice::<serde_json::Value>(&claims).ok())
        .and_then(|claims| claims.get("exp")?.as_i64());
    match ends {
        Some(ends) if token.split('.').count() == 3 => Ok(Held { value: token.to_owned().into(), ends }),
        _ => Err("is not a JWT with a whole-numbered `exp`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(ends: i64) -> String {
        let part = |s: String| URL_SAFE_NO_PAD.encode(s);
        format!("{}.{}.c2ln", part("{\"alg\":\"HS256\"}".into()), part(format!("{{\"exp\":{ends}}}")))
    }

    #[test]
    fn case_b33_what_people_store() {
        let token = jwt(1_900_000_000);
        for text in [format!("SLURM_JWT={token}"), format!("{token}\n"), format!(" {token}")] {
            let held = parse(&text).unwrap();
            assert_eq!((held.value.expose_secret(), held.ends), (token.as_str(), 1_900_000_000));
        }
        assert_eq!(parse(" \n").err().unwrap(), "is empty");
        let not_one = parse("hunter2").err().unwrap();
        assert_eq!(not_one, "is not a JWT with a whole-numbered `exp`");
    }

    #[tokio::test]
    async fn a_rotated_file_is_read_after_a_refusal_and_the_last_good_one_kept() {
        let path = std::env::temp_dir().join(format!("token-{}", uuid::Uuid::new_v4()));
        let (first, second) = (jwt(4_000_000_000), jwt(4_000_000_001));
        tokio::fs::write(&path, &first).await.unwrap();
        let token = Token::in_file(path.clone());
        assert_eq!(token.get(None).await.unwrap().expose_secret(), first);
        tokio::fs::write(&path, &second).await.unwrap();
        assert_eq!(token.get(None).await.unwrap().expose_secret(), first);
        let refused = SecretString::from(first);
        assert_eq!(token.get(Some(&refused)).await.unwrap().expose_secret(), second);
        tokio::fs::remove_file(&path).await.unwrap();
        assert_eq!(token.get(Some(&refused)).await.unwrap().expose_secret(), second);
        let none = Token::in_file(path).get(None).await.unwrap_err();
        assert!(none.ends_with("cannot be read: entity not found"), "{none}");
    }
}
