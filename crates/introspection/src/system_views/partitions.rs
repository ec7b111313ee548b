//! Partitions, allocation units and their pages.
//!
//! The partitions of a table or index share its pages, which are shown in proportion to their rows. Pages are those of the store's
//! last commit.

use std::sync::Arc;

use databases::catalogue::{Partitioning, TableDefinition};
use databases::storage::{Figures, IndexPages, index_of};
use databases::store_error::store_error;
use query::Datum;
use store::AllocationUnitSpace;
use store::catalogue::Table;
use store::page::UnitId;
use tsql::SqlError;

use crate::system_views::entry::{Context, Entry};
use crate::system_views::indexes::{IndexRow, index_rows};
use crate::view::{View, int, text};

const PARTITIONS: &str = "
    partition_id bigint!
    object_id int!
    index_id int!
    partition_number int! = 1
    hobt_id bigint!
    rows bigint
    filestream_filegroup_id smallint! = 0
    data_compression tinyint! = 0
    data_compression_desc nvarchar(60) = NONE
    xml_compression bit = 0
    xml_compression_desc varchar(3) = OFF";

const PARTITION_STATS: &str = "
    partition_id bigint
    object_id int!
    index_id int!
    partition_number int! = 1
    in_row_data_page_count bigint = 0
    in_row_used_page_count bigint = 0
    in_row_reserved_page_count bigint = 0
    lob_used_page_count bigint = 0
    lob_reserved_page_count bigint = 0
    row_overflow_used_page_count bigint = 0
    row_overflow_reserved_page_count bigint = 0
    used_page_count bigint = 0
    reserved_page_count bigint = 0
    row_count bigint";

const ALLOCATION_UNITS: &str = "
    allocation_unit_id bigint!
    type tinyint!
    type_desc nvarchar(60)
    container_id bigint!
    data_space_id int = 1
    total_pages bigint!
    used_pages bigint!
    data_pages bigint!";

const SYSTEM_ALLOCATION_UNITS: &str = "
    allocation_unit_id bigint!
    type tinyint!
    type_desc nvarchar(60)
    container_id bigint!
    filegroup_id smallint = 1
    total_pages bigint!
    used_pages bigint!
    data_pages bigint!
    first_page binary(6)
    root_page binary(6)
    first_iam_page binary(6)
    allocation_unit_id_on_disk bigint";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("partitions", PARTITIONS, partitions),
    Entry::new("dm_db_partition_stats", PARTITION_STATS, partition_stats),
    Entry::new("allocation_units", ALLOCATION_UNITS, |context, view| {
        allocation_units(context, "data_space_id", view);
    }),
    Entry::new("system_internals_allocation_units", SYSTEM_ALLOCATION_UNITS, |context, view| {
        allocation_units(context, "filegroup_id", view);
    }),
];

/// Pages of an index of a table, by what they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    /// Leaves, or pages of a heap.
    pub in_row_data: u64,
    /// Pages in use, maps and upper levels of a tree among them.
    pub in_row_used: u64,
    /// Pages of the index's extents, and its maps.
    pub in_row_reserved: u64,
    /// Large values: in use.
    pub lob_used: u64,
    /// Large values: reserved.
    pub lob_reserved: u64,
    /// Values moved out of long rows: in use.
    pub overflow_used: u64,
    /// Values moved out of long rows: reserved.
    pub overflow_reserved: u64,
}

impl Space {
    /// Adds up the pages in use.
    pub fn used(self) -> u64 {
        self.in_row_used + self.lob_used + self.overflow_used
    }

    /// Adds up the reserved pages.
    pub fn reserved(self) -> u64 {
        self.in_row_reserved + self.lob_reserved + self.overflow_reserved
    }

    /// Returns the part that a partition has.
    fn shared(self, sums: &[u64], place: usize) -> Space {
        let part = |pages: u64| share(pages, sums, place);
        Space {
            in_row_data: part(self.in_row_data),
            in_row_used: part(self.in_row_used),
            in_row_reserved: part(self.in_row_reserved),
            lob_used: part(self.lob_used),
            lob_reserved: part(self.lob_reserved),
            overflow_used: part(self.overflow_used),
            overflow_reserved: part(self.overflow_reserved),
        }
    }

    fn add(&mut self, unit: &AllocationUnitSpace) {
        match unit.kind {
            "LOB_DATA" => {
                self.lob_used += unit.used_pages;
                self.lob_reserved += unit.total_pages;
            }
            "ROW_OVERFLOW_DATA" => {
                self.overflow_used += unit.used_pages;
                self.overflow_reserved += unit.total_pages;
            }
            _ => {
                self.in_row_data += unit.data_pages;
                self.in_row_used += unit.used_pages;
                self.in_row_reserved += unit.total_pages;
            }
        }
    }
}

