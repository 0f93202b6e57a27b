//! What the worker tells of itself over HTTP. Of the site's services only Temporal is there.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sandbox::{Process, Temporal, folder, free_port};
use serde_json::Value;

use crate::command_line::{settings, worker};
use crate::wait::{eventually, http};

/// Where a worker listens, as its log says.
struct Port(String);

impl Port {
    async fn of(process: &Process) -> Self {
        let said = |text: &str| {
            let lines = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
            let line = lines.into_iter().find(|l| l["message"] == "http listens")?;
            Some(line["address"].as_str()?.to_owned())
        };
        eventually("it says where it listens", Duration::from_secs(20), || async {
            let text = process.text();
            said(&text).map(Self).ok_or(text)
        })
        .await
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = http().get(format!("http://{}{path}", self.0)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// Waits until `/readyz` begins so.
    async fn says(&self, status: u16, text: &str) {
        eventually(text, Duration::from_secs(40), || async {
            let answer = self.get("/readyz").await;
            if answer.0 == status && answer.1.starts_with(text) { Ok(()) } else { Err(format!("{answer:?}")) }
        })
        .await;
    }
}

fn jwt(ends: i64) -> String {
    format!("eyJhbGciOiJIUzI1NiJ9.{}.c2ln", URL_SAFE_NO_PAD.encode(format!("{{\"exp\":{ends}}}")))
}

#[tokio::test]
async fn it_is_ready_while_temporal_answers_and_the_slurm_token_is_usable() {
    let folder = folder("it/ready").unwrap();
    let port = free_port().unwrap();
    settings(&folder, &format!("127.0.0.1:{port}"));
    let token = folder.join("token");
    std::fs::write(&token, jwt(4_000_000_000)).unwrap();
    let process = worker(&folder);
    let at = Port::of(&process).await;
    assert_eq!(at.get("/livez").await, (200, "alive\n".to_owned()));
    assert_eq!(at.get("/readyz").await, (503, "worker: waits for Temporal\n".to_owned()));

    let temporal = Temporal::start(&folder, "lab", port, None).await.unwrap();
    at.says(200, "ready\n").await;

    let place = format!("SLURM token file {}", token.display());
    std::fs::write(&token, "nonsense").unwrap();
    at.says(503, &format!("{place} is not a JWT with a whole-numbered `exp`\n")).await;
    std::fs::remove_file(&token).unwrap();
    at.says(503, &format!("{place} cannot be read: entity not found\n")).await;
    std::fs::write(&token, jwt(1)).unwrap();
    at.says(503, "SLURM token: has ended, ").await;
    std::fs::write(&token, jwt(4_000_000_001)).unwrap();
    at.says(200, "ready\n").await;

    drop(temporal);
    at.says(503, "Temporal: ").await;
    assert_eq!(at.get("/livez").await.0, 200);
}

#[tokio::test]
async fn metrics_are_ours_and_temporals_on_one_page() {
    let folder = folder("it/metrics").unwrap();
    let temporal = Temporal::start(&folder, "lab", free_port().unwrap(), None).await.unwrap();
    settings(&folder, &temporal.address);
    let file = folder.join("site.toml");
    let text = std::fs::read_to_string(&file).unwrap() + "[poll]\nevery_seconds = 1\n";
    std::fs::write(file, text).unwrap();
    let process = worker(&folder);
    let at = Port::of(&process).await;
    let (status, page) = at.get("/metrics").await;
    assert_eq!((status, page.contains("token_expires_in")), (200, false), "{page}");
    std::fs::write(folder.join("token"), jwt(4_000_000_000)).unwrap();
    // a tick runs, and finds no hub
    let wanted = [
        "satellite_activity_total{activity=\"poll_scheduler_conditions\",outcome=\"hub.unavailable\"} ",
        "satellite_activity_seconds_count{activity=\"poll_scheduler_conditions\"} ",
        "satellite_call_total{service=\"hub\",operation=\"get token\",status_class=\"none\"} ",
        "satellite_call_seconds_count{service=\"hub\"} ",
        "satellite_slurm_token_expires_in_seconds ",
        "temporal_worker_task_slots_available{",
    ];
    let page = eventually("all of them", Duration::from_secs(40), || async {
        let (_, page) = at.get("/metrics").await;
        if wanted.iter().all(|w| page.contains(w)) { Ok(page) } else { Err(page) }
    })
    .await;
    assert!(!page.contains("satellite_poll_last_good_seconds"), "{page}");
    let types: Vec<&str> = page.lines().filter(|l| l.starts_with("# TYPE ")).collect();
    let mut names = types.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), types.len(), "a metric stands on the page twice: {types:?}");
}

#[tokio::test]
async fn a_port_that_is_taken_ends_the_worker_and_names_the_setting() {
    let folder = folder("it/taken").unwrap();
    settings(&folder, &format!("127.0.0.1:{}", free_port().unwrap()));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let file = folder.join("site.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("127.0.0.1:0", &address.to_string());
    std::fs::write(file, text).unwrap();
    let mut process = worker(&folder);
    assert_eq!(process.ended(Duration::from_secs(20)).await.unwrap().code(), Some(1));
    let said = format!("http.listen: {address} cannot be listened on; free it, or set another: ");
    assert!(process.text().contains(&said), "{}", process.text());
}
