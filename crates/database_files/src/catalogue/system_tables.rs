//! Rows of the system tables. Fixed columns stand at the same offsets in every version; later versions only append.

use std::cell::RefCell;
use std::collections::HashMap;

use super::{
    boot::{Boot, NEW_CATALOGUE},
    units::{SYSROWSETS, UnitPages, Units, is_row},
};
use crate::{
    error::{Result, malformed},
    image::Image,
    little_endian::{i16_at, i32_at, i64_at, u8_at, u16_at, u32_at, utf16},
    pages::PageAddress,
    records::{FixedVar, LargeValues, Pointer},
};

/// Object ids of the system tables.
mod id {
    pub const COLUMN_LAYOUTS: i32 = 3;
    pub const ROWSET_COLUMNS: i32 = 4;
    pub const HOBT_COLUMNS: i32 = 13;
    pub const OBJECTS: i32 = 34;
    pub const COLUMNS: i32 = 41;
    pub const INDEXES: i32 = 54;
    pub const INDEX_COLUMNS: i32 = 55;
    pub const VALUES: i32 = 60;
    pub const CLASSES: i32 = 64;
    pub const SINGLE_REFERENCES: i32 = 74;
    pub const MULTIPLE_REFERENCES: i32 = 75;
}

/// A row of `sysrowsets`: an index, a heap, or a partition of one.
#[derive(Debug, Clone)]
pub(crate) struct RowsetRow {
    pub id: i64,
    pub object: i32,
    pub index: i32,
    pub rows: i64,
    /// 0 none, 1 row, 2 page, 3 and 4 columnstore.
    pub compression: u8,
}

/// The place of a column in the records of a rowset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnLayout {
    /// The column's number; other bits say that it was dropped or is internal.
    pub column: u32,
    pub status: u32,
    /// Offset of a fixed column; −1, −2, … for variable ones.
    pub offset: i16,
    pub null_bit: u16,
    pub bit: u8,
}

/// A row of `sysschobjs`.
#[derive(Debug, Clone)]
pub(crate) struct ObjectRow {
    pub id: i32,
    pub schema: i32,
    pub status: u32,
    pub kind: [u8; 2],
    pub parent: i32,
    pub name: String,
}

/// A row of `syscolpars`.
#[derive(Debug, Clone)]
pub(crate) struct ColumnRow {
    pub object: i32,
    pub column: u32,
    pub system_type: u8,
    pub user_type: i32,
    pub length: i16,
    pub precision: u8,
    pub scale: u8,
    pub collation: u32,
    pub status: u32,
    pub default: i32,
    pub name: String,
    pub identity: Option<(i64, i64)>,
}

/// A row of `sysidxstats`.
#[derive(Debug, Clone)]
pub(crate) struct IndexRow {
    pub object: i32,
    pub index: i32,
    pub status: u32,
    pub fill_factor: u8,
    pub kind: u8,
    pub name: String,
}

/// A row of `sysiscols`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexColumnRow {
    pub object: i32,
    pub index: i32,
    pub ordinal: i32,
    pub status: u32,
    pub column: u32,
}

/// A row of `syssingleobjrefs` or `sysmultiobjrefs`: what an object depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReferenceRow {
    pub class: u8,
    pub object: i32,
    pub part: i32,
    pub to: i32,
    pub to_part: i32,
}

/// The system tables that describe tables.
pub(crate) struct SystemTables {
    pub rowsets: Vec<RowsetRow>,
    pub layouts: HashMap<i64, Vec<ColumnLayout>>,
    pub objects: Vec<ObjectRow>,
    pub columns: HashMap<i32, Vec<ColumnRow>>,
    pub indexes: HashMap<i32, Vec<IndexRow>>,
    pub index_columns: HashMap<i32, Vec<IndexColumnRow>>,
    pub schemas: HashMap<i32, String>,
    /// Texts of defaults, checks and computed columns, by object and part.
    pub texts: HashMap<(i32, i32), String>,
    pub references: Vec<ReferenceRow>,
    /// Pages that were read.
    pub pages: Vec<PageAddress>,
}

