//! A job of a user's, which says so in the words of its release.

use clients::slurm::NewJob;
use fakes::{End, JobBehaviour};
use serde_json::{Value, json};

use super::subject::{Cluster, Subject, named};

/// What a user wants of a job: all of a node, and no second run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) node: &'a str,
    pub(super) script: &'a str,
    pub(super) partition: &'a str,
    pub(super) minutes: u32,
    pub(super) hold: bool,
    /// The tasks of an array; empty: none.
    pub(super) array: &'a str,
}

impl<'a> Wanted<'a> {
    pub(super) fn on(node: &'a str, name: &'a str, script: &'a str) -> Self {
        Self { name, node, script, partition: "main", minutes: 30, hold: false, array: "" }
    }

    fn with(&self, mut job: Value) -> Value {
        job["name"] = json!(self.name);
        job["partition"] = json!(self.partition);
        job["current_working_directory"] = json!("/tmp");
        if self.hold {
            job["hold"] = json!(true);
        }
        if !self.array.is_empty() {
            job["array"] = json!(self.array);
        }
        json!({"script": self.script, "job": job})
    }
}

/// As v0.0.40 and later read it.
pub(super) fn listed(wanted: &Wanted<'_>) -> Value {
    wanted.with(json!({
        "required_nodes": [wanted.node],
        "environment": ["PATH=/bin:/usr/bin"],
        "shared": ["none"],
        "requeue": false,
        "time_limit": {"set": true, "number": wanted.minutes},
    }))
}

/// As v0.0.38 reads it.
pub(super) fn plain(wanted: &Wanted<'_>) -> Value {
    wanted.with(json!({
        "nodelist": wanted.node,
        "environment": {"PATH": "/bin:/usr/bin"},
        "exclusive": "exclusive",
        "no_requeue": true,
        "time_limit": wanted.minutes,
    }))
}

/// Bob's job, as we submit it.
pub(super) fn ours(node: &str, name: &str, script: String) -> NewJob {
    NewJob {
        user: "bob".to_owned(),
        name: name.to_owned(),
        node: named(node),
        script,
        account: None,
        qos: None,
        partition: None,
        reservation: None,
        minutes: 30,
        comment: None,
    }
}

impl Subject {
    /// The script of the jobs of this name: they sleep for some seconds, write into their comment, and
    /// end so. Where no script runs, a behaviour stands for it.
    pub(super) fn script(&self, name: &str, seconds: u32, comment: &str, end: End) -> String {
        if let Cluster::Fake(fake) = &self.cluster {
            let (name, comment) = (name.to_owned(), comment.to_owned());
            fake.behave(JobBehaviour { name, takes: seconds.into(), comment, holds: false, end });
        }
        let comment = match comment {
            "" => String::new(),
            text => format!("scontrol update jobid=$SLURM_JOB_ID comment='{text}'\n"),
        };
        let end = match end {
            End::Failed(code) => format!("exit {code}"),
            End::Killed(signal) => format!("kill -{signal} $$"),
            _ => "exit 0".to_owned(),
        };
        format!("#!/bin/sh\n{comment}sleep {seconds}\n{end}\n")
    }

    /// The script of jobs that run until they are ended.
    pub(super) fn long(&self, name: &str) -> String {
        self.script(name, 900, "", End::Completed)
    }
}
