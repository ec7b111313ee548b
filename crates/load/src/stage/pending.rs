//! A mark at a table that a copy has made: its keys are still to be built. It goes with the table, whatever becomes of the copy.

use super::staged::{in_transaction, property};
use crate::{
    client::Client,
    error::Error,
    table_name::{TableName, literal},
};

/// The extended property that is the mark.
const KEYS_PROPERTY: &str = "bulkwire.keys";

/// The mark at one table.
#[derive(Debug, Clone, Copy)]
pub struct PendingKeys<'a>(pub &'a TableName);

impl PendingKeys<'_> {
    /// Makes the table by this statement, with the mark: both or neither.
    ///
    /// # Errors
    /// A statement fails.
    pub fn make_table(&self, client: &mut Client, create: &str) -> Result<(), Error> {
        let mark =
            property(&self.local(client), "sp_addextendedproperty", KEYS_PROPERTY, Some("to be built"));
        in_transaction(client, |client| {
            client.execute(create)?;
            client.execute(&mark).map(drop)
        })
    }

    /// Returns true if the table has the mark.
    ///
    /// # Errors
    /// The query fails.
    pub fn is_set(&self, client: &mut Client) -> Result<bool, Error> {
        let table = self.local(client);
        let prefix = table.catalogue_prefix();
        let found = client.query_values(&format!(
            "SELECT 1 AS marked FROM {prefix}sys.extended_properties WHERE class = 1 AND minor_id = 0 \
             AND major_id = OBJECT_ID({}) AND name = {}",
            table.object_literal(),
            literal(KEYS_PROPERTY)
        ))?;
        Ok(found.first().is_some_and(|table| !table.rows.is_empty()))
    }

    /// Takes the mark off, when everything is built.
    ///
    /// # Errors
    /// The query for the mark fails, or the statement that removes it.
    pub fn clear(&self, client: &mut Client) -> Result<(), Error> {
        match self.is_set(client)? {
            true => {
                let table = self.local(client);
                client.execute(&property(&table, "sp_dropextendedproperty", KEYS_PROPERTY, None)).map(drop)
            }
            false => Ok(()),
        }
    }

    /// Returns the table's name, without the database if that is the current one.
    fn local(&self, client: &Client) -> TableName {
        let database = self.0.database.clone().filter(|name| !name.eq_ignore_ascii_case(client.database()));
        TableName { database, ..self.0.clone() }
    }
}
