//! Partition functions and partition schemes. Each is a table of the store without rows, as a [module](super::module) is, under a
//! name that no object has.

use std::cmp::Ordering;

use arrow::array::Array;
use query::convert::convert;
use query::{Datum, is_case_sensitive, order_of, text_key};
use serde::{Deserialize, Serialize};
use tds::{Collation, SqlType};
use tsql::SqlError;

use crate::catalogue::extended_property::PropertyValue;
use crate::catalogue::names::{same_name, store_key};
use crate::catalogue::table::TableDefinition;

/// First words of a partition function's properties.
const FUNCTION_MARK: &str = "partition function ";
/// First words of a partition scheme's properties.
const SCHEME_MARK: &str = "partition scheme ";
/// The first `function_id`.
pub const PARTITION_FUNCTION_ID_FIRST: i32 = 65_536;
/// The first `data_space_id` of a scheme; file groups have smaller ones.
pub const PARTITION_SCHEME_ID_FIRST: i32 = 65_601;
/// Partitions of a function.
pub const PARTITIONS_MAX: usize = 15_000;

/// CREATE PARTITION FUNCTION.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionFunction {
    /// Id of the function (`function_id`).
    pub id: i32,
    /// Database, as its entry spells it.
    pub database: String,
    /// Name as created.
    pub name: String,
    /// Microseconds since 1970-01-01 at creation.
    pub created_us: i64,
    /// Microseconds since 1970-01-01 at the last change.
    pub modified_us: i64,
    /// The parameter's type in T-SQL's spelling.
    pub type_text: String,
    /// The parameter's collation, if it is a text and not of the default one.
    pub collation: Option<String>,
    /// RANGE RIGHT: a boundary belongs to the partition on its right.
    pub right: bool,
    /// The boundaries in order.
    pub boundaries: Vec<PropertyValue>,
}

/// CREATE PARTITION SCHEME.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionScheme {
    /// Id of the scheme (`data_space_id`).
    pub id: i32,
    /// Database, as its entry spells it.
    pub database: String,
    /// Name as created.
    pub name: String,
    /// Name of the scheme's partition function.
    pub function: String,
    /// The file group of each partition.
    pub groups: Vec<String>,
    /// The file group of the partition that SPLIT makes next.
    pub next_used: Option<String>,
}

/// Partition scheme and column of a table or an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitioning {
    /// The partition scheme.
    pub scheme: String,
    /// The partitioning column.
    pub column: String,
}

/// All partition functions and partition schemes of a server.
#[derive(Debug, Clone, Default)]
pub struct Partitions {
    /// Partition functions of all databases.
    pub functions: Vec<PartitionFunction>,
    /// Partition schemes of all databases.
    pub schemes: Vec<PartitionScheme>,
}

/// Returns true if a table of the store is a partition function or a partition scheme.
pub fn is_partition_entry(properties: &str) -> bool {
    properties.starts_with(FUNCTION_MARK) || properties.starts_with(SCHEME_MARK)
}

impl PartitionFunction {
    /// Returns the text that the store keeps.
    ///
    /// # Errors
    /// The definition cannot be written as JSON, which holds for none of its values.
    pub fn to_properties(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|json| format!("{FUNCTION_MARK}{json}"))
    }

    /// Parses the function that the properties of a table of the store describe; None if they are of
    /// something else.
    ///
    /// # Errors
    /// The properties are those of a function, and damaged.
    pub fn of(properties: &str) -> Result<Option<PartitionFunction>, serde_json::Error> {
        properties.strip_prefix(FUNCTION_MARK).map(serde_json::from_str).transpose()
    }

    /// Returns the store's name of a function.
    pub fn key(database: &str, name: &str) -> String {
        // No object's name begins so, and no type's.
        store_key(database, "dbo", &format!("\u{2}{name}"))
    }

    /// Returns the ranges that the function defines.
    ///
    /// # Errors
    /// Error 596 if its boundaries are damaged.
    pub fn ranges(&self) -> Result<PartitionRanges, SqlError> {
        let damaged = |what: &str| {
            SqlError::internal(format!(
                "the definition of partition function {} is damaged: {what}",
                self.name
            ))
        };
        let sql_type: SqlType = self.type_text.parse().map_err(|_| damaged("its type"))?;
        let collation = sql_type.is_character().then(|| {
            let named = self.collation.as_deref().and_then(Collation::from_name);
            named.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS)
        });
        let values = self.boundaries.iter().map(|boundary| match boundary.datum() {
            (value @ Datum::Text(_), _) if sql_type.is_character() => Ok(value),
            (value, from) => convert(value, &from, &sql_type, 0),
        });
        let values = values.collect::<Result<_, SqlError>>()?;
        Ok(PartitionRanges::new(sql_type, collation, self.right, values))
    }

    /// Counts the function's partitions.
    pub fn fanout(&self) -> usize {
        self.boundaries.len() + 1
    }
}

impl PartitionScheme {
    /// Returns the text that the store keeps.
    ///
    /// # Errors
    /// The definition cannot be written as JSON, which holds for none of its values.
    pub fn to_properties(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self).map(|json| format!("{SCHEME_MARK}{json}"))
    }

    /// Parses the scheme that the properties of a table of the store describe; None if they are of something
    /// else.
    ///
    /// # Errors
    /// The properties are those of a scheme, and damaged.
    pub fn of(properties: &str) -> Result<Option<PartitionScheme>, serde_json::Error> {
        properties.strip_prefix(SCHEME_MARK).map(serde_json::from_str).transpose()
    }

    /// Returns the store's name of a scheme.
    pub fn key(database: &str, name: &str) -> String {
        store_key(database, "dbo", &format!("\u{3}{name}"))
    }
}

