//! FOREIGN KEY as declared, and constraints switched on and off.

use std::sync::Arc;

use databases::catalogue::{ForeignKey, TableDefinition, same_name};
use tsql::ObjectName;
use tsql::SqlError;
use tsql::ast::ReferentialAction;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::work::OpenTable;
use crate::statements::ddl::key_index;
use crate::statements::ddl::redefine;
use crate::statements::dml::references;

/// A FOREIGN KEY clause with its own columns spelled out.
pub(crate) struct ForeignKeyClause<'c> {
    pub name: String,
    pub object_id: i32,
    pub columns: Vec<String>,
    pub table: &'c ObjectName,
    pub referenced: &'c [String],
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

/// Checks a FOREIGN KEY and adds it.
///
/// Errors: 1767, 1769, 1770, 1773, 1776, 1778, 8139 for what it names; 1761, 1762, 1785 for its actions.
pub(crate) fn add_foreign_key(
    session: &Session,
    table: &mut TableDefinition,
    clause: ForeignKeyClause<'_>,
) -> Result<(), SqlError> {
    let ForeignKeyClause { name, object_id, columns, table: other, referenced, on_delete, on_update } =
        clause;
    let error = |number: i32, text: String| Err(SqlError::new(number, 16, 0, text));
    let mut spelled = Vec::with_capacity(columns.len());
    for column in &columns {
        let Some(definition) = table.position(column).and_then(|position| table.columns.get(position)) else {
            let own = &table.name;
            return error(
                1769,
                format!(
                    "Foreign key '{name}' references invalid column '{column}' in referencing table '{own}'."
                ),
            );
        };
        spelled.push(definition.name.clone());
    }
    let schema = other.schema.clone().unwrap_or_else(|| table.schema.clone());
    let itself = same_name(&other.name, &table.name) && same_name(&schema, &table.schema);
    let found = session.work.find(other, &session.database)?;
    let parent = match (&found, itself) {
        (_, true) => table.clone(),
        (Some(found), false) if same_name(&found.definition.database, &table.database) => {
            found.definition.as_ref().clone()
        }
        (Some(_), false) => {
            return error(
                1763,
                format!("Cross-database foreign key references are not supported. Foreign key '{other}'."),
            );
        }
        (None, false) => {
            return error(1767, format!("Foreign key '{name}' references invalid table '{other}'."));
        }
    };
    let referenced: Vec<String> = if referenced.is_empty() {
        match parent.keys.iter().find(|key| key.primary) {
            Some(key) => key.columns.iter().map(|(name, _)| name.clone()).collect(),
            None => {
                return error(
                    1773,
                    format!(
                        "Foreign key '{name}' has implicit reference to object '{other}' which does not have a primary key defined on it."
                    ),
                );
            }
        }
    } else {
        referenced.to_vec()
    };
    if referenced.len() != columns.len() {
        return error(
            8139,
            format!(
                "Number of referencing columns in foreign key differs from number of referenced columns, table '{}'.",
                table.name
            ),
        );
    }
    let mut targets = Vec::with_capacity(referenced.len());
    for column in &referenced {
        let Some(position) = parent.position(column) else {
            return error(
                1770,
                format!(
                    "Foreign key '{name}' references invalid column '{column}' in referenced table '{other}'."
                ),
            );
        };
        targets.push(position);
    }
    let unique = parent.unique_keys().into_iter().any(|key| {
        key.filter.is_none()
            && key.columns.len() == targets.len()
            && key.columns.iter().all(|column| targets.contains(column))
    });
    if !unique {
        return error(
            1776,
            format!(
                "There are no primary or candidate keys in the referenced table '{other}' that match the referencing column list in the foreign key '{name}'."
            ),
        );
    }
    for (own, target) in columns.iter().zip(&targets) {
        let own = table.position(own).and_then(|position| table.columns.get(position));
        let target = parent.columns.get(*target);
        if let (Some(own), Some(target)) = (own, target)
            && (!same_type(&own.sql_type, &target.sql_type) || own.collation() != target.collation())
        {
            return error(
                1778,
                format!(
                    "Column '{}.{}' is not the same data type as referencing column '{}.{}' in foreign key '{name}'.",
                    parent.name, target.name, table.name, own.name
                ),
            );
        }
    }
    let own_columns = || columns.iter().filter_map(|name| table.columns.get(table.position(name)?));
    let actions = [on_delete, on_update];
    if actions.contains(&ReferentialAction::SetNull) && own_columns().any(|column| !column.nullable) {
        return error(
            1761,
            format!(
                "Cannot create the foreign key \"{name}\" with the SET NULL referential action, because one or more referencing columns are not nullable."
            ),
        );
    }
    if actions.contains(&ReferentialAction::SetDefault)
        && own_columns().any(|column| !column.nullable && column.default.is_none())
    {
        return error(
            1762,
            format!(
                "Cannot create the foreign key \"{name}\" with the SET DEFAULT referential action, because one or more referencing not-nullable columns lack a default constraint."
            ),
        );
    }
    let referenced =
        targets.iter().filter_map(|target| Some(parent.columns.get(*target)?.name.clone())).collect();
    let key = ForeignKey {
        name,
        object_id,
        columns: spelled,
        schema: parent.schema.clone(),
        table: parent.name.clone(),
        referenced,
        on_delete,
        on_update,
        trusted: true,
        disabled: false,
    };
    refuse_cycles(session, table, &key)?;
    table.foreign_keys.push(key);
    Ok(())
}

