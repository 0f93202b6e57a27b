//! DESIGN §10, as Temporal was told it: two hours cannot be waited for in a test.

use proto::v1::{AdoptDeviceResult, PollResult};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use super::lab::{Lab, Run};
use super::script::{adopt_request, within};
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
    let run = adopt_device::start(&lab, adopt_request()).await;
    run.result::<AdoptDeviceResult>().await;
    let resume = ("resume".to_owned(), [900, 900, 30], 0);
    assert_eq!(rows(&run).await, [("adopt".to_owned(), [7200, 7200, 30], 0), resume.clone()]);
    let run = adopt_device::start(&lab, within(600)).await;
    run.result::<AdoptDeviceResult>().await;
    assert_eq!(rows(&run).await, [("adopt".to_owned(), [600, 600, 30], 0), resume]);
    let run = poll::start(&lab).await;
    run.result::<PollResult>().await;
    assert_eq!(rows(&run).await, [("poll_scheduler_conditions".to_owned(), [50, 45, 0], 1)]);
}
