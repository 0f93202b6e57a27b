//! Our metrics: one registry, as a value.
//!
//! *Invariant*: a label holds one of our own words (an activity, an outcome, a code, a service, an
//! operation), never a device, node, request, user or site. What is not known yet is absent, never 0.

use std::time::Duration;

use activities::poll_conditions::{End, Outcome};
use clients::http::Call;
use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// What the text is.
pub(crate) use prometheus_text::CONTENT_TYPE;

/// From a poll's part of a second to a drain's days.
const ACTIVITY_SECONDS: [f64; 13] =
    [0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 7200.0, 86400.0];
/// From one node to the HTTP layer's own time-out.
const CALL_SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 30.0];

/// A gauge that is absent until it is known.
type Known = Family<[(&'static str, &'static str); 0], Gauge>;

/// What the worker counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    activities: Family<Ended, Counter>,
    activity_seconds: Family<Took, Histogram>,
    calls: Family<Answered, Counter>,
    call_seconds: Family<Asked, Histogram>,
    token_expires_in: Known,
    last_good: Known,
    devices: Known,
    nodes: Known,
    devices_without_node: Known,
    unknown_tokens: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    activity: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Took {
    activity: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    service: &'static str,
    operation: &'static str,
    status_class: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    service: &'static str,
}

impl Metrics {
    /// Nothing counted yet.
    pub(crate) fn new() -> Self {
        let mut new = Self {
            registry: Registry::with_prefix("satellite"),
            activities: Family::default(),
            activity_seconds: Family::new_with_constructor(|| Histogram::new(ACTIVITY_SECONDS)),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(|| Histogram::new(CALL_SECONDS)),
            token_expires_in: Known::default(),
            last_good: Known::default(),
            devices: Known::default(),
            nodes: Known::default(),
            devices_without_node: Known::default(),
            unknown_tokens: Counter::default(),
        };
        let r = &mut new.registry;
        let help = "Attempts at activities that ended, by outcome or failure code";
        r.register("activity", help, new.activities.clone());
        r.register("activity_seconds", "How long attempts at activities took", new.activity_seconds.clone());
        let help = "Calls of services, by HTTP status class; none: no whole answer came";
        r.register("call", help, new.calls.clone());
        r.register("call_seconds", "How long calls of services took", new.call_seconds.clone());
        let help = "What is left of the SLURM token at its source; absent: it cannot be read";
        r.register("slurm_token_expires_in_seconds", help, new.token_expires_in.clone());
        let help = "Unix time of the last good tick that ran here; absent: none yet";
        r.register("poll_last_good_seconds", help, new.last_good.clone());
        r.register("poll_devices", "Devices of the site, at that tick", new.devices.clone());
        r.register("poll_nodes", "Nodes that SLURM showed, at that tick", new.nodes.clone());
        let help = "Devices whose node SLURM did not show, at that tick";
        r.register("poll_devices_without_node", help, new.devices_without_node.clone());
        let help = "Node state tokens that are not known, each counted at every good tick";
        r.register("poll_unknown_tokens", help, new.unknown_tokens.clone());
        new
    }

    /// An attempt at an activity has ended: with an outcome of its own, or with a failure's code.
    pub(crate) fn activity(&self, activity: &'static str, outcome: &'static str, took: Duration) {
        self.activities.get_or_create(&Ended { activity, outcome }).inc();
        self.activity_seconds.get_or_create(&Took { activity }).observe(took.as_secs_f64());
    }

    /// A call of a service has ended.
    pub(crate) fn call(&self, call: Call) {
        let (service, operation) = (call.service.as_str(), call.operation);
        let status_class = class(call.status);
        self.calls.get_or_create(&Answered { service, operation, status_class }).inc();
        self.call_seconds.get_or_create(&Asked { service }).observe(call.took.as_secs_f64());
    }

    /// The tick `t` of the poll has ended. One that saw nothing says nothing.
    pub(crate) fn tick(&self, t: Timestamp, outcome: &Outcome) {
        match outcome.end {
            End::Seen => {}
            End::Blind | End::Overtaken | End::Busy => return,
        }
        let set = |gauge: &Known, value| gauge.get_or_create(&[]).set(value);
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        set(&self.last_good, t.as_second());
        set(&self.devices, count(outcome.devices));
        set(&self.nodes, count(outcome.nodes));
        set(&self.devices_without_node, count(outcome.devices_without_node));
        self.unknown_tokens.inc_by(count(outcome.unknown_tokens).unsigned_abs());
    }

