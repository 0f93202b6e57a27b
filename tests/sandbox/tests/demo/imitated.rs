//! `make demo`.

use std::net::TcpListener;

use crate::child::{PORTS, alone, assert_nothing_is_left, demo, signal, until, whole};

#[test]
fn the_demo() {
    let _alone = alone();
    let (text, code) = whole(demo(&[]));
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "gpu-001  SlurmMember True/Known · SlurmSchedulable True/Idle · the device is ready",
        "cpu-001  SlurmMember True/Known · SlurmSchedulable True/Idle · the device is ready",
        "new-001  failed: bootstrap.incomplete: role new: flavor is null; have HPC fill the field in",
        "gpu-001  adopted: burn-in passed: cpu-memory, gpus, disk; node gpu-001 is open",
        "Temporal's UI  http://127.0.0.1:8233/namespaces/lab/workflows",
    ] {
        assert!(text.contains(line), "{line:?} is missing: {text}");
    }
    assert!(text.trim_end().ends_with("all went as it should"), "{text}");
    assert_nothing_is_left();

    let taken = TcpListener::bind(("127.0.0.1", PORTS[2])).unwrap();
    let (text, code) = whole(demo(&[]));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("taken: port 8080 (the hub); end what listens there"), "{text}");
    drop(taken);

    let mut kept = demo(&["--keep"]);
    let (_, rest) = until(&mut kept, "It stays up until Ctrl-C");
    signal(&kept, "-INT");
    assert_eq!(kept.wait().unwrap().code(), Some(0));
    drop(rest);
    assert_nothing_is_left();

    let mut killed = demo(&[]);
    let (_, rest) = until(&mut killed, "the site's worker runs");
    signal(&killed, "-KILL");
    assert_eq!(killed.wait().unwrap().code(), None);
    drop(rest);
    assert_nothing_is_left();
}
