//! The order of a source's rows that spares the server the sort by a table's clustered key.

use std::error::Error;

use arrow::{
    array::{Array, ArrayRef},
    compute::cast,
    datatypes::{DataType, Schema},
    error::ArrowError,
    record_batch::RecordBatch,
};
use rows::{Plan, RowOrder};
use tds::SqlType;

use crate::{
    describe::{Storage, TableDescription},
    options::LoadOptions,
};

/// The columns of a source by which its rows have to be sorted to come in the order of a clustered key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyOrder {
    /// The columns of the key, with "descending".
    pub key: Vec<(String, bool)>,
    /// For each of them the place of its values in the source's schema.
    pub sources: Vec<usize>,
    /// No two rows may have the same key.
    pub is_unique: bool,
    /// Values never change places on their way. Otherwise the order of the source says little: text compares by collation.
    pub is_kept: bool,
}

impl KeyOrder {
    /// Returns the order for a source of these columns. `None` if the table has no clustered key, or columns of the key
    /// are not in the source.
    pub fn of(target: &TableDescription, schema: &Schema, options: &LoadOptions) -> Option<Self> {
        if target.is_view || target.storage != Storage::Clustered {
            return None;
        }
        let index = target.clustered_index()?;
        let columns = target.loadable_columns(options.keep_identity);
        let plan = Plan::new(schema, &columns, &options.mapping, options.cast.clone()).ok()?;
        let pairs: Vec<_> = plan.declared_columns().iter().zip(plan.source_indexes()).collect();
        let mut sources = Vec::with_capacity(index.key.len());
        let mut is_kept = true;
        for (place, (name, _)) in index.key.iter().enumerate() {
            let (column, source) = pairs.iter().find(|(column, _)| column.name == *name)?;
            let described = target.columns.iter().find(|described| described.column.name == *name)?;
            // NULL would become a value that may belong elsewhere.
            let may_be_null = column.flags.is_nullable() || schema.fields().get(*source)?.is_nullable();
            is_kept &= !described.has_default || options.keep_nulls || !may_be_null;
            let is_last = place + 1 == index.key.len();
            is_kept &= match kept(schema.fields().get(*source)?.data_type(), column.sql_type()) {
                Some(Kept::Values) => true,
                // Values that would have to be rounded are refused otherwise.
                Some(Kept::Order) => !options.cast.allow_rounding || (is_last && !index.is_unique),
                None => false,
            };
            sources.push(*source);
        }
        (!sources.is_empty()).then(|| Self {
            key: index.key.clone(),
            sources,
            is_unique: index.is_unique,
            is_kept,
        })
    }

    /// Returns true if all rows of these batches come in the order.
    ///
    /// # Errors
    /// A batch cannot be read, or has values that cannot be compared.
    pub fn holds_for<E: From<ArrowError>>(
        &self,
        batches: impl IntoIterator<Item = Result<RecordBatch, E>>,
    ) -> Result<bool, E> {
        let columns =
            self.sources.iter().zip(&self.key).map(|(source, (_, descending))| (*source, *descending));
        let mut order = RowOrder::new(columns, self.is_unique);
        for batch in batches {
            if order.first_unsorted(&batch?)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if a source that begins with these rows looks sorted. Compares the first column of the key
    /// only, and reads text that holds numbers as numbers.
    pub fn seems_kept_by<'a>(&self, batches: impl IntoIterator<Item = &'a RecordBatch>) -> bool {
        let (Some(source), Some((_, descending))) = (self.sources.first(), self.key.first()) else {
            return false;
        };
        let mut order = RowOrder::new([(0, *descending)], false);
        let mut batches = batches.into_iter().peekable();
        batches.peek().is_some()
            && batches.all(|batch| {
                let Some(values) = batch.columns().get(*source).map(by_size) else { return false };
                let values = RecordBatch::try_from_iter([("key", values)]);
                values.is_ok_and(|values| {
                    values.columns().iter().all(|values| values.null_count() == 0)
                        && order.first_unsorted(&values).is_ok_and(|row| row.is_none())
                })
            })
    }
}

/// Converts text that holds numbers to numbers.
fn by_size(values: &ArrayRef) -> ArrayRef {
    match cast(values, &DataType::Float64) {
        Ok(numbers) if numbers.null_count() == values.null_count() => numbers,
        _ => ArrayRef::clone(values),
    }
}

/// Knows of a source whether its rows come in an order, or can find out without using them up.
pub trait OrderEvidence: Sync {
    /// Explains why all rows are known to come in the order; `None` if they do not, or if it is not known.
    ///
    /// # Errors
    /// The source cannot be read.
    fn find(&self, _order: &KeyOrder) -> Result<Option<String>, Box<dyn Error + Send + Sync>> {
        Ok(None)
    }
}

/// Nothing is known.
impl OrderEvidence for () {}

/// The relation that remains between two different values after their conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// The values still differ, in the same direction.
    Values,
    /// The values become equal where they are rounded, and never change places.
    Order,
}

/// Returns the relation between values that a conversion keeps; `None` if values may change places.
fn kept(from: &DataType, to: &SqlType) -> Option<Kept> {
    let is_integer = |to: &SqlType| {
        matches!(to, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
            || matches!(to, SqlType::Decimal { .. } | SqlType::Numeric { .. })
    };
    match (from, to) {
        (integer, to) if integer.is_integer() && is_integer(to) => Some(Kept::Values),
        (DataType::Date32, SqlType::Date) => Some(Kept::Values),
        (
            DataType::Decimal128(..) | DataType::Decimal256(..),
            SqlType::Decimal { .. } | SqlType::Numeric { .. },
        )
        | (
            DataType::Timestamp(_, None),
            SqlType::DateTime2 { .. } | SqlType::DateTime | SqlType::SmallDateTime,
        )
        | (DataType::Timestamp(_, Some(_)), SqlType::DateTimeOffset { .. })
        | (DataType::Time32(_) | DataType::Time64(_), SqlType::Time { .. }) => Some(Kept::Order),
        _ => None,
    }
}
