//! The hub, as one principal of one site.

mod runs;

use jiff::Timestamp;
use model::{
    BootstrapConfig, BootstrapDraft, Claim, Condition, ConditionPost, ConditionResult, Device, DeviceId,
    DevicePage, DevicePatch, PollPost, Problem, RequestId, Role, RunView, SiteId, StartRequest,
};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use crate::http::{Answer, Http, with_token};
use crate::oauth::Principal;
use crate::{Error, Kind, Service};

/// Devices a page.
const PAGE: usize = 500;
/// More pages than any site has: a cursor that does not move must not loop.
const PAGES: usize = 1_000;

/// The hub's API for one site, spoken as one principal.
#[derive(Debug)]
pub struct Hub {
    http: Http,
    base: Url,
    site: SiteId,
    principal: Principal,
}

impl Hub {
    /// The hub at `base` (its root URL), for `site`, as `principal`.
    ///
    /// # Errors
    /// As [`Http::new`].
    pub fn new(base: Url, site: SiteId, principal: Principal) -> Result<Self, Error> {
        Ok(Self { http: Http::new(Service::Hub)?, base, site, principal })
    }

    /// `GET /sites/{s}/devices/{d}`: the device with its conditions; `None` when the site has no
    /// such device.
    ///
    /// # Errors
    /// As every call of the hub: what HTTP brings, and the hub's problem document in words.
    pub async fn device(&self, id: &DeviceId) -> Result<Option<Device>, Error> {
        self.optional("get device", &format!("sites/{}/devices/{id}", self.site)).await
    }

