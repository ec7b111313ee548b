//! `bulkwire load --server-side`: BULK INSERT of files that the server sees.

use std::time::Instant;

use copy::file_format;
use formats::{CsvOptions, Format, Location};
use load::report::{grouped, row_words};
use load::{BulkInsertOptions, Client, ExecuteResult, TableName, bulk_insert_statement};
use serde_json::json;

use crate::args::{Choice, FormatName, LoadArgs};
use crate::failure::Failure;
use crate::json_report;
use crate::{connection, event_log, interrupt};

/// The default row terminator: a line feed alone, on every operating system of the server.
const ROW_TERMINATOR: &str = "0x0a";
/// UTF-8.
const CODE_PAGE: &str = "65001";
/// The text as it is.
const RAW: &str = "RAW";
/// Major versions whose BULK INSERT on Linux takes no CODEPAGE (SQL Server 2017), and only RAW (2019): T-SQL reference, "CODEPAGE".
const LINUX_WITHOUT_CODE_PAGE: u8 = 14;
const LINUX_WITH_RAW: u8 = 15;

/// Has the server load the files, one after another.
pub fn run(table: &TableName, arguments: &LoadArgs) -> Result<(), Failure> {
    let files = arguments.files.iter().map(|file| Ok((file, options(file, arguments)?)));
    let mut files = files.collect::<Result<Vec<_>, Failure>>()?;
    let statement =
        |(file, options): &(&String, BulkInsertOptions)| bulk_insert_statement(table, file, options);
    if arguments.dry_run {
        files.iter().for_each(|file| say!("{}", statement(file)));
        return Ok(());
    }
    let mut client = connection::open(&arguments.connection)?;
    if let Some(major) = limited_linux(&mut client)? {
        for (_, options) in &mut files {
            options.code_page = code_page_of_linux(major, options.code_page.take())?;
        }
    }
    if arguments.modes.truncates() {
        execute(&mut client, &format!("TRUNCATE TABLE {table}"))?;
    }
    for file in &files {
        let (statement, (file, _)) = (statement(file), file);
        if !arguments.quiet {
            say!("{statement}");
        }
        let started = Instant::now();
        let done = execute(&mut client, &statement)?;
        interrupt::note_rows(done.rows_affected);
        let seconds = started.elapsed().as_secs_f64();
        let messages: Vec<&str> = done.messages.iter().map(|message| message.message.as_str()).collect();
        let line =
            json!({ "file": file, "rows": done.rows_affected, "seconds": seconds, "messages": messages });
        if arguments.json {
            json_report::print(&line);
        } else if !arguments.quiet {
            messages.iter().for_each(|message| say!("{message}"));
            let rows = done.rows_affected;
            say!("{file}: {} {}, {seconds:.3} s", grouped(rows), row_words(rows).0);
        }
        event_log::write("loaded", line);
    }
    Ok(())
}

fn execute(client: &mut Client, statement: &str) -> Result<ExecuteResult, Failure> {
    let named = |error| Failure::Statement { statement: statement.to_owned(), error: Box::new(error) };
    interrupt::during_statement(|| client.execute(statement)).map_err(named)
}

/// Returns the major version of a server on Linux whose BULK INSERT cannot have every CODEPAGE.
fn limited_linux(client: &mut Client) -> Result<Option<u8>, Failure> {
    let major = client.server_info().version.0;
    if !matches!(major, LINUX_WITHOUT_CODE_PAGE | LINUX_WITH_RAW) {
        return Ok(None);
    }
    let found = client.query_values("SELECT @@VERSION")?;
    let version = load::first_value(&found);
    let is_linux = version.is_some_and(|version| version.to_string().contains(" on Linux"));
    Ok(is_linux.then_some(major))
}

/// Chooses the CODEPAGE for such a server. Leaving it out silently would have letters beyond ASCII read as others.
fn code_page_of_linux(major: u8, asked: Option<String>) -> Result<Option<String>, Failure> {
    let Some(asked) = asked else { return Ok(None) };
    match (asked.eq_ignore_ascii_case(RAW), major) {
        (true, LINUX_WITHOUT_CODE_PAGE) => Ok(None),
        (true, _) => Ok(Some(asked)),
        (false, _) => {
            let year = if major == LINUX_WITHOUT_CODE_PAGE { 2017 } else { 2019 };
            Err(Failure::Usage(format!(
                "BULK INSERT of SQL Server {year} on Linux takes no CODEPAGE = '{asked}': say --encoding RAW for \
                 text that is ASCII or in the code page of its columns, or load without --server-side"
            )))
        }
    }
}

