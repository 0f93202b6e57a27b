//! The rows of the three roles, as HPC people write them: the last one's flavor is still null.

use model::{BootstrapDraft, NodeSource, SiteId};

use crate::running::Running;
use crate::say;

/// Writes them.
pub(crate) async fn write(running: &Running) -> anyhow::Result<()> {
    let hpc = running.hub.api("hpc-lab", &SiteId::parse("lab")?)?;
    let row = |role: &str, flavor: Option<&str>, features: &[&str], gres: &str| BootstrapDraft {
        device_role: role.to_owned(),
        image: Some(running.world.image.clone()),
        flavor: flavor.map(str::to_owned),
        features: features.iter().map(|f| (*f).to_owned()).collect(),
        gres: gres.to_owned(),
        user_data: Some(running.world.user_data.clone()),
        node_source: NodeSource::Registers,
    };
    for draft in [
        row("gpu", Some("bm.small"), &["dyn", "h100"], "gpu:h100:4"),
        row("cpu", Some("bm.small"), &["dyn"], ""),
        row("new", None, &["dyn"], ""),
    ] {
        hpc.create_bootstrap_config(&draft).await?;
        let flavor = draft.flavor.as_deref().unwrap_or("still null");
        say(&format!("HPC writes the row of role {}: flavor {flavor}", draft.device_role));
    }
    Ok(())
}
