//! sp_pkeys, sp_fkeys, sp_statistics.

use databases::catalogue::{ForeignKey, TableDefinition, same_name};
use introspection::system_views::View;
use query::Datum;
use tsql::SqlError;
use tsql::ast::ReferentialAction;

use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::catalogue::shown::{Shown, Wanted};
use crate::statements::procedures::parameters::Signature;

fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

const PRIMARY_KEYS: Signature = Signature {
    name: "sp_pkeys",
    parameters: &["@table_name", "@table_owner", "@table_qualifier"],
    required: 1,
};

/// Runs sp_pkeys.
pub(crate) fn primary_keys(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = PRIMARY_KEYS.bind(arguments)?;
    shown.check_own_qualifier(parameters.text(2).as_deref())?;
    let mut view = View::new(&[
        ("TABLE_QUALIFIER", "name"),
        ("TABLE_OWNER", "name"),
        ("TABLE_NAME", "name!"),
        ("COLUMN_NAME", "name!"),
        ("KEY_SEQ", "smallint!"),
        ("PK_NAME", "name"),
    ]);
    let name = parameters.text(0).unwrap_or_default();
    let Some((table, _)) = shown.table(&name, parameters.text(1).as_deref()) else { return Ok(view) };
    for key in table.keys.iter().filter(|key| key.primary) {
        for (ordinal, (column, _)) in (1_i64..).zip(&key.columns) {
            let mut row = shown.names(table);
            row.extend([text(column), Datum::Int(ordinal), text(&key.name)]);
            view.push(row);
        }
    }
    Ok(view)
}

const FOREIGN_KEYS: Signature = Signature {
    name: "sp_fkeys",
    parameters: &[
        "@pktable_name",
        "@pktable_owner",
        "@pktable_qualifier",
        "@fktable_name",
        "@fktable_owner",
        "@fktable_qualifier",
    ],
    required: 0,
};

/// Runs sp_fkeys: the keys that refer to a table, or that a table has, or both.
pub(crate) fn foreign_keys(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = FOREIGN_KEYS.bind(arguments)?;
    shown.check_own_qualifier(parameters.text(2).as_deref())?;
    shown.check_own_qualifier(parameters.text(5).as_deref())?;
    let given = |position: usize| parameters.text(position).filter(|name| !name.is_empty());
    if given(0).is_none() && given(3).is_none() {
        return Err(SqlError::new(15252, 16, 1, "The primary or foreign key table name must be given."));
    }
    let mut view = View::new(&[
        ("PKTABLE_QUALIFIER", "name"),
        ("PKTABLE_OWNER", "name"),
        ("PKTABLE_NAME", "name!"),
        ("PKCOLUMN_NAME", "name!"),
        ("FKTABLE_QUALIFIER", "name"),
        ("FKTABLE_OWNER", "name"),
        ("FKTABLE_NAME", "name!"),
        ("FKCOLUMN_NAME", "name!"),
        ("KEY_SEQ", "smallint!"),
        ("UPDATE_RULE", "smallint"),
        ("DELETE_RULE", "smallint"),
        ("FK_NAME", "name"),
        ("PK_NAME", "name"),
        ("DEFERRABILITY", "smallint"),
    ]);
    let referenced = (Wanted::exact(given(0)), Wanted::exact(given(1)));
    let referring = (Wanted::exact(given(3)), Wanted::exact(given(4)));
    let mut keys: Vec<(&TableDefinition, &ForeignKey)> = shown
        .tables(&referring.0, &referring.1)
        .flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)))
        .filter(|(_, key)| referenced.0.is(&key.table) && referenced.1.is(&key.schema))
        .collect();
    // By the side that was not asked for.
    let by_referring = given(0).is_some();
    keys.sort_by_key(|(table, key)| {
        let (schema, name) =
            if by_referring { (&table.schema, &table.name) } else { (&key.schema, &key.table) };
        (schema.to_lowercase(), name.to_lowercase(), key.name.to_lowercase())
    });
    for (table, key) in keys {
        for (ordinal, (own, other)) in (1_i64..).zip(key.columns.iter().zip(&key.referenced)) {
            view.push(vec![
                text(&shown.database),
                text(&key.schema),
                text(&key.table),
                text(other),
                text(&table.database),
                text(&table.schema),
                text(&table.name),
                text(own),
                Datum::Int(ordinal),
                Datum::Int(rule(key.on_update)),
                Datum::Int(rule(key.on_delete)),
                text(&key.name),
                referenced_key(shown, key).map_or(Datum::Null, |name| text(&name)),
                Datum::Int(NOT_DEFERRABLE),
            ]);
        }
    }
    Ok(view)
}

