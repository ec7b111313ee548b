//! Contestants of the client benchmark in Rust (clients/race/README.md, "A contestant").
//!
//! The first argument is the client: `arrow-sql-server`, `mssql-tds`, `tiberius` or `arrow-odbc`.

mod arguments;
mod arrow_odbc_client;
mod arrow_sql_server_client;
mod checksum;
mod meter;
mod mssql_tds_client;
mod rows;
mod source;
mod tiberius_client;

use std::error::Error;
use std::process::ExitCode;

use arguments::Arguments;
use meter::Report;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let report = match arguments.client.as_str() {
        "arrow-sql-server" => in_tokio(arrow_sql_server_client::run(&arguments)),
        "mssql-tds" => in_tokio(mssql_tds_client::run(&arguments)),
        "tiberius" => in_tokio(tiberius_client::run(&arguments)),
        "arrow-odbc" => arrow_odbc_client::run(&arguments),
        other => Err(format!("no contestant is called {other}").into()),
    }?;
    Ok(serde_json::to_string(&report)?)
}

/// One thread: a load or a read over one connection has no use for more, and waking others costs.
fn in_tokio(work: impl Future<Output = Result<Report, Failure>>) -> Result<Report, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
