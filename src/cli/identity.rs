//! As whom a person speaks to the hub.

use std::path::PathBuf;

use clap::Args;
use clients::oauth::Principal;
use url::Url;

use crate::settings::read_secret;

/// An OAuth client of the hub and its private key.
#[derive(Debug, Args)]
pub(super) struct Identity {
    /// The hub's root URL.
    #[arg(long, env = "FLEET_HUB_URL")]
    pub(super) hub: Url,
    /// Your OAuth client.
    #[arg(long, env = "FLEET_CLIENT_ID")]
    client_id: String,
    /// The file with your private key in PEM.
    #[arg(long, env = "FLEET_KEY_FILE")]
    key_file: PathBuf,
    /// The `aud` of your assertions; default: the hub's URL.
    #[arg(long, env = "FLEET_AUDIENCE")]
    audience: Option<String>,
}

impl Identity {
    /// The principal, who can ask for tokens.
    pub(super) fn principal(&self) -> anyhow::Result<Principal> {
        let key = read_secret(&self.key_file).map_err(|e| anyhow::anyhow!("--key-file: {e}"))?;
        let audience =
            self.audience.clone().unwrap_or_else(|| self.hub.as_str().trim_end_matches('/').to_owned());
        let token_url = self.hub.join("oauth/token")?;
        Principal::new(&self.client_id, &key, token_url, audience)
            .map_err(|e| anyhow::anyhow!("--key-file: {} {e}", self.key_file.display()))
    }
}
