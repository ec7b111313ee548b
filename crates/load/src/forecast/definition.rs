//! The target as a forecast needs it.

use tds::{Column, SqlType};

use super::stored_kind::StoredKind;
use crate::{
    client::Client,
    describe::TableDescription,
    error::Error,
    plan::LoadPlan,
    stage::{Compression, IndexKind, IndexShape, ObstacleKind, TableShape},
};

/// The target's columns and indexes as they are stored.
#[derive(Debug)]
pub(super) struct Definition {
    pub columns: Vec<StoredColumn>,
    /// The rows themselves.
    pub table: Structure,
    /// Indexes beside them.
    pub indexes: Vec<Structure>,
    /// The definition itself, for the table of a probe.
    pub shape: TableShape,
    /// The features of the target that the forecast ignores, in words.
    pub notes: Vec<String>,
    /// The server is bulkwire's own, which logs otherwise.
    pub is_embedded: bool,
    /// The log volume at which checkpoints happen.
    pub checkpoints: Checkpoints,
}

/// The checkpoint rule of bulkwire's own server: the first commit after `every_bytes` of log records makes a
/// checkpoint of the database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Checkpoints {
    pub every_bytes: f64,
    /// The bytes of log records since the last checkpoint.
    pub since_bytes: f64,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { every_bytes: f64::INFINITY, since_bytes: 0.0 }
    }
}

/// A column of the table that is stored.
#[derive(Debug)]
pub(super) struct StoredColumn {
    pub name: String,
    pub kind: StoredKind,
    pub is_nullable: bool,
    pub ignores_case: bool,
    pub source: ColumnSource,
}

/// The origin of a stored column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnSource {
    /// From this column of the stream.
    Loaded(usize),
    /// The server counts.
    Counted,
    /// NULL, a default or an expression: taken as NULL.
    Absent,
}

/// A heap, a clustered tree or an index.
#[derive(Debug)]
pub(super) struct Structure {
    pub name: String,
    /// Columns of the key with "descending"; none: a heap.
    pub key: Vec<(usize, bool)>,
    pub included: Vec<usize>,
    pub is_unique: bool,
    pub fill_percent: u8,
    pub compression: Compression,
    /// The column that a filter `IS NOT NULL` asks for.
    pub not_null: Option<usize>,
}