/// Numbers a referential action as sp_fkeys and ODBC do.
fn rule(action: ReferentialAction) -> i64 {
    match action {
        ReferentialAction::Cascade => 0,
        ReferentialAction::NoAction => 1,
        ReferentialAction::SetNull => 2,
        ReferentialAction::SetDefault => 3,
    }
}

/// SQL_NOT_DEFERRABLE.
const NOT_DEFERRABLE: i64 = 7;

/// Finds the unique key that a foreign key refers to.
fn referenced_key(shown: &Shown, key: &ForeignKey) -> Option<String> {
    let (table, _) = shown.table(&key.table, Some(&key.schema))?;
    let is_it = |columns: &[(String, bool)]| {
        columns.len() == key.referenced.len()
            && columns.iter().all(|(name, _)| key.referenced.iter().any(|other| same_name(name, other)))
    };
    let constraint =
        table.keys.iter().find(|candidate| is_it(&candidate.columns)).map(|key| key.name.clone());
    constraint.or_else(|| {
        let index = table.indexes.iter().find(|index| index.unique && is_it(&index.columns));
        index.map(|index| index.name.clone())
    })
}

const STATISTICS: Signature = Signature {
    name: "sp_statistics",
    parameters: &[
        "@table_name",
        "@table_owner",
        "@table_qualifier",
        "@index_name",
        "@is_unique",
        "@accuracy",
    ],
    required: 1,
};

/// An index as sp_statistics lists it.
struct IndexFacts<'t> {
    name: &'t str,
    unique: bool,
    clustered: bool,
    columns: &'t [(String, bool)],
    filter: Option<&'t str>,
}

/// Runs sp_statistics: a table's size and its indexes.
pub(crate) fn statistics(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = STATISTICS.bind(arguments)?;
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let mut view = View::new(&[
        ("TABLE_QUALIFIER", "name"),
        ("TABLE_OWNER", "name"),
        ("TABLE_NAME", "name!"),
        ("NON_UNIQUE", "smallint"),
        ("INDEX_QUALIFIER", "name"),
        ("INDEX_NAME", "name"),
        ("TYPE", "smallint!"),
        ("SEQ_IN_INDEX", "smallint"),
        ("COLUMN_NAME", "name"),
        ("COLLATION", "char(1)"),
        ("CARDINALITY", "int"),
        ("PAGES", "int"),
        ("FILTER_CONDITION", "varchar(128)"),
    ]);
    let name = parameters.text(0).unwrap_or_default();
    let Some((table, rows)) = shown.table(&name, parameters.text(1).as_deref()) else { return Ok(view) };
    let rows = Datum::Int(i64::try_from(*rows).unwrap_or(i64::MAX).min(i64::from(i32::MAX)));
    // Pages are not what this store is made of.
    let pages = Datum::Null;
    let mut whole = shown.names(table);
    whole.extend([
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Int(0),
        Datum::Null,
        Datum::Null,
        Datum::Null,
    ]);
    whole.extend([rows.clone(), pages.clone(), Datum::Null]);
    view.push(whole);
    let wanted = Wanted::pattern(parameters.text(3), false);
    let unique_only = parameters.text(4).is_some_and(|value| value.trim().eq_ignore_ascii_case("Y"));
    let mut indexes: Vec<IndexFacts<'_>> = table
        .keys
        .iter()
        .map(|key| IndexFacts {
            name: &key.name,
            unique: true,
            clustered: key.clustered,
            columns: &key.columns,
            filter: None,
        })
        .chain(table.indexes.iter().filter(|index| !index.columnstore).map(|index| IndexFacts {
            name: &index.name,
            unique: index.unique,
            clustered: index.clustered,
            columns: &index.columns,
            filter: index.filter.as_deref(),
        }))
        .filter(|index| wanted.is(index.name) && (index.unique || !unique_only))
        .collect();
    indexes.sort_by_key(|index| (!index.unique, !index.clustered, index.name.to_lowercase()));
    for index in indexes {
        for (ordinal, (column, descending)) in (1_i64..).zip(index.columns) {
            let mut row = shown.names(table);
            row.extend([
                Datum::Int(i64::from(!index.unique)),
                text(&table.name),
                text(index.name),
                // SQL_INDEX_CLUSTERED, SQL_INDEX_OTHER.
                Datum::Int(if index.clustered { 1 } else { 3 }),
                Datum::Int(ordinal),
                text(column),
                text(if *descending { "D" } else { "A" }),
                if index.unique { rows.clone() } else { Datum::Null },
                pages.clone(),
                index.filter.map_or(Datum::Null, text),
            ]);
            view.push(row);
        }
    }
    Ok(view)
}
