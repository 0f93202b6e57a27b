//! Tokens, versions, content types: what slurmrestd refuses before slurmctld is asked.

use fakes::{NodeSeed, SlurmOptions, Slurmrestd, token};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{Client, slurm};

async fn start() -> Slurmrestd {
    let nodes = vec![NodeSeed::new("n1")];
    Slurmrestd::start(SlurmOptions { nodes, ..SlurmOptions::default() }).await.unwrap()
}

#[tokio::test]
async fn no_token_is_401_in_plain_text_and_closes() {
    let fake = start().await;
    let got = Client::new(fake.url()).get("/slurm/v0.0.45/nodes").await;
    assert_eq!((got.status, got.text.as_str()), (401, "Authentication failure"));
    assert_eq!((got.header("content-type"), got.header("connection")), ("text/plain", "Close"));
}

#[tokio::test]
async fn a_token_that_is_no_good_is_511_with_1007() {
    let fake = start().await;
    let key = SlurmOptions::default().jwt_key;
    let client = slurm(&fake, "root");
    for bad in [
        "garbage".to_owned(),
        token(b"another key of another slurmctld", "root", 4_000_000_000),
        token(&key, "root", 1_790_000_000),
        token(&key, "alice", 4_000_000_000),
    ] {
        let got = client.clone().with("X-SLURM-USER-TOKEN", &bad).get("/nodes").await;
        assert_eq!((got.slurm(), got.header("connection")), ((511, Some(1007)), "Close"), "{bad}");
    }
    let error =
        client.with("X-SLURM-USER-TOKEN", "garbage").get("/node/n1").await.json()["errors"][0].clone();
    let expected = json!({
        "description": "Failure to query node n1",
        "error_number": 1007,
        "error": "Protocol authentication error",
        "source": "_dump_nodes",
    });
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_token_grows_old_by_ticks() {
    let fake = start().await;
    let short = token(&SlurmOptions::default().jwt_key, "root", 1_790_000_001);
    let client = slurm(&fake, "root").with("X-SLURM-USER-TOKEN", &short);
    assert_eq!(client.get("/nodes").await.status, 200);
    fake.tick();
    assert_eq!(client.get("/nodes").await.slurm(), (511, Some(1007)));
}

#[tokio::test]
async fn a_ping_is_answered_whatever_the_token() {
    let fake = start().await;
    let client = slurm(&fake, "root").with("X-SLURM-USER-TOKEN", "garbage");
    let got = client.get("/ping").await;
    assert_eq!((got.status, got.json()["pings"][0]["responding"].clone()), (200, json!(true)));
}

#[tokio::test]
async fn roots_token_acts_as_whom_it_names_and_the_name_may_be_left_out() {
    let fake = start().await;
    let drain = json!({"state": ["DRAIN"]});
    let as_alice = slurm(&fake, "root").with("X-SLURM-USER-NAME", "alice");
    assert_eq!(as_alice.post("/node/n1", &drain).await.slurm(), (422, Some(2010)));
    let base = format!("{}/slurm/v0.0.45", fake.url());
    let nameless = Client::new(&base).with("X-SLURM-USER-TOKEN", &fake.token("root"));
    assert_eq!(nameless.post("/node/n1", &drain).await.status, 200);
}

#[tokio::test]
async fn another_version_is_404_in_plain_text() {
    let fake = start().await;
    let client = Client::new(fake.url()).with("X-SLURM-USER-TOKEN", &fake.token("root"));
    let got = client.get("/slurm/v0.0.38/ping").await;
    assert_eq!(
        (got.status, got.header("content-type"), got.header("connection")),
        (404, "text/plain", "Close")
    );
}

#[tokio::test]
async fn the_content_type_is_exactly_json() {
    let fake = start().await;
    let client = slurm(&fake, "root");
    let odd = client.clone().with("content-type", "application/json; charset=utf-8");
    assert_eq!(odd.post("/node/n1", &json!({"state": ["DRAIN"]})).await.status, 415);
    assert_eq!(client.with("accept", "text/html").get("/nodes").await.status, 415);
    assert_eq!(fake.state("n1"), "IDLE");
}

#[tokio::test]
async fn a_chunked_body_is_406() {
    let fake = start().await;
    let mut stream = TcpStream::connect(fake.url().trim_start_matches("http://")).await.unwrap();
    let request = format!(
        "POST /slurm/v0.0.45/node/n1 HTTP/1.1\r\nHost: x\r\nX-SLURM-USER-TOKEN: {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n{{\"state\":[\"DRAIN\"]}}\r\n0\r\n\r\n",
        fake.token("root")
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // to the end: an error closes the connection
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 406"), "{answer}");
    assert_eq!(fake.state("n1"), "IDLE");
}
