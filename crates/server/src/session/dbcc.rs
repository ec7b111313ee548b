//! DBCC.

mod check;
mod constraints;
mod contig;
mod identity;
mod options;

use query::convert::display;
use query::{Datum, OutputColumn};
use tsql::SqlError;
use tsql::administration::{Dbcc, DbccArgument};
use tsql::parse_object_name;

use super::Session;
use super::interpreter::Frame;
use super::output::Output;
use super::response::{Response, ResultColumns, command};
use super::work::{OpenTable, waiting};
use crate::catalogue::DatabaseEntry;
use crate::catalogue::views::View;

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
    "OPENTRAN",
    "OUTPUTBUFFER",
    "PAGE",
    "PROCCACHE",
    "SHOW_STATISTICS",
    "TRACEOFF",
    "TRACEON",
    "TRACESTATUS",
];

/// An evaluated argument.
#[derive(Debug, Clone, PartialEq)]
enum Argument {
    /// A name, or a text that is one.
    Name(String),
    /// A number.
    Number(i64),
    /// NULL.
    Null,
}

impl Session {
    /// Runs DBCC. Errors: 2526 for what is none of its commands, 40515 for those that are not served.
    pub(super) async fn dbcc(
        &mut self,
        dbcc: &Dbcc,
        frame: &Frame,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        let arguments = self.dbcc_arguments(&dbcc.arguments, frame).await?;
        let rows = match dbcc.command.as_str() {
            "CHECKDB" | "CHECKTABLE" | "CHECKALLOC" => {
                return self.check(dbcc, &arguments, frame, output).await;
            }
            "SHOWCONTIG" => self.show_contig(dbcc, &arguments, output).await?,
            "SQLPERF" => self.log_space(&arguments, output).await?,
            "LOGINFO" => self.log_info(arguments.first(), output).await?,
            "CHECKIDENT" => {
                self.check_identity(dbcc, &arguments, output).await?;
                None
            }
            "CHECKCONSTRAINTS" => self.check_constraints(dbcc, &arguments, frame, output).await?,
            "SHRINKDATABASE" | "SHRINKFILE" => {
                let what = format!("DBCC {}, since data files are never made smaller,", dbcc.command);
                return Err(SqlError::unsupported(&what));
            }
            "UPDATEUSAGE" => {
                // What the catalogue says of pages and rows is counted as they change: there is nothing to correct.
                self.dbcc_database(arguments.first())?;
                if let Some(table) = arguments.get(1) {
                    self.dbcc_table(table)?;
                }
                None
            }
            "USEROPTIONS" => Some(self.user_options(output).await?),
            "DROPCLEANBUFFERS" => {
                let figures = self.instance.store().figures();
                waiting(|| figures.all().map(|own| own.engine().drop_clean_pages()).sum::<u64>());
                None
            }
            "FREEPROCCACHE" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" => {
                self.instance.statements.forget();
                None
            }
            known if ELSEWHERE.contains(&known) => {
                return Err(SqlError::unsupported(&format!("DBCC {known}")));
            }
            _ => return Err(incorrect()),
        };
        self.dbcc_done(dbcc, rows, frame, output).await;
        Ok(())
    }

    /// The message and the DONE that end every command.
    async fn dbcc_done(&mut self, dbcc: &Dbcc, rows: Option<u64>, frame: &Frame, output: &mut Output) {
        self.last.error = 0;
        if !dbcc.has("NO_INFOMSGS") {
            self.inform(completed(), output).await;
        }
        let code = if rows.is_some() { command::SELECT } else { command::OTHER };
        output.done(frame.done_kind(), code, rows).await;
    }

    async fn dbcc_arguments(
        &mut self,
        arguments: &[DbccArgument],
        frame: &Frame,
    ) -> Result<Vec<Argument>, SqlError> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(match argument {
                DbccArgument::Name(name) => Argument::Name(name.clone()),
                DbccArgument::Value(expr) => {
                    let (value, sql_type) = self.value(expr, frame).await?;
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

    /// The database of an argument: the current one if it is left out, 0 or NULL. Errors: 2520, 2521.
    fn dbcc_database(&self, argument: Option<&Argument>) -> Result<DatabaseEntry, SqlError> {
        let directory = self.work.directory();
        let found = match argument {
            None | Some(Argument::Null | Argument::Number(0)) => directory.database(&self.database),
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
            _ => SqlError::unknown_database(&self.database),
        })
    }

    /// The table of an argument: a name, or an object id. Errors: 2501, 2560.
    fn dbcc_table(&self, argument: &Argument) -> Result<OpenTable, SqlError> {
        let missing = |name: &str| {
            let text =
                format!("Cannot find a table or object with the name \"{name}\". Check the system catalog.");
            SqlError::new(2501, 16, 45, text)
        };
        match argument {
            Argument::Name(name) => {
                let wanted = parse_object_name(name).map_err(|_| missing(name))?;
                self.work.find(&wanted, &self.database)?.ok_or_else(|| missing(name))
            }
            Argument::Number(id) => {
                let mut tables = self.work.view().tables()?.into_iter();
                let found = tables.find(|table| i64::from(table.definition.object_id) == *id);
                found.ok_or_else(|| missing(&id.to_string()))
            }
            Argument::Null => {
                Err(SqlError::new(2560, 16, 1, "Parameter 1 is incorrect for this DBCC statement."))
            }
        }
    }

    /// Sends a result without its DONE.
    async fn dbcc_rows(&mut self, view: &View, output: &mut Output) -> Result<Option<u64>, SqlError> {
        let batch = view.batch()?;
        let columns = view.columns.iter().map(OutputColumn::wire).collect();
        output.send(Response::Columns(ResultColumns { columns, schema: batch.schema() })).await;
        let rows = batch.num_rows() as u64;
        if rows > 0 {
            output.send(Response::Batch(batch)).await;
        }
        self.last.rows = rows as i64;
        Ok(Some(rows))
    }

    async fn log_space(
        &mut self,
        arguments: &[Argument],
        output: &mut Output,
    ) -> Result<Option<u64>, SqlError> {
        match arguments {
            [Argument::Name(name)] if name.eq_ignore_ascii_case("LOGSPACE") => {}
            _ => return Err(incorrect()),
        }
        let mut view = View::new(LOG_SPACE);
        let figures = self.instance.store().figures();
        for database in &self.work.directory().databases {
            let Some(figures) = figures.of(&database.name) else { continue };
            let space = figures.engine().log_space();
            view.push(vec![
                Datum::Text(database.name.clone()),
                Datum::Real((space.total_bytes as f64 / 1_048_576.0) as f32),
                Datum::Real(space.used_percent as f32),
                Datum::Int(0),
            ]);
        }
        self.dbcc_rows(&view, output).await
    }

    async fn log_info(
        &mut self,
        database: Option<&Argument>,
        output: &mut Output,
    ) -> Result<Option<u64>, SqlError> {
        let database = self.dbcc_database(database)?;
        let mut view = View::new(LOG_INFO);
        let figures = self.instance.store().figures_of(&database.name);
        let mut start = 0;
        for file in figures.iter().flat_map(|figures| figures.engine().log_files()) {
            view.push(vec![
                Datum::Int(0),
                Datum::Int(i64::from(crate::storage::LOG_FILE_ID)),
                Datum::Int(file.size_bytes as i64),
                Datum::Int(start),
                Datum::Int(i64::from(file.number)),
                Datum::Int(2),
                Datum::Null,
                Datum::Null,
            ]);
            start += file.size_bytes as i64;
        }
        self.dbcc_rows(&view, output).await
    }
}

/// 2528: what every command says at its end.
fn completed() -> SqlError {
    let text = "DBCC execution completed. If DBCC printed error messages, contact your system administrator.";
    SqlError::new(2528, 0, 1, text)
}

/// 2526.
fn incorrect() -> SqlError {
    let text = "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.";
    SqlError::new(2526, 16, 2, text)
}
