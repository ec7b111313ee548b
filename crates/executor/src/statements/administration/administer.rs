//! ALTER DATABASE, CHECKPOINT, and the way to the other statements of administrators.

use databases::catalogue::same_name;
use databases::store_error::store_error;
use databases::waiting::waiting;
use introspection::system_views;
use query::convert::display;
use store::{RecoveryModel, ServiceTier};
use tsql::SqlError;
use tsql::administration::{Administration, DatabaseChange, Recovery};
use tsql::errors;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::command;
use crate::session::work::directory;
use crate::statements::administration::backup;
use crate::statements::administration::dbcc;
use crate::statements::administration::kill;
use crate::statements::administration::permission;
use crate::statements::ddl::database;
use crate::statements::ddl::database_file;
use crate::statements::ddl::snapshot_options;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;

/// Runs a statement of an administrator.
pub async fn run(
    session: &mut Session,
    statement: &Administration,
    frame: &mut Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    if session.settings.format_only {
        return Ok(());
    }
    let kind = frame.done_kind();
    match statement {
        Administration::AlterDatabase { database, changes } => {
            alter_database(session, database.as_deref(), changes, frame, output).await?;
        }
        Administration::Checkpoint => {
            let database = session.database.clone();
            waiting(|| session.instance.store().checkpoint_of(&database)).map_err(store_error)?;
        }
        Administration::Backup(statement) => backup::back_up(session, statement, frame, output).await?,
        Administration::Restore(statement) => {
            let rows = backup::restore(session, statement, frame, output).await?;
            let code = if rows.is_some() { command::SELECT } else { command::OTHER };
            session.last.error = 0;
            output.done(kind, code, rows).await;
            return Ok(());
        }
        Administration::UpdateStatistics(table) => {
            if session.work.find(table, &session.database)?.is_none()
                && session.work.find_module(table, &session.database)?.is_none()
            {
                let text = format!("Table '{table}' does not exist.");
                return Err(SqlError::new(2706, 16, 6, text));
            }
        }
        Administration::Permission(permission) => permission::run(session, permission)?,
        Administration::ExecuteAs { is_login, name } => {
            if let Some(name) = name {
                let (value, sql_type) = evaluate::value(session, name, frame).await?;
                permission::check_impersonated(session, *is_login, &display(&value, &sql_type))?;
            }
        }
        // The session is always the one principal that there is.
        Administration::Revert => {}
        Administration::Kill { session: id, status_only } => kill::run(session, *id, *status_only)?,
        Administration::Dbcc(dbcc) => return dbcc::run(session, dbcc, frame, output).await,
    }
    session.last.error = 0;
    output.done(kind, command::OTHER, None).await;
    Ok(())
}

async fn alter_database(
    session: &mut Session,
    name: Option<&str>,
    changes: &[DatabaseChange],
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let wanted = name.unwrap_or(&session.database).to_string();
    let directory = directory::of(&session.work)?;
    let Some(database) = directory.database(&wanted) else {
        let text = format!(
            "User does not have permission to alter database '{wanted}', the database does not exist, or the database is not in a state that allows access checks."
        );
        return Err(alter_failed(session, SqlError::new(5011, 14, 9, text), frame, output).await);
    };
    for change in changes {
        let result = match change {
            DatabaseChange::Recovery(model) => set_recovery(session, &database.name, *model),
            DatabaseChange::Service { edition, objective } => {
                set_service(session, &database.name, edition.as_deref(), objective.as_deref())
            }
            DatabaseChange::SnapshotIsolation(allowed) => {
                snapshot_options::allow_snapshot(session, &database.name, *allowed)
            }
            DatabaseChange::ReadCommittedSnapshot(on) => {
                snapshot_options::set_read_committed_snapshot(session, &database.name, *on)
            }
            DatabaseChange::Collation(name) => {
                database::check_collation(&database.name, database.collation.as_deref(), name)
            }
            DatabaseChange::Other => Ok(()),
            DatabaseChange::Refused(error) => Err(error.as_ref().clone()),
            files => database_file::change_files(session, &database.name, files, output).await,
        };
        if let Err(error) = result {
            return Err(alter_failed(session, error, frame, output).await);
        }
    }
    Ok(())
}

/// Sends the reason first, then the statement's own error.
async fn alter_failed(
    session: &mut Session,
    reason: SqlError,
    frame: &Frame,
    output: &mut Output,
) -> SqlError {
    answer::complain(session, reason, frame, output).await;
    SqlError::new(5069, 16, 1, "ALTER DATABASE statement failed.")
}

fn set_recovery(session: &mut Session, database: &str, model: Recovery) -> Result<(), SqlError> {
    if session.work.depth() > 0 {
        let text = "ALTER DATABASE statement not allowed within multi-statement transaction.";
        return Err(SqlError::new(226, 16, 6, text));
    }
    if same_name(database, "tempdb") {
        let text = format!("Option 'RECOVERY' cannot be set in database '{database}'.");
        return Err(SqlError::new(5058, 16, 1, text));
    }
    let model = match model {
        Recovery::Full => RecoveryModel::Full,
        Recovery::BulkLogged => RecoveryModel::BulkLogged,
        Recovery::Simple => RecoveryModel::Simple,
    };
    let store = session
        .instance
        .store()
        .database(database)
        .ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    waiting(|| store.engine().set_recovery_model(model)).map_err(|error| store_error(error.into()))
}

/// Holds a database to a tier's limits, or to none. They are kept for the next start of the server.
fn set_service(
    session: &mut Session,
    database: &str,
    edition: Option<&str>,
    objective: Option<&str>,
) -> Result<(), SqlError> {
    let store = session
        .instance
        .store()
        .database(database)
        .ok_or_else(|| errors::UNKNOWN_DATABASE.with([database]))?;
    let invalid = |name: &str| {
        SqlError::new(40804, 16, 1, format!("The specified service objective '{name}' is invalid."))
    };
    let tier = match (objective, edition) {
        // The way back to no limits is this server's own.
        (Some(name), _) if name.eq_ignore_ascii_case("None") => None,
        (Some(name), _) => Some(ServiceTier::named(name).ok_or_else(|| invalid(name))?),
        (None, Some(edition)) => Some(least_of(edition).ok_or_else(|| invalid(edition))?),
        (None, None) => return Ok(()),
    };
    if let (Some(tier), Some(edition), Some(name)) = (tier, edition, objective)
        && !edition.eq_ignore_ascii_case(system_views::edition(tier))
    {
        let text = format!("The edition '{edition}' does not support the service objective '{name}'.");
        return Err(SqlError::new(40808, 16, 1, text));
    }
    store.engine().set_resource_limits(tier.map(ServiceTier::limits));
    keep_service(session, database, tier.map(ServiceTier::name))
}

fn keep_service(session: &mut Session, database: &str, objective: Option<&str>) -> Result<(), SqlError> {
    database::change_directory(session, |_, directory| {
        if let Some(database) = directory.database_mut(database) {
            database.service_objective = objective.map(str::to_string);
        }
        Ok(())
    })
}

/// Returns the least tier of an edition.
fn least_of(edition: &str) -> Option<ServiceTier> {
    ServiceTier::ALL.into_iter().find(|tier| {
        let business = *tier == ServiceTier::WebBusiness && edition.eq_ignore_ascii_case("Business");
        business || system_views::edition(*tier).eq_ignore_ascii_case(edition)
    })
}
