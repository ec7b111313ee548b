//! Rows of a bulk load into a table.

use rows::{Decoder, Form};
use tds::{Column, ColumnFlags};

use super::bulk_receiver::RowSink;
use crate::session::BulkWriter;
use crate::sql_error::SqlError;

/// Decodes rows into batches of the lossless form and appends them to the target.
pub(super) struct StoreSink {
    writer: Result<BulkWriter, SqlError>,
    decoder: Option<Decoder>,
    columns: Vec<Column>,
}

impl StoreSink {
    /// A sink for `writer`; an error that is known already is reported when the first bytes come, because the client is
    /// sending them whatever the server thinks.
    pub fn new(writer: Result<BulkWriter, SqlError>) -> StoreSink {
        StoreSink { writer, decoder: None, columns: Vec::new() }
    }

    fn flush(&mut self) -> Result<(), SqlError> {
        let (Some(decoder), Ok(writer)) = (&mut self.decoder, &mut self.writer) else { return Ok(()) };
        if decoder.rows_buffered() == 0 {
            return Ok(());
        }
        writer.append(decoder.take_batch().map_err(SqlError::internal)?)
    }
}

impl RowSink for StoreSink {
    fn columns(&mut self, columns: &[Column]) -> Result<(), SqlError> {
        let batch_rows = match &mut self.writer {
            Ok(writer) => {
                writer.columns(columns)?;
                writer.batch_rows()
            }
            Err(error) => return Err(error.clone()),
        };
        self.columns = columns.to_vec();
        // A NULL for a NOT NULL column is the table's to refuse, by error 515.
        let nullable = columns.iter().cloned().map(|mut column| {
            column.flags = ColumnFlags(column.flags.0 | ColumnFlags::NULLABLE);
            column
        });
        let decoder = Decoder::new(&nullable.collect::<Vec<_>>(), Form::Exact);
        self.decoder =
            Some(decoder.map_err(|error| SqlError::bulk_column(&error))?.with_batch_rows(batch_rows));
        Ok(())
    }

    fn rows(&mut self, rows: &[u8], _count: u64) -> Result<(), SqlError> {
        let mut rest = rows;
        while !rest.is_empty() {
            let Some(decoder) = &mut self.decoder else { return Ok(()) };
            let consumed =
                decoder.decode(rest).map_err(|error| SqlError::bulk_value(&error, &self.columns))?;
            if decoder.is_full() {
                self.flush()?;
            } else if consumed == 0 {
                return Err(SqlError::internal("rows that the row walk found whole could not be decoded"));
            }
            rest = rest.get(consumed..).unwrap_or_default();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64, SqlError> {
        self.flush()?;
        self.writer?.finish()
    }
}