    /// Everything in Prometheus's text format; `left` of the SLURM token, where that is known.
    pub(crate) fn text(&self, left: Option<SignedDuration>) -> Result<String, std::fmt::Error> {
        match left {
            Some(left) => {
                self.token_expires_in.get_or_create(&[]).set(left.as_secs());
            }
            None => self.token_expires_in.clear(),
        }
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn class(status: Option<u16>) -> &'static str {
    match status.map(|s| s / 100) {
        Some(2) => "2xx",
        Some(3) => "3xx",
        Some(4) => "4xx",
        Some(5) => "5xx",
        Some(_) => "other",
        None => "none",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clients::Service;

    use super::*;

    fn seen() -> Outcome {
        Outcome {
            end: End::Seen,
            devices: 40,
            nodes: 41,
            written: 2,
            devices_without_node: 1,
            nodes_without_device: 2,
            devices_in_conflict: 0,
            unknown_tokens: 3,
        }
    }

    /// `name{label keys} type` of every metric in a text.
    fn names(text: &str) -> Vec<String> {
        let keys = |sample: &str| -> BTreeSet<String> {
            let labels = sample.split_once('{').map_or("", |(_, rest)| rest.split('}').next().unwrap());
            let keys = labels.split(',').filter_map(|l| l.split_once('=')).map(|(k, _)| k.to_owned());
            keys.filter(|k| k != "le").collect()
        };
        let mut names = Vec::new();
        for block in text.split("# TYPE ").skip(1) {
            let mut lines = block.lines().filter(|l| !l.starts_with('#'));
            let (name, kind) = lines.next().unwrap().split_once(' ').unwrap();
            let keys: BTreeSet<String> = lines.flat_map(keys).collect();
            names.push(format!("{name}{{{}}} {kind}", keys.into_iter().collect::<Vec<_>>().join(",")));
        }
        names.sort();
        names
    }

    #[test]
    fn the_names_and_labels_are_reviewed() {
        let metrics = Metrics::new();
        metrics.activity("adopt", "created", Duration::from_secs(90));
        let took = Duration::from_millis(4);
        metrics.call(Call { service: Service::Slurm, operation: "get node", status: Some(200), took });
        metrics.tick(Timestamp::from_second(1_800_000_000).unwrap(), &seen());
        let text = metrics.text(Some(SignedDuration::from_secs(600))).unwrap();
        insta::assert_snapshot!(names(&text).join("\n"), @r"
        satellite_activity_seconds{activity} histogram
        satellite_activity_total{activity,outcome} counter
        satellite_call_seconds{service} histogram
        satellite_call_total{operation,service,status_class} counter
        satellite_poll_devices_without_node{} gauge
        satellite_poll_devices{} gauge
        satellite_poll_last_good_seconds{} gauge
        satellite_poll_nodes{} gauge
        satellite_poll_unknown_tokens_total{} counter
        satellite_slurm_token_expires_in_seconds{} gauge
        ");
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let metrics = Metrics::new();
        metrics.tick(Timestamp::UNIX_EPOCH, &Outcome { end: End::Blind, ..seen() });
        let text = metrics.text(None).unwrap();
        assert!(!text.contains("token_expires") && !text.contains("poll_nodes"), "{text}");
        assert!(metrics.text(Some(SignedDuration::from_secs(-5))).unwrap().contains("expires_in_seconds -5"));
        assert!(!metrics.text(None).unwrap().contains("token_expires"));
        metrics.tick(Timestamp::UNIX_EPOCH, &seen());
        metrics.tick(Timestamp::UNIX_EPOCH, &seen());
        let text = metrics.text(None).unwrap();
        assert!(text.contains("poll_unknown_tokens_total 6") && text.contains("poll_nodes 41"), "{text}");
    }

    #[test]
    fn a_call_is_counted_by_its_status_class() {
        assert_eq!(
            [Some(204), Some(404), Some(503), Some(101), None].map(class),
            ["2xx", "4xx", "5xx", "other", "none"]
        );
    }
}
