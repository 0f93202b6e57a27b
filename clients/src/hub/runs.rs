//! Runs of a device: listed, stopped, cancelled.

use model::{DeviceId, RunView};
use reqwest::Method;

use super::Hub;
use crate::Error;

impl Hub {
    /// `GET /sites/{s}/devices/{d}/workflows/`: the latest runs that were started through the hub, newest
    /// first. Needs `device-workflow:read`.
    ///
    /// # Errors
    /// As [`Self::device`].
    pub async fn runs(&self, device: &DeviceId) -> Result<Vec<RunView>, Error> {
        #[derive(serde::Deserialize)]
        struct Runs {
            items: Vec<RunView>,
        }
        const OPERATION: &str = "list workflows";
        let path = format!("sites/{}/devices/{device}/workflows/", self.site);
        let answer = self.call(OPERATION, Method::GET, &path, |r| r).await?;
        self.success::<Runs>(OPERATION, &answer).map(|r| r.items)
    }

    /// `POST …/workflows/{run}/stop`: the run ends at its next closed point. Safe to repeat. Needs
    /// `device-workflow:cancel`.
    ///
    /// # Errors
    /// [`Kind::Conflict`](crate::Kind::Conflict) when the run is over; otherwise as [`Self::device`].
    pub async fn stop(&self, device: &DeviceId, run: &str) -> Result<RunView, Error> {
        self.end("stop workflow", device, run, "stop").await
    }

    /// `POST …/workflows/{run}/cancel`: the run ends where it is. Safe to repeat. Needs
    /// `device-workflow:cancel`.
    ///
    /// # Errors
    /// As [`Self::stop`].
    pub async fn cancel(&self, device: &DeviceId, run: &str) -> Result<RunView, Error> {
        self.end("cancel workflow", device, run, "cancel").await
    }

    async fn end(
        &self,
        operation: &'static str,
        device: &DeviceId,
        run: &str,
        how: &str,
    ) -> Result<RunView, Error> {
        let path = format!("sites/{}/devices/{device}/workflows/{run}/{how}", self.site);
        let answer = self.call(operation, Method::POST, &path, |r| r).await?;
        self.success(operation, &answer)
    }
}