/// Checks that the actions that one DELETE or UPDATE sets off form a tree. Errors: 1785.
fn refuse_cycles(session: &Session, table: &TableDefinition, key: &ForeignKey) -> Result<(), SqlError> {
    let chosen: [fn(&ForeignKey) -> ReferentialAction; 2] = [|key| key.on_delete, |key| key.on_update];
    let mut own = table.clone();
    own.foreign_keys.push(key.clone());
    let own = Arc::new(own);
    for action in chosen {
        let acts = |key: &ForeignKey| action(key) != ReferentialAction::NoAction;
        if !acts(key) {
            continue;
        }
        // Only trees that the new key is in can have become something else: those of the tables above it.
        let mut roots = vec![Arc::clone(&own)];
        let mut seen = 0;
        while let Some(child) = roots.get(seen).cloned() {
            seen += 1;
            for foreign in child.foreign_keys.iter().filter(|foreign| acts(foreign)) {
                if child.refers_to(foreign, &own) {
                    continue;
                }
                if let Some(parent) = references::referenced_table(session, &child, foreign)?
                    && roots.iter().all(|known| known.object_id != parent.definition.object_id)
                {
                    roots.push(parent.definition);
                }
            }
        }
        for root in roots {
            let cascades = |key: &ForeignKey| action(key) == ReferentialAction::Cascade;
            refuse_double(session, root, &own, key, &acts, &cascades)?;
        }
    }
    Ok(())
}

/// Errors: 1785 if actions that begin at `root` reach a table twice. `own` is a table as it will be.
fn refuse_double(
    session: &Session,
    root: Arc<TableDefinition>,
    own: &Arc<TableDefinition>,
    key: &ForeignKey,
    acts: &dyn Fn(&ForeignKey) -> bool,
    cascades: &dyn Fn(&ForeignKey) -> bool,
) -> Result<(), SqlError> {
    let mut reached = vec![root.object_id];
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let mut children: Vec<Arc<TableDefinition>> = Vec::new();
        for table in session.work.view().referring(&parent)? {
            if table.definition.object_id != own.object_id {
                children.push(table.definition);
            }
        }
        children.push(Arc::clone(own));
        for child in children {
            let keys = child.foreign_keys.iter().filter(|key| acts(key) && child.refers_to(key, &parent));
            for found in keys {
                if reached.contains(&child.object_id) {
                    return Err(SqlError::new(
                        1785,
                        16,
                        0,
                        format!(
                            "Introducing FOREIGN KEY constraint '{}' on table '{}' may cause cycles or multiple cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other FOREIGN KEY constraints.",
                            key.name, own.name
                        ),
                    ));
                }
                reached.push(child.object_id);
                // Rows that are set to NULL or to a default stay, and so do those that refer to them.
                if cascades(found) {
                    next.push(Arc::clone(&child));
                }
            }
        }
    }
    Ok(())
}

