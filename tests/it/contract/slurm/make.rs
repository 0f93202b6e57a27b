//! A node that is made by REST, before anything boots.

use clients::Kind;
use clients::slurm::{Creation, NodeUpdate, SetState};
use model::NodeName;
use reqwest::Method;
use serde_json::json;

use super::Subject;
use crate::contract::Got;

pub(super) async fn a_node_is_made(s: &Subject) {
    const CONF: &str = "CPUs=4 RealMemory=4000 Gres=gpu:h100:4 Feature=dyn,h100";
    let (found, root, refused) = (&s.findings, s.client("root"), s.writes().refused);
    let c2 = NodeName::parse("c2").unwrap();
    let made = root.create_node(&c2, CONF).await;
    if !s.writes().makes_nodes {
        let got = s.post("new/node/", &json!({"node_conf": "NodeName=c2 State=CLOUD"})).await;
        found.answer("no node is made", &got, &(got.errors()), &(404, None));
        let too_old = made.map_err(|e| matches!(e.kind, Kind::TooOld(_)));
        found.same("our client: no node is made", &too_old, &Err(true));
        return;
    }
    found.same("our client: a node is made", &made.unwrap(), &Creation::Created);
    let again = root.create_node(&c2, "Feature=other").await.unwrap();
    found.same("our client: a node is made again", &again, &Creation::Exists);
    let node = s.get("node/c2").await.json()["nodes"][0].clone();
    s.whole("node", &node);
    let state = json!(["IDLE", "CLOUD", "POWERED_DOWN", "DYNAMIC_NORM"]);
    for (field, expected) in [
        ("state", state),
        ("features", json!(["dyn", "h100"])),
        ("gres", json!("gpu:h100:4")),
        ("partitions", json!(["main"])),
        ("cpus", json!(4)),
        ("real_memory", json!(4000)),
        ("reason", json!("")),
        ("reason_set_by_user", json!("")),
    ] {
        found.same(&format!("a made node's {field}"), &node[field], &expected);
    }
    let update = NodeUpdate {
        state: Some([SetState::Drain]),
        reason: Some("fleet: made".to_owned()),
        extra: Some("fleet:r-3".to_owned()),
    };
    root.update_node(&c2, &update).await.unwrap();
    let node = root.node(&c2).await.unwrap().unwrap();
    let state = node.tokens.to_string();
    found.same(
        "our client: a made node drains",
        &state.as_str(),
        &"CLOUD+DRAIN+DYNAMIC_NORM+IDLE+POWERED_DOWN",
    );
    let seen = (node.reason.as_str(), node.extra.as_str(), node.slurmd_start_time);
    found.same("our client: a made node", &seen, &("fleet: made", "fleet:r-3", 0));
    for (what, conf, status, number) in [
        ("without a state", "NodeName=c3", refused, 2028),
        ("in another state", "NodeName=c3 State=IDLE", refused, 2028),
        ("a word that is not known", "NodeName=c3 Bogus=1 State=CLOUD", 500, -1),
        ("no words", "bogus", 500, -1),
    ] {
        let got = s.post("new/node/", &json!({"node_conf": conf})).await;
        found.answer(&format!("no node is made: {what}"), &got, &got.errors(), &(status, Some(vec![number])));
    }
    let got = s.post("new/node/", &json!({})).await;
    found.answer("no node is made: nothing", &got, &got.errors(), &(refused, Some(vec![9200])));
    let denied = s.client("alice").create_node(&NodeName::parse("c3").unwrap(), CONF).await;
    let denied = denied.map_err(|e| matches!(e.kind, Kind::Forbidden(_)));
    found.same("our client: alice makes no node", &denied, &Err(true));
    let got = Got::of(s.request(Method::DELETE, &s.at("node/c2"), &s.root)).await;
    found.answer("a made node is deleted", &got, &got.errors(), &(200, Some(vec![])));
    found.same("our client: it is gone", &root.node(&c2).await.unwrap(), &None);
}
