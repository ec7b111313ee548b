//! DBCC.

pub(crate) mod check;
pub(crate) mod constraints;
pub(crate) mod contig;
pub(crate) mod identity;
pub(crate) mod open_transaction;
pub(crate) mod options;
pub(crate) mod trace_flags;

use databases::catalogue::DatabaseEntry;
use databases::storage::LOG_FILE_ID;
use databases::waiting::waiting;
use introspection::system_views::View;
use query::convert::display;
use query::{Datum, OutputColumn};
use tsql::SqlError;
use tsql::administration::{Dbcc, DbccArgument};
use tsql::errors;
use tsql::parse_object_name;

use crate::session::Session;
use crate::session::frame::Frame;
use crate::session::output::Output;
use crate::session::response::{Response, ResultColumns, command};
use crate::session::work::OpenTable;
use crate::session::work::directory;
use crate::statements::evaluation::answer;
use crate::statements::evaluation::evaluate;

/// The columns of DBCC SQLPERF (LOGSPACE).
const LOG_SPACE: &[(&str, &str)] = &[
    ("Database Name", "nvarchar(128)"),
    ("Log Size (MB)", "real"),
    ("Log Space Used (%)", "real"),
    ("Status", "int"),
];

/// The columns of DBCC LOGINFO.
const LOG_INFO: &[(&str, &str)] = &[
    ("RecoveryUnitId", "int"),
    ("FileId", "int"),
    ("FileSize", "bigint"),
    ("StartOffset", "bigint"),
    ("FSeqNo", "int"),
    ("Status", "int"),
    ("Parity", "tinyint"),
    ("CreateLSN", "numeric(25,0)"),
];

/// Commands of SQL Server that this server does not have.
const ELSEWHERE: &[&str] = &[
    "CHECKCATALOG",
    "CHECKFILEGROUP",
    "CLEANTABLE",
    "CLONEDATABASE",
    "DBREINDEX",
    "HELP",
    "INDEXDEFRAG",
    "INPUTBUFFER",
    "OUTPUTBUFFER",
    "PAGE",
    "PROCCACHE",
    "SHOW_STATISTICS",
];

/// An evaluated argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Argument {
    /// A name, or a text that is one.
    Name(String),
    /// A number.
    Number(i64),
    /// NULL.
    Null,
}

/// Runs DBCC. Errors: 2526 for an unknown command, 40515 for one that is not supported.
pub async fn run(
    session: &mut Session,
    dbcc: &Dbcc,
    frame: &Frame,
    output: &mut Output,
) -> Result<(), SqlError> {
    let arguments = evaluated(session, &dbcc.arguments, frame).await?;
    let rows = match dbcc.command.as_str() {
        "CHECKDB" | "CHECKTABLE" | "CHECKALLOC" => {
            return check::run(session, dbcc, &arguments, frame, output).await;
        }
        "SHOWCONTIG" => contig::run(session, dbcc, &arguments, output).await?,
        "SQLPERF" => log_space(session, &arguments, output).await?,
        "LOGINFO" => log_info(session, arguments.first(), output).await?,
        "CHECKIDENT" => {
            identity::run(session, dbcc, &arguments, output).await?;
            None
        }
        "CHECKCONSTRAINTS" => constraints::run(session, dbcc, &arguments, frame, output).await?,
        "SHRINKDATABASE" | "SHRINKFILE" => {
            let what = format!("DBCC {}, since data files are never made smaller,", dbcc.command);
            return Err(SqlError::unsupported(&what));
        }
        "UPDATEUSAGE" => {
            // The catalogue's pages and rows are counted as they change: there is nothing to correct.
            database_named(session, arguments.first())?;
            if let Some(table) = arguments.get(1) {
                table_named(session, table)?;
            }
            None
        }
        "TRACEON" | "TRACEOFF" => {
            if !trace_flags::switch(session, &numbers(&arguments)?, dbcc.command == "TRACEON") {
                return Err(incorrect());
            }
            None
        }
        "TRACESTATUS" => {
            let view = trace_flags::status(session, &numbers(&arguments)?);
            rows(session, &view, output).await?
        }
        "OPENTRAN" => show_oldest(session, dbcc, arguments.first(), output).await?,
        "USEROPTIONS" => Some(options::run(session, output).await?),
        "DROPCLEANBUFFERS" => {
            let figures = session.instance.store().figures();
            waiting(|| figures.all().map(|own| own.engine().drop_clean_pages()).sum::<u64>());
            None
        }
        "FREEPROCCACHE" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" => {
            session.instance.statements.forget();
            None
        }
        known if ELSEWHERE.contains(&known) => {
            return Err(SqlError::unsupported(&format!("DBCC {known}")));
        }
        _ => return Err(incorrect()),
    };
    done(session, dbcc, rows, frame, output).await;
    Ok(())
}