/// Counts the pages of a table's rows (`index` None), or of one of its nonclustered indexes.
///
/// # Errors
/// The maps of pages cannot be read.
pub fn space_of(figures: &Figures, table: &Table, index: Option<&str>) -> Result<Space, SqlError> {
    let wanted = index.map_or(IndexPages::Rows, IndexPages::Index);
    let mut space = Space::default();
    for unit in figures
        .spaces(table)
        .map_err(store_error)?
        .iter()
        .filter(|unit| index_of(table, unit.unit) == Some(wanted))
    {
        space.add(unit);
    }
    Ok(space)
}

/// Counts the rows of each partition of an index.
fn rows_of(context: &Context<'_>, table: &TableDefinition, row: &IndexRow<'_>) -> Vec<i64> {
    let function =
        row.partitioning.and_then(|by| Some((by, context.facts.partitions().function_of(table, by)?)));
    let Some((by, function)) = function else { return vec![(context.rows)(table.object_id)] };
    let counted = function.ranges().and_then(|ranges| (context.partition_rows)(table, &ranges, &by.column));
    let mut counted = context.facts.noted(counted);
    counted.resize(function.fanout(), 0);
    counted
}

/// Counts the rows of the partitions of all indexes of a table, each way of partitioning counted once.
fn rows_of_indexes(context: &Context<'_>, table: &TableDefinition, rows: &[IndexRow<'_>]) -> Vec<Vec<i64>> {
    let mut known: Vec<(Option<&Partitioning>, Vec<i64>)> = Vec::new();
    let counts = rows.iter().map(|row| {
        if let Some((_, counts)) = known.iter().find(|(by, _)| *by == row.partitioning) {
            return counts.clone();
        }
        let counts = rows_of(context, table, row);
        known.push((row.partitioning, counts.clone()));
        counts
    });
    counts.collect()
}

/// Adds up the rows before each partition of an index, and at the end those of all.
fn sums(rows: &[i64]) -> Vec<u64> {
    let mut sums = vec![0];
    let mut sum = 0;
    for count in rows {
        sum += count.unsigned_abs();
        sums.push(sum);
    }
    sums
}

/// Computes the part of a number of pages that a partition has: they are shared out by rows. Without rows the
/// first has all.
fn share(pages: u64, sums: &[u64], place: usize) -> u64 {
    let total = sums.last().copied().unwrap_or_default();
    let up_to = |end: usize| {
        let before = sums.get(end).copied().unwrap_or(total);
        let part = u128::from(pages) * u128::from(before);
        u64::try_from(part / u128::from(total.max(1))).unwrap_or(pages)
    };
    match (total, place) {
        (0, 0) => pages,
        (0, _) => 0,
        _ => up_to(place + 1) - up_to(place),
    }
}

/// Returns the id of a partition: the first one's, and the others above it.
fn numbered(first: i64, place: usize) -> i64 {
    first | (place as i64) << 48
}

/// Returns the id of the first or only partition of an index, which is that of its heap or tree too.
pub fn partition_id(table: &TableDefinition, index_id: i32) -> i64 {
    i64::from(table.object_id) << 16 | i64::from(index_id)
}

/// Returns the id of the index that an allocation unit belongs to; None if the table does not have it any
/// more.
pub fn index_id_of(definition: &TableDefinition, table: &Table, unit: UnitId) -> Option<i32> {
    let of = index_of(table, unit)?;
    let rows = index_rows(definition);
    let own = |row: &&IndexRow<'_>| store_index(row).map_or(IndexPages::Rows, IndexPages::Index) == of;
    rows.iter().find(own).map(|row| row.id)
}

/// Returns the name under which the store knows an index's pages; None: they are the table's own.
pub(super) fn store_index<'t>(row: &IndexRow<'t>) -> Option<&'t str> {
    row.name.filter(|_| row.id > 1)
}

fn stored<'c>(context: &'c Context<'_>, table: &TableDefinition) -> Option<(&'c Figures, &'c Arc<Table>)> {
    let figures = context.figures(&table.database)?;
    Some((figures, figures.table(table)?))
}

