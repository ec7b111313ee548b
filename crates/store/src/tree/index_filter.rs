//! Filters of indexes: an index has the rows for which every term holds.

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};

use super::index::index_batch;
use super::key::{KeyColumn, KeyLayout, TextOrder};
use crate::codec::{CodecError, Reader, Writer};
use crate::error::EngineError;
use crate::record::kind::Kind;
use crate::record::layout::{Column, Layout};
use crate::record::stored::StoredRow;
use crate::record::{BoundBatch, no_large_values};
use crate::tree;

/// Term of a filter: a condition for one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterTerm {
    /// Index of the column in its table, from 0.
    pub column: usize,
    /// The condition for its value.
    pub test: FilterTest,
}

/// The condition of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterTest {
    /// The value is null.
    Null,
    /// The value is not null.
    NotNull,
    /// The value has one of these relations to one of `values`.
    Compare {
        /// True if the value may be less.
        less: bool,
        /// True if the value may be equal.
        equal: bool,
        /// True if the value may be greater.
        greater: bool,
        /// Collation of a text, as in [`KeyColumn`].
        collation: Option<String>,
        /// Values as [`FilterTest::value`] makes them.
        values: Vec<Vec<u8>>,
    },
}

impl FilterTest {
    /// Returns the only value of an array, for a comparison with values of a column of this kind.
    pub fn value(kind: Kind, array: &ArrayRef) -> Result<Vec<u8>, EngineError> {
        let layout = one_column(kind)?;
        let batch = index_batch(&layout, vec![array.clone()], array.len())?;
        let bound = BoundBatch::new(&layout, &batch, &mut no_large_values())?;
        match bound.rows() {
            1 => Ok(bound.record(0)),
            rows => Err(EngineError::Schema { reason: format!("{rows} values instead of one") }),
        }
    }
}

fn one_column(kind: Kind) -> Result<Layout, EngineError> {
    Layout::of_index(vec![Column { name: "value".to_owned(), kind, nullable: true }])
}

/// The filter of an index, ready for use.
#[derive(Debug)]
pub(crate) struct Filter {
    terms: Vec<Term>,
}

#[derive(Debug)]
struct Term {
    column: usize,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Null(bool),
    Compare { of: Box<Compared>, relations: [bool; 3], values: Vec<Vec<u8>> },
}

/// Layout and key that order the values of a comparison.
#[derive(Debug)]
struct Compared {
    layout: Layout,
    key: KeyLayout,
}

impl Filter {
    pub fn new(terms: &[FilterTerm], table: &Layout, order: Option<TextOrder>) -> Result<Self, EngineError> {
        let terms = terms.iter().map(|term| Term::new(term, table, order)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Lists the columns of the table that the filter reads.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().map(|term| term.column)
    }

    /// Marks the rows of a batch that pass the filter; None: all.
    pub fn mask(
        &self,
        column: impl Fn(usize) -> Option<ArrayRef>,
        rows: usize,
    ) -> Result<Option<BooleanArray>, EngineError> {
        if self.terms.is_empty() {
            return Ok(None);
        }
        let mut mask = vec![true; rows];
        for term in &self.terms {
            let array = column(term.column).ok_or_else(|| EngineError::Schema {
                reason: format!("a batch without column {}, which a filter looks at", term.column),
            })?;
            term.narrow(&array, &mut mask)?;
        }
        Ok(Some(BooleanArray::from(mask)))
    }
}

impl Term {
    fn new(term: &FilterTerm, table: &Layout, order: Option<TextOrder>) -> Result<Self, EngineError> {
        let Some(column) = table.visible().get(term.column) else {
            return Err(EngineError::Schema { reason: format!("a filter of column {}", term.column) });
        };
        let test = match &term.test {
            FilterTest::Null => Test::Null(true),
            FilterTest::NotNull => Test::Null(false),
            FilterTest::Compare { less, equal, greater, collation, values } => {
                let layout = one_column(column.kind)?;
                let columns = [KeyColumn { collation: collation.clone(), ..KeyColumn::new(0) }];
                let key = KeyLayout::new(&layout, &columns, order)?;
                let values = values.iter().map(|value| key.of_row(&layout, StoredRow::whole(value)));
                let values = values.collect::<Option<_>>().ok_or_else(|| EngineError::Schema {
                    reason: format!("a value that column {:?} of a filter cannot have", column.name),
                })?;
                let of = Box::new(Compared { layout, key });
                Test::Compare { of, relations: [*less, *equal, *greater], values }
            }
        };
        Ok(Self { column: term.column, test })
    }

    /// Takes rows out of the mask for which the term does not hold.
    fn narrow(&self, array: &ArrayRef, mask: &mut [bool]) -> Result<(), EngineError> {
        match &self.test {
            Test::Null(null) => {
                mask.iter_mut().enumerate().for_each(|(row, kept)| *kept &= array.is_null(row) == *null);
            }
            Test::Compare { of, relations, values } => {
                let Compared { layout, key } = of.as_ref();
                let batch: RecordBatch = index_batch(layout, vec![array.clone()], array.len())?;
                let bound = BoundBatch::new(layout, &batch, &mut no_large_values())?;
                let keys = tree::keys_of_bound(key, layout, &bound)?;
                for ((row, kept), own) in mask.iter_mut().enumerate().zip(keys.iter().flatten()) {
                    let related = |value: &Vec<u8>| {
                        let place = own.cmp(value.as_slice()) as i8 + 1;
                        relations.get(place as usize).copied().unwrap_or_default()
                    };
                    // A comparison with a null is never true.
                    *kept &= !array.is_null(row) && values.iter().any(related);
                }
            }
        }
        Ok(())
    }
}

/// Writes a filter.
pub(crate) fn put(out: &mut Writer, filter: &[FilterTerm]) {
    out.count(filter.len());
    for term in filter {
        out.u32(term.column as u32);
        match &term.test {
            FilterTest::Null => out.u8(0),
            FilterTest::NotNull => out.u8(1),
            FilterTest::Compare { less, equal, greater, collation, values } => {
                out.u8(2 | u8::from(*less) << 2 | u8::from(*equal) << 3 | u8::from(*greater) << 4);
                out.u8(u8::from(collation.is_some()));
                out.string(collation.as_deref().unwrap_or_default());
                out.count(values.len());
                for value in values {
                    out.bytes(value);
                }
            }
        }
    }
}

/// Reads a filter.
pub(crate) fn take(reader: &mut Reader<'_>) -> Result<Vec<FilterTerm>, CodecError> {
    let count = reader.count(5, "terms of a filter")?;
    let mut filter = Vec::with_capacity(count);
    for _ in 0..count {
        let column = reader.u32("filter column")? as usize;
        let test = match reader.u8("filter test")? {
            0 => FilterTest::Null,
            1 => FilterTest::NotNull,
            flags => {
                let has_collation = reader.u8("has a collation")? != 0;
                let collation = Some(reader.string("collation")?).filter(|_| has_collation);
                let values = reader.count(4, "filter values")?;
                let values = (0..values).map(|_| Ok(reader.bytes("filter value")?.to_vec()));
                let values = values.collect::<Result<Vec<_>, CodecError>>()?;
                let [less, equal, greater] = [4, 8, 16].map(|bit| flags & bit != 0);
                FilterTest::Compare { less, equal, greater, collation, values }
            }
        };
        filter.push(FilterTerm { column, test });
    }
    Ok(filter)
}
