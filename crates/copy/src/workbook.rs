//! Sheets of a workbook as a source: xlsx, xlsm, xlsb, xls and ods.
//!
//! The cells of a sheet that hold something are kept in memory, and types come from all of them.

mod cells;
mod moments;
mod parts;

use std::{collections::HashSet, fmt, path::Path, sync::Arc};

use arrow::{
    array::{
        ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
        Time64MicrosecondBuilder, TimestampMillisecondBuilder,
    },
    datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit},
    record_batch::RecordBatch,
};
use calamine::{Data, Reader as _, open_workbook_auto};
use formats::Location;
use formats::objects::{is_object_url, shown_url};
use load::{Origin, Origins, SourceBatch, SourceIdentity, UnreadRow};

use cells::{FilledRow, Held, SheetCells};
use moments::{MILLISECONDS_A_DAY, moment_of, moment_text};

use crate::{
    endpoint::FileEndpoint,
    error::CopyError,
    places::{Part, Places},
    row_stream::{BoxError, RowStream},
    source::{Description, NewColumns, ReadForm, Repeat, Source},
};

/// Rows of a batch.
const BATCH_ROWS: usize = 16_384;
/// Cells of a batch, empty ones counted.
const BATCH_CELLS: usize = 1 << 22;

/// The settings of reading a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetSettings {
    /// The sheet; the first one without a name.
    pub sheet: Option<String>,
    /// The first row that is read has the columns' names.
    pub has_header: bool,
    /// Rows that are skipped before.
    pub skip_rows: usize,
    /// Names of the columns, in place of those of the header.
    pub columns: Option<Vec<String>>,
}

impl Default for SheetSettings {
    fn default() -> Self {
        Self { sheet: None, has_header: true, skip_rows: 0, columns: None }
    }
}

/// A sheet.
pub struct SheetSource {
    path: String,
    settings: SheetSettings,
    sheet: Option<Arc<Sheet>>,
    places: Places,
}

/// The cells of a sheet that has been read.
struct Sheet {
    name: String,
    cells: SheetCells,
    /// Index of the first row of data among those of `cells`.
    first: usize,
    schema: SchemaRef,
    kinds: Vec<Kind>,
    longest: Vec<Option<u64>>,
}

/// The type that all cells of a column share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Empty,
    /// TRUE and FALSE.
    Boolean,
    /// Numbers without a fraction.
    Integer,
    /// Numbers.
    Float,
    /// Days.
    Date,
    /// Times of day, and durations of less than a day.
    Time,
    /// Durations, one of which is a day or more, or negative.
    Duration,
    /// Days with times.
    DateTime,
    /// Anything.
    Text,
}

/// A cell that has no value.
#[derive(Debug)]
struct BadCell {
    sheet: String,
    cell: String,
    what: String,
}

impl fmt::Display for BadCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}!{}: {}", self.sheet, self.cell, self.what)
    }
}

impl std::error::Error for BadCell {}

impl SheetSource {
    /// Makes a source of a workbook's sheet. Nothing is read yet.
    pub fn new(endpoint: &FileEndpoint, settings: SheetSettings) -> Self {
        let sheet = endpoint.sheet.clone().or(settings.sheet);
        Self {
            path: endpoint.path.clone(),
            settings: SheetSettings { sheet, ..settings },
            sheet: None,
            places: Places::default(),
        }
    }

    fn sheet(&mut self) -> Result<Arc<Sheet>, CopyError> {
        if let Some(sheet) = &self.sheet {
            return Ok(Arc::clone(sheet));
        }
        let sheet = Arc::new(Sheet::read(&self.path, &self.settings)?);
        self.sheet = Some(Arc::clone(&sheet));
        Ok(sheet)
    }
}

