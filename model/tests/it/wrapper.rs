//! What the job does with the tests that it is given.

use model::burn_in::{Digest, Verdict};

use crate::lab::{DRAINED, Lab};

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn tests_run_in_order_and_the_comment_is_written_before_the_node_is_held() {
    let states = "IDLE\nALLOCATED+UNDRAIN+DRAIN\nALLOCATED+DRAINING\nALLOCATED+DRAIN\nALLOCATED+DRAIN\n\
                  ALLOCATED\nALLOCATED*+DRAIN+RESERVED\n";
    let lab = Lab::new(states);
    let tests = [
        ("disk", "#!/bin/bash\necho write_mbs=120.5\necho 'It is fine'\npwd\ntouch left\n"),
        ("work", "#!/usr/bin/env bash\necho n=-1e3\nls\nexit 0"),
    ];
    let (catalogue, output) = lab.run(&tests, 60, 3600);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(lab.read("comment"), "disk.exit=0,work.exit=0,disk.write_mbs=120.5,work.n=-1e3");
    // slurmctld may forget a drain that it has acknowledged: three looks in a row see it
    let looks = ["show n1"; 9].join("\nsleep\n");
    assert_eq!(lab.read("calls"), format!("update jobid=42\n{looks}"));
    let verdict = lab.verdict(&catalogue, &output);
    assert_eq!(verdict, (Verdict::Passed, "passed: disk, work".to_owned()));
}

#[test]
fn the_first_failure_ends_the_tests_and_the_node_is_held_all_the_same() {
    let lab = Lab::new("ALLOCATED\nALLOCATED+DRAIN\n");
    let tests = [
        ("good", "#!/bin/bash\n"),
        ("bad", "#!/bin/bash\necho rate=1\nexit 7\n"),
        ("never", "#!/bin/bash\ntouch $LAB/ran\n"),
    ];
    let (catalogue, output) = lab.run(&tests, 60, 3600);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(lab.read("comment"), "good.exit=0,bad.exit=7,bad.rate=1");
    assert!(lab.read("calls").ends_with("sleep\nshow n1"), "{}", lab.read("calls"));
    assert!(!lab.0.join("ran").exists());
    let verdict = lab.verdict(&catalogue, &output);
    assert_eq!(verdict, (Verdict::Failed, "bad failed with exit code 7".to_owned()));
}

#[test]
fn a_test_that_never_ends_reaches_its_time_limit_and_blames_no_node() {
    let lab = Lab::new(DRAINED);
    let (catalogue, output) = lab.run(&[("slow", "#!/bin/bash\necho n=1\nwhile :; do :; done\n")], 1, 3600);
    assert_eq!(output.status.code(), Some(124));
    assert_eq!(lab.read("comment"), "slow.exit=124,slow.n=1");
    assert_eq!(lab.verdict(&catalogue, &output).0, Verdict::Unknown);
}

#[test]
fn a_test_that_is_killed_fails() {
    let lab = Lab::new(DRAINED);
    let (catalogue, output) = lab.run(&[("crash", "#!/bin/bash\nkill -SEGV $$\n")], 60, 3600);
    assert_eq!(output.status.code(), Some(139));
    let verdict = lab.verdict(&catalogue, &output);
    assert_eq!(verdict, (Verdict::Failed, "crash was killed by signal 11".to_owned()));
}

#[test]
fn megabytes_endless_lines_and_bytes_that_are_no_text_hide_no_pair() {
    let lab = Lab::new(DRAINED);
    let script = "#!/bin/bash\necho first=1\nhead -c 20000000 /dev/zero | tr '\\0' x\nyes | head -c 5000000\n\
                  head -c 100000 /dev/urandom\nhead -c 3000000 /dev/urandom >&2\nprintf '\\nlast=2'\n";
    let (_, output) = lab.run(&[("chatty", script)], 60, 3600);
    assert_eq!(output.status.code(), Some(0));
    let comment = lab.read("comment");
    assert!(comment.starts_with("chatty.exit=0,chatty.first=1"), "{comment}");
    assert!(comment.ends_with("chatty.last=2"), "{comment}");
    assert!(output.stdout.len() < 10_000, "{}", output.stdout.len());
    assert!(output.stderr.len() <= 65_536, "{}", output.stderr.len());
}

#[test]
fn only_a_line_that_is_one_pair_is_one() {
    let lab = Lab::new(DRAINED);
    let long = "x".repeat(41);
    let script = format!(
        "#!/bin/bash\ncat << 'X'\nexit=0\nother.exit=0\nKey=1\na b=1\na=1 b=2\na=1,other.exit=0\na=$(touch $LAB/ran)\na=`x`\n\
         a=\n=1\n a=1\na=1;b\na={long}\n{long}=1\n{}ok=1\nok=1\nX\nexit 3\n",
        "y".repeat(100)
    );
    let (_, output) = lab.run(&[("sly", &script), ("other", "#!/bin/bash\n")], 60, 3600);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(lab.read("comment"), "sly.exit=3,sly.other.exit=0,sly.ok=1");
    assert!(!lab.0.join("ran").exists());
}

