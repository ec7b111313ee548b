//! ORDER of INSERT BULK: rows that are declared to be in the order of the clustered key must be in it.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::SortOptions;
use arrow::row::{RowConverter, SortField};
use tds::SqlType;
use tsql::SqlError;

use crate::catalogue::{TableDefinition, same_name};
use crate::storage::shown_row;
use crate::store_error::out_of_order;
use crate::table::keys::comparable;

/// Compares each row's key with the one before.
#[derive(Debug)]
pub struct OrderCheck {
    /// Position in the table, and whether it descends.
    columns: Vec<(usize, bool)>,
    /// The key of the last row, to compare and to show.
    last: Option<(Vec<u8>, String)>,
}

impl OrderCheck {
    /// Creates a check of the declared `order`. None if SQL Server ignores it: on a heap, and for another
    /// order than the clustered key's. Keys of uniqueidentifiers are trusted.
    pub fn new(table: &TableDefinition, order: &[(String, bool)]) -> Option<OrderCheck> {
        if !Self::is_clustered(table, order) {
            return None;
        }
        let mut columns = Vec::with_capacity(order.len());
        for (name, descending) in order {
            let position = table.position(name)?;
            if table.columns.get(position)?.sql_type == SqlType::UniqueIdentifier {
                return None;
            }
            columns.push((position, *descending));
        }
        Some(OrderCheck { columns, last: None })
    }

    /// Returns true if `order` is that of the clustered key.
    pub fn is_clustered(table: &TableDefinition, order: &[(String, bool)]) -> bool {
        let keys = table.keys.iter().filter(|key| key.clustered).map(|key| &key.columns);
        let indexes = table.indexes.iter().filter(|index| index.clustered && !index.columnstore);
        let indexes = indexes.map(|index| &index.columns);
        keys.chain(indexes).next().is_some_and(|clustered| {
            let same = |(own, other): (&(String, bool), &(String, bool))| {
                same_name(&own.0, &other.0) && own.1 == other.1
            };
            !order.is_empty() && order.len() == clustered.len() && order.iter().zip(clustered).all(same)
        })
    }

    /// Checks the next rows.
    ///
    /// # Errors
    /// Error 4819 for a row that should have come before its predecessor.
    pub fn check(&mut self, table: &TableDefinition, batch: &RecordBatch) -> Result<(), SqlError> {
        let (mut arrays, mut keys, mut fields, mut definitions) =
            (Vec::<ArrayRef>::new(), Vec::<ArrayRef>::new(), Vec::new(), Vec::new());
        for (position, descending) in &self.columns {
            let (Some(array), Some(column)) = (batch.columns().get(*position), table.columns.get(*position))
            else {
                return Err(SqlError::internal("an order by a column that is not there"));
            };
            let key = comparable(array, column);
            // NULL is the lowest value.
            let options = SortOptions { descending: *descending, nulls_first: !descending };
            fields.push(SortField::new_with_options(key.data_type().clone(), options));
            keys.push(key);
            arrays.push(array.clone());
            definitions.push(column);
        }
        let converter = RowConverter::new(fields).map_err(|error| SqlError::internal(error))?;
        let rows = converter.convert_columns(&keys).map_err(|error| SqlError::internal(error))?;
        for (row, key) in rows.iter().enumerate() {
            let key = key.as_ref();
            let late = match (row.checked_sub(1), &self.last) {
                (Some(before), _) => rows.row(before).as_ref() > key,
                (None, Some((last, _))) => last.as_slice() > key,
                (None, None) => false,
            };
            if late {
                let first = match (row.checked_sub(1), &self.last) {
                    (Some(before), _) => shown_row(&arrays, &definitions, before)?,
                    (None, last) => last.as_ref().map(|(_, text)| text.clone()).unwrap_or_default(),
                };
                let second = shown_row(&arrays, &definitions, row)?;
                return Err(out_of_order(&first, &second));
            }
        }
        if let Some(last) = batch.num_rows().checked_sub(1) {
            self.last = Some((rows.row(last).as_ref().to_vec(), shown_row(&arrays, &definitions, last)?));
        }
        Ok(())
    }
}
