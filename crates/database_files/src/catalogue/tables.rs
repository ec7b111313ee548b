//! User tables, put together from the system tables.

use std::collections::HashMap;

use super::{
    boot::Boot,
    layout::{self, RowColumn},
    system_tables::{ColumnRow, IndexRow, ObjectRow, RowsetRow, SystemTables},
    types::{collation, sql_type},
};
use crate::definition::{
    Action, Check, Column, Computed, Default, ForeignKey, Identity, Index, KeyKind, Table,
};

/// A table, and the places of its rows.
#[derive(Debug, Clone)]
pub(crate) struct TableRows {
    pub table: Table,
    /// The heap or clustered index of the table, by partitions.
    pub rowsets: Vec<Rowset>,
}

/// A partition of a table.
#[derive(Debug, Clone)]
pub(crate) struct Rowset {
    pub id: i64,
    /// Places of the table's stored columns.
    pub columns: Vec<RowColumn>,
    /// 0 none, 1 row, 2 page.
    pub compression: u8,
}

/// Bits of a column's status.
mod column_status {
    pub const NOT_NULL: u32 = 1;
    pub const IDENTITY: u32 = 4;
    pub const ROWGUIDCOL: u32 = 8;
    pub const COMPUTED: u32 = 0x10;
    pub const SPARSE: u32 = 0x0100_0000;
    pub const COLUMN_SET: u32 = 0x0200_0000;
}

/// Bits of an index's status.
mod index_status {
    pub const INDEX: u32 = 2;
    pub const UNIQUE: u32 = 8;
    pub const PRIMARY_KEY: u32 = 0x20;
    pub const UNIQUE_CONSTRAINT: u32 = 0x40;
}

/// Classes of references in `sys.syssingleobjrefs` and `sys.sysmultiobjrefs`, found in files: they are not published.
mod reference_class {
    /// From a foreign key to the table that it refers to.
    pub const KEY_TO_TABLE: u8 = 27;
    /// From a foreign key to a column of its own table, by their order.
    pub const KEY_COLUMN: u8 = 28;
    /// From a foreign key to a column of the other table.
    pub const KEY_TO_COLUMN: u8 = 29;
}

/// The bit of a constraint whose name the server made up, in the status of `sys.sysschobjs`.
const SYSTEM_NAMED: u32 = 0x4;
/// The bit of a constraint that is not trusted: rows may not obey it.
const NOT_TRUSTED: u32 = 0x400;

/// The id of the schema `sys`.
const SYS: i32 = 4;

/// Makes the tables of users, in the order of their names.
pub(crate) fn tables(system: &SystemTables, boot: &Boot) -> Vec<TableRows> {
    let mut children: HashMap<i32, Vec<&ObjectRow>> = HashMap::new();
    for object in system.objects.iter().filter(|object| object.parent != 0) {
        children.entry(object.parent).or_default().push(object);
    }
    let is_table = |object: &&ObjectRow| &object.kind == b"U " && object.schema != SYS;
    let mut tables: Vec<TableRows> = system
        .objects
        .iter()
        .filter(is_table)
        .filter_map(|object| {
            let children = children.get(&object.id).map(Vec::as_slice).unwrap_or_default();
            Maker { system, boot, object, children }.table()
        })
        .collect();
    tables.sort_by(|a, b| (&a.table.schema, &a.table.name).cmp(&(&b.table.schema, &b.table.name)));
    tables
}

/// Returns the reason why the storage of a table is not read, if so.
fn storage_problem(rowsets: &[&RowsetRow]) -> Option<String> {
    let has_rows = |rowset: &&&RowsetRow| rowset.rows > 0;
    let compression = rowsets.iter().filter(has_rows).map(|rowset| rowset.compression).max()?;
    match compression {
        ..=2 => None,
        _ => Some("its rows are a columnstore, which is not read".to_owned()),
    }
}

/// Makes one table.
struct Maker<'a> {
    system: &'a SystemTables,
    boot: &'a Boot,
    object: &'a ObjectRow,
    /// Constraints of the table.
    children: &'a [&'a ObjectRow],
}

