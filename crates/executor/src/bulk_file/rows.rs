//! A file's rows, converted to a table's columns, and the bad ones.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use formats::bcp::{HostReader, RowPositions, RowsetColumn};
use formats::{Compression, FormatError, Location};
use rows::mapping::Form;
use rows::text::spelling::{TextSpelling, YEAR_CUTOFF};
use rows::{CastOptions, CellError, CellErrorReason, Decoder, Mapping, Plan};
use tds::{Column, ColumnFlags, SqlType};
use tsql::SqlError;

use crate::bulk_file::fault::{BadRow, Broken, Fault, broken};
use crate::bulk_file::layout::Layout;

/// Rows of a file, on their way into a table.
pub(crate) struct FileRows {
    name: String,
    source: Source,
    plan: Plan,
    /// For each column that is loaded, the number of its field in the file, from 1.
    fields: Vec<(String, usize)>,
    /// Positions in the table of the columns that are loaded.
    positions: Vec<usize>,
    /// For each column that is loaded, whether the format file has it as a float, from which an exact number is made.
    through_float: Vec<bool>,
    bytes: Vec<u8>,
}

enum Source {
    Host(Box<HostReader>),
    Csv {
        reader: Box<dyn formats::BatchReader>,
        dialect: Dialect,
        /// Columns of the file that are loaded.
        projection: Vec<usize>,
        rows_seen: u64,
        skipped_rows: u64,
        last_row: Option<u64>,
    },
}

/// Some rows of a file.
#[derive(Debug)]
pub(crate) struct LoadedRows {
    /// The good ones, in the Exact form of [`FileRows::columns`].
    pub batches: Vec<RecordBatch>,
    /// The bad ones, in file order.
    pub bad: Vec<BadRow>,
}

/// A batch as it was read, and where its rows stand in the file.
struct Read {
    batch: RecordBatch,
    place: Place,
    bad: Vec<BadRow>,
}

enum Place {
    Host(RowPositions),
    /// The rows with all their fields, and the number of the first.
    Csv(RecordBatch, u64),
}

/// The delimiters by which bad CSV rows are written.
struct Dialect {
    delimiter: String,
    quote: char,
}

impl Dialect {
    /// Writes a row with its fields quoted where necessary.
    fn row(&self, batch: &RecordBatch, index: usize) -> Vec<u8> {
        let mut text = String::new();
        for (position, array) in batch.columns().iter().enumerate() {
            if position > 0 {
                text.push_str(&self.delimiter);
            }
            let Some(values) = array.as_string_opt::<i32>() else { continue };
            if values.is_null(index) {
                continue;
            }
            let value = values.value(index);
            if value.is_empty() || value.contains([self.quote, '\r', '\n']) || value.contains(&self.delimiter)
            {
                let doubled = value.replace(self.quote, &format!("{0}{0}", self.quote));
                text.extend([self.quote.to_string(), doubled, self.quote.to_string()]);
            } else {
                text.push_str(value);
            }
        }
        text.push('\n');
        text.into_bytes()
    }
}

