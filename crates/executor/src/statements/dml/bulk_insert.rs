//! BULK INSERT: the server reads a file into a table.

use databases::catalogue::TableDefinition;
use databases::instance::message;
use databases::waiting::waiting;
use formats::bcp::FormatFile;
use tds::{Column, SqlType};
use tsql::SqlError;
use tsql::ast::BulkHints;
use tsql::bulk_file::{BulkFileOptions, BulkInsert};
use tsql::errors;

use crate::bulk_file::error_file::ErrorFile;
use crate::bulk_file::fault::{BadRow, Broken, provider_messages, too_many_errors};
use crate::bulk_file::layout::{Layout, format_file};
use crate::bulk_file::rows::FileRows;
use crate::session::Session;
use crate::session::bulk_target::BulkTarget;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{Response, command};
use crate::session::work::OpenTable;
use crate::statements::dml::bulk;
use crate::statements::dml::bulk::BulkWriter;
use crate::statements::dml::destination;
use crate::statements::dml::fire::fire_bulk;
use crate::statements::dml::insert;
use crate::statements::dml::load_note;
use crate::statements::evaluation::answer;

/// MAXERRORS, if it is not given.
pub(crate) const MAX_ERRORS: u64 = 10;

/// A load under way.
struct Load<'a> {
    insert: &'a BulkInsert,
    rows: FileRows,
    error_file: Option<ErrorFile>,
    errors: u64,
    /// Rows read but not written: the rest of a batch that was cut at BATCHSIZE.
    rest: Vec<arrow::array::RecordBatch>,
}

/// Runs BULK INSERT. Bad rows are reported with their place and left out, up to MAXERRORS; each batch reports its row
/// count.
pub async fn run(
    session: &mut Session,
    insert: &BulkInsert,
    line: u32,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if session.settings.format_only {
        output.done(frame.done_kind(), 0, None).await;
        return Ok(());
    }
    let table = destination::loadable(session, &insert.table)?;
    let opened = open_load(session, insert, &table);
    let loaded = match opened {
        Ok((load, notice)) => {
            if let Some(notice) = notice {
                answer::inform(session, notice.at_line(line), output).await;
            }
            let loaded = load_file(session, load, &table, line, frame, output).await;
            session.abandon_bulk();
            loaded
        }
        Err(broken) => Err(broken),
    };
    let Err(Broken { error, in_provider }) = loaded else { return Ok(()) };
    if !in_provider || error.is_cancelled() {
        return Err(error);
    }
    let [reported, last] = provider_messages();
    // A TRY that catches them sees only the last.
    if frame.tries == 0 {
        for message in [error, reported] {
            let message = message::message(message.at_line(line), &session.instance);
            output.send(Response::Error(message)).await;
        }
    }
    Err(last)
}

fn open_load<'a>(
    session: &Session,
    insert: &'a BulkInsert,
    table: &OpenTable,
) -> Result<(Load<'a>, Option<SqlError>), Broken> {
    let BulkInsert { file, options, .. } = insert;
    let definition = &table.definition;
    for (name, _) in &options.order {
        if definition.position(name).is_none() {
            return Err(errors::INVALID_COLUMN.with([name]).into());
        }
    }
    let access = session.instance.files();
    let path = access.existing(file)?;
    let format = options.format_file.as_ref().map(|name| format_file(name, access)).transpose()?;
    let error_file = options.error_file.as_ref().map(|name| ErrorFile::new(name, access)).transpose()?;
    let columns: Vec<Column> = definition.columns.iter().map(|column| column.wire()).collect();
    let skipped = skipped_columns(definition, options, format.as_ref());
    let (layout, notice) = Layout::new(&path, options, format, &columns, &skipped)?;
    let takes_null = |position: usize| {
        definition
            .columns
            .get(position)
            .is_none_or(|column| column.nullable || (column.default.is_some() && !options.keep_nulls))
    };
    let rows = waiting(|| FileRows::open(file, &path, layout, &columns, &skipped, takes_null))?;
    Ok((Load { insert, rows, error_file, errors: 0, rest: Vec::new() }, notice))
}

