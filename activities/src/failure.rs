//! The one failure of every activity: a stable code, and whether a retry is worth anything.

use std::time::Duration;

use clients::{Error, Kind, Service};
use model::{Incomplete, Invalid};

/// Declares the codes: variant, wire name, owner, and the operator's page.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $owner:ident;)*) => {
        /// A stable code: the failure's type in Temporal, a metric label, and (its documentation)
        /// the operator's page.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// As it stands in histories, metrics and messages.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Who answers for it.
            #[must_use]
            pub fn owner(self) -> Owner {
                match self { $(Self::$name => Owner::$owner,)* }
            }
        }
    };
}

/// Who answers for a code. A site's settings map them to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The fleet squad: hub, worker, OpenStack.
    Fleet,
    /// The HPC engineers: SLURM, bootstrap configs.
    Hpc,
}

codes! {
    /// The request itself is wrong: a field that cannot be read, another site's device, a device
    /// the hub does not have. *Do*: correct the named field and start again.
    RequestInvalid = "request.invalid", Fleet;
    /// What is asked contradicts what is there: another device has the same node name, or the
    /// server differs in a way that is not changed in place. *Do*: read the differences; release
    /// the device first, or correct the hub.
    RequestConflict = "request.conflict", Fleet;
    /// The site has no bootstrap config for the device's role. *Do*: have HPC write one.
    BootstrapMissing = "bootstrap.missing", Hpc;
    /// The role's row has a null image or flavor. *Do*: have HPC fill it in. Other roles go on.
    BootstrapIncomplete = "bootstrap.incomplete", Hpc;
    /// The role's row holds something that cannot be used, such as an image that is gone.
    /// *Do*: have HPC correct the named field.
    BootstrapInvalid = "bootstrap.invalid", Hpc;
    /// The cluster has no node of this name. *Do*: compare the hub's names with slurm.conf.
    NodeUnknown = "slurm.node_unknown", Hpc;
    /// Jobs still hold the node. *Do*: wait for them, or ask their users.
    NodeBusy = "slurm.node_busy", Hpc;
    /// A released node is back in SLURM: its slurmd runs still, or was started again. It was drained
    /// again. *Do*: end slurmd on the machine, then release again.
    NodeReturned = "slurm.node_returned", Hpc;
    /// Jobs were to be cancelled, and it is not known to be safe: without slurmdbd, cancelling another
    /// user's job as anybody but root hangs slurmctld. Nothing was changed. *Do*: give the worker root's
    /// token, or set up slurmdbd; or drain without cancelling.
    CancelUnsafe = "slurm.cancel_unsafe", Hpc;
    /// Power saving acts on a node that is to be closed, and the site's settings say that there is none: it
    /// would take the machine from the closed node. Nothing was changed. *Do*: put DRAIN into
    /// `SuspendExcStates` of slurm.conf, and say so in the settings.
    PowerSaving = "slurm.power_saving", Hpc;
    /// Somebody else closed the node; their words are left alone. *Do*: ask them.
    DrainNotOurs = "slurm.drain_not_ours", Hpc;
    /// The node registered otherwise than its row says: features, GRES, partition, or SLURM's own
    /// `INVALID_REG`. It stays closed. *Do*: compare the row, the user-data and slurm.conf.
    ConfigMismatch = "slurm.config_mismatch", Hpc;
    /// The server runs, but its slurmd has not registered in time. *Do*: read cloud-init's output
    /// on the server's console; the server is kept.
    RegistrationTimeout = "slurm.registration_timeout", Hpc;
    /// The cluster's SLURM release cannot do what is asked over REST. *Do*: read which release can;
    /// upgrade SLURM, or ask for something else.
    ReleaseTooOld = "slurm.release_too_old", Hpc;
    /// Most of the site's nodes vanished at once, or slurmrestd serves no API version that we
    /// speak: naming or API changed. Nothing is concluded. *Do*: compare names; upgrade.
    NamingOrApiChanged = "slurm.naming_or_api_changed", Hpc;
    /// SLURM refuses the token, or its user may not write nodes. *Do*: renew the token; its user
    /// needs AdminLevel Administrator or to be SlurmUser.
    SlurmForbidden = "slurm.forbidden", Hpc;
    /// SLURM refused what was asked. *Do*: read its words.
    SlurmRefused = "slurm.refused", Hpc;
    /// SLURM could not be reached. *Do*: look at slurmrestd and slurmctld.
    SlurmUnavailable = "slurm.unavailable", Hpc;
    /// A burn-in test failed by its own word, missed a threshold, or the node went away under it. The
    /// node stays closed. *Do*: read the test's output on the node; mend it; resume, which burns in again.
    BurnInFailed = "burn_in.failed", Fleet;
    /// A burn-in ran, and nothing can be said of the node: a test ran out of its time, somebody cancelled
    /// the job, its end is not known any more. The node stays closed. *Do*: read the message; resume.
    BurnInUnknown = "burn_in.unknown", Fleet;
    /// A burn-in did not run: a job, a reservation or a power action stood before it, or SLURM did not
    /// start it. The node stays closed, and no job of ours is left. *Do*: clear what is named; resume.
    BurnInNotRun = "burn_in.not_run", Hpc;
    /// A job of somebody else started on the node while it should have been closed for a burn-in. It runs
    /// on; the node takes no other. *Do*: tell HPC what the message names; drain, then resume.
    BurnInLeaked = "burn_in.leaked", Hpc;
    /// The project's quota is used up. *Do*: raise it.
    Quota = "openstack.quota", Fleet;
    /// Nova found no host: the machine is taken, down or unknown. *Do*: look at it in Nova. The
    /// failed server is deleted by the next adoption.
    NoValidHost = "openstack.no_valid_host", Fleet;
    /// The server failed, vanished, or is in a state that adoption does not leave by itself.
    /// *Do*: read its fault in Nova.
    ServerError = "openstack.server_error", Fleet;
    /// Somebody has locked the server in Nova. Nothing was changed. *Do*: ask them; have them unlock
    /// it (`openstack server unlock`).
    Locked = "openstack.locked", Fleet;
    /// Two servers carry the device's mark, and nothing tells which is right. Nothing was deleted.
    /// *Do*: delete the wrong one.
    Ambiguous = "openstack.ambiguous", Fleet;
    /// OpenStack refuses the credentials or the action. *Do*: where the message names a rule of the
    /// policy, have the cloud's operator allow it to the worker's user: naming the machine needs
    /// `compute:servers:create:requested_destination`. Else check its password or application
    /// credential, and its roles.
    OpenStackForbidden = "openstack.forbidden", Fleet;
    /// OpenStack refused what was asked. *Do*: read its words.
    OpenStackRefused = "openstack.refused", Fleet;
    /// OpenStack could not be reached. *Do*: look at Keystone, Glance and Nova.
    OpenStackUnavailable = "openstack.unavailable", Fleet;
    /// The hub refuses the principal or a scope. *Do*: compare its client registration.
    HubForbidden = "hub.forbidden", Fleet;
    /// The hub refused what was asked. *Do*: read its words.
    HubRefused = "hub.refused", Fleet;
    /// The hub could not be reached. *Do*: look at the hub.
    HubUnavailable = "hub.unavailable", Fleet;
    /// A token or key cannot be read. *Do*: put it where the message says.
    SecretMissing = "secret.missing", Fleet;
    /// A service answered something that cannot be read. *Do*: compare its release with those that
    /// are supported.
    ContractMalformed = "contract.malformed", Fleet;
    /// Time was up before the step that the details name had come true. *Do*: read what it waited
    /// for; start again when that is mended.
    DeadlineExceeded = "deadline.exceeded", Fleet;
    /// It was cancelled, or its worker shut down. Nothing is undone; a node stays closed.
    Cancelled = "cancelled", Fleet;
}

