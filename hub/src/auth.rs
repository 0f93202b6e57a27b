//! Who acts: scopes, access tokens, and the door of everything under `/api/v1`.
//!
//! *Invariant*: a token is kept as its hash and never printed; it dies with the process.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use model::{Invalid, PrincipalId, SiteId};
use sha2::{Digest as _, Sha256};

use crate::app::Hub;
use crate::problem::{Answer, Kind, Refusal};

/// What a client may be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Change a device's node name and server.
    DeviceUpdate,
    /// Claim ticks and write conditions.
    DeviceConditionCreate,
    /// Read bootstrap configs.
    BootstrapConfigRead,
    /// Write a role's first bootstrap config.
    BootstrapConfigCreate,
    /// Change bootstrap configs.
    BootstrapConfigUpdate,
    /// Start workflows.
    WorkflowStart,
    /// Start workflows that override what others closed.
    WorkflowForce,
    /// Read runs.
    WorkflowRead,
    /// Stop and cancel runs.
    WorkflowCancel,
}

impl Scope {
    const ALL: [Self; 9] = [
        Self::DeviceUpdate,
        Self::DeviceConditionCreate,
        Self::BootstrapConfigRead,
        Self::BootstrapConfigCreate,
        Self::BootstrapConfigUpdate,
        Self::WorkflowStart,
        Self::WorkflowForce,
        Self::WorkflowRead,
        Self::WorkflowCancel,
    ];

    /// The scope as OAuth writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeviceUpdate => "device:update",
            Self::DeviceConditionCreate => "device-condition:create",
            Self::BootstrapConfigRead => "slurm-bootstrap-config:read",
            Self::BootstrapConfigCreate => "slurm-bootstrap-config:create",
            Self::BootstrapConfigUpdate => "slurm-bootstrap-config:update",
            Self::WorkflowStart => "device-workflow:start",
            Self::WorkflowForce => "device-workflow:force",
            Self::WorkflowRead => "device-workflow:read",
            Self::WorkflowCancel => "device-workflow:cancel",
        }
    }

    /// Reads one scope.
    ///
    /// # Errors
    /// [`Invalid`] lists the known ones.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|s| s.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("scope", "is not a known scope", format!("use one of {known}"))
        })
    }
}

/// Who a valid token speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The OAuth client.
    pub(crate) id: PrincipalId,
    /// Its site.
    pub(crate) site: SiteId,
    /// What this token may do.
    pub(crate) scopes: BTreeSet<Scope>,
}

impl Principal {
    /// The site of a URL, which must be the principal's own.
    pub(crate) fn at(&self, site: &str) -> Answer<SiteId> {
        if self.site.as_str() == site {
            return Ok(self.site.clone());
        }
        Err(Refusal::new(Kind::OtherSite, format!("{} belongs to site {}", self.id, self.site)))
    }

    /// Refuses a token without `scope`.
    pub(crate) fn needs(&self, scope: Scope) -> Answer<()> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        Err(Refusal::new(Kind::ScopeMissing, format!("{} is needed", scope.as_str())))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Answer<Self> {
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthenticated)
    }
}

fn unauthenticated() -> Refusal {
    Refusal::new(Kind::Unauthenticated, "get a token at /oauth/token and send it as Bearer")
}

/// The door of `/api/v1`.
pub(crate) async fn authenticate(
    State(hub): State<Arc<Hub>>,
    mut request: Request,
    next: Next,
) -> Answer<Response> {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
    let token =
        header.and_then(|h| h.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let principal = token.and_then(|(_, token)| hub.tokens.get(token.trim(), (hub.clock)()));
    request.extensions_mut().insert(principal.ok_or_else(unauthenticated)?);
    Ok(next.run(request).await)
}

/// How long a token lives.
pub(crate) const TOKEN_LIFE: SignedDuration = SignedDuration::from_secs(600);

/// The tokens that are valid, by hash.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<HashMap<[u8; 32], (Timestamp, Principal)>>);

impl Tokens {
    /// Makes a token of 256 random bits.
    pub(crate) fn issue(&self, principal: Principal, now: Timestamp) -> String {
        let token = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>());
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, (ends, _)| *ends > now);
        let ends = now.saturating_add(TOKEN_LIFE).unwrap_or(now);
        tokens.insert(Sha256::digest(&token).into(), (ends, principal));
        token
    }

    fn get(&self, token: &str, now: Timestamp) -> Option<Principal> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(&hash).filter(|(ends, _)| *ends > now).map(|(_, principal)| principal.clone())
    }
}
