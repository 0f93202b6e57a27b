//! Ids are types: a device id does not fit where a node name is asked for.

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Declares a string id: allowed characters, longest length, and a doc comment of what it names.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $field:literal, $max:literal, $extra:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The longest accepted length, in characters.
            pub const MAX: usize = $max;

            /// Checks and keeps `text`.
            ///
            /// # Errors
            /// [`Invalid`] when it is empty, too long, or holds a character outside letters,
            /// digits and those this id allows.
            pub fn parse(text: &str) -> Result<Self, Invalid> {
                check($field, text, $max, $extra)?;
                Ok(Self(text.to_owned()))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Invalid;
            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;
            fn try_from(text: String) -> Result<Self, Invalid> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

id!(
    /// A site: one SLURM cluster, one OpenStack project, one Temporal namespace.
    SiteId, "site", 32, "-"
);
id!(
    /// A device of the hub. Also part of a Nova tag, which holds at most 60 characters.
    DeviceId, "device_id", 46, "-_."
);
id!(
    /// A device role, the key of a bootstrap config within its site.
    Role, "device_role", 64, "-_."
);
id!(
    /// One request of a person or of hub tooling: the idempotency key, the Temporal request id,
    /// and the middle of every mark.
    RequestId, "request_id", 64, "-_."
);
id!(
    /// A Nova server's id.
    ServerId, "server_id", 64, "-"
);
id!(
    /// An OAuth client of the hub.
    PrincipalId, "client_id", 64, "-_."
);
id!(
    /// Who asked: the principal that the hub authenticated, or a person's name.
    Actor, "actor", 64, "-_.@"
);

fn check(field: &str, text: &str, max: usize, extra: &str) -> Result<(), Invalid> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || extra.contains(c);
    let remedy = || {
        let list: Vec<String> = extra.chars().map(|c| format!("`{c}`")).collect();
        format!("use 1 to {max} letters, digits and {}", list.join(", "))
    };
    if text.is_empty() {
        return Err(Invalid::new(field, "is empty", remedy()));
    }
    if let Some(at) = text.chars().position(|c| !allowed(c)) {
        return Err(Invalid::new(field, "holds a character that is not allowed", remedy()).at(at));
    }
    if text.len() > max {
        return Err(Invalid::new(field, format!("is {} characters long", text.len()), remedy()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_id_always_fits_into_a_nova_tag() {
        assert!("fleet.device.".len() + DeviceId::MAX <= 60);
    }

    #[test]
    fn a_bad_character_is_named_by_its_place() {
        let invalid = RequestId::parse("r 1").unwrap_err();
        assert_eq!(
            invalid.to_string(),
            "request_id (position 1): holds a character that is not allowed; \
             use 1 to 64 letters, digits and `-`, `_`, `.`"
        );
    }

    #[test]
    fn empty_and_long_are_refused() {
        assert_eq!(SiteId::parse("").unwrap_err().problem, "is empty");
        assert_eq!(SiteId::parse(&"a".repeat(33)).unwrap_err().problem, "is 33 characters long");
        assert_eq!(SiteId::parse(&"a".repeat(32)).unwrap().as_str().len(), 32);
    }
}
