//! CREATE DATABASE and DROP DATABASE.

use databases::catalogue::{Directory, same_name};
use databases::store_error::store_error;
use databases::waiting::waiting;
use query::is_case_sensitive;
use tds::{CodePage, Collation};
use tsql::SqlError;
use tsql::errors;

use crate::session::Session;
use crate::session::work::directory;

/// The first user database has the number after those that every server has.
const SYSTEM_ID_LAST: i32 = 4;

/// Makes a database: first its files, then, in one step, its entry in the catalogue.
pub(crate) fn create_database(
    session: &mut Session,
    name: &str,
    collation: Option<&str>,
) -> Result<(), SqlError> {
    let collation = collation.map(served_collation).transpose()?;
    if session.work.depth() > 0 {
        let text = "CREATE DATABASE statement not allowed within multi-statement transaction.";
        return Err(SqlError::new(226, 16, 6, text));
    }
    let exists = || {
        let text = format!("Database '{name}' already exists. Choose a different database name.");
        SqlError::new(1801, 16, 3, text)
    };
    if directory::of(&session.work)?.database(name).is_some() {
        return Err(exists());
    }
    let databases = session.instance.store().clone();
    let folder = waiting(|| databases.create(name)).map_err(store_error)?;
    let result = change_directory(session, |_, directory| {
        if directory.database(name).is_some() {
            return Err(exists());
        }
        directory.add_database(name, folder.clone(), collation.clone());
        Ok(())
    });
    waiting(|| match &result {
        Ok(()) => databases.keep(&folder),
        Err(_) => databases.discard(name, &folder),
    });
    result
}

/// Returns the collation of columns of a database that name none, if it is not the server's.
pub(crate) fn database_collation(session: &Session, database: &str) -> Result<Option<String>, SqlError> {
    let directory = directory::of(&session.work)?;
    Ok(directory.database(database).and_then(|database| database.collation.clone()))
}

/// Takes a database out of the catalogue, then removes its files.
pub(crate) fn drop_database(session: &mut Session, name: &str, if_exists: bool) -> Result<(), SqlError> {
    let directory = directory::of(&session.work)?;
    let Some(entry) = directory.database(name) else {
        return if if_exists { Ok(()) } else { Err(errors::CANNOT_DROP.with(["database", name])) };
    };
    if entry.id <= SYSTEM_ID_LAST {
        let text = format!("Cannot drop the database '{name}' because it is a system database.");
        return Err(SqlError::new(3708, 16, 4, text));
    }
    if same_name(&session.database, name) {
        let text = format!("Cannot drop database \"{name}\" because it is currently in use.");
        return Err(SqlError::new(3702, 16, 4, text));
    }
    if session.work.depth() > 0 {
        let text = "DROP DATABASE statement cannot be used inside a user transaction.";
        return Err(SqlError::new(574, 16, 0, text));
    }
    let databases = session.instance.store().clone();
    let folder = entry.folder.clone();
    let (lock_timeout, flag) = (session.settings.lock_timeout(), session.cancellation.flag());
    // Nobody else reads or changes it from here on.
    let held = waiting(|| databases.begin_drop(name, &folder, lock_timeout, flag)).map_err(store_error)?;
    let result = change_directory(session, |_, directory| {
        directory.databases.retain(|database| !same_name(&database.name, name));
        Ok(())
    });
    drop(held);
    if result.is_ok() {
        waiting(|| databases.discard(name, &folder));
    }
    result
}

/// Changes the catalogue of databases in a transaction of its own.
pub(crate) fn change_directory(
    session: &mut Session,
    change: impl FnOnce(&mut Session, &mut Directory) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mark = session.work.start_change()?;
    let result = directory::to_change(&session.work).and_then(|mut directory| {
        change(session, &mut directory)?;
        directory::set(&session.work, &directory)
    });
    session.work.end_statement(&mark, result.is_ok())?;
    result
}

/// Runs ALTER DATABASE … COLLATE, which takes only the collation that the database has. Errors: 448 for no collation.
/// 40515 is for another one, since columns that name none, and the values stored in them, keep theirs.
pub(crate) fn check_collation(database: &str, own: Option<&str>, name: &str) -> Result<(), SqlError> {
    let known = Collation::from_name(name)
        .ok_or_else(|| SqlError::new(448, 16, 1, format!("Invalid collation '{name}'.")))?;
    let own = own.unwrap_or(tsql::DEFAULT_COLLATION);
    if known.name().is_some_and(|known| same_name(&known, own)) {
        return Ok(());
    }
    Err(SqlError::unsupported(&format!("ALTER DATABASE {database} COLLATE {name}")))
}

/// Returns the collation of a database as it is spelled. Errors: 448 for none. 40515 is for one whose code page or case
/// rule differs from the server's, so that texts would compare otherwise.
fn served_collation(name: &str) -> Result<String, SqlError> {
    let collation = Collation::from_name(name)
        .ok_or_else(|| SqlError::new(448, 16, 1, format!("Invalid collation '{name}'.")))?;
    let same = collation.code_page() == CodePage::Cp1252 && !is_case_sensitive(Some(collation));
    match (same, collation.name()) {
        (true, Some(name)) => Ok(name.to_string()),
        _ => Err(SqlError::unsupported(&format!("CREATE DATABASE ... COLLATE {name}"))),
    }
}