/// Shows the oldest transaction as messages, or as rows WITH TABLERESULTS.
async fn show_oldest(
    session: &mut Session,
    dbcc: &Dbcc,
    database: Option<&Argument>,
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    let database = database_named(session, database)?;
    let properties = open_transaction::oldest(session, &database.name)?;
    if dbcc.has("TABLERESULTS") {
        return rows(session, &open_transaction::rows(properties), output).await;
    }
    for line in open_transaction::lines(&database.name, &properties) {
        answer::inform(session, SqlError::new(0, 0, 1, line), output).await;
    }
    Ok(None)
}

/// Sends the message and the DONE that end every command.
pub async fn done(session: &mut Session, dbcc: &Dbcc, rows: Option<u64>, frame: &Frame, output: &mut Output) {
    session.last.error = 0;
    if !dbcc.has("NO_INFOMSGS") {
        answer::inform(session, completed(), output).await;
    }
    let code = if rows.is_some() { command::SELECT } else { command::OTHER };
    output.done(frame.done_kind(), code, rows).await;
}

async fn evaluated(
    session: &mut Session,
    arguments: &[DbccArgument],
    frame: &Frame,
) -> Result<Vec<Argument>, SqlError> {
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(match argument {
            DbccArgument::Name(name) => Argument::Name(name.clone()),
            DbccArgument::Value(expr) => {
                let (value, sql_type) = evaluate::value(session, expr, frame).await?;
                match value {
                    Datum::Null => Argument::Null,
                    Datum::Int(number) => Argument::Number(number),
                    other => Argument::Name(display(&other, &sql_type)),
                }
            }
        });
    }
    Ok(values)
}

/// Finds the database of an argument: the current one if it is left out, 0 or NULL. Errors: 2520, 2521.
pub(crate) fn database_named(
    session: &Session,
    argument: Option<&Argument>,
) -> Result<DatabaseEntry, SqlError> {
    let directory = directory::of(&session.work)?;
    let found = match argument {
        None | Some(Argument::Null | Argument::Number(0)) => directory.database(&session.database),
        Some(Argument::Number(id)) => {
            directory.databases.iter().find(|database| i64::from(database.id) == *id)
        }
        Some(Argument::Name(name)) => {
            let bare = parse_object_name(name).map_or_else(|_| name.clone(), |name| name.name);
            directory.database(&bare)
        }
    };
    found.cloned().ok_or_else(|| match argument {
        Some(Argument::Number(id)) => {
            let text = format!(
                "Could not find database ID {id}. The database ID either does not exist, or the database was dropped before a statement tried to use it. Verify if the database ID exists by querying the sys.databases catalog view."
            );
            SqlError::new(2521, 16, 1, text)
        }
        Some(Argument::Name(name)) => {
            let text = format!(
                "Could not find database '{name}'. The database either does not exist, or was dropped before a statement tried to use it. Verify if the database exists by querying the sys.databases catalog view."
            );
            SqlError::new(2520, 16, 5, text)
        }
        _ => errors::UNKNOWN_DATABASE.with([&session.database]),
    })
}

