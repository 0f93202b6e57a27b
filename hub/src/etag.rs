//! A row's revision as its strong ETag, and the condition that a change of the row carries
//! (RFC 9110 §8.8.3 and §13.1.1).
//!
//! *Invariant*: a change is bound to a revision that its writer has read. `*` holds for any
//! revision and so protects nobody: it is refused as if there were no condition. A weak tag
//! (`W/"3"`) never holds, as the RFC has it.

use axum::http::{HeaderMap, HeaderName, header};
use model::Invalid;

use crate::problem::{Answer, Kind, Refusal};

/// `ETag: "3"`.
pub(crate) fn header(revision: u64) -> [(HeaderName, String); 1] {
    [(header::ETAG, tag(revision))]
}

fn tag(revision: u64) -> String {
    format!("\"{revision}\"")
}

/// The tags of `If-Match`, as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IfMatch(Vec<String>);

impl IfMatch {
    /// Reads the header, which may be sent in several lines. 428 without one or with `*`, 422 for
    /// what is no list of tags.
    pub(crate) fn read(headers: &HeaderMap) -> Answer<Self> {
        let mut all = Vec::new();
        for line in headers.get_all(header::IF_MATCH) {
            let line = line.to_str().map_err(|_| malformed())?;
            if line.trim() == "*" {
                return Err(required("If-Match: * holds for any revision"));
            }
            all.extend(tags(line).ok_or_else(malformed)?);
        }
        if all.is_empty() { Err(required("If-Match is missing")) } else { Ok(Self(all)) }
    }

    /// Whether a row of this revision may be changed.
    pub(crate) fn holds(&self, revision: u64) -> bool {
        self.0.contains(&tag(revision))
    }
}

/// 412: the row is at another revision than the writer has read.
pub(crate) fn moved(now: u64) -> Refusal {
    let said = format!(
        "If-Match does not name the row's revision, which is {now}; read the row again, decide anew, \
         and send If-Match: {}",
        tag(now)
    );
    Refusal::new(Kind::RevisionMoved, said)
}

fn required(problem: &str) -> Refusal {
    let remedy = "read the row and send its ETag, which is its revision in quotes, such as If-Match: \"3\"";
    Refusal::new(Kind::PreconditionRequired, format!("{problem}; {remedy}"))
}

fn malformed() -> Invalid {
    let remedy = "write the row's revision in double quotes, such as If-Match: \"3\"";
    Invalid::new("If-Match", "is not a list of entity tags", remedy)
}

/// `None` when it is no list of tags. A tag may hold a comma; a list may have empty places.
fn tags(line: &str) -> Option<Vec<String>> {
    let between = |c: char| matches!(c, ' ' | '\t' | ',');
    let mut rest = line.trim_start_matches(between);
    let mut tags = Vec::new();
    while !rest.is_empty() {
        let weak = if rest.starts_with("W/") { "W/" } else { "" };
        let (opaque, after) = rest.strip_prefix(weak)?.strip_prefix('"')?.split_once('"')?;
        let after = after.trim_start_matches([' ', '\t']);
        if opaque.contains([' ', '\t']) || !(after.is_empty() || after.starts_with(',')) {
            return None;
        }
        tags.push(format!("{weak}\"{opaque}\""));
        rest = after.trim_start_matches(between);
    }
    Some(tags)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(lines: &[&str]) -> Answer<IfMatch> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::IF_MATCH, HeaderValue::from_str(line).unwrap());
        }
        IfMatch::read(&headers)
    }

    #[test]
    fn one_of_the_tags_must_be_the_revision() {
        for (lines, holds) in [
            (&["\"3\""] as &[&str], true),
            (&["\"1\" ,, \"3\"\t"], true),
            (&["\"1\"", "\"3\""], true),
            (&["\"1,3\", \"2\""], false),
            (&["\"03\""], false),
            (&["\"33\""], false),
            (&["W/\"3\""], false),
            (&["\"*\""], false),
        ] {
            assert_eq!(read(lines).unwrap().holds(3), holds, "{lines:?}");
        }
    }

    #[test]
    fn no_condition_and_any_are_the_same() {
        for lines in [&[] as &[&str], &[""], &[" , "], &["*"], &["\"3\"", " * "]] {
            let document = read(lines).unwrap_err().document();
            assert_eq!(document.status, 428, "{lines:?}");
            assert!(document.detail.unwrap().contains("send its ETag"), "{lines:?}");
        }
    }

    #[test]
    fn what_is_no_tag_is_said() {
        for line in ["3", "\"3", "3\"", "\"3\" \"4\"", "\"3\"x", "w/\"3\"", "*, \"3\"", "\"3 4\""] {
            assert_eq!(read(&[line]), Err(malformed().into()), "{line}");
        }
    }
}
