//! The same on the older release, and nodes that slurm.conf has: what depends on SLURM alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandbox::{Release, Run, exec};
use serde_json::json;

use super::watching::Watching;
use super::world::World;
use super::{
    CEILING, a_user_runs_a_job, adopt, adopts, adopts_again_without_a_write, hpc_writes_the_rows,
    leaves_a_humans_drain_alone, tokens, told,
};
use crate::wait::{eventually, say};

/// The node's name, and the machine that it is on.
const FIXED: (&str, &str) = ("fix-001", "node-5");

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn adopt_real_24_11() {
    told(with_fixed(Release::V24_11), async |world| {
        hpc_writes_the_rows(world).await;
        let _worker = world.worker();
        let squad = world.hub.by_hand("fleet-squad").unwrap();
        adopts(world, &squad).await;
        a_user_runs_a_job(world).await;
        adopts_again_without_a_write(world, &squad).await;
        leaves_a_humans_drain_alone(world).await;
        a_static_node_is_adopted(world).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn adopt_real_static_and_created() {
    told(with_fixed(Release::V26_05), async |world| {
        let _worker = world.worker();
        a_static_node_is_adopted(world).await;
        a_node_made_by_rest_is_adopted(world).await;
    })
    .await;
}

/// A cluster whose slurm.conf has a node, in a partition of its own. Its address cannot be known yet,
/// and a name that is not resolved when slurmctld starts makes it a node that is not shown.
fn with_fixed(release: Release) -> Run {
    let node = FIXED.0;
    let extra_conf = format!(
        "NodeName={node} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 Gres=gpu:h100:4 Feature=rack1,h100\\n\
         PartitionName=fixed Nodes={node} MaxTime=INFINITE State=UP"
    );
    Run { extra_conf, ..Run::of(release) }
}

/// Tells slurmctld the machine's address, which a site knows beforehand.
async fn tell_the_address(world: &World) {
    let (name, machine) = FIXED;
    let address = eventually(&format!("{machine} runs"), CEILING, || async {
        let address = world.services.room.exec(machine, &["hostname", "-i"]).await;
        address.map_err(|e| e.to_string())
    })
    .await;
    let (node, address) = (format!("nodename={name}"), format!("nodeaddr={}", address.trim()));
    exec(&world.services.slurm, &["scontrol", "update", &node, &address]).await.unwrap();
}

async fn a_static_node_is_adopted(world: &World) {
    let (name, machine) = FIXED;
    let hpc = world.hub.by_hand("hpc-lab").unwrap();
    let user_data = world.services.run.static_user_data();
    let row = json!({
        "device_role": "fixed", "image": world.services.image, "flavor": "bm.small", "features": ["h100"],
        "gres": "gpu:h100:4", "user_data": STANDARD.encode(user_data), "node_source": "static",
    });
    assert_eq!(hpc.post("sites/lab/slurm-bootstrap-configs/", &row).await.unwrap().0, 201);
    // its slurmd has never been there
    let node = world.root.node(name).await.unwrap().unwrap();
    assert_eq!(node["slurmd_start_time"]["number"], 0);

    say(&format!("satellite start adopt {name}, a node that slurm.conf has"));
    let request = ["--reason", "new rack", "--request", "req-fixed"];
    let (result, ()) = tokio::join!(adopt(world, name, &request), tell_the_address(world));
    assert_eq!(result["adopt"]["plan"], "PLAN_CREATE");
    assert_eq!(result["resume"]["outcome"], "RESUME_OUTCOME_RESUMED");
    let node = eventually(&format!("{name} is IDLE"), CEILING, || async {
        let node = world.root.node(name).await.unwrap().ok_or("no node")?;
        if tokens(&node) == ["IDLE"] { Ok(node) } else { Err(node["state"].to_string()) }
    })
    .await;
    assert_eq!((&node["reason"], &node["extra"]), (&json!(world.unmarked()), &json!("")));
    let servers = world.services.cloud.servers(name).await.unwrap();
    assert_eq!(servers.len(), 1, "{servers:?}");
    assert_eq!(servers[0]["OS-EXT-SRV-ATTR:hypervisor_hostname"], machine);
    let squad = world.hub.by_hand("fleet-squad").unwrap();
    eventually(&format!("{name} is ready"), CEILING, || async {
        let status = squad.device(name).await.unwrap()["status"].clone();
        if status == "ready" { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    let planned = adopt(world, name, &["--dry-run"]).await;
    assert_eq!(planned["adopt"]["plan"], "PLAN_NOOP", "{planned}");
}

async fn a_node_made_by_rest_is_adopted(world: &World) {
    let name = "new-001";
    let hpc = world.hub.by_hand("hpc-lab").unwrap();
    let user_data = world.services.run.user_data();
    let row = json!({
        "device_role": "made", "image": "slurm-node-a", "flavor": "bm.small", "features": ["dyn", "h100"],
        "gres": "gpu:h100:4", "user_data": STANDARD.encode(user_data), "node_source": "created",
    });
    assert_eq!(hpc.post("sites/lab/slurm-bootstrap-configs/", &row).await.unwrap().0, 201);
    assert_eq!(world.root.node(name).await.unwrap(), None);

    say(&format!("satellite start adopt {name}, whose node is made by REST, closed, before Nova is asked"));
    let root = world.root.clone();
    let sightings = Watching::start(move || {
        let root = root.clone();
        async move { root.node(name).await.unwrap().map(|n| tokens(&n)) }
    });
    let request = ["--reason", "new rack", "--request", "req-made"];
    let result = adopt(world, name, &request).await;
    assert_eq!(result["adopt"]["plan"], "PLAN_CREATE");
    assert_eq!(result["resume"]["outcome"], "RESUME_OUTCOME_RESUMED");
    let node = eventually(&format!("{name} is IDLE"), CEILING, || async {
        let node = world.root.node(name).await.unwrap().ok_or("no node")?;
        if tokens(&node) == ["IDLE", "CLOUD", "DYNAMIC_NORM"] {
            Ok(node)
        } else {
            Err(node["state"].to_string())
        }
    })
    .await;
    let seen = sightings.end().await;
    // made as a machine that is off, and closed from then until it was opened
    let closed = |t: &Vec<String>| t.contains(&"DRAIN".to_owned());
    let drained = seen.iter().position(closed).unwrap();
    assert!(drained <= 1 && seen[drained].contains(&"POWERED_DOWN".to_owned()), "{seen:?}");
    let opened = seen.iter().skip(drained).position(|t| !closed(t)).unwrap() + drained;
    assert!(seen[opened..].iter().all(|t| !closed(t)), "{seen:?}");
    assert_eq!((&node["features"], &node["gres"]), (&json!(["dyn", "h100"]), &json!("gpu:h100:4")));
    assert_eq!((&node["reason"], &node["extra"]), (&json!(""), &json!("")));
    assert_eq!(world.services.cloud.servers(name).await.unwrap().len(), 1);
    let planned = adopt(world, name, &["--dry-run"]).await;
    assert_eq!(planned["adopt"]["plan"], "PLAN_NOOP", "{planned}");
}