impl Sheet {
    fn read(path: &str, settings: &SheetSettings) -> Result<Self, CopyError> {
        let failed = |error: &dyn fmt::Display| CopyError::endpoint(path, error.to_string());
        if is_object_url(path) {
            let refused = "workbooks are read from files only; copy the object to a file first";
            return Err(CopyError::endpoint(shown_url(path), refused));
        }
        std::fs::metadata(path).map_err(|error| CopyError::endpoint(path, error))?;
        parts::check(Path::new(path)).map_err(|problem| failed(&problem))?;
        let mut workbook = open_workbook_auto(path).map_err(|error| failed(&error))?;
        let names = workbook.sheet_names();
        let name = match &settings.sheet {
            None => names.first().ok_or_else(|| failed(&"the workbook has no sheet"))?,
            Some(wanted) => {
                let exact = names.iter().find(|name| *name == wanted);
                let alike = || names.iter().find(|name| name.to_lowercase() == wanted.to_lowercase());
                exact.or_else(alike).ok_or_else(|| {
                    failed(&format!("there is no sheet {wanted:?}; the workbook has {}", names.join(", ")))
                })?
            }
        };
        let cells = SheetCells::read(&mut workbook, name).map_err(|problem| failed(&problem))?;
        Self::of(name.clone(), cells, settings).map_err(|problem| failed(&problem))
    }

    fn of(name: String, cells: SheetCells, settings: &SheetSettings) -> Result<Self, String> {
        let header = settings.skip_rows;
        let first = header + usize::from(settings.has_header);
        if cells.is_empty() || header >= cells.height() {
            return Err(format!("the sheet {name:?} has no rows"));
        }
        let width = cells.width();
        let names = match (&settings.columns, settings.has_header) {
            (Some(names), _) if names.len() == width => names.clone(),
            (Some(names), _) => {
                return Err(format!("{} columns are named, and the sheet {name:?} has {width}", names.len()));
            }
            (None, true) => header_names(&name, &cells, header)?,
            (None, false) => (1..=width).map(|number| format!("column{number}")).collect(),
        };
        let mut kinds = vec![Kind::Empty; width];
        let mut longest = vec![0_u64; width];
        for (column, cell) in cells.rows_from(first).flat_map(FilledRow::held) {
            let (Held::Value(cell), Some(kind), Some(longest)) =
                (cell, kinds.get_mut(column), longest.get_mut(column))
            else {
                continue;
            };
            // A cell with an error refuses its row, and has no say in the type.
            let Some(found) = kind_of(cell) else { continue };
            *kind = kind.and(found);
            if let Some(text) = text_of(cell) {
                *longest = (*longest).max(text.encode_utf16().count() as u64);
            }
        }
        let fields: Vec<Field> =
            names.iter().zip(&kinds).map(|(name, kind)| Field::new(name, kind.data_type(), true)).collect();
        let longest = kinds
            .iter()
            .zip(longest)
            .map(|(kind, longest)| (kind.data_type() == DataType::Utf8).then_some(longest));
        Ok(Self {
            name,
            first,
            schema: Arc::new(Schema::new(fields)),
            longest: longest.collect(),
            kinds,
            cells,
        })
    }

    /// Returns the rows from `from` on, up to a batch, and the place to go on.
    fn batch(&self, from: usize) -> Result<(SourceBatch, usize), BoxError> {
        let mut columns: Vec<Cells> = self.kinds.iter().map(|kind| Cells::new(*kind)).collect();
        let mut rows = Vec::new();
        let mut unread = Vec::new();
        let rows_max = BATCH_ROWS.min(BATCH_CELLS / self.kinds.len().max(1)).max(1);
        let mut at = self.cells.height();
        for row in self.cells.rows_from(from) {
            if rows.len() == rows_max {
                at = row.index;
                break;
            }
            let number = (row.index - self.first) as u64;
            if let Some((column, what)) =
                row.held().find_map(|(column, cell)| problem(cell).map(|what| (column, what)))
            {
                let cell = self.cells.cell_name(row.index, column);
                unread.push(UnreadRow {
                    origin: Origin { row: number, byte_offset: None, raw: None },
                    error: Arc::new(BadCell { sheet: self.name.clone(), cell, what }),
                });
                continue;
            }
            for (column, cell) in columns.iter_mut().zip(row.columns()) {
                column.push(match cell {
                    Some(Held::Value(cell)) => cell,
                    _ => &Data::Empty,
                });
            }
            rows.push(number);
        }
        let arrays: Vec<ArrayRef> = columns.into_iter().map(Cells::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)?;
        Ok((SourceBatch::new(batch, Arc::new(SheetRows(rows))).with_unread(unread), at))
    }
}

/// The numbers of a batch's rows, blank rows of the sheet counted.
struct SheetRows(Vec<u64>);

impl Origins for SheetRows {
    fn origin(&self, index: usize) -> Origin {
        Origin { row: self.0.get(index).copied().unwrap_or_default(), byte_offset: None, raw: None }
    }
}

