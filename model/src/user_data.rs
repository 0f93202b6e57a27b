//! cloud-init user-data: strict base64 once, with a first line that cloud-init accepts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// User-data as a row holds it, unchecked: base64 text that cannot be printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserData(String);

impl std::fmt::Debug for UserData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UserData({} characters)", self.0.len())
    }
}

impl From<String> for UserData {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl UserData {
    /// Nova's limit of 65,535 characters rounded down to whole base64: 49,149 bytes
    /// (facts: openstack §3).
    pub const MAX_CHARACTERS: usize = 65_532;

    /// Encodes what cloud-init shall read.
    #[must_use]
    pub fn encode(raw: &[u8]) -> Self {
        Self(STANDARD.encode(raw))
    }

    /// The base64 text exactly as the row holds it, which is what Nova is sent.
    #[must_use]
    pub fn as_base64(&self) -> &str {
        &self.0
    }

    /// Decodes and checks it: at most [`Self::MAX_CHARACTERS`], strict base64 with padding, and a
    /// first line that cloud-init accepts (else it boots, configures nothing and reports nothing).
    ///
    /// # Errors
    /// [`Invalid`] naming `user_data`, the character where base64 ends, and the remedy. Never a
    /// part of the value.
    pub fn decode(&self) -> Result<Vec<u8>, Invalid> {
        let fault = |problem: &str, remedy: &str| Invalid::new("user_data", problem, remedy);
        if self.0.len() > Self::MAX_CHARACTERS {
            return Err(fault(
                &format!("is {} characters long", self.0.len()),
                "keep it within 65532 base64 characters (49149 bytes), for instance by `#include` or gzip",
            ));
        }
        let foreign = |c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c));
        if let Some(at) = self.0.chars().position(foreign) {
            let remedy = "encode it once with the standard alphabet and no line breaks, as `base64 -w0` does";
            return Err(fault("is not base64", remedy).at(at));
        }
        let raw = STANDARD.decode(&self.0).map_err(|_| {
            fault("is not whole base64", "encode it once, with its padding, as `base64 -w0` does")
        })?;
        match accepted(&raw) {
            true => Ok(raw),
            false if STANDARD.decode(raw.trim_ascii()).is_ok_and(|inner| accepted(&inner)) => {
                Err(fault("is encoded twice", "encode it once"))
            }
            false => Err(fault(
                "has a first line that cloud-init does not accept",
                "start with `#cloud-config`, `#!`, `## template: jinja` and one of these, \
                 a MIME header or gzip, with nothing before it",
            )),
        }
    }
}

/// What of a decoded user-data an operator is warned about. `told`: its slurmd is to be told by the
/// server's metadata what to say of its node.
#[must_use]
pub(crate) fn warnings(raw: &[u8], told: bool) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(raw);
    let opaque = raw.starts_with(&[0x1f, 0x8b]);
    let mut warnings = Vec::new();
    if told && !opaque && !text.contains("fleet_slurm_conf") {
        warnings.push(
            "user_data does not take `fleet_slurm_conf` from the server's metadata: \
             its node may register open to users' jobs, or without its GRES",
        );
    }
    let key = ["PRIVATE KEY-----", "munge.key", "jwt_hs256.key", "password:", "passwd:"];
    if key.iter().any(|k| text.contains(k)) {
        warnings.push(
            "user_data seems to carry a key or a password: every job on the node can read it \
             through the metadata service",
        );
    }
    warnings
}

/// Whether cloud-init takes this for something to run.
fn accepted(raw: &[u8]) -> bool {
    if raw.starts_with(&[0x1f, 0x8b]) {
        return true;
    }
    let mut lines = raw.split(|b| *b == b'\n').map(|l| l.trim_ascii_end());
    let first = lines.next().unwrap_or_default();
    if first.eq_ignore_ascii_case(b"## template: jinja") {
        return lines.next().is_some_and(plain);
    }
    let lower = first.to_ascii_lowercase();
    plain(first) || lower.starts_with(b"content-type: multipart") || lower.starts_with(b"mime-version:")
}

fn plain(line: &[u8]) -> bool {
    let whole: [&[u8]; 7] = [
        b"#cloud-config",
        b"#cloud-config-archive",
        b"#cloud-config-jsonp",
        b"#cloud-boothook",
        b"#include",
        b"#include-once",
        b"#part-handler",
    ];
    whole.contains(&line) || line.starts_with(b"#!")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(raw: &[u8]) -> String {
        UserData::encode(raw).decode().unwrap_err().problem
    }

    #[test]
    fn case_b44_first_lines() {
        for good in [
            "#cloud-config\n",
            "#cloud-config",
            "#cloud-config\r\nusers: []",
            "#!/bin/sh\n",
            "## template: jinja\n#cloud-config\n",
            "Content-Type: multipart/mixed; boundary=x\n",
            "MIME-Version: 1.0\n",
            "#include\nhttp://x",
            "\u{1f}",
        ] {
            let raw = if good == "\u{1f}" { &[0x1f, 0x8b, 8][..] } else { good.as_bytes() };
            assert_eq!(UserData::encode(raw).decode().unwrap(), raw, "{good:?}");
        }
        for bad in [
            "\n#cloud-config",
            "users:",
            "\u{feff}#cloud-config",
            " #cloud-config",
            "",
            "## template: jinja\nusers:",
            "#cloud-confg\n",
            "hello",
        ] {
            assert_eq!(
                problem(bad.as_bytes()),
                "has a first line that cloud-init does not accept",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn case_b39_encoded_exactly_once() {
        let once = UserData::encode(b"#cloud-config\n");
        assert_eq!(problem(once.as_base64().as_bytes()), "is encoded twice");
        for (text, at) in [("I2Nsb3Vk\nLWNvbmZpZwo=", 8), ("I2Ns-3Vk", 4), ("#cloud-config", 0)] {
            let invalid = UserData::from(text.to_owned()).decode().unwrap_err();
            assert_eq!((invalid.problem.as_str(), invalid.position), ("is not base64", Some(at)));
        }
        assert_eq!(
            UserData::from("I2Nsb3VkLWNvbmZpZwo".to_owned()).decode().unwrap_err().problem,
            "is not whole base64"
        );
    }

    #[test]
    fn novas_limit_to_the_character() {
        let mut raw = b"#!/bin/sh\n".to_vec();
        raw.resize(49_149, b'x');
        let most = UserData::encode(&raw);
        assert_eq!(most.as_base64().len(), UserData::MAX_CHARACTERS);
        assert!(most.decode().is_ok());
        raw.push(b'x');
        assert_eq!(UserData::encode(&raw).decode().unwrap_err().problem, "is 65536 characters long");
    }

    #[test]
    fn cannot_be_printed() {
        let secret = UserData::encode(b"#cloud-config\npassword: hunter2");
        assert_eq!(format!("{secret:?}"), "UserData(44 characters)");
    }

    #[test]
    fn warned_about() {
        assert_eq!(warnings(b"#cloud-config\nfleet_slurm_conf", true).len(), 0);
        assert_eq!(warnings(b"#cloud-config\n", true).len(), 1);
        assert_eq!(warnings(b"#cloud-config\n", false).len(), 0);
        assert_eq!(warnings(b"#cloud-config\npath: /etc/munge/munge.key fleet_slurm_conf", true).len(), 1);
    }
}
