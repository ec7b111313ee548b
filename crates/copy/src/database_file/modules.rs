//! Views, procedures, functions and triggers of files, made in a server.

use database_files::Module;
use load::{Client, Config, TableName, literal, quoted};

/// A module that the server refused, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedModule {
    /// Name in brackets.
    pub name: String,
    /// The server's message.
    pub reason: String,
}

/// Makes modules in a database. Those that need others are made after them: what is refused is tried again as long as others
/// could be made meanwhile. Returns how many were made, and those that were not.
///
/// # Errors
/// The server cannot be reached.
pub(crate) fn make_modules(
    server: &Config,
    modules: &[Module],
) -> Result<(usize, Vec<FailedModule>), load::Error> {
    let mut client = Client::connect(server)?;
    make_schemas(&mut client, modules)?;
    let mut pending: Vec<&Module> = modules.iter().collect();
    let mut failed = Vec::new();
    while !pending.is_empty() {
        failed.clear();
        let mut left = Vec::new();
        for module in &pending {
            let reason = match module.script.is_empty() {
                true => Some("its text is not in the file, or is encrypted".to_owned()),
                false => refusal(&mut client, &module.script)?,
            };
            if let Some(reason) = reason {
                failed.push(FailedModule { name: module.name.clone(), reason });
                left.push(*module);
            }
        }
        if left.len() == pending.len() {
            break;
        }
        pending = left;
    }
    Ok((modules.len() - failed.len(), failed))
}

/// Runs a script. Returns the server's reason to refuse it.
fn refusal(client: &mut Client, script: &str) -> Result<Option<String>, load::Error> {
    match client.execute(script) {
        Ok(_) => Ok(None),
        Err(error @ load::Error::Server(_)) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Makes the schemas that are missing.
fn make_schemas(client: &mut Client, modules: &[Module]) -> Result<(), load::Error> {
    let mut schemas: Vec<String> = modules
        .iter()
        .filter_map(|module| module.name.parse::<TableName>().ok()?.schema)
        .filter(|schema| schema != "dbo")
        .collect();
    schemas.sort_unstable();
    schemas.dedup();
    for schema in schemas {
        let make = literal(&format!("CREATE SCHEMA {}", quoted(&schema)));
        client.execute(&format!("IF SCHEMA_ID({}) IS NULL EXEC({make})", literal(&schema)))?;
    }
    Ok(())
}
