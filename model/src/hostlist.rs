//! Hostlist expressions, as SLURM writes several nodes in one string.

use crate::Invalid;

/// More names than any cluster has: `n[0-4294967295]` must not fill the memory.
const MOST: usize = 200_000;

/// Expands `rack[0-1]_n[08-11],gpu-[001-003,7],x1` into its names, in order, zero padding kept.
/// An empty text is no node.
///
/// # Errors
/// [`Invalid`] for a bracket that is not closed, is empty, or counts backwards, and for more than
/// 200,000 names. Never half a list.
pub fn expand(text: &str) -> Result<Vec<String>, Invalid> {
    let mut names = Vec::new();
    for part in split(text)? {
        let all = expand_one(part)?;
        if names.len() + all.len() > MOST {
            return Err(fault("names more than 200000 nodes"));
        }
        names.extend(all);
    }
    Ok(names)
}

fn fault(problem: &str) -> Invalid {
    Invalid::new("nodes", problem, "write a hostlist such as gpu-[001-003,7]")
}

/// Splits at commas outside brackets.
fn split(text: &str) -> Result<Vec<&str>, Invalid> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if inside => return Err(fault("has a bracket inside a bracket")),
            '[' => inside = true,
            ']' if !inside => return Err(fault("closes a bracket that is not open")),
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(fault("has a bracket that is not closed"));
    }
    parts.push(&text[start..]);
    Ok(parts.into_iter().filter(|p| !p.is_empty()).collect())
}

/// Expands every bracket group of one part, the last group counting fastest.
fn expand_one(part: &str) -> Result<Vec<String>, Invalid> {
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        let (group, behind) =
            after.split_once(']').ok_or_else(|| fault("has a bracket that is not closed"))?;
        let numbers = group.split(',').map(range).collect::<Result<Vec<_>, _>>()?.concat();
        if names.len().saturating_mul(numbers.len()) > MOST {
            return Err(fault("names more than 200000 nodes"));
        }
        let longer = |name: &String| numbers.iter().map(|n| format!("{name}{before}{n}")).collect::<Vec<_>>();
        names = names.iter().flat_map(longer).collect();
        rest = behind;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

fn range(text: &str) -> Result<Vec<String>, Invalid> {
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|b| b.is_ascii_digit());
        plain
            .then(|| digits.parse::<usize>().ok())
            .flatten()
            .ok_or_else(|| fault("has a range that is not numbers"))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (low, high, width) = (number(first)?, number(last)?, first.len());
    if high < low {
        return Err(fault("counts backwards"));
    }
    if high - low >= MOST {
        return Err(fault("names more than 200000 nodes"));
    }
    Ok((low..=high).map(|n| format!("{n:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_b10_groups_padding_and_lists() {
        let names = expand("rack[0-1]_blade[08-11],gpu-[001-003,7],x1").unwrap();
        assert_eq!(names.len(), 13);
        assert_eq!(
            names[..5],
            ["rack0_blade08", "rack0_blade09", "rack0_blade10", "rack0_blade11", "rack1_blade08"]
        );
        assert_eq!(names[8..], ["gpu-001", "gpu-002", "gpu-003", "gpu-7", "x1"]);
        assert_eq!(expand("").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn case_b10_never_half_a_list() {
        for bad in
            ["node[01", "node[]", "a[3-1]", "n]1", "n[[1]]", "n[1-x]", "ok,n[", "n[0-999999999]", "n[1-]"]
        {
            assert!(expand(bad).is_err(), "{bad}");
        }
    }
}
