//! sp_tables, sp_table_privileges, sp_column_privileges, sp_databases.

use introspection::system_views::View;
use query::Datum;
use tsql::SqlError;

use crate::statements::procedures::argument::Argument;
use crate::statements::procedures::catalogue::shown::{Shown, Wanted};
use crate::statements::procedures::parameters::Signature;

const TABLES: Signature = Signature {
    name: "sp_tables",
    parameters: &["@table_name", "@table_owner", "@table_qualifier", "@table_type", "@fUsePattern"],
    required: 0,
};

fn text(value: &str) -> Datum {
    Datum::Text(value.to_string())
}

/// Runs sp_tables, and sp_tableswc, whose qualifier may be a pattern.
pub fn tables(shown: &Shown, arguments: &[Argument], wildcard: bool) -> Result<View, SqlError> {
    let parameters = TABLES.bind(arguments)?;
    let mut view = View::new(&[
        ("TABLE_QUALIFIER", "name"),
        ("TABLE_OWNER", "name"),
        ("TABLE_NAME", "name"),
        ("TABLE_TYPE", "varchar(32)"),
        ("REMARKS", "varchar(254)"),
    ]);
    let (name, owner, qualifier) = (parameters.text(0), parameters.text(1), parameters.text(2));
    let kinds = parameters.text(3);
    let blank = |value: &Option<String>| value.as_deref().is_some_and(|value| value.trim().is_empty());
    let all = |value: &Option<String>| value.as_deref() == Some("%");
    // The three lists of SQLTables: catalogues, schemas, types.
    if all(&qualifier) && blank(&name) && blank(&owner) {
        for database in &shown.databases {
            view.push(vec![text(database), Datum::Null, Datum::Null, Datum::Null, Datum::Null]);
        }
        return Ok(view);
    }
    if all(&owner) && blank(&name) && blank(&qualifier) {
        for schema in &shown.schemas {
            view.push(vec![Datum::Null, text(schema), Datum::Null, Datum::Null, Datum::Null]);
        }
        return Ok(view);
    }
    if all(&kinds) && blank(&name) && blank(&owner) && blank(&qualifier) {
        for kind in ["SYSTEM TABLE", "TABLE", "VIEW"] {
            view.push(vec![Datum::Null, Datum::Null, Datum::Null, text(kind), Datum::Null]);
        }
        return Ok(view);
    }
    if wildcard {
        if !Wanted::pattern(qualifier.filter(|qualifier| !qualifier.trim().is_empty()), false)
            .is(&shown.database)
        {
            return Ok(view);
        }
    } else {
        shown.check_qualifier(qualifier.as_deref())?;
    }
    let off = parameters.is_off(4);
    let temporary = name.as_deref().is_some_and(|name| name.starts_with('#')) || shown.database == "tempdb";
    let (name, owner) = (Wanted::pattern(name, off), Wanted::pattern(owner, off));
    let kind_wanted = |kind: &str| {
        kinds.as_deref().is_none_or(|kinds| {
            kinds == "%"
                || kinds.split(',').any(|one| one.trim().trim_matches('\'').eq_ignore_ascii_case(kind))
        })
    };
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    if kind_wanted("TABLE") {
        for table in shown.tables(&name, &owner).filter(|table| temporary || !table.name.starts_with('#')) {
            rows.push(("TABLE", table.schema.clone(), table.name.clone()));
        }
    }
    if kind_wanted("VIEW") {
        for view in shown.views(&name, &owner) {
            rows.push(("VIEW", view.schema.clone(), view.name.clone()));
        }
        for (schema, view_name) in shown.system_views() {
            if name.is(view_name) && owner.is(schema) {
                rows.push(("VIEW", schema.to_string(), view_name.to_string()));
            }
        }
    }
    rows.sort_by_key(|(kind, schema, name)| (*kind, schema.to_lowercase(), name.to_lowercase()));
    for (kind, schema, name) in rows {
        view.push(vec![text(&shown.database), text(&schema), text(&name), text(kind), Datum::Null]);
    }
    Ok(view)
}

const TABLE_PRIVILEGES: Signature = Signature {
    name: "sp_table_privileges",
    parameters: &["@table_name", "@table_owner", "@table_qualifier", "@fUsePattern"],
    required: 1,
};

/// Runs sp_table_privileges: everything is granted to dbo, the only user.
pub(crate) fn table_privileges(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = TABLE_PRIVILEGES.bind(arguments)?;
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let off = parameters.is_off(3);
    let (name, owner) = (Wanted::pattern(parameters.text(0), off), Wanted::pattern(parameters.text(1), off));
    let mut view = View::new(&[
        ("TABLE_QUALIFIER", "name"),
        ("TABLE_OWNER", "name"),
        ("TABLE_NAME", "name!"),
        ("GRANTOR", "name"),
        ("GRANTEE", "name"),
        ("PRIVILEGE", "varchar(32)!"),
        ("IS_GRANTABLE", "varchar(3)"),
    ]);
    for table in shown.tables(&name, &owner) {
        for privilege in ["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"] {
            let mut row = shown.names(table);
            row.extend(["dbo", "dbo", privilege, "YES"].map(text));
            view.push(row);
        }
    }
    Ok(view)
}

const COLUMN_PRIVILEGES: Signature = Signature {
    name: "sp_column_privileges",
    parameters: &["@table_name", "@table_owner", "@table_qualifier", "@column_name"],
    required: 1,
};

/// Runs sp_column_privileges.
pub(crate) fn column_privileges(shown: &Shown, arguments: &[Argument]) -> Result<View, SqlError> {
    let parameters = COLUMN_PRIVILEGES.bind(arguments)?;
    shown.check_qualifier(parameters.text(2).as_deref())?;
    let (name, owner) = (Wanted::exact(parameters.text(0)), Wanted::exact(parameters.text(1)));
    let column_wanted = Wanted::pattern(parameters.text(3), false);
    let mut view = View::new(&[
        ("TABLE_QUALIFIER", "name"),
        ("TABLE_OWNER", "name"),
        ("TABLE_NAME", "name!"),
        ("COLUMN_NAME", "name!"),
        ("GRANTOR", "name"),
        ("GRANTEE", "name"),
        ("PRIVILEGE", "varchar(32)!"),
        ("IS_GRANTABLE", "varchar(3)"),
    ]);
    for table in shown.tables(&name, &owner) {
        let mut columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        columns.retain(|column| column_wanted.is(column));
        columns.sort_by_key(|column| column.to_lowercase());
        for column in columns {
            for privilege in ["INSERT", "REFERENCES", "SELECT", "UPDATE"] {
                let mut row = shown.names(table);
                row.extend([column, "dbo", "dbo", privilege, "YES"].map(text));
                view.push(row);
            }
        }
    }
    Ok(view)
}

/// Runs sp_databases; sizes are not kept.
pub fn databases(shown: &Shown) -> View {
    let mut view =
        View::new(&[("DATABASE_NAME", "name"), ("DATABASE_SIZE", "int"), ("REMARKS", "varchar(254)")]);
    let mut names = shown.databases.clone();
    names.sort_by_key(|name| name.to_lowercase());
    for database in &names {
        view.push(vec![text(database), Datum::Null, Datum::Null]);
    }
    view
}
