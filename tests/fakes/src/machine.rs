//! How a machine behaves, as data.

/// What a machine does when Nova and slurmctld have to do with it. The default is a good one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// Nova's build of a server on it.
    pub build: Build,
    /// Nova's rebuild of the server on it.
    pub rebuild: Rebuild,
    /// Its boot, once the server is ACTIVE.
    pub boot: Boot,
    /// As what its slurmd registers.
    pub registers: Registers,
    /// The GPUs that slurmd really finds; none: as many as it is told. Fewer than configured is
    /// INVALID_REG and a drain, with SLURM's own reason.
    pub gpus: Option<u32>,
    /// Nova's end of a server on it.
    pub destroy: Destroy,
}

/// Nova's build of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Build {
    /// ACTIVE after so many ticks, at least one.
    Takes(u64),
    /// The driver fails with this text, after which the server is in ERROR.
    Fails(String),
    /// The scheduler never takes the machine: ERROR "No valid host was found. ".
    NoValidHost,
}

impl Default for Build {
    /// One tick of `scheduling`, one with a null task state.
    fn default() -> Self {
        Self::Takes(2)
    }
}

/// Nova's rebuild of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuild {
    /// ACTIVE, or as it was, after so many ticks, at least one. The first takes the old one off.
    Takes(u64),
    /// The driver fails with this text after it took the old one off: ERROR, with all that is new.
    Fails(String),
    /// It stays in `rebuilding` for ever: the driver has no such server (facts: openstack §3).
    Never,
}

impl Default for Rebuild {
    fn default() -> Self {
        Self::Takes(2)
    }
}

/// What a machine does after its server is ACTIVE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boot {
    /// Its slurmd registers after so many ticks.
    Takes(u64),
    /// It never registers.
    Never,
}

impl Default for Boot {
    fn default() -> Self {
        Self::Takes(1)
    }
}

/// As what slurmd registers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Registers {
    /// As the server's metadata `fleet_slurm_conf` says.
    #[default]
    AsTold,
    /// The same without its `State` and `Reason`: open to users' jobs.
    Open,
    /// As this says, in place of the metadata: `Gres=gpu:h100:8 Feature=dyn State=DRAIN Reason=x`.
    As(String),
}

/// Nova's end of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Destroy {
    /// It is gone.
    #[default]
    Works,
    /// The driver fails with this text: ERROR, `deleting`, "Failed to terminate instance: …".
    Fails(String),
}

impl Behaviour {
    /// What slurmd is told to register as, from what the metadata says.
    pub(crate) fn conf(&self, told: Option<&str>) -> Option<String> {
        match &self.registers {
            Registers::AsTold => told.map(str::to_owned),
            Registers::As(conf) => Some(conf.clone()),
            Registers::Open => told.map(|conf| {
                let keep = |w: &&str| !w.starts_with("State=") && !w.starts_with("Reason=");
                conf.split_whitespace().filter(keep).collect::<Vec<_>>().join(" ")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurmd_is_told() {
        let told = Some("Gres=gpu:h100:4 Feature=dyn State=DRAIN Reason=fleet:registering");
        let conf = |registers| Behaviour { registers, ..Behaviour::default() }.conf(told);
        assert_eq!(conf(Registers::AsTold).as_deref(), told);
        assert_eq!(conf(Registers::Open).as_deref(), Some("Gres=gpu:h100:4 Feature=dyn"));
        assert_eq!(conf(Registers::As("Feature=x".to_owned())).as_deref(), Some("Feature=x"));
    }
}
