//! The fallback that bulk loading replaces: an INSERT with parameters for each row, in transactions of many.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use load::{Client, TableName};
use rows::Plan;
use tds::{Column, Isolation, Reader, SqlType, Value, ValuePlace, decode_value};

use super::{Outcome, Run};
use crate::eleven_columns;
use crate::source::Source;

/// Inserts the first rows of the source, committing every `batch_rows`.
///
/// `encode` is making parameters of a batch; `wait` is everything that the statements take, sending included.
pub(super) fn insert(
    client: &mut Client,
    table: &TableName,
    batch_rows: u64,
    source: &Source,
    rows: u64,
) -> Outcome<Run> {
    let columns = client.columns_of(&format!("SELECT TOP 0 * FROM {table}"))?;
    let plan = Plan::for_result(&eleven_columns::schema(), &columns)?;
    let names: Vec<String> = (1..=columns.len()).map(|number| format!("@P{number}")).collect();
    let statement = format!("INSERT INTO {table} VALUES ({})", names.join(", "));
    let (bytes_before, _) = client.bytes_on_wire();
    let (mut encode, mut sent) = (Duration::ZERO, 0);
    let started = Instant::now();
    for batch in source.first(rows) {
        let encoding = Instant::now();
        let values = values(&plan, &columns, &batch?)?;
        encode += encoding.elapsed();
        for row in values {
            if sent % batch_rows == 0 {
                client.begin(Isolation::Current)?;
            }
            let parameters: Vec<(&str, SqlType, Value)> = names
                .iter()
                .zip(&columns)
                .zip(row)
                .map(|((name, column), value)| (name.as_str(), column.sql_type().clone(), value))
                .collect();
            client.execute_with(&statement, &parameters)?;
            sent += 1;
            if sent % batch_rows == 0 {
                client.commit()?;
            }
        }
    }
    if sent % batch_rows != 0 {
        client.commit()?;
    }
    let elapsed = started.elapsed();
    Ok(Run {
        rows: sent,
        data_bytes: 0,
        bytes_on_wire: client.bytes_on_wire().0 - bytes_before,
        seconds: elapsed.as_secs_f64(),
        phase_seconds: BTreeMap::from([
            ("encode", encode.as_secs_f64()),
            ("wait", elapsed.saturating_sub(encode).as_secs_f64()),
        ]),
        client_cpu_seconds: None,
        server_cpu_seconds: None,
    })
}

/// Lists every row's values, made as a load makes them.
fn values(plan: &Plan, columns: &[Column], batch: &RecordBatch) -> Outcome<Vec<Vec<Value>>> {
    let mut bytes = Vec::new();
    plan.bind(batch, 0)?.encode(0..batch.num_rows(), &mut bytes);
    let mut r = Reader::new(&bytes);
    (0..batch.num_rows())
        .map(|_| {
            r.u8("row token")?;
            let cells = columns.iter().map(|column| decode_value(&mut r, &column.type_info, ValuePlace::Row));
            Ok(cells.collect::<Result<_, _>>()?)
        })
        .collect()
}