/// Makes names of the cells of a row. An empty or repeated one gets a number.
fn header_names(sheet: &str, cells: &SheetCells, row: usize) -> Result<Vec<String>, String> {
    let mut taken = HashSet::new();
    let held: Vec<Option<&Held>> = match cells.row(row) {
        Some(row) => row.columns().collect(),
        None => vec![None; cells.width()],
    };
    let named = held.into_iter().enumerate().map(|(column, cell)| {
        let text = match cell {
            Some(Held::Value(cell)) => text_of(cell).unwrap_or_default(),
            Some(cell @ Held::NoResult) => {
                let what = problem(cell).unwrap_or_default();
                return Err(format!("{sheet}!{}: {what}", cells.cell_name(row, column)));
            }
            None => String::new(),
        };
        let text = text.trim();
        let base = if text.is_empty() { format!("column{}", column + 1) } else { text.to_owned() };
        let mut name = base.clone();
        let mut number = 2;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        Ok(name)
    });
    named.collect()
}

/// Says why a cell has no value.
fn problem(cell: &Held) -> Option<String> {
    match cell {
        Held::Value(Data::Error(error)) => Some(error.to_string()),
        Held::Value(_) => None,
        Held::NoResult => Some(
            "the result of the formula is not in the file; open it in a spreadsheet program and save it"
                .to_owned(),
        ),
    }
}

/// Returns the type of a cell; `None` for an error.
fn kind_of(cell: &Data) -> Option<Kind> {
    Some(match cell {
        Data::Empty => Kind::Empty,
        Data::Error(_) => return None,
        Data::Bool(_) => Kind::Boolean,
        Data::Int(_) => Kind::Integer,
        Data::Float(value) if is_whole(*value) => Kind::Integer,
        Data::Float(_) => Kind::Float,
        Data::String(_) => Kind::Text,
        Data::DateTime(_) | Data::DateTimeIso(_) | Data::DurationIso(_) => {
            moment_of(cell).map_or(Kind::Text, |(kind, _)| kind)
        }
    })
}

/// Returns true if a number has no fraction and is small enough for a float to be exact.
fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0
}

/// Formats a cell; `None` for one without a value.
fn text_of(cell: &Data) -> Option<String> {
    Some(match cell {
        Data::Empty | Data::Error(_) => return None,
        Data::Bool(value) => value.to_string(),
        Data::Int(value) => value.to_string(),
        Data::Float(value) if is_whole(*value) => format!("{value:.0}"),
        Data::Float(value) => value.to_string(),
        Data::String(text) => text.clone(),
        Data::DateTime(_) | Data::DateTimeIso(_) | Data::DurationIso(_) => match (moment_of(cell), cell) {
            (Some((kind, at)), _) => moment_text(kind, at),
            (None, Data::DateTimeIso(text) | Data::DurationIso(text)) => text.clone(),
            (None, Data::DateTime(moment)) => moment.as_f64().to_string(),
            (None, _) => return None,
        },
    })
}

impl Kind {
    /// Returns the kind of a column that has cells of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Empty, kind) | (kind, Self::Empty) => kind,
            (Self::Integer, Self::Float) | (Self::Float, Self::Integer) => Self::Float,
            (Self::Date, Self::DateTime) | (Self::DateTime, Self::Date) => Self::DateTime,
            (Self::Time, Self::Duration) | (Self::Duration, Self::Time) => Self::Duration,
            _ => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Empty | Self::Text | Self::Duration => DataType::Utf8,
            Self::Boolean => DataType::Boolean,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::DateTime => DataType::Timestamp(TimeUnit::Millisecond, None),
        }
    }
}

/// A column that is being filled.
enum Cells {
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    DateTime(TimestampMillisecondBuilder),
    Text(StringBuilder),
}

