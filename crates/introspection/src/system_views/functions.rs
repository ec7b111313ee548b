//! The management functions: views that take arguments.

use std::sync::Arc;

use databases::catalogue::{DatabaseEntry, same_name};
use databases::storage::{Figures, LOG_FILE_ID, file_id};
use databases::waiting::waiting;
use query::{Datum, TableFunction};
use tds::{Length, SqlType};
use tsql::ObjectName;
use tsql::SqlError;

use crate::facts::Facts;

use crate::system_views::activity_of_sessions;
use crate::system_views::extended_properties;
use crate::system_views::log;
use crate::system_views::physical;
use crate::view::{View, int};

/// `sys.dm_io_virtual_file_stats`.
const FILE_STATS: &str = "
    database_id smallint!
    file_id smallint!
    sample_ms bigint!
    num_of_reads bigint!
    num_of_bytes_read bigint!
    io_stall_read_ms bigint!
    num_of_writes bigint!
    num_of_bytes_written bigint!
    io_stall_write_ms bigint!
    io_stall bigint!
    size_on_disk_bytes bigint!
    file_handle varbinary(8)
    io_stall_queued_read_ms bigint!
    io_stall_queued_write_ms bigint!";

/// Returns the management function of a name in a database; None if there is none.
pub fn function(name: &ObjectName, database: &str, facts: &Arc<Facts>) -> Option<TableFunction> {
    let lower = name.name.to_ascii_lowercase();
    match name.schema.as_deref() {
        Some(schema) if schema.eq_ignore_ascii_case("sys") => {}
        // The older functions are found without their schema.
        None if matches!(lower.as_str(), "fn_dblog" | "fn_listextendedproperty" | "fn_helpcollations") => {}
        _ => return None,
    }
    let database = name.database.as_deref().unwrap_or(database).to_string();
    let facts = Arc::clone(facts);
    let text = |units| SqlType::NVarChar { length: Length::Units(units) };
    let (small, whole) = (SqlType::SmallInt, SqlType::Int);
    match lower.as_str() {
        "dm_db_index_physical_stats" => {
            let parameters = vec![small, whole.clone(), whole.clone(), whole, text(128)];
            Some(shaped(&name.name, facts, parameters, physical::STATISTICS, |facts, arguments, view| {
                physical::statistics(facts, arguments, view)
            }))
        }
        "dm_io_virtual_file_stats" => Some(shaped(
            &name.name,
            facts,
            vec![small.clone(), small],
            FILE_STATS,
            |facts, arguments, view| {
                let wanted = wanted(facts, arguments.first(), None)?;
                let file = arguments.get(1).and_then(Datum::as_int);
                for database in wanted {
                    let Some(figures) = facts.figures(&database.name) else { continue };
                    file_stats(figures, database.id, file, view);
                }
                Ok(())
            },
        )),
        "dm_db_log_info" => {
            Some(shaped(&name.name, facts, vec![whole], log::LOG_INFO, move |facts, arguments, view| {
                let wanted = wanted(facts, arguments.first(), Some(&database))?;
                for database in wanted {
                    let Some(figures) = facts.figures(&database.name) else { continue };
                    log::log_info(figures, database.id, view);
                }
                Ok(())
            }))
        }
        "fn_listextendedproperty" => {
            let rows = move |facts: &Arc<Facts>, arguments: &[Datum], view: &mut View| {
                extended_properties::list(facts, &database, arguments, view)
            };
            Some(shaped(&name.name, facts, vec![text(128); 7], extended_properties::LISTED, rows))
        }
        "fn_helpcollations" => {
            let shape = "name sysname!\ndescription nvarchar(1000)!";
            Some(shaped(&name.name, facts, Vec::new(), shape, |_, _, view| {
                for (name, description) in tds::collations() {
                    view.add([("name", Datum::Text(name)), ("description", Datum::Text(description))]);
                }
                Ok(())
            }))
        }
        "dm_exec_sql_text" => {
            let handle = SqlType::VarBinary { length: Length::Units(64) };
            let rows = |facts: &Arc<Facts>, arguments: &[Datum], view: &mut View| {
                let Some(Datum::Binary(wanted)) = arguments.first() else { return Ok(()) };
                let texts = (facts.kept_texts)();
                if let Some(kept) =
                    texts.iter().find(|kept| activity_of_sessions::handle(&kept.text) == *wanted)
                {
                    view.add([("text", Datum::Text(kept.text.clone()))]);
                }
                Ok(())
            };
            Some(shaped(&name.name, facts, vec![handle], activity_of_sessions::SQL_TEXT, rows))
        }
        "fn_dblog" => {
            let columns = View::new(log::LOG_RECORDS).columns;
            let rows = move |arguments: &[Datum]| {
                let position = |at: usize| arguments.get(at).and_then(Datum::as_text);
                let rows = match facts.figures(&database) {
                    Some(figures) => log::log_records(&facts, figures, position(0), position(1))?,
                    None => Vec::new(),
                };
                facts.checked(rows.into())
            };
            let parameters = Some((name.name.clone(), vec![text(25), text(25)]));
            Some(TableFunction { columns, rows: Arc::new(rows), parameters, defaults: Vec::new() })
        }
        _ => None,
    }
}