    /// `GET /sites/{s}/devices/`: all devices, page by page. Cut short is an error, never a
    /// shorter list.
    ///
    /// # Errors
    /// As [`Self::device`]; [`Kind::Malformed`] for a cursor that does not move.
    pub async fn devices(&self) -> Result<Vec<Device>, Error> {
        const OPERATION: &str = "list devices";
        let mut devices = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            let mut query = vec![("limit", PAGE.to_string())];
            query.extend(cursor.clone().map(|c| ("cursor", c)));
            let path = format!("sites/{}/devices/", self.site);
            let answer = self.call(OPERATION, Method::GET, &path, |r| r.query(&query)).await?;
            let page: DevicePage = self.success(OPERATION, &answer)?;
            devices.extend(page.items);
            match page.next_cursor {
                None => return Ok(devices),
                Some(next) if Some(&next) == cursor.as_ref() => break,
                next => cursor = next,
            }
        }
        let kind = Kind::Malformed("pages that do not end".to_owned());
        Err(Error::new(Service::Hub, OPERATION, kind))
    }

    /// `PATCH /devices/{d}`. Safe to repeat. Needs `device:update`.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn update_device(&self, id: &DeviceId, patch: &DevicePatch) -> Result<(), Error> {
        let path = format!("devices/{id}");
        let answer = self.call("update device", Method::PATCH, &path, |r| r.json(patch)).await?;
        self.success::<serde_json::Value>("update device", &answer).map(drop)
    }

    /// `GET /sites/{s}/slurm-bootstrap-configs/?device_role=`: the role's row, unchecked; `None`
    /// when there is none. Needs `slurm-bootstrap-config:read`.
    ///
    /// # Errors
    /// As [`Self::device`]; [`Kind::Malformed`] when the hub answers rows of another role.
    pub async fn bootstrap_config(&self, role: &Role) -> Result<Option<BootstrapConfig>, Error> {
        const OPERATION: &str = "get bootstrap config";
        #[derive(serde::Deserialize)]
        struct Rows {
            items: Vec<BootstrapConfig>,
        }
        let path = format!("sites/{}/slurm-bootstrap-configs/", self.site);
        let query = [("device_role", role.as_str())];
        let answer = self.call(OPERATION, Method::GET, &path, |r| r.query(&query)).await?;
        let mut rows = self.success::<Rows>(OPERATION, &answer)?.items;
        let fits = |r: &BootstrapConfig| r.draft.device_role == role.as_str() && r.site_id == self.site;
        if rows.len() > 1 || !rows.iter().all(fits) {
            let kind = Kind::Malformed("rows of another role or site".to_owned());
            return Err(answer.error(Service::Hub, OPERATION, kind));
        }
        Ok(rows.pop())
    }

    /// `POST /sites/{s}/slurm-bootstrap-configs/`: writes a role's first row, as people and HPC
    /// tooling do; no agent may. Needs `slurm-bootstrap-config:create`.
    ///
    /// # Errors
    /// [`Kind::Conflict`] when the role has one; [`Kind::Rejected`] lists every mistake.
    pub async fn create_bootstrap_config(&self, draft: &BootstrapDraft) -> Result<BootstrapConfig, Error> {
        let path = format!("sites/{}/slurm-bootstrap-configs/", self.site);
        let answer = self.call("write bootstrap config", Method::POST, &path, |r| r.json(draft)).await?;
        self.success("write bootstrap config", &answer)
    }

    /// `GET /sites/{s}/device-conditions/`: every condition of the site.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn conditions(&self) -> Result<Vec<Condition>, Error> {
        #[derive(serde::Deserialize)]
        struct Rows {
            items: Vec<Condition>,
        }
        let path = format!("sites/{}/device-conditions/", self.site);
        let answer = self.call("list conditions", Method::GET, &path, |r| r).await?;
        Ok(self.success::<Rows>("list conditions", &answer)?.items)
    }

    /// `POST /sites/{s}/device-conditions/`: rows of one tick, at most 500 a call. Safe to repeat.
    /// `None` when a newer tick was claimed: nothing was written. Needs `device-condition:create`.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn post_conditions(&self, post: &ConditionPost) -> Result<Option<Vec<ConditionResult>>, Error> {
        #[derive(serde::Deserialize)]
        struct Results {
            results: Vec<ConditionResult>,
        }
        let path = format!("sites/{}/device-conditions/", self.site);
        let answer = self.call("post conditions", Method::POST, &path, |r| r.json(post)).await?;
        Ok(self.unless_overtaken::<Results>("post conditions", &answer)?.map(|r| r.results))
    }

    /// `POST /sites/{s}/polls/ {tick}`: claims a tick. `None` when a newer one was claimed. Safe to
    /// repeat. Needs `device-condition:create`.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn claim(&self, tick: Timestamp) -> Result<Option<Claim>, Error> {
        self.poll("claim tick", PollPost { tick, good: false }).await
    }

    /// `POST /sites/{s}/polls/ {tick, good}`: the tick has seen SLURM and the hub holds it. `None`
    /// when a newer one was claimed meanwhile.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn mark_good(&self, tick: Timestamp) -> Result<Option<Claim>, Error> {
        self.poll("mark tick good", PollPost { tick, good: true }).await
    }

    /// `POST /sites/{s}/devices/{d}/workflows/`: starts a verb. Safe to repeat with the same
    /// `request` and the same body: both get the same run. Needs `device-workflow:start`.
    ///
    /// # Errors
    /// [`Kind::Conflict`] when another verb holds the device, in the hub's words; otherwise as
    /// [`Self::device`].
    pub async fn start(
        &self,
        device: &DeviceId,
        request: &RequestId,
        start: &StartRequest,
    ) -> Result<RunView, Error> {
        let path = format!("sites/{}/devices/{device}/workflows/", self.site);
        let key = request.as_str();
        let build = |r: RequestBuilder| r.header("Idempotency-Key", key).json(start);
        let answer = self.call("start workflow", Method::POST, &path, build).await?;
        self.success("start workflow", &answer)
    }

    /// `GET /sites/{s}/devices/{d}/workflows/{run}`; `None` when the device has no such run.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn run(&self, device: &DeviceId, run: &str) -> Result<Option<RunView>, Error> {
        self.optional("get workflow", &format!("sites/{}/devices/{device}/workflows/{run}", self.site)).await
    }

    async fn poll(&self, operation: &'static str, post: PollPost) -> Result<Option<Claim>, Error> {
        let path = format!("sites/{}/polls/", self.site);
        let answer = self.call(operation, Method::POST, &path, |r| r.json(&post)).await?;
        self.unless_overtaken(operation, &answer)
    }

    async fn optional<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        path: &str,
    ) -> Result<Option<T>, Error> {
        let answer = self.call(operation, Method::GET, path, |r| r).await?;
        match problem(&answer) {
            Some(p) if p.status == 404 && answer.status.as_u16() == 404 => Ok(None),
            _ => self.success(operation, &answer).map(Some),
        }
    }

    fn unless_overtaken<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        answer: &Answer,
    ) -> Result<Option<T>, Error> {
        match problem(answer) {
            Some(p) if p.kind == "urn:fleet:problem:tick-overtaken" => Ok(None),
            _ => self.success(operation, answer).map(Some),
        }
    }

    fn success<T: DeserializeOwned>(&self, operation: &'static str, answer: &Answer) -> Result<T, Error> {
        if answer.status.is_success() {
            return answer.json(Service::Hub, operation);
        }
        let words = problem(answer).map_or_else(|| "no problem document".to_owned(), |p| words(&p));
        Err(answer.error(Service::Hub, operation, answer.kind(&words)))
    }

    /// Sends with a token; once more with a new one when it is refused.
    async fn call(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        build: impl Fn(RequestBuilder) -> RequestBuilder + Send + Sync,
    ) -> Result<Answer, Error> {
        let url = self.base.join(&format!("api/v1/{path}")).map_err(|e| {
            Error::new(Service::Hub, operation, Kind::Malformed("base URL".to_owned())).because(e)
        })?;
        let send = |token: SecretString| {
            let request = self.http.client().request(method.clone(), url.clone());
            self.http.send(operation, build(request.bearer_auth(token.expose_secret())))
        };
        let another =
            |refused| async move { self.principal.token(&self.http, Some(&refused)).await.map(Some) };
        let token = self.principal.token(&self.http, None).await?;
        with_token(token, send, |answer| answer.status.as_u16() == 401, another).await
    }
}

fn problem(answer: &Answer) -> Option<Problem> {
    if answer.status.is_success() {
        return None;
    }
    serde_json::from_str(&answer.text()).ok()
}

fn words(problem: &Problem) -> String {
    let mut words = problem.detail.clone().unwrap_or_else(|| problem.title.clone());
    for invalid in &problem.errors {
        words = format!("{words}; {invalid}");
    }
    words
}
