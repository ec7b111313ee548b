//! The rows of a query as one text: what FOR JSON and FOR XML make of them.
//!
//! It is an aggregate of the engine over all columns of the query. So a correlated subquery with FOR JSON or FOR XML is
//! planned like one with any other aggregate.

mod json;
mod json_path;
mod levels;
mod row_writer;
mod scalar_text;
mod xml;
mod xml_path;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use tds::SqlType;

pub(crate) use json::{quoted, value as json_value};
pub(crate) use row_writer::RowWriter;
pub use row_writer::TextColumn;

use super::Datum;
use tsql::SqlError;
use tsql::for_clause::{ForClause, XmlShape};

/// Makes the aggregate that writes rows of `columns` as `clause` says.
///
/// Errors: names that cannot be written (13601, 13605, 6809, 6850, 6852, 6864).
pub fn rows_as_text(clause: &ForClause, columns: Vec<TextColumn>) -> Result<Arc<AggregateUDF>, SqlError> {
    match clause {
        ForClause::Json(json) if json.auto => json::check_names(&columns)?,
        ForClause::Json(_) => json_path::check(&columns)?,
        ForClause::Xml(xml) => match &xml.shape {
            XmlShape::Path(row) => xml_path::check(row, &columns)?,
            _ => xml::check_names(&columns)?,
        },
    }
    let signature = Signature::variadic_any(Volatility::Immutable);
    Ok(Arc::new(AggregateUDF::from(RowsAsText { clause: clause.clone(), columns, signature })))
}

struct RowsAsText {
    clause: ForClause,
    columns: Vec<TextColumn>,
    signature: Signature,
}

impl RowsAsText {
    fn writer(&self) -> Box<dyn RowWriter> {
        let columns = self.columns.clone();
        match &self.clause {
            ForClause::Json(clause) if clause.auto => {
                Box::new(json::AutoWriter::new(clause.clone(), columns))
            }
            ForClause::Json(clause) => Box::new(json_path::PathWriter::new(clause.clone(), columns)),
            ForClause::Xml(clause) => match &clause.shape {
                XmlShape::Path(row) => {
                    Box::new(xml_path::PathWriter::new(clause.clone(), row.clone(), columns))
                }
                _ => Box::new(xml::ElementWriter::new(clause.clone(), columns)),
            },
        }
    }
}

impl fmt::Debug for RowsAsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsAsText").field("clause", &self.clause).finish_non_exhaustive()
    }
}

impl PartialEq for RowsAsText {
    fn eq(&self, other: &Self) -> bool {
        self.clause == other.clause && self.columns == other.columns
    }
}

impl Eq for RowsAsText {}

impl Hash for RowsAsText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for column in &self.columns {
            column.name.hash(state);
        }
    }
}

impl AggregateUDFImpl for RowsAsText {
    fn name(&self) -> &str {
        match &self.clause {
            ForClause::Json(_) => "rows_as_json",
            ForClause::Xml(_) => "rows_as_xml",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(args.name, DataType::Utf8, true))])
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let types = self.columns.iter().map(|column| column.sql_type.clone()).collect();
        Ok(Box::new(RowsAccumulator {
            writer: self.writer(),
            types,
            clause: self.clause.clone(),
            merged: None,
        }))
    }
}

#[derive(Debug)]
struct RowsAccumulator {
    writer: Box<dyn RowWriter>,
    types: Vec<SqlType>,
    clause: ForClause,
    /// The rows that other tasks have written.
    merged: Option<String>,
}

impl RowsAccumulator {
    fn rows(&self) -> Option<String> {
        match (&self.merged, self.writer.rows()) {
            (Some(merged), Some(own)) => Some(format!("{merged}{}{own}", self.separator())),
            (merged, own) => own.or_else(|| merged.clone()),
        }
    }

    fn separator(&self) -> &'static str {
        match self.clause {
            ForClause::Json(_) => ",",
            ForClause::Xml(_) => "",
        }
    }
}

impl Accumulator for RowsAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        for row in 0..rows {
            let cells = values
                .iter()
                .zip(&self.types)
                .map(|(column, sql_type)| Datum::read(column.as_ref(), sql_type, row))
                .collect::<Result<Vec<_>, SqlError>>()
                .and_then(|cells| self.writer.add(cells));
            cells.map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let text = self.rows().map(|rows| match &self.clause {
            ForClause::Json(clause) => json::wrapped(clause, &rows),
            ForClause::Xml(clause) => xml::rooted(clause.root.as_deref(), &rows),
        });
        Ok(ScalarValue::Utf8(text))
    }

    fn size(&self) -> usize {
        self.writer.size() + self.merged.as_ref().map_or(0, String::capacity)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Utf8(self.rows())])
    }

    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(states) = values.first().and_then(|states| states.as_string_opt::<i32>()) else {
            return Err(DataFusionError::Internal("rows as text without their text".to_string()));
        };
        let separator = self.separator();
        for rows in states.iter().flatten() {
            self.merged = Some(match self.merged.take() {
                Some(before) => format!("{before}{separator}{rows}"),
                None => rows.to_string(),
            });
        }
        Ok(())
    }
}
