//! Names of tables that a table's text refers to, found without reading all of it.

use serde::Deserialize;

use crate::catalogue::names::store_key;

#[derive(Deserialize)]
struct Referring {
    database: String,
    foreign_keys: Vec<Referred>,
}

#[derive(Deserialize)]
struct Referred {
    schema: String,
    table: String,
}

/// Lists the store's names of the tables that the FOREIGN KEYs of a table refer to.
pub fn referenced_tables(text: &str) -> Vec<String> {
    // Most tables have no foreign keys, and modules and types never have any.
    if !text.contains(r#""foreign_keys":[{"#) {
        return Vec::new();
    }
    let Ok(Referring { database, foreign_keys }) = serde_json::from_str(text) else { return Vec::new() };
    let mut names: Vec<String> =
        foreign_keys.iter().map(|key| store_key(&database, &key.schema, &key.table)).collect();
    names.sort_unstable();
    names.dedup();
    names
}
