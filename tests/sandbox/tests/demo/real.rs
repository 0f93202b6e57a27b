//! `make demo-real`: the images of `make images` are needed.

use std::io::Read as _;
use std::process::Command;

use crate::child::{alone, assert_nothing_is_left, demo, signal, until, until_none};

/// A line that the demo tells a person to try, as it stands; what that prints.
fn try_it(text: &str, has: &str) -> String {
    let line = text.lines().find(|l| l.starts_with("  docker") && l.contains(has)).unwrap();
    let answer = Command::new("sh").args(["-c", line]).output().unwrap();
    assert!(answer.status.success(), "{line}: {answer:?}");
    String::from_utf8(answer.stdout).unwrap()
}

/// The label of its containers, as it says it.
fn label(text: &str) -> String {
    let at = text.find("fleet.sandbox=").unwrap();
    text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || ".=".contains(*c)).collect()
}

fn docker(arguments: &[&str]) -> Vec<String> {
    let answer = Command::new("docker").args(arguments).output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    String::from_utf8(answer.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn assert_no_container_is_left(label: &str) {
    let network = label.replace("fleet.sandbox=", "name=fleet-");
    let filter = format!("label={label}");
    until_none("containers", || docker(&["ps", "-a", "--filter", &filter, "--format", "{{.Names}}"]));
    until_none("networks", || docker(&["network", "ls", "--filter", &network, "--format", "{{.Name}}"]));
}

#[test]
fn demo_real() {
    let _alone = alone();
    let mut kept = demo(&["--real", "--keep"]);
    let (text, mut rest) = until(&mut kept, "openstack server list");
    for line in [
        "node-1 boots as gpu-001",
        "node-2 boots as cpu-001",
        "gpu-001  SlurmMember True/Known · SlurmSchedulable True/Idle · the device is ready",
        "cpu-001  SlurmMember True/Known · SlurmSchedulable True/Idle · the device is ready",
        "new-001  failed: bootstrap.incomplete: role new: flavor is null; have HPC fill the field in",
        "Temporal's UI  http://127.0.0.1:8233/namespaces/lab/workflows",
        "all went as it should",
    ] {
        assert!(text.contains(line), "{line:?} is missing: {text}");
    }
    let nodes = try_it(&text, "sinfo");
    assert!(["gpu-001", "cpu-001"].iter().all(|node| nodes.contains(node)), "{nodes}");
    let servers = try_it(&text, "openstack server list");
    assert_eq!(servers.matches("ACTIVE").count(), 2, "{servers}");
    assert_eq!(docker(&["ps", "-q", "--filter", &format!("label={}", label(&text))]).len(), 4);

    signal(&kept, "-INT");
    let mut last = String::new();
    rest.read_to_string(&mut last).unwrap();
    assert_eq!(kept.wait().unwrap().code(), Some(0), "{last}");
    assert!(last.trim_end().ends_with("every container is gone"), "{last}");
    assert_nothing_is_left();
    assert_no_container_is_left(&label(&text));

    let mut killed = demo(&["--real"]);
    let (text, rest) = until(&mut killed, "SLURM 26.05 is up");
    signal(&killed, "-KILL");
    assert_eq!(killed.wait().unwrap().code(), None);
    drop(rest);
    assert_nothing_is_left();
    assert_no_container_is_left(&label(&text));
}
