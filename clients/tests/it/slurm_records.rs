//! The record of a node, deleted.

use clients::Kind;
use clients::slurm::Deletion;

use crate::fake::Reply;
use crate::slurm::{name, serving};

/// API versions, and where the recordings of their release are.
const RELEASES: [(&str, &str); 3] = [("v0.0.45", ""), ("v0.0.42", "24.11.5/"), ("v0.0.40", "24.11.5/")];

#[tokio::test]
async fn what_becomes_of_a_record_that_is_deleted() {
    for (version, folder) in RELEASES {
        let (fake, slurm) = serving(version).await;
        let recorded = |name: &str| Reply::slurm(&format!("{folder}{name}"));
        let call = format!("DELETE /slurm/{version}/node/d1");
        let replies = ["node_delete_dyn", "node_delete_unknown", "node_delete_static", "node_delete_denied"];
        fake.on(&call, replies.map(recorded));
        let d1 = name("d1");
        assert_eq!(slurm.delete_node(&d1).await.unwrap(), Deletion::Deleted, "{version}");
        assert_eq!(slurm.delete_node(&d1).await.unwrap(), Deletion::Unknown, "{version}");
        assert_eq!(slurm.delete_node(&d1).await.unwrap(), Deletion::Static, "{version}");
        let denied = slurm.delete_node(&d1).await.unwrap_err();
        assert!(matches!(denied.kind, Kind::Forbidden(_)), "{version}: {:?}", denied.kind);
        assert_eq!(fake.asked(&call)[0].header("x-slurm-user-name"), Some("root"));

        fake.on(&call, [Reply::slurm("node_delete_busy")]);
        let said = "Failure to delete node d1: Requested nodes are busy".to_owned();
        assert_eq!(slurm.delete_node(&d1).await.unwrap_err().kind, Kind::Conflict(said), "{version}");
        fake.on(&call, [Reply::slurm("ctld_down_nodes")]);
        let away = slurm.delete_node(&d1).await.unwrap_err();
        assert_eq!((away.kind.clone(), away.is_unknown()), (Kind::Unavailable, true), "{version}");
    }
}
