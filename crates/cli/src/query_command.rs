//! `bulkwire query`.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};

use arrow::array::{Array, StringArray};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use load::ResultStream;
use rows::Form;
use rows::mapping::{GuidForm, OffsetForm, ReadOptions, Scale7};
use rows::text::{TextOptions, format_column};
use serde_json::Value;

use crate::args::{OutputFormat, QueryArgs};
use crate::connection;
use crate::failure::Failure;
use crate::table::Table;

/// Runs the batch and prints every result.
pub fn run(arguments: &QueryArgs) -> Result<(), Failure> {
    let sql = match arguments.sql.as_str() {
        "-" => {
            io::read_to_string(io::stdin()).map_err(|source| Failure::Stream { stream: "input", source })?
        }
        sql => sql.to_owned(),
    };
    let mut client = connection::open(&arguments.connection)?;
    let mut stream = client.query(&sql, exact_text())?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut first = true;
    loop {
        let mut printed = Ok(());
        if !stream.columns().is_empty() {
            if !first {
                writeln!(out).map_err(output)?;
            }
            first = false;
            printed = print(&mut stream, arguments, &mut out);
        }
        // On a terminal, messages come after the rows that they followed, and before the error.
        out.flush().map_err(output)?;
        for message in stream.take_messages() {
            eprintln!("{}", message.message);
        }
        printed?;
        if !stream.next_result()? {
            return Ok(());
        }
    }
}

/// Everything that Arrow has no exact type for is shown as text.
fn exact_text() -> Form {
    Form::Arrow(ReadOptions {
        scale_7: Scale7::Text,
        date_time_offset: OffsetForm::Text,
        guid: GuidForm::Text,
    })
}

fn print(stream: &mut ResultStream<'_>, arguments: &QueryArgs, out: &mut impl Write) -> Result<(), Failure> {
    let limit = arguments.max_rows.unwrap_or(usize::MAX);
    match arguments.output {
        OutputFormat::Table => print_table(stream, limit, out),
        OutputFormat::Csv => print_csv(stream, limit, out),
        OutputFormat::Json => print_json(stream, limit, out),
    }
}

fn print_table(stream: &mut ResultStream<'_>, limit: usize, out: &mut impl Write) -> Result<(), Failure> {
    let schema = stream.schema();
    let columns = schema.fields().iter().map(|field| {
        let shown = if field.name().is_empty() { "(no name)" } else { field.name() };
        (shown.to_owned(), field.data_type().is_numeric())
    });
    let mut table = Table::new(columns);
    let mut rows = 0;
    // Rows that came before an error are shown too.
    let ended = loop {
        let batch = match stream.next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        let texts = texts(&batch, TextOptions { binary_prefix: true, ..TextOptions::default() })?;
        for row in 0..batch.num_rows() {
            if rows < limit {
                table.push(texts.iter().map(|column| match column.is_null(row) {
                    true => "NULL".to_owned(),
                    false => column.value(row).to_owned(),
                }));
            }
            rows += 1;
        }
    };
    table.write(out).map_err(output)?;
    ended?;
    let plural = if rows == 1 { "" } else { "s" };
    let cut = if rows > limit { format!(", the first {limit} shown") } else { String::new() };
    writeln!(out, "({rows} row{plural}{cut})").map_err(output)
}

fn print_csv(stream: &mut ResultStream<'_>, limit: usize, out: &mut impl Write) -> Result<(), Failure> {
    let schema = stream.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| csv_field(field.name())).collect();
    writeln!(out, "{}", names.join(",")).map_err(output)?;
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        let texts = texts(&batch, TextOptions { binary_prefix: true, ..TextOptions::default() })?;
        for row in 0..batch.num_rows().min(limit - rows.min(limit)) {
            let fields: Vec<String> = texts
                .iter()
                .map(|column| if column.is_null(row) { String::new() } else { csv_field(column.value(row)) })
                .collect();
            writeln!(out, "{}", fields.join(",")).map_err(output)?;
        }
        rows += batch.num_rows();
    }
    Ok(())
}

fn print_json(stream: &mut ResultStream<'_>, limit: usize, out: &mut impl Write) -> Result<(), Failure> {
    let schema = stream.schema();
    distinct_names(&schema)?;
    let mut rows = 0;
    write!(out, "[").map_err(output)?;
    while let Some(batch) = stream.next_batch()? {
        let texts = texts(&batch, TextOptions::default())?;
        for row in 0..batch.num_rows() {
            if rows < limit {
                let separator = if rows == 0 { "\n" } else { ",\n" };
                write!(out, "{separator}{}", json_row(&schema, &texts, row)).map_err(output)?;
            }
            rows += 1;
        }
    }
    writeln!(out, "\n]").map_err(output)
}

/// An object with the same name twice would lose a value in most readers.
fn distinct_names(schema: &SchemaRef) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    match schema.fields().iter().find(|field| !seen.insert(field.name())) {
        Some(field) => Err(Failure::Usage(format!(
            "two columns of the result are named {:?}: JSON needs an alias for one of them",
            field.name()
        ))),
        None => Ok(()),
    }
}

/// A row as a JSON object, its columns in order. Numbers keep all the digits that they were printed with.
fn json_row(schema: &SchemaRef, texts: &[StringArray], row: usize) -> String {
    let fields = schema.fields().iter().zip(texts).map(|(field, text)| {
        let value = match (text.is_null(row), field.data_type()) {
            (true, _) => "null".to_owned(),
            (false, DataType::Boolean) => (text.value(row) == "1").to_string(),
            (false, data_type) if data_type.is_numeric() => text.value(row).to_owned(),
            (false, _) => Value::from(text.value(row)).to_string(),
        };
        format!("{}:{value}", Value::from(field.name().as_str()))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn texts(batch: &RecordBatch, options: TextOptions) -> Result<Vec<StringArray>, Failure> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    Ok(columns.map(|(array, field)| format_column(array, field, &options)).collect::<Result<_, _>>()?)
}

/// A field as RFC 4180 has it; an empty value is quoted, because an empty field is NULL.
fn csv_field(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn output(source: io::Error) -> Failure {
    Failure::Stream { stream: "output", source }
}