async fn load_file(
    session: &mut Session,
    mut load: Load<'_>,
    table: &OpenTable,
    line: u32,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), Broken> {
    let batch_rows = load.insert.options.batch_rows.filter(|rows| *rows > 0).unwrap_or(u64::MAX);
    let mut more = true;
    let mut first = true;
    while more || !load.rest.is_empty() {
        let mut writer = waiting(|| begin_file_batch(session, &load, table))?;
        let mut rows = 0;
        while rows < batch_rows {
            output.check()?;
            if load.rest.is_empty() {
                let Some(next) = waiting(|| load.rows.next())? else {
                    more = false;
                    break;
                };
                take_bad(session, &mut load, &next.bad, line, frame, output).await?;
                load.rest = next.batches;
            }
            rows += waiting(|| load.write(&mut writer, batch_rows - rows))?;
        }
        // A file that ends at the end of a batch makes no empty one.
        if rows == 0 && !first {
            break;
        }
        first = false;
        let rows = waiting(|| writer.finish());
        let ignored = session.work.take_ignored();
        let rows = rows?;
        fire_bulk(session, frame, output).await?;
        insert::tell_ignored(session, ignored, output).await;
        if let Some(notice) = load_note::notice_of_load(session) {
            answer::inform(session, notice, output).await;
        }
        session.last.rows = i64::try_from(rows).unwrap_or(i64::MAX);
        session.last.error = 0;
        let count = (!session.settings.no_count).then_some(rows);
        output.done(frame.done_kind(), command::BULK_INSERT, count).await;
    }
    Ok(())
}

fn begin_file_batch(
    session: &mut Session,
    load: &Load<'_>,
    table: &OpenTable,
) -> Result<BulkWriter, SqlError> {
    let options = &load.insert.options;
    let columns = load.rows.positions().iter().filter_map(|position| {
        table.definition.columns.get(*position).map(|column| (column.name.clone(), *position))
    });
    let target = BulkTarget {
        table: load.insert.table.clone(),
        types: Vec::new(),
        columns: columns.collect(),
        hints: BulkHints {
            check_constraints: options.check_constraints,
            fire_triggers: options.fire_triggers,
            keep_nulls: options.keep_nulls,
            table_lock: options.table_lock,
            rows_per_batch: options.rows_per_batch,
            kilobytes_per_batch: options.kilobytes_per_batch,
            order: options.order.clone(),
            ..BulkHints::default()
        },
    };
    let mut writer = bulk::begin_load(session, target, "BULK INSERT")?;
    writer.columns(load.rows.columns())?;
    Ok(writer)
}

/// Tells of bad rows, writes them to the error file, and counts them.
async fn take_bad(
    session: &mut Session,
    load: &mut Load<'_>,
    bad: &[BadRow],
    line: u32,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), Broken> {
    let limit = load.insert.options.max_errors.unwrap_or(MAX_ERRORS);
    for row in bad {
        if let Some(file) = &mut load.error_file {
            file.add(row)?;
        }
        if frame.tries == 0 {
            let message = message::message(row.message().at_line(line), &session.instance);
            output.send(Response::Error(message)).await;
        }
        load.errors += 1;
        if load.errors > limit {
            return Err(too_many_errors(limit));
        }
    }
    Ok(())
}

impl Load<'_> {
    /// Writes at most `room` rows of what was read; returns how many.
    fn write(&mut self, writer: &mut BulkWriter, room: u64) -> Result<u64, SqlError> {
        let mut written = 0;
        while let Some(batch) = self.rest.first().cloned() {
            let left = usize::try_from(room - written).unwrap_or(usize::MAX);
            if left == 0 {
                break;
            }
            if batch.num_rows() > left {
                writer.append(batch.slice(0, left))?;
                if let Some(first) = self.rest.first_mut() {
                    *first = batch.slice(left, batch.num_rows() - left);
                }
                written += left as u64;
                break;
            }
            written += batch.num_rows() as u64;
            writer.append(batch)?;
            self.rest.remove(0);
        }
        Ok(written)
    }
}

/// Columns that are never loaded, though the file has a field for each of them: computed ones, rowversion, and the
/// identity unless it is kept. With a format file, the columns that it does not fill are among them.
fn skipped_columns(
    definition: &TableDefinition,
    options: &BulkFileOptions,
    format: Option<&FormatFile>,
) -> Vec<usize> {
    let columns = definition.columns.iter().enumerate();
    let skipped = columns.filter(|(position, column)| {
        column.computed.is_some()
            || column.sql_type == SqlType::RowVersion
            || (column.identity.is_some() && !options.keep_identity)
            || format
                .is_some_and(|format| !format.fields.iter().any(|field| field.column == Some(position + 1)))
    });
    skipped.map(|(position, _)| position).collect()
}
