//! A node of one, without SLURM.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use model::burn_in::{Catalogue, Ended, Test, Verdict, job_script, judge};

/// Answers as the state file says: a line for each time that the node is shown, the last for ever. A file
/// `refuses` holds how many updates it refuses first.
const SCONTROL: &str = r#"#!/bin/bash
case $1 in
  update)
    left=$(cat "$LAB/refuses" 2>/dev/null)
    if [ "${left:-0}" -gt 0 ]; then echo $((left - 1)) > "$LAB/refuses"; exit 1; fi
    echo "update $2" >> "$LAB/calls"; echo "${3#comment=}" > "$LAB/comment" ;;
  show)
    echo "show $3" >> "$LAB/calls"
    echo "NodeName=$3 Arch=x86_64"
    echo "   Gres=$(cat "$LAB/gres" 2>/dev/null || echo '(null)')"
    echo "   State=$(head -n 1 "$LAB/states") ThreadsPerCore=1 NextState=IDLE+DRAIN"
    if [ "$(wc -l < "$LAB/states")" -gt 1 ]; then sed -i 1d "$LAB/states"; fi ;;
esac
"#;
pub(crate) const DRAINED: &str = "ALLOCATED+DRAIN\n";

/// A folder with our commands in it, and the job's TMPDIR.
pub(crate) struct Lab(pub(crate) PathBuf);

impl Lab {
    pub(crate) fn new(states: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("wrapper-{}-{number}", std::process::id()));
        std::fs::create_dir_all(root.join("bin")).unwrap();
        std::fs::create_dir_all(root.join("tmp")).unwrap();
        let lab = Self(root);
        lab.command("scontrol", SCONTROL);
        lab.command("sleep", "#!/bin/bash\necho sleep >> \"$LAB/calls\"\n");
        lab.write("states", states);
        lab
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default().trim_end().to_owned()
    }

    pub(crate) fn command(&self, name: &str, text: &str) {
        self.write(&format!("bin/{name}"), text);
        let path = self.0.join("bin").join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the job of these tests, each a name and a script, to its end.
    pub(crate) fn run(&self, tests: &[(&str, &str)], seconds: u64, hold: u64) -> (Catalogue, Output) {
        let catalogue = catalogue(tests, seconds);
        let output = self.run_catalogue(&catalogue, hold);
        (catalogue, output)
    }

    /// Runs the job of all tests of this catalogue to its end. A file `environment` adds to its variables.
    pub(crate) fn run_catalogue(&self, catalogue: &Catalogue, hold: u64) -> Output {
        let script = job_script(&chosen(catalogue), Duration::from_secs(hold));
        self.write("job", &script);
        let output = Command::new("bash")
            .arg(self.0.join("job"))
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.0.join("bin").display()))
            .env("LAB", &self.0)
            .env("TMPDIR", self.0.join("tmp"))
            .env("SLURM_JOB_ID", "42")
            .env("SLURMD_NODENAME", "n1")
            .envs(self.read("environment").lines().filter_map(|l| l.split_once('=')))
            .output()
            .unwrap();
        let left = std::fs::read_dir(self.0.join("tmp")).unwrap().count();
        assert_eq!(left, 0, "the job leaves nothing behind");
        output
    }

    /// What is judged of such a job when SLURM says how it ended.
    pub(crate) fn verdict(&self, catalogue: &Catalogue, output: &Output) -> (Verdict, String) {
        let code = output.status.code().unwrap();
        let ended = Ended {
            states: vec![if code == 0 { "COMPLETED" } else { "FAILED" }.to_owned()],
            exit_code: Some(code.into()),
            signal: Some(0),
            comment: self.read("comment"),
        };
        let judgement = judge(&chosen(catalogue), &ended);
        (judgement.verdict, judgement.reason)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn catalogue(tests: &[(&str, &str)], seconds: u64) -> Catalogue {
    let mut text = String::new();
    for (name, script) in tests {
        let digest = model::burn_in::Digest::of(script.as_bytes());
        text += &format!(
            "[[test]]\nname = \"{name}\"\nscript = \"{name}\"\ndigest = \"{digest}\"\n\
             time_limit_seconds = {seconds}\n"
        );
    }
    let read = |file: &str| {
        let found = tests.iter().find(|(name, _)| *name == file).ok_or("not there")?;
        Ok(found.1.as_bytes().to_vec())
    };
    Catalogue::parse(&text, read).unwrap()
}

pub(crate) fn chosen(catalogue: &Catalogue) -> Vec<&Test> {
    catalogue.choose(&[]).unwrap()
}
