//! Says of a table that is not there which table of the database was most likely meant.

use rows::{edit_distance, is_near};

use crate::{
    catalogue_row::rows,
    client::Client,
    error::Error,
    table_name::{TableName, quoted},
};

/// "Invalid object name" (sys.messages).
const NO_OBJECT: i32 = 208;
/// Tables that are compared with the name.
const TABLES_MAX: usize = 20_000;

/// Adds the table that is called nearly so to the error of a missing table. Other errors stay as they are; error 208 becomes
/// [`Error::NoTable`].
pub fn name_nearest(client: &mut Client, table: &TableName, error: Error) -> Error {
    let is_missing = match &error {
        Error::NoTable { nearest, .. } => nearest.is_none(),
        Error::Server(server) => server.first().number == NO_OBJECT,
        _ => false,
    };
    if !is_missing || client.is_broken() {
        return error;
    }
    Error::NoTable {
        table: table.to_string(),
        database: table.database.clone().unwrap_or_else(|| client.database().to_owned()),
        nearest: nearest(client, table).map(String::into_boxed_str),
    }
}

/// Returns the table or view of the same database whose name is nearest; none if the catalogue does not answer.
fn nearest(client: &mut Client, table: &TableName) -> Option<String> {
    if table.is_temporary() {
        return None;
    }
    let p = table.catalogue_prefix();
    let found = client.query_values(&format!(
        "SELECT TOP ({TABLES_MAX}) s.name AS schema_name, o.name AS table_name FROM {p}sys.objects AS o \
         JOIN {p}sys.schemas AS s ON s.schema_id = o.schema_id WHERE o.type IN ('U', 'V') ORDER BY s.name, o.name"
    ));
    let found = found.ok()?;
    let names: Vec<(String, String)> = found
        .first()
        .into_iter()
        .flat_map(rows)
        .map(|row| (row.text("schema_name"), row.text("table_name")))
        .collect();
    let (schema, name) = nearest_of(table, &names)?;
    let database = table.database.as_ref().map(|name| format!("{}.", quoted(name))).unwrap_or_default();
    Some(format!("{database}{}.{}", quoted(schema), quoted(name)))
}

/// Returns the pair of schema and name that is nearest. A table of the same name in another schema is near, however the
/// schemas are called.
fn nearest_of<'a>(table: &TableName, names: &'a [(String, String)]) -> Option<&'a (String, String)> {
    let plain = |name: &str| name.to_lowercase();
    let (wanted_schema, wanted) = (plain(table.schema.as_deref().unwrap_or("dbo")), plain(&table.name));
    let ranked = names.iter().filter_map(|pair| {
        let far = edit_distance(&wanted, &plain(&pair.1));
        is_near(far, &wanted).then(|| (far, edit_distance(&wanted_schema, &plain(&pair.0)), pair))
    });
    ranked.min_by_key(|(far, schema, _)| (*far, *schema)).map(|(.., pair)| pair)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn the_nearest_name_wins_and_then_the_nearest_schema() {
        let pair = |schema: &str, name: &str| (schema.to_owned(), name.to_owned());
        let names = [
            pair("dbo", "Orders"),
            pair("sales", "orders_old"),
            pair("sales", "Customers"),
            pair("stage", "Orders"),
        ];
        let near = |text: &str| {
            nearest_of(&text.parse().unwrap(), &names).map(|(schema, name)| format!("{schema}.{name}"))
        };
        assert_eq!(near("oders").as_deref(), Some("dbo.Orders"));
        assert_eq!(near("stge.orders").as_deref(), Some("stage.Orders"));
        assert_eq!(near("dbo.customers").as_deref(), Some("sales.Customers"));
        assert_eq!(near("invoices"), None);
    }
}
