//! Opens and starts files of any format.

use arrow::datatypes::SchemaRef;

use crate::batch::{BatchReader, BatchWriter};
use crate::{Compression, Format, FormatError, Location, bcp, csv, ipc, parquet};

/// Opens a file for reading. Batches have at most `batch_rows` rows.
///
/// CSV columns come as Utf8; see [`CsvOptions`](crate::CsvOptions) for NULL and `''`. Parquet and IPC columns keep their own
/// types. Columns of a host file have the form that its [`HostFormat`](bcp::HostFormat) asks for. A row of a host file that does
/// not load is an error; [`HostReader`](bcp::HostReader) returns such rows instead.
///
/// # Errors
/// The file cannot be opened, its head is not of the format, or an option is out of range.
pub fn open(
    location: &Location,
    format: &Format,
    compression: Compression,
    batch_rows: usize,
) -> Result<Box<dyn BatchReader>, FormatError> {
    let batch_rows = batch_rows.max(1);
    Ok(match format {
        Format::Csv(options) => Box::new(csv::CsvReader::open(location, options, compression, batch_rows)?),
        Format::Parquet(_) => Box::new(parquet::ParquetReader::open(location, compression, batch_rows)?),
        Format::ArrowIpc(_) => Box::new(ipc::IpcReader::open(location, compression, batch_rows)?),
        Format::Host(host) => Box::new(bcp::HostFormatReader::open(location, host, compression, batch_rows)?),
    })
}

/// Starts a file. It is written under a temporary name beside the final one and renamed by
/// [`BatchWriter::finish`].
///
/// # Errors
/// The directory cannot be written, or the format cannot carry a column's type.
pub fn create(
    location: &Location,
    schema: SchemaRef,
    format: &Format,
    compression: Compression,
) -> Result<Box<dyn BatchWriter>, FormatError> {
    Ok(match format {
        Format::Csv(options) => Box::new(csv::CsvWriter::create(location, schema, options, compression)?),
        Format::Parquet(options) => {
            Box::new(parquet::ParquetWriter::create(location, schema, options, compression)?)
        }
        Format::ArrowIpc(options) => {
            Box::new(ipc::IpcWriter::create(location, schema, options, compression)?)
        }
        Format::Host(host) => {
            let bcp::HostFormat { format_file, columns, write, .. } = &**host;
            Box::new(bcp::HostWriter::create(location, compression, format_file, columns, &schema, write)?)
        }
    })
}
