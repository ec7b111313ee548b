//! `sys.dm_db_index_physical_stats`: density of pages, and their order on disk.

use databases::catalogue::{TableDefinition, same_name};
use databases::storage::{Figures, IndexPages, index_of};
use databases::store_error::store_error;
use query::Datum;
use store::{PageStatistics, ScanDetail};
use tsql::SqlError;

use crate::facts::Facts;

use crate::system_views::functions::{parameter_incorrect, wanted};
use crate::system_views::indexes::{IndexRow, index_rows};
use crate::system_views::partitions::{partition_id, store_index};
use crate::view::{View, int, text};

pub(super) const STATISTICS: &str = "
    database_id smallint
    object_id int
    index_id int
    partition_number int = 1
    index_type_desc nvarchar(60)
    alloc_unit_type_desc nvarchar(60)
    index_depth tinyint
    index_level tinyint
    avg_fragmentation_in_percent float
    fragment_count bigint
    avg_fragment_size_in_pages float
    page_count bigint
    avg_page_space_used_in_percent float
    record_count bigint
    ghost_record_count bigint
    version_ghost_record_count bigint
    min_record_size_in_bytes int
    max_record_size_in_bytes int
    avg_record_size_in_bytes float
    forwarded_record_count bigint
    compressed_page_count bigint
    hobt_id bigint!
    columnstore_delete_buffer_state tinyint! = 0
    columnstore_delete_buffer_state_desc nvarchar(60)! = NOT VALID
    version_record_count bigint
    inrow_version_record_count bigint
    inrow_diff_version_record_count bigint
    total_inrow_version_payload_size_in_bytes bigint
    offrow_regular_version_record_count bigint
    offrow_long_term_version_record_count bigint";

/// Adds the rows for the databases, tables, indexes and partitions asked for.
///
/// # Errors
/// Error 2561 for arguments that name nothing, 824 for a page that cannot be read.
pub(super) fn statistics(facts: &Facts, arguments: &[Datum], view: &mut View) -> Result<(), SqlError> {
    let argument = |at: usize| arguments.get(at).and_then(Datum::as_int);
    let detail = match arguments.get(4).and_then(Datum::as_text) {
        None => ScanDetail::Limited,
        Some(mode) => match mode.trim().to_ascii_uppercase().as_str() {
            "LIMITED" | "DEFAULT" => ScanDetail::Limited,
            "SAMPLED" => ScanDetail::Sampled,
            "DETAILED" => ScanDetail::Detailed,
            _ => return Err(parameter_incorrect(5)),
        },
    };
    let databases = wanted(facts, arguments.first(), None)?;
    let object = argument(1).filter(|id| *id != 0);
    let index = argument(2).filter(|id| *id != -1);
    // The view shows each table as one partition, number 1.
    if argument(3).is_some_and(|partition| partition > 1) {
        return Err(parameter_incorrect(4));
    }
    let tables =
        || facts.tables().iter().filter(|table| object.is_none_or(|id| i64::from(table.object_id) == id));
    if object.is_some() && tables().next().is_none() {
        return Err(parameter_incorrect(2));
    }
    for database in databases {
        let Some(figures) = facts.figures(&database.name) else { continue };
        for table in tables().filter(|table| same_name(&table.database, &database.name)) {
            let Some(pages) = figures.table(table) else { continue };
            for (row, units) in by_index(figures, table, detail)? {
                if index.is_some_and(|id| i64::from(row.id) != id) {
                    continue;
                }
                for unit in units {
                    let is_heap = pages.clustered.is_none() && row.id <= 1;
                    show(database.id, table, &row, &unit, is_heap, detail, view);
                }
            }
        }
    }
    Ok(())
}

/// Measures a table's indexes, with the figures of their pages, leaf levels first.
///
/// # Errors
/// Error 824 for a page that cannot be read.
pub fn by_index<'t>(
    figures: &Figures,
    table: &'t TableDefinition,
    detail: ScanDetail,
) -> Result<Vec<(IndexRow<'t>, Vec<PageStatistics>)>, SqlError> {
    let Some(pages) = figures.table(table) else { return Ok(Vec::new()) };
    let all = figures.statistics(pages, detail).map_err(|error| store_error(error.into()))?;
    let rows = index_rows(table).into_iter().map(|row| {
        let of = store_index(&row).map_or(IndexPages::Rows, IndexPages::Index);
        let units = all.iter().filter(|unit| index_of(pages, unit.unit) == Some(of)).cloned().collect();
        (row, units)
    });
    Ok(rows.collect())
}

fn show(
    database_id: i32,
    table: &TableDefinition,
    row: &IndexRow<'_>,
    unit: &PageStatistics,
    is_heap: bool,
    detail: ScanDetail,
    view: &mut View,
) {
    if unit.level > 0 && detail != ScanDetail::Detailed {
        return;
    }
    let count = |value: u64| Datum::Int(value as i64);
    let in_row = unit.unit_kind == "IN_ROW_DATA";
    let kind = match row.kind {
        0 => "HEAP",
        // The rows of a columnstore are in a heap here.
        1 | 5 if !is_heap => "CLUSTERED INDEX",
        1 | 5 => "HEAP",
        _ => "NONCLUSTERED INDEX",
    };
    view.add([
        ("database_id", int(database_id)),
        ("object_id", int(table.object_id)),
        ("index_id", int(row.id)),
        ("index_type_desc", text(kind)),
        ("alloc_unit_type_desc", text(unit.unit_kind)),
        ("index_depth", int(unit.depth)),
        ("index_level", int(unit.level)),
        ("page_count", count(unit.pages)),
        ("hobt_id", Datum::Int(partition_id(table, row.id))),
    ]);
    // A sample says nothing of the order of a heap's pages.
    if !(is_heap && in_row && detail == ScanDetail::Sampled) {
        view.set("avg_fragmentation_in_percent", Datum::Float(unit.fragmentation_percent));
        if in_row && unit.level == 0 {
            let mean = unit.pages as f64 / unit.fragments.max(1) as f64;
            view.set("fragment_count", count(unit.fragments));
            view.set("avg_fragment_size_in_pages", Datum::Float(mean));
        }
    }
    let Some(contents) = &unit.contents else { return };
    view.set("avg_page_space_used_in_percent", Datum::Float(contents.density_percent));
    view.set("record_count", count(contents.records));
    view.set("ghost_record_count", count(contents.ghost_records));
    view.set("version_ghost_record_count", int(0));
    view.set("min_record_size_in_bytes", count(contents.least_record_bytes));
    view.set("max_record_size_in_bytes", count(contents.longest_record_bytes));
    view.set("avg_record_size_in_bytes", Datum::Float(contents.mean_record_bytes));
    if is_heap && in_row {
        view.set("forwarded_record_count", count(contents.forwarded_records));
    }
    view.set("compressed_page_count", count(contents.compressed_pages));
}