/// The class of a schema in `sysclsobjs`.
const SCHEMA: u8 = 50;
/// The class of a definition in `sysobjvalues`.
const DEFINITION: u8 = 1;

impl SystemTables {
    /// Reads the tables.
    ///
    /// # Errors
    /// One of their pages is damaged.
    pub(crate) fn read(image: &Image, boot: &Boot, units: &Units) -> Result<Self> {
        let has_compression = boot.version >= NEW_CATALOGUE;
        let reader = Reader { image, units, pages: RefCell::default() };
        let rowsets = reader.rowset(SYSROWSETS, |row| {
            Some(RowsetRow {
                id: row.i64(4)?,
                object: row.i32(13)?,
                index: row.i32(17)?,
                rows: row.i64(31)?,
                compression: if has_compression { row.u8(39)? } else { 0 },
            })
        })?;
        let tables = Tables { reader: &reader, rowsets: &rowsets };
        let layouts = match has_compression {
            true => tables.layouts()?,
            false => tables.layouts_of_2005()?,
        };
        let classes = tables.rows(id::CLASSES, |row| Some((row.u8(4)?, row.i32(5)?, row.text(0)?)))?;
        let values = tables.rows(id::VALUES, |row| {
            Some((row.u8(4)?, (row.i32(5)?, row.i32(9)?), definition_text(&row.bytes(1)?)))
        })?;
        let mut references = tables.references(id::SINGLE_REFERENCES)?;
        references.extend(tables.references(id::MULTIPLE_REFERENCES)?);
        let objects = tables.objects()?;
        let columns = grouped(tables.columns()?, |column| column.object);
        let indexes = grouped(tables.indexes()?, |index| index.object);
        let index_columns = grouped(tables.index_columns()?, |column| column.object);
        Ok(Self {
            layouts,
            objects,
            columns,
            indexes,
            index_columns,
            pages: reader.pages.take(),
            schemas: classes
                .into_iter()
                .filter(|(class, ..)| *class == SCHEMA)
                .map(|(_, id, name)| (id, name))
                .collect(),
            texts: values
                .into_iter()
                .filter(|(class, ..)| *class == DEFINITION)
                .map(|(_, key, text)| (key, text))
                .collect(),
            references,
            rowsets,
        })
    }
}

