//! The T-SQL that makes a stage.

use super::shape::{
    CheckShape, ColumnShape, Compression, DataSpace, ForeignKeyShape, IdentityShape, IndexKind, IndexShape,
    KeyKind, Standing, TableShape,
};
use crate::table_name::{TableName, literal, quoted};

/// A name of SQL Server has at most so many UTF-16 units.
const NAME_UNITS_MAX: usize = 128;

/// Adds a suffix to `name`, which is cut if the two are too long together.
pub(crate) fn with_suffix(name: &str, suffix: &str) -> String {
    let room = NAME_UNITS_MAX.saturating_sub(suffix.encode_utf16().count());
    let mut units = 0;
    let kept: String = name
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units <= room
        })
        .collect();
    format!("{kept}{suffix}")
}

/// T-SQL for a table of a given shape under another name. The names of its constraints get a suffix.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    /// The shape that the new table gets.
    pub shape: &'a TableShape,
    /// Name.
    pub table: &'a TableName,
    /// Suffix of the constraints' names: no two constraints of a schema may share a name.
    pub suffix: &'a str,
}

impl Script<'_> {
    /// Writes CREATE TABLE with the columns, their defaults and nothing else.
    pub fn create(&self) -> String {
        let shape = self.shape;
        let columns: Vec<String> = shape.columns.iter().map(|column| self.column(column)).collect();
        let mut text = format!("CREATE TABLE {} (\n    {}\n)", self.table, columns.join(",\n    "));
        if let Some(space) = &shape.space {
            text += &on_space(space);
        }
        if let Some(group) = &shape.large_value_file_group {
            text += &format!(" TEXTIMAGE_ON {}", quoted(group));
        }
        let compressions = data_compression(shape.heap_compression, shape.space.as_ref());
        if shape.clustered().is_none() && !compressions.is_empty() {
            text += &format!(" WITH ({})", compressions.join(", "));
        }
        text
    }

    /// Writes the statements that build keys and indexes, the clustered one first: the others refer to its rows by its
    /// key. Each has a condition, so that a second run builds only the missing ones.
    pub fn indexes(&self) -> Vec<String> {
        let shape = self.shape;
        let clustered = shape.clustered().into_iter();
        let others = shape.indexes.iter().filter(|index| Some(*index) != shape.clustered());
        clustered.chain(others).map(|index| self.index(index)).collect()
    }

    /// Writes the statements that add CHECK and FOREIGN KEY constraints, each with a condition. Rows are checked if the
    /// constraint of the target is trusted.
    pub fn constraints(&self) -> Vec<String> {
        let checks = self.shape.checks.iter().map(|check| self.check(check));
        let foreign_keys = self.shape.foreign_keys.iter().map(|key| self.foreign_key(key));
        let escalation = self
            .shape
            .lock_escalation
            .iter()
            .map(|level| format!("ALTER TABLE {} SET (LOCK_ESCALATION = {level})", self.table));
        checks.chain(foreign_keys).chain(escalation).collect()
    }

    /// Writes the statements that give the table and its constraints the names of the shape, which must be free.
    pub fn rename(&self) -> Vec<String> {
        let schema = self.table.schema.as_deref().unwrap_or("dbo");
        let rename = |old: &str, new: &str| {
            let old = format!("{}.{}", quoted(schema), quoted(old));
            format!("EXEC sp_rename {}, {}, 'OBJECT'", literal(&old), literal(new))
        };
        let shape = self.shape;
        let keys = shape.indexes.iter().filter(|index| index.key_kind.is_some()).map(|index| &index.name);
        let defaults =
            shape.columns.iter().filter_map(|column| column.default.as_ref()).map(|default| &default.name);
        let checks = shape.checks.iter().map(|check| &check.name);
        let foreign_keys = shape.foreign_keys.iter().map(|key| &key.name);
        std::iter::once(rename(&self.table.name, &shape.name.name))
            .chain(
                keys.chain(defaults)
                    .chain(checks)
                    .chain(foreign_keys)
                    .map(|name| rename(&self.constraint_name(name), name)),
            )
            .collect()
    }

    fn constraint_name(&self, name: &str) -> String {
        with_suffix(name, self.suffix)
    }

    fn column(&self, column: &ColumnShape) -> String {
        let name = quoted(&column.name);
        if let Some(computed) = &column.computed {
            let persisted = match (computed.is_persisted, column.is_nullable) {
                (true, true) => " PERSISTED",
                (true, false) => " PERSISTED NOT NULL",
                (false, _) => "",
            };
            return format!("{name} AS {}{persisted}", computed.definition);
        }
        let mut text = format!("{name} {}", column.type_text);
        if let Some(collation) = &column.collation {
            text += &format!(" COLLATE {collation}");
        }
        if column.is_sparse {
            text += " SPARSE";
        }
        if let Some(IdentityShape { seed, increment, is_not_for_replication }) = &column.identity {
            let end = if *is_not_for_replication { " NOT FOR REPLICATION" } else { "" };
            text += &format!(" IDENTITY({seed}, {increment}){end}");
        }
        if column.is_rowguidcol {
            text += " ROWGUIDCOL";
        }
        text += if column.is_nullable { " NULL" } else { " NOT NULL" };
        if let Some(default) = &column.default {
            text += &format!(
                " CONSTRAINT {} DEFAULT {}",
                quoted(&self.constraint_name(&default.name)),
                default.definition
            );
        }
        text
    }

    fn index(&self, index: &IndexShape) -> String {
        let table = self.table;
        let kind = match index.kind {
            IndexKind::Clustered => "CLUSTERED",
            IndexKind::Nonclustered => "NONCLUSTERED",
            IndexKind::ClusteredColumnstore => "CLUSTERED COLUMNSTORE",
            IndexKind::NonclusteredColumnstore => "NONCLUSTERED COLUMNSTORE",
        };
        let key: Vec<String> = index
            .key
            .iter()
            .map(|(name, is_descending)| {
                format!("{}{}", quoted(name), if *is_descending { " DESC" } else { "" })
            })
            .collect();
        let key = key.join(", ");
        let included: Vec<String> = index.included.iter().map(|name| quoted(name)).collect();
        let included = included.join(", ");
        let (name, body) = match index.key_kind {
            Some(key_kind) => {
                let words = match key_kind {
                    KeyKind::Primary => "PRIMARY KEY",
                    KeyKind::Unique => "UNIQUE",
                };
                let name = self.constraint_name(&index.name);
                let body =
                    format!("ALTER TABLE {table} ADD CONSTRAINT {} {words} {kind} ({key})", quoted(&name));
                (name, body)
            }
            None => {
                let unique = if index.is_unique { "UNIQUE " } else { "" };
                let columns = match index.kind {
                    IndexKind::ClusteredColumnstore => String::new(),
                    IndexKind::NonclusteredColumnstore => format!(" ({included})"),
                    _ if included.is_empty() => format!(" ({key})"),
                    _ => format!(" ({key}) INCLUDE ({included})"),
                };
                let filter = index.filter.as_ref().map(|filter| format!(" WHERE {filter}"));
                let filter = filter.unwrap_or_default();
                let body = format!(
                    "CREATE {unique}{kind} INDEX {} ON {table}{columns}{filter}",
                    quoted(&index.name)
                );
                (index.name.clone(), body)
            }
        };
        let space = index.space.as_ref().map(on_space);
        format!(
            "IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID({}) AND name = {})\n{body}{}{}",
            literal(&table.to_string()),
            literal(&name),
            index_options(index),
            space.unwrap_or_default(),
        )
    }

    fn check(&self, check: &CheckShape) -> String {
        let condition = format!("CHECK{} {}", for_replication(check.standing), check.definition);
        self.constraint(&check.name, check.standing, &condition, "sys.check_constraints")
    }

    fn foreign_key(&self, key: &ForeignKeyShape) -> String {
        let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let action = |event: &str, action: &str| match action {
            "" | "NO_ACTION" => String::new(),
            action => format!(" ON {event} {}", action.replace('_', " ")),
        };
        let condition = format!(
            "FOREIGN KEY ({}) REFERENCES {} ({}){}{}{}",
            list(&key.columns),
            key.references,
            list(&key.referenced),
            action("DELETE", &key.on_delete),
            action("UPDATE", &key.on_update),
            for_replication(key.standing),
        );
        self.constraint(&key.name, key.standing, &condition, "sys.foreign_keys")
    }

    fn constraint(&self, name: &str, standing: Standing, condition: &str, view: &str) -> String {
        let (table, name) = (self.table, self.constraint_name(name));
        let checks = if standing.is_disabled || standing.is_not_trusted { "NOCHECK" } else { "CHECK" };
        let disable = match standing.is_disabled {
            true => format!(";\nALTER TABLE {table} NOCHECK CONSTRAINT {}", quoted(&name)),
            false => String::new(),
        };
        format!(
            "IF NOT EXISTS (SELECT 1 FROM {view} WHERE parent_object_id = OBJECT_ID({}) AND name = {})\n\
             ALTER TABLE {table} WITH {checks} ADD CONSTRAINT {} {condition}{disable}",
            literal(&table.to_string()),
            literal(&name),
            quoted(&name),
        )
    }
}

