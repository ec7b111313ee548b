//! CREATE DATABASE and DROP DATABASE.

use tds::{CodePage, Collation};

use super::Session;
use super::work::{Place, store_error, waiting};
use crate::catalogue::{Directory, UserType, same_name};
use crate::engine::is_case_sensitive;
use crate::sql_error::SqlError;
use crate::storage::{Database, PagedDatabases};
use crate::tsql::ObjectName;

/// The first user database has the number after those that every server has.
const SYSTEM_ID_LAST: i32 = 4;

impl Session {
    /// Makes a database: first its files, then, in one step, its entry in the catalogue.
    pub(super) fn create_database(&mut self, name: &str, collation: Option<&str>) -> Result<(), SqlError> {
        let collation = collation.map(served_collation).transpose()?;
        if self.work.depth() > 0 {
            let text = "CREATE DATABASE statement not allowed within multi-statement transaction.";
            return Err(SqlError::new(226, 16, 6, text));
        }
        let exists = || {
            let text = format!("Database '{name}' already exists. Choose a different database name.");
            SqlError::new(1801, 16, 3, text)
        };
        if self.work.directory().database(name).is_some() {
            return Err(exists());
        }
        let databases = self.databases();
        let folder = match &databases {
            Some(databases) => waiting(|| databases.create(name)).map_err(store_error)?,
            None => String::new(),
        };
        let result = self.change_directory(|_, directory| {
            if directory.database(name).is_some() {
                return Err(exists());
            }
            directory.add_database(name, folder.clone(), collation.clone());
            Ok(())
        });
        if let Some(databases) = databases {
            waiting(|| match &result {
                Ok(()) => databases.keep(&folder),
                Err(_) => databases.discard(name, &folder),
            });
        }
        result
    }

    /// The collation of columns of a database that name none, if it is not the server's.
    pub(super) fn database_collation(&self, database: &str) -> Option<String> {
        self.work.directory().database(database)?.collation.clone()
    }

    /// Takes a database out of the catalogue, then removes its files.
    pub(super) fn drop_database(&mut self, name: &str, if_exists: bool) -> Result<(), SqlError> {
        let directory = self.work.directory();
        let Some(entry) = directory.database(name) else {
            return if if_exists { Ok(()) } else { Err(SqlError::cannot_drop("database", name)) };
        };
        if entry.id <= SYSTEM_ID_LAST {
            let text = format!("Cannot drop the database '{name}' because it is a system database.");
            return Err(SqlError::new(3708, 16, 4, text));
        }
        if same_name(&self.database, name) {
            let text = format!("Cannot drop database \"{name}\" because it is currently in use.");
            return Err(SqlError::new(3702, 16, 4, text));
        }
        if self.work.depth() > 0 {
            let text = "DROP DATABASE statement cannot be used inside a user transaction.";
            return Err(SqlError::new(574, 16, 0, text));
        }
        let databases = self.databases();
        let folder = entry.folder.clone();
        // Nobody else reads or changes it from here on.
        let held = match &databases {
            Some(databases) => {
                let waiting_for = self.settings.lock_timeout();
                let flag = self.cancellation.flag();
                let begun = waiting(|| databases.begin_drop(name, &folder, waiting_for, flag));
                begun.map_err(store_error)?
            }
            None => None,
        };
        let result = self.change_directory(|session, directory| {
            if databases.is_none() {
                session.drop_objects_of(name)?;
            }
            directory.databases.retain(|database| !same_name(&database.name, name));
            Ok(())
        });
        drop(held);
        if let (Ok(()), Some(databases)) = (&result, &databases) {
            for table in self.work.view().tables()? {
                if same_name(&table.definition.database, name) {
                    self.work.forget_keys(table.definition.object_id);
                }
            }
            waiting(|| databases.discard(name, &folder));
        }
        result
    }

    /// Changes the catalogue of databases in a transaction of its own.
    pub(super) fn change_directory(
        &mut self,
        change: impl FnOnce(&mut Session, &mut Directory) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mark = self.work.start_change()?;
        let result = self.work.directory_to_change().and_then(|mut directory| {
            change(self, &mut directory)?;
            self.work.set_directory(&directory)
        });
        self.work.end_statement(&mark, result.is_ok())?;
        result
    }

    /// In a store that all databases share, a database goes with what is in it.
    fn drop_objects_of(&mut self, database: &str) -> Result<(), SqlError> {
        for module in self.work.view().modules()? {
            let definition = &module.definition;
            if !same_name(&definition.database, database) {
                continue;
            }
            let own = ObjectName {
                database: Some(definition.database.clone()),
                schema: Some(definition.schema.clone()),
                name: definition.name.clone(),
            };
            if let Some((id, _)) = self.work.find_module(&own, database)? {
                self.work.write(Place::Shared, |transaction| transaction.drop_table(id))?;
            }
        }
        for found in self.work.view().user_types() {
            if same_name(&found.database, database) {
                let key = UserType::key(&found.database, &found.schema, &found.name);
                self.work.write(Place::Shared, |transaction| match transaction.table(&key) {
                    Some(info) => transaction.drop_table(info.id),
                    None => Ok(()),
                })?;
            }
        }
        for table in self.work.view().tables()? {
            if same_name(&table.definition.database, database) {
                self.work.write(table.place, |transaction| transaction.drop_table(table.id))?;
                self.work.forget_keys(table.definition.object_id);
            }
        }
        Ok(())
    }

    /// The databases, if each has a store of its own.
    fn databases(&self) -> Option<PagedDatabases> {
        match self.instance.store() {
            Database::Pages(databases) => Some(databases.clone()),
            Database::Segments(_) => None,
        }
    }
}

/// The collation of a database as it is spelled. Errors: 448 for none; 40515 for one under which texts of another code page, or
/// of case, would compare otherwise than those of the server.
fn served_collation(name: &str) -> Result<String, SqlError> {
    let collation = Collation::from_name(name)
        .ok_or_else(|| SqlError::new(448, 16, 1, format!("Invalid collation '{name}'.")))?;
    let same = collation.code_page() == CodePage::Cp1252 && !is_case_sensitive(Some(collation));
    match (same, collation.name()) {
        (true, Some(name)) => Ok(name.to_string()),
        _ => Err(SqlError::unsupported(&format!("CREATE DATABASE ... COLLATE {name}"))),
    }
}
