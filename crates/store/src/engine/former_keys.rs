//! Keys over bytes of former builds.
//!
//! They put 0xAE before 0xAE00; keys now take the two for equal, as comparisons do. Where no value of a key ends in
//! a zero both orders are the same.

use std::sync::Arc;

use arrow::array::AsArray;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::record::kind::Kind;
use crate::record::layout::Layout;
use crate::scan::Scan;
use crate::tree::index::IndexDefinition;
use crate::tree::index_filter::FilterTest;

/// Reads the keys over bytes of a database that a former build has written.
///
/// # Errors
/// [`EngineError::FormerKey`] for a key whose order may be another one now.
pub(crate) fn check(engine: &Engine) -> Result<(), EngineError> {
    let snapshot = engine.snapshot();
    for table in snapshot.tables() {
        let indexes = table.indexes.iter().map(|index| &index.tree.definition);
        let keys = table.clustered.iter().map(|tree| &tree.definition).chain(indexes);
        for key in keys {
            let refuse = || EngineError::FormerKey { table: table.name.to_string(), key: key.name.clone() };
            if filters_bytes(&table.layout, key) {
                return Err(refuse());
            }
            let columns = byte_columns(&table.layout, key);
            if columns.is_empty() {
                continue;
            }
            for batch in Scan::new(snapshot.reader(), Arc::clone(table), Some(columns))? {
                let batch = batch?;
                let mut values = batch.columns().iter().filter_map(|array| array.as_binary_opt::<i32>());
                if values.any(|array| array.iter().flatten().any(|value| value.last() == Some(&0))) {
                    return Err(refuse());
                }
            }
        }
    }
    Ok(())
}

fn is_bytes(layout: &Layout, column: usize) -> bool {
    layout.columns.get(column).is_some_and(|column| matches!(column.kind, Kind::VarBinary(_)))
}

/// The columns of a key that are ordered by their bytes. Text has a collation.
fn byte_columns(layout: &Layout, key: &IndexDefinition) -> Vec<usize> {
    let own = key.key.iter().filter(|own| own.collation.is_none() && is_bytes(layout, own.column));
    own.map(|own| own.column).collect()
}

/// True if a filter compares bytes: its constants are kept as keys.
fn filters_bytes(layout: &Layout, key: &IndexDefinition) -> bool {
    key.filter.iter().any(|term| {
        matches!(term.test, FilterTest::Compare { collation: None, .. }) && is_bytes(layout, term.column)
    })
}
