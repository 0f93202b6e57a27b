//! The one HTTP layer: time-outs everywhere, bodies bounded and never logged, every call observed.

use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, StatusCode};
use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt as _;
use serde::de::DeserializeOwned;

use crate::{Error, Kind, Service, excerpt};

/// Connecting may take so long.
const CONNECT: Duration = Duration::from_secs(3);
/// A whole call may take so long: a fail-over of slurmctld blocks 15 s (facts: slurm §7).
const TOTAL: Duration = Duration::from_secs(30);
/// The largest answer that is read: a list of 50,000 nodes is 127 MB (facts: slurm §9).
const LARGEST: usize = 192 * 1024 * 1024;

static OBSERVER: OnceLock<Box<dyn Fn(Call) + Send + Sync>> = OnceLock::new();

/// A call that has ended, as the observer is told of it: who was asked for what, never about which.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Who was asked.
    pub service: Service,
    /// For what, such as `get node`.
    pub operation: &'static str,
    /// The status; none where no whole answer came.
    pub status: Option<u16>,
    /// How long it took.
    pub took: Duration,
}

/// Has every call of this process told to `observer` from now on. There is one, the first: how
/// calls are counted is the composition root's, and no client knows of it.
pub fn observe(observer: impl Fn(Call) + Send + Sync + 'static) {
    drop(OBSERVER.set(Box::new(observer)));
}

/// TLS by the machine's certificate store, which is read once: reading it costs more than the rest of
/// a client.
fn tls() -> Result<ClientConfig, rustls::Error> {
    static TLS: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(tls) = TLS.get() {
        return Ok(tls.clone());
    }
    let tls = ClientConfig::with_platform_verifier()?;
    Ok(TLS.get_or_init(|| tls).clone())
}

/// An HTTP client for one service.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    service: Service,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Bytes,
}

impl Http {
    /// A client for `service`.
    ///
    /// # Errors
    /// [`Kind::Broken`] when the machine has no usable certificate store.
    pub fn new(service: Service) -> Result<Self, Error> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // An error here means that somebody installed one already, which serves as well.
            drop(rustls::crypto::ring::default_provider().install_default());
        });
        let unusable = |e| Error::new(service, "set up TLS", Kind::Broken(String::new())).because(e);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(unusable)?)
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            .user_agent(concat!("slurm-satellite/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| Error::new(service, "set up TLS", Kind::Broken(String::new())).because(e))?;
        Ok(Self { client, service })
    }

    /// The same client, asking another service of the same cloud.
    #[must_use]
    pub fn asking(&self, service: Service) -> Self {
        Self { client: self.client.clone(), service }
    }

    /// The service this client asks.
    #[must_use]
    pub fn service(&self) -> Service {
        self.service
    }

    /// reqwest's client, to build a request with.
    #[must_use]
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// # Errors
    /// [`Kind::Unreachable`], [`Kind::Timeout`], or [`Kind::Malformed`] for an answer that is too
    /// large or breaks off.
    pub async fn send(&self, operation: &'static str, request: RequestBuilder) -> Result<Answer, Error> {
        let started = Instant::now();
        let (client, request) = request.build_split();
        let unsendable = |e: reqwest::Error| {
            Error::new(self.service, operation, Kind::Rejected("a request that cannot be built".to_owned()))
                .because(e.without_url())
        };
        let request = request.map_err(unsendable)?;
        let method = request.method().to_string();
        let result = self.read(operation, client, request).await;
        let took = started.elapsed();
        let status = result.as_ref().ok().map(|answer| answer.status.as_u16());
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let shown = status.unwrap_or(0);
        tracing::debug!(service = self.service.as_str(), operation, method, status = shown, millis, "call");
        if let Some(observer) = OBSERVER.get() {
            observer(Call { service: self.service, operation, status, took });
        }
        result
    }

    async fn read(
        &self,
        operation: &'static str,
        client: reqwest::Client,
        request: reqwest::Request,
    ) -> Result<Answer, Error> {
        let fail = |e: reqwest::Error| {
            let kind = if e.is_timeout() { Kind::Timeout } else { Kind::Unreachable };
            Error::new(self.service, operation, kind).because(e.without_url())
        };
        let mut response = client.execute(request).await.map_err(fail)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(fail)? {
            if body.len() + chunk.len() > LARGEST {
                let kind = Kind::Malformed(format!("more than {LARGEST} bytes"));
                return Err(Error::new(self.service, operation, kind));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, headers, body: body.into() })
    }
}

/// Sends with a token, and once more with another one when it is refused: the one thing that a client
/// repeats by itself.
///
/// `is_refused` says whether an answer refuses the token rather than what was asked; `another` is
/// given the refused token, and is `None` where there is no other.
///
/// # Errors
/// Those of `send` and `another`. An answer that refuses the second token too is handed back.
pub(crate) async fn with_token<T: Clone, Sent, Renewed>(
    token: T,
    send: impl Fn(T) -> Sent,
    is_refused: impl Fn(&Answer) -> bool,
    another: impl FnOnce(T) -> Renewed,
) -> Result<Answer, Error>
where
    Sent: Future<Output = Result<Answer, Error>>,
    Renewed: Future<Output = Result<Option<T>, Error>>,
{
    let answer = send(token.clone()).await?;
    if !is_refused(&answer) {
        return Ok(answer);
    }
    match another(token).await? {
        Some(token) => send(token).await,
        None => Ok(answer),
    }
}

impl Answer {
    /// The body as text; bytes that are not UTF-8 are replaced. One bad byte in one node's reason
    /// would otherwise spoil a whole list (facts: slurm §0.8).
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`Kind::Malformed`] naming the field, never the value.
    pub fn json<T: DeserializeOwned>(&self, service: Service, operation: &'static str) -> Result<T, Error> {
        let text = self.text();
        let reader = &mut serde_json::Deserializer::from_str(&text);
        serde_path_to_error::deserialize(reader).map_err(|error| {
            let kind = Kind::Malformed(format!("not what was expected at `{}`", error.path()));
            self.error(service, operation, kind)
        })
    }

    /// An error that carries this answer's status and request id.
    #[must_use]
    pub fn error(&self, service: Service, operation: &'static str, kind: Kind) -> Error {
        let header = |name| self.headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        Error {
            status: Some(self.status.as_u16()),
            request_id: header("x-openstack-request-id").or_else(|| header("x-request-id")),
            ..Error::new(service, operation, kind)
        }
    }

    /// The kind that an HTTP status alone means; `detail` is the service's word for it, raw.
    #[must_use]
    pub fn kind(&self, detail: &str) -> Kind {
        let detail = excerpt(detail);
        match self.status.as_u16() {
            401 | 511 => Kind::Unauthenticated,
            403 => Kind::Forbidden(detail),
            408 => Kind::Timeout,
            409 => Kind::Conflict(detail),
            413 | 429 => Kind::Throttled(self.retry_after()),
            502..=504 => Kind::Unavailable,
            400..=499 => Kind::Rejected(detail),
            500..=599 => Kind::Broken(detail),
            _ => Kind::Malformed(detail),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }
}
