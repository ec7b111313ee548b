//! Ranges of a key, as conditions of T-SQL.

use std::fmt;

use tds::Value;

use super::key::{Parameter, SplitKey};

const FROM: &str = "@bulkwire_from";
const BEFORE: &str = "@bulkwire_before";

/// Rows of one range. The server compares, so that its types and collations decide.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyRange {
    /// All rows.
    All,
    /// The rows whose key is NULL.
    Nulls,
    /// The rows whose key is not NULL and in these half-open bounds.
    Values {
        /// The least key; `None` for no bound.
        from: Option<Value>,
        /// The first key behind; `None` for no bound.
        before: Option<Value>,
    },
}

/// A condition with its parameters; empty for all rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Condition {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameter>,
}

impl Condition {
    pub(crate) fn and(&mut self, sql: &str, parameters: impl IntoIterator<Item = Parameter>) {
        if !self.sql.is_empty() {
            self.sql.push_str(" AND ");
        }
        self.sql.push_str(sql);
        self.parameters.extend(parameters);
    }

    /// Adds `column operator value`.
    pub(crate) fn compare(&mut self, key: &SplitKey, operator: &str, name: &str, value: &Value) {
        let (operand, parameter) = key.operand(name, value);
        self.and(&format!("{} {operator} {operand}", key.quoted()), [parameter]);
    }
}

impl KeyRange {
    /// Makes the ranges between ascending boundaries, in the order of the key: together they have every row once. The
    /// first has no lower bound and the last no upper one. SQL Server has NULL before all values.
    pub fn between(boundaries: Vec<Value>, key: &SplitKey) -> Vec<Self> {
        if boundaries.is_empty() {
            return vec![Self::All];
        }
        let mut ranges = Vec::with_capacity(boundaries.len() + 2);
        if key.is_nullable() {
            ranges.push(Self::Nulls);
        }
        let mut from = None;
        for boundary in boundaries {
            ranges.push(Self::Values { from: from.take(), before: Some(boundary.clone()) });
            from = Some(boundary);
        }
        ranges.push(Self::Values { from, before: None });
        if key.is_descending {
            ranges.reverse();
        }
        ranges
    }

    /// Makes ranges of all rows by the key, and one of the rows without a key, which the key does not find.
    pub(crate) fn keyed(key: &SplitKey) -> Vec<Self> {
        let mut ranges = vec![Self::Values { from: None, before: None }];
        if key.is_nullable() {
            ranges.insert(if key.is_descending { 1 } else { 0 }, Self::Nulls);
        }
        ranges
    }

    /// Joins two ranges and all between them; `None` unless both are of values.
    pub(crate) fn joined(&self, last: &Self, is_descending: bool) -> Option<Self> {
        let (low, high) = if is_descending { (last, self) } else { (self, last) };
        match (low, high) {
            (Self::Values { from, .. }, Self::Values { before, .. }) => {
                Some(Self::Values { from: from.clone(), before: before.clone() })
            }
            _ => None,
        }
    }

