//! Databases of the embedded server that are made of files: backups, data files, packages.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use copy::{FailedModule, Restored, pack_database, restore_backups, restore_database};
use load::config::{Auth, Config, Password, Secret};

/// Makes a database of files through a connection to a server of this process, unless it is there. Returns what is to be said of it.
///
/// # Errors
/// The files cannot be read, or a table cannot be copied.
pub fn restore(
    address: SocketAddr,
    login: (&str, &str),
    database: &str,
    files: &str,
) -> Result<String, String> {
    let config = config(address, login)?;
    let restored = restore_database(&config, database, files).map_err(|error| error.to_string())?;
    Ok(said(restored, database, files))
}

/// Makes a database of backups of SQL Server, which must not be there. `set` is the number (from 1) of the backup in files that
/// have several. Returns what is to be said of it.
///
/// # Errors
/// The files cannot be read, or a table cannot be copied.
pub fn import(
    address: SocketAddr,
    login: (&str, &str),
    database: &str,
    files: &[PathBuf],
    set: Option<usize>,
) -> Result<String, String> {
    let config = config(address, login)?;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let shown = names.join(",");
    let restored = restore_backups(&config, database, names, set).map_err(|error| error.to_string())?;
    Ok(said(restored, database, &shown))
}

/// Writes the tables of a database into a new package. Returns what is to be said of it.
///
/// # Errors
/// A table cannot be in a package, or cannot be read.
pub fn pack(
    address: SocketAddr,
    login: (&str, &str),
    database: &str,
    package: &Path,
) -> Result<String, String> {
    let config = config(address, login)?;
    pack_database(&config, database, package).map_err(|error| error.to_string())?;
    Ok(format!("the tables of {database} are in {}", package.display()))
}

fn config(address: SocketAddr, (user, password): (&str, &str)) -> Result<Config, String> {
    let url = format!("mssql://nobody@{address}/master?Encrypt=Off");
    let config = Config::parse_with(&url, &|name| (name == "BULKWIRE_PASSWORD").then(String::new))
        .map_err(|error| error.to_string())?;
    let auth =
        Auth::SqlLogin { user: user.to_owned(), password: Password::Given(Secret::new(password.to_owned())) };
    objects::register();
    Ok(Config { auth, application_name: "bulkwire restore".to_owned(), ..config })
}

fn said(restored: Restored, database: &str, files: &str) -> String {
    match restored {
        Restored::Found => format!("{database} is there already: it is not restored from {files}"),
        Restored::Made { tables, rows, modules, left_out } => {
            let mut made = format!("{database} is restored from {files}: {tables} tables, {rows} rows");
            if modules > 0 {
                made += &format!(", {modules} modules (views, procedures, functions, triggers)");
            }
            match left_out.is_empty() {
                true => made,
                false => {
                    let named = |failed: &FailedModule| format!("{} ({})", failed.name, failed.reason);
                    let all: Vec<String> = left_out.iter().map(named).collect();
                    format!("{made}; not restored: {}", all.join("; "))
                }
            }
        }
    }
}
