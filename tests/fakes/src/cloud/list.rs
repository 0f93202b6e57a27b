//! `GET /servers` and `/servers/detail`: filters, some of which are silently ignored, and pages.

use serde_json::{Value, json};

use super::nova::Wrong;
use super::server::Server;
use super::show::{self, Viewer};
use super::{Role, Site};
use crate::serve::{Call, Reply};

/// Filters that Nova's schema has, and that do nothing here or for the project's user.
const IGNORED: [&str; 24] = [
    "access_ip_v4",
    "auto_disk_config",
    "availability_zone",
    "changes-before",
    "changes-since",
    "config_drive",
    "created_at",
    "deleted",
    "description",
    "flavor",
    "host",
    "hostname",
    "image",
    "ip",
    "ip6",
    "key_name",
    "metadata",
    "node",
    "power_state",
    "sort_dir",
    "sort_key",
    "task_state",
    "uuid",
    "vm_state",
];

/// Newest first. An unknown filter is refused from 2.75 on and ignored before; `tags` is ignored
/// before 2.26.
pub(super) fn list(site: &Site, call: &Call, viewer: Viewer, detail: bool) -> Result<Reply, Wrong> {
    let mut servers: Vec<&Server> = site.servers.iter().rev().collect();
    let (mut limit, mut marker) = (site.options.page, None);
    for (key, value) in call.pairs() {
        match key.as_str() {
            "limit" => {
                let whole = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                let asked = whole.then(|| value.parse::<usize>().unwrap_or(usize::MAX));
                let pattern = format!("'{value}' does not match '^[0-9]*$'");
                let message = format!("Invalid input for query parameters limit. Value: {value}. {pattern}");
                limit = limit.min(asked.ok_or_else(|| Wrong::bad(message))?);
            }
            "marker" => marker = Some(value),
            "all_tenants" if viewer.role != Role::Admin => {
                let list = if detail { "detail" } else { "index" };
                return Err(Wrong::policy(&format!("os_compute_api:servers:{list}:get_all_tenants")));
            }
            "all_tenants" => {}
            "name" => servers.retain(|s| matches(&value, &s.name)),
            "status" => {
                let known = ["BUILD", "ACTIVE", "ERROR", "DELETED", "REBUILD", "SHUTOFF"];
                if !known.contains(&value.to_ascii_uppercase().as_str()) {
                    return Err(Wrong::bad("Invalid status value"));
                }
                servers.retain(|s| s.status().eq_ignore_ascii_case(&value));
            }
            "reservation_id" => servers.clear(),
            "tags" if viewer.minor >= 26 => {
                servers.retain(|s| value.split(',').all(|tag| s.tags.iter().any(|t| t == tag)));
            }
            key if key == "tags" || IGNORED.contains(&key) || viewer.minor < 75 => {}
            key => return Err(Wrong::bad(format!("'{key}' does not match any of the regexes: '^_'"))),
        }
    }
    if let Some(marker) = marker {
        let at = servers.iter().position(|s| s.id == marker);
        let at = at.ok_or_else(|| Wrong::bad(format!("marker [{marker}] not found")))?;
        servers.drain(..=at);
    }
    servers.truncate(limit);
    let brief = |s: &Server| json!({"id": s.id, "name": s.name, "links": show::links(site, &s.id)});
    let one = |s: &&Server| if detail { show::server(site, s, viewer) } else { brief(s) };
    let mut body = json!({"servers": servers.iter().map(one).collect::<Vec<Value>>()});
    // a full page has a next one, also when it is the last
    if let Some(last) = servers.last().filter(|_| servers.len() == limit) {
        body["servers_links"] = json!([{"rel": "next", "href": next(site, call, &last.id)}]);
    }
    Ok(Reply::json(200, &body))
}

/// The same query behind the last one of this page.
fn next(site: &Site, call: &Call, last: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(call.pairs().iter().filter(|(k, _)| k != "marker"));
    query.append_pair("marker", last);
    format!("{}{}?{}", site.urls.nova, call.path, query.finish())
}

/// A name filter is a regular expression that may fit anywhere; of those only `^`, `$` and escapes.
fn matches(pattern: &str, name: &str) -> bool {
    let (start, rest) = pattern.strip_prefix('^').map_or((false, pattern), |r| (true, r));
    let (end, rest) = rest.strip_suffix('$').map_or((false, rest), |r| (true, r));
    let text = rest.replace('\\', "");
    match (start, end) {
        (true, true) => name == text,
        (true, false) => name.starts_with(&text),
        (false, true) => name.ends_with(&text),
        (false, false) => name.contains(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_anywhere_unless_anchored() {
        assert!(matches("ide", "idem-2"));
        assert!(!matches("^idem$", "idem-2"));
        assert!(matches("^idem\\-2$", "idem-2"));
    }
}
