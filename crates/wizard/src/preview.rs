//! The first rows of a copy: what comes out of its source, and what is refused.

use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use copy::{CopyError, ReadForm, RowStream};
use load::SourceBatch;
use rows::mapping::{CreateOptions, sql_type_of};

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
    /// Whether the source has no more rows than were looked at.
    pub is_complete: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Whether its values are numbers, which stand at the right.
    pub is_number: bool,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewRow {
    /// The number of its row in the source, from 1.
    pub number: u64,
    /// Its values; `None` is NULL.
    pub cells: Vec<Option<String>>,
}

/// A row that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewRefused {
    /// Where it stands.
    pub place: String,
    /// Why.
    pub reason: String,
}

impl Preview {
    /// Rows of the source that are looked at.
    pub const LOOKED_AT: u64 = 1000;
    /// Rows that are shown.
    pub const SHOWN: usize = 50;
    /// Characters of a value that are shown.
    const VALUE_CHARS: usize = 120;

    /// Reads the first rows of the source of a copy, by its words.
    ///
    /// # Errors
    /// The words are wrong, or the source is, or the transformation.
    pub fn of(words: &[String], engine: Engine) -> Result<Self, CopyError> {
        let (mut source, counter) = bulkwire_cli::first_rows(words, engine, Self::LOOKED_AT)?;
        source.collect_unread();
        let name = source.name();
        let places = source.places();
        let RowStream { schema, batches } = source.open(ReadForm::default())?;
        let mut preview = Self {
            columns: schema.fields().iter().map(|field| PreviewColumn::of(field)).collect(),
            ..Self::default()
        };
        for batch in batches {
            let batch = batch.map_err(CopyError::from_stream)?.numbered(preview.came_out);
            for refused in batch.unread() {
                preview.refused_count += 1;
                if preview.refused.len() < Self::SHOWN {
                    let place = places.of(refused.origin.row, &name);
                    let row = place.row.saturating_add(1);
                    preview.refused.push(PreviewRefused {
                        place: match place.line {
                            Some(line) => format!("row {row}, line {line}"),
                            None => format!("row {row}"),
                        },
                        reason: refused.error.to_string(),
                    });
                }
            }
            preview.show(&batch)?;
        }
        preview.read = counter.load(Ordering::Relaxed);
        preview.is_complete = preview.read < Self::LOOKED_AT;
        Ok(preview)
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

/// The values of a column as text.
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
