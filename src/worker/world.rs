//! Builds the clients from the settings.

use std::time::Duration;

use activities::{Site, World};
use anyhow::Context as _;
use clients::hub::Hub;
use clients::oauth::Principal;
use clients::openstack::OpenStack;
use clients::slurm::Slurm;
use url::Url;

use crate::settings::{self, Settings};

/// How often a wait looks.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// slurmctld may lose a write that it acknowledged for about 5 s (facts: slurm §12).
const SETTLE: Duration = Duration::from_secs(6);
/// The unit in which safe calls are repeated.
const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// The verbs' heartbeat time-out, as the workflows set it.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The systems of the site.
pub(super) fn build(settings: Settings) -> anyhow::Result<World> {
    let hub_as = |p, field| hub(&settings, p, field);
    let (agent, worker) = (
        hub_as(&settings.hub.agent, "hub.agent_key_file")?,
        hub_as(&settings.hub.worker, "hub.worker_key_file")?,
    );
    let Settings { site, node_template, slurm, openstack, poll, burn_in, .. } = settings;
    Ok(World {
        burn_in: burn_in.map(|b| self::burn_in(b, &slurm.url)).transpose()?,
        site: Site {
            id: site,
            node_template,
            networks: openstack.networks,
            config_drive: openstack.config_drive,
            power_saving: slurm.power_saving,
            stale_after: poll.stale_after,
            look_every: LOOK_EVERY,
            settle: SETTLE,
            repeat_after: REPEAT_AFTER,
            heartbeat_timeout: HEARTBEAT,
        },
        slurm: Slurm::new(slurm.url, slurm.user, slurm.token)?,
        openstack: OpenStack::new(openstack.auth_url, openstack.credentials, openstack.region)?,
        hub: agent,
        configs: worker,
    })
}

fn burn_in(settings: settings::BurnIn, url: &Url) -> anyhow::Result<activities::burn_in::Settings> {
    let user = settings.user;
    let own = settings.token.map(|token| Slurm::new(url.clone(), user.clone(), token)).transpose()?;
    Ok(activities::burn_in::Settings {
        catalogue: settings.catalogue,
        tests: settings.tests,
        user,
        own,
        account: settings.account,
        qos: settings.qos,
        partition: settings.partition,
        free_text: settings.free_text,
        hold: settings.hold,
        start_within: settings.start_within,
    })
}

fn hub(settings: &Settings, principal: &settings::Principal, field: &'static str) -> anyhow::Result<Hub> {
    let hub = &settings.hub;
    let token_url = hub.url.join("oauth/token")?;
    let principal =
        Principal::new(principal.client_id.as_str(), &principal.key, token_url, hub.audience.clone())
            .map_err(|e| anyhow::anyhow!("the key {e}"))
            .context(field)?;
    Ok(Hub::new(hub.url.clone(), settings.site.clone(), principal)?)
}
