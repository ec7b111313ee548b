//! `bulkwire sniff`.

use std::io::{self, Write};

use arrow::datatypes::Field;
use copy::file_format;
use formats::sniff::{Content, SniffedText, sniff};
use formats::{Compression, InferredColumn, Location, is_same_file};
use load::{roomy_length, roomy_schema};
use rows::mapping::{CreateOptions, StringType, sql_type_of};

use crate::args::{FileOptions, SniffArgs};
use crate::failure::Failure;
use crate::table::Table;

/// Guesses the format of a file and prints it.
pub fn run(arguments: &SniffArgs) -> Result<(), Failure> {
    let location = Location::source(&arguments.file);
    let flags = FileOptions { compression: arguments.compression, ..FileOptions::default() };
    let compression = file_format::compression(&location, &flags);
    let sniffed = sniff(&location, compression)?;
    let output = |text: &str| {
        io::stdout()
            .write_all(text.as_bytes())
            .and_then(|()| io::stdout().flush())
            .map_err(|source| Failure::Stream { stream: "output", source })
    };
    let text = match &sniffed.content {
        Content::Text(text) => Some(text),
        _ => None,
    };
    if arguments.all_rows {
        return all_rows(&location, text.map(|text| &**text), compression, arguments.declare);
    }
    if arguments.declare {
        let Some(text) = text else {
            return Err(Failure::Usage(format!("{location} is not text: nothing to declare")));
        };
        output(&format!("{}\n", text.declaration()))?;
    } else {
        output(&format!("{}\n", sniffed.to_string().trim_end()))?;
    }
    let Some(path) = &arguments.write_format_file else { return Ok(()) };
    let layout = text.and_then(|text| Some((text.format_file()?, &text.columns)));
    let Some((layout, columns)) = layout else {
        return Err(Failure::Usage(format!("{location}: no format file of bcp describes such a file")));
    };
    let content = match arguments.xml {
        true => layout.to_xml(columns).map_err(|error| Failure::Usage(error.to_string()))?,
        false => layout.to_text(),
    };
    if location.path().is_some_and(|file| is_same_file(file, path)) {
        let message = format!("--write-format-file {} is the file that was read", path.display());
        return Err(Failure::Usage(message));
    }
    std::fs::write(path, content)
        .map_err(|source| Failure::FormatFile { file: path.display().to_string(), source })
}

/// Reads delimited text to its end and prints each column's type, with the value that decided it.
fn all_rows(
    location: &Location,
    text: Option<&SniffedText>,
    compression: Compression,
    declares: bool,
) -> Result<(), Failure> {
    let Some(options) = text.and_then(SniffedText::csv_options) else {
        return Err(Failure::Usage(format!(
            "{location} is not delimited text: --all-rows has nothing to decide"
        )));
    };
    if matches!(location, Location::Stdin) {
        return Err(Failure::Usage("--all-rows reads the file twice: give its name instead of -".to_owned()));
    }
    let inferred = formats::infer(location, &options, compression, None)?;
    let columns =
        [("column", false), ("type", false), ("NULLs", true), ("longest", true), ("decided by", false)];
    let mut table = Table::new(columns.map(|(name, right)| (name.to_owned(), right)));
    // As `load --create` makes them: with room for a little growth.
    let roomy = roomy_schema(&inferred.schema());
    for (column, field) in inferred.columns.iter().zip(roomy.fields()) {
        table.push([
            column.name.clone(),
            type_of(column, field)?,
            column.nulls.to_string(),
            column.max_chars.to_string(),
            column.evidence.as_ref().map_or_else(|| "no value".to_owned(), ToString::to_string),
        ]);
    }
    let mut out = io::stdout().lock();
    if declares {
        let columns = inferred.columns.iter().zip(roomy.fields()).map(|(column, field)| {
            let null = if column.nulls > 0 { "null" } else { "not null" };
            Ok(format!("[{}] {} {null}", column.name.replace(']', "]]"), type_of(column, field)?))
        });
        let columns = columns.collect::<Result<Vec<_>, Failure>>()?.join(", ");
        let written = writeln!(out, "{columns}").and_then(|()| out.flush());
        return written.map_err(|source| Failure::Stream { stream: "output", source });
    }
    let written = table.write(&mut out).and_then(|()| writeln!(out, "{} rows", inferred.rows));
    written.and_then(|()| out.flush()).map_err(|source| Failure::Stream { stream: "output", source })
}

/// Returns the type that a table made for the column would have.
fn type_of(column: &InferredColumn, field: &Field) -> Result<String, Failure> {
    let longest = column.max_binary_bytes.unwrap_or(column.max_utf16_units);
    let options = CreateOptions {
        max_length: Some(roomy_length(longest)),
        strings: StringType::NVarChar,
        ..CreateOptions::default()
    };
    Ok(sql_type_of(field, &options).map_err(load::Error::from)?.to_string())
}