impl Maker<'_> {
    /// Returns the table; None for one without a place for rows, such as those of traces.
    fn table(&self) -> Option<TableRows> {
        let rowsets: Vec<_> = self
            .system
            .rowsets
            .iter()
            .filter(|rowset| rowset.object == self.object.id && rowset.index <= 1)
            .collect();
        rowsets.first()?;
        let rows = self.system.columns.get(&self.object.id).map(Vec::as_slice).unwrap_or_default();
        let (mut columns, mut unreadable) = (Vec::new(), None);
        for row in rows {
            let (column, problem) = self.column(row);
            columns.push(column);
            let name = &row.name;
            unreadable = unreadable.or(problem.map(|problem| format!("column {name}: {problem}")));
        }
        unreadable = unreadable.or_else(|| storage_problem(&rowsets));
        let mut places = Vec::new();
        for rowset in &rowsets {
            let stored = rows.iter().filter(|row| row.status & column_status::COMPUTED == 0);
            let layouts = self.system.layouts.get(&rowset.id).map(Vec::as_slice).unwrap_or_default();
            let found: Option<Vec<RowColumn>> = stored.map(|row| layout::find(layouts, row.column)).collect();
            match found {
                Some(columns) => {
                    places.push(Rowset { id: rowset.id, columns, compression: rowset.compression });
                }
                None => {
                    unreadable =
                        unreadable.or(Some("its catalogue does not say where its columns stand".to_owned()))
                }
            }
        }
        let counted: i64 = rowsets.iter().map(|rowset| rowset.rows).sum();
        let mut left_out = Vec::new();
        let foreign_keys = self.foreign_keys(&mut left_out);
        let table = Table {
            schema: self.system.schemas.get(&self.object.schema).cloned().unwrap_or_else(|| "dbo".to_owned()),
            name: self.object.name.clone(),
            columns,
            rows: u64::try_from(counted).ok(),
            bytes: None,
            indexes: self.indexes(rows),
            checks: self.checks(),
            foreign_keys,
            left_out,
            unreadable,
        };
        Some(TableRows { table, rowsets: places })
    }

    /// Makes a column, and says why its values are not read, if so.
    fn column(&self, row: &ColumnRow) -> (Column, Option<String>) {
        let (sql_type, mut problem) = match sql_type(row) {
            Ok(sql_type) => (sql_type, None),
            // A stand-in: the table is not read.
            Err(problem) => (tds::SqlType::SqlVariant, Some(problem)),
        };
        let number = if row.collation == 0 { self.boot.collation } else { row.collation };
        let collation = sql_type.is_character().then(|| collation(number)).flatten();
        if sql_type.is_character() && !sql_type.is_unicode() && collation.is_none() {
            problem = problem.or(Some(format!("the collation number {number:08x} is unknown")));
        }
        if row.status & (column_status::SPARSE | column_status::COLUMN_SET) != 0 {
            problem = problem.or(Some("sparse columns are not read".to_owned()));
        }
        let is_computed = row.status & column_status::COMPUTED != 0;
        let text = self.system.texts.get(&(row.object, row.column as i32)).cloned();
        let column = Column {
            name: row.name.clone(),
            sql_type,
            is_nullable: row.status & column_status::NOT_NULL == 0,
            collation,
            identity: (row.status & column_status::IDENTITY != 0).then(|| {
                let (seed, increment) = row.identity.unwrap_or((1, 1));
                Identity { seed: seed.to_string(), increment: increment.to_string() }
            }),
            computed: is_computed
                .then(|| Computed { definition: text.unwrap_or_default(), is_persisted: false }),
            default: self.default(row),
            is_rowguidcol: row.status & column_status::ROWGUIDCOL != 0,
            is_sparse: row.status & column_status::SPARSE != 0,
        };
        (column, problem.filter(|_| !is_computed))
    }

    fn default(&self, row: &ColumnRow) -> Option<Default> {
        if row.default == 0 {
            return None;
        }
        let definition = self.system.texts.get(&(row.default, 0))?.clone();
        let name = self.children.iter().find(|child| child.id == row.default)?.name.clone();
        Some(Default { name: Some(name), definition })
    }

    fn checks(&self) -> Vec<Check> {
        let of_checks = self.children.iter().filter(|child| &child.kind == b"C ");
        of_checks
            .filter_map(|child| {
                let definition = self.system.texts.get(&(child.id, 0))?.clone();
                Some(Check {
                    name: Some(child.name.clone()),
                    definition,
                    is_not_trusted: child.status & NOT_TRUSTED != 0,
                    is_disabled: false,
                })
            })
            .collect()
    }

    /// Makes the foreign keys: the tables of references say which columns refer to which.
    fn foreign_keys(&self, left_out: &mut Vec<String>) -> Vec<ForeignKey> {
        let of_keys = self.children.iter().filter(|child| &child.kind == b"F ");
        let mut keys = Vec::new();
        for child in of_keys {
            match self.foreign_key(child) {
                Some(key) if child.status & !(SYSTEM_NAMED | NOT_TRUSTED) == 0 => keys.push(key),
                // Other bits say what a deletion does, or that the key is out of use.
                _ => left_out.push(format!("foreign key {}", child.name)),
            }
        }
        keys
    }

    fn foreign_key(&self, key: &ObjectRow) -> Option<ForeignKey> {
        let of_key = |class: u8| {
            let mut rows: Vec<_> = self
                .system
                .references
                .iter()
                .filter(|reference| reference.object == key.id && reference.class == class)
                .collect();
            rows.sort_by_key(|reference| reference.part);
            rows
        };
        let to = of_key(reference_class::KEY_TO_TABLE).first()?.to;
        let to = self.system.objects.iter().find(|object| object.id == to)?;
        let names = |class: u8| -> Option<Vec<String>> {
            let rows = of_key(class);
            rows.iter().map(|reference| self.system.column_name(reference.to, reference.to_part)).collect()
        };
        let (columns, to_columns) =
            (names(reference_class::KEY_COLUMN)?, names(reference_class::KEY_TO_COLUMN)?);
        (columns.len() == to_columns.len() && !columns.is_empty()).then(|| ForeignKey {
            name: Some(key.name.clone()),
            columns,
            to_schema: self.system.schemas.get(&to.schema).cloned().unwrap_or_else(|| "dbo".to_owned()),
            to_table: to.name.clone(),
            to_columns,
            on_delete: Action::None,
            on_update: Action::None,
            is_not_trusted: key.status & NOT_TRUSTED != 0,
            is_disabled: false,
        })
    }

    fn indexes(&self, columns: &[ColumnRow]) -> Vec<Index> {
        let indexes = self.system.indexes.get(&self.object.id).map(Vec::as_slice).unwrap_or_default();
        let real = indexes.iter().filter(|index| index.status & index_status::INDEX != 0 || index.kind == 1);
        let mut indexes: Vec<Index> = real.map(|index| self.index(index, columns)).collect();
        indexes.sort_by_key(|index| !index.is_clustered);
        indexes
    }

    fn index(&self, row: &IndexRow, columns: &[ColumnRow]) -> Index {
        let of_table = self.system.index_columns.get(&self.object.id).map(Vec::as_slice).unwrap_or_default();
        let name = |number: u32| {
            columns.iter().find(|column| column.column == number).map(|column| column.name.clone())
        };
        let (mut key, mut included) = (Vec::new(), Vec::new());
        for part in of_table.iter().filter(|part| part.index == row.index) {
            let Some(name) = name(part.column) else { continue };
            match part.status & 0x10 != 0 {
                true => included.push(name),
                false => key.push((name, part.status & 2 != 0)),
            }
        }
        let has = |bit: u32| row.status & bit != 0;
        Index {
            name: Some(row.name.clone()),
            is_clustered: row.kind == 1,
            is_unique: has(index_status::UNIQUE),
            key_kind: match (has(index_status::PRIMARY_KEY), has(index_status::UNIQUE_CONSTRAINT)) {
                (true, _) => Some(KeyKind::Primary),
                (_, true) => Some(KeyKind::Unique),
                _ => None,
            },
            key,
            included,
            filter: None,
            fill_factor: row.fill_factor,
        }
    }
}
