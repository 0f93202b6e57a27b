use clients::openstack::{ApplicationCredential, Credentials, Networks, User};
use secrecy::ExposeSecret as _;

use super::*;

/// A folder with the files that settings name.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("settings-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [
        ("agent.pem", "agent key"),
        ("worker.pem", "worker key"),
        ("password", "hunter2\n"),
        ("application", "hunter3\n"),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

/// The catalogue of `deploy/`, where the example looks for it.
fn copy_catalogue(folder: &Path) {
    let from = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/burn-in"));
    std::fs::create_dir_all(folder.join("burn-in")).unwrap();
    for file in ["catalogue.toml", "cpu-memory.sh", "gpus.sh", "disk.sh"] {
        std::fs::copy(from.join(file), folder.join("burn-in").join(file)).unwrap();
    }
}

const GOOD: &str = r#"
site = "lab"
burn_in.off = true
[temporal]
url = "http://127.0.0.1:7233"
[hub]
url = "http://hub.example/"
agent_key_file = "agent.pem"
worker_key_file = "worker.pem"
[slurm]
url = "http://slurm.example:6820"
user = "root"
token_file = "token"
power_saving = "off"
[openstack]
auth_url = "http://keystone.example/v3"
username = "worker"
password_file = "password"
project = "lab"
"#;

fn parse(text: &str, folder: &Path) -> Result<Settings, Vec<String>> {
    let table = text.parse().unwrap();
    Settings::parse(table, folder).map_err(|m| m.iter().map(ToString::to_string).collect())
}

