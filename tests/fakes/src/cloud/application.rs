//! Application credentials: the user makes them with a password's token, and logs in with one.

use serde_json::{Value, json};

use super::{Site, identity};
use crate::serve::{Call, Reply};

/// An application credential of the only user.
#[derive(Debug, Clone)]
pub(super) struct Application {
    pub(super) id: String,
    pub(super) name: String,
    secret: String,
}

/// `POST /users/{id}/application_credentials`. The secret is told this once.
pub(super) fn create(site: &mut Site, call: &Call) -> Reply {
    if site.token(call).is_some_and(|t| t.application.is_some()) {
        let message = "You are not authorized to perform the requested action: Using method \
                       'application_credential' is not allowed for managing additional application \
                       credentials..";
        return identity::error(403, "Forbidden", message);
    }
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let Some(name) = body["application_credential"]["name"].as_str() else {
        return identity::error(400, "Bad Request", "'name' is a required property");
    };
    let (id, secret) = (site.uuid("application").simple().to_string(), site.uuid("secret").to_string());
    let application = Application { id, name: name.to_owned(), secret };
    let role = |name: &&str| json!({"id": format!("role-{name}"), "name": name, "domain_id": null, "description": null, "options": {}});
    let shown = json!({"application_credential": {
        "id": application.id,
        "name": application.name,
        "description": null,
        "user_id": identity::USER,
        "project_id": identity::PROJECT,
        "system": null,
        "expires_at": null,
        "unrestricted": null,
        "roles": site.options.role.names().iter().map(role).collect::<Vec<_>>(),
        "secret": application.secret,
        "links": {"self": format!("{}/v3/application_credentials/{}", site.urls.keystone, application.id)},
    }});
    site.applications.push(application);
    Reply::json(201, &shown)
}

/// The one that is meant; 404 when none has the id, 401 when none has the name, or the secret is
/// another one.
pub(super) fn find(site: &Site, given: &Value) -> Result<Application, Reply> {
    let user = &given["user"];
    let named = |a: &&Application| match given["id"].as_str() {
        Some(id) => a.id == id,
        None => {
            given["name"] == a.name.as_str()
                && user["name"] == site.options.user.as_str()
                && identity::is_default(&user["domain"])
        }
    };
    match site.applications.iter().find(named) {
        Some(found) if given["secret"] == found.secret.as_str() => Ok(found.clone()),
        None if given["id"].is_string() => {
            let id = given["id"].as_str().unwrap_or_default();
            let message = format!("Could not find Application Credential: {id}.");
            Err(identity::error(404, "Not Found", &message))
        }
        Some(_) | None => Err(identity::unauthorized(&site.urls)),
    }
}
