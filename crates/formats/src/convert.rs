//! Converts one file format into another, without a server.

use rows::mapping::{OffsetForm, ReadOptions};
use rows::text::spelling::TextSpelling;
use rows::{CellError, Form};
use tds::Column;

use crate::bcp::form_converter::FormConverter;
use crate::bcp::{HostFormat, HostFormatReader, HostWriter, RejectReason, RejectedRow, Suffered, columns_of};
use crate::{
    BatchReader, BatchWriter, Compression, Encoding, Format, FormatError, Location, RowPositions, create,
    open,
};

/// A file: its location and its format.
#[derive(Debug, Clone)]
pub struct FileSpec {
    /// Location of the file.
    pub location: Location,
    /// Format of the file.
    pub format: Format,
    /// Compression of the whole file.
    pub compression: Compression,
}

/// Result of a conversion.
#[derive(Debug, Clone, Default)]
pub struct Converted {
    /// Number of rows written.
    pub rows: u64,
    /// Bytes of the file written, as stored.
    pub bytes: u64,
    /// The accepted deviations of reading and of writing, which the original bcp would not have mentioned.
    pub suffered: Vec<Suffered>,
}

/// Options of a conversion.
#[derive(Debug, Clone)]
pub struct ConvertOptions {
    /// The columns, if they are declared. Otherwise the columns are those of the host format on either side, or follow from the
    /// source's own types; CSV columns stay text.
    pub columns: Option<Vec<Column>>,
    /// Rows at a time.
    pub batch_rows: usize,
    /// The Arrow types of typed files. The default keeps offsets from UTC (as text).
    pub form: Form,
    /// The spelling of numbers and dates in delimited text that is read.
    pub spelling: TextSpelling,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        let form = Form::Arrow(ReadOptions { date_time_offset: OffsetForm::Text, ..ReadOptions::default() });
        Self { columns: None, batch_rows: 16_384, form, spelling: TextSpelling::default() }
    }
}

/// Takes a refused row and says whether to go on.
pub type RejectRow<'a> = &'a mut dyn FnMut(RejectedRow) -> Result<(), FormatError>;

/// Reads `source` and writes its rows to `target`. Rows that cannot be read, and rows with a value that does not fit its
/// column, go to `reject` in the order of the file; without it they are errors.
///
/// # Errors
/// Any failure to read or write; the target is then not put in place.
pub fn convert(
    source: &FileSpec,
    target: &FileSpec,
    options: &ConvertOptions,
    mut reject: Option<RejectRow<'_>>,
) -> Result<Converted, FormatError> {
    let mut input = Input::open(source, options)?;
    let rejects = reject.as_ref().and_then(|_| input.rejects());
    let columns = match (&options.columns, &source.format, &target.format) {
        (Some(columns), ..) => Some(columns.clone()),
        (None, Format::Host(host), _) => Some(input.columns(host)),
        (None, _, Format::Host(host)) => Some(host.columns.clone()),
        (None, ..) => None,
    };
    let mut output = Output::create(target, &input, columns, options)?;
    loop {
        let next = input.next();
        let mut refused = rejects.as_ref().map(crate::bcp::Rejects::take).unwrap_or_default();
        match (next, &mut reject) {
            (Some(batch), None) => output.write(&batch?)?,
            (Some(Ok(batch)), Some(reject)) => {
                let origins = Origins::of(&mut input);
                output.write_fitting(&batch, &mut |index, error| {
                    refused.push(origins.rejected(index, error));
                    Ok(())
                })?;
                refused.sort_by_key(|row| row.row);
                refused.into_iter().try_for_each(reject)?;
            }
            (next, Some(reject)) => {
                refused.into_iter().try_for_each(reject)?;
                match next {
                    Some(Err(error)) => return Err(error),
                    _ => break,
                }
            }
            (None, None) => break,
        }
    }
    let mut converted = output.finish()?;
    if let Some(host) = input.host() {
        converted.suffered.splice(0..0, host.suffered().iter().cloned());
    }
    Ok(converted)
}

/// Places of a batch's rows in the source, for messages.
struct Origins {
    positions: RowPositions,
    encoding: Option<Encoding>,
}

impl Origins {
    fn of(input: &mut Input) -> Self {
        match input {
            Input::Host(reader) => Self::of_reader(&mut **reader),
            Input::Other(reader) => Self::of_reader(&mut **reader),
        }
    }

    fn of_reader(reader: &mut dyn BatchReader) -> Self {
        Self { positions: reader.positions().unwrap_or_default(), encoding: reader.text_encoding() }
    }

