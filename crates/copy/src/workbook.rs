//! Sheets of a workbook as a source: xlsx, xlsm, xlsb, xls and ods.
//!
//! A sheet is held in memory, and types come from all of its cells.

use std::{fmt, path::Path, sync::Arc};

use arrow::{
    array::{
        ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
        Time64MicrosecondBuilder, TimestampMillisecondBuilder,
    },
    datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit},
    record_batch::RecordBatch,
};
use calamine::{Data, ExcelDateTime, Range, Reader as _, open_workbook_auto};
use formats::Location;
use formats::objects::{is_object_url, shown_url};
use load::{Origin, Origins, SourceBatch, SourceIdentity, UnreadRow};

use crate::{
    endpoint::FileEndpoint,
    error::CopyError,
    places::{Part, Places},
    row_stream::{BoxError, RowStream},
    source::{Description, NewColumns, ReadForm, Repeat, Source},
};

/// Rows of a batch.
const BATCH_ROWS: usize = 16_384;
const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// How a sheet is read.
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
    cells: Range<Data>,
    /// Index of the first row of data among those of `cells`.
    first: usize,
    schema: SchemaRef,
    kinds: Vec<Kind>,
    longest: Vec<Option<u64>>,
}

/// What all cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Empty,
    Boolean,
    Integer,
    Float,
    Date,
    Time,
    DateTime,
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
    /// A sheet of the workbook of an endpoint. Nothing is read yet.
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
        if !Path::new(path).exists() {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(CopyError::endpoint(path, missing));
        }
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
        let cells = workbook.worksheet_range(name).map_err(|error| failed(&error))?;
        Self::of(name.clone(), cells, settings).map_err(|problem| failed(&problem))
    }

    fn of(name: String, cells: Range<Data>, settings: &SheetSettings) -> Result<Self, String> {
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
            (None, true) => header_names(&cells, header),
            (None, false) => (1..=width).map(|number| format!("column{number}")).collect(),
        };
        let mut kinds = vec![Kind::Empty; width];
        let mut longest = vec![0_u64; width];
        let mut has_null = vec![false; width];
        for row in cells.rows().skip(first).filter(|row| !is_blank(row)) {
            for (((kind, longest), has_null), cell) in
                kinds.iter_mut().zip(&mut longest).zip(&mut has_null).zip(row)
            {
                match kind_of(cell) {
                    // A cell with an error refuses its row, and has no say in the type.
                    None => {}
                    Some(Kind::Empty) => *has_null = true,
                    Some(found) => *kind = kind.and(found),
                }
                if let Some(text) = text_of(cell) {
                    *longest = (*longest).max(text.encode_utf16().count() as u64);
                }
            }
        }
        let fields: Vec<Field> =
            names.iter().zip(&kinds).map(|(name, kind)| Field::new(name, kind.data_type(), true)).collect();
        let longest = kinds
            .iter()
            .zip(longest)
            .map(|(kind, longest)| matches!(kind, Kind::Text | Kind::Empty).then_some(longest));
        Ok(Self {
            name,
            first,
            schema: Arc::new(Schema::new(fields)),
            longest: longest.collect(),
            kinds,
            cells,
        })
    }

    /// The name of a cell, as the sheet shows it: `B7`.
    fn cell_name(&self, row: usize, column: usize) -> String {
        let (first_row, first_column) = self.cells.start().unwrap_or_default();
        let row = u64::from(first_row) + row as u64 + 1;
        let mut left = u64::from(first_column) + column as u64 + 1;
        let mut letters = Vec::new();
        while left > 0 {
            let digit = u8::try_from((left - 1) % 26).unwrap_or_default();
            letters.push(char::from(b'A' + digit));
            left = (left - 1) / 26;
        }
        format!("{}{row}", letters.into_iter().rev().collect::<String>())
    }

    /// The rows from `from` on, up to a batch; and where to go on.
    fn batch(&self, from: usize) -> Result<(SourceBatch, usize), BoxError> {
        let mut columns: Vec<Cells> = self.kinds.iter().map(|kind| Cells::new(*kind)).collect();
        let mut rows = Vec::new();
        let mut unread = Vec::new();
        let mut at = from;
        for row in self.cells.rows().skip(from) {
            if rows.len() == BATCH_ROWS {
                break;
            }
            let index = at;
            at += 1;
            if is_blank(row) {
                continue;
            }
            let number = (index - self.first) as u64;
            if let Some((column, what)) =
                row.iter().enumerate().find_map(|(column, cell)| problem(cell).map(|what| (column, what)))
            {
                let cell = self.cell_name(index, column);
                unread.push(UnreadRow {
                    origin: Origin { row: number, byte_offset: None, raw: None },
                    error: Arc::new(BadCell { sheet: self.name.clone(), cell, what }),
                });
                continue;
            }
            for (column, cell) in columns.iter_mut().zip(row) {
                column.push(cell);
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

/// The cells of a row as names. One that is empty or there twice gets a number.
fn header_names(cells: &Range<Data>, row: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in 0..cells.width() {
        let text = cells.get((row, column)).and_then(text_of).unwrap_or_default();
        let text = text.trim();
        let base = if text.is_empty() { format!("column{}", column + 1) } else { text.to_owned() };
        let mut name = base.clone();
        let mut number = 2;
        while names.iter().any(|taken| taken.to_lowercase() == name.to_lowercase()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}

fn is_blank(row: &[Data]) -> bool {
    row.iter().all(|cell| matches!(cell, Data::Empty))
}

/// What keeps a cell from having a value.
fn problem(cell: &Data) -> Option<String> {
    match cell {
        Data::Error(error) => Some(error.to_string()),
        _ => None,
    }
}

/// What a cell is; `None` for an error.
fn kind_of(cell: &Data) -> Option<Kind> {
    Some(match cell {
        Data::Empty => Kind::Empty,
        Data::Error(_) => return None,
        Data::Bool(_) => Kind::Boolean,
        Data::Int(_) => Kind::Integer,
        Data::Float(value) if is_whole(*value) => Kind::Integer,
        Data::Float(_) => Kind::Float,
        Data::DateTime(moment) => match milliseconds_of(moment) {
            None => Kind::Text,
            Some(_) if moment.is_duration() || (0.0..1.0).contains(&moment.as_f64()) => Kind::Time,
            Some(at) if at % MILLISECONDS_A_DAY == 0 => Kind::Date,
            Some(_) => Kind::DateTime,
        },
        Data::String(_) | Data::DateTimeIso(_) | Data::DurationIso(_) => Kind::Text,
    })
}

/// Whether a number has no fraction and is one of those that a float counts one by one.
fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0
}

/// Milliseconds since 1970; `None` for a moment that the sheet cannot mean. A time of day alone is one of the first day.
fn milliseconds_of(moment: &ExcelDateTime) -> Option<i64> {
    let value = moment.as_f64();
    if !(0.0..2_958_466.0).contains(&value) {
        return None;
    }
    if value < 1.0 || moment.is_duration() {
        let milliseconds = (value * 86_400_000.0).round();
        // A span of more than a day is no time of day.
        return (milliseconds < 86_400_000.0).then_some(milliseconds as i64);
    }
    let (year, month, day, hour, minute, second, millisecond) = moment.to_ymd_hms_milli();
    let days = days_of(i64::from(year), i64::from(month), i64::from(day));
    let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
    Some(days * MILLISECONDS_A_DAY + seconds * 1000 + i64::from(millisecond))
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A cell as text; `None` for one without a value.
fn text_of(cell: &Data) -> Option<String> {
    Some(match cell {
        Data::Empty | Data::Error(_) => return None,
        Data::Bool(value) => value.to_string(),
        Data::Int(value) => value.to_string(),
        Data::Float(value) if is_whole(*value) => format!("{value:.0}"),
        Data::Float(value) => value.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::DateTime(moment) => match milliseconds_of(moment) {
            None => moment.as_f64().to_string(),
            Some(at) => moment_text(at, kind_of(cell)),
        },
    })
}

/// A moment as SQL Server reads it.
fn moment_text(at: i64, kind: Option<Kind>) -> String {
    let (days, rest) = (at.div_euclid(MILLISECONDS_A_DAY), at.rem_euclid(MILLISECONDS_A_DAY));
    let (seconds, milliseconds) = (rest / 1000, rest % 1000);
    let mut time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if milliseconds > 0 {
        time += &format!(".{milliseconds:03}");
    }
    match kind {
        Some(Kind::Time) => time,
        Some(Kind::Date) => date_text(days),
        _ => format!("{} {time}", date_text(days)),
    }
}

fn date_text(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

impl Kind {
    /// The kind of a column that has cells of both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Empty, kind) | (kind, Self::Empty) => kind,
            (Self::Integer, Self::Float) | (Self::Float, Self::Integer) => Self::Float,
            (Self::Date, Self::DateTime) | (Self::DateTime, Self::Date) => Self::DateTime,
            _ => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Empty | Self::Text => DataType::Utf8,
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
            Kind::Empty | Kind::Text => Self::Text(StringBuilder::new()),
        }
    }

    /// Adds a cell. The column's kind is that of all its cells, so that each has a value of it.
    fn push(&mut self, cell: &Data) {
        let moment = || match cell {
            Data::DateTime(moment) => milliseconds_of(moment),
            _ => None,
        };
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
        let above = u64::from(sheet.cells.start().unwrap_or_default().0) + sheet.first as u64;
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
        let path = std::path::absolute(&self.path)
            .map_or_else(|_| self.path.clone(), |path| path.display().to_string());
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

    use super::*;

    #[test]
    fn days_and_dates_agree() {
        for (date, days) in
            [((1970, 1, 1), 0), ((2000, 2, 29), 11_016), ((1900, 3, 1), -25_508), ((9999, 12, 31), 2_932_896)]
        {
            assert_eq!(days_of(date.0, date.1, date.2), days);
            assert_eq!(date_text(days), format!("{:04}-{:02}-{:02}", date.0, date.1, date.2));
        }
    }

    #[test]
    fn columns_have_the_type_of_all_their_cells() {
        let mut cells = Range::new((2, 1), (5, 4));
        let rows = [
            [Data::String("n".into()), Data::String("mixed".into()), Data::String("n".into()), Data::Empty],
            [Data::Float(1.0), Data::Float(2.5), Data::Float(1.5), Data::Bool(true)],
            [Data::Int(2), Data::String("x".into()), Data::Int(7), Data::Empty],
            [Data::Error(calamine::CellErrorType::Div0), Data::Empty, Data::Empty, Data::Empty],
        ];
        for (row, values) in rows.into_iter().enumerate() {
            for (column, value) in values.into_iter().enumerate() {
                cells.set_value((row as u32 + 2, column as u32 + 1), value);
            }
        }
        let sheet = Sheet::of("S".to_owned(), cells, &SheetSettings::default()).unwrap();
        let shown: Vec<String> = sheet
            .schema
            .fields()
            .iter()
            .map(|field| format!("{} {}", field.name(), field.data_type()))
            .collect();
        assert_eq!(shown, ["n Int64", "mixed Utf8", "n_2 Float64", "column4 Boolean"]);
        let (batch, _) = sheet.batch(sheet.first).unwrap();
        assert_eq!(batch.rows(), 2);
        let unread: Vec<String> = batch.unread().iter().map(|row| row.error.to_string()).collect();
        assert_eq!(unread, ["S!B6: #DIV/0!"]);
    }
}
