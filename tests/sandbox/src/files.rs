//! Where things are: folders for what a run writes, our binaries, the tools.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The workspace.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// An empty folder `target/NAME` for logs, keys and settings; what was in it is removed.
///
/// # Errors
/// When it cannot be made.
pub fn folder(name: &str) -> anyhow::Result<PathBuf> {
    let folder = Path::new(ROOT).join("target").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} of the last run", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder.canonicalize()?)
}

/// A binary of this workspace, beside the one that runs; beside its folder for a test's.
///
/// # Errors
/// When it has not been built.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let mut folder = own.parent().context("a folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("a folder")?;
    }
    let path = folder.join(name);
    if !path.exists() {
        bail!("{} is missing: run `cargo build --workspace --bins`", path.display());
    }
    Ok(path)
}

/// A tool that `make tools` installs.
///
/// # Errors
/// When it is not there.
pub fn tool(name: &str) -> anyhow::Result<PathBuf> {
    let path = Path::new(ROOT).join(".venv/bin").join(name);
    if !path.exists() {
        bail!("{} is missing: run `make tools`", path.display());
    }
    Ok(path)
}
