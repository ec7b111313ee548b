//! DBCC USEROPTIONS.

use introspection::system_views::View;
use query::{Datum, OutputColumn};
use tsql::SqlError;

use crate::session::Session;
use crate::session::output::Output;
use crate::session::response::{Response, ResultColumns};

/// Shows the options that are set, as this session has them. Returns the number of rows.
pub async fn run(session: &mut Session, output: &mut Output) -> Result<u64, SqlError> {
    let settings = &session.settings;
    let level = match settings.isolation_level {
        1 => "read uncommitted",
        3 => "repeatable read",
        4 => "serializable",
        5 => "snapshot",
        _ => "read committed",
    };
    let mut options = vec![
        ("textsize", settings.text_size.to_string()),
        ("language", settings.language.name.to_string()),
        ("dateformat", settings.date_format.name().to_string()),
        ("datefirst", settings.date_first.to_string()),
        ("lock_timeout", settings.lock_timeout_ms.to_string()),
    ];
    let switches = [
        ("quoted_identifier", settings.quoted_identifier),
        ("arithabort", true),
        ("nocount", settings.no_count),
        ("xact_abort", settings.abort_transaction),
        ("implicit_transactions", settings.implicit_transactions),
        ("ansi_null_dflt_on", true),
        ("ansi_warnings", true),
        ("ansi_padding", settings.ansi_padding),
        ("ansi_nulls", true),
        ("concat_null_yields_null", true),
    ];
    let set = switches.into_iter().filter(|(_, on)| *on);
    options.extend(set.map(|(name, _)| (name, "SET".to_string())));
    options.push(("isolation level", level.to_string()));
    let mut view = View::new(&[("Set Option", "nvarchar(128)"), ("Value", "nvarchar(256)")]);
    for (name, value) in options {
        view.push(vec![Datum::Text(name.to_string()), Datum::Text(value)]);
    }
    let batch = view.batch()?;
    let columns = view.columns.iter().map(OutputColumn::wire).collect();
    output.send(Response::Columns(ResultColumns { columns, schema: batch.schema() })).await;
    let rows = batch.num_rows() as u64;
    output.send(Response::Batch(batch)).await;
    Ok(rows)
}
