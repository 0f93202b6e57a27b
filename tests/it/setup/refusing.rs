//! A gRPC server that permits nothing, as Temporal Cloud does to who is no administrator.

use axum::http::Response;
use tokio::net::{TcpListener, TcpStream};

/// PERMISSION_DENIED and UNIMPLEMENTED of gRPC.
const DENIED: &str = "7";
const UNIMPLEMENTED: &str = "12";

/// Starts it; returns its `host:port`.
pub(super) async fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(refuse(stream));
        }
    });
    address
}

async fn refuse(stream: TcpStream) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut answer))) = connection.accept().await {
        // a client asks for this when it connects; old servers do not have it
        let first = request.uri().path().ends_with("/GetSystemInfo");
        let (status, message) =
            if first { (UNIMPLEMENTED, "unknown method") } else { (DENIED, "Request unauthorized.") };
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", status)
            .header("grpc-message", message);
        answer.send_response(response.body(()).unwrap(), true).unwrap();
    }
}