/// Returns the text of a definition: one byte for each letter, or UTF-16 if letters need it.
fn definition_text(bytes: &[u8]) -> String {
    match bytes.contains(&0) {
        true => utf16(bytes),
        false => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

impl SystemTables {
    /// Returns the name of a column.
    pub(crate) fn column_name(&self, object: i32, column: i32) -> Option<String> {
        let columns = self.columns.get(&object)?;
        let found = columns.iter().find(|of| i32::try_from(of.column) == Ok(column))?;
        Some(found.name.clone())
    }
}

fn grouped<K: std::hash::Hash + Eq, T>(rows: Vec<T>, key: impl Fn(&T) -> K) -> HashMap<K, Vec<T>> {
    let mut groups: HashMap<K, Vec<T>> = HashMap::new();
    rows.into_iter().for_each(|row| groups.entry(key(&row)).or_default().push(row));
    groups
}

/// Reads system tables by their object ids.
struct Tables<'a> {
    reader: &'a Reader<'a>,
    rowsets: &'a [RowsetRow],
}

impl Tables<'_> {
    fn rows<T>(&self, object: i32, row: impl Fn(&mut Row<'_, '_>) -> Option<T>) -> Result<Vec<T>> {
        let rowset = self.rowsets.iter().find(|rowset| rowset.object == object && rowset.index <= 1);
        match rowset {
            Some(rowset) => self.reader.rowset(rowset.id, row),
            None => Ok(Vec::new()),
        }
    }

    fn layouts(&self) -> Result<HashMap<i64, Vec<ColumnLayout>>> {
        let rows = self.rows(id::COLUMN_LAYOUTS, |row| {
            // The low halves are the leaf's, the high halves those of upper pages.
            let layout = ColumnLayout {
                column: row.u32(12)?,
                status: row.u32(40)?,
                offset: row.i16(44)?,
                null_bit: row.u16(48)?,
                bit: row.u8(52)?,
            };
            Some((row.i64(4)?, layout))
        })?;
        Ok(grouped(rows, |(rowset, _)| *rowset).into_iter().map(without_key).collect())
    }

    /// Reads the layouts of SQL Server 2005, which stand in two tables.
    fn layouts_of_2005(&self) -> Result<HashMap<i64, Vec<ColumnLayout>>> {
        let names = self.rows(id::ROWSET_COLUMNS, |row| {
            Some(((row.i64(4)?, row.u32(16)?), (row.u32(12)?, row.u32(20)?)))
        })?;
        let names: HashMap<(i64, u32), (u32, u32)> = names.into_iter().collect();
        let rows = self.rows(id::HOBT_COLUMNS, |row| {
            let key = (row.i64(4)?, row.u32(12)?);
            let (column, status) = names.get(&key).copied().unwrap_or((0, 0));
            let layout = ColumnLayout {
                column,
                status,
                offset: row.i16(31)?,
                bit: row.u8(35)?,
                null_bit: row.u16(37)?,
            };
            Some((key.0, layout))
        })?;
        Ok(grouped(rows, |(rowset, _)| *rowset).into_iter().map(without_key).collect())
    }

    fn objects(&self) -> Result<Vec<ObjectRow>> {
        self.rows(id::OBJECTS, |row| {
            Some(ObjectRow {
                id: row.i32(4)?,
                schema: row.i32(8)?,
                status: row.u32(13)?,
                kind: [row.u8(17)?, row.u8(18)?],
                parent: row.i32(19)?,
                name: row.text(0)?,
            })
        })
    }

    fn columns(&self) -> Result<Vec<ColumnRow>> {
        let rows = self.rows(id::COLUMNS, |row| {
            let identity = row.bytes(1)?;
            let number = row.u16(8)?;
            let column = ColumnRow {
                object: row.i32(4)?,
                column: row.u32(10)?,
                system_type: row.u8(14)?,
                user_type: row.i32(15)?,
                length: row.i16(19)?,
                precision: row.u8(21)?,
                scale: row.u8(22)?,
                collation: row.u32(23)?,
                status: row.u32(27)?,
                default: row.i32(37)?,
                name: row.text(0)?,
                identity: i32_at(&identity, 4)
                    .zip(i32_at(&identity, 8))
                    .map(|(step, seed)| (seed.into(), step.into())),
            };
            Some((number, column))
        })?;
        // Other numbers are parameters of procedures.
        let mut columns: Vec<ColumnRow> =
            rows.into_iter().filter(|(number, _)| *number == 0).map(|(_, column)| column).collect();
        columns.sort_by_key(|column| (column.object, column.column));
        Ok(columns)
    }

    fn indexes(&self) -> Result<Vec<IndexRow>> {
        self.rows(id::INDEXES, |row| {
            Some(IndexRow {
                object: row.i32(4)?,
                index: row.i32(8)?,
                status: row.u32(12)?,
                fill_factor: row.u8(20)?,
                kind: row.u8(21)?,
                name: row.text(0)?,
            })
        })
    }

    fn index_columns(&self) -> Result<Vec<IndexColumnRow>> {
        let mut columns = self.rows(id::INDEX_COLUMNS, |row| {
            Some(IndexColumnRow {
                object: row.i32(4)?,
                index: row.i32(8)?,
                ordinal: row.i32(12)?,
                status: row.u32(16)?,
                column: row.u32(20)?,
            })
        })?;
        columns.sort_by_key(|column| (column.object, column.index, column.ordinal));
        Ok(columns)
    }

    fn references(&self, object: i32) -> Result<Vec<ReferenceRow>> {
        self.rows(object, |row| {
            Some(ReferenceRow {
                class: row.u8(4)?,
                object: row.i32(5)?,
                part: row.i32(9)?,
                to: row.i32(13)?,
                to_part: row.i32(17).unwrap_or_default(),
            })
        })
    }
}

