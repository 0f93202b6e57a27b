//! The token endpoint.

use super::*;

async fn refused(lab: &Lab, assertion: &str) -> String {
    let answer = lab.grant(assertion, &[]).await;
    assert_eq!((answer.status, &answer.body["error"]), (StatusCode::UNAUTHORIZED, &json!("invalid_client")));
    answer.body["error_description"].as_str().unwrap().to_owned()
}

const UNSIGNED: &str = "the assertion is not signed by a registered client's key with that key's algorithm";

#[tokio::test]
async fn a_good_assertion_gets_a_token() {
    let lab = Lab::new().await;
    for aud in [json!(ISSUER), json!([ISSUER]), json!(["x", format!("{ISSUER}/oauth/token")])] {
        let mut claims = lab.claims("slurm-agent-lab");
        claims["aud"] = aud;
        let answer = lab.grant(&lab.sign(&claims), &[]).await;
        assert_eq!(answer.headers["cache-control"], "no-store");
        let body = answer.good();
        assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(600)));
        assert_eq!(body["scope"], "device:update device-condition:create");
    }
}

#[tokio::test]
async fn scopes_can_be_narrowed_and_not_widened() {
    let lab = Lab::new().await;
    let assertion = lab.sign(&lab.claims("slurm-agent-lab"));
    let wide = lab.grant(&assertion, &[("scope", "device:update slurm-bootstrap-config:read")]).await;
    assert_eq!((wide.status, &wide.body["error"]), (StatusCode::BAD_REQUEST, &json!("invalid_scope")));
    let narrow = lab.grant(&assertion, &[("scope", "device:update")]).await.good();
    assert_eq!(narrow["scope"], "device:update");
}

#[tokio::test]
async fn claims_are_checked() {
    let lab = Lab::new().await;
    let now = lab.now();
    for (claim, value, said) in [
        ("sub", json!("hpc"), "iss and sub must both be the client's id"),
        ("aud", json!("https://other.test"), "aud must be the issuer or its token endpoint"),
        ("aud", json!(format!("{ISSUER}.evil.test")), "aud must be the issuer or its token endpoint"),
        ("aud", json!([]), "aud must be the issuer or its token endpoint"),
        ("aud", Value::Null, "aud must be the issuer or its token endpoint"),
        ("exp", json!(now - 31), "the assertion has expired"),
        ("exp", json!(now + 700), "exp must be at most 10 minutes ahead"),
        ("exp", Value::Null, "exp is missing"),
        ("iat", json!(now + 60), "iat is in the future"),
        ("nbf", json!(now + 60), "the assertion is not valid yet"),
        ("jti", Value::Null, "jti is missing or longer than 256 characters"),
        ("iss", json!("nobody"), UNSIGNED),
    ] {
        let mut claims = lab.claims("slurm-agent-lab");
        claims[claim] = value;
        assert_eq!(refused(&lab, &lab.sign(&claims)).await, said, "{claim}");
    }
    let mut early = lab.claims("slurm-agent-lab");
    early["iat"] = json!(now + 29);
    lab.grant(&lab.sign(&early), &[]).await.good();
}

#[tokio::test]
async fn the_key_and_its_algorithm_are_the_registered_ones() {
    use base64::Engine as _;
    let lab = Lab::new().await;
    let claims = lab.claims("slurm-agent-lab");
    let other = rcgen::KeyPair::generate().unwrap();
    let wrong = EncodingKey::from_ec_pem(other.serialize_pem().as_bytes()).unwrap();
    let wrong = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &wrong).unwrap();
    assert_eq!(refused(&lab, &wrong).await, UNSIGNED);
    let public = lab.config.clients.values().next().unwrap().key.clone();
    let public = EncodingKey::from_secret(public.key().try_get_as_bytes().unwrap()).unwrap();
    let confused = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &public).unwrap();
    assert_eq!(refused(&lab, &confused).await, UNSIGNED);
    let part = |value: &Value| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string());
    let none = format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims));
    assert_eq!(refused(&lab, &none).await, UNSIGNED);
    assert_eq!(refused(&lab, "rubbish").await, UNSIGNED);
}

#[tokio::test]
async fn an_assertion_is_good_once() {
    let lab = Lab::new().await;
    let assertion = lab.sign(&lab.claims("slurm-agent-lab"));
    lab.grant(&assertion, &[]).await.good();
    assert!(refused(&lab, &assertion).await.starts_with("the assertion was used before"));
    lab.pass(85);
    assert!(refused(&lab, &assertion).await.starts_with("the assertion was used before"));
    lab.pass(10);
    assert_eq!(refused(&lab, &assertion).await, "the assertion has expired");
}

#[tokio::test]
async fn the_form_is_checked() {
    let lab = Lab::new().await;
    let send = async |content_type: &str, form: &str| {
        let request = Request::post("/oauth/token").header("content-type", content_type);
        let answer = lab.send(request.body(Body::from(form.to_owned())).unwrap()).await;
        (answer.status.as_u16(), answer.body["error"].as_str().unwrap().to_owned())
    };
    let form = "application/x-www-form-urlencoded";
    assert_eq!(send("application/json", "{}").await, (400, "invalid_request".into()));
    assert_eq!(send(form, "").await, (400, "invalid_request".into()));
    assert_eq!(send(form, "grant_type=password").await, (400, "unsupported_grant_type".into()));
    assert_eq!(send(form, "grant_type=client_credentials").await, (401, "invalid_client".into()));
    let twice = "grant_type=client_credentials&grant_type=client_credentials";
    assert_eq!(send(form, twice).await, (400, "invalid_request".into()));
}

#[test]
fn keys_say_their_algorithm() {
    let of = |algorithm| rcgen::KeyPair::generate_for(algorithm).unwrap().public_key_pem();
    let parsed = |pem: &str| PublicKey::parse(pem.as_bytes()).map(|k| k.algorithm());
    assert_eq!(parsed(&of(&rcgen::PKCS_ECDSA_P256_SHA256)), Ok(Algorithm::ES256));
    assert_eq!(parsed(&of(&rcgen::PKCS_ED25519)), Ok(Algorithm::EdDSA));
    assert!(parsed(&of(&rcgen::PKCS_ECDSA_P384_SHA384)).unwrap_err().problem.contains("another curve"));
    let private = rcgen::KeyPair::generate().unwrap().serialize_pem();
    assert!(parsed(&private).unwrap_err().problem.contains("private key"));
    assert!(parsed("rubbish").is_err());
    let rsa = include_str!("rsa.pem");
    assert_eq!(parsed(rsa), Ok(Algorithm::RS256));
}