/// Whether trying again is worth anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It may pass by itself.
    Retry,
    /// It may pass by itself, after this time.
    RetryAfter(Duration),
    /// The same request always ends so.
    Permanent,
    /// Somebody must mend something first.
    NeedsHuman,
    /// It was told to stop.
    Cancelled,
}

/// Why an activity missed its goal. Its message is our own words; the source goes to the log.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The code.
    pub code: Code,
    /// Whether trying again is worth anything.
    pub class: Class,
    /// What happened, in one line.
    pub message: String,
    /// The step.
    pub step: &'static str,
    /// The field that is wrong; empty where none is.
    pub field: String,
    /// What to do about it, in one line.
    pub remedy: String,
    /// What lies beneath. Goes to the log, never into a message.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Failure {
    /// A failure that somebody must do something about.
    #[must_use]
    pub fn needs_human(code: Code, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            code,
            class: Class::NeedsHuman,
            message: message.into(),
            step: "",
            field: String::new(),
            remedy: remedy.into(),
            source: None,
        }
    }

    /// A failure that the same request always ends in.
    #[must_use]
    pub fn permanent(code: Code, invalid: &Invalid) -> Self {
        Self {
            class: Class::Permanent,
            field: invalid.field.clone(),
            ..Self::needs_human(code, invalid.to_string(), invalid.remedy.clone())
        }
    }

    /// It was told to stop.
    #[must_use]
    pub fn cancelled(step: &'static str) -> Self {
        let message = format!("stopped at {step}");
        Self { class: Class::Cancelled, step, ..Self::needs_human(Code::Cancelled, message, "") }
    }

    /// The same, in this step, unless it names one already.
    #[must_use]
    pub fn in_step(mut self, step: &'static str) -> Self {
        if self.step.is_empty() {
            self.step = step;
        }
        self
    }

    /// The same, because of this field.
    #[must_use]
    pub fn about(mut self, field: &str) -> Self {
        field.clone_into(&mut self.field);
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = code(&error);
        Self {
            code,
            class: class(&error.kind),
            message: error.to_string(),
            step: "",
            field: String::new(),
            remedy: policy_rule(&error.kind).map_or_else(
                || remedy(code).to_owned(),
                |rule| format!("have the cloud's operator allow {rule} to the worker's user in the policy"),
            ),
            source: Some(Box::new(error)),
        }
    }
}

