//! ALTER DATABASE: file groups and files of a database.

use databases::catalogue::same_name;
use databases::store_error::store_error;
use databases::waiting::waiting;
use store::{DataFileOptions, EngineError, FileGrowth};
use tsql::SqlError;
use tsql::administration::{DatabaseChange, FileSpec, Growth};
use tsql::errors;

use crate::session::Session;
use crate::session::output::Output;
use crate::statements::evaluation::answer;

/// Adds, changes or removes a file group or a file.
pub(crate) async fn change_files(
    session: &mut Session,
    database: &str,
    change: &DatabaseChange,
    output: &mut Output,
) -> Result<(), SqlError> {
    let store = session
        .instance
        .store()
        .database(database)
        .ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    let engine = store.engine();
    let done = |result: Result<(), EngineError>| result.map_err(|error| store_error(error.into()));
    match change {
        DatabaseChange::AddFileGroup(name) => {
            done(waiting(|| engine.files().add_file_group(name).map(|_| ())))
        }
        DatabaseChange::RemoveFileGroup(name) => {
            refuse_named_by_scheme(session, database, name)?;
            done(waiting(|| engine.files().remove_file_group(name)))
        }
        DatabaseChange::DefaultFileGroup(name) => {
            done(waiting(|| engine.files().set_default_file_group(name)))
        }
        DatabaseChange::AddFiles { files, group } => {
            let mut notices = Vec::new();
            for file in files {
                let number = waiting(|| engine.files().add_data_file_to(group.as_deref(), &options(file)))
                    .map_err(|error| store_error(error.into()))?;
                let added = engine.data_files().into_iter().find(|file| file.file == number);
                if let (Some(added), Some(_)) = (added, &file.file_name) {
                    notices.push(format!(
                        "File '{}' is kept in the database's folder as {}.",
                        added.logical_name, added.name
                    ));
                }
            }
            for notice in notices {
                answer::inform(session, SqlError::new(0, 0, 1, notice), output).await;
            }
            Ok(())
        }
        DatabaseChange::ModifyFile(file) => {
            if file.size_bytes.is_some() || file.file_name.is_some() {
                return Err(SqlError::unsupported("MODIFY FILE of a size or a file name"));
            }
            let files = engine.data_files();
            let Some(known) = files.iter().find(|known| known.logical_name.eq_ignore_ascii_case(&file.name))
            else {
                let text = format!("MODIFY FILE failed. File '{}' does not exist.", file.name);
                return Err(SqlError::new(5041, 16, 1, text));
            };
            let page = store::page::PAGE_BYTES as u64;
            let limit = file.limit_bytes.unwrap_or(known.limit_pages.map(|pages| pages * page));
            let growth = file.growth.map_or(known.growth, growth);
            done(waiting(|| engine.files().alter_data_file(&file.name, limit, growth)))
        }
        _ => Ok(()),
    }
}

/// Errors: 5042 for a file group that a partition scheme names.
fn refuse_named_by_scheme(session: &Session, database: &str, group: &str) -> Result<(), SqlError> {
    let schemes = session.work.view().partitions()?.schemes;
    let mut own = schemes.iter().filter(|scheme| same_name(&scheme.database, database));
    let named =
        own.any(|scheme| scheme.groups.iter().chain(&scheme.next_used).any(|own| same_name(own, group)));
    match named {
        true => {
            let text = format!("The filegroup '{group}' cannot be removed because it is not empty.");
            Err(SqlError::new(5042, 16, 12, text))
        }
        false => Ok(()),
    }
}

fn options(file: &FileSpec) -> DataFileOptions {
    DataFileOptions {
        name: file.name.clone(),
        size_bytes: file.size_bytes.unwrap_or(0),
        limit_bytes: file.limit_bytes.flatten(),
        growth: file.growth.map_or(FileGrowth::Automatic, growth),
    }
}

fn growth(growth: Growth) -> FileGrowth {
    match growth {
        Growth::Bytes(0) | Growth::Percent(0) => FileGrowth::None,
        Growth::Bytes(bytes) => FileGrowth::Bytes(bytes),
        Growth::Percent(percent) => FileGrowth::Percent(percent),
    }
}
