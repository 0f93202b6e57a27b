use std::time::Duration;

use super::*;
use crate::burn_in::{Catalogue, Digest, free_text, time_needed};

fn catalogue() -> Catalogue {
    let script = b"#!/bin/sh\n".to_vec();
    let digest = Digest::of(&script);
    let test = |name: &str| {
        format!(
            "[[test]]\nname = \"{name}\"\nscript = \"s\"\ndigest = \"{digest}\"\ntime_limit_seconds = 60\n"
        )
    };
    let text = test("cpu") + &test("disk") + "at_least = { write_mbs = 50 }\nat_most = { errors = 0.5 }\n";
    Catalogue::parse(&text, |_| Ok(script.clone())).unwrap()
}

fn states(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn judged(words: &str, code: Option<i64>, signal: Option<i64>, comment: &str) -> (Verdict, String) {
    let catalogue = catalogue();
    let ended = Ended { states: states(words), exit_code: code, signal, comment: comment.to_owned() };
    let judgement = judge(&catalogue.choose(&[]).unwrap(), &ended);
    (judgement.verdict, judgement.reason)
}

const GOOD: &str = "cpu.exit=0,disk.exit=0,disk.write_mbs=50,disk.errors=0";

#[test]
fn case_b03_what_has_ended() {
    for (words, ended) in [
        ("COMPLETED", true),
        ("COMPLETED COMPLETING", true),
        ("FAILED", true),
        ("NODE_FAIL", true),
        ("OUT_OF_MEMORY", true),
        ("CANCELLED", true),
        ("TIMEOUT COMPLETING", true),
        ("RUNNING", false),
        ("RUNNING COMPLETING", false),
        ("PENDING", false),
        ("PENDING REQUEUED", false),
        ("NODE_FAIL REQUEUED", false),
        ("COMPLETING", false),
        ("SUSPENDED", false),
        ("SOMETHING_NEW", false),
        ("COMPLETED FAILED", false),
        ("completed", false),
        ("", false),
    ] {
        assert_eq!(has_ended(&states(words)), ended, "{words}");
    }
}

#[test]
fn case_b03_what_an_end_says_of_the_node() {
    use Verdict::{Failed, Passed, Unknown};
    for (words, code, signal, verdict) in [
        ("COMPLETED", Some(0), Some(0), Passed),
        ("COMPLETED", Some(0), None, Passed),
        ("COMPLETED COMPLETING", Some(0), Some(0), Passed),
        ("COMPLETED", None, None, Unknown),
        ("COMPLETED", Some(1), Some(0), Unknown),
        ("COMPLETED", Some(0), Some(9), Unknown),
        ("FAILED", Some(7), Some(0), Failed),
        ("FAILED", Some(0), Some(11), Failed),
        ("FAILED", Some(139), Some(0), Failed),
        ("FAILED", Some(0), Some(53), Unknown),
        ("FAILED", Some(0), Some(0), Unknown),
        ("FAILED", Some(124), Some(0), Unknown),
        ("FAILED", Some(125), Some(0), Unknown),
        ("FAILED", None, None, Unknown),
        ("NODE_FAIL", Some(0), Some(0), Failed),
        ("BOOT_FAIL", None, None, Failed),
        ("OUT_OF_MEMORY", Some(0), Some(125), Failed),
        ("TIMEOUT", Some(0), Some(15), Unknown),
        ("CANCELLED", Some(0), Some(15), Unknown),
        ("PREEMPTED", Some(0), Some(0), Unknown),
        ("DEADLINE", Some(0), Some(0), Unknown),
        ("REVOKED", Some(0), Some(0), Unknown),
        ("SOMETHING_NEW", Some(0), Some(0), Unknown),
        ("COMPLETED SOMETHING_NEW", Some(0), Some(0), Passed),
        ("RUNNING", Some(0), Some(0), Unknown),
        ("RUNNING COMPLETING", Some(0), Some(0), Unknown),
        ("PENDING", Some(0), Some(0), Unknown),
        ("COMPLETED RUNNING", Some(0), Some(0), Unknown),
        ("", None, None, Unknown),
    ] {
        assert_eq!(judged(words, code, signal, GOOD).0, verdict, "{words} {code:?} {signal:?}");
    }
}

#[test]
fn case_b22_a_slow_check_is_not_a_broken_node() {
    assert_eq!(
        judged("FAILED", Some(124), Some(0), "cpu.exit=0,disk.exit=124"),
        (Verdict::Unknown, "disk reached its time limit: a slow check is not a broken node".to_owned())
    );
    assert_eq!(
        judged("TIMEOUT", Some(0), Some(15), ""),
        (Verdict::Unknown, "the job ended as TIMEOUT, which says nothing of the node".to_owned())
    );
}

#[test]
fn a_failure_names_its_test_where_the_comment_tells_it() {
    let failed = |code, comment: &str| judged("FAILED", Some(code), Some(0), comment).1;
    assert_eq!(failed(7, "cpu.exit=0,disk.exit=7"), "disk failed with exit code 7");
    assert_eq!(failed(7, ""), "a test failed with exit code 7");
    assert_eq!(failed(7, "other.exit=7,cpu.exit=1"), "a test failed with exit code 7");
    assert_eq!(failed(137, "cpu.exit=137"), "cpu was killed by signal 9");
    assert_eq!(failed(125, "cpu.exit=125"), "cpu could not say (exit code 125)");
    assert_eq!(judged("FAILED", Some(0), Some(9), "").1, "the job was killed by signal 9");
    assert_eq!(
        judged("NODE_FAIL", Some(0), Some(0), "").1,
        "the node went away under the job (NODE_FAIL): hardware suspect"
    );
    assert_eq!(
        judged("FAILED", Some(0), Some(53), "").1,
        "SLURM could not start the job's script (signal 53)"
    );
}

#[test]
fn only_what_the_comment_proves_has_passed() {
    let said = |comment: &str| judged("COMPLETED", Some(0), Some(0), comment);
    let unknown = |reason: &str| (Verdict::Unknown, reason.to_owned());
    let failed = |reason: &str| (Verdict::Failed, reason.to_owned());
    assert_eq!(said(GOOD), (Verdict::Passed, "passed: cpu, disk".to_owned()));
    assert_eq!(said(&format!("a word of somebody's {GOOD} ")).0, Verdict::Passed);
    assert_eq!(said(""), unknown("the job's comment lacks cpu.exit"));
    assert_eq!(said("cpu.exit=0"), unknown("the job's comment lacks disk.exit"));
    assert_eq!(said("cpu.exit=0,disk.exit=1"), unknown("the job ended with 0, but disk with 1"));
    assert_eq!(
        said("cpu.exit=0,disk.exit=0,disk.write_mbs=50"),
        unknown("the job's comment lacks disk.errors")
    );
    assert_eq!(said(&GOOD.replace("=50", "=12")), failed("disk: write_mbs 12 is below 50"));
    assert_eq!(said(&GOOD.replace("=50", "=49.99")), failed("disk: write_mbs 49.99 is below 50"));
    assert_eq!(said(&GOOD.replace("errors=0", "errors=0.6")), failed("disk: errors 0.6 is above 0.5"));
    assert_eq!(said(&GOOD.replace("=50", "=6e1")).0, Verdict::Passed);
    for value in ["fast", "nan", "inf", "-inf", "0x50", "1e999"] {
        assert_eq!(
            said(&GOOD.replace("=50", &format!("={value}"))),
            unknown(&format!("disk: write_mbs {value} is no number"))
        );
    }
    // A threshold that is missed is a failure, whatever else is in doubt.
    assert_eq!(said("cpu.exit=0,disk.exit=0,disk.errors=1"), failed("disk: errors 1 is above 0.5"));
}

#[test]
fn words_that_the_wrapper_would_not_write_are_no_values() {
    let catalogue = catalogue();
    let tests = catalogue.choose(&[]).unwrap();
    let values = |comment: &str| {
        let ended = Ended { comment: comment.to_owned(), ..Ended::default() };
        let values = judge(&tests, &ended).values;
        values.into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(values("disk.a=1,disk.a=2,gpu.a=1,disk.b"), "disk.a=2");
    assert_eq!(values("disk.A=1,disk.=1,disk.a=,disk.a=b=c,disk.a=$x,diskx.a=1,.a=1"), "");
    assert_eq!(values(&format!("disk.{}=1", "a".repeat(41))), "");
    assert_eq!(values(&format!("disk.a=1,{}", "x".repeat(991))), "disk.a=1");
    assert_eq!(values(&format!("disk.a=1,{}", "x".repeat(992))), "");
}

#[test]
fn a_reason_is_one_bounded_line() {
    let reason = judged(&format!("NEW\n{}", "x".repeat(300)), None, None, "").1;
    assert_eq!(reason.len(), 200);
    let reason = {
        let ended = Ended { states: vec!["a\nb\u{e4}".to_owned()], ..Ended::default() };
        judge(&[], &ended).reason
    };
    assert_eq!(reason, "the job's state a?b? is no end of a job");
}

#[test]
fn nothing_that_ran_proves_nothing() {
    let ended = Ended { states: states("COMPLETED"), exit_code: Some(0), ..Ended::default() };
    assert_eq!(judge(&[], &ended).verdict, Verdict::Unknown);
}

#[test]
fn a_jobs_time_holds_every_test_and_the_hold() {
    let test = free_text("#!/bin/sh\n", Duration::from_secs(60)).unwrap();
    let needed = time_needed(&[&test, &test], Duration::from_secs(3600));
    assert_eq!(needed, Duration::from_secs(3600 + 2 * 80));
}
