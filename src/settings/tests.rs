use super::*;

/// A folder with the files that settings name.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("settings-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [("agent.pem", "agent key"), ("worker.pem", "worker key"), ("password", "hunter2\n")]
    {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

const GOOD: &str = r#"
site = "lab"
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
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_mistake_is_reported_together() {
    let folder = folder("mistakes");
    let text = GOOD
        .replace("site = \"lab\"", "site = \"l ab\"\nnode_template = \"gpu\"\ncolour = 1")
        .replace("http://127.0.0.1:7233", "localhost:7233")
        .replace("worker.pem", "gone.pem")
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
    assert_eq!(mistakes.len(), 4);
    assert_eq!(mistakes[0], "temporal: is missing; add the section [temporal]");
    let path = std::env::temp_dir().join(format!("no-toml-{}", std::process::id()));
    std::fs::write(&path, "site = \"lab\"\nnonsense\n").unwrap();
    let mistakes = Settings::read(&path).unwrap_err();
    assert!(mistakes[0].to_string().contains("is not TOML: line 2"), "{}", mistakes[0]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn settings_cannot_be_printed_with_their_secrets() {
    let folder = folder("secrets");
    let text = format!("{:?}", parse(GOOD, &folder).unwrap());
    assert!(!text.contains("hunter2") && !text.contains("agent key"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_example_is_whole() {
    let folder = folder("example");
    for file in ["slurm-agent-lab.pem", "temporal-worker-lab.pem", "openstack-password"] {
        std::fs::write(folder.join(file), "secret").unwrap();
    }
    let settings = parse(include_str!("../../deploy/site.example.toml"), &folder).unwrap();
    assert_eq!(settings.site.as_str(), "lab");
    std::fs::remove_dir_all(folder).unwrap();
}
