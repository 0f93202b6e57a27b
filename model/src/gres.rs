//! GRES strings: what the row asks for, compared with what a node shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// A GRES list such as `gpu:h100:4,shard:8`, kept as written and compared by meaning.
///
/// Equality is by (name, type) → count: order, a missing count (1) and the socket part that SLURM
/// adds (`gpu:h100:4(S:0-1)`) make no difference. May be empty.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gres {
    text: String,
    counts: BTreeMap<(String, Option<String>), u64>,
}

impl PartialEq for Gres {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts
    }
}

impl Eq for Gres {}

impl Gres {
    /// Parses `name[:type][:count][K|M|G|T]`, comma separated, as slurm.conf's `Gres=` has it.
    ///
    /// # Errors
    /// [`Invalid`] with the position, in characters, of the entry that cannot be read.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let remedy = "write name[:type][:count], comma separated, such as gpu:h100:4";
        let mut counts = BTreeMap::new();
        let mut at = 0;
        for entry in text.split(',').filter(|_| !text.is_empty()) {
            let fault = |problem: &str| Invalid::new("gres", problem, remedy).at(at);
            let bare = entry.split_once('(').map_or(entry, |(bare, _)| bare);
            if entry.len() > bare.len() && !entry.ends_with(')') {
                return Err(fault("has a bracket that is not closed"));
            }
            let parts: Vec<&str> = bare.split(':').collect();
            let word = |w: &str| {
                !w.is_empty()
                    && w.len() <= 64
                    && w.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            };
            if !parts.iter().all(|p| word(p)) {
                return Err(fault("has an entry with an empty part or a character that is not allowed"));
            }
            let (name, kind, count) = match parts.as_slice() {
                [name] => (*name, None, 1),
                [name, second] => match count(second) {
                    Some(n) => (*name, None, n),
                    None => (*name, Some((*second).to_owned()), 1),
                },
                [name, kind, number] => match count(number) {
                    Some(n) => (*name, Some((*kind).to_owned()), n),
                    None => return Err(fault("has a count that is not a number")),
                },
                _ => return Err(fault("has an entry of more than three parts")),
            };
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(fault("has an entry whose name starts with a digit"));
            }
            if counts.insert((name.to_owned(), kind), count).is_some() {
                return Err(fault("names the same GRES twice"));
            }
            at += entry.chars().count() + 1;
        }
        Ok(Self { text: text.to_owned(), counts })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

impl std::fmt::Display for Gres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Gres {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(&text)
    }
}

impl From<Gres> for String {
    fn from(gres: Gres) -> Self {
        gres.text
    }
}

/// A count with SLURM's binary suffixes.
fn count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        b'g' | b'G' => (&text[..text.len() - 1], 1 << 30),
        b't' | b'T' => (&text[..text.len() - 1], 1_u64 << 40),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gres(text: &str) -> Gres {
        Gres::parse(text).unwrap()
    }

    #[test]
    fn compared_by_meaning() {
        assert_eq!(gres("gpu:h100:4"), gres("gpu:h100:4(S:0-1)"));
        assert_eq!(gres("gpu:h100:4,shard:8"), gres("shard:8,gpu:h100:4"));
        assert_eq!(gres("gpu"), gres("gpu:1"));
        assert_eq!(gres("mem:2K"), gres("mem:2048"));
        assert_ne!(gres("gpu:h100:4"), gres("gpu:h200:4"));
        assert_ne!(gres("gpu:h100:4"), gres("gpu:4"));
        assert_ne!(gres("gpu:h100:4"), gres("gpu:h100:8"));
        assert!(gres("").is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_named_by_its_place() {
        for (bad, at) in [
            ("gpu:h100:x", 0),
            ("gpu:4,:2", 6),
            ("gpu:4,", 6),
            ("gpu h100", 0),
            ("a:b:c:d", 0),
            ("gpu:4\n", 0),
            ("gpu:4,gpu:2", 6),
            ("gpu:4(S:0", 0),
            ("4:gpu:1", 0),
        ] {
            let invalid = Gres::parse(bad).unwrap_err();
            assert_eq!(invalid.position, Some(at), "{bad:?}: {invalid}");
        }
    }
}
