//! sp_MSforeachtable and sp_MSforeachdb: commands that are run once for each table or database.

use query::Datum;
use tsql::SqlError;
use tsql::ast::StatementKind;
use tsql::parse_batch;

use super::super::Session;
use super::super::interpreter::{Flow, Frame};
use super::super::output::Output;
use super::parameters::{Parameters, Signature};
use super::{Argument, Outcome};

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

impl Session {
    /// Runs the commands of either procedure. Errors: those of the commands, which end the call.
    pub(super) async fn for_each(
        &mut self,
        procedure: &str,
        arguments: &[Argument],
        frame: &mut Frame,
        output: &mut Output,
    ) -> Result<Outcome, SqlError> {
        let tables = procedure == "sp_msforeachtable";
        let parameters = if tables { EACH_TABLE.bind(arguments)? } else { EACH_DATABASE.bind(arguments)? };
        let names = if tables {
            self.names_of_tables(&parameters.text(4).unwrap_or_default(), frame).await?
        } else {
            let directory = self.work.directory();
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
            if self.run_text(&text, &mut inner, output).await? == Flow::Stop {
                outcome.stop = true;
                break;
            }
        }
        Ok(outcome)
    }

    async fn names_of_tables(&mut self, condition: &str, frame: &Frame) -> Result<Vec<String>, SqlError> {
        let statements = parse_batch(&format!("{TABLES}{condition}"), self.settings.quoted_identifier)?;
        let Some(StatementKind::Query(query)) = statements.first().map(|statement| &statement.kind) else {
            return Ok(Vec::new());
        };
        let bound = self.bind(query, frame)?;
        let sql_type = bound.columns.first().map(|column| column.sql_type.clone());
        let instance = std::sync::Arc::clone(&self.instance);
        let batches = instance.engine().collect(bound, &self.cancellation).await?;
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
}

/// `@command1`, `@command2` and `@command3`.
fn commands(parameters: &Parameters<'_>) -> impl Iterator<Item = String> {
    [0, 2, 3].into_iter().filter_map(|at| parameters.text(at))
}
