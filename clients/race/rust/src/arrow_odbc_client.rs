//! arrow-odbc: parameter arrays and block cursors over Microsoft's ODBC Driver 18.
//!
//! Loads with `OdbcWriter`, a prepared INSERT with arrays of parameters, a transaction for each commit; an INSERT takes no table
//! lock. Reads with the concurrent reader, which its documentation recommends for speed.

use std::sync::OnceLock;

use arrow_odbc::odbc_api::{Connection, ConnectionOptions, Environment};
use arrow_odbc::{OdbcReaderBuilder, OdbcWriter};

use crate::Failure;
use crate::arguments::{Arguments, Mode};
use crate::checksum::Checksum;
use crate::meter::{Meter, Report};
use crate::source;

const CLIENT: &str = "arrow-odbc 26.0.3";
/// Rows of an array of parameters.
const ARRAY_ROWS: usize = 1_000;
/// The driver refuses to encrypt packets of 16,383 bytes ("Packet size too large for SSL Encrypt/Decrypt operations").
const TLS_PACKET_BYTES: u16 = 16_000;

static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    match arguments.mode {
        Mode::Load => load(arguments),
        Mode::Read => read(arguments),
    }
}

fn connect(arguments: &Arguments) -> Result<Connection<'static>, Failure> {
    let environment = match ENVIRONMENT.get() {
        Some(environment) => environment,
        None => {
            let made = Environment::new()?;
            ENVIRONMENT.get_or_init(|| made)
        }
    };
    let driver = arguments.driver.as_ref().ok_or("arrow-odbc needs --driver")?;
    let connection = format!(
        "Driver={{{}}};Server={},{};UID={};PWD={{{}}};Database={};Encrypt={};TrustServerCertificate=yes;",
        driver.display(),
        arguments.host,
        arguments.port,
        arguments.user,
        arguments.password,
        arguments.database,
        if arguments.encrypt { "yes" } else { "no" },
    );
    let packet_bytes = if arguments.encrypt { TLS_PACKET_BYTES } else { arguments.packet_size_bytes() };
    let options = ConnectionOptions { packet_size: Some(packet_bytes.into()), ..Default::default() };
    Ok(environment.connect_with_connection_string(&connection, options)?)
}

fn load(arguments: &Arguments) -> Result<Report, Failure> {
    let commits = source::commits(arguments)?;
    let schema = commits.iter().flatten().next().ok_or("no rows")?.schema();
    let connection = connect(arguments)?;
    connection.set_autocommit(false)?;

    let meter = Meter::start()?;
    let mut writer = OdbcWriter::with_connection(&connection, &schema, &arguments.table, ARRAY_ROWS)?;
    let mut rows = 0;
    for batches in &commits {
        for batch in batches {
            writer.write_batch(batch)?;
            rows += batch.num_rows() as u64;
        }
        writer.flush()?;
        connection.commit()?;
    }
    let mut report = meter.stop(CLIENT.to_owned(), rows)?;
    report.source = Some("arrow");
    Ok(report)
}

fn read(arguments: &Arguments) -> Result<Report, Failure> {
    let connection = connect(arguments)?;

    let meter = Meter::start()?;
    let cursor = connection
        .into_cursor(&arguments.query(), (), None)
        .map_err(|error| error.error)?
        .ok_or("the query has no result")?;
    let mut builder = OdbcReaderBuilder::new();
    if arguments.batch_rows > 0 {
        builder.with_max_num_rows_per_batch(arguments.batch_rows);
    }
    let batches = builder.build(cursor)?.into_concurrent()?.collect::<Result<Vec<_>, _>>()?;
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let mut report = meter.stop(CLIENT.to_owned(), rows)?;

    let mut checksum = Checksum::default();
    for batch in &batches {
        checksum.add_batch(batch)?;
    }
    report.checksum = Some(checksum.text());
    Ok(report)
}
