//! The partitioning of a table.

use tds::Value;

use crate::{
    catalogue_row::{CatalogueRow, rows},
    error::Error,
    report::grouped,
    value_table::ValueTable,
};

/// The division of a table's rows among partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    /// The partition scheme on which the rows lie.
    pub scheme: String,
    /// The name of the partition function.
    pub function: String,
    /// The partitioning column.
    pub column: String,
    /// RANGE RIGHT: a boundary belongs to the partition on its right.
    pub is_right: bool,
    /// The boundaries, ascending; one fewer than partitions.
    pub boundaries: Vec<Value>,
    /// Rows of each partition, as the catalogue counts them.
    pub rows: Vec<u64>,
    /// Indexes that are not divided in the same way: rows of different partitions meet in them.
    pub unaligned_indexes: Vec<String>,
}

impl Partitioning {
    /// Returns `RANGE RIGHT` or `RANGE LEFT`.
    pub fn range_word(&self) -> &'static str {
        if self.is_right { "RANGE RIGHT" } else { "RANGE LEFT" }
    }

    /// Words the values of a partition, counted from 0.
    pub fn values_of(&self, partition: usize) -> String {
        let below = partition.checked_sub(1).and_then(|place| self.boundaries.get(place));
        let above = self.boundaries.get(partition);
        let (from, to) = if self.is_right { ("from", "before") } else { ("behind", "up to") };
        match (below, above) {
            (None, None) => "all values".to_owned(),
            (None, Some(above)) => format!("{to} {above}"),
            (Some(below), None) => format!("{from} {below}"),
            (Some(below), Some(above)) => format!("{from} {below} {to} {above}"),
        }
    }

    /// Words function, column and number of partitions.
    pub fn shown(&self) -> String {
        format!(
            "{} partitions by [{}] ({}, function {}, scheme {})",
            grouped(self.rows.len() as u64),
            self.column,
            self.range_word(),
            self.function,
            self.scheme
        )
    }
}

/// Reads the results of [`super::queries::partitioning`] for a table whose partitions have so many rows. None if it is not
/// partitioned.
pub(super) fn of(results: &[ValueTable], rows_by_partition: Vec<u64>) -> Result<Option<Partitioning>, Error> {
    let [spaces, boundaries] = results else {
        let what = format!("{} results of the catalogue queries instead of 2", results.len());
        return Err(Error::unexpected("reading a table's partitions", what));
    };
    let is_table = |row: &CatalogueRow<'_>| matches!(row.integer("index_id"), Some(0 | 1));
    let division = |row: &CatalogueRow<'_>| (row.integer("function_id"), row.text("column_name"));
    let Some(own) = rows(spaces).find(is_table).filter(|row| row.integer("function_id").is_some()) else {
        return Ok(None);
    };
    let unaligned = rows(spaces).filter(|row| !is_table(row) && division(row) != division(&own));
    Ok(Some(Partitioning {
        scheme: own.text("scheme_name"),
        function: own.text("function_name"),
        column: own.text("column_name"),
        is_right: own.flag("boundary_value_on_right"),
        boundaries: rows(boundaries).map(|row| plain(row.value("value"))).collect(),
        rows: rows_by_partition,
        unaligned_indexes: unaligned.map(|row| row.text("index_name")).collect(),
    }))
}

/// Returns a value without its `sql_variant`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Variant(variant) => variant.value.clone(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_say_which_values_they_have() {
        let mut partitioning = Partitioning {
            scheme: "days".to_owned(),
            function: "by_day".to_owned(),
            column: "day".to_owned(),
            is_right: true,
            boundaries: vec![Value::Int(1), Value::Int(5)],
            rows: vec![3, 0, 1],
            unaligned_indexes: Vec::new(),
        };
        let shown = |of: &Partitioning| (0..3).map(|place| of.values_of(place)).collect::<Vec<_>>();
        assert_eq!(shown(&partitioning), ["before 1", "from 1 before 5", "from 5"]);
        partitioning.is_right = false;
        assert_eq!(shown(&partitioning), ["up to 1", "behind 1 up to 5", "behind 5"]);
        assert_eq!(partitioning.shown(), "3 partitions by [day] (RANGE LEFT, function by_day, scheme days)");
    }
}
