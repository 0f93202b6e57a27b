//! The same things in other shapes: v0.0.40 of 24.11.5, `+complex` of 26.05.5, five hundred nodes of
//! which four are odd.

use clients::slurm::{NodeUpdate, SetState};
use serde_json::{Value, json};

use crate::fake::Reply;
use crate::slurm::{NODES, name, serving, slurm};

fn complex(name: &str) -> Reply {
    Reply::slurm(&format!("complex/{name}"))
}

#[tokio::test]
async fn v0_0_40_is_read_and_written_as_its_successor() {
    let (fake, slurm) = serving("v0.0.40").await;
    let recorded = |name: &str| Reply::slurm(&format!("24.11.5/{name}"));
    fake.on("GET /slurm/v0.0.40/nodes", [recorded("nodes_v0.0.40")]);
    fake.on("GET /slurm/v0.0.40/node/n1", [recorded("node_v0.0.40")]);
    fake.on("GET /slurm/v0.0.40/node/nosuch", [recorded("node_unknown_v0.0.40")]);
    fake.on("POST /slurm/v0.0.40/node/n2", [recorded("update_drain_v0.0.40")]);
    let listed = slurm.nodes().await.unwrap();
    assert_eq!((listed.list.len(), listed.unreadable), (4, 0));
    assert_eq!(listed.list[0].features, ["rack1", "ib"]);
    assert_eq!(listed.list[0].partitions, ["main", "burnin"]);
    let n1 = slurm.node(&name("n1")).await.unwrap().unwrap();
    assert_eq!((n1.tokens, n1.partitions.len()), (listed.list[0].tokens.clone(), 0));
    assert_eq!(slurm.node(&name("nosuch")).await.unwrap(), None);
    let drain = NodeUpdate { state: Some([SetState::Drain]), ..NodeUpdate::default() };
    slurm.update_node(&name("n2"), &drain).await.unwrap();
}

#[tokio::test]
async fn bare_numbers_and_nulls_are_read() {
    let (fake, slurm) = slurm().await;
    fake.on("GET /slurm/v0.0.45/node/n1", [complex("node")]);
    fake.on("GET /slurm/v0.0.45/job/1", [complex("job")]);
    fake.on("GET /slurm/v0.0.45/partitions", [complex("partitions")]);
    fake.on("GET /slurm/v0.0.45/reservations", [complex("reservations")]);
    let node = slurm.node(&name("n1")).await.unwrap().unwrap();
    assert_eq!((node.tokens.to_string().as_str(), node.reason.as_str()), ("DRAIN+IDLE", "x y"));
    assert_eq!((node.extra.as_str(), node.slurmd_start_time), ("", 1_796_063_601));
    let job = slurm.job(1).await.unwrap().unwrap();
    assert_eq!((job.priority, job.time_limit_minutes, job.array.clone()), (Some(77), Some(3), None));
    assert_eq!((job.has_ended(), job.exit_code, job.signal), (true, Some(0), None));
    assert_eq!((job.nodes.len(), job.required_nodes), (0, vec!["n1".to_owned()]));
    let [main] = slurm.partitions().await.unwrap().try_into().unwrap();
    assert_eq!((main.up, main.tier, main.nodes.len()), (true, 1, 1));
    let [burn] = slurm.reservations().await.unwrap().try_into().unwrap();
    assert_eq!((burn.users, burn.start_time), (vec!["bob".to_owned()], 1_796_063_658));
}

#[tokio::test]
async fn case_b05_four_odd_nodes_of_five_hundred_lose_nobody() {
    let (fake, slurm) = slurm().await;
    let plain = Reply::slurm("node_v0.0.45").body()["nodes"][0].clone();
    let mut nodes: Vec<Value> = (0..500)
        .map(|n| {
            let mut node = plain.clone();
            node["name"] = json!(format!("gpu-{n:03}"));
            node
        })
        .collect();
    nodes[17].as_object_mut().unwrap().remove("partitions");
    nodes[100]["comment"] = json!("{\"a\":\"b=c\"}");
    nodes[250]["state"] = json!(["IDLE", "SOME_NEW_FLAG_2027"]);
    nodes[499].as_object_mut().unwrap().remove("instance_id");
    let body = |nodes: &[Value]| Reply::json(200, &json!({"nodes": nodes, "errors": [], "warnings": []}));
    let mut worse = nodes.clone();
    worse[3] = Value::Null;
    worse[4]["name"] = json!("gpu-[004-005]");
    fake.on(NODES, [body(&nodes), body(&worse)]);

    let all = slurm.nodes().await.unwrap();
    assert_eq!((all.list.len(), all.unreadable), (500, 0));
    assert_eq!(all.list[17].partitions, Vec::<String>::new());
    assert_eq!(all.list[250].tokens.to_string(), "IDLE+SOME_NEW_FLAG_2027");
    let rest = slurm.nodes().await.unwrap();
    assert_eq!((rest.list.len(), rest.unreadable), (498, 2));
}