impl FileRows {
    /// Opens a file whose fields are those of `columns`, the table's (or a rowset's), all of them. `skipped` are the positions
    /// of columns that are not loaded. `takes_null` says which columns accept NULL, perhaps as their default.
    pub fn open(
        name: &str,
        path: &Path,
        layout: Layout,
        columns: &[Column],
        skipped: &[usize],
        takes_null: impl Fn(usize) -> bool,
    ) -> Result<Self, Broken> {
        let failed = |error: FormatError| broken(name, &error);
        let location = Location::Path(path.to_owned());
        let (source, positions, fields, is_csv, floats) = match layout {
            Layout::Host { format, options } => {
                format.check(name, columns.len()).map_err(|error| {
                    Broken::from(SqlError::new(4862, 16, 1, format!("Cannot bulk load. {error}")))
                })?;
                let reader = HostReader::open(&location, Compression::None, &format, columns, &options)
                    .map_err(failed)?;
                let positions = reader.table_columns().to_vec();
                let fields: Vec<usize> = positions
                    .iter()
                    .map(|position| {
                        let field =
                            format.fields.iter().rposition(|field| field.column == Some(position + 1));
                        field.map_or(position + 1, |field| field + 1)
                    })
                    .collect();
                let floats = float_fields(format.rowset.as_deref());
                (Source::Host(Box::new(reader)), positions, fields, false, floats)
            }
            Layout::Csv { options, fields: of_file, rowset, skipped_rows, last_row } => {
                let quote = options.quote.map_or('"', char::from);
                let dialect = Dialect { delimiter: options.delimiter.clone(), quote };
                let format = formats::Format::Csv(*options);
                let reader = formats::open(&location, &format, Compression::None, 65_536).map_err(failed)?;
                let mut loaded: Vec<(usize, usize)> = of_file
                    .iter()
                    .enumerate()
                    .filter_map(|(field, position)| Some(((*position)?, field)))
                    .filter(|(position, _)| *position < columns.len() && !skipped.contains(position))
                    .collect();
                loaded.sort_unstable();
                // Of two fields of one column the later one counts.
                let loaded: Vec<(usize, usize)> = loaded
                    .chunk_by(|one, other| one.0 == other.0)
                    .filter_map(|chunk| chunk.last().copied())
                    .collect();
                let (positions, projection): (Vec<usize>, Vec<usize>) = loaded.into_iter().unzip();
                let fields: Vec<usize> = projection.iter().map(|field| field + 1).collect();
                let source =
                    Source::Csv { reader, dialect, projection, rows_seen: 0, skipped_rows, last_row };
                (source, positions, fields, true, float_fields(rowset.as_deref()))
            }
        };
        let targets: Vec<Column> = positions
            .iter()
            .filter_map(|position| {
                let mut column = columns.get(*position)?.clone();
                column.flags = match takes_null(*position) {
                    true => ColumnFlags(column.flags.0 | ColumnFlags::NULLABLE),
                    false => ColumnFlags(column.flags.0 & !ColumnFlags::NULLABLE),
                };
                column.type_info = tds::TypeInfo::new(
                    column.type_info.sql_type.clone(),
                    takes_null(*position),
                    column.type_info.collation,
                );
                Some(column)
            })
            .collect();
        let dates = query::running::date_format();
        if dates.is_day_first() && targets.iter().any(|column| column.sql_type().is_temporal()) {
            let what = format!(
                "A bulk load from a file into a column of dates under SET DATEFORMAT {}",
                dates.name()
            );
            return Err(SqlError::unsupported(&what).into());
        }
        let schema = match &source {
            Source::Host(reader) => reader.schema(),
            Source::Csv { reader, projection, .. } => reader
                .schema()
                .project(projection)
                .map(Arc::new)
                .map_err(|error| failed(FormatError::from(error)))?,
        };
        let cast = CastOptions {
            allow_rounding: true,
            empty_as_null: is_csv,
            spelling: TextSpelling {
                date_order: Some(dates.order()),
                year_cutoff: Some(YEAR_CUTOFF),
                numbers: None,
            },
            ..CastOptions::default()
        };
        let plan = Plan::new(&schema, &targets, &Mapping::ByPosition, cast)
            .map_err(|error| SqlError::new(4862, 16, 1, format!("Cannot bulk load. {error}")))?;
        let through_float = fields.iter().map(|field| floats.contains(field)).collect();
        let fields = targets.iter().map(|column| column.name.clone()).zip(fields).collect();
        let name = name.to_owned();
        Ok(Self { name, source, plan, fields, positions, through_float, bytes: Vec::new() })
    }

    /// Returns the loaded columns as [`LoadedRows::batches`] have them.
    pub fn columns(&self) -> &[Column] {
        self.plan.columns()
    }

