//! Nova's checks of a new server's fields, with Nova's words, which echo what was sent.

use serde_json::{Map, Value};

use super::nova::Wrong;
use crate::python;

/// user-data may have so many characters, of base64.
const LONGEST: usize = 65_535;

/// Properties of a new server, and the microversion that brought each.
const PROPERTIES: [(&str, u32); 16] = [
    ("name", 1),
    ("imageRef", 1),
    ("flavorRef", 1),
    ("metadata", 1),
    ("networks", 1),
    ("user_data", 1),
    ("config_drive", 1),
    ("availability_zone", 1),
    ("key_name", 1),
    ("adminPass", 1),
    ("OS-DCF:diskConfig", 1),
    ("description", 19),
    ("tags", 52),
    ("host", 74),
    ("hypervisor_hostname", 74),
    ("hostname", 90),
];

/// Words that Nova takes for a truth value.
const BOOLEANS: &str = "[True, 'True', 'TRUE', 'true', '1', 'ON', 'On', 'on', 'YES', 'Yes', 'yes', \
                        False, 'False', 'FALSE', 'false', '0', 'OFF', 'Off', 'off', 'NO', 'No', 'no']";

pub(super) fn invalid(field: &str, value: &Value, why: &str) -> Wrong {
    Wrong::bad(format!("Invalid input for field/attribute {field}. Value: {}. {why}", python::str(value)))
}

/// A text of so many characters.
pub(super) fn text(field: &str, value: &Value, least: usize, most: usize) -> Result<(), Wrong> {
    let shown = python::repr(value);
    match value.as_str().map(|t| t.chars().count()) {
        None => Err(invalid(field, value, &format!("{shown} is not of type 'string'"))),
        Some(length) if length < least => Err(invalid(field, value, &format!("{shown} is too short"))),
        Some(length) if length > most => Err(invalid(field, value, &format!("{shown} is too long"))),
        Some(_) => Ok(()),
    }
}

/// The whole `server`.
pub(super) fn check(server: &Map<String, Value>, minor: u32) -> Result<(), Wrong> {
    let whole = || Value::Object(server.clone());
    for (key, value) in server {
        let known = PROPERTIES.iter().any(|(name, since)| name == key && *since <= minor);
        if !known {
            let why = format!("Additional properties are not allowed ('{key}' was unexpected)");
            return Err(invalid("server", &whole(), &why));
        }
        field(key, value, minor)?;
    }
    let mut required = vec!["name", "flavorRef"];
    if minor >= 37 {
        required.push("networks");
    }
    match required.into_iter().find(|key| !server.contains_key(*key)) {
        Some(key) => Err(invalid("server", &whole(), &format!("'{key}' is a required property"))),
        None => Ok(()),
    }
}

pub(super) fn field(key: &str, value: &Value, minor: u32) -> Result<(), Wrong> {
    match key {
        "name" => text(key, value, 1, 255),
        "imageRef" => {
            let fits = value.as_str().is_some_and(|t| t.is_empty() || uuid::Uuid::parse_str(t).is_ok());
            let why = format!("{} is not valid under any of the given schemas", python::repr(value));
            if fits { Ok(()) } else { Err(invalid(key, value, &why)) }
        }
        "metadata" => value
            .as_object()
            .map_or(Ok(()), |pairs| pairs.iter().try_for_each(|(name, value)| text(name, value, 0, 255))),
        "tags" => tags(value),
        "user_data" => {
            text(key, value, 0, LONGEST)?;
            let why = format!("{} is not a 'base64'", python::repr(value));
            if value.as_str().is_some_and(is_base64) { Ok(()) } else { Err(invalid(key, value, &why)) }
        }
        "config_drive" => {
            let fits = value.is_boolean()
                || value.as_str().is_some_and(|t| !t.is_empty() && BOOLEANS.contains(&format!("'{t}'")));
            let why = format!("{} is not one of {BOOLEANS}", python::repr(value));
            if fits { Ok(()) } else { Err(invalid(key, value, &why)) }
        }
        "networks" if value.is_array() => Ok(()),
        "networks" if minor < 37 => {
            Err(invalid(key, value, &format!("{} is not of type 'array'", python::repr(value))))
        }
        "networks" if *value == "none" || *value == "auto" => Ok(()),
        "networks" => {
            let why = format!("{} is not valid under any of the given schemas", python::repr(value));
            Err(invalid(key, value, &why))
        }
        "hostname" => {
            let name = value.as_str().unwrap_or_default();
            let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            let fits = name.len() >= 2
                && ends(name.chars().next())
                && ends(name.chars().next_back())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.' && minor >= 94);
            let why =
                format!("{} does not match '^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$'", python::repr(value));
            if fits { Ok(()) } else { Err(invalid(key, value, &why)) }
        }
        _ => Ok(()),
    }
}

fn tags(value: &Value) -> Result<(), Wrong> {
    let tags = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if tags.len() > 50 {
        return Err(invalid("tags", value, &format!("{} is too long", python::repr(value))));
    }
    for (at, tag) in tags.iter().enumerate() {
        text(&at.to_string(), tag, 1, 60)?;
        if tag.as_str().is_some_and(|t| t.contains([',', '/'])) {
            let why = format!("{} does not match '^[^,/]*$'", python::repr(tag));
            return Err(invalid(&at.to_string(), tag, &why));
        }
    }
    Ok(())
}

/// As lenient as Python's decoder: foreign characters are dropped, the padding must be right.
pub(super) fn is_base64(text: &str) -> bool {
    let (mut quad, mut pads) = (0_u8, 0_u8);
    for c in text.bytes() {
        match c {
            b'=' if quad >= 2 => {
                pads += 1;
                if quad + pads >= 4 {
                    return true;
                }
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => (quad, pads) = ((quad + 1) % 4, 0),
            _ => {}
        }
    }
    quad == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_python_reads_it() {
        for (text, expected) in [
            ("", true),
            ("!!", true),
            ("YWI=", true),
            ("YWJj\n", true),
            ("YWI", false),
            ("!!!not base64!!!", false),
            ("#cloud-config\n", false),
        ] {
            assert_eq!(is_base64(text), expected, "{text:?}");
        }
    }
}
