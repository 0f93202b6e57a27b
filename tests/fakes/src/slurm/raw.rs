//! Bytes that are not UTF-8, kept in a string: slurmctld takes them in a reason and hands them back as they
//! are, and with them the whole list of nodes is no UTF-8 (facts: slurm §0.8).
//!
//! *Invariant*: what [`bytes`] writes is what [`text`] read.

/// Where such bytes are put: characters of Unicode's private use, of which no test has another use.
const PLANE: u32 = 0x10_FF00;
/// The first byte of each of them in UTF-8.
const LEAD: u8 = 0xf4;

/// The bytes as a string. Each that is not UTF-8 becomes a character of private use.
pub(super) fn text(bytes: &[u8]) -> String {
    let stand_in =
        |byte: &u8| char::from_u32(PLANE + u32::from(*byte)).unwrap_or(char::REPLACEMENT_CHARACTER);
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(stand_in));
    }
    text
}

/// The string as it goes over the wire.
pub(super) fn bytes(text: String) -> Vec<u8> {
    if !text.as_bytes().contains(&LEAD) {
        return text.into_bytes();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match u32::from(character).checked_sub(PLANE).map(u8::try_from) {
            Some(Ok(byte)) => bytes.push(byte),
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for given in [&b"caf\xe9 \xff\xfe"[..], "café ☕".as_bytes(), b"", b"\xc3"] {
            assert_eq!(bytes(text(given)), given);
        }
    }
}
