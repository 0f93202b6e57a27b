use std::path::Path;

use model::burn_in::Digest;

use super::super::section::Mistakes;
use super::*;

const SCRIPT: &str = "#!/bin/bash\nexit 0\n";

/// A folder with a catalogue of two tests.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("burn-in-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("tests")).unwrap();
    std::fs::write(folder.join("tests/x.sh"), SCRIPT).unwrap();
    let digest = Digest::of(SCRIPT.as_bytes());
    let test = |name: &str| {
        format!(
            "[[test]]\nname = \"{name}\"\nscript = \"x.sh\"\ndigest = \"{digest}\"\ntime_limit_seconds = 60\n"
        )
    };
    std::fs::write(folder.join("tests/good.toml"), test("cpu") + &test("disk")).unwrap();
    let bad = test("cpu").replace("= 60", "= 0") + &test("disk").replace("x.sh", "gone.sh");
    std::fs::write(folder.join("tests/bad.toml"), bad).unwrap();
    folder
}

fn parse(text: &str, folder: &Path) -> Result<Option<BurnIn>, Vec<String>> {
    let mistakes = Mistakes::default();
    let mut section = Section::new("burn_in.", text.parse().unwrap(), &mistakes, folder);
    let value = BurnIn::read(&mut section);
    section.finish();
    let said: Vec<String> = mistakes.into_inner().iter().map(ToString::to_string).collect();
    if said.is_empty() { Ok(value.unwrap()) } else { Err(said) }
}

const GOOD: &str = "catalogue = \"tests/good.toml\"\nuser = \"burnin\"\n";

#[test]
fn defaults_are_the_documented_ones() {
    let folder = folder("defaults");
    let burn_in = parse(GOOD, &folder).unwrap().unwrap();
    assert_eq!(burn_in.catalogue.choose(&burn_in.tests).unwrap().len(), 2);
    assert_eq!((burn_in.user.as_str(), burn_in.free_text), ("burnin", false));
    assert_eq!((burn_in.account, burn_in.qos, burn_in.partition), (None, None, None));
    assert!(burn_in.token.is_none());
    assert_eq!((burn_in.hold, burn_in.start_within), (Duration::from_secs(3600), Duration::from_secs(15)));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn everything_that_is_written_is_taken() {
    let folder = folder("whole");
    let text = format!(
        "{GOOD}tests = [\"disk\"]\naccount = \"a\"\nqos = \"q\"\npartition = \"p-1\"\ntoken_file = \"token\"\n\
         free_text = true\nhold_seconds = 60\nstart_within_seconds = 5\n"
    );
    let burn_in = parse(&text, &folder).unwrap().unwrap();
    assert_eq!(burn_in.tests, [TestName::parse("disk").unwrap()]);
    let (account, qos) = (burn_in.account.unwrap(), burn_in.qos.unwrap());
    assert_eq!((account.as_str(), qos.as_str(), burn_in.partition.as_deref()), ("a", "q", Some("p-1")));
    assert!(burn_in.token.is_some() && burn_in.free_text);
    assert_eq!((burn_in.hold, burn_in.start_within), (Duration::from_secs(60), Duration::from_secs(5)));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_site_without_says_so_and_nothing_else() {
    let folder = folder("off");
    assert!(parse("off = true", &folder).unwrap().is_none());
    let said = "does not go with `off = true`; remove it, or `off`";
    assert_eq!(
        parse("off = true\nuser = \"root\"\nhold_seconds = 5\n", &folder).unwrap_err(),
        [format!("burn_in.user: {said}"), format!("burn_in.hold_seconds: {said}")]
    );
    assert_eq!(
        parse("off = false", &folder).unwrap_err(),
        ["burn_in.catalogue: is missing; add it", "burn_in.user: is missing; add it"]
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_mistake_is_reported_together() {
    let folder = folder("mistakes");
    let text = "catalogue = \"tests/bad.toml\"\ntests = [\"disk\", \"Disk\", 1]\nuser = \"root\"\naccount = \"a b\"\n\
                qos = \"\"\ntoken_file = 1\nfree_text = \"no\"\nhold_seconds = 0\nstart_within = 5\n";
    assert_eq!(
        parse(text, &folder).unwrap_err(),
        [
            "burn_in.catalogue: test.cpu.time_limit_seconds: is missing, or no number of seconds; write a whole \
             number from 1 to 86400",
            "burn_in.catalogue: test.disk.script: cannot be read: entity not found; name a file beside the catalogue",
            "burn_in.tests (position 0): holds a character that is not allowed; use 1 to 40 lower-case letters, \
             digits and `-`",
            "burn_in.tests: holds something that is no text; write a list, as [\"a\", \"b\"]",
            "burn_in.user: is root, as whom no test may run; name the site's burn-in user",
            "burn_in.account: is no single name; use up to 64 letters, digits and `_ - .`",
            "burn_in.qos: is empty; give it a value",
            "burn_in.token_file: is not a text; put it in quotes",
            "burn_in.free_text: is neither true nor false; write true or false",
            "burn_in.hold_seconds: is not a number of seconds; write a whole number from 1 to 86400",
            "burn_in.start_within: is not a setting; remove it, or correct its name",
        ]
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_test_that_the_catalogue_lacks_and_a_catalogue_that_is_not_there() {
    let folder = folder("lacks");
    assert_eq!(
        parse(&format!("{GOOD}tests = [\"gpu\"]\n"), &folder).unwrap_err(),
        ["burn_in.tests: gpu is not in the catalogue; the site's catalogue has cpu, disk"]
    );
    assert_eq!(
        parse(&format!("{GOOD}tests = []\n"), &folder).unwrap_err(),
        ["burn_in.tests: is no list, or an empty one; write a list, as [\"a\", \"b\"]"]
    );
    assert_eq!(
        parse(&GOOD.replace("good", "gone"), &folder).unwrap_err(),
        [format!(
            "burn_in.catalogue: {} cannot be read: entity not found; name the site's catalogue of tests, or \
             write burn_in.off = true",
            folder.join("tests/gone.toml").display()
        )]
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn users_are_named_as_linux_and_directories_name_them() {
    for good in ["bob", "_svc", "burn-in", "Burn.In2"] {
        assert_eq!(user(good).unwrap(), good);
    }
    let long = "a".repeat(33);
    for bad in ["root", "0", "1bob", "-bob", "bob smith", "bob\n", "böb", "a:b", "bob@site", long.as_str()] {
        assert!(user(bad).is_err(), "{bad:?}");
    }
}
