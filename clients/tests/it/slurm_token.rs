//! The SLURM JWT: rotated under a running client.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clients::Kind;
use clients::slurm::{Life, Slurm, Token};

use crate::fake::{Fake, Reply};
use crate::slurm::{JWT, NODES, PING};

pub(crate) fn jwt(ends: i64) -> String {
    format!("eyJhbGciOiJIUzI1NiJ9.{}.c2ln", URL_SAFE_NO_PAD.encode(format!("{{\"exp\":{ends}}}")))
}

/// A file that goes with the test.
pub(crate) struct File(pub(crate) PathBuf);

impl File {
    pub(crate) fn holding(text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slurm-token-{}", uuid::Uuid::new_v4()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    /// A slurmrestd that serves this version alone, and a client whose token is in the file.
    pub(crate) async fn slurm(&self, version: &str) -> (Fake, Slurm) {
        let fake = Fake::start().await;
        fake.on(&format!("GET /slurm/{version}/ping"), [Reply::slurm("ping")]);
        let slurm = Slurm::new(fake.base.clone(), "root".to_owned(), Token::in_file(self.0.clone())).unwrap();
        (fake, slurm)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

async fn slurm(file: &File) -> (Fake, Slurm) {
    let (fake, slurm) = file.slurm("v0.0.45").await;
    slurm.dialect().await.unwrap();
    (fake, slurm)
}

fn tokens(fake: &Fake) -> Vec<String> {
    fake.asked(NODES).iter().map(|a| a.header("x-slurm-user-token").unwrap().to_owned()).collect()
}

#[tokio::test]
async fn case_b35_a_refused_token_is_read_again_and_the_call_repeated_once() {
    let file = File::holding(&jwt(4_000_000_000));
    let (fake, slurm) = slurm(&file).await;
    fake.on(NODES, [Reply::slurm("auth_garbage_nodes"), Reply::slurm("nodes_v0.0.45")]);
    std::fs::write(&file.0, format!("SLURM_JWT={}\n", jwt(4_000_000_001))).unwrap();
    assert_eq!(slurm.nodes().await.unwrap().list.len(), 4);
    assert_eq!(tokens(&fake), [jwt(4_000_000_000), jwt(4_000_000_001)]);
}

#[tokio::test]
async fn a_second_refusal_is_unauthenticated() {
    let file = File::holding(&jwt(4_000_000_000));
    let (fake, slurm) = slurm(&file).await;
    fake.on(NODES, [Reply::slurm("auth_garbage_nodes")]);
    std::fs::write(&file.0, jwt(4_000_000_001)).unwrap();
    let error = slurm.nodes().await.unwrap_err();
    assert_eq!((error.kind, error.status), (Kind::Unauthenticated, Some(511)));
    assert_eq!(tokens(&fake).len(), 2);
}

/// What is left, in whole minutes, and whether it was refused.
async fn life(slurm: &Slurm) -> Result<(i64, bool), String> {
    slurm.token().life().await.map(|Life { left, refused }| (left.as_mins(), refused))
}

#[tokio::test]
async fn a_tokens_life_is_told_from_its_source_and_without_its_value() {
    let now = jiff::Timestamp::now().as_second();
    let file = File::holding(&jwt(now + 630));
    let (_fake, slurm) = slurm(&file).await;
    assert_eq!(life(&slurm).await, Ok((10, false)));
    std::fs::write(&file.0, jwt(now - 90)).unwrap();
    assert_eq!(life(&slurm).await, Ok((-1, false)));
    std::fs::write(&file.0, "hunter2").unwrap();
    let said = format!("SLURM token file {} is not a JWT with a whole-numbered `exp`", file.0.display());
    assert_eq!(life(&slurm).await, Err(said));
}

#[tokio::test]
async fn a_token_is_refused_until_it_is_renewed_or_slurmctld_does_what_is_asked() {
    let now = jiff::Timestamp::now().as_second();
    let file = File::holding(&jwt(now + 630));
    let (fake, slurm) = slurm(&file).await;
    fake.on(NODES, [Reply::slurm("auth_garbage_nodes"), Reply::slurm("nodes_v0.0.45")]);
    slurm.nodes().await.unwrap_err();
    assert_eq!(life(&slurm).await, Ok((10, true)));
    slurm.forget_dialect();
    slurm.dialect().await.unwrap();
    assert_eq!(life(&slurm).await, Ok((10, true)), "a ping proves nothing");
    std::fs::write(&file.0, jwt(now + 1230)).unwrap();
    assert_eq!(life(&slurm).await, Ok((20, false)));
    std::fs::write(&file.0, jwt(now + 630)).unwrap();
    slurm.nodes().await.unwrap();
    assert_eq!(life(&slurm).await, Ok((10, false)));
}

#[tokio::test]
async fn a_refused_token_that_has_not_changed_is_not_sent_again() {
    let file = File::holding(JWT);
    let (fake, slurm) = slurm(&file).await;
    fake.on(NODES, [Reply::slurm("auth_garbage_nodes")]);
    let error = slurm.nodes().await.unwrap_err();
    assert_eq!(error.to_string(), "slurm list nodes: token refused (HTTP 511)");
    assert_eq!(tokens(&fake), [JWT]);
}

#[tokio::test]
async fn the_error_number_says_so_whatever_the_status() {
    let file = File::holding(JWT);
    let (fake, slurm) = slurm(&file).await;
    fake.on(NODES, [Reply::json(500, &Reply::slurm("auth_garbage_nodes").body())]);
    assert_eq!(slurm.nodes().await.unwrap_err().kind, Kind::Unauthenticated);
}

#[tokio::test]
async fn case_b33_a_token_that_is_none_is_named_by_its_place() {
    let file = File::holding("hunter2");
    let fake = Fake::start().await;
    let slurm = Slurm::new(fake.base.clone(), "root".to_owned(), Token::in_file(file.0.clone())).unwrap();
    let error = slurm.nodes().await.unwrap_err();
    let said = format!("SLURM token file {} is not a JWT with a whole-numbered `exp`", file.0.display());
    assert_eq!(error.kind, Kind::Secret(said));
    assert!(!format!("{error:?}").contains("hunter2"));
    assert_eq!(fake.asked(PING).len(), 0);
}