#[test]
fn a_script_cannot_end_its_own_text() {
    let lab = Lab::new(DRAINED);
    let digest = Digest::of(b"x");
    let script = format!("#!/bin/bash\ncat << X\nEND-{digest}\n$(echo n=1)\n`echo`\\\\\nX\n");
    let (_, output) = lab.run(&[("text", &script)], 60, 3600);
    assert_eq!(lab.read("comment"), "text.exit=0,text.n=1", "{}", text(&output.stderr));
}

#[test]
fn what_a_test_leaves_running_is_ended_before_the_next() {
    let lab = Lab::new(DRAINED);
    let child = "while :; do read -t 60 < <(tail -f /dev/null); done";
    let script = format!(
        "#!/bin/bash\n({child}) &\necho $! > $LAB/one\n\
         setsid bash -c 'echo $$ > $LAB/two; {child}' &\n\
         env -i bash -c 'echo $$ > '$LAB'/three; {child}' &\n\
         until [ -s $LAB/two ] && [ -s $LAB/three ]; do :; done\necho n=1\n"
    );
    let next = "#!/bin/bash\nfor p in $(cat $LAB/one $LAB/two $LAB/three); do\n\
                if grep -qs '^State:.*[^ZX] (' /proc/$p/status; then echo alive=$p; fi\ndone\n";
    let (_, output) = lab.run(&[("forks", &script), ("looks", next)], 60, 3600);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(lab.read("comment"), "forks.exit=0,looks.exit=0,forks.n=1");
    for file in ["one", "two", "three"] {
        assert!(lab.read(file).parse::<u32>().is_ok(), "{file}");
    }
}

#[test]
fn a_node_that_is_never_drained_is_held_to_the_ceiling() {
    let lab = Lab::new("ALLOCATED\n");
    // bash counts whole seconds: of two, one at least is held
    let (_, output) = lab.run(&[("good", "#!/bin/bash\n")], 60, 2);
    assert_eq!(output.status.code(), Some(0));
    let shown = lab.read("calls").lines().filter(|l| *l == "show n1").count();
    assert!(shown >= 2, "{shown}");
}

#[test]
fn without_scontrol_the_node_is_held_to_the_ceiling_and_the_verdict_is_unknown() {
    let lab = Lab::new(DRAINED);
    lab.command("scontrol", "#!/bin/bash\nexit 1\n");
    let (catalogue, output) = lab.run(&[("good", "#!/bin/bash\n")], 60, 2);
    assert_eq!(output.status.code(), Some(0));
    assert!(lab.read("calls").contains("sleep"));
    let verdict = lab.verdict(&catalogue, &output);
    assert_eq!(verdict, (Verdict::Unknown, "the job's comment lacks good.exit".to_owned()));
}

#[test]
fn a_comment_that_was_refused_is_written_while_the_node_is_held() {
    let lab = Lab::new("ALLOCATED\nALLOCATED\nALLOCATED+DRAIN\n");
    lab.write("refuses", "2");
    let (catalogue, output) = lab.run(&[("good", "#!/bin/bash\n")], 60, 3600);
    assert_eq!(lab.read("comment"), "good.exit=0");
    assert_eq!(lab.verdict(&catalogue, &output).0, Verdict::Passed);
}

#[test]
fn a_comment_holds_every_exit_code_and_as_many_pairs_as_fit() {
    let lab = Lab::new(DRAINED);
    let script = "#!/bin/bash\nfor i in {10..90}; do echo a_key_of_some_length_$i=1234567890; done\n";
    let (_, output) = lab.run(&[("long", script), ("last", "#!/bin/bash\n")], 60, 3600);
    assert_eq!(output.status.code(), Some(0));
    let comment = lab.read("comment");
    assert!(comment.starts_with("long.exit=0,last.exit=0,long.a_key_of_some_length_10=1234567890,"));
    assert!(comment.ends_with("=1234567890") && (950..=1000).contains(&comment.len()), "{comment}");
}

#[test]
fn a_folder_that_cannot_be_made_is_no_fault_of_the_node_and_it_is_held() {
    let lab = Lab::new("ALLOCATED\nALLOCATED+DRAIN\n");
    lab.command("mktemp", "#!/bin/bash\nexit 1\n");
    let (catalogue, output) = lab.run(&[("good", "#!/bin/bash\n")], 60, 3600);
    assert_eq!(output.status.code(), Some(125));
    assert!(lab.read("calls").ends_with("sleep\nshow n1"), "{}", lab.read("calls"));
    assert_eq!(lab.verdict(&catalogue, &output).0, Verdict::Unknown);
}

#[test]
fn the_job_ends_at_once_when_it_is_told_to() {
    let lab = Lab::new("ALLOCATED\n");
    let script = "#!/bin/bash\nkill -TERM $(grep PPid: /proc/$PPID/status | cut -f 2)\nwhile :; do :; done\n";
    let (_, output) = lab.run(&[("long", script)], 60, 3600);
    assert_eq!(output.status.code(), Some(143));
}
