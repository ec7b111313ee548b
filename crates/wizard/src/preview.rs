//! The first rows of a copy: what comes out of its source, and what is refused.

use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use copy::{CopyError, ReadForm, RowStream, Spec};
use load::SourceBatch;
use rows::mapping::{CreateOptions, sql_type_of};
use rows::{CellError, Plan};
use tds::{Column, Reader, SqlType, ValuePlace, decode_value};

use crate::wizard::Engine;

/// The first rows of a source, transformed as the copy will do it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// The columns that come out.
    pub columns: Vec<PreviewColumn>,
    /// The first rows.
    pub rows: Vec<PreviewRow>,
    /// The first rows that are refused.
    pub refused: Vec<PreviewRefused>,
    /// Rows of the source that were looked at.
    pub read: u64,
    /// Rows that came out of these.
    pub came_out: u64,
    /// Rows that were refused of these.
    pub refused_count: u64,
    /// True if the source has no more rows than were read.
    pub is_complete: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewColumn {
    /// The name of the column.
    pub name: String,
    /// The type of the column.
    pub kind: String,
    /// True if the values are numbers, which are aligned to the right.
    pub is_number: bool,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewRow {
    /// The number of its row in the source, from 1.
    pub number: u64,
    /// The values of the row; `None` is NULL.
    pub cells: Vec<Option<String>>,
}

/// A row that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewRefused {
    /// The place of the row.
    pub place: String,
    /// The reason of the refusal.
    pub reason: String,
}

impl Preview {
    /// Rows of the source that are looked at.
    pub const LOOKED_AT: u64 = 1000;
    /// Rows that are shown.
    pub const SHOWN: usize = 50;
    /// Characters of a value that are shown.
    const VALUE_CHARS: usize = 120;

    /// Reads the first rows of the source of a copy. `target` is the whole copy if it goes into a table of SQL Server
    /// that exists. The preview then shows the values that its columns take, and refuses the others.
    ///
    /// # Errors
    /// The source is wrong, or the transformation, or the columns do not fit.
    pub fn of(spec: &Spec, target: Option<&Spec>, engine: &Engine) -> Result<Self, CopyError> {
        let (mut source, counter) = copy::first_rows(spec, engine.as_ref(), Self::LOOKED_AT)?;
        let plan = match target {
            Some(whole) => copy::fit(whole, source.as_mut())?,
            None => None,
        };
        source.collect_unread();
        let name = source.name();
        let places = source.places();
        // As the table is going to get the rows.
        let form = match plan {
            Some(_) => ReadForm { is_exact: true, is_typed: false },
            None => ReadForm::default(),
        };
        let RowStream { schema, batches } = source.open(form)?;
        let mut preview = Self {
            columns: match &plan {
                Some(plan) => plan.declared_columns().iter().map(PreviewColumn::of_table).collect(),
                None => schema.fields().iter().map(|field| PreviewColumn::of(field)).collect(),
            },
            ..Self::default()
        };
        let place_of = |row: u64| {
            let place = places.of(row, &name);
            let row = place.row.saturating_add(1);
            match place.line {
                Some(line) => format!("row {row}, line {line}"),
                None => format!("row {row}"),
            }
        };
        let mut seen = 0;
        for batch in batches {
            let batch = batch.map_err(CopyError::from_stream)?.numbered(seen);
            seen += batch.rows() as u64;
            for refused in batch.unread() {
                preview.refuse(place_of(refused.origin.row), refused.error.to_string());
            }
            match &plan {
                Some(plan) => preview.show_fitting(plan, &batch, &place_of)?,
                None => preview.show(&batch)?,
            }
        }
        preview.read = counter.load(Ordering::Relaxed);
        preview.is_complete = preview.read < Self::LOOKED_AT;
        Ok(preview)
    }

    fn refuse(&mut self, place: String, reason: String) {
        self.refused_count += 1;
        if self.refused.len() < Self::SHOWN {
            self.refused.push(PreviewRefused { place, reason });
        }
    }