fn without_key<K, T>((key, rows): (K, Vec<(K, T)>)) -> (K, Vec<T>) {
    (key, rows.into_iter().map(|(_, row)| row).collect())
}

/// Reads the rows of a rowset.
struct Reader<'a> {
    image: &'a Image,
    units: &'a Units,
    pages: RefCell<Vec<PageAddress>>,
}

impl Reader<'_> {
    /// Makes something of each row. A row that is too short is an error.
    fn rowset<T>(&self, rowset: i64, make: impl Fn(&mut Row<'_, '_>) -> Option<T>) -> Result<Vec<T>> {
        let Some(unit) = self.units.of_rows(rowset) else { return Ok(Vec::new()) };
        let mut large = LargeValues::new(self.image);
        let mut rows = Vec::new();
        let (maps, pages) = UnitPages::list_all(self.image, unit)?;
        self.pages.borrow_mut().extend(maps.iter().chain(&pages));
        for address in pages {
            let page = self.image.page(address)?;
            if page.kind() != crate::pages::kind::DATA {
                continue;
            }
            for slot in 0..page.slots() {
                let record = page.record(slot).map_err(|slot| self.image.bad_slot(address, slot))?;
                let Some(bytes) = record.filter(|bytes| is_row(bytes)) else { continue };
                rows.push(self.row(bytes, &mut large, &make, address, slot)?);
            }
        }
        Ok(rows)
    }

    fn row<T>(
        &self,
        bytes: &[u8],
        large: &mut LargeValues<'_>,
        make: &impl Fn(&mut Row<'_, '_>) -> Option<T>,
        address: PageAddress,
        slot: u16,
    ) -> Result<T> {
        let wrong =
            || self.image.error(address, malformed(format!("slot {slot} is no row of its system table")));
        let record = FixedVar::parse(bytes).ok_or_else(wrong)?;
        let mut row = Row { record, large, failed: None };
        let made = make(&mut row);
        match row.failed {
            Some(error) => Err(error),
            None => made.ok_or_else(wrong),
        }
    }
}

/// A row of a system table. Offsets count from the record's start.
struct Row<'a, 'b> {
    record: FixedVar<'a>,
    large: &'a mut LargeValues<'b>,
    failed: Option<crate::error::FileError>,
}

impl Row<'_, '_> {
    fn u8(&self, at: usize) -> Option<u8> {
        u8_at(self.record.fixed(at, 1)?, 0)
    }

    fn u16(&self, at: usize) -> Option<u16> {
        u16_at(self.record.fixed(at, 2)?, 0)
    }

    fn i16(&self, at: usize) -> Option<i16> {
        i16_at(self.record.fixed(at, 2)?, 0)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        u32_at(self.record.fixed(at, 4)?, 0)
    }

    fn i32(&self, at: usize) -> Option<i32> {
        i32_at(self.record.fixed(at, 4)?, 0)
    }

    fn i64(&self, at: usize) -> Option<i64> {
        i64_at(self.record.fixed(at, 8)?, 0)
    }

    /// Returns the bytes of a variable column, from its large value if it is one.
    fn bytes(&mut self, ordinal: u16) -> Option<Vec<u8>> {
        let (bytes, is_pointer) = self.record.variable(ordinal)?;
        if !is_pointer {
            return Some(bytes.to_vec());
        }
        let mut value = Vec::new();
        match self.large.append(Pointer::Root(bytes), &mut value) {
            Ok(_) => Some(value),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    fn text(&mut self, ordinal: u16) -> Option<String> {
        self.bytes(ordinal).map(|bytes| utf16(&bytes))
    }
}
