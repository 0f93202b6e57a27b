//! slurmrestd of each release that we speak with.
//!
//! Each suite on the fake and on the real one: what happens to one dynamic node; what users and we do with
//! nodes and jobs of a cluster without slurmdbd, also where an API version says it in other words; what
//! slurmdbd adds. In what releases differ is a row of [`release`].

mod accounting;
mod cancel;
mod deeds;
mod down;
mod gone;
mod jobs;
mod make;
mod queue;
mod reads;
mod records;
mod release;
mod reservations;
mod subject;
mod suite;
mod wanted;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;

use release::{V22_05, V24_11, V24_11_AS_40, V26_05, V26_05_COMPLEX};
use subject::{Cluster, Shape, Subject};

use super::{Findings, Got};

const CEILING: Duration = Duration::from_secs(60);

/// No node, no slurmdbd.
const EMPTY: Shape = Shape { nodes: 0, accounting: false };
/// Nodes n1 to n4 of slurm.conf.
const STATIC: Shape = Shape { nodes: 4, accounting: false };
/// Nodes n1 and n2 of slurm.conf, and slurmdbd.
const ACCOUNTED: Shape = Shape { nodes: 2, accounting: true };

#[tokio::test]
async fn contract_slurm_26_05_fake() {
    check(Subject::fake(&V26_05, EMPTY).await, suite::holds).await;
}

#[tokio::test]
async fn contract_slurm_24_11_fake() {
    check(Subject::fake(&V24_11, EMPTY).await, suite::holds).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_26_05_real() {
    check(Subject::real(&V26_05, EMPTY).await, suite::holds).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_24_11_real() {
    check(Subject::real(&V24_11, EMPTY).await, suite::holds).await;
}

/// What 22.05 can: it is looked at, and no more.
async fn observed(s: &Subject) {
    reads::holds(s).await;
    down::it_goes_away(s).await;
}

#[tokio::test]
async fn contract_slurm_22_05_fake() {
    check(Subject::fake(&V22_05, STATIC).await, observed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_22_05_real() {
    check(Subject::real(&V22_05, STATIC).await, observed).await;
}

/// Nodes and jobs, without slurmdbd.
async fn jobs(s: &Subject) {
    reads::holds(s).await;
    let late = jobs::one_that_will_be_late(s).await;
    jobs::hold(s).await;
    queue::holds(s).await;
    cancel::holds(s).await;
    reservations::hold(s).await;
    records::hold(s).await;
    down::it_goes_away(s).await;
    jobs::it_is_late(s, late).await;
}

#[tokio::test]
async fn contract_slurm_jobs_26_05_fake() {
    check(Subject::fake(&V26_05, STATIC).await, jobs).await;
}

#[tokio::test]
async fn contract_slurm_jobs_24_11_fake() {
    check(Subject::fake(&V24_11, STATIC).await, jobs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_jobs_26_05_real() {
    check(Subject::real(&V26_05, STATIC).await, jobs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_jobs_24_11_real() {
    check(Subject::real(&V24_11, STATIC).await, jobs).await;
}

/// What an API version says in other words.
async fn spoken(s: &Subject) {
    reads::holds(s).await;
    jobs::hold(s).await;
    cancel::holds(s).await;
    reservations::hold(s).await;
}

#[tokio::test]
async fn contract_slurm_other_words_fake() {
    for release in [&V24_11_AS_40, &V26_05_COMPLEX] {
        check(Subject::fake(release, STATIC).await, spoken).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_v0_0_40_real() {
    check(Subject::real(&V24_11_AS_40, STATIC).await, spoken).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_complex_real() {
    check(Subject::real(&V26_05_COMPLEX, STATIC).await, spoken).await;
}

#[tokio::test]
async fn contract_slurm_accounting_fake() {
    for release in [&V22_05, &V24_11, &V26_05] {
        check(Subject::fake(release, ACCOUNTED).await, accounting::holds).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_accounting_22_05_real() {
    check(Subject::real(&V22_05, ACCOUNTED).await, accounting::holds).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_accounting_24_11_real() {
    check(Subject::real(&V24_11, ACCOUNTED).await, accounting::holds).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_slurm_accounting_26_05_real() {
    check(Subject::real(&V26_05, ACCOUNTED).await, accounting::holds).await;
}

/// On the fake alone: the real ones hang for good (facts: slurm §0.4).
#[tokio::test]
async fn contract_slurm_a_cancel_without_slurmdbd_fake() {
    for release in [&V24_11, &V26_05] {
        check(Subject::fake(release, STATIC).await, accounting::none_and_a_cancel_by_another).await;
    }
}

/// Containers are ended here: a drop comes when the runtime cannot ask their engine any more.
async fn check(subject: Subject, suite: impl AsyncFn(&Subject)) {
    let ended = AssertUnwindSafe(suite(&subject)).catch_unwind().await;
    if let Cluster::Real { controller, nodes, .. } = subject.cluster {
        for container in nodes.into_inner().into_iter().chain([*controller]) {
            container.rm().await.unwrap();
        }
    }
    subject.findings.tell(ended);
}
