//! APPLOCK_MODE and APPLOCK_TEST.

use databases::instance::application_locks::{LockView, Mode, Owner};
use query::functions::function::Call;
use query::functions::name_type;
use query::{Datum, Typed};
use tds::{Length, SqlType};
use tsql::SqlError;

use crate::facts::Facts;

/// Binds APPLOCK_MODE.
pub(super) fn mode(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    let result = SqlType::NVarChar { length: Length::Units(32) };
    of_locks(call, result, |locks, database, arguments| {
        let [_, resource, owner] = arguments else { return None };
        let mode = locks.mode(database, resource.as_text()?, owner_named(owner.as_text()?)?);
        Some(Datum::Text(mode.to_owned()))
    })
}

/// Binds APPLOCK_TEST.
pub(super) fn test(call: &Call<'_, Facts>) -> Result<Typed, SqlError> {
    of_locks(call, SqlType::SmallInt, |locks, database, arguments| {
        let [_, resource, mode, owner] = arguments else { return None };
        owner_named(owner.as_text()?)?;
        let free = locks.is_free(database, resource.as_text()?, Mode::from_name(mode.as_text()?)?);
        Some(Datum::Int(i64::from(free)))
    })
}

fn owner_named(name: &str) -> Option<Owner> {
    match name.to_ascii_lowercase().as_str() {
        "transaction" => Some(Owner::Transaction),
        "session" => Some(Owner::Session),
        _ => None,
    }
}

/// Binds a function of texts over the session's locks; NULL for what is not understood.
fn of_locks(
    call: &Call<'_, Facts>,
    result: SqlType,
    look: fn(&LockView, &str, &[Datum]) -> Option<Datum>,
) -> Result<Typed, SqlError> {
    let texts = call.arguments.iter().map(|argument| argument.clone().cast(&name_type()));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let (locks, database) = (call.facts.application_locks.clone(), call.facts.database.clone());
    let kernel = move |values: &[Datum]| {
        let found = locks.as_ref().and_then(|locks| look(locks, &database, values));
        Ok(found.unwrap_or(Datum::Null))
    };
    let mut typed = query::typed::call(call.name, texts, result, kernel);
    typed.nullable = true;
    Ok(typed)
}