impl Partitions {
    /// Returns the scheme of a name.
    pub fn scheme(&self, database: &str, name: &str) -> Option<&PartitionScheme> {
        self.schemes
            .iter()
            .find(|scheme| same_name(&scheme.database, database) && same_name(&scheme.name, name))
    }

    /// Returns the function of a name.
    pub fn function(&self, database: &str, name: &str) -> Option<&PartitionFunction> {
        self.functions
            .iter()
            .find(|function| same_name(&function.database, database) && same_name(&function.name, name))
    }

    /// Returns the function behind the scheme of a partitioned table or index.
    pub fn function_of(&self, table: &TableDefinition, by: &Partitioning) -> Option<&PartitionFunction> {
        self.function(&table.database, &self.scheme(&table.database, &by.scheme)?.function)
    }
}

impl TableDefinition {
    /// Lists the partitionings of the table's rows, keys and indexes; those that are not partitioned are left
    /// out.
    pub fn all_partitionings(&self) -> Vec<&Partitioning> {
        let keys = self.keys.iter().filter_map(|key| key.partitioning.as_ref());
        let indexes = self.indexes.iter().filter_map(|index| index.partitioning.as_ref());
        self.partitioning.iter().chain(keys).chain(indexes).collect()
    }
}

/// The ranges of values that a partition function defines.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionRanges {
    sql_type: SqlType,
    collation: Option<Collation>,
    right: bool,
    values: Vec<Datum>,
    /// Keys of the boundaries, by which values are compared.
    keys: Vec<Datum>,
}

impl PartitionRanges {
    /// Creates ranges between values in order, which are of the type.
    pub fn new(
        sql_type: SqlType,
        collation: Option<Collation>,
        right: bool,
        values: Vec<Datum>,
    ) -> PartitionRanges {
        let mut ranges = PartitionRanges { sql_type, collation, right, values, keys: Vec::new() };
        ranges.keys = ranges.values.iter().map(|value| ranges.key(value)).collect();
        ranges
    }

    /// Returns the type of the values.
    pub fn sql_type(&self) -> &SqlType {
        &self.sql_type
    }

    /// Returns the collation of texts.
    pub fn collation(&self) -> Option<Collation> {
        self.collation
    }

    /// Returns true if a boundary belongs to the partition on its right.
    pub fn is_right(&self) -> bool {
        self.right
    }

    /// Returns the boundaries in order.
    pub fn values(&self) -> &[Datum] {
        &self.values
    }

    /// Counts the partitions.
    pub fn count(&self) -> usize {
        self.values.len() + 1
    }

    /// Returns the partition of a value, from 1. NULL is less than every other value.
    pub fn number(&self, value: &Datum) -> usize {
        let key = self.key(value);
        let before = |boundary: &Datum| match order(boundary, &key) {
            Ordering::Less => true,
            Ordering::Equal => self.right,
            Ordering::Greater => false,
        };
        self.keys.partition_point(before) + 1
    }

    /// Returns the partition of each value of an array in the Exact form.
    ///
    /// # Errors
    /// Error 596 for an array of another type.
    pub fn numbers(&self, array: &dyn Array) -> Result<Vec<usize>, SqlError> {
        let mut numbers = Vec::with_capacity(array.len());
        // Rows often come in order: the next value is compared with the boundaries of the last one's partition first.
        let mut last = 1;
        for row in 0..array.len() {
            let value = Datum::read(array, &self.sql_type, row)?;
            if !self.is_in(last, &value) {
                last = self.number(&value);
            }
            numbers.push(last);
        }
        Ok(numbers)
    }

    /// Returns true if a value is in a partition.
    pub fn is_in(&self, number: usize, value: &Datum) -> bool {
        let key = self.key(value);
        let above = match self.lower(number) {
            None => true,
            Some(place) => match self.keys.get(place).map(|boundary| order(&key, boundary)) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => self.right,
                _ => false,
            },
        };
        above
            && match self.keys.get(number.saturating_sub(1)).map(|boundary| order(&key, boundary)) {
                None | Some(Ordering::Less) => true,
                Some(Ordering::Equal) => !self.right,
                Some(Ordering::Greater) => false,
            }
    }

    /// Returns the index of the boundary that equals a value, or as the error the index at which it would be
    /// inserted.
    pub fn find(&self, value: &Datum) -> Result<usize, usize> {
        let key = self.key(value);
        self.keys.binary_search_by(|boundary| order(boundary, &key))
    }

    /// Returns the order of two values.
    pub fn compare(&self, one: &Datum, other: &Datum) -> Ordering {
        order(&self.key(one), &self.key(other))
    }

    /// Returns the boundaries below and above a partition.
    pub fn bounds(&self, number: usize) -> (Option<&Datum>, Option<&Datum>) {
        let below = self.lower(number).and_then(|place| self.values.get(place));
        (below, self.values.get(number.saturating_sub(1)))
    }

    /// Returns the place of the boundary below a partition.
    fn lower(&self, number: usize) -> Option<usize> {
        number.checked_sub(2)
    }

    fn key(&self, value: &Datum) -> Datum {
        match value {
            Datum::Text(text) => Datum::Text(text_key(text, !is_case_sensitive(self.collation))),
            other => other.clone(),
        }
    }
}

/// Returns the order of two keys; NULL comes first.
fn order(one: &Datum, other: &Datum) -> Ordering {
    match (one.is_null(), other.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => order_of(one, other, false),
    }
}
