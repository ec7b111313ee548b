//! The properties that two tables must share for SWITCH.

use std::cmp::Ordering;

use databases::catalogue::{
    Check, ColumnDefinition, ForeignKey, Index, KeyConstraint, TableDefinition, definition_text, same_name,
};
use tsql::SqlError;

use crate::session::Session;
use crate::statements::ddl::switch_side::Side;
use crate::statements::dml::references;

pub(super) fn failed(number: i32, text: &str) -> SqlError {
    SqlError::new(number, 16, 1, format!("ALTER TABLE SWITCH statement failed. {text}"))
}

pub(super) fn failed_because(number: i32, text: &str) -> SqlError {
    SqlError::new(number, 16, 1, format!("ALTER TABLE SWITCH statement failed because {text}"))
}

/// Errors: 4942 to 4946 and others for columns that are not alike.
pub(super) fn check_columns(from: &TableDefinition, to: &TableDefinition) -> Result<(), SqlError> {
    let (source, target) = (from.full_name(), to.full_name());
    if from.columns.len() != to.columns.len() {
        let text = format!(
            "table '{source}' has {} columns and table '{target}' has {} columns.",
            from.columns.len(),
            to.columns.len()
        );
        return Err(failed_because(4943, &text));
    }
    for (place, (own, other)) in from.columns.iter().zip(&to.columns).enumerate() {
        if !same_name(&own.name, &other.name) {
            let text = format!(
                "column '{}' at ordinal {} in table '{source}' has a different name than the column '{}' at the same ordinal in table '{target}'.",
                own.name,
                place + 1,
                other.name
            );
            return Err(failed_because(4942, &text));
        }
        check_column(own, other, &source, &target)?;
    }
    Ok(())
}

fn check_column(
    own: &ColumnDefinition,
    other: &ColumnDefinition,
    source: &str,
    target: &str,
) -> Result<(), SqlError> {
    let name = &own.name;
    let differs = |number: i32, what: &str| {
        let text =
            format!("column '{name}' does not have the same {what} in tables '{source}' and '{target}'.");
        Err(failed_because(number, &text))
    };
    match (&own.computed, &other.computed) {
        (Some(_), None) => {
            let text = format!(
                "Column '{name}' in table '{source}' is computed column but the same column in '{target}' is not computed."
            );
            return Err(failed(4965, &text));
        }
        (None, Some(_)) => {
            let text = format!(
                "Column '{name}' in table '{target}' is computed column but the same column in '{source}' is not computed."
            );
            return Err(failed(4965, &text));
        }
        (Some(one), Some(two)) if definition_text(one) != definition_text(two) => {
            let text = format!(
                "Computed column '{name}' defined as '{one}' in table '{source}' is different from the same column in table '{target}' defined as '{two}'."
            );
            return Err(failed(4966, &text));
        }
        _ => {}
    }
    if own.sql_type != other.sql_type {
        let text = format!(
            "column '{name}' has data type {} in source table '{source}' which is different from its type {} in target table '{target}'.",
            own.sql_type, other.sql_type
        );
        return Err(failed_because(4944, &text));
    }
    // A column that names none has that of its database, which a catalogue shows by name.
    if own.collation() != other.collation() {
        return differs(4945, "collation");
    }
    if own.persisted != other.persisted {
        return differs(4946, "persistent attribute");
    }
    if own.trims_padding() != other.trims_padding() {
        return differs(4952, "ANSI trimming semantics");
    }
    if own.row_guid != other.row_guid {
        return differs(4958, "ROWGUIDCOL property");
    }
    if own.nullable != other.nullable {
        return differs(4985, "nullability attribute");
    }
    Ok(())
}

