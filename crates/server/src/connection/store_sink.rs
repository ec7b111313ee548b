//! Rows of a bulk load into a table.

use arrow::array::RecordBatch;
use executor::bulk_error;
use executor::statements::BulkWriter;
use query::convert::length_limit;
use query::is_finite;
use rows::{Decoder, Form};
use tds::{Column, ColumnFlags, Length, LengthClass, RowSpan, SqlType};
use tsql::SqlError;

use crate::connection::batch_writer::{BatchWriter, WriterContext};
use crate::connection::bulk_receiver::{RowSink, after};

/// Appends rows to the target: as they came if it can copy them, or else decoded into batches of the lossless form.
pub(super) struct StoreSink {
    writer: Result<BatchWriter, SqlError>,
    decoder: Option<Decoder>,
    columns: Vec<Column>,
    /// True if rows may be copied without decoding them.
    copies: bool,
}

impl StoreSink {
    /// Makes a sink for `writer`. An earlier error is reported when the first bytes arrive, because the client sends
    /// them in any case.
    pub fn new(writer: Result<BulkWriter, SqlError>, context: WriterContext) -> StoreSink {
        let writer = writer.map(|writer| BatchWriter::new(writer, context));
        StoreSink { writer, decoder: None, columns: Vec::new(), copies: false }
    }

    /// Takes the decoded rows; `None` if there are none.
    fn take_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let Some(decoder) = self.decoder.as_mut().filter(|decoder| decoder.rows_buffered() > 0) else {
            return Ok(None);
        };
        let batch = decoder.take_batch().map_err(|error| SqlError::internal(error))?;
        match batch.columns().iter().position(|column| !is_finite(column)) {
            Some(place) => Err(bulk_error::no_number(place + 1)),
            None => Ok(Some(batch)),
        }
    }

    /// Copies the first rows; none: they have to be decoded.
    fn append_copied(&mut self, bytes: &[u8]) -> Result<RowSpan, SqlError> {
        let (Ok(writer), Some(decoder), true) = (&mut self.writer, &mut self.decoder, self.copies) else {
            return Ok(RowSpan::default());
        };
        // Rows stay in their order. Those that were not taken have the rest of their batch for company.
        if decoder.rows_buffered() > 0 {
            return Ok(RowSpan::default());
        }
        let taken = writer.here()?.append_wire_rows(bytes)?;
        decoder.pass_rows(taken.rows);
        Ok(RowSpan { rows: taken.rows, bytes: taken.bytes })
    }
}

/// Widens a column to the declaration of INSERT BULK: drivers send texts that are longer than their COLMETADATA says,
/// and SQL Server takes them by the statement.
fn roomy(mut column: Column, declared: Option<&SqlType>) -> Column {
    let units = |sql_type: &SqlType| length_limit(sql_type).and_then(|units| u16::try_from(units).ok());
    let (Some(own), Some(wanted)) = (units(column.sql_type()), declared.and_then(units)) else {
        return column;
    };
    if own >= wanted || column.type_info.length_class() != LengthClass::UShortLen {
        return column;
    }
    let length = Length::Units(wanted);
    let (sql_type, unit_bytes) = match column.sql_type() {
        SqlType::VarChar { .. } => (SqlType::VarChar { length }, 1),
        SqlType::NVarChar { .. } => (SqlType::NVarChar { length }, 2),
        SqlType::VarBinary { .. } => (SqlType::VarBinary { length }, 1),
        _ => return column,
    };
    column.type_info.sql_type = sql_type;
    column.type_info.max_length = unit_bytes * u32::from(wanted);
    column
}

impl RowSink for StoreSink {
    fn columns(&mut self, columns: &[Column]) -> Result<(), SqlError> {
        let writer = match &mut self.writer {
            Ok(writer) => writer.here()?,
            Err(error) => return Err(error.clone()),
        };
        let declared = writer.declared();
        let columns = columns.iter().cloned().enumerate();
        let columns = &columns.map(|(at, column)| roomy(column, declared.get(at))).collect::<Vec<_>>();
        writer.wire_columns(columns)?;
        self.copies = writer.copies_rows();
        let batch_rows = writer.batch_rows();
        self.columns = columns.to_vec();
        // A NULL for a NOT NULL column is the table's to refuse, by error 515.
        let nullable = columns.iter().cloned().map(|mut column| {
            column.flags = ColumnFlags(column.flags.0 | ColumnFlags::NULLABLE);
            column
        });
        let decoder = Decoder::new(&nullable.collect::<Vec<_>>(), Form::Exact);
        self.decoder = Some(decoder.map_err(|error| bulk_error::column(&error))?.with_batch_rows(batch_rows));
        Ok(())
    }

    fn find_rows(&mut self, bytes: &[u8]) -> Result<RowSpan, SqlError> {
        self.append_copied(bytes)
    }

    fn rows(&mut self, rows: &[u8], _count: u64) -> Result<(), SqlError> {
        let mut rest = rows;
        while !rest.is_empty() {
            let taken = self.append_copied(rest)?;
            if taken.rows > 0 {
                rest = after(rest, taken.bytes)?;
                continue;
            }
            let Some(decoder) = &mut self.decoder else { return Ok(()) };
            let consumed = decoder.decode(rest).map_err(|error| bulk_error::value(&error, &self.columns))?;
            let is_full = decoder.is_full();
            if is_full && let (Some(batch), Ok(writer)) = (self.take_batch()?, &mut self.writer) {
                writer.append(batch)?;
            }
            if consumed == 0 && !is_full {
                return Err(SqlError::internal("rows that the row walk found whole could not be decoded"));
            }
            rest = after(rest, consumed)?;
        }
        Ok(())
    }

    fn failure(&mut self) -> Option<SqlError> {
        self.writer.as_mut().ok().and_then(BatchWriter::failure)
    }

    fn finish(mut self: Box<Self>) -> Result<u64, SqlError> {
        let last = self.take_batch();
        let mut writer = self.writer?;
        match last {
            Ok(last) => writer.finish(last),
            Err(error) => Err(writer.failure().unwrap_or(error)),
        }
    }
}
