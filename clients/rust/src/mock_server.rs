//! Starts Microsoft's own mock server (the crate mssql-mock-tds): a peer for handshakes, TLS, strict connections and scripted answers.
//!
//! `mock-server FOLDER none|tls|strict [PORT]` prints where it listens; FOLDER gets the certificate. With PORT it sends every client there.
//! The access token that each login carried, if any, is printed too: `login token=…`.

use std::path::Path;
use std::time::Duration;

use mssql_mock_tds::{
    ColumnDefinition, ColumnValue, InfoMessage, LeadingError, MockTdsServer, QueryRegistry, QueryResponse,
    Row, SqlDataType, TerminalError, create_test_identity,
};

const ADDRESS: &str = "127.0.0.1:0";
/// Longer than any test waits.
const FOREVER: Duration = Duration::from_secs(3600);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// SQL_Latin1_General_CP1_CI_AS.
const COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];

/// Serves until it is killed.
pub async fn serve(
    folder: &str,
    encryption: &str,
    redirect: Option<&str>,
) -> Result<(), Box<dyn std::error::Error>> {
    let identity = || -> Result<_, Box<dyn std::error::Error>> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let certificate = made.cert.pem();
        std::fs::write(Path::new(folder).join("certificate.pem"), &certificate)?;
        create_test_identity(certificate.as_bytes(), made.signing_key.serialize_pem().as_bytes())
    };
    let server = match (encryption, redirect) {
        ("none", Some(port)) => {
            MockTdsServer::new_with_redirection(ADDRESS, "127.0.0.1", port.parse()?).await?
        }
        ("none", None) => MockTdsServer::new(ADDRESS).await?,
        ("tls", None) => MockTdsServer::new_with_tls(ADDRESS, Some(identity()?)).await?,
        ("strict", None) => MockTdsServer::new_with_strict_tls(ADDRESS, identity()?).await?,
        other => return Err(format!("none, tls or strict, not {other:?}").into()),
    };
    script(&mut *server.query_registry().lock().await);
    println!("listening on {}", server.local_addr());
    let connections = server.connection_store();
    tokio::spawn(async move {
        let mut printed = 0;
        loop {
            let store = connections.lock().await;
            for connection in store.all().values().skip(printed) {
                println!("login token={}", connection.received_token_as_string().unwrap_or_default());
            }
            printed = store.count();
            drop(store);
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    });
    Ok(server.run().await?)
}

/// The answers that the tests ask for, beside those that the mock has of its own.
fn script(answers: &mut QueryRegistry) {
    let number = || {
        QueryResponse::new(
            vec![ColumnDefinition::new("n", SqlDataType::Int)],
            vec![Row::new(vec![ColumnValue::Int(1)])],
        )
    };
    let column =
        |name: &str, kind| ColumnDefinition { collation: COLLATION, ..ColumnDefinition::new(name, kind) };
    answers.register(
        "SELECT every type",
        QueryResponse::new(
            vec![
                column("tiny", SqlDataType::TinyInt),
                column("small", SqlDataType::SmallInt),
                column("large", SqlDataType::BigInt),
                column("text", SqlDataType::NVarChar),
                column("long", SqlDataType::NVarCharMax),
                column("narrow", SqlDataType::VarCharMax),
                column("bytes", SqlDataType::VarBinaryMax),
            ],
            vec![Row::new(vec![
                ColumnValue::TinyInt(255),
                ColumnValue::SmallInt(i16::MIN),
                ColumnValue::BigInt(i64::MIN),
                ColumnValue::NVarChar("zwölf".to_owned()),
                // The chunks divide a surrogate pair.
                ColumnValue::NVarCharMax(vec![vec![0x61, 0xd83d], vec![0xde80]]),
                ColumnValue::VarCharMax(vec![vec![b'c', 0xe9], vec![0x80]]),
                ColumnValue::VarBinaryMax(vec![vec![1], vec![0xff, 0]]),
            ])],
        ),
    );
    answers.register(
        "SELECT half a pair",
        QueryResponse::new(
            vec![column("long", SqlDataType::NVarCharMax)],
            vec![Row::new(vec![ColumnValue::NVarCharMax(vec![vec![0xd83d]])])],
        ),
    );
    // The mock describes each column as NOT NULL.
    answers.register(
        "SELECT nothing",
        QueryResponse::new(vec![column("n", SqlDataType::Int)], vec![Row::new(vec![ColumnValue::Null])]),
    );
    answers.register(
        "SELECT refused",
        QueryResponse::error_only(TerminalError::new(1222, 16, "Lock request time out period exceeded.")),
    );
    answers.register(
        "SELECT after an error",
        number().with_leading_error(LeadingError::new(50000, 16, "a statement before this one failed")),
    );
    answers.register(
        "SELECT among messages",
        number().with_info_tokens(vec![InfoMessage::new(
            50001,
            0,
            "a message between the columns and the rows",
        )]),
    );
    answers.register("SELECT slowly", number().with_delay(FOREVER));
}
