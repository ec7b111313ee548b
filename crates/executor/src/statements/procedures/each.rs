//! sp_MSforeachtable and sp_MSforeachdb: commands that are run once for each table or database.

use query::Datum;
use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::parse_batch_on;

use crate::session::Session;
use crate::session::frame::{Flow, Frame};
use crate::session::output::Output;
use crate::session::work::directory;
use crate::statements::evaluation::evaluate;
use crate::statements::evaluation::scope;
use crate::statements::procedures::argument::{Argument, Outcome};
use crate::statements::procedures::parameters::{Parameters, Signature};

const EACH_TABLE: Signature = Signature {
    name: "sp_MSforeachtable",
    parameters: &[
        "@command1",
        "@replacechar",
        "@command2",
        "@command3",
        "@whereand",
        "@precommand",
        "@postcommand",
    ],
    required: 1,
};

const EACH_DATABASE: Signature = Signature {
    name: "sp_MSforeachdb",
    parameters: &["@command1", "@replacechar", "@command2", "@command3", "@precommand", "@postcommand"],
    required: 1,
};

/// The tables, as the procedure of SQL Server finds them: its callers' `@whereand` may name `o` and `syso`.
const TABLES: &str = "SELECT QUOTENAME(SCHEMA_NAME(syso.schema_id)) + N'.' + QUOTENAME(o.name) \
    FROM dbo.sysobjects o JOIN sys.all_objects syso ON o.id = syso.object_id \
    WHERE OBJECTPROPERTY(o.id, N'IsUserTable') = 1 AND o.category & 2 = 0 ";

/// Runs the commands of either procedure. Errors: those of the commands, which end the call.
pub async fn for_each(
    session: &mut Session,
    procedure: &str,
    arguments: &[Argument],
    frame: &mut Frame,
    output: &mut Output,
) -> Result<Outcome, SqlError> {
    let tables = procedure == "sp_msforeachtable";
    let parameters = if tables { EACH_TABLE.bind(arguments)? } else { EACH_DATABASE.bind(arguments)? };
    let names = if tables {
        names_of_tables(session, &parameters.text(4).unwrap_or_default(), frame).await?
    } else {
        let directory = directory::of(&session.work)?;
        directory.databases.iter().map(|database| database.name.clone()).collect()
    };
    let mark = parameters.text(1).filter(|mark| !mark.is_empty()).unwrap_or_else(|| "?".to_string());
    let (before, after) = if tables { (5, 6) } else { (4, 5) };
    let mut texts: Vec<String> = parameters.text(before).into_iter().collect();
    for name in &names {
        texts.extend(commands(&parameters).map(|command| command.replace(&mark, name)));
    }
    texts.extend(parameters.text(after));
    let mut outcome = Outcome::plain();
    for text in texts {
        output.check()?;
        let mut inner = frame.inner()?;
        if scope::run_text(session, &text, &mut inner, output).await? == Flow::Stop {
            outcome.stop = true;
            break;
        }
    }
    Ok(outcome)
}

async fn names_of_tables(
    session: &mut Session,
    condition: &str,
    frame: &Frame,
) -> Result<Vec<String>, SqlError> {
    let statements = parse_batch_on(
        session.instance.name(),
        &format!("{TABLES}{condition}"),
        session.settings.quoted_identifier,
    )?;
    let Some(StatementKind::Query(query)) = statements.first().map(|statement| &statement.kind) else {
        return Ok(Vec::new());
    };
    let bound = evaluate::bind(session, query, frame)?;
    let sql_type = bound.columns.first().map(|column| column.sql_type.clone());
    let instance = std::sync::Arc::clone(&session.instance);
    let batches = instance.engine().collect(bound, &session.cancellation).await?;
    let mut names = Vec::new();
    for batch in &batches {
        let (Some(array), Some(sql_type)) = (batch.columns().first(), &sql_type) else { continue };
        for row in 0..batch.num_rows() {
            if let Datum::Text(name) = Datum::read(array.as_ref(), sql_type, row)? {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// Returns `@command1`, `@command2` and `@command3`.
fn commands(parameters: &Parameters<'_>) -> impl Iterator<Item = String> {
    [0, 2, 3].into_iter().filter_map(|at| parameters.text(at))
}
