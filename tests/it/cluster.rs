//! The real SLURM clusters that the other tests rest on: each release, with accounting, with daemons that
//! end and hang, with a second controller.

use std::time::Duration;

use clients::slurm::{Slurm, Token};
use sandbox::{Container, Daemon, Pair, Release, Run, Signal, SlurmUser, exec};
use serde_json::{Value, json};

use crate::wait::eventually;

/// For what takes a second; a busy machine takes several.
const CEILING: Duration = Duration::from_secs(60);

async fn started(run: &Run) -> (Container, SlurmUser) {
    let (container, url) = sandbox::slurm(run).await.unwrap();
    (container, root(run, &url))
}

fn root(run: &Run, url: &str) -> SlurmUser {
    SlurmUser::new(url, run.release, "root", run.slurm_token("root").unwrap()).unwrap()
}

/// The state of n1 once slurmctld answers and the node has registered.
async fn n1(user: &SlurmUser) -> Value {
    eventually("n1 is known", CEILING, || async {
        let answer = user.get("node/n1").await.map_err(|e| e.to_string())?;
        let state = &answer["nodes"][0]["state"];
        let known = state.as_array().is_some_and(|s| s.iter().all(|t| t != "UNKNOWN"));
        if known { Ok(state.clone()) } else { Err(answer.to_string()) }
    })
    .await
}

#[tokio::test]
async fn cluster_22_05_real() {
    let run = Run { static_nodes: 2, ..Run::of(Release::V22_05) };
    let (container, root) = started(&run).await;
    let answer = root.get("nodes").await.unwrap();
    let nodes = answer["nodes"].as_array().unwrap();
    let seen: Vec<_> = nodes.iter().map(|n| (&n["name"], &n["state"], &n["state_flags"])).collect();
    assert_eq!(json!(seen), json!([["n1", "idle", []], ["n2", "idle", []]]));
    assert_eq!(answer["meta"]["Slurm"]["release"], "22.05.8");
    container.rm().await.unwrap();
}

#[tokio::test]
async fn cluster_accounting_real() {
    for release in [Release::V22_05, Release::V24_11, Release::V26_05] {
        let run = Run { accounting: true, ..Run::of(release) };
        let (container, root) = started(&run).await;
        let answer = root.accounting("users/").await.unwrap();
        let users: Vec<_> = answer["users"].as_array().unwrap().iter().map(|u| &u["name"]).collect();
        assert_eq!(json!(users), json!(["alice", "bob", "root"]), "{}: {answer}", release.name);
        container.rm().await.unwrap();
    }
}

/// Why a drain has slurmctld reckon: asked for one node it tells the allocation of some earlier list.
#[tokio::test]
async fn cluster_reckons_real() {
    for release in [Release::V22_05, Release::V24_11, Release::V26_05] {
        let run = Run { static_nodes: 1, ..Run::of(release) };
        let (container, root) = started(&run).await;
        let allocated = async || root.get("node/n1").await.unwrap()["nodes"][0]["alloc_cpus"].clone();
        let job = "sbatch -Q -w n1 -n1 --mem=100 -D /tmp -o /dev/null --wrap 'until [ -e /tmp/go ]; do sleep 0.1; done'";
        exec(&container, &["runuser", "-u", "alice", "--", "sh", "-ec", job]).await.unwrap();
        eventually("the job's CPU is allocated", CEILING, || async {
            root.get("nodes").await.map_err(|e| e.to_string())?;
            let now = allocated().await;
            if now == 1 { Ok(()) } else { Err(now.to_string()) }
        })
        .await;
        exec(&container, &["touch", "/tmp/go"]).await.unwrap();
        eventually("the job has ended", CEILING, || async {
            let left = exec(&container, &["squeue", "-h"]).await.map_err(|e| e.to_string())?;
            if left.is_empty() { Ok(()) } else { Err(left) }
        })
        .await;
        assert_eq!(allocated().await, 1, "{}: as it was", release.name);
        let token = Token::in_environment("SLURM_JWT", root.token.clone().into());
        let client = Slurm::new(root.url.parse().unwrap(), root.name.clone(), token).unwrap();
        assert!(client.reckon().await.unwrap(), "{}", release.name);
        assert_eq!(allocated().await, 0, "{}: reckoned", release.name);
        container.rm().await.unwrap();
    }
}

/// What the setting `slurm.power_saving` is about: power saving takes the machine of a drained node too,
/// unless slurm.conf spares them, and a POWER_DOWN by hand clears the drain and leaves our words.
#[tokio::test]
async fn cluster_power_saving_real() {
    for release in [Release::V24_11, Release::V26_05] {
        for spares in [false, true] {
            power_saving(release, spares).await;
        }
    }
}

