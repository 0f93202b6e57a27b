//! The script of the one job that runs a request's tests.
//!
//! `wrapper.sh` says what it does. Its exit code is 0, or that of the first test that failed.

use std::time::Duration;

use super::Test;

/// The longest comment that the wrapper writes, in characters. slurmctld keeps one of 1000 (run on
/// 24.11.5 and 26.05.5; a plain user may set that of a running job of theirs).
pub(super) const COMMENT: usize = 1000;
/// The exit code of a test that reached its time limit, as coreutils' `timeout` has it.
pub(super) const TIME_LIMIT: i64 = 124;
/// The exit code of a test, or of the wrapper, that cannot say anything of the node.
pub(super) const NOTHING_TO_SAY: i64 = 125;
/// What a test costs beside its time: 10 s until it is killed, 10 s for what keeps its output open.
const BESIDE: Duration = Duration::from_secs(20);

/// A bash script that runs these tests in order up to the first failure, each for its time limit, writes
/// `NAME.exit=N` and the pairs `NAME.key=value` into the job's comment, then holds the allocation until the
/// node shows DRAIN, for `hold` at most (whole seconds).
#[must_use]
pub fn job_script(tests: &[&Test], hold: Duration) -> String {
    let names: Vec<&str> = tests.iter().map(|t| t.name().as_str()).collect();
    let mut script = format!(
        "#!/bin/bash\n# Burn-in by slurm-satellite: {}.\n{}\nbegin {} {COMMENT}\n",
        names.join(", "),
        include_str!("wrapper.sh"),
        hold.as_secs()
    );
    for test in tests {
        let end = delimiter(test);
        let line_end = if test.script.ends_with('\n') { "" } else { "\n" };
        script.push_str(&format!(
            "\nif goes_on; then\ncat > \"$folder/test\" << '{end}' || code=125\n{}{line_end}{end}\nfi\n\
             if goes_on; then run_test {} {}; fi\n",
            test.script,
            test.name(),
            test.time_limit().as_secs()
        ));
    }
    script.push_str("finish\n");
    script
}

/// How long the job of [`job_script`] may run: its time limit must not be shorter.
#[must_use]
pub fn time_needed(tests: &[&Test], hold: Duration) -> Duration {
    tests.iter().fold(hold, |sum, test| sum + test.time_limit() + BESIDE)
}

/// A line that the script does not hold.
fn delimiter(test: &Test) -> String {
    let mut line = format!("END-{}", test.digest());
    while test.script.lines().any(|l| l == line) {
        line.push('-');
    }
    line
}
