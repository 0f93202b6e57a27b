//! A real cluster whose daemons fail, its users' jobs, and what slurmctld has saved.

use std::time::Duration;

use sandbox::{Container, Daemon, Pair, Run, Signal, SlurmUser, exec};
use serde_json::{Value, json};

use crate::wait::eventually;

const CEILING: Duration = Duration::from_secs(60);
/// Where slurmctld saves what it knows.
const STATE: &str = "/var/spool/slurmctld";

/// One cluster: static nodes n1, n2, …, and a slurmrestd that outlives its first slurmctld.
pub(crate) struct Cluster {
    pub(crate) root: SlurmUser,
    /// Its slurmctld serves at first, and the slurmds run here.
    controller: Container,
    backup: Option<Container>,
}

impl Cluster {
    /// With one controller.
    pub(crate) async fn start(run: &Run) -> Self {
        let (controller, url) = sandbox::slurm(run).await.unwrap();
        Self { root: root(run, &url), controller, backup: None }
    }

    /// With a second controller, whose slurmrestd is asked.
    pub(crate) async fn start_pair(run: &Run) -> Self {
        let Pair { primary, backup, backup_url, .. } = Pair::start(run).await.unwrap();
        Self { root: root(run, &backup_url), controller: primary, backup: Some(backup) }
    }

    pub(crate) async fn end(self) {
        for container in [Some(self.controller), self.backup].into_iter().flatten() {
            container.rm().await.unwrap();
        }
    }

    /// What a person at the machine does.
    pub(crate) async fn shell(&self, script: &str) -> String {
        exec(&self.controller, &["bash", "-ec", script]).await.unwrap()
    }

    pub(crate) async fn signal(&self, daemon: Daemon, signal: Signal) {
        daemon.signal(&self.controller, signal).await.unwrap();
    }

    pub(crate) async fn start_again(&self, daemon: Daemon) {
        daemon.start(&self.controller).await.unwrap();
    }

    /// Waits until slurmctld has saved what it knows now: it saves every 5 s at most.
    pub(crate) async fn saved(&self, word: &str) {
        let save = format!(
            "scontrol update nodename=n1 comment={word}; \
             scontrol update jobid=$(squeue -h -o %A | head -n 1) comment={word}; \
             timeout 30 bash -c 'until grep -qa {word} {STATE}/node_state && grep -qa {word} {STATE}/job_state; \
             do sleep 0.1; done'"
        );
        self.shell(&save).await;
    }

    /// From now on slurmctld saves nothing; a digest of what it has saved. A job's script it still keeps.
    pub(crate) async fn freeze(&self) -> String {
        let hashes = format!("mkdir -p {STATE}/hash.{{0..9}}; chown -R slurm: {STATE}/hash.*");
        self.shell(&format!("{hashes}; chown root: {STATE}; chmod 755 {STATE}")).await;
        self.saved_state().await
    }

    /// It may save again.
    pub(crate) async fn thaw(&self) {
        self.shell(&format!("chown slurm: {STATE}")).await;
    }

    /// A digest of what slurmctld has saved.
    pub(crate) async fn saved_state(&self) -> String {
        self.shell(&format!("cd {STATE}; cat node_state job_state resv_state | sha256sum")).await
    }

    /// A slurmd that brings its node of this name.
    pub(crate) async fn register(&self, name: &str, port: usize) {
        let conf = format!("Port={port} CPUs=4 RealMemory=4000 Feature=dyn");
        self.shell(&format!("mkdir -p /var/spool/slurmd/{name}; slurmd -Z -N {name} --conf '{conf}'")).await;
        eventually(&format!("{name} has registered"), CEILING, || async {
            let node = self.root.node(name).await.map_err(|e| e.to_string())?.ok_or("no node")?;
            let there = node["state"] == json!(["IDLE", "DYNAMIC_NORM"]);
            if there { Ok(()) } else { Err(node["state"].to_string()) }
        })
        .await;
    }

    /// Alice's job on the node, which has it to itself until the file `/tmp/go-NODE` is there, and one that
    /// waits for it.
    pub(crate) async fn occupy(&self, nodes: &[&str]) {
        self.submit(nodes, "runs", "echo >> /tmp/ran-$0; until [ -e /tmp/go-$0 ]; do sleep 0.2; done").await;
        let one = |node: &&str| format!("runs-{node}");
        let names: Vec<String> = nodes.iter().map(one).collect();
        eventually("alice's jobs run", CEILING, || async {
            let jobs = self.jobs().await?;
            let running = |name: &&String| states(&jobs, name) == [json!(["RUNNING"])];
            let late: Vec<&String> = names.iter().filter(|n| !running(n)).collect();
            if late.is_empty() { Ok(()) } else { Err(format!("{late:?}")) }
        })
        .await;
    }

    /// Alice's job that wants the node to itself.
    pub(crate) async fn queue(&self, nodes: &[&str]) {
        self.submit(nodes, "waits", "true").await;
    }

    async fn submit(&self, nodes: &[&str], name: &str, script: &str) {
        let one = |node: &&str| {
            format!(
                "runuser -u alice -- sbatch -Q -w {node} --exclusive --no-requeue -t 20 -o /dev/null \
                 -J {name}-{node} --wrap 'bash -c \"{}\" {node}'\n",
                script.replace('$', "\\$")
            )
        };
        self.shell(&format!("cd /tmp\n{}", nodes.iter().map(one).collect::<String>())).await;
    }

    /// Waits until slurmctld answers, and these nodes are drained.
    pub(crate) async fn until_closed(&self, nodes: &[&str]) {
        eventually("the nodes are drained", CEILING, || async {
            let answer = self.root.get("nodes").await.map_err(|e| e.to_string())?;
            let all = answer["nodes"].as_array().ok_or_else(|| answer["errors"].to_string())?;
            let is_open = |n: &&Value| {
                let tokens = n["state"].as_array().into_iter().flatten();
                nodes.iter().any(|name| n["name"] == *name) && !tokens.into_iter().any(|t| t == "DRAIN")
            };
            let open: Vec<&Value> = all.iter().filter(is_open).map(|n| &n["name"]).collect();
            if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are open")) }
        })
        .await;
    }

    /// The jobs on these nodes may end.
    pub(crate) async fn let_end(&self, nodes: &[&str]) {
        if nodes.is_empty() {
            return;
        }
        let files: Vec<String> = nodes.iter().map(|n| format!("/tmp/go-{n}")).collect();
        self.shell(&format!("touch {}", files.join(" "))).await;
    }

    pub(crate) async fn jobs(&self) -> Result<Value, String> {
        let answer = self.root.get("jobs").await.map_err(|e| e.to_string())?;
        if answer["errors"] == json!([]) { Ok(answer["jobs"].clone()) } else { Err(answer.to_string()) }
    }
}

/// The states of the jobs of this name.
pub(crate) fn states(jobs: &Value, name: &str) -> Vec<Value> {
    let jobs = jobs.as_array().into_iter().flatten();
    jobs.filter(|j| j["name"] == name).map(|j| j["job_state"].clone()).collect()
}

fn root(run: &Run, url: &str) -> SlurmUser {
    SlurmUser::new(url, run.release, "root", run.slurm_token("root").unwrap()).unwrap()
}
