//! Decides if the rows of a load are routed by partition, with the reason.

use arrow::datatypes::Schema;
use rows::Plan;

use super::routing::Routing;
use crate::{
    describe::{Storage, TableDescription},
    error::Error,
    options::{Connections, LoadOptions},
    plan::Choice,
};

/// The choice, as it is printed.
pub(crate) const SETTING: &str = "partitions";
pub(crate) const ON: &str = "a writer each";

/// The decision on routing a load's rows to the partitions of its target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    /// The routing of the rows, where that is possible.
    pub(crate) routing: Option<Routing>,
    /// One writer at a time has the rows of a partition.
    pub(crate) is_on: bool,
    /// The choice in words; none for a table with one partition.
    pub(crate) choice: Option<Choice>,
}

/// Chooses for a source that is loaded by `plan`. `is_sorted`: its rows come in the order of the clustered key.
///
/// # Errors
/// Routing is asked for and cannot be had.
pub(crate) fn choose(
    target: &TableDescription,
    schema: &Schema,
    plan: &Plan,
    options: &LoadOptions,
    is_sorted: bool,
) -> Result<Chosen, Error> {
    let is_asked = options.by_partition == Some(true);
    if target.partitions <= 1 {
        return match is_asked {
            true => Err(Error::NoRouting { reason: "the table has one partition".to_owned() }),
            false => Ok(Chosen::default()),
        };
    }
    let routing = Routing::new(target, schema, plan, options);
    let reason = match (&routing, reason_against(target, options, is_sorted)) {
        (Err(reason), _) if is_asked => return Err(Error::NoRouting { reason: reason.clone() }),
        (Ok(_), None) => Ok(reason_for(target)),
        (_, Some(reason)) => Err(reason.to_owned()),
        (Err(reason), None) => Err(format!("writers may meet in a partition: {reason}")),
    };
    let is_on = reason.is_ok();
    let choice = Choice {
        setting: SETTING,
        value: if is_on { ON } else { "shared by writers" }.to_owned(),
        reason: reason.unwrap_or_else(|reason| reason),
    };
    Ok(Chosen { routing: routing.ok(), is_on, choice: Some(choice) })
}

fn reason_for(target: &TableDescription) -> String {
    let Some(partitioning) = &target.partitioning else { return String::new() };
    let mut reason = format!(
        "a writer a partition: rows go by [{}] ({}), so that no two writers meet in one partition's tree",
        partitioning.column,
        partitioning.range_word()
    );
    if !partitioning.unaligned_indexes.is_empty() {
        let names = partitioning.unaligned_indexes.join(", ");
        reason.push_str(&format!("; they still meet in indexes that are not aligned ({names})"));
    }
    reason
}

/// Says why rows are not routed, even if they could be.
fn reason_against(target: &TableDescription, options: &LoadOptions, is_sorted: bool) -> Option<&'static str> {
    let is_indexed = target.secondary_indexes().next().is_some();
    match (options.by_partition, target.storage) {
        (Some(true), _) => None,
        (Some(false), _) => Some("as asked"),
        _ if options.connections == Connections::One => Some("one writer meets no other"),
        (None, Storage::Heap) if !is_indexed && options.table_lock != Some(false) => {
            Some("a heap without indexes under TABLOCK: writers share its bulk-update lock and do not meet")
        }
        (None, Storage::Columnstore) => Some("each writer fills row groups of its own"),
        _ if options.table_lock == Some(true) => Some("a table lock lets in one writer at a time"),
        _ if is_sorted => Some(
            "the source is sorted: each batch is a range of the key of its own, and whole partitions follow one another",
        ),
        _ => None,
    }
}
