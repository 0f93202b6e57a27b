//! OAuth 2 client credentials with a private-key JWT (RFC 7523), for one principal.

use std::time::{Duration, Instant};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use url::Url;
use uuid::Uuid;

use crate::http::Http;
use crate::{Error, Kind, excerpt};

/// An assertion lives so long: authorization servers refuse more than a minute
/// (cases: B47).
const ASSERTION: i64 = 60;
/// A token is renewed so long before its end.
const MARGIN: Duration = Duration::from_secs(30);

/// How a principal proves who it is.
pub struct Principal {
    client_id: String,
    token_url: Url,
    audience: String,
    key: EncodingKey,
    algorithm: Algorithm,
    token: Mutex<Option<Token>>,
}

impl std::fmt::Debug for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Principal").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

struct Token {
    value: SecretString,
    until: Instant,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: String,
}

#[derive(Deserialize)]
struct Granted {
    access_token: SecretString,
    #[serde(default)]
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Principal {
    /// A principal of the authorization server at `token_url`, with its private key in PEM
    /// (PKCS#8: EC P-256, RSA or Ed25519).
    ///
    /// # Errors
    /// What is wrong with the key, in a sentence without a part of it.
    pub fn new(
        client_id: &str,
        pem: &SecretString,
        token_url: Url,
        audience: String,
    ) -> Result<Self, String> {
        let pem = pem.expose_secret().as_bytes();
        let (key, algorithm) = EncodingKey::from_ec_pem(pem)
            .map(|k| (k, Algorithm::ES256))
            .or_else(|_| EncodingKey::from_ed_pem(pem).map(|k| (k, Algorithm::EdDSA)))
            .or_else(|_| EncodingKey::from_rsa_pem(pem).map(|k| (k, Algorithm::RS256)))
            .map_err(|_| "is not a private key in PEM (PKCS#8: EC P-256, Ed25519 or RSA)".to_owned())?;
        let client_id = client_id.to_owned();
        Ok(Self { client_id, token_url, audience, key, algorithm, token: Mutex::new(None) })
    }

    /// A token, from the cache while it is good. However many ask at once, one request is made.
    /// `refused` is a token that was just refused: it is not handed out again.
    ///
    /// # Errors
    /// [`Kind::Unauthenticated`] when the assertion is refused; what HTTP brings.
    pub async fn token(&self, http: &Http, refused: Option<&SecretString>) -> Result<SecretString, Error> {
        let mut cached = self.token.lock().await;
        if let Some(token) = cached.as_ref()
            && token.until > Instant::now()
            && refused.is_none_or(|r| r.expose_secret() != token.value.expose_secret())
        {
            return Ok(token.value.clone());
        }
        let token = self.request(http).await?;
        let value = token.value.clone();
        *cached = Some(token);
        Ok(value)
    }

    async fn request(&self, http: &Http) -> Result<Token, Error> {
        const OPERATION: &str = "get token";
        let assertion = self.assertion().map_err(|e| {
            Error::new(
                http.service(),
                OPERATION,
                Kind::Secret("cannot sign with the principal's key".to_owned()),
            )
            .because(e)
        })?;
        let asked = Instant::now();
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", self.client_id.as_str()),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", assertion.expose_secret()),
        ];
        let request = http.client().post(self.token_url.clone()).form(&form);
        let answer = http.send(OPERATION, request).await?;
        if !answer.status.is_success() {
            let kind = match answer.json::<Refused>(http.service(), OPERATION) {
                Ok(refused) if refused.error == "invalid_client" => {
                    tracing::warn!(
                        client_id = self.client_id,
                        detail = excerpt(&refused.error_description),
                        "assertion refused"
                    );
                    Kind::Unauthenticated
                }
                Ok(refused) => answer.kind(&format!("{}: {}", refused.error, refused.error_description)),
                Err(_) => answer.kind("no OAuth error document"),
            };
            return Err(answer.error(http.service(), OPERATION, kind));
        }
        let granted: Granted = answer.json(http.service(), OPERATION)?;
        let life = Duration::from_secs(granted.expires_in.unwrap_or(60));
        Ok(Token { value: granted.access_token, until: asked + life.saturating_sub(MARGIN) })
    }

    fn assertion(&self) -> Result<SecretString, jsonwebtoken::errors::Error> {
        let now = jiff::Timestamp::now().as_second();
        let claims = Claims {
            iss: &self.client_id,
            sub: &self.client_id,
            aud: &self.audience,
            iat: now,
            exp: now + ASSERTION,
            jti: Uuid::new_v4().to_string(),
        };
        let header = Header { kid: Some(self.client_id.clone()), ..Header::new(self.algorithm) };
        jsonwebtoken::encode(&header, &claims, &self.key).map(SecretString::from)
    }
}
