//! What stands before every endpoint: tokens, sites, scopes, bodies, paths.

use super::*;

async fn bare(lab: &Lab, path: &str, authorization: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    lab.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn everything_under_api_needs_a_token() {
    let lab = Lab::new().await;
    for path in ["/api/v1/sites/lab/devices/", "/api/v1/no/such/path"] {
        for authorization in [None, Some("Bearer rubbish"), Some("Basic eDp5"), Some("Bearer")] {
            let answer = bare(&lab, path, authorization).await;
            assert_eq!((answer.problem(), answer.status), ("unauthenticated", StatusCode::UNAUTHORIZED));
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
    }
    assert_eq!(bare(&lab, "/healthz", None).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_token_ends() {
    let lab = Lab::new().await;
    let token = format!("Bearer {}", lab.token("slurm-agent-lab").await);
    lab.pass(599);
    assert_eq!(bare(&lab, "/api/v1/sites/lab/devices/", Some(&token)).await.status, StatusCode::OK);
    lab.pass(1);
    assert_eq!(bare(&lab, "/api/v1/sites/lab/devices/", Some(&token)).await.problem(), "unauthenticated");
}

#[tokio::test]
async fn a_principal_sees_its_own_site_alone() {
    let lab = Lab::new().await;
    for path in [
        "/sites/lab/devices/",
        "/sites/lab/devices/d-1",
        "/sites/lab/device-conditions/",
        "/sites/lab/slurm-bootstrap-configs/",
        "/sites/lab/slurm-bootstrap-configs/c",
        "/sites/lab/slurm-bootstrap-configs/c/history",
        "/sites/lab/devices/d-1/workflows/",
        "/sites/lab/devices/d-1/workflows/r",
        "/sites/mars/devices/",
    ] {
        let answer = lab.get("slurm-agent-moon", path).await;
        assert_eq!((answer.problem(), answer.status), ("other-site", StatusCode::FORBIDDEN), "{path}");
    }
    let answer = lab.write("PATCH", "slurm-agent-moon", "/devices/d-1", &json!({})).await;
    assert_eq!(answer.problem(), "other-site");
    let poll = json!({ "tick": Lab::tick(0) });
    assert_eq!(lab.post("slurm-agent-moon", "/sites/lab/polls/", &poll).await.problem(), "other-site");
    assert_eq!(lab.get("slurm-agent-lab", "/sites/lab/devices/m-1").await.problem(), "not-found");
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let lab = Lab::new().await;
    let draft = json!({ "device_role": "gpu", "node_source": "static" });
    let poll = json!({ "tick": Lab::tick(0) });
    let conditions = json!({ "tick": Lab::tick(0), "rows": [] });
    let start = json!({ "verb": "adopt", "reason": "r" });
    for (method, path, body, scope) in [
        ("PATCH", "/devices/d-1", &json!({}), "device:update"),
        ("POST", "/sites/lab/polls/", &poll, "device-condition:create"),
        ("POST", "/sites/lab/device-conditions/", &conditions, "device-condition:create"),
        ("POST", "/sites/lab/slurm-bootstrap-configs/", &draft, "slurm-bootstrap-config:create"),
        ("PATCH", "/sites/lab/slurm-bootstrap-configs/c", &json!({}), "slurm-bootstrap-config:update"),
        ("POST", "/sites/lab/devices/d-1/workflows/", &start, "device-workflow:start"),
        ("POST", "/sites/lab/devices/d-1/workflows/r/stop", &json!({}), "device-workflow:cancel"),
        ("POST", "/sites/lab/devices/d-1/workflows/r/cancel", &json!({}), "device-workflow:cancel"),
    ] {
        let answer = lab.write(method, "temporal-worker-lab", path, body).await;
        assert_eq!((answer.problem(), answer.status), ("scope-missing", StatusCode::FORBIDDEN), "{path}");
        assert_eq!(answer.body["detail"], format!("{scope} is needed"));
    }
    for (path, scope) in [
        ("/sites/lab/slurm-bootstrap-configs/", "slurm-bootstrap-config:read"),
        ("/sites/lab/slurm-bootstrap-configs/c", "slurm-bootstrap-config:read"),
        ("/sites/lab/slurm-bootstrap-configs/c/history", "slurm-bootstrap-config:read"),
        ("/sites/lab/devices/d-1/workflows/", "device-workflow:read"),
        ("/sites/lab/devices/d-1/workflows/r", "device-workflow:read"),
    ] {
        assert_eq!(lab.get("slurm-agent-lab", path).await.body["detail"], format!("{scope} is needed"));
    }
}

#[tokio::test]
async fn bodies_are_checked_at_the_door() {
    let lab = Lab::new().await;
    let send = async |body: String, headers: &[(&str, &str)]| {
        lab.write_raw("POST", "slurm-agent-lab", "/sites/lab/polls/", body, headers).await
    };
    let text = send("{}".into(), &[("content-type", "text/plain")]).await;
    assert_eq!((text.problem(), text.status.as_u16()), ("media-type", 415));
    let malformed = send("{".into(), &[]).await;
    assert_eq!((malformed.problem(), malformed.status.as_u16()), ("malformed-json", 400));
    let large = send(" ".repeat(1024 * 1024 + 1), &[]).await;
    assert_eq!((large.problem(), large.status.as_u16()), ("body-too-large", 413));
    let unknown = send(json!({ "tick": Lab::tick(0), "tock": 1 }).to_string(), &[]).await;
    assert_eq!((unknown.fields(), unknown.status.as_u16()), (vec!["tock"], 422));
    insta::assert_json_snapshot!(unknown.body);
    assert_eq!(send(r#"{"tick":7}"#.into(), &[]).await.fields(), ["tick"]);
}

#[tokio::test]
async fn paths_and_methods_have_their_problems() {
    let lab = Lab::new().await;
    let path = lab.get("slurm-agent-lab", "/no/such/path").await;
    assert_eq!((path.problem(), path.status.as_u16()), ("not-found", 404));
    let method = lab.post("slurm-agent-lab", "/sites/lab/devices/d-1", &json!({})).await;
    assert_eq!((method.problem(), method.status.as_u16()), ("method-not-allowed", 405));
    assert_eq!(bare(&lab, "/elsewhere", None).await.problem(), "not-found");
    assert_eq!(bare(&lab, "/oauth/token", None).await.problem(), "method-not-allowed");
}
