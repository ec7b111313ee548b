//! DBCC OPENTRAN: the transaction of a database that has been open longest among those that have changed something.

use introspection::system_views::View;
use query::Datum;
use query::convert::{convert, display};
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::session::Session;

/// The style of moments with milliseconds: `Jun  1 2004  3:30:07:197PM`.
const WITH_MILLISECONDS: i32 = 9;

/// A property of a transaction: its name in a result, that in messages, and the value.
pub(super) type Property = (&'static str, &'static str, String);

/// Describes the oldest transaction of a database; nothing if there is none.
pub(super) fn oldest(session: &Session, database: &str) -> Result<Vec<Property>, SqlError> {
    let figures = session.instance.store().figures_of(database);
    let oldest = figures.and_then(|figures| figures.oldest_transaction());
    let Some(oldest) = oldest else { return Ok(Vec::new()) };
    let text = SqlType::NVarChar { length: Length::Max };
    let moment =
        convert(Datum::Moment(oldest.since), &SqlType::DateTime2 { scale: 7 }, &SqlType::DateTime, 0)?;
    let since = convert(moment, &SqlType::DateTime, &text, WITH_MILLISECONDS)?;
    let (file, block, record) = oldest.first.unwrap_or_default();
    Ok(vec![
        ("OLDACT_SPID", "SPID (server process ID)", oldest.session.to_string()),
        ("OLDACT_UID", "UID (user ID)", "-1".to_owned()),
        ("OLDACT_NAME", "Name", "user_transaction".to_owned()),
        ("OLDACT_LSN", "LSN", format!("({file}:{block}:{record})")),
        ("OLDACT_STARTTIME", "Start time", display(&since, &text)),
        ("OLDACT_SID", "SID", "0x01".to_owned()),
    ])
}

/// Returns the properties as a result.
pub(super) fn rows(properties: Vec<Property>) -> View {
    let mut view = View::new(&[("REC", "nvarchar(32)"), ("VALUE", "nvarchar(256)")]);
    for (name, _, value) in properties {
        view.push(vec![Datum::Text(name.to_owned()), Datum::Text(value)]);
    }
    view
}

/// Returns the properties as messages.
pub(super) fn lines(database: &str, properties: &[Property]) -> Vec<String> {
    if properties.is_empty() {
        return vec!["No active open transactions.".to_owned()];
    }
    let head = [
        format!("Transaction information for database '{database}'."),
        "\nOldest active transaction:".to_owned(),
    ];
    head.into_iter()
        .chain(properties.iter().map(|(_, name, value)| format!("    {name:<14}: {value}")))
        .collect()
}
