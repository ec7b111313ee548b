//! Databases and their schemas.

use serde::{Deserialize, Serialize};

use crate::catalogue::extended_property::ExtendedProperty;
use crate::catalogue::names::same_name;
use crate::catalogue::table::DEFAULT_COLLATION;

/// The store's name of the table whose properties are the directory. It has no dots, so no T-SQL table has it.
pub const DIRECTORY_KEY: &str = "directory";

/// Entries of all databases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Databases in the order of their creation.
    pub databases: Vec<DatabaseEntry>,
    /// Messages that sp_addmessage has added to sys.messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<UserMessage>,
}

/// A user-defined message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Number of the message (`message_id`), from 50001.
    pub number: i32,
    /// Severity of the message (`severity`).
    pub severity: u8,
    /// Text of the message (`text`).
    pub text: String,
    /// True if raising the message writes it to the log.
    pub logged: bool,
}

/// A database of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseEntry {
    /// Id of the database (`sys.databases.database_id`).
    pub id: i32,
    /// Name of the database.
    pub name: String,
    /// Schemas of the database.
    pub schemas: Vec<SchemaEntry>,
    /// MAXDOP of its scoped configuration; 0: the server's.
    #[serde(default)]
    pub max_dop: u16,
    /// The folder of its files in the data directory; empty if it has the database's name, or there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The service objective whose limits it is held to, if one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_objective: Option<String>,
    /// ALLOW_SNAPSHOT_ISOLATION, if it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_isolation: Option<bool>,
    /// READ_COMMITTED_SNAPSHOT, if it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_committed_snapshot: Option<bool>,
    /// Extended properties of the database and its schemas (sp_addextendedproperty).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended_properties: Vec<ExtendedProperty>,
    /// The collation of columns that name none, if it is not the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
}

/// A schema of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaEntry {
    /// Id of the schema (`sys.schemas.schema_id`).
    pub id: i32,
    /// Name of the schema.
    pub name: String,
}

impl std::default::Default for Directory {
    /// Lists the databases of every server, with the ids that they have there.
    fn default() -> Self {
        let names = ["master", "tempdb", "model", "msdb"];
        let databases = (1..).zip(names).map(|(id, name)| DatabaseEntry::new(id, name)).collect();
        Directory { databases, messages: Vec::new() }
    }
}

impl Directory {
    /// Returns the database of a name.
    pub fn database(&self, name: &str) -> Option<&DatabaseEntry> {
        self.databases.iter().find(|database| same_name(&database.name, name))
    }

    /// Returns the database of a name, to change.
    pub fn database_mut(&mut self, name: &str) -> Option<&mut DatabaseEntry> {
        self.databases.iter_mut().find(|database| same_name(&database.name, name))
    }

    /// Adds a database, whose name must be new, in this folder.
    pub fn add_database(&mut self, name: &str, folder: String, collation: Option<String>) {
        let id = self.databases.iter().map(|database| database.id).max().unwrap_or(0) + 1;
        self.databases.push(DatabaseEntry { folder, collation, ..DatabaseEntry::new(id, name) });
    }
}

/// The fixed roles of every database, and the schemas of their names, by their ids.
pub const FIXED_ROLES: [(i32, &str); 9] = [
    (16_384, "db_owner"),
    (16_385, "db_accessadmin"),
    (16_386, "db_securityadmin"),
    (16_387, "db_ddladmin"),
    (16_389, "db_backupoperator"),
    (16_390, "db_datareader"),
    (16_391, "db_datawriter"),
    (16_392, "db_denydatareader"),
    (16_393, "db_denydatawriter"),
];

impl DatabaseEntry {
    fn new(id: i32, name: &str) -> Self {
        let fixed = [(1, "dbo"), (2, "guest"), (3, "INFORMATION_SCHEMA"), (4, "sys")];
        let schemas = fixed.map(|(id, name)| SchemaEntry { id, name: name.to_string() });
        DatabaseEntry {
            id,
            name: name.to_string(),
            schemas: schemas.to_vec(),
            max_dop: 0,
            folder: String::new(),
            service_objective: None,
            collation: None,
            snapshot_isolation: None,
            read_committed_snapshot: None,
            extended_properties: Vec::new(),
        }
    }

    /// Returns true if transactions under SNAPSHOT may use the database. As in SQL Server, master and msdb
    /// allow them from the start.
    pub fn allows_snapshot(&self) -> bool {
        let system = same_name(&self.name, "master") || same_name(&self.name, "msdb");
        self.snapshot_isolation.unwrap_or(system)
    }

    /// Returns the setting READ_COMMITTED_SNAPSHOT. Readers see versions in either case.
    pub fn reads_committed_snapshot(&self) -> bool {
        self.read_committed_snapshot.unwrap_or(true)
    }

    /// Returns the collation of columns that name none.
    pub fn collation(&self) -> &str {
        self.collation.as_deref().unwrap_or(DEFAULT_COLLATION)
    }

    /// Returns the schema of a name.
    pub fn schema(&self, name: &str) -> Option<&SchemaEntry> {
        self.schemas.iter().find(|schema| same_name(&schema.name, name))
    }

    /// Adds a schema, whose name must be new.
    pub fn add_schema(&mut self, name: &str) {
        let id = self.schemas.iter().map(|schema| schema.id).max().unwrap_or(4) + 1;
        self.schemas.push(SchemaEntry { id, name: name.to_string() });
    }
}
