//! Partitions, allocation units and their pages.
//!
//! A table or index has one partition. Pages are those of the store's last commit.

use std::sync::Arc;

use databases::catalogue::TableDefinition;
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
    /// In use, maps and upper levels of a tree among them.
    pub in_row_used: u64,
    /// Of its extents, and its maps.
    pub in_row_reserved: u64,
    /// Large values: in use.
    pub lob_used: u64,
    /// The same, reserved.
    pub lob_reserved: u64,
    /// Values moved out of long rows: in use.
    pub overflow_used: u64,
    /// The same, reserved.
    pub overflow_reserved: u64,
}

impl Space {
    /// All in use.
    pub fn used(self) -> u64 {
        self.in_row_used + self.lob_used + self.overflow_used
    }

    /// All reserved.
    pub fn reserved(self) -> u64 {
        self.in_row_reserved + self.lob_reserved + self.overflow_reserved
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

/// Pages of a table's rows (`index` None), or of one of its nonclustered indexes.
///
/// Errors: maps of pages that cannot be read.
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

/// An index's only partition, and its heap or tree.
pub fn partition_id(table: &TableDefinition, index_id: i32) -> i64 {
    i64::from(table.object_id) << 16 | i64::from(index_id)
}

/// The id of the index that an allocation unit belongs to; None if the table does not have it any more.
pub fn index_id_of(definition: &TableDefinition, table: &Table, unit: UnitId) -> Option<i32> {
    let of = index_of(table, unit)?;
    let rows = index_rows(definition);
    let own = |row: &&IndexRow<'_>| store_index(row).map_or(IndexPages::Rows, IndexPages::Index) == of;
    rows.iter().find(own).map(|row| row.id)
}

/// The name under which the store knows an index's pages; None: they are the table's own.
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
        for row in index_rows(&table) {
            let id = Datum::Int(partition_id(&table, row.id));
            view.add([
                ("partition_id", id.clone()),
                ("object_id", int(table.object_id)),
                ("index_id", int(row.id)),
                ("hobt_id", id),
                ("rows", int((context.rows)(table.object_id))),
                ("data_compression", int(row.compression.number())),
                ("data_compression_desc", text(row.compression.description())),
            ]);
            let Some((_, pages)) = stored else { continue };
            let layout = match store_index(&row) {
                None => Some(&pages.layout),
                Some(index) => pages.index(index).map(|index| &index.tree.layout),
            };
            if let Some(compression) = layout.map(|layout| layout.compression) {
                view.set("data_compression", int(compression as u8));
                view.set("data_compression_desc", Datum::Text(compression.to_string()));
            }
        }
    }
}

fn partition_stats(context: &Context<'_>, view: &mut View) {
    for table in context.tables() {
        let stored = stored(context, &table);
        for row in index_rows(&table) {
            let space = stored.map_or(Space::default(), |(figures, pages)| {
                context.facts.noted(space_of(figures, pages, store_index(&row)))
            });
            let pages = |count: u64| Datum::Int(count as i64);
            view.add([
                ("partition_id", Datum::Int(partition_id(&table, row.id))),
                ("object_id", int(table.object_id)),
                ("index_id", int(row.id)),
                ("in_row_data_page_count", pages(space.in_row_data)),
                ("in_row_used_page_count", pages(space.in_row_used)),
                ("in_row_reserved_page_count", pages(space.in_row_reserved)),
                ("lob_used_page_count", pages(space.lob_used)),
                ("lob_reserved_page_count", pages(space.lob_reserved)),
                ("row_overflow_used_page_count", pages(space.overflow_used)),
                ("row_overflow_reserved_page_count", pages(space.overflow_reserved)),
                ("used_page_count", pages(space.used())),
                ("reserved_page_count", pages(space.reserved())),
                ("row_count", int((context.rows)(table.object_id))),
            ]);
        }
    }
}

/// Those that hold pages, and that of the rows in any case; `group` is the column of their file group.
fn allocation_units(context: &Context<'_>, group: &str, view: &mut View) {
    for table in context.tables() {
        let Some((figures, pages)) = stored(context, &table) else { continue };
        let rows = index_rows(&table);
        let units = context.facts.noted(figures.spaces(pages).map_err(store_error));
        for unit in units.iter() {
            let row = rows.iter().find(|row| {
                index_of(pages, unit.unit)
                    == Some(store_index(row).map_or(IndexPages::Rows, IndexPages::Index))
            });
            let Some(row) = row.filter(|_| unit.kind == "IN_ROW_DATA" || unit.total_pages > 0) else {
                continue;
            };
            let number = match unit.kind {
                "IN_ROW_DATA" => 1,
                "LOB_DATA" => 2,
                _ => 3,
            };
            let id = Datum::Int(unit.unit.allocation_unit_id() as i64);
            view.add([
                ("allocation_unit_id", id),
                ("type", int(number)),
                ("type_desc", text(unit.kind)),
                ("container_id", Datum::Int(partition_id(&table, row.id))),
                ("total_pages", Datum::Int(unit.total_pages as i64)),
                ("used_pages", Datum::Int(unit.used_pages as i64)),
                ("data_pages", Datum::Int(unit.data_pages as i64)),
            ]);
            view.set(group, Datum::Int(i64::from(unit.group)));
        }
    }
}
