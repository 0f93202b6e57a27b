use super::*;

const SCRIPT: &[u8] = b"#!/bin/sh\nexit 0\n";
const DIGEST: &str = "306c6ca7407560340797866e077e053627ad409277d1b9da58106fce4cf717cb";

/// The files beside the catalogue.
fn read(file: &str) -> Result<Vec<u8>, String> {
    match file {
        "good.sh" => Ok(SCRIPT.to_vec()),
        "empty.sh" => Ok(Vec::new()),
        "plain.sh" => Ok(b"exit 0\n".to_vec()),
        "latin1.sh" => Ok(b"#!/bin/sh\n# \xe4\n".to_vec()),
        "large.sh" => Ok([b"#!/bin/sh\n".as_slice(), &vec![b'#'; 256 * 1024]].concat()),
        _ => Err("entity not found".to_owned()),
    }
}

fn test(name: &str, script: &str) -> String {
    let digest = read(script).map_or_else(|_| DIGEST.to_owned(), |bytes| Digest::of(&bytes).to_string());
    format!(
        "[[test]]\nname = \"{name}\"\nscript = \"{script}\"\ndigest = \"{digest}\"\ntime_limit_seconds = 60\n"
    )
}

fn mistakes(text: &str) -> Vec<String> {
    Catalogue::parse(text, read).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_catalogue_is_read_as_it_stands() {
    let text =
        test("disk", "good.sh") + "at_least = { write_mbs = 50, free = 0.5 }\nat_most = { errors = 0 }\n";
    let catalogue = Catalogue::parse(&(text + &test("cpu", "good.sh")), read).unwrap();
    let tests = catalogue.choose(&[]).unwrap();
    let names: Vec<&str> = tests.iter().map(|t| t.name().as_str()).collect();
    assert_eq!(names, ["disk", "cpu"]);
    assert_eq!((tests[0].digest().to_string().as_str(), tests[0].script.as_bytes()), (DIGEST, SCRIPT));
    assert_eq!(tests[0].time_limit(), Duration::from_secs(60));
    let threshold = |key: &str, bound| Threshold { key: key.to_owned(), bound };
    assert_eq!(
        tests[0].thresholds,
        [
            threshold("free", Bound::AtLeast(0.5)),
            threshold("write_mbs", Bound::AtLeast(50.0)),
            threshold("errors", Bound::AtMost(0.0))
        ]
    );
}

#[test]
fn tests_are_chosen_by_name() {
    let text = test("disk", "good.sh") + &test("cpu", "good.sh");
    let catalogue = Catalogue::parse(&text, read).unwrap();
    let names =
        |list: &[&str]| -> Vec<TestName> { list.iter().map(|n| TestName::parse(n).unwrap()).collect() };
    let chosen = catalogue.choose(&names(&["cpu"])).unwrap();
    assert_eq!((chosen.len(), chosen[0].name().as_str()), (1, "cpu"));
    let said = |list: &[&str]| catalogue.choose(&names(list)).unwrap_err().to_string();
    assert_eq!(
        said(&["cpu", "dsk"]),
        "tests: dsk is not in the catalogue; the site's catalogue has disk, cpu"
    );
    assert_eq!(said(&["cpu", "cpu"]), "tests: names cpu twice; name it once");
}

#[test]
fn every_mistake_is_reported_together_with_test_and_field() {
    let other = DIGEST.replace("306c", "306d");
    let text = format!("colour = 1\n{}", test("disk", "good.sh").replace(DIGEST, &other))
        + &test("Disk", "good.sh")
        + &test("short", "good.sh").replace(DIGEST, "306c")
        + &test("gone", "gone.sh").replace("seconds = 60", "seconds = 0")
        + &test("path", "../good.sh")
        + &test("empty", "empty.sh")
        + &test("plain", "plain.sh")
        + &test("latin1", "latin1.sh")
        + &test("large", "large.sh")
        + &test("limits", "good.sh")
        + "limit = 1\nat_most = 5\n[test.at_least]\nrate = \"fast\"\nRate = 1\nexit = 1\nnone = nan\n";
    let not_found = "cannot be read: entity not found; name a file beside the catalogue";
    assert_eq!(
        mistakes(&text),
        [
            "colour: is not a field of a catalogue; remove it, or correct its name".to_owned(),
            format!(
                "test.disk.digest: is that of another script; look at what changed in the script, then write \
                 digest = \"{DIGEST}\""
            ),
            "test[2].name (position 0): holds a character that is not allowed; use 1 to 40 lower-case letters, \
             digits and `-`"
                .to_owned(),
            format!("test.short.digest: is missing, or is no SHA-256; write digest = \"{DIGEST}\""),
            format!("test.gone.script: {not_found}"),
            "test.gone.time_limit_seconds: is missing, or no number of seconds; write a whole number from 1 to \
             86400"
                .to_owned(),
            "test.path.script: is missing, or is no name of a file; name a file beside the catalogue".to_owned(),
            "test.empty.script: is empty; write a script that begins with `#!/bin/bash`".to_owned(),
            "test.plain.script: names no interpreter in its first line; begin it with `#!/bin/bash`".to_owned(),
            "test.latin1.script: is no UTF-8 from byte 12 on; write it in UTF-8, and encode data as base64"
                .to_owned(),
            "test.large.script: is 262154 bytes long; keep it at 256 KB or less".to_owned(),
            "test.limits.at_least.Rate: is no key that a test can print; use 1 to 40 lower-case letters, digits, \
             `_` and `.`; `exit` is taken"
                .to_owned(),
            "test.limits.at_least.exit: is no key that a test can print; use 1 to 40 lower-case letters, digits, \
             `_` and `.`; `exit` is taken"
                .to_owned(),
            "test.limits.at_least.none: is no number; write a number".to_owned(),
            "test.limits.at_least.rate: is no number; write a number".to_owned(),
            "test.limits.at_most: is no table; write at_most = { key = 1 }".to_owned(),
            "test.limits.limit: is not a field of a catalogue; remove it, or correct its name".to_owned(),
        ]
    );
}

#[test]
fn a_name_that_stands_twice_is_a_mistake_even_where_the_first_has_others() {
    let twice = "test.disk.name: is the name of an earlier test; give each its own";
    assert_eq!(mistakes(&(test("disk", "good.sh") + &test("disk", "good.sh"))), [twice]);
    let first = test("disk", "good.sh").replace("seconds = 60", "seconds = 0");
    assert_eq!(mistakes(&(first + &test("disk", "good.sh")))[1], twice);
}

#[test]
fn what_one_job_cannot_hold_is_no_catalogue() {
    let many: String = (0..17).map(|n| test(&format!("t{n}"), "good.sh")).collect();
    assert_eq!(mistakes(&many), ["test: there are 17; keep 16 or fewer"]);
    let large = |_: &str| Ok([b"#!/bin/sh\n".as_slice(), &vec![b'#'; 250 * 1024]].concat());
    let digest = Digest::of(&large("").unwrap()).to_string();
    let text: String = (0..4).map(|n| test(&format!("t{n}"), "x.sh").replace(DIGEST, &digest)).collect();
    assert_eq!(
        Catalogue::parse(&text, large).unwrap_err()[0].to_string(),
        "test: the scripts are 1024040 bytes together; one job runs them all: keep 900 KB or less"
    );
}

#[test]
fn no_test_and_no_toml_are_said_so() {
    let none = "test: there is none; write one as [[test]]";
    assert_eq!(mistakes(""), [none]);
    assert_eq!(mistakes("test = []"), [none]);
    assert_eq!(mistakes("test = [1]")[0], "test[1].name: is missing, or is not a text; write name = \"…\"");
    assert!(mistakes("[[test]]\nname = \n")[0].starts_with("catalogue: is not TOML: line 2: "));
}
