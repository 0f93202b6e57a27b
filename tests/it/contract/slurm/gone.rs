//! A node whose machine goes away.

use clients::slurm::{NodeUpdate, SetState};
use model::NodeName;
use serde_json::json;

use super::Subject;

/// What slurmctld adds to a reason decides whose the node is afterwards.
pub(super) async fn it_goes_away(s: &Subject) {
    let (found, root) = (&s.findings, s.client("root"));
    let c1 = NodeName::parse("c1").unwrap();
    let reason = "fleet:adopt r-1: ada: new rack";
    let update = NodeUpdate {
        state: Some([SetState::Drain]),
        reason: Some(reason.to_owned()),
        extra: Some("fleet:r-1".to_owned()),
    };
    root.update_node(&c1, &update).await.unwrap();
    s.stop("c1").await;
    let node = s.until(&["DOWN", "DRAIN", "NOT_RESPONDING", "DYNAMIC_NORM"]).await;
    let seen = (&node["reason"], &node["extra"]);
    let expected = (&json!(format!("{reason} : Not responding")), &json!("fleet:r-1"));
    found.same("a node that went away", &seen, &expected);
    let node = root.node(&c1).await.unwrap().unwrap();
    let owner = model::Owner::of(&node.reason, &node.extra);
    let ours = model::RequestId::parse("r-1").ok();
    found.same("a node that went away is still ours", &owner, &model::Owner::Ours(ours));
}