fn shaped(
    name: &str,
    facts: Arc<Facts>,
    parameters: Vec<SqlType>,
    shape: &'static str,
    fill: impl Fn(&Arc<Facts>, &[Datum], &mut View) -> Result<(), SqlError> + Send + Sync + 'static,
) -> TableFunction {
    let rows = move |arguments: &[Datum]| {
        let mut view = View::shaped(shape);
        waiting(|| fill(&facts, arguments, &mut view))?;
        facts.checked(view.rows.into())
    };
    let columns = View::shaped(shape).columns;
    TableFunction {
        columns,
        rows: Arc::new(rows),
        parameters: Some((name.to_string(), parameters)),
        defaults: Vec::new(),
    }
}

/// Returns the databases that an argument asks for: NULL and 0 ask for all, or for the current one where that
/// is the function's default.
///
/// # Errors
/// Error 2561 for an id that no database has.
pub(super) fn wanted<'f>(
    facts: &'f Facts,
    argument: Option<&Datum>,
    current: Option<&str>,
) -> Result<Vec<&'f DatabaseEntry>, SqlError> {
    let databases = &facts.directory.databases;
    match argument.and_then(Datum::as_int).filter(|id| *id != 0) {
        None => Ok(databases
            .iter()
            .filter(|database| current.is_none_or(|current| same_name(current, &database.name)))
            .collect()),
        Some(id) => match databases.iter().find(|database| i64::from(database.id) == id) {
            Some(database) => Ok(vec![database]),
            None => Err(parameter_incorrect(1)),
        },
    }
}

/// Makes error 2561: an argument that names nothing.
pub(super) fn parameter_incorrect(number: u32) -> SqlError {
    SqlError::new(2561, 16, 1, format!("Parameter {number} is incorrect for this statement."))
}

fn file_stats(figures: &Figures, database_id: i32, wanted: Option<i64>, view: &mut View) {
    for file in figures.engine().file_io() {
        let id = file.file.map_or(LOG_FILE_ID, file_id);
        if wanted.is_some_and(|wanted| wanted != i64::from(id)) {
            continue;
        }
        let count = |value: u64| Datum::Int(value as i64);
        let (read, write) = (file.read_stall.as_millis() as i64, file.write_stall.as_millis() as i64);
        view.add([
            ("database_id", int(database_id)),
            ("file_id", int(id)),
            ("sample_ms", Datum::Int(figures.uptime().as_millis() as i64)),
            ("num_of_reads", count(file.reads)),
            ("num_of_bytes_read", count(file.bytes_read)),
            ("io_stall_read_ms", Datum::Int(read)),
            ("num_of_writes", count(file.writes)),
            ("num_of_bytes_written", count(file.bytes_written)),
            ("io_stall_write_ms", Datum::Int(write)),
            ("io_stall", Datum::Int(read + write)),
            ("size_on_disk_bytes", count(file.size_bytes)),
            // The resource governor delays work before it asks for input or output, never in a queue.
            ("io_stall_queued_read_ms", int(0)),
            ("io_stall_queued_write_ms", int(0)),
        ]);
    }
}