/// Runs CHECK CONSTRAINT and NOCHECK CONSTRAINT. Rows are checked again only under WITH CHECK, and only then trusted.
///
/// Errors: 4917 for a constraint that there is not, 547, 1776 for a FOREIGN KEY whose index is disabled.
pub(crate) fn switch_constraints(
    session: &mut Session,
    table: &OpenTable,
    mut definition: TableDefinition,
    names: Option<&[String]>,
    enabled: bool,
    check: Option<bool>,
    frame: &Frame,
) -> Result<(), SqlError> {
    let chosen = |name: &str| names.is_none_or(|names| names.iter().any(|own| same_name(own, name)));
    for name in names.unwrap_or_default() {
        let known = definition.checks.iter().any(|check| same_name(&check.name, name))
            || definition.foreign_keys.iter().any(|key| same_name(&key.name, name));
        if !known {
            return Err(SqlError::new(4917, 16, 0, format!("Constraint '{name}' does not exist.")));
        }
    }
    let looked_at = enabled && check == Some(true);
    for check in definition.checks.iter_mut().filter(|check| chosen(&check.name)) {
        let was = std::mem::replace(&mut check.disabled, !enabled);
        check.trusted = looked_at || (check.trusted && enabled && !was);
    }
    for key in definition.foreign_keys.iter().filter(|key| enabled && key.disabled && chosen(&key.name)) {
        key_index::refuse_without_index(session, &definition, key)?;
    }
    for key in definition.foreign_keys.iter_mut().filter(|key| chosen(&key.name)) {
        let was = std::mem::replace(&mut key.disabled, !enabled);
        key.trusted = looked_at || (key.trusted && enabled && !was);
    }
    if looked_at {
        let mut asked = definition.clone();
        asked.checks.retain(|check| chosen(&check.name));
        asked.foreign_keys.retain(|key| chosen(&key.name));
        redefine::check_rows(session, table, &asked, frame)?;
    }
    redefine::redefine(session, table, &definition)
}

/// Errors: 3725 if a FOREIGN KEY refers to the columns of the key `constraint`.
pub(crate) fn refuse_referenced_key(
    session: &Session,
    table: &TableDefinition,
    constraint: &str,
) -> Result<(), SqlError> {
    let Some(own) = table.keys.iter().find(|key| same_name(&key.name, constraint)) else { return Ok(()) };
    for (other, key) in references::referring_tables(session, table)? {
        if table.key_of_reference(&key).is_some_and(|bound| bound.object_id == own.object_id) {
            return Err(SqlError::new(
                3725,
                16,
                0,
                format!(
                    "The constraint '{constraint}' is being referenced by table '{}', foreign key constraint '{}'.",
                    other.definition.name, key.name
                ),
            ));
        }
    }
    Ok(())
}

/// Returns true if a FOREIGN KEY may join two columns: lengths of texts and binaries may differ.
fn same_type(own: &tds::SqlType, other: &tds::SqlType) -> bool {
    use tds::SqlType;
    match (own, other) {
        (SqlType::Char { .. } | SqlType::VarChar { .. }, SqlType::Char { .. } | SqlType::VarChar { .. })
        | (
            SqlType::NChar { .. } | SqlType::NVarChar { .. },
            SqlType::NChar { .. } | SqlType::NVarChar { .. },
        )
        | (
            SqlType::Binary { .. } | SqlType::VarBinary { .. },
            SqlType::Binary { .. } | SqlType::VarBinary { .. },
        ) => true,
        (
            SqlType::Decimal { precision: p1, scale: s1 } | SqlType::Numeric { precision: p1, scale: s1 },
            SqlType::Decimal { precision: p2, scale: s2 } | SqlType::Numeric { precision: p2, scale: s2 },
        ) => p1 == p2 && s1 == s2,
        _ => own == other,
    }
}