    /// Writes the range as a condition.
    pub(crate) fn condition(&self, key: Option<&SplitKey>) -> Condition {
        let mut condition = Condition::default();
        let Some(key) = key else { return condition };
        match self {
            Self::All => {}
            Self::Nulls => condition.and(&format!("{} IS NULL", key.quoted()), []),
            Self::Values { from, before } => {
                if let Some(from) = from {
                    condition.compare(key, ">=", FROM, from);
                }
                if let Some(before) = before {
                    condition.compare(key, "<", BEFORE, before);
                }
                if from.is_none() && before.is_none() {
                    condition.and(&format!("{} IS NOT NULL", key.quoted()), []);
                }
            }
        }
        condition
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all rows"),
            Self::Nulls => f.write_str("NULL"),
            Self::Values { from: None, before: None } => f.write_str("all values"),
            Self::Values { from: Some(from), before: None } => write!(f, "from {from}"),
            Self::Values { from: None, before: Some(before) } => write!(f, "before {before}"),
            Self::Values { from: Some(from), before: Some(before) } => {
                write!(f, "from {from} to before {before}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;
    use tds::{Column, ColumnFlags, SqlType, TypeInfo, Value};

    use super::{KeyRange, SplitKey};

    fn key(nullable: bool, descending: bool) -> SplitKey {
        let flags = if nullable { ColumnFlags::NULLABLE } else { 0 };
        let column = Column {
            name: "a]b".to_owned(),
            user_type: 0,
            flags: ColumnFlags(flags),
            type_info: TypeInfo::new(SqlType::Int, nullable, None),
            table_name: Vec::new(),
        };
        SplitKey::new(&column, descending, None, None).unwrap()
    }

    /// What the server makes of a range's condition: comparisons with NULL are not true.
    fn holds(range: &KeyRange, key: &SplitKey, row: Option<i32>) -> bool {
        let condition = range.condition(Some(key));
        let value = |name: &str| match condition.parameters.iter().find(|(n, ..)| n == name) {
            Some((_, _, Value::Int(value))) => *value,
            other => panic!("{name}: {other:?}"),
        };
        condition.sql.split(" AND ").filter(|part| !part.is_empty()).all(|part| {
            let rest = part.strip_prefix("[a]]b] ").expect("the column comes first");
            match (rest, row) {
                ("IS NULL", row) => row.is_none(),
                ("IS NOT NULL", row) => row.is_some(),
                (_, None) => false,
                (rest, Some(row)) => match rest.split_once(' ').unwrap() {
                    (">=", name) => row >= value(name),
                    ("<", name) => row < value(name),
                    other => panic!("{other:?}"),
                },
            }
        })
    }

    proptest! {
        #[test]
        fn every_row_is_in_one_range(
            boundaries in proptest::collection::btree_set(-50..50_i32, 0..20),
            nullable: bool,
            descending: bool,
        ) {
            let key = key(nullable, descending);
            let ranges = KeyRange::between(boundaries.into_iter().map(Value::Int).collect(), &key);
            let rows = (-60..60).map(Some).chain(nullable.then_some(None));
            let mut last = None;
            for row in rows {
                let found: Vec<usize> =
                    (0..ranges.len()).filter(|&index| holds(&ranges[index], &key, row)).collect();
                prop_assert_eq!(found.len(), 1, "{:?}", row);
                // Ranges stand in the key's order.
                let at = if descending { ranges.len() - found[0] } else { found[0] };
                if row.is_some() {
                    prop_assert!(last <= Some(at));
                    last = Some(at);
                }
            }
        }

        #[test]
        fn joined_ranges_have_the_rows_of_all(
            boundaries in proptest::collection::btree_set(-50..50_i32, 1..20),
            ends: (prop::sample::Index, prop::sample::Index),
            nullable: bool,
            descending: bool,
        ) {
            let key = key(nullable, descending);
            let ranges = KeyRange::between(boundaries.into_iter().map(Value::Int).collect(), &key);
            let (a, b) = (ends.0.index(ranges.len()), ends.1.index(ranges.len()));
            let (first, last) = (a.min(b), a.max(b));
            let part = &ranges[first..=last];
            let joined = ranges[first].joined(&ranges[last], descending);
            prop_assert_eq!(joined.is_none(), part.contains(&KeyRange::Nulls));
            if let Some(joined) = joined {
                for row in (-60..60).map(Some).chain([None]) {
                    let expected = part.iter().any(|range| holds(range, &key, row));
                    prop_assert_eq!(holds(&joined, &key, row), expected, "{:?}", row);
                }
            }
        }
    }

    #[test]
    fn ranges_say_what_they_are() {
        let ranges = KeyRange::between(vec![Value::Int(1), Value::Int(5)], &key(true, false));
        let shown: Vec<String> = ranges.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["NULL", "before 1", "from 1 to before 5", "from 5"]);
        assert_eq!(ranges[0].condition(Some(&key(true, false))).sql, "[a]]b] IS NULL");
    }
}
