//! Lengths and NULLs of typed sources, for `--create` with sized columns.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;

use crate::counted_chunks::CountedChunks;
use crate::csv::CsvReader;
use crate::damage::contained;
use crate::infer::{Inference, infer, infer_reader};
use crate::text_lengths::TextLengths;
use crate::{
    BatchReader, ColumnReading, Compression, Format, FormatError, InferredColumn, InferredSchema, Location,
};

/// Measures a source: longest texts and binaries, NULLs. Delimited text is read by [`infer`]; Parquet columns
/// of fixed width are not read if the file's statistics have their NULL counts.
///
/// # Errors
/// The source cannot be opened, or the reader of its format fails.
pub fn measure(
    location: &Location,
    format: &Format,
    compression: Compression,
) -> Result<InferredSchema, FormatError> {
    match format {
        Format::Csv(options) => infer(location, options, compression, None),
        Format::Parquet(_) => contained(|| measure_parquet(location, compression))
            .map_err(|error| error.in_file(&location.to_string())),
        Format::ArrowIpc(_) | Format::Host(_) => {
            let reader = crate::open(location, format, compression, BATCH_ROWS)?;
            measure_batches(&reader.schema(), reader)
        }
    }
}

/// Measures a source for a load that refuses rows and goes on. Rows that cannot be read are skipped.
///
/// # Errors
/// The errors of [`measure`], except for errors of single rows.
pub fn measure_readable(
    location: &Location,
    format: &Format,
    compression: Compression,
) -> Result<InferredSchema, FormatError> {
    let Format::Csv(options) = format else { return measure(location, format, compression) };
    let mut reader = CsvReader::open(location, options, compression, BATCH_ROWS)?;
    reader.rejects();
    infer_reader(reader, None)
}

/// Measures sources for one table, which has the columns of the first. Types of text, longest values and NULLs are those of all
/// sources together. `skips_bad_rows` as for [`measure_readable`].
///
/// # Errors
/// The errors of [`measure`].
pub fn measure_all(
    sources: &[(&Location, &Format, Compression)],
    skips_bad_rows: bool,
) -> Result<InferredSchema, FormatError> {
    measure_until(sources, skips_bad_rows, &|| false)
}

/// Measures sources as [`measure_all`] does, but asks between two batches of text whether to end. Then the
/// rows so far make the result.
///
/// # Errors
/// The errors of [`measure`].
pub fn measure_until(
    sources: &[(&Location, &Format, Compression)],
    skips_bad_rows: bool,
    is_over: &dyn Fn() -> bool,
) -> Result<InferredSchema, FormatError> {
    let single = |(location, format, compression): &(&Location, &Format, Compression)| match skips_bad_rows {
        true => measure_readable(location, format, *compression),
        false => measure(location, format, *compression),
    };
    let texts: Option<Vec<_>> = sources
        .iter()
        .map(|(location, format, compression)| match format {
            Format::Csv(options) => Some((location, options, *compression)),
            _ => None,
        })
        .collect();
    match (texts, sources) {
        (_, []) => Ok(InferredSchema::of_nothing()),
        (None, [source]) => single(source),
        (Some(texts), _) => {
            let mut inference: Option<Inference> = None;
            for (location, options, compression) in texts {
                let mut reader = CsvReader::open(location, options, compression, BATCH_ROWS)?;
                if skips_bad_rows {
                    reader.rejects();
                }
                let inference =
                    inference.get_or_insert_with(|| Inference::of(&reader.schema(), &options.spelling));
                inference.read_text_until(reader, None, is_over)?;
            }
            Ok(inference.map(Inference::finish).unwrap_or_else(|| finish(Vec::new(), 0)))
        }
        (None, [first, rest @ ..]) => {
            let mut all = single(first)?;
            for source in rest {
                let other = single(source)?;
                all.rows += other.rows;
                for column in &mut all.columns {
                    if let Some(found) = other.columns.iter().find(|found| found.name == column.name) {
                        column.widen(found);
                    }
                }
            }
            Ok(all)
        }
    }
}

/// Measures batches of `schema`: longest texts and binaries, NULLs.
///
/// # Errors
/// The source's own, and strings that Arrow cannot cast.
pub fn measure_batches<E: From<FormatError>>(
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
) -> Result<InferredSchema, E> {
    let mut gauges: Vec<Gauge> = schema.fields().iter().map(|field| Gauge::new(field)).collect();
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        for (gauge, array) in gauges.iter_mut().zip(batch.columns()) {
            gauge.observe(array)?;
        }
    }
    Ok(finish(gauges, rows))
}

