//! Starts Microsoft's own mock server (the crate mssql-mock-tds): a peer for handshakes, TLS and strict connections.
//!
//! `mock-server FOLDER none|tls|strict [PORT]` prints where it listens; FOLDER gets the certificate. With PORT it sends every client there.

use std::path::Path;

use mssql_mock_tds::{MockTdsServer, create_test_identity};

/// Serves until it is killed.
pub async fn serve(folder: &str, encryption: &str, redirect: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    const ADDRESS: &str = "127.0.0.1:0";
    let identity = || -> Result<_, Box<dyn std::error::Error>> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let certificate = made.cert.pem();
        std::fs::write(Path::new(folder).join("certificate.pem"), &certificate)?;
        create_test_identity(certificate.as_bytes(), made.signing_key.serialize_pem().as_bytes())
    };
    let server = match (encryption, redirect) {
        ("none", Some(port)) => MockTdsServer::new_with_redirection(ADDRESS, "127.0.0.1", port.parse()?).await?,
        ("none", None) => MockTdsServer::new(ADDRESS).await?,
        ("tls", None) => MockTdsServer::new_with_tls(ADDRESS, Some(identity()?)).await?,
        ("strict", None) => MockTdsServer::new_with_strict_tls(ADDRESS, identity()?).await?,
        other => return Err(format!("none, tls or strict, not {other:?}").into()),
    };
    println!("listening on {}", server.local_addr());
    Ok(server.run().await?)
}
