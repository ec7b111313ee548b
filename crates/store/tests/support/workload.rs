//! Mixed transactions whose effect is known: step k of a seed always does the same to the same state.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bulkwire_store::{Database, Savepoint, StoreError, TableId, Transaction};

use super::Random;

/// Rows of one table: id and text.
pub type Rows = Vec<(i64, Option<String>)>;

/// What a database holds: name, (properties, rows).
pub type Model = BTreeMap<String, (String, Rows)>;

pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("text", DataType::Utf8, true)
            .with_metadata([("sql_type".into(), "nvarchar(50)".into())].into()),
    ]))
}

pub fn batch(rows: &[(i64, Option<String>)]) -> RecordBatch {
    let ids: Int64Array = rows.iter().map(|(id, _)| *id).collect::<Vec<_>>().into();
    let texts: StringArray = rows.iter().map(|(_, text)| text.clone()).collect();
    RecordBatch::try_new(schema(), vec![Arc::new(ids), Arc::new(texts)]).unwrap()
}

pub fn rows_of(batches: impl IntoIterator<Item = Result<RecordBatch, StoreError>>) -> Rows {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        let ids = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        let texts = batch.column(1).as_any().downcast_ref::<StringArray>().unwrap();
        for row in 0..batch.num_rows() {
            let text = (!texts.is_null(row)).then(|| texts.value(row).to_owned());
            rows.push((ids.value(row), text));
        }
    }
    rows
}

/// Everything that a snapshot shows.
pub fn contents(database: &Database) -> Model {
    let snapshot = database.snapshot();
    let tables = snapshot.tables().into_iter().map(|table| {
        let rows = rows_of(snapshot.scan(table.id, None).unwrap());
        assert_eq!(table.rows, rows.len() as u64);
        assert_eq!(snapshot.table(&table.name).unwrap().id, table.id);
        (table.name.to_string(), (table.properties.to_string(), rows))
    });
    tables.collect()
}

/// Everything that a transaction shows.
pub fn transaction_contents(transaction: &Transaction) -> Model {
    let tables = transaction.tables().into_iter().map(|table| {
        let rows = rows_of(transaction.scan(table.id, None).unwrap());
        assert_eq!(table.rows, rows.len() as u64);
        assert_eq!(transaction.table(&table.name).unwrap().id, table.id);
        (table.name.to_string(), (table.properties.to_string(), rows))
    });
    tables.collect()
}

/// Rows with text of about `text_bytes` bytes each.
pub fn make_rows(random: &mut Random, count: u64, text_bytes: u64) -> Rows {
    let row = |random: &mut Random| {
        let id = random.next() as i64;
        let text = (!random.one_in(5)).then(|| "ä€x".repeat((random.below(text_bytes / 3 + 1)) as usize));
        (id, text)
    };
    (0..count).map(|_| row(random)).collect()
}

/// Runs one random transaction on database and model. `Ok(true)`: committed; `Ok(false)`: rolled back. On error `model` holds the state that
/// the failed commit would have made (or is unchanged if it failed before the commit).
pub fn step(database: &Database, model: &mut Model, random: &mut Random) -> Result<bool, StoreError> {
    if random.one_in(8) {
        database.checkpoint()?;
    }
    let mut transaction = database.begin();
    let mut next = model.clone();
    let mut savepoints: Vec<(Savepoint, Model)> = Vec::new();
    for _ in 0..1 + random.below(4) {
        if random.one_in(5) {
            savepoints.push((transaction.savepoint(), next.clone()));
        }
        change(&mut transaction, &mut next, random)?;
        if random.one_in(6) && !savepoints.is_empty() {
            let place = random.below(savepoints.len() as u64) as usize;
            savepoints.truncate(place + 1);
            let (savepoint, then) = savepoints.last().unwrap();
            transaction.rollback_to(savepoint)?;
            next = then.clone();
        }
    }
    if random.one_in(6) {
        transaction.rollback();
        return Ok(false);
    }
    *model = next;
    transaction.commit()?;
    Ok(true)
}

fn change(transaction: &mut Transaction, model: &mut Model, random: &mut Random) -> Result<(), StoreError> {
    let names: Vec<String> = model.keys().cloned().collect();
    if names.is_empty() || (names.len() < 4 && random.one_in(6)) {
        let name = format!("dbo.t{}", random.below(6));
        return match transaction.create_table(name.clone(), schema(), "new") {
            Ok(_) => {
                assert!(model.insert(name, ("new".to_owned(), Vec::new())).is_none());
                Ok(())
            }
            Err(StoreError::TableExists { .. }) => {
                assert!(model.contains_key(&name));
                Ok(())
            }
            Err(error) => Err(error),
        };
    }
    let name = names[random.below(names.len() as u64) as usize].clone();
    let id: TableId = transaction.table(&name).unwrap().id;
    let (properties, rows) = model.get_mut(&name).unwrap();
    match random.below(14) {
        0..=4 => {
            let count = 1 + random.below(3);
            let more = make_rows(random, count, 40);
            transaction.append(id, &batch(&more))?;
            rows.extend(more);
        }
        5..=7 => {
            // Beyond what rides in the journal: goes to a segment when the transaction commits.
            let more = make_rows(random, 20, 12_000);
            transaction.append(id, &batch(&more))?;
            rows.extend(more);
        }
        8 => {
            // A frame of its own at once.
            let more = vec![(1, Some("bulk ".repeat(220_000)))];
            transaction.append(id, &batch(&more))?;
            rows.extend(more);
        }
        9 => {
            let kept: Rows = rows.iter().filter(|(id, _)| id % 2 == 0).cloned().collect();
            transaction.replace(id, [batch(&kept)])?;
            *rows = kept;
        }
        10 => {
            transaction.truncate(id)?;
            rows.clear();
        }
        11 => {
            transaction.drop_table(id)?;
            model.remove(&name);
        }
        12 => {
            let text = format!("properties {}", random.below(100));
            transaction.set_properties(id, text.clone())?;
            *properties = text;
        }
        _ => {
            let other = format!("dbo.t{}", random.below(6));
            match transaction.rename_table(id, other.clone()) {
                Ok(()) => {
                    let table = model.remove(&name).unwrap();
                    model.insert(other, table);
                }
                Err(StoreError::TableExists { .. }) => assert!(model.contains_key(&other)),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