impl From<Incomplete> for Failure {
    fn from(incomplete: Incomplete) -> Self {
        let message = incomplete.to_string();
        match incomplete {
            Incomplete::Null { fields, .. } => {
                let remedy = "have HPC fill the field in, in the site's bootstrap config for the role";
                let failure = Self::needs_human(Code::BootstrapIncomplete, message, remedy);
                failure.about(&fields.join(","))
            }
            Incomplete::Invalid(mistakes) => {
                let fields: Vec<&str> = mistakes.iter().map(|m| m.field.as_str()).collect();
                let remedy = "have HPC correct the site's bootstrap config for the role";
                let failure = Self::needs_human(Code::BootstrapInvalid, message, remedy);
                failure.about(&fields.join(","))
            }
        }
    }
}

/// Whether a call that ended so is worth repeating. Exhaustive: a new kind does not compile until
/// somebody has decided.
pub(crate) fn class(kind: &Kind) -> Class {
    match kind {
        Kind::Unreachable | Kind::Timeout | Kind::Unavailable | Kind::Broken(_) | Kind::Malformed(_) => {
            Class::Retry
        }
        Kind::Throttled(after) => Class::RetryAfter(after.unwrap_or(Duration::from_secs(10))),
        Kind::Conflict(_) => Class::Retry,
        Kind::Unauthenticated
        | Kind::Forbidden(_)
        | Kind::Locked(_)
        | Kind::Rejected(_)
        | Kind::TooOld(_)
        | Kind::Unspoken(_)
        | Kind::Secret(_) => Class::NeedsHuman,
    }
}

/// Whether a wait goes on over it: also over a refused token, since somebody may renew it while a
/// drain waits for days.
pub(crate) fn is_absorbed(kind: &Kind) -> bool {
    match kind {
        Kind::Unreachable
        | Kind::Timeout
        | Kind::Unavailable
        | Kind::Broken(_)
        | Kind::Malformed(_)
        | Kind::Throttled(_)
        | Kind::Conflict(_)
        | Kind::Unauthenticated
        | Kind::Secret(_) => true,
        Kind::Forbidden(_) | Kind::Locked(_) | Kind::Rejected(_) | Kind::TooOld(_) | Kind::Unspoken(_) => {
            false
        }
    }
}