async fn power_saving(release: Release, spares: bool) {
    let programs = "SuspendProgram=/usr/bin/true\\nResumeProgram=/usr/bin/true\\n";
    let times = "SuspendTime=5\\nSuspendTimeout=2\\nResumeTimeout=20";
    let excluded = if spares { "\\nSuspendExcStates=DRAIN" } else { "" };
    let extra_conf = format!("{programs}{times}{excluded}");
    let run = Run { static_nodes: 2, extra_conf, ..Run::of(release) };
    let (container, root) = started(&run).await;
    let words = "fleet:drain r-1: ada: new rack";
    let drain = json!({"state": ["DRAIN"], "reason": words, "extra": "fleet:r-1"});
    root.update("n1", &drain).await.unwrap();
    let is_down = async |node: &str| {
        eventually(&format!("{node} is powered down"), CEILING, || async {
            let node = root.node(node).await.map_err(|e| e.to_string())?.unwrap();
            let down = node["state"].as_array().unwrap().contains(&json!("POWERED_DOWN"));
            if down { Ok(node) } else { Err(node["state"].to_string()) }
        })
        .await
    };
    let n2 = is_down("n2").await;
    if release == Release::V26_05 {
        assert_eq!(n2["suspend_time"]["number"], 5);
    }
    if spares {
        let n1 = root.node("n1").await.unwrap().unwrap();
        assert_eq!(n1["state"], json!(["IDLE", "DRAIN"]), "{}", release.name);
        root.update("n1", &json!({"state": ["POWER_DOWN"]})).await.unwrap();
        let n1 = is_down("n1").await;
        assert_eq!(n1["state"], json!(["IDLE", "POWERED_DOWN"]), "{}", release.name);
        assert_eq!((&n1["reason"], &n1["extra"]), (&json!(words), &json!("fleet:r-1")), "{}", release.name);
    } else {
        let n1 = is_down("n1").await;
        assert_eq!(n1["state"], json!(["IDLE", "DRAIN", "POWERED_DOWN"]), "{}", release.name);
    }
    container.rm().await.unwrap();
}

/// slurmctld forgets a job, slurmdbd does not.
#[tokio::test]
async fn cluster_forgets_a_job_real() {
    let run = Run { accounting: true, static_nodes: 1, min_job_age: 2, ..Run::of(Release::V26_05) };
    let (container, root) = started(&run).await;
    let id = root.submit("n1", "#!/bin/sh\nexit 7\n").await.unwrap();
    eventually("slurmctld has forgotten the job", CEILING, || async {
        let answer = root.get(&format!("job/{id}")).await.map_err(|e| e.to_string())?;
        let forgotten = answer["errors"][0]["error_number"] == 2017;
        if forgotten { Ok(()) } else { Err(answer["jobs"][0]["job_state"].to_string()) }
    })
    .await;
    let answer = root.accounting(&format!("job/{id}")).await.unwrap();
    let job = &answer["jobs"][0];
    assert_eq!(job["state"]["current"], json!(["FAILED"]), "{answer}");
    assert_eq!(job["exit_code"]["return_code"]["number"], 7);
    container.rm().await.unwrap();
}

#[tokio::test]
async fn cluster_daemons_real() {
    for release in [Release::V24_11, Release::V26_05] {
        // with accounting: a slurmctld that was killed must start again there too
        let run = Run { accounting: true, static_nodes: 1, ..Run::of(release) };
        let (container, root) = started(&run).await;
        assert_eq!(n1(&root).await, json!(["IDLE"]));

        Daemon::Slurmrestd.signal(&container, Signal::Kill).await.unwrap();
        root.get("node/n1").await.expect_err("nothing listens");
        Daemon::Slurmrestd.start(&container).await.unwrap();
        assert_eq!(n1(&root).await, json!(["IDLE"]));

        Daemon::Slurmctld.signal(&container, Signal::Stop).await.unwrap();
        assert_eq!(root.get("node/n1").await.unwrap()["errors"][0]["error_number"], 5004, "time-out");
        Daemon::Slurmctld.signal(&container, Signal::Continue).await.unwrap();
        assert_eq!(n1(&root).await, json!(["IDLE"]));

        // its end saves what was written just before
        root.update("n1", &json!({"state": ["DRAIN"], "reason": "kept"})).await.unwrap();
        Daemon::Slurmctld.signal(&container, Signal::Term).await.unwrap();
        assert_eq!(root.get("node/n1").await.unwrap()["errors"][0]["error_number"], 1800, "unreachable");
        Daemon::Slurmctld.start(&container).await.unwrap();
        assert_eq!(n1(&root).await, json!(["IDLE", "DRAIN"]), "{}", release.name);

        Daemon::Slurmctld.signal(&container, Signal::Kill).await.unwrap();
        Daemon::Slurmctld.start(&container).await.unwrap();
        assert_eq!(n1(&root).await, json!(["IDLE", "DRAIN"]), "{}", release.name);
        container.rm().await.unwrap();
    }
}

async fn fails_over(release: Release) {
    let extra_conf = "SlurmctldTimeout=10".to_owned();
    let run = Run { static_nodes: 1, extra_conf, ..Run::of(release) };
    let pair = Pair::start(&run).await.unwrap();
    let backup = root(&run, &pair.backup_url);
    root(&run, &pair.primary_url).update("n1", &json!({"comment": "by the primary"})).await.unwrap();
    assert_eq!(backup.node("n1").await.unwrap().unwrap()["comment"], "by the primary");

    Daemon::Slurmctld.signal(&pair.primary, Signal::Term).await.unwrap();
    assert_eq!(n1(&backup).await, json!(["IDLE"]));
    let node = backup.node("n1").await.unwrap().unwrap();
    assert_eq!(node["comment"], "by the primary", "they share their state");
    let pings = backup.get("ping").await.unwrap()["pings"].clone();
    assert_eq!((&pings[0]["responding"], &pings[1]["responding"]), (&json!(false), &json!(true)), "{pings}");
    backup.update("n1", &json!({"state": ["DRAIN"], "reason": "by the backup"})).await.unwrap();
    assert_eq!(n1(&backup).await, json!(["IDLE", "DRAIN"]));
    pair.end().await.unwrap();
}

#[tokio::test]
async fn cluster_fails_over_24_11_real() {
    Box::pin(fails_over(Release::V24_11)).await;
}

#[tokio::test]
async fn cluster_fails_over_26_05_real() {
    Box::pin(fails_over(Release::V26_05)).await;
}
