//! DBCC CHECKIDENT.

use databases::catalogue::Identity;
use databases::instance::identities::furthest_identity;
use databases::storage::Reads;
use databases::store_error::store_error;
use tsql::SqlError;
use tsql::administration::Dbcc;

use crate::session::Session;
use crate::session::output::Output;
use crate::session::work::OpenTable;
use crate::session::work::reads;
use crate::statements::administration::dbcc;
use crate::statements::administration::dbcc::{Argument, incorrect};
use crate::statements::ddl::redefine;
use crate::statements::evaluation::answer;

/// The requested change of the identity.
#[derive(Clone, Copy, PartialEq)]
enum Reseeding {
    /// NORESEED: tell alone.
    None,
    /// RESEED, or nothing: continue after the existing values.
    Behind,
    /// RESEED with a value.
    At(i64),
}

/// Runs DBCC CHECKIDENT. Errors: 2501 without the table, 7997 without an identity, 2560 for other arguments.
pub async fn run(
    session: &mut Session,
    dbcc: &Dbcc,
    arguments: &[Argument],
    output: &mut Output,
) -> Result<(), SqlError> {
    let table = dbcc::table_named(session, arguments.first().ok_or_else(incorrect)?)?;
    let reseeding = reseeding(arguments.get(1..).unwrap_or_default())?;
    let Some((position, identity)) = table.definition.identity() else {
        let text = format!("'{}' does not contain an identity column.", table.definition.name);
        return Err(SqlError::new(7997, 16, 1, text));
    };
    session.placement.leave().await;
    let scan = reads::opener(&session.work, &table, Reads::Latest)(Some(vec![position]), None);
    let column = furthest_identity(scan.map_err(store_error)?, &table.definition)?;
    let id = table.definition.object_id;
    let current = session.instance.last_identity(id).or_else(|| identity.furthest(column));
    if !dbcc.has("NO_INFOMSGS") {
        let shown = |value: Option<i64>| value.map_or_else(|| "NULL".to_owned(), |value| value.to_string());
        let mut text = format!("Checking identity information: current identity value '{}'", shown(current));
        if !matches!(reseeding, Reseeding::At(_)) {
            text.push_str(&format!(", current column value '{}'", shown(column)));
        }
        text.push('.');
        answer::inform(session, SqlError::new(7998, 0, 1, text), output).await;
    }
    // Nothing, or no more than this command, has been there yet.
    let is_unused = current.is_none() || identity.reseeded_unused && current == identity.reseeded;
    let last = match (reseeding, column, current) {
        (Reseeding::None, ..) => None,
        // The first row of all gets the value itself, later ones the value behind it.
        (Reseeding::At(value), ..) if is_unused => {
            Some(value.checked_sub(identity.increment).unwrap_or(value))
        }
        (Reseeding::At(value), ..) => Some(value),
        (Reseeding::Behind, Some(column), Some(current)) if identity.is_behind(column, current) => {
            Some(column)
        }
        (Reseeding::Behind, ..) => None,
    };
    match last {
        Some(last) => {
            let identity = Identity { reseeded: Some(last), reseeded_unused: is_unused, ..identity };
            reseed(session, &table, position, identity, last, reseeding)
        }
        None => Ok(()),
    }
}

fn reseed(
    session: &mut Session,
    table: &OpenTable,
    position: usize,
    identity: Identity,
    last: i64,
    reseeding: Reseeding,
) -> Result<(), SqlError> {
    let mut definition = table.definition.as_ref().clone();
    if let (Some(column), Reseeding::At(_)) = (definition.columns.get_mut(position), reseeding) {
        column.identity = Some(identity);
        let mark = session.work.start_change()?;
        let result = redefine::redefine(session, table, &definition);
        session.work.end_statement(&mark, result.is_ok())?;
        result?;
    }
    session.instance.set_identity(definition.object_id, Some(last));
    Ok(())
}

/// Reads the arguments behind the table. Errors: 2560.
fn reseeding(arguments: &[Argument]) -> Result<Reseeding, SqlError> {
    let wrong = |number: usize| {
        let text = format!("Parameter {number} is incorrect for this DBCC statement.");
        SqlError::new(2560, 16, 9, text)
    };
    match arguments {
        [] => Ok(Reseeding::Behind),
        [Argument::Name(word)] if word.eq_ignore_ascii_case("NORESEED") => Ok(Reseeding::None),
        [Argument::Name(word)] if word.eq_ignore_ascii_case("RESEED") => Ok(Reseeding::Behind),
        [Argument::Name(word), value] if word.eq_ignore_ascii_case("RESEED") => match value {
            Argument::Number(value) => Ok(Reseeding::At(*value)),
            // An exact number beyond int.
            Argument::Name(text) => text.parse().map(Reseeding::At).map_err(|_| wrong(3)),
            Argument::Null => Err(wrong(3)),
        },
        _ => Err(wrong(2)),
    }
}