/// Finds the table of an argument: a name, or an object id. Errors: 2501, 2560.
pub(crate) fn table_named(session: &Session, argument: &Argument) -> Result<OpenTable, SqlError> {
    let missing = |name: &str| {
        let text =
            format!("Cannot find a table or object with the name \"{name}\". Check the system catalog.");
        SqlError::new(2501, 16, 45, text)
    };
    match argument {
        Argument::Name(name) => {
            let wanted = parse_object_name(name).map_err(|_| missing(name))?;
            session.work.find(&wanted, &session.database)?.ok_or_else(|| missing(name))
        }
        Argument::Number(id) => {
            let mut tables = session.work.view().tables()?.into_iter();
            let found = tables.find(|table| i64::from(table.definition.object_id) == *id);
            found.ok_or_else(|| missing(&id.to_string()))
        }
        Argument::Null => {
            Err(SqlError::new(2560, 16, 1, "Parameter 1 is incorrect for this DBCC statement."))
        }
    }
}

/// Sends a result without its DONE.
pub async fn rows(session: &mut Session, view: &View, output: &mut Output) -> Result<Option<u64>, SqlError> {
    let batch = view.batch()?;
    let columns = view.columns.iter().map(OutputColumn::wire).collect();
    output.send(Response::Columns(ResultColumns { columns, schema: batch.schema() })).await;
    let rows = batch.num_rows() as u64;
    if rows > 0 {
        output.send(Response::Batch(batch)).await;
    }
    session.last.rows = rows as i64;
    Ok(Some(rows))
}

async fn log_space(
    session: &mut Session,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    match arguments {
        [Argument::Name(name)] if name.eq_ignore_ascii_case("LOGSPACE") => {}
        _ => return Err(incorrect()),
    }
    let mut view = View::new(LOG_SPACE);
    let figures = session.instance.store().figures();
    for database in &directory::of(&session.work)?.databases {
        let Some(figures) = figures.of(&database.name) else { continue };
        let space = figures.engine().log_space();
        view.push(vec![
            Datum::Text(database.name.clone()),
            Datum::Real((space.total_bytes as f64 / 1_048_576.0) as f32),
            Datum::Real(space.used_percent as f32),
            Datum::Int(0),
        ]);
    }
    rows(session, &view, output).await
}

async fn log_info(
    session: &mut Session,
    database: Option<&Argument>,
    output: &mut Output,
) -> Result<Option<u64>, SqlError> {
    let database = database_named(session, database)?;
    let mut view = View::new(LOG_INFO);
    let figures = session.instance.store().figures_of(&database.name);
    let mut start = 0;
    for file in figures.iter().flat_map(|figures| figures.engine().log_files()) {
        view.push(vec![
            Datum::Int(0),
            Datum::Int(i64::from(LOG_FILE_ID)),
            Datum::Int(file.size_bytes as i64),
            Datum::Int(start),
            Datum::Int(i64::from(file.number)),
            Datum::Int(2),
            Datum::Null,
            Datum::Null,
        ]);
        start += file.size_bytes as i64;
    }
    rows(session, &view, output).await
}

/// Makes message 2528, which ends every command.
fn completed() -> SqlError {
    let text = "DBCC execution completed. If DBCC printed error messages, contact your system administrator.";
    SqlError::new(2528, 0, 1, text)
}

/// Returns arguments that are numbers. Errors: 2526 for others.
fn numbers(arguments: &[Argument]) -> Result<Vec<i64>, SqlError> {
    let number = |argument: &Argument| match argument {
        Argument::Number(number) => Ok(*number),
        _ => Err(incorrect()),
    };
    arguments.iter().map(number).collect()
}

/// Makes error 2526.
fn incorrect() -> SqlError {
    let text = "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.";
    SqlError::new(2526, 16, 2, text)
}