fn measure_parquet(location: &Location, compression: Compression) -> Result<InferredSchema, FormatError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(CountedChunks::open(location, compression)?)?;
    let mut gauges: Vec<Gauge> = builder.schema().fields().iter().map(|field| Gauge::new(field)).collect();
    let rows = builder.metadata().row_groups().iter().map(|group| group.num_rows().max(0) as u64).sum();
    let mut to_read = Vec::new();
    for (root, gauge) in gauges.iter_mut().enumerate() {
        match null_count(builder.metadata(), root) {
            Some(nulls) if gauge.lengths.is_none() => gauge.nulls = nulls,
            _ => to_read.push(root),
        }
    }
    if !to_read.is_empty() {
        let mask = ProjectionMask::roots(builder.parquet_schema(), to_read.iter().copied());
        for batch in builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()? {
            for (&root, array) in to_read.iter().zip(batch?.columns()) {
                if let Some(gauge) = gauges.get_mut(root) {
                    gauge.observe(array)?;
                }
            }
        }
    }
    Ok(finish(gauges, rows))
}

/// Counts the NULLs of a flat column by the statistics of all row groups, which are exact where they are
/// given.
fn null_count(metadata: &ParquetMetaData, root: usize) -> Option<u64> {
    let schema = metadata.file_metadata().schema_descr();
    let mut leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root);
    let leaf = leaves.next()?;
    if leaves.next().is_some() || schema.column(leaf).path().parts().len() != 1 {
        return None;
    }
    metadata.row_groups().iter().map(|group| group.columns().get(leaf)?.statistics()?.null_count_opt()).sum()
}

fn finish(gauges: Vec<Gauge>, rows: u64) -> InferredSchema {
    InferredSchema { columns: gauges.into_iter().map(Gauge::finish).collect(), rows, is_complete: true }
}

/// Figures of a typed column after some of its values.
struct Gauge {
    field: Field,
    lengths: Option<Lengths>,
    nulls: u64,
}

#[derive(Clone, Copy)]
enum Lengths {
    Text(TextLengths),
    Binary { max_bytes: u64 },
}

impl Gauge {
    fn new(field: &Field) -> Self {
        let lengths = match value_type(field.data_type()) {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Some(Lengths::Text(TextLengths::default()))
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Some(Lengths::Binary { max_bytes: 0 })
            }
            _ => None,
        };
        Self { field: field.clone(), lengths, nulls: 0 }
    }

    fn observe(&mut self, array: &ArrayRef) -> Result<(), FormatError> {
        self.nulls += array.logical_null_count() as u64;
        match &mut self.lengths {
            None => {}
            Some(Lengths::Text(lengths)) => {
                let texts = cast(array, &DataType::LargeUtf8)?;
                texts.as_string::<i64>().iter().flatten().for_each(|text| lengths.observe(text));
            }
            Some(Lengths::Binary { max_bytes }) => {
                let binaries = cast(array, &DataType::LargeBinary)?;
                let longest = binaries.as_binary::<i64>().iter().flatten().map(<[u8]>::len).max();
                *max_bytes = (*max_bytes).max(longest.unwrap_or(0) as u64);
            }
        }
        Ok(())
    }

    fn finish(self) -> InferredColumn {
        let texts = match self.lengths {
            Some(Lengths::Text(lengths)) => lengths,
            _ => TextLengths::default(),
        };
        let max_binary_bytes = match (self.lengths, value_type(self.field.data_type())) {
            (Some(Lengths::Binary { max_bytes }), _) => Some(max_bytes),
            (_, DataType::FixedSizeBinary(bytes)) => u64::try_from(*bytes).ok(),
            _ => None,
        };
        let (precision, scale) = match value_type(self.field.data_type()) {
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => (Some(*precision), u8::try_from(*scale).ok()),
            _ => (None, None),
        };
        InferredColumn {
            name: self.field.name().clone(),
            max_chars: texts.max_chars,
            max_utf16_units: texts.max_utf16_units,
            max_utf8_bytes: texts.max_utf8_bytes,
            max_binary_bytes,
            nulls: self.nulls,
            ascii_only: texts.is_ascii(),
            precision,
            scale,
            field: self.field,
            evidence: None,
            reading: ColumnReading::default(),
            example: None,
            null_words: None,
            doubt: None,
        }
    }
}

/// Returns the type behind a dictionary or run-end encoding.
fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        other => other,
    }
}

const BATCH_ROWS: usize = 8192;
