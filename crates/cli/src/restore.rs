//! Databases of the embedded server that are made of files: backups, data files, packages.

use std::net::SocketAddr;

use copy::{Restored, restore_database};
use load::config::{Auth, Config, Password, Secret};

/// Makes a database of files through a connection to a server of this process. Returns what is to be said of it.
///
/// # Errors
/// The files cannot be read, or a table cannot be copied.
pub fn restore(
    address: SocketAddr,
    (user, password): (&str, &str),
    database: &str,
    files: &str,
) -> Result<String, String> {
    let url = format!("mssql://nobody@{address}/master?Encrypt=Off");
    let config = Config::parse_with(&url, &|name| (name == "BULKWIRE_PASSWORD").then(String::new))
        .map_err(|error| error.to_string())?;
    let auth =
        Auth::SqlLogin { user: user.to_owned(), password: Password::Given(Secret::new(password.to_owned())) };
    let config = Config { auth, application_name: "bulkwire restore".to_owned(), ..config };
    objects::register();
    let restored = restore_database(&config, database, files).map_err(|error| error.to_string())?;
    Ok(match restored {
        Restored::Found => format!("{database} is there already: it is not restored from {files}"),
        Restored::Made { tables, rows } => {
            format!("{database} is restored from {files}: {tables} tables, {rows} rows")
        }
    })
}
