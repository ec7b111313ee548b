//! Work that is done exactly once: a mark in the database is committed with it.
//!
//! The mark is inserted first, so that a run that was thought dead and is still committing makes the next one wait, and then
//! find the mark.

use std::collections::BTreeMap;

use load::{Client, Error};
use serde_json::{Value as Json, json};
use tds::{Isolation, Length, SqlType, Value};

use crate::loaded::fingerprint;
use crate::task_context::Done;
use crate::task_error::TaskError;

const TABLE: &str = "[dbo].[bulkwire_package_steps]";
/// A key that is there already.
const DUPLICATE: [i32; 2] = [2627, 2601];
/// "There is already an object named ...".
const NAME_TAKEN: i32 = 2714;
/// Characters of a key.
const KEY_LENGTH: usize = 128;

/// Does the work in a transaction that also marks it as done, unless it is marked already.
pub(super) fn once(
    client: &mut Client,
    identity: &str,
    work: &mut dyn FnMut(&mut Client) -> Result<Done, TaskError>,
) -> Result<Done, TaskError> {
    let key = key_of(identity);
    create(client)?;
    client.begin(Isolation::Current).map_err(TaskError::of_client)?;
    let inserted = client.execute_with(
        &format!("INSERT INTO {TABLE} (step, done_at) VALUES (@step, SYSUTCDATETIME())"),
        &[step(&key)],
    );
    match inserted {
        Ok(_) => {}
        Err(Error::Server(error)) if DUPLICATE.contains(&error.first().number) => {
            roll_back(client);
            return recorded(client, &key);
        }
        Err(error) => {
            roll_back(client);
            return Err(TaskError::of_client(error.settled()));
        }
    }
    let worked = work(client).and_then(|done| {
        // Statements behind the transaction's end within the same batch are committed.
        if let Err(Error::TransactionEnded { cause: None, .. }) = client.check_transaction() {
            let message = "the SQL has ended the transaction by itself; `transaction = true` is for SQL that leaves it open";
            return Err(TaskError { is_in_doubt: true, is_final: true, ..TaskError::new(message) });
        }
        let result = json!({"rows": done.rows, "variables": done.variables}).to_string();
        let text = ("@result", SqlType::NVarChar { length: Length::Max }, Value::String(result));
        client
            .execute_with(&format!("UPDATE {TABLE} SET result = @result WHERE step = @step"), &[step(&key), text])
            .map_err(|error| TaskError::of_client(error.settled()))?;
        Ok(done)
    });
    match worked {
        Ok(done) => {
            client.commit().map_err(TaskError::of_client)?;
            Ok(done)
        }
        Err(error) => {
            roll_back(client);
            Err(error)
        }
    }
}

fn step(key: &str) -> (&'static str, SqlType, Value) {
    ("@step", SqlType::NVarChar { length: Length::Units(KEY_LENGTH as u16) }, Value::String(key.to_owned()))
}

/// Makes a key that fits its column.
pub(crate) fn key_of(identity: &str) -> String {
    if identity.encode_utf16().count() <= KEY_LENGTH {
        return identity.to_owned();
    }
    // Half the room for people, and a hash that tells such keys apart.
    let head: String = identity.chars().take(48).collect();
    let hash = fingerprint(identity.as_bytes());
    let tail: String = identity.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{head}…{hash:016x}…{tail}")
}

fn create(client: &mut Client) -> Result<(), TaskError> {
    let made = client.execute(&format!(
        "IF OBJECT_ID(N'dbo.bulkwire_package_steps') IS NULL CREATE TABLE {TABLE} (\
         step nvarchar({KEY_LENGTH}) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY, \
         done_at datetime2(3) NOT NULL, result nvarchar(max) NULL)"
    ));
    match made {
        Ok(_) => Ok(()),
        // Another run has made it meanwhile.
        Err(Error::Server(error)) if error.first().number == NAME_TAKEN => Ok(()),
        Err(error) => Err(TaskError::of_client(error.settled())),
    }
}

fn roll_back(client: &mut Client) {
    if !client.is_broken() {
        // A connection on which this fails is closed, and the server rolls back.
        let _ = client.rollback();
    }
}

/// Reads the result of an earlier run's committed work from its mark.
fn recorded(client: &mut Client, key: &str) -> Result<Done, TaskError> {
    let found = client
        .query_values_with(&format!("SELECT result FROM {TABLE} WHERE step = @step"), &[step(key)])
        .map_err(TaskError::of_client)?;
    let text = match load::first_value(&found) {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    let result: Json = serde_json::from_str(&text).unwrap_or(Json::Null);
    let mut variables = BTreeMap::new();
    for (name, value) in result.get("variables").and_then(Json::as_object).into_iter().flatten() {
        variables.insert(name.clone(), value.as_str().map(str::to_owned));
    }
    let note = "an earlier run had committed it".to_owned();
    Ok(Done { rows: result.get("rows").and_then(Json::as_u64), refused: 0, notes: vec![note], variables })
}