fn partitions(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        let stored = stored(context, &table);
        let rows = index_rows(&table);
        for (row, counts) in rows.iter().zip(rows_of_indexes(context, &table, &rows)) {
            let layout = stored.and_then(|(_, pages)| match store_index(row) {
                None => Some(&pages.layout),
                Some(index) => pages.index(index).map(|index| &index.tree.layout),
            });
            for (place, count) in counts.into_iter().enumerate() {
                let id = Datum::Int(numbered(partition_id(&table, row.id), place));
                view.add([
                    ("partition_id", id.clone()),
                    ("object_id", int(table.object_id)),
                    ("index_id", int(row.id)),
                    ("partition_number", int(place as i64 + 1)),
                    ("hobt_id", id),
                    ("rows", int(count)),
                    ("data_compression", int(row.compression.number())),
                    ("data_compression_desc", text(row.compression.description())),
                ]);
                if let Some(compression) = layout.map(|layout| layout.compression) {
                    view.set("data_compression", int(compression as u8));
                    view.set("data_compression_desc", Datum::Text(compression.to_string()));
                }
            }
        }
    }
}

fn partition_stats(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        let stored = stored(context, &table);
        let rows = index_rows(&table);
        for (row, counts) in rows.iter().zip(rows_of_indexes(context, &table, &rows)) {
            let whole = stored.map_or(Space::default(), |(figures, pages)| {
                context.facts.noted(space_of(figures, pages, store_index(row)))
            });
            let sums = sums(&counts);
            for (place, count) in counts.iter().enumerate() {
                let space = whole.shared(&sums, place);
                show_statistics(&table, row, space, (place, *count), view);
            }
        }
    }
}

/// Adds one partition's row of `dm_db_partition_stats`: its place from 0, and its rows.
fn show_statistics(
    table: &TableDefinition,
    row: &IndexRow<'_>,
    space: Space,
    (place, count): (usize, i64),
    view: &mut View,
) {
    let pages = |count: u64| Datum::Int(count as i64);
    view.add([
        ("partition_id", Datum::Int(numbered(partition_id(table, row.id), place))),
        ("object_id", int(table.object_id)),
        ("index_id", int(row.id)),
        ("partition_number", int(place as i64 + 1)),
        ("in_row_data_page_count", pages(space.in_row_data)),
        ("in_row_used_page_count", pages(space.in_row_used)),
        ("in_row_reserved_page_count", pages(space.in_row_reserved)),
        ("lob_used_page_count", pages(space.lob_used)),
        ("lob_reserved_page_count", pages(space.lob_reserved)),
        ("row_overflow_used_page_count", pages(space.overflow_used)),
        ("row_overflow_reserved_page_count", pages(space.overflow_reserved)),
        ("used_page_count", pages(space.used())),
        ("reserved_page_count", pages(space.reserved())),
        ("row_count", int(count)),
    ]);
}

/// Lists the allocation units that hold pages, and that of the rows in any case; `group` is the column of
/// their file group.
fn allocation_units(context: &Context<'_>, group: &str, view: &mut View) {
    for table in context.tables() {
        let Some((figures, pages)) = stored(context, &table) else { continue };
        let rows = index_rows(&table);
        let all_counts = rows_of_indexes(context, &table, &rows);
        let units = context.facts.noted(figures.spaces(pages).map_err(store_error));
        for unit in units.iter() {
            let row = rows.iter().zip(&all_counts).find(|(row, _)| {
                index_of(pages, unit.unit)
                    == Some(store_index(row).map_or(IndexPages::Rows, IndexPages::Index))
            });
            let Some((row, counts)) = row.filter(|_| unit.kind == "IN_ROW_DATA" || unit.total_pages > 0)
            else {
                continue;
            };
            let number = match unit.kind {
                "IN_ROW_DATA" => 1,
                "LOB_DATA" => 2,
                _ => 3,
            };
            let sums = sums(counts);
            for place in 0..counts.len() {
                // Its lowest bits are those that the units of one table and index do not use.
                let id = unit.unit.allocation_unit_id() as i64 | place as i64;
                let pages = |pages: u64| Datum::Int(share(pages, &sums, place) as i64);
                view.add([
                    ("allocation_unit_id", Datum::Int(id)),
                    ("type", int(number)),
                    ("type_desc", text(unit.kind)),
                    ("container_id", Datum::Int(numbered(partition_id(&table, row.id), place))),
                    ("total_pages", pages(unit.total_pages)),
                    ("used_pages", pages(unit.used_pages)),
                    ("data_pages", pages(unit.data_pages)),
                ]);
                view.set(group, Datum::Int(i64::from(unit.group)));
            }
        }
    }
}