impl Cells {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Boolean => Self::Boolean(BooleanBuilder::new()),
            Kind::Integer => Self::Integer(Int64Builder::new()),
            Kind::Float => Self::Float(Float64Builder::new()),
            Kind::Date => Self::Date(Date32Builder::new()),
            Kind::Time => Self::Time(Time64MicrosecondBuilder::new()),
            Kind::DateTime => Self::DateTime(TimestampMillisecondBuilder::new()),
            Kind::Empty | Kind::Text | Kind::Duration => Self::Text(StringBuilder::new()),
        }
    }

    /// Adds a cell. The column's kind is that of all its cells, so that each has a value of it.
    fn push(&mut self, cell: &Data) {
        let moment = || moment_of(cell).map(|(_, at)| at);
        match self {
            Self::Boolean(column) => column.append_option(match cell {
                Data::Bool(value) => Some(*value),
                _ => None,
            }),
            Self::Integer(column) => column.append_option(match cell {
                Data::Int(value) => Some(*value),
                Data::Float(value) => Some(*value as i64),
                _ => None,
            }),
            Self::Float(column) => column.append_option(match cell {
                Data::Int(value) => Some(*value as f64),
                Data::Float(value) => Some(*value),
                _ => None,
            }),
            Self::Date(column) => {
                let days = moment().and_then(|at| i32::try_from(at.div_euclid(MILLISECONDS_A_DAY)).ok());
                column.append_option(days);
            }
            Self::Time(column) => {
                column.append_option(moment().map(|at| at.rem_euclid(MILLISECONDS_A_DAY) * 1000));
            }
            Self::DateTime(column) => column.append_option(moment()),
            Self::Text(column) => column.append_option(text_of(cell)),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Boolean(mut column) => Arc::new(column.finish()),
            Self::Integer(mut column) => Arc::new(column.finish()),
            Self::Float(mut column) => Arc::new(column.finish()),
            Self::Date(mut column) => Arc::new(column.finish()),
            Self::Time(mut column) => Arc::new(column.finish()),
            Self::DateTime(mut column) => Arc::new(column.finish()),
            Self::Text(mut column) => Arc::new(column.finish()),
        }
    }
}

impl Source for SheetSource {
    fn name(&self) -> String {
        match &self.settings.sheet {
            Some(sheet) => format!("{}#{sheet}", self.path),
            None => self.path.clone(),
        }
    }

    fn describe(&mut self, _form: ReadForm) -> Result<Description, CopyError> {
        let sheet = self.sheet()?;
        Ok(Description {
            schema: Arc::clone(&sheet.schema),
            rows: Some(sheet.cells.height().saturating_sub(sheet.first) as u64),
            bytes: None,
            has_names: self.settings.has_header || self.settings.columns.is_some(),
            notes: vec![format!("sheet {}", sheet.name)],
        })
    }

    fn new_columns(&mut self, _form: ReadForm) -> Result<NewColumns, CopyError> {
        let sheet = self.sheet()?;
        Ok(NewColumns { schema: Arc::clone(&sheet.schema), longest: sheet.longest.clone() })
    }

    fn open(&mut self, _form: ReadForm) -> Result<RowStream, CopyError> {
        let sheet = self.sheet()?;
        self.places.clear();
        // Rows are counted from the first one with data; those of the sheet from the top.
        let above = u64::from(sheet.cells.first_row()) + sheet.first as u64;
        self.places.note(Part {
            name: format!("{}#{} (below row {above})", self.path, sheet.name),
            first_row: 0,
            lines: None,
            encoding: None,
        });
        let schema = Arc::clone(&sheet.schema);
        let mut at = sheet.first;
        let batches = std::iter::from_fn(move || {
            if at >= sheet.cells.height() {
                return None;
            }
            Some(sheet.batch(at).map(|(batch, next)| {
                at = next;
                batch
            }))
        });
        Ok(RowStream { schema, batches: Box::new(batches) })
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        let location = Location::Path(self.path.clone().into());
        let print =
            formats::fingerprint(&location).map_err(|error| CopyError::endpoint(&self.path, error))?;
        let path = formats::true_name(Path::new(&self.path));
        let sheet = self.sheet()?;
        Ok(Repeat::InOrder(SourceIdentity {
            name: format!("{path}#{}", sheet.name),
            fingerprint: print.unwrap_or_default(),
        }))
    }