    fn rejected(&self, index: usize, error: &CellError) -> RejectedRow {
        RejectedRow {
            row: self.positions.row(index),
            byte_offset: self.positions.byte_offset(index),
            field: 0,
            column: error.column.clone(),
            value: error.value.clone(),
            reason: RejectReason::Cell { problem: error.reason.to_string() },
            raw: self.positions.raw(index).unwrap_or_default().to_vec(),
            raw_encoding: self.encoding,
            fields: Vec::new(),
            columns_missing: 0,
        }
    }
}

enum Input {
    Host(Box<HostFormatReader>),
    Other(Box<dyn BatchReader>),
}

impl Input {
    fn open(source: &FileSpec, options: &ConvertOptions) -> Result<Self, FormatError> {
        let FileSpec { location, format, compression } = source;
        match format {
            Format::Host(host) => {
                let reader = HostFormatReader::open(location, host, *compression, options.batch_rows)?;
                Ok(Self::Host(Box::new(reader)))
            }
            _ => Ok(Self::Other(open(location, format, *compression, options.batch_rows)?)),
        }
    }

    fn rejects(&mut self) -> Option<crate::bcp::Rejects> {
        match self {
            Self::Host(reader) => reader.rejects(),
            Self::Other(reader) => reader.rejects(),
        }
    }

    fn host(&mut self) -> Option<&mut HostFormatReader> {
        match self {
            Self::Host(reader) => Some(reader),
            Self::Other(_) => None,
        }
    }

    /// Returns the columns that a host file fills, in the order of its batches.
    fn columns(&self, host: &HostFormat) -> Vec<Column> {
        let filled: &[usize] = match self {
            Self::Host(reader) => reader.table_columns(),
            Self::Other(_) => &[],
        };
        filled.iter().filter_map(|index| host.columns.get(*index).cloned()).collect()
    }

    fn schema(&self) -> arrow::datatypes::SchemaRef {
        match self {
            Self::Host(reader) => reader.schema(),
            Self::Other(reader) => reader.schema(),
        }
    }

    fn next(&mut self) -> Option<Result<arrow::record_batch::RecordBatch, FormatError>> {
        match self {
            Self::Host(reader) => reader.next(),
            Self::Other(reader) => reader.next(),
        }
    }
}

enum Output {
    Host(Box<HostWriter>),
    Other { writer: Box<dyn BatchWriter>, converter: Option<FormConverter> },
}

impl Output {
    fn create(
        target: &FileSpec,
        input: &Input,
        columns: Option<Vec<Column>>,
        options: &ConvertOptions,
    ) -> Result<Self, FormatError> {
        let FileSpec { location, format, compression } = target;
        let schema = input.schema();
        match format {
            Format::Host(host) => {
                let columns = match host.columns.is_empty() {
                    true => columns.map_or_else(|| columns_of(&schema), Ok)?,
                    false => host.columns.clone(),
                };
                let (file, write) = (&host.format_file, &host.write);
                let writer = HostWriter::create(location, *compression, file, &columns, &schema, write)?;
                Ok(Self::Host(Box::new(writer)))
            }
            _ => {
                let converter = columns
                    .map(|columns| FormConverter::spelled(&schema, &columns, &options.form, options.spelling))
                    .transpose()?;
                let schema = match &converter {
                    Some(converter) => std::sync::Arc::clone(converter.schema()),
                    None => schema,
                };
                let writer = create(location, schema, format, *compression)?;
                Ok(Self::Other { writer, converter })
            }
        }
    }

    fn write(&mut self, batch: &arrow::record_batch::RecordBatch) -> Result<(), FormatError> {
        match self {
            Self::Host(writer) => writer.write_batch(batch),
            Self::Other { writer, converter: Some(converter) } => writer.write(&converter.convert(batch)?),
            Self::Other { writer, converter: None } => writer.write(batch),
        }
    }

    /// Writes the rows whose values fit; the others go to `refuse` by their index.
    fn write_fitting(
        &mut self,
        batch: &arrow::record_batch::RecordBatch,
        refuse: &mut dyn FnMut(usize, &CellError) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        match self {
            Self::Host(writer) => writer.write_fitting(batch, refuse),
            Self::Other { writer, converter: Some(converter) } => {
                writer.write(&converter.convert_fitting(batch, refuse)?)
            }
            Self::Other { writer, converter: None } => writer.write(batch),
        }
    }

    fn finish(self) -> Result<Converted, FormatError> {
        let (suffered, written) = match self {
            Self::Host(writer) => (writer.suffered().to_vec(), writer.finish()?),
            Self::Other { writer, .. } => (Vec::new(), writer.finish()?),
        };
        Ok(Converted { rows: written.rows, bytes: written.bytes, suffered })
    }
}
