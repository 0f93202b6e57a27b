//! The catalogue that a site begins with: it is whole, and its tests pass on a machine that works.

use std::path::Path;

use model::burn_in::{Catalogue, Verdict};

use crate::lab::{DRAINED, Lab, chosen};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/burn-in");

fn script(file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(Path::new(FOLDER).join(file)).map_err(|e| e.kind().to_string())
}

#[test]
fn the_digests_are_those_of_the_scripts_and_every_test_passes_here() {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("catalogue.toml")).unwrap();
    let catalogue = Catalogue::parse(&text, script).unwrap();
    let lab = Lab::new(DRAINED);
    lab.write("environment", "BURN_IN_CPU_SECONDS=0\nBURN_IN_MEMORY_MB=16\nBURN_IN_DISK_MB=16\n");
    let output = lab.run_catalogue(&catalogue, 3600);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let comment = lab.read("comment");
    let passed = (Verdict::Passed, "passed: cpu-memory, gpus, disk".to_owned());
    assert_eq!(lab.verdict(&catalogue, &output), passed, "{comment}");
    let keys: Vec<&str> = comment.split(',').map(|pair| pair.split_once('=').unwrap().0).collect();
    assert_eq!(
        keys,
        [
            "cpu-memory.exit",
            "gpus.exit",
            "disk.exit",
            "cpu-memory.cpus",
            "cpu-memory.cpu_mbs",
            "cpu-memory.memory_mb",
            "cpu-memory.memory_mbs",
            "gpus.gpus",
            "gpus.given",
            "disk.free_mb",
            "disk.checked_mb",
            "disk.write_mbs",
            "disk.read_mbs"
        ]
    );
    assert_eq!(chosen(&catalogue).len(), 3);
}

#[test]
fn gpus_are_counted_and_doubt_blames_no_node() {
    let text = String::from_utf8(script("gpus.sh").unwrap()).unwrap();
    let without = "#!/bin/bash\nexit 9\n";
    let good =
        "#!/bin/bash\ncase $1 in *memory*) printf '81559\\n81559\\n' ;; *) printf '0\\n0\\n' ;; esac\n";
    let no_ecc = "#!/bin/bash\ncase $1 in *memory*) printf '24564\\n24564\\n' ;; *) printf '[N/A]\\n[N/A]\\n' ;; esac\n";
    let one_less = "#!/bin/bash\ncase $1 in *memory*) echo 81559 ;; *) echo 0 ;; esac\n";
    let error =
        "#!/bin/bash\ncase $1 in *memory*) printf '81559\\n81559\\n' ;; *) printf '0\\n3\\n' ;; esac\n";
    let lost = "#!/bin/bash\ncase $1 in *memory*) printf '81559\\nGPU is lost\\n' ;; *) exit 1 ;; esac\n";
    for (gres, given, smi, exit, found) in [
        ("(null)", "", without, 0, "gpus=0 given=0"),
        ("nic:2,gpux:3", "", without, 0, "gpus=0 given=0"),
        (
            "gpu:h100:2(S:0,1)",
            "SLURM_GPUS_ON_NODE=2",
            good,
            0,
            "gpus=2 given=2 listed=2 gpu_memory_mb=81559 ecc_errors=0",
        ),
        ("gpu:1,gpu:a100:1", "SLURM_JOB_GPUS=0,1", no_ecc, 0, "gpus=2 given=2 listed=2 gpu_memory_mb=24564"),
        (
            "gpu:a100",
            "CUDA_VISIBLE_DEVICES=0",
            good,
            0,
            "gpus=1 given=1 listed=2 gpu_memory_mb=81559 ecc_errors=0",
        ),
        ("gpu:2", "", good, 125, "gpus=2 given=0"),
        ("gpu:2", "SLURM_GPUS_ON_NODE=1", good, 125, "gpus=2 given=1"),
        ("", "", good, 125, ""),
        ("gpu:2", "SLURM_GPUS_ON_NODE=2", one_less, 1, "gpus=2 given=2 listed=1"),
        ("gpu:2", "SLURM_GPUS_ON_NODE=2", without, 1, "gpus=2 given=2"),
        ("gpu:2", "SLURM_GPUS_ON_NODE=2", lost, 1, "gpus=2 given=2 listed=2"),
        (
            "gpu:2",
            "SLURM_GPUS_ON_NODE=2",
            error,
            1,
            "gpus=2 given=2 listed=2 gpu_memory_mb=81559 ecc_errors=3",
        ),
    ] {
        let lab = Lab::new(DRAINED);
        lab.write("gres", gres);
        lab.write("environment", given);
        lab.command("nvidia-smi", smi);
        let (_, output) = lab.run(&[("gpus", &text)], 60, 3600);
        assert_eq!(output.status.code(), Some(exit), "{gres} {given}");
        let pairs: Vec<String> = found.split_whitespace().map(|pair| format!(",gpus.{pair}")).collect();
        assert_eq!(lab.read("comment"), format!("gpus.exit={exit}{}", pairs.concat()), "{gres} {given}");
    }
}

#[test]
fn a_disk_that_cannot_be_used_fails() {
    let text = String::from_utf8(script("disk.sh").unwrap()).unwrap();
    for (environment, found) in [
        ("BURN_IN_SCRATCH=/nowhere", ""),
        ("BURN_IN_SCRATCH=/proc", ",disk.free_mb=0"),
        ("BURN_IN_DISK_MB=999999999", ""),
    ] {
        let lab = Lab::new(DRAINED);
        lab.write("environment", environment);
        let (_, output) = lab.run(&[("disk", &text)], 60, 3600);
        assert_eq!(output.status.code(), Some(1), "{environment}");
        assert!(lab.read("comment").starts_with(&format!("disk.exit=1{found}")), "{environment}");
    }
}