    fn places(&self) -> Places {
        self.places.clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use calamine::{ExcelDateTime, ExcelDateTimeType, Range};

    use super::*;

    /// Durations of a column are of one unit, and a single long one decides for all.
    #[test]
    fn durations_of_a_column_are_spelled_alike() {
        let span = |value| Data::DateTime(ExcelDateTime::new(value, ExcelDateTimeType::TimeDelta, false));
        for (long, kind, longest) in [(1.25, Kind::Duration, Some(8)), (0.25, Kind::Time, None)] {
            let mut cells = Range::new((0, 0), (2, 0));
            let values = [Data::String("lasts".into()), span(long), span(5.0 / 1440.0)];
            for (row, value) in values.into_iter().enumerate() {
                cells.set_value((row as u32, 0), value);
            }
            let cells = SheetCells::of_range(&cells).unwrap();
            let sheet = Sheet::of("S".to_owned(), cells, &SheetSettings::default()).unwrap();
            assert_eq!((sheet.kinds.as_slice(), sheet.longest.as_slice()), (&[kind][..], &[longest][..]));
        }
    }

    /// A stray cell at the sheet's last corner costs a row of nothing.
    #[test]
    fn a_far_cell_is_two_rows() {
        let mut cells = SheetCells::default();
        cells.hold((0, 0), Held::Value(Data::String("n".into()))).unwrap();
        cells.hold((1_048_575, 16_383), Held::Value(Data::Int(1))).unwrap();
        let sheet = Sheet::of("S".to_owned(), cells.end().unwrap(), &SheetSettings::default()).unwrap();
        assert_eq!((sheet.kinds.len(), sheet.cells.height()), (16_384, 1_048_576));
        let (batch, next) = sheet.batch(sheet.first).unwrap();
        assert_eq!((batch.rows(), next, batch.origin_row(0)), (1, 1_048_576, 1_048_574));
    }

    #[test]
    fn a_column_far_from_thousands_of_rows_is_refused_by_its_cell() {
        let mut cells = SheetCells::default();
        for row in 0..20_000 {
            cells.hold((row, 0), Held::Value(Data::Int(1))).unwrap();
        }
        cells.hold((19_999, 16_383), Held::Value(Data::Int(1))).unwrap();
        let error = cells.end().unwrap_err();
        assert!(error.starts_with("XFD20000 is far away"), "{error}");
    }

    #[test]
    fn a_formula_without_its_result_refuses_its_row() {
        let mut cells = SheetCells::default();
        cells.hold((0, 0), Held::Value(Data::String("n".into()))).unwrap();
        cells.hold((1, 0), Held::NoResult).unwrap();
        cells.hold((2, 0), Held::Value(Data::Int(2))).unwrap();
        let sheet = Sheet::of("S".to_owned(), cells.end().unwrap(), &SheetSettings::default()).unwrap();
        let (batch, _) = sheet.batch(sheet.first).unwrap();
        let unread: Vec<String> = batch.unread().iter().map(|row| row.error.to_string()).collect();
        assert_eq!(batch.rows(), 1);
        assert!(matches!(unread.as_slice(), [text] if text.starts_with("S!A2: the result of the formula")));
    }

    #[test]
    fn columns_have_the_type_of_all_their_cells() {
        let mut cells = Range::new((2, 1), (6, 4));
        let rows = [
            [Data::String("n".into()), Data::String("mixed".into()), Data::String("n".into()), Data::Empty],
            [Data::Float(1.0), Data::Float(2.5), Data::Float(1.5), Data::Bool(true)],
            [Data::Int(2), Data::String("x".into()), Data::Int(7), Data::Empty],
            [Data::Error(calamine::CellErrorType::Div0), Data::Empty, Data::Empty, Data::Empty],
            [Data::Int(4), Data::Empty, Data::Empty, Data::Empty],
        ];
        for (row, values) in rows.into_iter().enumerate() {
            for (column, value) in values.into_iter().enumerate() {
                cells.set_value((row as u32 + 2, column as u32 + 1), value);
            }
        }
        let cells = SheetCells::of_range(&cells).unwrap();
        let sheet = Sheet::of("S".to_owned(), cells, &SheetSettings::default()).unwrap();
        let shown: Vec<String> = sheet
            .schema
            .fields()
            .iter()
            .map(|field| format!("{} {}", field.name(), field.data_type()))
            .collect();
        assert_eq!(shown, ["n Int64", "mixed Utf8", "n_2 Float64", "column4 Boolean"]);
        let (batch, _) = sheet.batch(sheet.first).unwrap();
        assert_eq!(batch.rows(), 3);
        let unread: Vec<String> = batch.unread().iter().map(|row| row.error.to_string()).collect();
        assert_eq!(unread, ["S!B6: #DIV/0!"]);
    }
}