fn for_replication(standing: Standing) -> &'static str {
    if standing.is_not_for_replication { " NOT FOR REPLICATION" } else { "" }
}

fn compression_text(compression: Compression) -> Option<&'static str> {
    match compression {
        Compression::None => None,
        Compression::Row => Some("ROW"),
        Compression::Page => Some("PAGE"),
        Compression::Archive => Some("COLUMNSTORE_ARCHIVE"),
    }
}

/// Writes ON with a file group, or with a partition scheme and its column.
fn on_space(space: &DataSpace) -> String {
    let column = space.division.as_ref().map(|division| format!("({})", quoted(&division.column)));
    format!(" ON {}{}", quoted(&space.name), column.unwrap_or_default())
}

/// Writes the options of compression: one, or one for each of several kinds of partitions.
fn data_compression(whole: Compression, space: Option<&DataSpace>) -> Vec<String> {
    let partitions = space.and_then(|space| space.division.as_ref()).map(|division| &division.compressions);
    let differs = |of: &&Vec<Compression>| of.iter().any(|compression| *compression != whole);
    let Some(partitions) = partitions.filter(differs) else {
        return compression_text(whole)
            .map(|text| format!("DATA_COMPRESSION = {text}"))
            .into_iter()
            .collect();
    };
    let mut options = Vec::new();
    let mut first = 1;
    for run in partitions.chunk_by(|one, next| one == next) {
        let last = first + run.len() - 1;
        if let Some(text) = run.first().and_then(|compression| compression_text(*compression)) {
            let range = if first == last { first.to_string() } else { format!("{first} TO {last}") };
            options.push(format!("DATA_COMPRESSION = {text} ON PARTITIONS ({range})"));
        }
        first = last + 1;
    }
    options
}

/// Writes WITH (...) for settings that are not the server's own choice.
fn index_options(index: &IndexShape) -> String {
    let mut options = Vec::new();
    if index.fill_factor > 0 {
        options.push(format!("FILLFACTOR = {}", index.fill_factor));
    }
    let is_tree = matches!(index.kind, IndexKind::Clustered | IndexKind::Nonclustered);
    let flags = [
        (index.is_padded, "PAD_INDEX = ON"),
        (index.ignores_duplicate_keys, "IGNORE_DUP_KEY = ON"),
        (is_tree && !index.allows_row_locks, "ALLOW_ROW_LOCKS = OFF"),
        (is_tree && !index.allows_page_locks, "ALLOW_PAGE_LOCKS = OFF"),
        (index.is_for_sequential_keys, "OPTIMIZE_FOR_SEQUENTIAL_KEY = ON"),
    ];
    options.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, text)| text.to_owned()));
    options.extend(data_compression(index.compression, index.space.as_ref()));
    match options.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", options.join(", ")),
    }
}