fn code(error: &Error) -> Code {
    let [forbidden, refused, unavailable] = match error.service {
        Service::Slurm => [Code::SlurmForbidden, Code::SlurmRefused, Code::SlurmUnavailable],
        Service::Keystone | Service::Glance | Service::Nova => {
            [Code::OpenStackForbidden, Code::OpenStackRefused, Code::OpenStackUnavailable]
        }
        Service::Hub => [Code::HubForbidden, Code::HubRefused, Code::HubUnavailable],
    };
    match &error.kind {
        Kind::Forbidden(detail) if error.service == Service::Nova && detail.contains("Quota exceeded") => {
            Code::Quota
        }
        Kind::TooOld(_) => Code::ReleaseTooOld,
        Kind::Unspoken(_) => Code::NamingOrApiChanged,
        Kind::Locked(_) => Code::Locked,
        Kind::Unauthenticated | Kind::Forbidden(_) => forbidden,
        Kind::Rejected(_) => refused,
        Kind::Malformed(_) => Code::ContractMalformed,
        Kind::Secret(_) => Code::SecretMissing,
        Kind::Unreachable
        | Kind::Timeout
        | Kind::Throttled(_)
        | Kind::Unavailable
        | Kind::Conflict(_)
        | Kind::Broken(_) => unavailable,
    }
}

/// The rule in `Policy doesn't allow RULE to be performed.`, as Nova says it (26 and 31).
fn policy_rule(kind: &Kind) -> Option<&str> {
    let Kind::Forbidden(detail) = kind else { return None };
    detail.strip_prefix("Policy doesn't allow ")?.strip_suffix(" to be performed.")
}

fn remedy(code: Code) -> &'static str {
    match code {
        Code::SlurmForbidden => "renew the SLURM token; its user needs AdminLevel Administrator",
        Code::OpenStackForbidden => {
            "check the OpenStack user's password or application credential, its roles and policy"
        }
        Code::HubForbidden => "compare the principal's key and scopes with its registration at the hub",
        Code::Quota => "raise the project's quota",
        Code::Locked => "ask who locked the server in Nova, and have them unlock it",
        Code::SecretMissing => "put the secret where the message says",
        Code::ReleaseTooOld => "upgrade SLURM to a release that can do it",
        Code::NamingOrApiChanged => "upgrade the satellite to one that speaks this slurmrestd",
        Code::SlurmRefused | Code::OpenStackRefused | Code::HubRefused => "read the service's words",
        Code::SlurmUnavailable => "look at slurmrestd and slurmctld",
        Code::OpenStackUnavailable => "look at Keystone, Glance and Nova",
        Code::HubUnavailable => "look at the hub",
        Code::ContractMalformed => "compare the service's release with those that are supported",
        _ => "see the code's page",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_well_formed() {
        let mut texts: Vec<&str> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert!(texts.iter().all(|t| t.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))));
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Code::ALL.len());
    }

    #[test]
    fn a_policy_that_refuses_is_named_by_its_rule() {
        let words = "Policy doesn't allow compute:servers:create:requested_destination to be performed.";
        let failure = Failure::from(Error::new(
            Service::Nova,
            "create server",
            Kind::Forbidden(clients::excerpt(words)),
        ));
        assert_eq!((failure.code, failure.class), (Code::OpenStackForbidden, Class::NeedsHuman));
        assert_eq!(failure.message, format!("nova create server: not allowed: {words}"));
        assert_eq!(
            failure.remedy,
            "have the cloud's operator allow compute:servers:create:requested_destination to the worker's user \
             in the policy"
        );
    }

    #[test]
    fn a_clients_error_gets_its_code() {
        let of = |service, kind| Failure::from(Error::new(service, "x", kind));
        let quota = of(Service::Nova, Kind::Forbidden("Quota exceeded for instances: …".to_owned()));
        assert_eq!((quota.code, quota.class), (Code::Quota, Class::NeedsHuman));
        let locked = of(Service::Nova, Kind::Locked("Instance s-1 is locked".to_owned()));
        assert_eq!((locked.code, locked.class), (Code::Locked, Class::NeedsHuman));
        let down = of(Service::Slurm, Kind::Unavailable);
        assert_eq!((down.code, down.class), (Code::SlurmUnavailable, Class::Retry));
        let old = of(Service::Slurm, Kind::TooOld("x".to_owned()));
        assert_eq!((old.code, old.class), (Code::ReleaseTooOld, Class::NeedsHuman));
        let strange = of(Service::Slurm, Kind::Unspoken("x".to_owned()));
        assert_eq!((strange.code, strange.class), (Code::NamingOrApiChanged, Class::NeedsHuman));
        let throttled = of(Service::Hub, Kind::Throttled(Some(Duration::from_secs(7))));
        assert_eq!(throttled.class, Class::RetryAfter(Duration::from_secs(7)));
    }
}