    /// Adds the rows of a batch that the columns of a table take, as they will be there, and the others to those refused.
    fn show_fitting(
        &mut self,
        plan: &Plan,
        batch: &SourceBatch,
        place_of: &dyn Fn(u64) -> String,
    ) -> Result<(), CopyError> {
        for index in 0..batch.rows() {
            let number = batch.origin_row(index);
            let row = batch.batch().slice(index, 1);
            let bound = match plan.bind(&row, 0) {
                Ok(bound) => bound,
                Err(CellError { column, value, reason, .. }) => {
                    self.refuse(place_of(number), format!("column \"{column}\": {reason} (value: {value})"));
                    continue;
                }
            };
            self.came_out += 1;
            if self.rows.len() < Self::SHOWN {
                let mut bytes = Vec::new();
                bound.encode(0..1, &mut bytes);
                let cells = stored(plan, &bytes).map_err(|error| CopyError::Stream(error.into()))?;
                self.rows.push(PreviewRow { number: number.saturating_add(1), cells });
            }
        }
        Ok(())
    }

    /// Adds the rows of a batch, as far as there is room.
    fn show(&mut self, batch: &SourceBatch) -> Result<(), CopyError> {
        self.came_out += batch.rows() as u64;
        let wanted = Self::SHOWN.saturating_sub(self.rows.len()).min(batch.rows());
        if wanted == 0 {
            return Ok(());
        }
        let columns: Vec<Vec<Option<String>>> = batch
            .batch()
            .columns()
            .iter()
            .map(|column| texts(&column.slice(0, wanted)))
            .collect::<Result<_, _>>()?;
        for index in 0..wanted {
            let cell = |column: &Vec<Option<String>>| column.get(index).cloned().flatten();
            let cells = columns.iter().map(cell).collect();
            self.rows.push(PreviewRow { number: batch.origin_row(index).saturating_add(1), cells });
        }
        Ok(())
    }
}

impl PreviewColumn {
    fn of_table(column: &Column) -> Self {
        let kind = column.sql_type();
        let is_number = matches!(
            kind,
            SqlType::TinyInt
                | SqlType::SmallInt
                | SqlType::Int
                | SqlType::BigInt
                | SqlType::Real
                | SqlType::Float
                | SqlType::SmallMoney
                | SqlType::Money
                | SqlType::Decimal { .. }
                | SqlType::Numeric { .. }
        );
        Self { name: column.name.clone(), kind: kind.to_string(), is_number }
    }

    fn of(field: &Field) -> Self {
        let kind = match field.metadata().get(rows::mapping::SQL_TYPE_KEY) {
            Some(kind) => kind.clone(),
            None if field.data_type() == &DataType::Utf8 => "text".to_owned(),
            None => sql_type_of(field, &CreateOptions::default())
                .map_or_else(|_| field.data_type().to_string(), |kind| kind.to_string()),
        };
        Self { name: field.name().clone(), kind, is_number: field.data_type().is_numeric() }
    }
}

/// Decodes the values of an encoded row as text.
fn stored(plan: &Plan, bytes: &[u8]) -> Result<Vec<Option<String>>, tds::DecodeError> {
    let mut r = Reader::new(bytes);
    r.u8("row token")?;
    let value = |column: &Column| {
        let value = decode_value(&mut r, &column.type_info, ValuePlace::Row)?;
        Ok((!value.is_null()).then(|| crate::text::shown(&value.to_string(), Preview::VALUE_CHARS)))
    };
    plan.columns().iter().map(value).collect()
}

/// Returns the values of a column as text.
fn texts(column: &ArrayRef) -> Result<Vec<Option<String>>, CopyError> {
    let options = FormatOptions::new()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_datetime_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f %:z"));
    let failed = |error: arrow::error::ArrowError| CopyError::Stream(error.into());
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(failed)?;
    (0..column.len())
        .map(|index| match column.is_null(index) {
            true => Ok(None),
            false => {
                let text = formatter.value(index).try_to_string().map_err(failed)?;
                Ok(Some(crate::text::shown(&text, Preview::VALUE_CHARS)))
            }
        })
        .collect()
}
