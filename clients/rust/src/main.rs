//! Drives tiberius and mssql-tds against the embedded server and prints one JSON line per check. With `mock-server` it is a server itself.
//!
//! The first argument is the client, `tiberius` or `mssql-tds`; further ones name the checks to run, all without one. The
//! endpoint comes from BULKWIRE_HOST, BULKWIRE_PORT, BULKWIRE_USER, BULKWIRE_PASSWORD and BULKWIRE_CERTIFICATE (a PEM file), a
//! server without TLS from BULKWIRE_PLAIN_PORT and BULKWIRE_PLAIN_PASSWORD, the table of every type from BULKWIRE_CELLS (JSON, printed by cells.py).

mod cell;
mod environment;
mod mock_server;
mod mssql_tds_client;
mod tiberius_client;

use std::pin::Pin;
use std::time::Duration;

use environment::{Environment, Failure};

const CHECK_TIMEOUT: Duration = Duration::from_secs(60);

type Outcome = Result<(), Failure>;
type Run = for<'a> fn(&'a Environment) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A list of checks, named as their functions.
#[macro_export]
macro_rules! checks {
    ($($name:ident),* $(,)?) => { vec![$((stringify!($name), (|at| Box::pin($name(at))) as $crate::Run)),*] };
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, folder, encryption, redirect @ ..] = words.as_slice()
        && verb == "mock-server"
    {
        return mock_server::serve(folder, encryption, redirect.first().map(String::as_str)).await;
    }
    let environment = Environment::read()?;
    let mut arguments = std::env::args().skip(1);
    let checks: Vec<(&str, Run)> = match arguments.next().as_deref() {
        Some("tiberius") => tiberius_client::checks(),
        Some("mssql-tds") => mssql_tds_client::checks(),
        other => return Err(format!("tiberius or mssql-tds, not {other:?}").into()),
    };
    let wanted: Vec<String> = arguments.collect();
    for (check, run) in checks {
        if wanted.is_empty() || wanted.iter().any(|name| name == check) {
            let outcome = tokio::time::timeout(CHECK_TIMEOUT, run(&environment)).await;
            let (outcome, detail) = match outcome {
                Ok(Ok(())) => ("passed", String::new()),
                Ok(Err(Failure::Cannot(reason))) => ("cannot", reason.to_string()),
                Ok(Err(Failure::Failed(reason))) => ("failed", reason.chars().take(500).collect()),
                Err(_) => ("failed", "no answer in time".to_string()),
            };
            println!("{}", serde_json::json!({ "check": check, "outcome": outcome, "detail": detail }));
        }
    }
    Ok(())
}