    /// Returns the positions of the columns in the table.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Reads the next rows; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<LoadedRows>, Broken> {
        let Some(Read { batch, place, mut bad }) = self.read()? else { return Ok(None) };
        let batch = self.with_floats(batch)?;
        let mut batches = Vec::new();
        self.convert(&batch, 0, &place, &mut batches, &mut bad)?;
        bad.sort_by_key(|row| row.row);
        Ok(Some(LoadedRows { batches, bad }))
    }

    fn read(&mut self) -> Result<Option<Read>, Broken> {
        let name = &self.name;
        match &mut self.source {
            Source::Host(reader) => {
                let Some(next) = reader.next() else { return Ok(None) };
                let next = next.map_err(|error| broken(name, &error))?;
                let bad = next.rejected.into_iter().map(BadRow::from_rejected).collect();
                Ok(Some(Read { batch: next.batch, place: Place::Host(next.positions), bad }))
            }
            Source::Csv { reader, projection, rows_seen, skipped_rows, last_row, .. } => loop {
                let Some(next) = reader.next() else { return Ok(None) };
                let batch = next.map_err(|error| broken(name, &error))?;
                let first = *rows_seen;
                *rows_seen += batch.num_rows() as u64;
                let end = last_row.unwrap_or(u64::MAX).min(*rows_seen);
                let start = (*skipped_rows).max(first);
                if start >= end {
                    if last_row.is_some_and(|last| last <= first) {
                        return Ok(None);
                    }
                    continue;
                }
                let offset = usize::try_from(start - first).unwrap_or(usize::MAX);
                let length = usize::try_from(end - start).unwrap_or(usize::MAX);
                let whole = batch.slice(offset, length);
                let batch =
                    whole.project(projection).map_err(|error| broken(name, &FormatError::from(error)))?;
                return Ok(Some(Read { batch, place: Place::Csv(whole, start + 1), bad: Vec::new() }));
            },
        }
    }

    /// Spells the values of columns that come through a float as the exact numbers of their columns.
    fn with_floats(&self, batch: RecordBatch) -> Result<RecordBatch, Broken> {
        if !self.through_float.contains(&true) {
            return Ok(batch);
        }
        let columns = batch.columns().iter().zip(self.plan.columns()).zip(&self.through_float);
        let columns = columns.map(|((array, column), through_float)| {
            let scale = match column.sql_type() {
                SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => Some(None),
                SqlType::Money | SqlType::SmallMoney => Some(Some(4)),
                SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => Some(Some(*scale)),
                _ => None,
            };
            match (scale.filter(|_| *through_float), array.as_string_opt::<i32>()) {
                (Some(scale), Some(texts)) => {
                    let spelled = texts.iter().map(|text| text.map(|text| exact_text(text, scale)));
                    Arc::new(spelled.collect::<StringArray>()) as ArrayRef
                }
                _ => Arc::clone(array),
            }
        });
        let columns = columns.collect();
        RecordBatch::try_new(batch.schema(), columns)
            .map_err(|error| broken(&self.name, &FormatError::from(error)))
    }

    /// Converts the rows of `batch`, which begins at row `first` of the batch that was read. Where a value does not fit, halves
    /// are tried, down to the row: few rows are bad, as a rule.
    fn convert(
        &mut self,
        batch: &RecordBatch,
        first: usize,
        place: &Place,
        good: &mut Vec<RecordBatch>,
        bad: &mut Vec<BadRow>,
    ) -> Result<(), Broken> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let fault = match self.exponent(batch).map_or_else(|| self.plan.bind(batch, 0), Err) {
            Ok(bound) => {
                let mut bytes = std::mem::take(&mut self.bytes);
                bytes.clear();
                bound.encode(0..bound.rows(), &mut bytes);
                let decoded = self.decode(&bytes, batch.num_rows());
                self.bytes = bytes;
                good.push(decoded?);
                return Ok(());
            }
            Err(fault) => fault,
        };
        if batch.num_rows() == 1 {
            bad.push(self.bad_row(&fault, first, place));
            return Ok(());
        }
        let half = batch.num_rows() / 2;
        self.convert(&batch.slice(0, half), first, place, good, bad)?;
        self.convert(&batch.slice(half, batch.num_rows() - half), first + half, place, good, bad)
    }

    /// Finds an exact number written with an exponent, which neither CONVERT nor BULK INSERT takes.
    fn exponent(&self, batch: &RecordBatch) -> Option<CellError> {
        use SqlType as T;
        batch.columns().iter().zip(self.plan.columns()).find_map(|(array, column)| {
            let sql_type = column.sql_type();
            let exact = matches!(
                sql_type,
                T::TinyInt
                    | T::SmallInt
                    | T::Int
                    | T::BigInt
                    | T::Decimal { .. }
                    | T::Numeric { .. }
                    | T::Money
                    | T::SmallMoney
            );
            let texts = array.as_string_opt::<i32>().filter(|_| exact)?;
            let row = texts.iter().position(|text| text.is_some_and(|text| text.contains(['e', 'E'])))?;
            Some(CellError {
                row: row as u64,
                column: column.name.clone(),
                value: texts.value(row).to_owned(),
                reason: CellErrorReason::Malformed(Box::new(sql_type.clone())),
            })
        })
    }

    fn decode(&self, bytes: &[u8], rows: usize) -> Result<RecordBatch, Broken> {
        let internal = |error: &dyn std::error::Error| Broken::from(SqlError::internal(error.to_string()));
        let decoder = Decoder::new(self.plan.columns(), Form::Exact).map_err(|error| internal(&error))?;
        let mut decoder = decoder.with_batch_rows(rows);
        decoder.decode(bytes).map_err(|error| internal(&error))?;
        decoder.take_batch().map_err(|error| internal(&error))
    }

    fn bad_row(&self, fault: &CellError, index: usize, place: &Place) -> BadRow {
        let field = self.fields.iter().find(|(name, _)| *name == fault.column).map_or(0, |(_, field)| *field);
        let (row, byte_offset, raw) = match place {
            Place::Host(positions) => {
                let raw = positions.raw(index).unwrap_or_default().to_vec();
                (positions.row(index), Some(positions.byte_offset(index)), raw)
            }
            Place::Csv(whole, first) => {
                let raw = match &self.source {
                    Source::Csv { dialect, .. } => dialect.row(whole, index),
                    Source::Host(_) => Vec::new(),
                };
                (first + index as u64, None, raw)
            }
        };
        let column = fault.column.clone();
        BadRow { row, field, column, fault: Fault::of(&fault.reason), byte_offset, raw }
    }
}

/// Returns the numbers of the fields whose columns a format file declares as floats.
fn float_fields(rowset: Option<&[RowsetColumn]>) -> Vec<usize> {
    let is_float = |column: &&RowsetColumn| matches!(column.sql_type, SqlType::Float | SqlType::Real);
    rowset.unwrap_or_default().iter().filter(is_float).map(|column| column.field + 1).collect()
}

/// Rewrites a float as the exact number that it becomes: cut to a whole one, or rounded to a scale. Other text stays.
fn exact_text(text: &str, scale: Option<u8>) -> String {
    match (text.trim().parse::<f64>().ok().filter(|value| value.is_finite()), scale) {
        (Some(value), Some(scale)) => format!("{value:.*}", usize::from(scale)),
        (Some(value), None) => format!("{:.0}", value.trunc()),
        (None, _) => text.to_owned(),
    }
}