fn options(file: &str, arguments: &LoadArgs) -> Result<BulkInsertOptions, Failure> {
    if file == "-" {
        return Err(Failure::Usage(
            "--server-side takes paths that the server sees, not standard input".to_owned(),
        ));
    }
    if arguments.bulk.allow_encrypted_values {
        return Err(Failure::Usage(
            "--allow-encrypted-values is for rows that this command sends; BULK INSERT has no such option"
                .to_owned(),
        ));
    }
    let flags = &arguments.format;
    let common = BulkInsertOptions {
        error_file: arguments.error_file.clone(),
        // Without a word the server lets ten rows go.
        max_errors: Some(arguments.refusals.max_errors.unwrap_or(0)),
        batch_rows: arguments.bulk.batch_rows,
        table_lock: arguments.bulk.table_lock == Some(Choice::On),
        check_constraints: arguments.bulk.check_constraints,
        fire_triggers: arguments.bulk.fire_triggers,
        keep_identity: arguments.bulk.keep_identity,
        keep_nulls: arguments.bulk.keep_nulls,
        first_row: first_row(false, flags.skip_lines.unwrap_or(0)),
        ..BulkInsertOptions::default()
    };
    if let Some(format_file) = &flags.format_file {
        return Ok(BulkInsertOptions {
            format_file: Some(format_file.display().to_string()),
            code_page: flags.encoding.clone(),
            ..common
        });
    }
    if let Some(mode) = flags.format.and_then(data_file_type) {
        let text = mode == "char";
        return Ok(BulkInsertOptions {
            data_file_type: Some(mode),
            field_terminator: flags.delimiter.clone(),
            row_terminator: flags.row_terminator.clone().or_else(|| text.then(|| ROW_TERMINATOR.to_owned())),
            code_page: flags.encoding.clone().or_else(|| text.then(|| CODE_PAGE.to_owned())),
            ..common
        });
    }
    // The suffix is that of a file elsewhere: what has none is taken to be CSV.
    let location = Location::Path(file.into());
    let named = flags.format.is_some() || file_format::of(&location, flags).is_ok();
    let format = match named {
        true => file_format::of(&location, flags)?.0,
        false => Format::Csv(CsvOptions::default()),
    };
    let Format::Csv(csv) = format else {
        return Err(Failure::Usage(format!("{file}: BULK INSERT reads text and native files only")));
    };
    let terminator = flags.delimiter.clone().unwrap_or_else(|| {
        if flags.format == Some(FormatName::Tsv) || csv.delimiter == "\t" { "\\t" } else { "," }.to_owned()
    });
    Ok(BulkInsertOptions {
        csv: csv.quote.is_some(),
        field_quote: csv.quote.map(char::from).filter(|quote| *quote != '"'),
        field_terminator: Some(terminator),
        row_terminator: Some(flags.row_terminator.clone().unwrap_or_else(|| ROW_TERMINATOR.to_owned())),
        code_page: Some(flags.encoding.clone().unwrap_or_else(|| CODE_PAGE.to_owned())),
        first_row: first_row(csv.header, csv.skip_lines),
        ..common
    })
}

/// Returns `FIRSTROW`: the header and the lines in front of it count as rows.
fn first_row(header: bool, skip_lines: usize) -> Option<u64> {
    let before = (skip_lines as u64).saturating_add(u64::from(header));
    (before > 0).then(|| before.saturating_add(1))
}

/// Returns `DATAFILETYPE` of bcp's formats.
fn data_file_type(format: FormatName) -> Option<&'static str> {
    match format {
        FormatName::Char => Some("char"),
        FormatName::Widechar => Some("widechar"),
        FormatName::Native => Some("native"),
        FormatName::Widenative => Some("widenative"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::{LINUX_WITH_RAW, LINUX_WITHOUT_CODE_PAGE, code_page_of_linux};

    #[test]
    fn older_servers_on_linux_get_the_code_pages_that_they_take() {
        let utf8 = || Some("65001".to_owned());
        for (major, year) in [(LINUX_WITHOUT_CODE_PAGE, "2017"), (LINUX_WITH_RAW, "2019")] {
            let refused = code_page_of_linux(major, utf8()).unwrap_err().to_string();
            assert!(refused.contains(year) && refused.contains("--encoding RAW"), "{refused}");
            assert_eq!(code_page_of_linux(major, None).unwrap(), None);
        }
        let raw = Some("raw".to_owned());
        assert_eq!(code_page_of_linux(LINUX_WITHOUT_CODE_PAGE, raw.clone()).unwrap(), None);
        assert_eq!(code_page_of_linux(LINUX_WITH_RAW, raw.clone()).unwrap(), raw);
    }
}
