//! Job arrays: one entry stands for the tasks that have not been started, each other task is a job of its own.

/// What of an array a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Array {
    /// It stands for these tasks, which have not been started.
    Rest(Vec<u32>),
    /// It is this task of the array of this id.
    Task(i64, u32),
}

/// `1-4,7` of a sorted list.
pub(super) fn ranges(tasks: &[u32]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = tasks;
    while let Some(first) = rest.first() {
        let run = rest.iter().zip(*first..).take_while(|(task, expected)| **task == *expected).count();
        let last = rest.get(run - 1).unwrap_or(first);
        words.push(if run > 1 { format!("{first}-{last}") } else { first.to_string() });
        rest = rest.get(run..).unwrap_or_default();
    }
    words.join(",")
}

/// The tasks of `1-4,7`, `0-6:2` and the like; what stands behind a `%` is no task. None: no array.
pub(super) fn tasks(array: &str) -> Option<Array> {
    let array = array.split('%').next().unwrap_or_default();
    let mut tasks = Vec::new();
    for word in array.split(',').filter(|w| !w.is_empty()) {
        let (range, step) = word.split_once(':').unwrap_or((word, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        tasks.extend((first..=last).step_by(step.parse().ok().filter(|s| *s > 0)?));
    }
    tasks.sort_unstable();
    tasks.dedup();
    (!tasks.is_empty()).then_some(Array::Rest(tasks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_words() {
        for (given, expected) in
            [("1-4", "1-4"), ("7,1-2,3", "1-3,7"), ("0-6:2", "0,2,4,6"), ("1-3%2", "1-3"), ("5", "5")]
        {
            let Some(Array::Rest(tasks)) = tasks(given) else { panic!("{given}") };
            assert_eq!(ranges(&tasks), expected, "{given}");
        }
        assert_eq!((tasks(""), tasks("x")), (None, None));
    }
}
