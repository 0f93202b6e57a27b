//! What adoption must not do by itself, each with its code.

use activities::{Class, Code};
use clients::openstack::{Server, ServerStatus};

use crate::plan::{failed, image, planned, seen, server};

#[test]
fn case_b40_all_differences_are_named_together() {
    let mut server = server("s-1", "r-0");
    server.name = "gpu-2".to_owned();
    server.flavor_name = "bm.cpu".to_owned();
    let failure = planned(&seen(vec![server])).unwrap_err();
    let said = "server s-1 differs from its row: \
                flavor is bm.cpu, should be bm.gpu; name is gpu-2, should be gpu-1";
    assert_eq!((failure.code, failure.message.as_str()), (Code::RequestConflict, said));
    assert_eq!(failure.remedy, "release the device, then adopt it");
}

#[test]
fn a_server_that_is_off_is_left_to_people() {
    let off = Server { status: ServerStatus::Other("SHUTOFF".to_owned()), ..server("s-1", "r-0") };
    let failure = planned(&seen(vec![off])).unwrap_err();
    assert_eq!((failure.code, failure.message.as_str()), (Code::ServerError, "server s-1 is SHUTOFF"));
}

#[test]
fn a_failed_server_of_this_request_is_not_tried_again() {
    for (fault, code) in [
        (Some("No valid host was found. "), Code::NoValidHost),
        (Some("Exceeded maximum number of retries."), Code::ServerError),
        (None, Code::ServerError),
    ] {
        let failed = Server { fault: fault.map(str::to_owned), ..failed("s-1", "r-1") };
        let failure = planned(&seen(vec![failed])).unwrap_err();
        assert_eq!((failure.code, failure.class), (code, Class::NeedsHuman), "{fault:?}");
        let said = format!("server s-1 is in ERROR: {}", fault.unwrap_or("no fault given"));
        assert_eq!(failure.message, said);
    }
}

#[test]
fn a_failed_server_of_this_request_stops_it_beside_older_leftovers_too() {
    let failure = planned(&seen(vec![failed("s-1", "r-0"), failed("s-2", "r-1")])).unwrap_err();
    assert_eq!(failure.code, Code::NoValidHost);
    assert_eq!(failure.message, "server s-2 is in ERROR: No valid host was found.");
}

#[test]
fn case_b36_any_other_pair_is_ambiguous() {
    let foreign = {
        let mut server = failed("s-2", "r-0");
        server.metadata.clear();
        server
    };
    for pair in [
        vec![server("s-1", "r-1"), server("s-2", "r-1")],
        vec![server("s-1", "r-1"), server("s-2", "r-0")],
        vec![server("s-1", "r-0"), failed("s-2", "r-0")],
        vec![server("s-1", "r-0"), foreign.clone()],
        vec![foreign],
        vec![server("s-1", "r-1"), failed("s-2", "r-1"), failed("s-3", "r-1")],
    ] {
        let ids: Vec<String> = pair.iter().map(|s| s.id.to_string()).collect();
        let failure = planned(&seen(pair)).unwrap_err();
        assert_eq!(failure.code, Code::Ambiguous, "{ids:?}");
        assert!(ids.iter().all(|id| failure.message.contains(id.as_str())), "{}", failure.message);
    }
}

#[test]
fn case_b37_what_the_row_names_must_be_there() {
    type Change = fn(&mut activities::plan::Seen);
    let changes: [(Change, &str, &str); 3] = [
        (|s| s.images.clear(), "image", "Glance has no image image-1"),
        (|s| s.images[0].status = "queued".to_owned(), "image", "image image-1 is queued, not active"),
        (|s| s.flavor = None, "flavor", "Nova has no flavor flavor-1"),
    ];
    for (change, field, said) in changes {
        let mut seen = seen(Vec::new());
        change(&mut seen);
        let failure = planned(&seen).unwrap_err();
        assert_eq!((failure.code, failure.field.as_str()), (Code::BootstrapInvalid, field));
        assert_eq!(failure.message, said);
        assert_eq!(failure.remedy, format!("have HPC name another {field} in the row of role gpu"));
    }
}

#[test]
fn a_name_of_two_images_is_refused_with_their_ids() {
    let mut seen = seen(Vec::new());
    seen.images.push(image("image-2"));
    let failure = planned(&seen).unwrap_err();
    assert_eq!((failure.code, failure.field.as_str()), (Code::BootstrapInvalid, "image"));
    assert_eq!(failure.message, "image image-1 is 2 images: image-1, image-2");
    assert_eq!(failure.remedy, "have HPC name one of them by its id");
}
