//! DESIGN §10, as Temporal was told it: two hours cannot be waited for in a test.

use proto::v1::{AdoptDeviceResult, BurnInRequest, DrainRequest, PollResult};
use proto::{Proto, names};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use super::lab::{Lab, Run};
use super::script::{Act, Failure, adopt_request, burn_in_request, drain_request, release_request, within};
use super::{adopt_device, poll};

/// Activity, schedule to close, start to close, heartbeat (seconds; start to close is the whole
/// where it is not given), and attempts (0 is no limit).
type Row = (String, [i64; 3], i32);

async fn rows(run: &Run) -> Vec<Row> {
    let events = run.history().into_events().await.unwrap();
    let row = |attributes| match attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(a)) => {
            let retry = a.retry_policy.unwrap();
            assert_eq!(retry.initial_interval.unwrap().seconds, 1);
            assert_eq!(retry.maximum_interval.unwrap().seconds, 60);
            let times = [a.schedule_to_close_timeout, a.start_to_close_timeout, a.heartbeat_timeout];
            let seconds = times.map(|t| t.map_or(0, |t| t.seconds));
            Some((a.activity_type.unwrap().name, seconds, retry.maximum_attempts))
        }
        _ => None,
    };
    events.into_iter().filter_map(|e| row(e.attributes)).collect()
}

#[tokio::test]
async fn deadlines_heartbeats_and_attempts_are_the_designs() {
    let lab = Lab::start().await;
    let row = |activity: &str, seconds: i64| (activity.to_owned(), [seconds, seconds, 30], 0);
    let run = adopt_device::start(&lab, adopt_request()).await;
    run.result::<AdoptDeviceResult>().await;
    // 2 h until it starts, 4 h of tests, a quarter of an hour
    let burn_in = row("burn_in_sbatch", 22_500);
    assert_eq!(rows(&run).await, [row("adopt", 7200), burn_in.clone(), row("resume", 900)]);
    let run = adopt_device::start(&lab, within(600)).await;
    run.result::<AdoptDeviceResult>().await;
    assert_eq!(rows(&run).await, [row("adopt", 600), burn_in, row("resume", 900)]);
    let minute = Some(pbjson_types::Duration { seconds: 60, nanos: 0 });
    let long = Some(pbjson_types::Duration { seconds: 5 * 3600, nanos: 0 });
    let script = BurnInRequest { script: "#!/bin/sh\n".to_owned(), ..burn_in_request() };
    let drain_soon = DrainRequest { deadline: minute, ..drain_request() };
    let cases = [
        // 8 days and a quarter of an hour
        (names::DRAIN_DEVICE, Proto(drain_request()).encode(), row("drain", 692_100)),
        (names::DRAIN_DEVICE, Proto(drain_soon).encode(), row("drain", 960)),
        (names::RELEASE_DEVICE, Proto(release_request()).encode(), row("release", 692_100)),
        (
            names::BURN_IN_DEVICE,
            Proto(BurnInRequest { deadline: minute, ..script.clone() }).encode(),
            row("burn_in_sbatch", 60 + 14_400 + 900),
        ),
        (
            names::BURN_IN_DEVICE,
            Proto(BurnInRequest { time_limit: long, ..script }).encode(),
            row("burn_in_sbatch", 7200 + 18_000 + 900),
        ),
    ];
    for (workflow, input, expected) in cases {
        let run = lab.start_with(workflow, vec![input.unwrap()]).await;
        run.end().await.unwrap();
        assert_eq!(rows(&run).await, [expected]);
    }
    let failure = Failure::permanent("slurm.node_unknown", "SLURM has no node gpu-001");
    lab.mocks.script(names::BURN_IN_SBATCH, [Act::Fail(failure)]);
    let run = lab.start_with(names::BURN_IN_DEVICE, vec![Proto(burn_in_request()).encode().unwrap()]).await;
    run.failure().await;
    assert_eq!(rows(&run).await[1], row("burn_in_stop", 900));
    let run = poll::start(&lab).await;
    run.result::<PollResult>().await;
    assert_eq!(rows(&run).await, [("poll_scheduler_conditions".to_owned(), [50, 45, 0], 1)]);
}
