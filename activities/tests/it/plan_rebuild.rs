//! What a rebuild in place mends, and what it does not.

use activities::plan::{Act, Made};
use activities::{Class, Code};
use clients::openstack::{Server, ServerStatus};
use model::RequestId;

use crate::plan::{failed, planned, seen, server};

fn request() -> RequestId {
    RequestId::parse("r-1").unwrap()
}

fn broken(request: &str) -> Server {
    let fault = Some("disk gone".to_owned());
    Server { status: ServerStatus::Error, fault, ..server("s-1", request) }
}

#[test]
fn another_image_or_user_data_is_rebuilt_in_place() {
    type Change = fn(&mut Server);
    let changes: [(Change, &[&str]); 4] = [
        (|s| s.image = "image-0".to_owned(), &["image is image-0, should be image-1"]),
        (|s| drop(s.metadata.remove("fleet_user_data_sha256")), &["user-data differs"]),
        (
            |s| drop(s.metadata.insert("fleet_user_data_sha256".to_owned(), String::new())),
            &["user-data differs"],
        ),
        (
            |s| {
                s.image = String::new();
                s.metadata.clear();
            },
            &["image is , should be image-1", "user-data differs"],
        ),
    ];
    for (change, said) in changes {
        let mut server = server("s-1", "r-0");
        change(&mut server);
        let plan = planned(&seen(vec![server.clone()])).unwrap();
        assert_eq!(
            (plan.act, plan.differences),
            (Act::Rebuild(Box::new(server)), said.iter().map(|s| (*s).to_owned()).collect())
        );
    }
}

#[test]
fn a_server_that_an_earlier_request_left_in_error_is_rebuilt() {
    let plan = planned(&seen(vec![broken("r-0")])).unwrap();
    assert_eq!(plan.act, Act::Rebuild(Box::new(broken("r-0"))));
    assert_eq!(plan.differences, ["server s-1 is in ERROR: disk gone"]);
}

#[test]
fn the_rebuild_of_this_request_that_failed_is_not_tried_again() {
    let failure = planned(&seen(vec![broken("r-1")])).unwrap_err();
    assert_eq!((failure.code, failure.class), (Code::ServerError, Class::NeedsHuman));
    assert_eq!(failure.message, "server s-1 is in ERROR: disk gone");
}

#[test]
fn a_server_in_error_that_nova_still_works_on_is_left_alone() {
    let deleting = Server { task_state: Some("deleting".to_owned()), ..broken("r-0") };
    assert_eq!(planned(&seen(vec![deleting])).unwrap_err().code, Code::ServerError);
}

#[test]
fn what_no_rebuild_mends_is_refused_with_the_way_out() {
    type Change = fn(&mut Server);
    let changes: [(Change, &str); 3] = [
        (|s| s.flavor_name = "bm.cpu".to_owned(), "flavor is bm.cpu, should be bm.gpu"),
        (|s| s.name = "gpu-2".to_owned(), "name is gpu-2, should be gpu-1"),
        (
            |s| s.machine = Some("gpu-2.rack".to_owned()),
            "it is on gpu-2.rack, the device's machine is gpu-1.rack",
        ),
    ];
    for (change, said) in changes {
        // also where a rebuild is due anyway
        for image in ["image-1", "image-0"] {
            let mut server = Server { image: image.to_owned(), ..server("s-1", "r-0") };
            change(&mut server);
            let failure = planned(&seen(vec![server])).unwrap_err();
            assert_eq!((failure.code, failure.class), (Code::RequestConflict, Class::NeedsHuman));
            assert_eq!(failure.message, format!("server s-1 differs from its row: {said}"));
            assert_eq!(failure.remedy, "release the device, then adopt it");
        }
    }
}

#[test]
fn a_failed_twin_beside_a_server_that_is_rebuilt_is_no_matter() {
    let other = Server { image: "image-0".to_owned(), ..server("s-1", "r-0") };
    let plan = planned(&seen(vec![failed("s-2", "r-1"), other.clone()])).unwrap();
    assert_eq!(plan.act, Act::Rebuild(Box::new(other)));
}

#[test]
fn a_slurmd_of_before_is_a_difference_until_it_has_registered_anew() {
    let mut server = server("s-1", "r-1");
    let node = seen(Vec::new()).node.unwrap();
    let before = |time: i64| ("fleet_slurmd_before".to_owned(), time.to_string());
    server.metadata.extend([before(node.slurmd_start_time)]);
    let plan = planned(&seen(vec![server.clone()])).unwrap();
    assert_eq!(plan.differences, ["slurmd of gpu-1 has not registered since"]);
    server.metadata.extend([before(node.slurmd_start_time - 1)]);
    assert_eq!(planned(&seen(vec![server])).unwrap().differences, Vec::<String>::new());
}

#[test]
fn a_server_says_how_which_request_made_it_so() {
    let mut server = server("s-1", "r-1");
    assert_eq!(Made::by(&request(), &server), Some(Made::Created));
    server.metadata.insert("fleet_made".to_owned(), "rebuilt".to_owned());
    assert_eq!(Made::by(&request(), &server), Some(Made::Rebuilt));
    assert_eq!(Made::by(&RequestId::parse("r-2").unwrap(), &server), None);
}
