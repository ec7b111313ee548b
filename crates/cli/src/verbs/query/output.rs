//! Results of `bulkwire query` as they are printed.

use std::collections::HashSet;
use std::io::{self, Write};

use arrow::array::{Array, StringArray};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use load::ResultStream;
use rows::Form;
use rows::column_text::{TextOptions, format_column};
use rows::mapping::{GuidForm, OffsetForm, ReadOptions, Scale7};
use serde_json::Value;

use crate::args::OutputFormat;
use crate::failure::Failure;
use crate::table::Table;

/// Chooses text for every type that Arrow has no exact type for.
pub fn exact_text() -> Form {
    Form::Arrow(ReadOptions {
        scale_7: Scale7::Text,
        date_time_offset: OffsetForm::Text,
        guid: GuidForm::Text,
    })
}

/// Returns true if an empty line separates results. Formats with a row a line have none.
pub fn is_parted(format: OutputFormat) -> bool {
    format != OutputFormat::Jsonl
}

/// Prints the rows of the current result, at most `limit`.
pub fn print(
    stream: &mut ResultStream<'_>,
    format: OutputFormat,
    limit: usize,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match format {
        OutputFormat::Table => print_table(stream, limit, out),
        OutputFormat::Csv => print_csv(stream, limit, out),
        OutputFormat::Json => print_json(stream, limit, out),
        OutputFormat::Jsonl => print_json_lines(stream, limit, out),
        OutputFormat::Markdown => print_markdown(stream, limit, out),
    }
}

fn print_json_lines(
    stream: &mut ResultStream<'_>,
    limit: usize,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let schema = stream.schema();
    distinct_names(&schema)?;
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        let texts = texts(&batch, TextOptions::default())?;
        for row in 0..batch.num_rows().min(limit - rows.min(limit)) {
            writeln!(out, "{}", json_row(&schema, &texts, row)).map_err(output)?;
        }
        rows += batch.num_rows();
    }
    Ok(())
}

fn print_markdown(stream: &mut ResultStream<'_>, limit: usize, out: &mut impl Write) -> Result<(), Failure> {
    let schema = stream.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| markdown_cell(field.name())).collect();
    let rules: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| if field.data_type().is_numeric() { "---:" } else { "---" })
        .collect();
    writeln!(out, "| {} |\n| {} |", names.join(" | "), rules.join(" | ")).map_err(output)?;
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        let texts = texts(&batch, TextOptions { binary_prefix: true, ..TextOptions::default() })?;
        for row in 0..batch.num_rows().min(limit - rows.min(limit)) {
            let cells: Vec<String> = texts
                .iter()
                .map(|column| match column.is_null(row) {
                    true => "NULL".to_owned(),
                    false => markdown_cell(column.value(row)),
                })
                .collect();
            writeln!(out, "| {} |", cells.join(" | ")).map_err(output)?;
        }
        rows += batch.num_rows();
    }
    Ok(())
}

/// Writes a value on one line, without characters that would end its cell.
fn markdown_cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for line in text.split("\r\n").flat_map(|part| part.split(['\n', '\r'])).enumerate() {
        if line.0 > 0 {
            cell.push_str("<br>");
        }
        for c in line.1.chars() {
            match c {
                '|' | '\\' => cell.extend(['\\', c]),
                '<' => cell.push_str("&lt;"),
                c => cell.push(c),
            }
        }
    }
    cell
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
        // Results without end are shown without end, and are not held.
        if table.is_full() {
            table.write(out).and_then(|()| out.flush()).map_err(output)?;
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

/// Refuses an object with the same name twice, which would lose a value in most readers.
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

/// Writes a row as a JSON object, its columns in order. Numbers keep all the digits that they were printed with.
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

/// Writes a field as RFC 4180 has it; an empty value is quoted, because an empty field is NULL.
fn csv_field(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Makes the failure of standard output.
pub fn output(source: io::Error) -> Failure {
    Failure::Stream { stream: "output", source }
}