/// Checks that clustered keys, places of pages and compression are alike, and that the source has every index of the
/// target.
pub(super) fn check_trees(from: &Side, to: &Side) -> Result<(), SqlError> {
    let (own, other) = (Tree::all(from), Tree::all(to));
    let sides = (from, to);
    let (from, to) = (&from.table.definition, &to.table.definition);
    let (source, target) = (from.full_name(), to.full_name());
    let clustered =
        |trees: &[Tree<'_>]| trees.iter().find(|tree| tree.clustered).map(|tree| tree.name.to_owned());
    let lacks = |table: &str, index: &str, without: &str| {
        let text = format!(
            "The table '{table}' has clustered index '{index}' while the table '{without}' does not have clustered index."
        );
        Err(failed(4913, &text))
    };
    match (clustered(&own), clustered(&other)) {
        (Some(index), None) => return lacks(&source, &index, &target),
        (None, Some(index)) => return lacks(&target, &index, &source),
        _ => {}
    }
    if let Some((table, _)) = [(&source, &own), (&target, &other)]
        .into_iter()
        .find(|(_, trees)| trees.iter().any(|tree| tree.clustered && tree.disabled))
    {
        let text = format!(
            "The ALTER TABLE SWITCH statement failed. The table \"{table}\" has a disabled clustered index."
        );
        return Err(SqlError::new(4914, 16, 1, text));
    }
    check_groups(sides.0, sides.1)?;
    if from.compression != to.compression {
        let text = "Source and target partitions have different values for the DATA_COMPRESSION option.";
        return Err(failed(11406, text));
    }
    let mut left: Vec<&Tree<'_>> = own.iter().collect();
    for wanted in &other {
        match left.iter().position(|tree| tree.is_like(wanted)) {
            Some(place) => drop(left.remove(place)),
            None => {
                let text = format!(
                    "There is no identical index in source table '{source}' for the index '{}' in target table '{target}' .",
                    wanted.name
                );
                return Err(failed(4947, &text));
            }
        }
    }
    Ok(())
}

/// Errors: 4938, 4939 or 4940 unless rows and large values are in one file group.
fn check_groups(from: &Side, to: &Side) -> Result<(), SqlError> {
    let (source, target) = (from.table.definition.full_name(), to.table.definition.full_name());
    for [own, other] in [[from.rows_group(), to.rows_group()], [from.large_group(), to.large_group()]] {
        if same_name(&own, &other) {
            continue;
        }
        let of_partition = |table: &str, group: &str, number: usize, partitioned: &str, other: &str| {
            failed(
                4939,
                &format!(
                    "table '{table}' is in filegroup '{group}' and partition {number} of table '{partitioned}' is in filegroup '{other}'."
                ),
            )
        };
        return Err(match (&from.partition, &to.partition) {
            (None, None) => {
                let text = format!(
                    "table '{source}' is in filegroup '{own}' and table '{target}' is in filegroup '{other}'."
                );
                failed(4940, &text)
            }
            (None, Some(partition)) => of_partition(&source, &own, partition.number, &target, &other),
            (Some(partition), None) => of_partition(&target, &other, partition.number, &source, &own),
            (Some(one), Some(two)) => {
                let text = format!(
                    "Partition {} of table '{source}' is in filegroup '{own}' and partition {} of table '{target}' is in filegroup '{other}'.",
                    one.number, two.number
                );
                failed(4938, &text)
            }
        });
    }
    Ok(())
}

/// A key or an index as far as both tables must have it alike.
struct Tree<'d> {
    name: &'d str,
    clustered: bool,
    unique: bool,
    /// PRIMARY KEY, UNIQUE constraint, or index.
    kind: u8,
    columnstore: bool,
    disabled: bool,
    columns: &'d [(String, bool)],
    include: Vec<&'d String>,
    filter: &'d Option<String>,
    group: String,
    compression: tsql::index::DataCompression,
}

