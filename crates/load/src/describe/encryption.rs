//! Columns of Always Encrypted: which they are, how and by which key.

use std::fmt;

use super::{TableDescription, queries};
use crate::{
    catalogue_row::{CatalogueRow, rows},
    client::Client,
    error::Error,
    table_name::{TableName, quoted},
};

/// Warns that a read of encrypted columns returns ciphertext.
pub(crate) const CIPHERTEXT: &str = "no keys here: values are read as ciphertext (varbinary)";

/// The encryption of a column's values (Always Encrypted). Clients that have the key decrypt them; others see
/// ciphertext.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnEncryption {
    /// `deterministic`, where equal values have equal ciphertexts, or `randomized`.
    pub kind: String,
    /// The algorithm, as the catalogue names it.
    pub algorithm: String,
    /// The number of the column encryption key.
    pub key_id: i64,
    /// The name of the key, unless this login may not see it.
    pub key: Option<String>,
    /// The database that has the key, if it is another one.
    pub key_database: Option<String>,
}

impl fmt::Display for ColumnEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, key_id, key, key_database, .. } = self;
        write!(f, "encrypted ({kind}, key ")?;
        match key {
            Some(name) => write!(f, "{name}")?,
            None => write!(f, "number {key_id}")?,
        }
        match key_database {
            Some(database) => write!(f, " of database {database})"),
            None => write!(f, ")"),
        }
    }
}

/// Reads the encryption from a row of `sys.columns`. `None` on servers before 2016, which lack the columns.
pub(super) fn of_column(row: &CatalogueRow<'_>) -> Option<ColumnEncryption> {
    row.integer("encryption_type")?;
    Some(ColumnEncryption {
        kind: row.text("encryption_type_desc").to_lowercase(),
        algorithm: row.text("encryption_algorithm_name"),
        key_id: row.integer("column_encryption_key_id").unwrap_or_default(),
        key: None,
        key_database: Some(row.text("column_encryption_key_database_name")).filter(|name| !name.is_empty()),
    })
}

/// The keys of a database, by number.
type KeyNames = Vec<(i64, String)>;

/// Asks for the names of keys. Only servers that have encrypted columns have the view, so it is a request of its own.
pub(super) fn name_keys<'a>(
    client: &mut Client,
    table: &TableName,
    columns: impl Iterator<Item = &'a mut ColumnEncryption>,
) -> Result<(), Error> {
    let mut known: Vec<(Option<String>, KeyNames)> = Vec::new();
    for encryption in columns {
        let database = encryption.key_database.as_ref().or(table.database.as_ref()).cloned();
        if !known.iter().any(|(other, _)| *other == database) {
            let keys = key_names(client, database.as_deref())?;
            known.push((database.clone(), keys));
        }
        let keys = known.iter().find(|(other, _)| *other == database).map(|(_, keys)| keys.as_slice());
        let key = keys.unwrap_or_default().iter().find(|(id, _)| *id == encryption.key_id);
        encryption.key = key.map(|(_, name)| name.clone());
    }
    Ok(())
}

fn key_names(client: &mut Client, database: Option<&str>) -> Result<KeyNames, Error> {
    let prefix = database.map(|database| format!("{}.", quoted(database))).unwrap_or_default();
    let asked = client.query_values(&format!(
        "SELECT column_encryption_key_id, name FROM {prefix}sys.column_encryption_keys"
    ));
    match asked {
        Ok(results) => Ok(results
            .iter()
            .flat_map(rows)
            .filter_map(|row| Some((row.integer("column_encryption_key_id")?, row.text("name"))))
            .collect()),
        // A login that may not see the keys, or their database, sees their numbers.
        Err(error) if error.server_message().is_some() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Lists the columns of a table or view whose values are encrypted by clients; none on a server that does not say.
///
/// # Errors
/// The connection breaks.
pub fn encrypted_columns(
    client: &mut Client,
    table: &TableName,
) -> Result<Vec<(String, ColumnEncryption)>, Error> {
    let results = match client.query_values(&queries::columns_alone(table)) {
        Err(error) if error.server_message().is_some() => return Ok(Vec::new()),
        results => results?,
    };
    let columns = results.iter().flat_map(rows);
    let mut found: Vec<_> = columns.filter_map(|row| Some((row.text("name"), of_column(&row)?))).collect();
    name_keys(client, table, found.iter_mut().map(|(_, encryption)| encryption))?;
    Ok(found)
}

impl TableDescription {
    /// Columns whose values are encrypted by clients, with how. They are read and loaded as ciphertext.
    pub fn encrypted_columns(&self) -> impl Iterator<Item = (&str, &ColumnEncryption)> {
        self.columns
            .iter()
            .filter_map(|column| Some((column.column.name.as_str(), column.encryption.as_ref()?)))
    }

    /// Words the encrypted columns; `None` if there are none.
    pub fn encrypted_columns_shown(&self) -> Option<String> {
        let shown: Vec<String> =
            self.encrypted_columns().map(|(name, encryption)| format!("{name} {encryption}")).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}
