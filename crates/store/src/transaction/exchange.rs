//! Exchanges the rows of two tables: pages, trees and counts change their table, and nothing is copied.

use std::sync::Arc;

use super::change_alone::redefine;
use super::unit_of_work::Transaction;
use crate::catalogue::Table;
use crate::error::EngineError;
use crate::lock::LockMode;
use crate::tree::index::{IndexDefinition, Tree};

impl Transaction {
    /// Gives each of two tables the rows of the other. They keep their names, their texts and the names of
    /// their trees.
    ///
    /// # Errors
    /// The columns, keys and indexes of the two differ in more than the names of keys and indexes.
    pub fn exchange_rows(&mut self, one: &Table, other: &Table) -> Result<(), EngineError> {
        if one.object == other.object {
            return Ok(());
        }
        let mut both = [one, other];
        // All exchanges lock their tables in the same order, so that two never wait for each other.
        both.sort_unstable_by_key(|table| table.object);
        for table in both {
            let object = self.open(table).alone(LockMode::SchM)?;
            if !self.pending(object).is_empty() {
                self.open(table).insert_pending()?;
            }
        }
        self.guarded(|this| {
            let (mut left, mut right) = (this.work.table(one.object)?, this.work.table(other.object)?);
            exchange(&mut left, &mut right)?;
            let objects = [left.object, right.object];
            this.work.put(left);
            this.work.put(right);
            objects.into_iter().try_for_each(|object| redefine(this, object))
        })
    }
}

fn exchange(left: &mut Table, right: &mut Table) -> Result<(), EngineError> {
    let is_alike = left.layout.visible() == right.layout.visible()
        && left.layout.compression == right.layout.compression
        && same_tree(left.clustered.as_deref(), right.clustered.as_deref())
        && left.indexes.len() == right.indexes.len();
    let (Some(to_left), Some(to_right), true) = (taken_over(left, right), taken_over(right, left), is_alike)
    else {
        let reason = format!("tables {:?} and {:?} are not alike", left.name, right.name);
        return Err(EngineError::Schema { reason });
    };
    let keys = [&*left, right].map(|table| table.clustered.as_ref().map(|tree| tree.definition.clone()));
    std::mem::swap(&mut left.storage, &mut right.storage);
    std::mem::swap(&mut left.layout, &mut right.layout);
    std::mem::swap(&mut left.rows, &mut right.rows);
    std::mem::swap(&mut left.clustered, &mut right.clustered);
    std::mem::swap(&mut left.indexes, &mut right.indexes);
    std::mem::swap(&mut left.next_index, &mut right.next_index);
    std::mem::swap(&mut left.units, &mut right.units);
    let [left_key, right_key] = keys;
    for (table, key, indexes) in [(left, left_key, to_left), (right, right_key, to_right)] {
        if let (Some(tree), Some(key)) = (&mut table.clustered, key) {
            Arc::make_mut(tree).definition = key;
        }
        for (index, definition) in table.indexes.iter_mut().zip(indexes) {
            Arc::make_mut(&mut index.tree).definition = definition;
        }
    }
    Ok(())
}

/// Lists for each index that `table` takes over from `other` the definition that it has in `table`. None: the
/// two do not have the same ones.
fn taken_over(table: &Table, other: &Table) -> Option<Vec<IndexDefinition>> {
    let mut own: Vec<&IndexDefinition> = table.indexes.iter().map(|index| &index.tree.definition).collect();
    let taken = other.indexes.iter().map(|index| {
        let definition = &index.tree.definition;
        let place = own.iter().position(|own| own.is_like(definition))?;
        Some(own.remove(place).clone())
    });
    taken.collect()
}

fn same_tree(left: Option<&Tree>, right: Option<&Tree>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.definition.is_like(&right.definition),
        (None, None) => true,
        _ => false,
    }
}
