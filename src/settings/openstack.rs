//! `[openstack]`, and the two ways to log in.

use clients::openstack::{ApplicationCredential, Credentials, Networks, User};
use secrecy::SecretString;
use url::Url;

use super::section::Section;

/// The keys that name an application credential.
const APPLICATION: [&str; 4] = [
    "application_credential_id",
    "application_credential_name",
    "application_credential_secret_file",
    "application_credential_secret_env",
];

/// `[openstack]`: the site's project.
#[derive(Debug)]
pub(crate) struct OpenStack {
    /// `auth_url`: Keystone's, ending in `/v3`.
    pub(crate) auth_url: Url,
    /// Either `username`, `password_file` or `password_env`, `project`, `user_domain` and
    /// `project_domain` (default `Default`); or `application_credential_secret_file` or `…_env`, and
    /// `application_credential_id`, or `application_credential_name` with its `username` and
    /// `user_domain`.
    pub(crate) credentials: Credentials,
    /// `region`: default whichever the catalog lists first.
    pub(crate) region: Option<String>,
    /// `networks`: `none`, `auto` (default) or a list of network ids.
    pub(crate) networks: Networks,
    /// `config_drive`: whether new servers get one; default true.
    pub(crate) config_drive: bool,
}

impl OpenStack {
    pub(super) fn read(s: &mut Section<'_>) -> Option<Self> {
        let auth_url = s.url("auth_url");
        let credentials = if APPLICATION.iter().any(|key| s.has(key)) { application(s) } else { password(s) };
        let region = s.optional("region", |t| Ok(t.to_owned()));
        let networks = s.networks("networks");
        let config_drive = s.flag_or("config_drive", true);
        Some(Self {
            auth_url: auth_url?,
            credentials: credentials?,
            region: region?,
            networks: networks?,
            config_drive: config_drive?,
        })
    }
}

fn password(s: &mut Section<'_>) -> Option<Credentials> {
    let (name, project) = (s.text("username"), s.text("project"));
    let password = secret(s, "password_file", "password_env");
    let (domain, project_domain) =
        (s.text_or("user_domain", "Default"), s.text_or("project_domain", "Default"));
    Some(Credentials::Password {
        user: User { name: name?, domain: domain? },
        password: password?,
        project: project?,
        project_domain: project_domain?,
    })
}

/// The credential has its project, and by its id its user too: a setting that says so again could
/// contradict it.
fn application(s: &mut Section<'_>) -> Option<Credentials> {
    let by_name = s.has("application_credential_name");
    let credential = match (s.has("application_credential_id"), by_name) {
        (true, false) => s.text("application_credential_id").map(ApplicationCredential::Id),
        (false, true) => {
            let (name, user) = (s.text("application_credential_name"), s.text("username"));
            let domain = s.text_or("user_domain", "Default");
            let user = (|| Some(User { name: user?, domain: domain? }))();
            name.zip(user).map(|(name, user)| ApplicationCredential::Name { name, user })
        }
        _ => {
            let problem =
                "exactly one of `application_credential_id` and `application_credential_name` is needed";
            s.mistake("application_credential_id", problem, "name one of them");
            s.ignore(&APPLICATION[..2]);
            None
        }
    };
    let secret = secret(s, "application_credential_secret_file", "application_credential_secret_env");
    let others = ["password_file", "password_env", "project", "project_domain"];
    let users: &[&str] = if by_name { &[] } else { &["username", "user_domain"] };
    for key in others.iter().chain(users).filter(|key| s.has(key)) {
        let remedy = "remove it, or the application credential: there is one way to log in";
        s.mistake(key, "does not go with an application credential, which has it", remedy);
    }
    s.ignore(&others);
    s.ignore(users);
    Some(Credentials::Application { credential: credential?, secret: secret? })
}

/// What one of two keys names: a file, or a variable of the environment.
fn secret(s: &mut Section<'_>, file: &str, environment: &str) -> Option<SecretString> {
    match (s.has(file), s.has(environment)) {
        (true, false) => s.secret_file(file),
        (false, true) => s.text(environment).and_then(|name| s.environment(environment, &name)),
        _ => {
            let problem = format!("exactly one of `{file}` and `{environment}` is needed");
            s.mistake(file, &problem, "name one of them");
            s.ignore(&[file, environment]);
            None
        }
    }
}
