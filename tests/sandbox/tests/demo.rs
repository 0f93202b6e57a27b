//! The demo, as a newcomer runs it. One test: its ports are fixed.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PORTS: [u16; 4] = [7233, 8233, 8080, 9464];

fn demo(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Everything it says, to its end.
fn whole(mut child: Child) -> (String, Option<i32>) {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (text, child.wait().unwrap().code())
}

/// Reads until it has said this.
fn until(child: &mut Child, words: &str) -> BufReader<std::process::ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains(words) {
        assert_ne!(reader.read_line(&mut text).unwrap(), 0, "it ended without {words:?}: {text}");
    }
    reader
}

/// Whether nobody listens on any of its ports, within a ceiling: a child that is told to end takes a
/// moment.
fn assert_nothing_is_left() {
    let started = Instant::now();
    loop {
        let taken: Vec<u16> =
            PORTS.into_iter().filter(|p| TcpListener::bind(("127.0.0.1", *p)).is_err()).collect();
        if taken.is_empty() {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(15), "still taken: {taken:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_demo() {
    let (text, code) = whole(demo(&[]));
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "gpu-001  SlurmMember True/Known · SlurmSchedulable True/Idle · the device is ready",
        "cpu-001  SlurmMember True/Known · SlurmSchedulable True/Idle · the device is ready",
        "new-001  failed: bootstrap.incomplete: role new: flavor is null; have HPC fill the field in",
        "gpu-001  adopted: node gpu-001 is open",
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
    let rest = until(&mut kept, "It stays up until Ctrl-C");
    signal(&kept, "-INT");
    assert_eq!(kept.wait().unwrap().code(), Some(0));
    drop(rest);
    assert_nothing_is_left();

    let mut killed = demo(&[]);
    let rest = until(&mut killed, "the site's worker runs");
    signal(&killed, "-KILL");
    assert_eq!(killed.wait().unwrap().code(), None);
    drop(rest);
    assert_nothing_is_left();
}
