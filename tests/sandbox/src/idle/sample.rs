//! One look at a process, in `/proc`.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use anyhow::Context as _;
use procfs_core::process::{SmapsRollup, Stat};
use procfs_core::{FromBufRead as _, FromRead as _};

/// `/proc` counts CPU time in hundredths of a second, on every architecture that we run on.
const TICKS: f64 = 100.0;

/// What a process held and had used when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// Bytes in memory.
    pub(super) resident: u64,
    /// Bytes of it that are no file's: heap and stacks.
    pub(super) anonymous: u64,
    /// CPU time since its start, in hundredths of a second.
    ticks: u64,
}

impl Sample {
    /// Looks at a process.
    pub(super) fn of(pid: u32) -> anyhow::Result<Self> {
        let open = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            File::open(&path).context(path)
        };
        Self::read(open("stat")?, BufReader::new(open("smaps_rollup")?))
    }

    fn read(stat: impl Read, rollup: impl BufRead) -> anyhow::Result<Self> {
        let stat = Stat::from_read(stat).context("stat")?;
        let rollup = SmapsRollup::from_buf_read(rollup).context("smaps_rollup")?;
        let of = |key: &str| {
            let whole = rollup.memory_map_rollup.0.first().context("an empty smaps_rollup")?;
            whole.extension.map.get(key).copied().with_context(|| format!("smaps_rollup lacks {key}"))
        };
        Ok(Self { resident: of("Rss")?, anonymous: of("Anonymous")?, ticks: stat.utime + stat.stime })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resident, anonymous, ticks } = *self;
        let (resident, anonymous) = (super::megabytes(resident), super::megabytes(anonymous));
        #[expect(clippy::cast_precision_loss, reason = "it is printed with two digits")]
        let seconds = ticks as f64 / TICKS;
        write!(f, "resident {resident:.1} MB · anonymous {anonymous:.1} MB · CPU so far {seconds:.2} s")
    }
}

/// CPU time between two samples, as percent of one core.
#[expect(clippy::cast_precision_loss, reason = "it is printed with two digits")]
pub(super) fn cpu_percent(first: &Sample, last: &Sample, between: Duration) -> f64 {
    last.ticks.saturating_sub(first.ticks) as f64 / TICKS / between.as_secs_f64() * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "4711 (a (b) c) S 1 4711 4711 0 -1 4194560 1000 0 7 0 120 30 0 0 20 0 5 0 100 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    const ROLLUP: &str = "55d0c0000000-7ffd00000000 ---p 00000000 00:00 0    [rollup]\nRss:               38000 kB\nPss:               37000 kB\nAnonymous:         12000 kB\nLazyFree:              0 kB\n";

    #[test]
    fn a_sample_is_read_from_what_the_kernel_writes() {
        let sample = Sample::read(STAT.as_bytes(), ROLLUP.as_bytes()).unwrap();
        assert_eq!(sample, Sample { resident: 38_000 * 1024, anonymous: 12_000 * 1024, ticks: 150 });
        let shown = "resident 38.9 MB · anonymous 12.3 MB · CPU so far 1.50 s";
        assert_eq!(sample.to_string(), shown);
    }

    #[test]
    fn a_missing_line_is_said_so() {
        let seen = Sample::read(STAT.as_bytes(), ROLLUP.replace("Anonymous", "Other").as_bytes());
        assert_eq!(seen.unwrap_err().to_string(), "smaps_rollup lacks Anonymous");
    }

    #[test]
    fn percent_is_of_one_core() {
        let at = |ticks| Sample { resident: 0, anonymous: 0, ticks };
        let percent = cpu_percent(&at(100), &at(190), Duration::from_secs(120));
        assert!((percent - 0.75).abs() < 1e-9, "{percent}");
    }

    #[test]
    fn this_process_can_be_looked_at() {
        let sample = Sample::of(std::process::id()).unwrap();
        assert!(sample.anonymous > 0 && sample.resident >= sample.anonymous, "{sample:?}");
    }
}
