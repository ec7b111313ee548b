//! `bulkwire export`.

use arrow::datatypes::Schema;
use copy::{HostLayout, file_format};
use formats::{Compression, Format, Location};
use load::read::RowSource;
use load::report::{grouped, row_words};
use load::{Client, ColumnEncryption, ExportReport, TableName, table_query};
use rows::{Form, mapping};
use serde_json::json;

use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::verbs::export::ranges;
use crate::{connection, event_log, progress};

/// Writes a table or a query's result to a file.
pub fn run(arguments: &ExportArgs) -> Result<(), Failure> {
    let (query, table, file) = match (arguments.target.as_slice(), &arguments.query) {
        ([file], Some(query)) => (query.clone(), None, file),
        ([table, file], None) => {
            let table: TableName =
                table.parse().map_err(|error: load::Error| Failure::Usage(error.to_string()))?;
            (table_query(&table, None), Some(table), file)
        }
        ([_], None) => {
            return Err(Failure::Usage("name a table and a file, or --query and a file".to_owned()));
        }
        _ => return Err(Failure::Usage("--query takes the place of the table: name only a file".to_owned())),
    };
    let of_reading = [
        ("--skip-lines", arguments.format.skip_lines.is_some()),
        ("--skip-footer", arguments.format.skip_footer.is_some()),
    ];
    if let Some((flag, _)) = of_reading.into_iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!("{flag} is for files that are read")));
    }
    if ranges::is_wanted(arguments, file) {
        let source = match &table {
            Some(table) => RowSource::table(table.clone()),
            None => RowSource::query(query),
        };
        return ranges::run(arguments, source, file);
    }
    let location = Location::target(file);
    let host = HostLayout::of(&arguments.format)?;
    let typed = match host {
        Some(_) => None,
        None => Some(file_format::of(&location, &arguments.format)?.0),
    };
    let compression = file_format::compression(&location, &arguments.format);
    let mut client = connection::open(&arguments.connection)?;
    let target = Target { location, typed, host, compression };
    let done = into_file(&mut client, &query, table.as_ref(), target, arguments);
    done.map_err(|failure| match (failure, &table) {
        (Failure::Client(error), Some(table)) => load::name_nearest(&mut client, table, error).into(),
        (failure, _) => failure,
    })
}

/// The file that is written, and its format: of a file with types, or of bcp's.
struct Target {
    location: Location,
    typed: Option<Format>,
    host: Option<HostLayout>,
    compression: Compression,
}

fn into_file(
    client: &mut Client,
    query: &str,
    table: Option<&TableName>,
    target: Target,
    arguments: &ExportArgs,
) -> Result<(), Failure> {
    let Target { location, typed, host, compression } = target;
    // The prefixes of a native file depend on what takes NULL.
    let described = match (table, &host) {
        (Some(table), Some(_)) => client.describe(table).ok(),
        _ => None,
    };
    let encrypted = match table {
        Some(table) => load::encrypted_columns(client, table)?,
        None => Vec::new(),
    };
    if !arguments.quiet && !arguments.json && !event_log::is_on() {
        for (name, encryption) in &encrypted {
            say!("{name}: {encryption}; its values are written as ciphertext (varbinary)");
        }
    }
    let is_text = matches!(typed, Some(Format::Csv(_)));
    let form = if host.is_some() { Form::Exact } else { arguments.forms.form(is_text) };
    let stream = client.query(query, form)?;
    if stream.columns().is_empty() {
        return Err(Failure::Usage("the query returns no result".to_owned()));
    }
    say_offsets(&stream.schema(), arguments);
    let format = match (typed, host) {
        (Some(format), _) => format,
        (None, Some(host)) => {
            let columns = stream.columns().to_vec();
            let columns = described.map_or(columns.clone(), |table| table.refined(columns));
            Format::Host(Box::new(host.with_columns(Some(columns))?))
        }
        (None, None) => return Err(Failure::Usage("the file has no format".to_owned())),
    };
    let mut writer = formats::create(&location, stream.schema(), &format, compression)?;
    let bar = progress::bar(&location.to_string(), None, arguments.quiet);
    let mut rows = 0;
    let exported = load::export(stream, |batch| {
        rows += batch.num_rows() as u64;
        bar.set_message(format!("{} {}", grouped(rows), row_words(rows).0));
        writer.write(&batch)
    });
    bar.finish_and_clear();
    let report = exported?;
    let written = writer.finish()?;
    let mut figures = figures(&report, written.bytes, &location.to_string());
    if !encrypted.is_empty() {
        let named =
            |(name, how): (String, ColumnEncryption)| json!({"name": name, "kind": how.kind, "key": how.key});
        figures["encrypted_columns"] = encrypted.into_iter().map(named).collect();
    }
    show(&report, figures, written.bytes, &location, arguments);
    Ok(())
}

/// Says which columns lose their offsets.
pub fn say_offsets(schema: &Schema, arguments: &ExportArgs) {
    let says = !arguments.quiet && !arguments.json && !event_log::is_on();
    if let Some(note) = mapping::note_of_offsets(schema).filter(|_| says) {
        say!("{note}; --datetimeoffset-text keeps them");
    }
}

fn show(
    report: &ExportReport,
    figures: serde_json::Value,
    file_bytes: u64,
    location: &Location,
    arguments: &ExportArgs,
) {
    if event_log::is_on() {
        event_log::write("exported", figures);
    } else if arguments.json {
        say!("{figures}");
    } else if !arguments.quiet {
        say!("{location}: {report}, {} in the file", load::report::bytes(file_bytes as f64));
    }
}

/// Converts the figures of a report to JSON.
pub fn figures(report: &ExportReport, file_bytes: u64, file: &str) -> serde_json::Value {
    json!({
        "file": file,
        "rows": report.rows,
        "bytes_on_wire": report.bytes_on_wire,
        "file_bytes": file_bytes,
        "seconds": report.elapsed.as_secs_f64(),
        "phase_seconds": {
            "wait": report.wait.as_secs_f64(),
            "decode": report.decode.as_secs_f64(),
            "write": report.write.as_secs_f64(),
        },
        "client_cpu_seconds": report.client_cpu.map(|cpu| cpu.as_secs_f64()),
    })
}