#[test]
fn defaults_are_the_documented_ones() {
    let folder = folder("defaults");
    let settings = parse(GOOD, &folder).unwrap();
    assert_eq!(settings.temporal.namespace, "lab");
    assert_eq!(settings.hub.audience, "http://hub.example");
    assert_eq!(settings.hub.agent.client_id.as_str(), "slurm-agent-lab");
    assert_eq!(settings.hub.worker.client_id.as_str(), "temporal-worker-lab");
    assert_eq!(settings.openstack.networks, Networks::Auto);
    assert_eq!(
        (settings.poll.every, settings.poll.stale_after),
        (Duration::from_secs(60), Duration::from_secs(300))
    );
    assert_eq!(settings.http.listen.to_string(), "127.0.0.1:9464");
    assert!(settings.log.json && settings.openstack.config_drive);
    assert!(settings.burn_in.is_none());
    assert_eq!(settings.slurm.power_saving, PowerSaving::Off);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_mistake_is_reported_together() {
    let folder = folder("mistakes");
    let text = GOOD
        .replace("site = \"lab\"", "site = \"l ab\"\nnode_template = \"gpu\"\ncolour = 1")
        .replace("http://127.0.0.1:7233", "localhost:7233")
        .replace("worker.pem", "gone.pem")
        .replace("off = true", "off = 1")
        .replace("token_file = \"token\"", "token_file = \"t\"\ntoken_env = \"T\"")
        .replace("username = \"worker\"", "username = 7\nnetworks = \"some\"")
        + "[poll]\nevery_seconds = 0\n[http]\nlisten = \"localhost:9464\"\nport = 9464\n";
    let mistakes = parse(&text, &folder).unwrap_err();
    let fields: Vec<&str> = mistakes.iter().map(|m| m.split([':', ' ']).next().unwrap()).collect();
    assert_eq!(
        fields,
        [
            "site",
            "node_template",
            "temporal.url",
            "hub.worker_key_file",
            "slurm.token_file",
            "openstack.username",
            "openstack.networks",
            "burn_in.off",
            "poll.every_seconds",
            "http.listen",
            "http.port",
            "colour"
        ]
    );
    assert!(mistakes[3].contains("gone.pem cannot be read: entity not found"), "{}", mistakes[3]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_site_says_what_power_saving_does_to_drained_nodes() {
    let folder = folder("power");
    let with = |line: &str| parse(&GOOD.replace("power_saving = \"off\"\n", line), &folder);
    let spares = with("power_saving = \"spares_drained\"\n").unwrap();
    assert_eq!(spares.slurm.power_saving, PowerSaving::SparesDrained);
    let remedy = "write \"off\", or \"spares_drained\" once slurm.conf has SuspendExcStates=DRAIN";
    for (line, problem) in [("", "is missing"), ("power_saving = \"on\"\n", "is none of its values")] {
        let mistakes = with(line).unwrap_err();
        assert_eq!(mistakes, [format!("slurm.power_saving: {problem}; {remedy}")]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The good settings with these in place of user, password and project.
fn logging_in(with: &str) -> String {
    let way = "username = \"worker\"\npassword_file = \"password\"\nproject = \"lab\"\n";
    assert!(GOOD.contains(way));
    GOOD.replace(way, with)
}

#[test]
fn an_application_credential_is_the_other_way_to_log_in() {
    let folder = folder("application");
    let secret = "application_credential_secret_file = \"application\"\n";
    let by_id = logging_in(&format!("application_credential_id = \"ac-1\"\n{secret}"));
    let Credentials::Application { credential, secret: kept } =
        parse(&by_id, &folder).unwrap().openstack.credentials
    else {
        panic!("a password");
    };
    assert_eq!(credential, ApplicationCredential::Id("ac-1".to_owned()));
    assert_eq!(kept.expose_secret(), "hunter3");
    let by_name =
        logging_in(&format!("application_credential_name = \"satellite\"\nusername = \"worker\"\n{secret}"));
    let Credentials::Application { credential, .. } = parse(&by_name, &folder).unwrap().openstack.credentials
    else {
        panic!("a password");
    };
    let user = User { name: "worker".to_owned(), domain: "Default".to_owned() };
    assert_eq!(credential, ApplicationCredential::Name { name: "satellite".to_owned(), user });
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn there_is_exactly_one_way_to_log_in() {
    let folder = folder("ways");
    let needed = "is missing; add it";
    let fixed = "does not go with an application credential, which has it; remove it, or the application \
                 credential: there is one way to log in";
    for (way, expected) in [
        (
            "",
            vec![
                ("username", needed),
                ("project", needed),
                (
                    "password_file",
                    "exactly one of `password_file` and `password_env` is needed; name one of them",
                ),
            ],
        ),
        (
            "application_credential_id = \"ac-1\"\nproject = \"lab\"\nusername = \"worker\"\npassword_file = \"password\"\n",
            vec![
                (
                    "application_credential_secret_file",
                    "exactly one of `application_credential_secret_file` and \
                     `application_credential_secret_env` is needed; name one of them",
                ),
                ("password_file", fixed),
                ("project", fixed),
                ("username", fixed),
            ],
        ),
        (
            "application_credential_id = \"a\"\napplication_credential_name = \"b\"\napplication_credential_secret_file = \"gone\"\n",
            vec![
                (
                    "application_credential_id",
                    "exactly one of `application_credential_id` and `application_credential_name` is needed; \
                     name one of them",
                ),
                ("application_credential_secret_file", "GONE"),
            ],
        ),
        (
            "application_credential_name = \"b\"\napplication_credential_secret_file = \"application\"\n",
            vec![("username", needed)],
        ),
    ] {
        let gone = format!(
            "{} cannot be read: entity not found; name a readable file that holds it",
            folder.join("gone").display()
        );
        let expected: Vec<String> = expected
            .into_iter()
            .map(|(key, said)| format!("openstack.{key}: {}", said.replace("GONE", &gone)))
            .collect();
        assert_eq!(parse(&logging_in(way), &folder).unwrap_err(), expected);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_address_to_listen_on_is_an_ip_address_with_a_port() {
    let folder = folder("listen");
    let with = |listen: &str| parse(&format!("{GOOD}[http]\nlisten = {listen}\n"), &folder);
    assert_eq!(with("\"[::]:0\"").unwrap().http.listen, "[::]:0".parse().unwrap());
    let said = "http.listen: is no IP address with a port; write one, as 127.0.0.1:9464";
    for listen in ["\"127.0.0.1\"", "\":9464\"", "\"127.0.0.1:94640\""] {
        assert_eq!(with(listen).unwrap_err(), [said], "{listen}");
    }
    assert_eq!(with("9464").unwrap_err(), ["http.listen: is not a text; put it in quotes"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_missing_section_and_no_toml_are_said_so() {
    let mistakes = parse("site = \"lab\"", Path::new("")).unwrap_err();
    assert_eq!(mistakes.len(), 5);
    assert_eq!(mistakes[0], "temporal: is missing; add the section [temporal]");
    assert_eq!(mistakes[4], "burn_in: is missing; add [burn_in], or write burn_in.off = true");
    let path = std::env::temp_dir().join(format!("no-toml-{}", std::process::id()));
    std::fs::write(&path, "site = \"lab\"\nnonsense\n").unwrap();
    let mistakes = Settings::read(&path).unwrap_err();
    assert!(mistakes[0].to_string().contains("is not TOML: line 2"), "{}", mistakes[0]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn settings_cannot_be_printed_with_their_secrets() {
    let folder = folder("secrets");
    let application =
        "application_credential_id = \"a\"\napplication_credential_secret_file = \"application\"\n";
    for settings in [GOOD.to_owned(), logging_in(application)] {
        let text = format!("{:?}", parse(&settings, &folder).unwrap());
        assert!(!text.contains("hunter") && !text.contains("agent key"), "{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_example_is_whole() {
    let folder = folder("example");
    for file in ["slurm-agent-lab.pem", "temporal-worker-lab.pem", "openstack-password"] {
        std::fs::write(folder.join(file), "secret").unwrap();
    }
    copy_catalogue(&folder);
    let settings = parse(include_str!("../../deploy/site.example.toml"), &folder).unwrap();
    assert_eq!(settings.site.as_str(), "lab");
    assert_eq!(settings.burn_in.unwrap().user, "burnin");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_examples_other_way_to_log_in_is_whole() {
    let folder = folder("other-way");
    for file in ["slurm-agent-lab.pem", "temporal-worker-lab.pem", "openstack-application-credential"] {
        std::fs::write(folder.join(file), "secret").unwrap();
    }
    copy_catalogue(&folder);
    let example = include_str!("../../deploy/site.example.toml");
    let text: Vec<String> = example
        .lines()
        .filter(|l| !["username", "password_file", "project"].iter().any(|key| l.starts_with(key)))
        .filter(|l| !l.starts_with("user_domain"))
        .map(|l| l.replace("# application_credential", "application_credential"))
        .collect();
    let settings = parse(&text.join("\n"), &folder).unwrap();
    assert!(matches!(settings.openstack.credentials, Credentials::Application { .. }));
    std::fs::remove_dir_all(folder).unwrap();
}
