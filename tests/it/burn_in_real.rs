//! Burn-in, drain, resume and release for real, with another user's jobs queued for the same node.

mod adoption;
mod draining;
mod kills;
mod queue;
mod releasing;
mod verbs;
mod witness;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandbox::{Release, Run};

use crate::adopt_real::world::World;
use crate::adopt_real::{hpc_writes_the_rows, told};
use crate::scan::{Secrets, nothing_secret};

const CEILING: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn burn_in_real_24_11() {
    told(busy_site(Release::V24_11), tell).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn burn_in_real_26_05() {
    told(busy_site(Release::V26_05), tell).await;
}

/// A cluster with a partition that goes before the other, and that forgets ended jobs soon, so that a
/// release need not wait for long. A node that is down makes that jobs can be queued before ours are there.
fn busy_site(release: Release) -> Run {
    // one that answers late, on a machine that is busy, is not lost sight of
    let extra_conf = "SlurmdTimeout=300\\nNodeName=spare NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 Feature=dyn State=DOWN\\n\
         PartitionName=high Nodes=dyn MaxTime=INFINITE State=UP PriorityTier=10";
    let accounting = release == Release::V26_05;
    Run { extra_conf: extra_conf.to_owned(), min_job_age: 45, accounting, ..Run::of(release) }
}

async fn tell(world: &World) {
    world.site.burn_in_as("bob").unwrap();
    let mut more = "partition = \"main\"\nfree_text = true\nhold_seconds = 120\n".to_owned();
    let bob = world.services.user("bob").unwrap();
    if world.services.run.release == Release::V26_05 {
        // on the other root's token acts as bob, and there is no slurmdbd
        std::fs::write(world.folder.join("bobs-token"), &bob.token).unwrap();
        more += "token_file = \"bobs-token\"\naccount = \"fleet\"\nqos = \"normal\"\n";
    }
    world.site.add_to_burn_in(&more).unwrap();
    hpc_writes_the_rows(world).await;
    let worker = world.worker();
    let squad = world.hub.by_hand("fleet-squad").unwrap();

    adoption::opens_on_proof_of_health(world).await;
    tokio::join!(draining::ends_at_a_stop(world, &squad), adoption::opens_without(world, "gpu-002"), async {
        adoption::opens_without(world, "gpu-003").await;
        draining::leaves_a_humans_words(world, "gpu-003").await;
    });
    let worker = kills::while_they_wait(world, &squad, worker).await;
    adoption::stays_closed_when_it_fails(world).await;
    let worker = kills::while_they_open(world, &squad, worker).await;
    releasing::node_returns(world, &squad).await;

    let secrets = Secrets::new(&[
        ("the user-data", world.gpu_row["user_data"].as_str().unwrap()),
        ("munge's key", &world.services.run.munge_key),
        ("the SLURM token", &world.root.token),
        ("the burn-in user's token", &bob.token),
        ("the OpenStack password", &world.services.systems.password),
        ("slurmctld's JWT key", &STANDARD.encode(&world.services.run.jwt_key)),
    ]);
    nothing_secret(world, &secrets, &worker);
}