impl<'d> Tree<'d> {
    fn all(side: &'d Side) -> Vec<Tree<'d>> {
        let table = &side.table.definition;
        let keys = table.keys.iter().map(|key| Tree::of_key(key, side.index_group(&key.file_group)));
        let indexes = table.indexes.iter();
        keys.chain(indexes.map(|index| Tree::of_index(index, side.index_group(&index.file_group)))).collect()
    }

    fn of_key(key: &'d KeyConstraint, group: String) -> Tree<'d> {
        Tree {
            name: &key.name,
            clustered: key.clustered,
            unique: true,
            kind: if key.primary { 0 } else { 1 },
            columnstore: false,
            disabled: key.options.disabled,
            columns: &key.columns,
            include: Vec::new(),
            filter: &None,
            group,
            compression: key.options.compression,
        }
    }

    fn of_index(index: &'d Index, group: String) -> Tree<'d> {
        // In which order they are included makes no difference to what the index holds, but to how it holds it.
        Tree {
            name: &index.name,
            clustered: index.clustered,
            unique: index.unique,
            kind: 2,
            columnstore: index.columnstore,
            disabled: index.options.disabled,
            columns: &index.columns,
            include: index.include.iter().collect(),
            filter: &index.filter,
            group,
            compression: index.options.compression,
        }
    }

    fn is_like(&self, other: &Tree<'_>) -> bool {
        let columns = |one: &[(String, bool)], two: &[(String, bool)]| {
            one.len() == two.len()
                && one.iter().zip(two).all(|((one, down), (two, too))| same_name(one, two) && down == too)
        };
        let names = |one: &[&String], two: &[&String]| {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same_name(one, two))
        };
        (self.clustered, self.unique, self.kind, self.columnstore, self.disabled)
            == (other.clustered, other.unique, other.kind, other.columnstore, other.disabled)
            && columns(self.columns, other.columns)
            && names(&self.include, &other.include)
            && self.filter.as_deref().map(definition_text) == other.filter.as_deref().map(definition_text)
            && same_name(&self.group, &other.group)
            && (self.clustered || self.compression == other.compression)
    }
}

/// Checks that the source has promised of its rows everything that the target promises.
pub(super) fn check_constraints(session: &Session, from: &Side, to: &Side) -> Result<(), SqlError> {
    let sides = (from, to);
    let (from, to) = (&from.table, &to.table);
    let (source, target) = (from.definition.full_name(), to.definition.full_name());
    let referring = references::referring_tables(session, &from.definition)?;
    if let Some((_, key)) = referring.first() {
        let text = format!(
            "SWITCH is not allowed because source table '{source}' contains primary key for constraint '{}'.",
            key.name
        );
        return Err(failed(4967, &text));
    }
    to.definition.checks.iter().try_for_each(|check| check_check(check, sides, &source, &target))?;
    let keys = &to.definition.foreign_keys;
    keys.iter().try_for_each(|key| check_foreign_key(key, &from.definition, &source, &target))
}

fn check_check(
    check: &Check,
    (from, to): (&Side, &Side),
    source: &str,
    target: &str,
) -> Result<(), SqlError> {
    let side = from;
    let from = &from.table.definition;
    // The best of those that say the same.
    let same = {
        let text = definition_text(&check.text);
        from.checks.iter().filter(move |own| definition_text(&own.text) == text)
    };
    let Some(own) =
        same.max_by(|one, two| promise(one.trusted, one.disabled).cmp(&promise(two.trusted, two.disabled)))
    else {
        // The range of a partition may promise as much.
        match side
            .partition
            .as_ref()
            .and_then(|partition| partition.satisfies(check, from, &to.table.definition))
        {
            Some(true) => return Ok(()),
            Some(false) => {
                let text = format!(
                    "Check constraints or partition function of source table '{source}' allows values that are not allowed by check constraints or partition function on target table '{target}'."
                );
                return Err(failed(4972, &text));
            }
            None => {}
        }
        let (number, level) = if check.column.is_some() { (4971, "column") } else { (4970, "table") };
        let text = format!(
            "Target table '{target}' has a {level} level check constraint '{}' but the source table '{source}' does not have a corresponding constraint.",
            check.name
        );
        return Err(failed(number, &text));
    };
    if promise(own.trusted, own.disabled) < promise(check.trusted, check.disabled) {
        let text = format!(
            "Check constraint '{}' in source table '{source}' is NOCHECK constraint but the matching check constraint '{}' in target table '{target}' is CHECK.",
            own.name, check.name
        );
        return Err(failed(4960, &text));
    }
    Ok(())
}

fn check_foreign_key(
    key: &ForeignKey,
    from: &TableDefinition,
    source: &str,
    target: &str,
) -> Result<(), SqlError> {
    let same_names = |one: &[String], two: &[String]| {
        one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same_name(one, two))
    };
    let same = from.foreign_keys.iter().filter(|own| {
        same_names(&own.columns, &key.columns)
            && same_names(&own.referenced, &key.referenced)
            && same_name(&own.schema, &key.schema)
            && same_name(&own.table, &key.table)
            && (own.on_delete, own.on_update) == (key.on_delete, key.on_update)
    });
    let Some(own) =
        same.max_by(|one, two| promise(one.trusted, one.disabled).cmp(&promise(two.trusted, two.disabled)))
    else {
        let text = format!(
            "Target table '{target}' has foreign key for constraint '{}' but source table '{source}' does not have corresponding key.",
            key.name
        );
        return Err(failed(4968, &text));
    };
    if promise(own.trusted, own.disabled).cmp(&promise(key.trusted, key.disabled)) != Ordering::Less {
        return Ok(());
    }
    Err(match own.disabled {
        true => failed(
            4969,
            &format!(
                "Foreign key constraint '{}' is disabled in source table '{source}' and the corresponding constraint '{}' is enabled in target table '{target}'. The source table constraint must be enabled.",
                own.name, key.name
            ),
        ),
        false => failed(
            4974,
            &format!(
                "Foreign key constraint '{}' is NOCHECK in source table '{source}' and the corresponding constraint '{}' is CHECK in target table '{target}'. The source table constraint must be in CHECK.",
                own.name, key.name
            ),
        ),
    })
}

/// Ranks the guarantee of a constraint: 0 for none, 1 for new rows, 2 for all rows.
fn promise(trusted: bool, disabled: bool) -> u8 {
    match (disabled, trusted) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    }
}
