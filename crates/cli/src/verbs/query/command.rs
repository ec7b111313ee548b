//! `bulkwire query`.

use std::io::{self, BufWriter, Write};

use load::report::{grouped, row_words};
use load::{Client, ResultStream};
use package::sql_script::{Batch, batches, script_text};
use tds::{SqlType, Value};

use crate::args::QueryArgs;
use crate::connection;
use crate::failure::Failure;
use crate::verbs::query::output;
use crate::verbs::query::parameters::{QueryParameter, parameter};

/// Runs the batches and prints every result. The first batch that fails ends the command.
pub fn run(arguments: &QueryArgs) -> Result<(), Failure> {
    let (place, batches) = statements(arguments)?;
    let parameters =
        arguments.param.iter().map(|text| parameter(text)).collect::<Result<Vec<QueryParameter>, _>>()?;
    let parameters: Vec<(&str, SqlType, Value)> = parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), parameter.sql_type.clone(), parameter.value.clone()))
        .collect();
    let mut client = connection::open(&arguments.connection)?;
    let mut first = true;
    for Batch { sql, line, count } in &batches {
        for _ in 0..*count {
            let ran = match run_batch(&mut client, sql, &parameters, arguments, &mut first) {
                Err(Failure::Client(error)) => client.doubted(Err(error)).map_err(Failure::Client),
                ran => ran,
            };
            ran.map_err(|failure| match (failure, &place) {
                (
                    Failure::Client(error @ (load::Error::Server(_) | load::Error::InDoubt { .. })),
                    Some(place),
                ) if batches.len() > 1 => {
                    Failure::Batch { place: format!("{place}, batch from line {line}"), error }
                }
                (failure, _) => failure,
            })?;
        }
    }
    Ok(())
}

/// Returns the batches, and the name of their script if they come from one.
fn statements(arguments: &QueryArgs) -> Result<(Option<String>, Vec<Batch>), Failure> {
    let script = match (&arguments.file, arguments.sql.as_deref()) {
        (Some(file), _) if file.as_os_str() != "-" => {
            let text = std::fs::read(file)
                .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
                .and_then(|bytes| {
                    script_text(&bytes).ok_or_else(|| {
                        Failure::Usage(format!(
                            "{} is neither UTF-8 nor UTF-16 with a byte-order mark",
                            file.display()
                        ))
                    })
                })?;
            (file.display().to_string(), text)
        }
        (Some(_), _) | (None, Some("-")) => {
            let text = io::read_to_string(io::stdin());
            ("standard input".to_owned(), text.map_err(|source| Failure::Stream { stream: "input", source })?)
        }
        (None, Some(sql)) => {
            return Ok((None, vec![Batch { sql: sql.to_owned(), line: 1, count: 1 }]));
        }
        (None, None) => {
            return Err(Failure::Usage("name the SQL, or a file of it with --file".to_owned()));
        }
    };
    let (place, text) = script;
    let batches = batches(&text).map_err(|error| Failure::Usage(format!("{place}, {error}")))?;
    Ok((Some(place), batches))
}

fn run_batch(
    client: &mut Client,
    sql: &str,
    parameters: &[(&str, SqlType, Value)],
    arguments: &QueryArgs,
    first: &mut bool,
) -> Result<(), Failure> {
    let mut stream: ResultStream<'_> = match parameters {
        [] => client.query(sql, output::exact_text())?,
        parameters => client.query_with(sql, parameters, output::exact_text())?,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let mut printed = Ok(());
        if !stream.columns().is_empty() {
            if !std::mem::replace(first, false) && output::is_parted(arguments.format) {
                writeln!(out).map_err(output::output)?;
            }
            let limit = arguments.max_rows.unwrap_or(usize::MAX);
            printed = output::print(&mut stream, arguments.format, limit, &mut out);
        }
        // On a terminal, messages come after the rows that they followed, and before the error.
        out.flush().map_err(output::output)?;
        for message in stream.take_messages() {
            say!("{}", message.message);
        }
        for rows in stream.take_rows_changed() {
            say!("({} {} affected)", grouped(rows), row_words(rows).0);
        }
        printed?;
        if !stream.next_result()? {
            return Ok(());
        }
    }
}