impl Definition {
    pub fn read(client: &mut Client, target: &TableDescription, plan: &LoadPlan) -> Result<Self, Error> {
        let refuse = |reason: &str| Err(Error::NoForecast { reason: reason.to_owned() });
        if target.is_view {
            return refuse("the target is a view");
        }
        let shape = TableShape::read(client, &target.name)?;
        for obstacle in &shape.obstacles {
            match obstacle.kind {
                ObstacleKind::TemporaryTable => return refuse("the target is a temporary table"),
                ObstacleKind::OtherDatabase => {
                    return refuse("the target is in another database than the connection");
                }
                _ => {}
            }
        }
        let is_columnstore = |index: &IndexShape| {
            matches!(index.kind, IndexKind::ClusteredColumnstore | IndexKind::NonclusteredColumnstore)
        };
        if shape.indexes.iter().any(is_columnstore) {
            return refuse("the target has a columnstore, and how small that becomes is not known before");
        }
        let mut notes = Vec::new();
        if shape.columns.iter().any(|column| column.is_sparse) {
            notes.push("sparse columns are taken for ordinary ones".to_owned());
        }
        if target.partitions > 1 {
            notes.push("partitions are taken for one table".to_owned());
        }
        let stored = |name: &str| {
            let shape = shape.columns.iter().find(|column| column.name == name);
            shape.is_none_or(|column| column.computed.as_ref().is_none_or(|computed| computed.is_persisted))
        };
        let mut unknown = Vec::new();
        let columns: Vec<StoredColumn> = target
            .columns
            .iter()
            .filter(|column| stored(&column.column.name))
            .map(|described| {
                let column = &described.column;
                let loaded = |loaded: &Column| loaded.name == column.name;
                let source = match plan.rows.declared_columns().iter().position(loaded) {
                    Some(position) => ColumnSource::Loaded(position),
                    None if described.is_identity => ColumnSource::Counted,
                    None => {
                        if (described.has_default || described.is_computed)
                            && *column.sql_type() != SqlType::RowVersion
                        {
                            unknown.push(column.name.clone());
                        }
                        ColumnSource::Absent
                    }
                };
                StoredColumn {
                    name: column.name.clone(),
                    kind: StoredKind::of(column.sql_type()),
                    is_nullable: column.flags.is_nullable(),
                    ignores_case: column
                        .type_info
                        .collation
                        .is_some_and(|collation| !collation.is_binary() && !collation.case_sensitive()),
                    source,
                }
            })
            .collect();
        if !unknown.is_empty() {
            notes.push(format!("what the server makes of {} is taken for NULL", unknown.join(", ")));
        }
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let structure = |index: &IndexShape| {
            let key = index.key.iter().filter_map(|(name, descending)| Some((place(name)?, *descending)));
            let not_null = index.filter.as_deref().and_then(not_null_column).and_then(place);
            Structure {
                name: index.name.clone(),
                key: key.collect(),
                included: index.included.iter().filter_map(|name| place(name)).collect(),
                is_unique: index.is_unique,
                fill_percent: if index.fill_factor == 0 { 100 } else { index.fill_factor },
                compression: index.compression,
                not_null,
            }
        };
        let table = match shape.clustered() {
            Some(index) => structure(index),
            None => Structure {
                name: String::new(),
                key: Vec::new(),
                included: Vec::new(),
                is_unique: false,
                fill_percent: 100,
                compression: shape.heap_compression,
                not_null: None,
            },
        };
        let others = shape.indexes.iter().filter(|index| index.kind == IndexKind::Nonclustered);
        let indexes: Vec<Structure> = others.clone().map(structure).collect();
        for (index, structure) in others.zip(&indexes) {
            if index.filter.is_some() && structure.not_null.is_none() {
                notes.push(format!("index {} is taken to have all rows, whatever its filter", index.name));
            }
        }
        let is_embedded = is_embedded(client);
        let checkpoints = if is_embedded { checkpoints(client) } else { None };
        let checkpoints = checkpoints.unwrap_or_default();
        Ok(Self { columns, table, indexes, shape, notes, is_embedded, checkpoints })
    }

    pub fn is_heap(&self) -> bool {
        self.table.key.is_empty()
    }
}

/// Returns the column of a filter `([column] IS NOT NULL)`.
fn not_null_column(filter: &str) -> Option<&str> {
    let mut filter = filter.trim();
    while let Some(inner) = filter.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        filter = inner.trim();
    }
    let (column, rest) = filter.strip_prefix('[')?.split_once(']')?;
    rest.trim().eq_ignore_ascii_case("IS NOT NULL").then_some(column)
}

/// Returns true if the server has the system views of bulkwire's own server.
fn is_embedded(client: &mut Client) -> bool {
    let found = client.query_values("SELECT OBJECT_ID(N'sys.dm_bulkwire_loads') AS id");
    let id = found.ok().and_then(|tables| tables.first()?.rows.first()?.first().cloned());
    id.is_some_and(|id| id != tds::Value::Null)
}

/// Asks the server for the database's checkpoint rule.
fn checkpoints(client: &mut Client) -> Option<Checkpoints> {
    let query = "SELECT checkpoint_log_bytes, log_bytes_since_checkpoint FROM sys.dm_bulkwire_checkpoints";
    let tables = client.query_values(query).ok()?;
    match tables.first()?.rows.first()?.as_slice() {
        [tds::Value::BigInt(every), tds::Value::BigInt(since)] if *every > 0 => {
            Some(Checkpoints { every_bytes: *every as f64, since_bytes: *since as f64 })
        }
        _ => None,
    }
}
