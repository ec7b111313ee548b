//! Random transactions, run on the engine and on a plain model.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Int32Array, RecordBatch, StringArray,
};
use arrow::datatypes::Int32Type;
use bulkwire_store::{
    BulkOptions, Column, Compression, Engine, EngineError, IndexDefinition, KeyColumn, Kind, RebuildOptions,
    RowId, RowLocator, Scan, Transaction,
};

use crate::support::Random;

/// Key, text that may be missing, large value that may be missing.
pub type Row = (i32, Option<String>, Option<Vec<u8>>);
pub type Model = BTreeMap<String, Vec<Row>>;

pub fn columns() -> Vec<Column> {
    vec![
        Column::required("id", Kind::Int),
        Column::new("text", Kind::VarChar(Some(8000))),
        Column::new("large", Kind::VarBinary(None)),
    ]
}

pub fn batch(rows: &[Row]) -> RecordBatch {
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.2.as_deref()).collect::<BinaryArray>()),
    ];
    let layout = bulkwire_store::record::layout::Layout::new(columns()).unwrap();
    RecordBatch::try_new(layout.schema, arrays).unwrap()
}

pub fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let (ids, texts, large) = (
        batch.column(0).as_primitive::<Int32Type>(),
        batch.column(1).as_string::<i32>(),
        batch.column(2).as_binary::<i32>(),
    );
    (0..batch.num_rows())
        .map(|row| {
            let text = texts.is_valid(row).then(|| texts.value(row).to_owned());
            let large = large.is_valid(row).then(|| large.value(row).to_vec());
            (ids.value(row), text, large)
        })
        .collect()
}

pub fn scanned(scan: Scan) -> Result<Vec<Row>, EngineError> {
    let mut rows = Vec::new();
    for batch in scan {
        rows.extend(rows_of(&batch?));
    }
    rows.sort();
    Ok(rows)
}

/// The rows whose id `part` divides, chosen by the columns at `places`.
fn chosen(mut scan: Scan, places: &[usize], part: i32) -> Vec<Row> {
    let id = places.iter().position(|place| *place == 0).unwrap();
    let mut divides = |batch: RecordBatch| -> Option<BooleanArray> {
        assert_eq!(batch.num_columns(), places.len());
        let ids = batch.column(id).as_primitive::<Int32Type>().iter();
        // Unknown is not true.
        Some(ids.map(|id| id.filter(|id| id % 7 != 3 || id % part == 0).map(|id| id % part == 0)).collect())
    };
    let mut rows = Vec::new();
    while let Some(batch) = scan.next_where(places, &mut divides) {
        rows.extend(rows_of(&batch.unwrap()));
    }
    rows.sort();
    rows
}

/// Everything committed.
pub fn contents(engine: &Engine) -> Model {
    let snapshot = engine.snapshot();
    let tables: Vec<_> = snapshot.tables().cloned().collect();
    tables
        .iter()
        .map(|table| {
            let rows = scanned(snapshot.read_table(&table.name).unwrap().scan(None).unwrap()).unwrap();
            assert_eq!(table.rows, rows.len() as u64, "row count of {}", table.name);
            for (places, part) in [(&[0][..], 2), (&[0, 2], 3), (&[1, 0], 1000)] {
                let scan = snapshot.read_table(&table.name).unwrap().scan(None).unwrap();
                let wanted: Vec<Row> = rows.iter().filter(|row| row.0 % part == 0).cloned().collect();
                assert_eq!(chosen(scan, places, part), wanted, "every {part}th id of {}", table.name);
            }
            let mut trees = Vec::new();
            if table.clustered.is_some() {
                trees.push((
                    snapshot.read_table(&table.name).unwrap().ordered_scan(None, None, None).unwrap(),
                    false,
                ));
            }
            for index in &table.indexes {
                let scan = snapshot
                    .read_table(&table.name)
                    .unwrap()
                    .index_scan(index.name(), None, None, None)
                    .unwrap();
                trees.push((scan, true));
            }
            for (scan, descends) in trees {
                let mut ordered: Vec<Row> = scan.flat_map(|batch| rows_of(&batch.unwrap())).collect();
                let in_order = ordered.is_sorted_by(|a, b| if descends { a.0 >= b.0 } else { a.0 <= b.0 });
                assert!(in_order, "order of {}", table.name);
                ordered.sort();
                assert_eq!(ordered, rows, "rows of a tree of {}", table.name);
            }
            (table.name.to_string(), rows)
        })
        .collect()
}

fn row(random: &mut Random) -> Row {
    let id = random.below(1_000_000) as i32;
    let fill = |random: &mut Random, length: u64| {
        let seed = random.below(26);
        (0..length).map(|index| b'a' + ((seed + index) % 26) as u8).collect::<Vec<u8>>()
    };
    let length = match random.below(12) {
        0 => random.below(8001),
        1..4 => random.below(900),
        _ => random.below(40),
    };
    let text = (!random.one_in(6)).then(|| String::from_utf8(fill(random, length)).unwrap());
    let length = match random.below(40) {
        0 => 30_000 + random.below(60_000),
        1..4 => random.below(12_000),
        _ => random.below(30),
    };
    let large = (!random.one_in(4)).then(|| fill(random, length));
    (id, text, large)
}

fn with_id(id: i32, (_, text, large): Row) -> Row {
    (id, text, large)
}

fn rows(random: &mut Random, most: u64) -> Vec<Row> {
    (0..random.below(most) + 1).map(|_| row(random)).collect()
}

fn addressed(transaction: &Transaction, table: &str) -> Result<Vec<(Row, RowId)>, EngineError> {
    let mut scan = transaction.read_table(table)?.scan(None)?;
    let mut rows = Vec::new();
    while let Some(batch) = scan.next_with_addresses() {
        let (batch, addresses) = batch?;
        rows.extend(rows_of(&batch).into_iter().zip(addresses));
    }
    rows.sort();
    Ok(rows)
}

/// The one index that a table may have: by id, the greatest first.
fn index(random: &mut Random) -> IndexDefinition {
    let key = vec![KeyColumn::descending(0)];
    let compression = Some(compression(random));
    IndexDefinition { key, fill_factor_percent: 60, compression, ..IndexDefinition::new("by_id", &[]) }
}

/// A clustered key on id that is not unique; the table's compression may stay.
fn loose(random: &mut Random) -> IndexDefinition {
    let compression = (!random.one_in(3)).then(|| compression(random));
    IndexDefinition { compression, ..IndexDefinition::new("loose", &[0]) }
}

fn located(transaction: &Transaction, table: &str) -> Result<Vec<(Row, RowLocator)>, EngineError> {
    let mut scan = transaction.read_table(table)?.scan(None)?;
    let mut rows = Vec::new();
    while let Some(found) = scan.next_with_locators() {
        let (batch, locators) = found?;
        rows.extend(rows_of(&batch).into_iter().zip(locators));
    }
    rows.sort();
    Ok(rows)
}

/// Rows of any table but one with a unique key, by what scans say of them.
fn change_located(
    transaction: &mut Transaction,
    name: &str,
    table: &mut Vec<Row>,
    random: &mut Random,
) -> Result<(), EngineError> {
    let present = located(transaction, name)?;
    assert_eq!(present.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>(), *table);
    if present.is_empty() {
        return Ok(());
    }
    let mut chosen: Vec<usize> =
        (0..random.below(9) + 1).map(|_| random.below(present.len() as u64) as usize).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let locators: Vec<RowLocator> = chosen.iter().map(|index| present[*index].1.clone()).collect();
    if random.one_in(2) {
        transaction.open_table(name)?.delete_located(&locators)?;
        chosen.iter().rev().for_each(|index| drop(table.remove(*index)));
    } else {
        let new: Vec<Row> = chosen
            .iter()
            .map(|index| {
                let id = present[*index].0.0;
                let new = row(random);
                if random.one_in(2) { with_id(id, new) } else { new }
            })
            .collect();
        transaction.open_table(name)?.update_located(&locators, &batch(&new))?;
        for (index, row) in chosen.iter().zip(new) {
            table[*index] = row;
        }
        table.sort();
    }
    Ok(())
}

/// Another form for the same rows.
fn change_form(transaction: &mut Transaction, name: &str, random: &mut Random) -> Result<(), EngineError> {
    let table = transaction.table(name).unwrap();
    match (random.below(5), table.indexes.is_empty(), &table.clustered) {
        (0..2, true, _) => {
            transaction.open_table(name).and_then(|mut table| table.create_index(&index(random)))
        }
        (0, false, _) => transaction.open_table(name).and_then(|mut table| table.drop_index("by_id")),
        (1, false, _) => {
            let compression = (!random.one_in(3)).then(|| compression(random));
            let options = RebuildOptions { fill_factor_percent: Some(100), compression };
            transaction.open_table(name).and_then(|mut table| table.rebuild_index("by_id", options))
        }
        (2, _, _) => transaction.open_table(name).and_then(|mut table| {
            table.rebuild(bulkwire_store::RebuildOptions::filled(Some(random.below(101) as u8)))
        }),
        (_, _, None) => {
            transaction.open_table(name).and_then(|mut table| table.create_clustered_index(&loose(random)))
        }
        (_, _, Some(_)) => transaction.open_table(name).and_then(|mut table| table.drop_clustered_index()),
    }
}

/// A load of rows in any order, with so little memory that most sorts write files.
fn load(
    transaction: &mut Transaction,
    name: &str,
    rows: &[Row],
    random: &mut Random,
) -> Result<(), EngineError> {
    let options = BulkOptions {
        table_lock: !random.one_in(4),
        sorted: rows.is_sorted_by_key(|row| row.0) && random.one_in(2),
        sort_memory_bytes: 1 << (9 + random.below(8)),
    };
    let mut writer = transaction.open_table(name)?.bulk_writer_with(options)?;
    for part in rows.chunks(1 + random.below(30) as usize) {
        if let Err(error) = writer.append(&batch(part)) {
            transaction.abandon_bulk(writer);
            return Err(error);
        }
    }
    transaction.open_table(name).and_then(|mut table| table.finish_bulk(writer)).map(drop)
}

/// A batch of keys.
pub fn keys(ids: &[i32]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
    RecordBatch::try_from_iter_with_nullable([("id", ids, false)]).unwrap()
}

fn change_keyed(
    transaction: &mut Transaction,
    name: &str,
    table: &mut Vec<Row>,
    random: &mut Random,
) -> Result<(), EngineError> {
    let chosen = |random: &mut Random, table: &[Row]| {
        let mut chosen: Vec<usize> =
            (0..random.below(12) + 1).map(|_| random.below(table.len() as u64) as usize).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    };
    match random.below(10) {
        0..5 => {
            let mut rows = rows(random, 40);
            rows.sort();
            rows.dedup_by_key(|row| row.0);
            rows.retain(|row| table.iter().all(|other| other.0 != row.0));
            if let (Some(twice), true) = (table.first(), random.one_in(4)) {
                // A statement with a key that exists does nothing at all.
                let mut rows = rows.clone();
                rows.push(twice.clone());
                match transaction.open_table(name).and_then(|mut table| table.insert(&batch(&rows))) {
                    Err(EngineError::DuplicateKey { .. }) => {}
                    other => return Err(other.expect_err("a key twice")),
                }
            }
            match random.one_in(2) {
                true => load(transaction, name, &rows, random)?,
                false => drop(transaction.open_table(name)?.insert(&batch(&rows))?),
            }
            table.extend(rows);
        }
        5..8 if !table.is_empty() => {
            let chosen = chosen(random, table);
            let new: Vec<Row> = chosen.iter().map(|index| with_id(table[*index].0, row(random))).collect();
            transaction.open_table(name)?.update_keyed(&batch(&new))?;
            for (index, row) in chosen.iter().zip(new) {
                table[*index] = row;
            }
        }
        _ if !table.is_empty() => {
            let chosen = chosen(random, table);
            let ids: Vec<i32> = chosen.iter().map(|index| table[*index].0).collect();
            transaction.open_table(name)?.delete_keys(&keys(&ids))?;
            chosen.iter().rev().for_each(|index| drop(table.remove(*index)));
        }
        _ => {}
    }
    table.sort();
    Ok(())
}

fn compression(random: &mut Random) -> Compression {
    [Compression::None, Compression::Row, Compression::Page][random.below(3) as usize]
}

/// A new table alike exchanges its rows with the table, and one of the two is dropped: its pages were the other's.
fn exchange(
    transaction: &mut Transaction,
    model: &mut Model,
    name: &str,
    random: &mut Random,
) -> Result<(), EngineError> {
    let table = transaction.table(name).unwrap();
    let twin = format!("x{}", random.below(1_000_000));
    let key = table.clustered.as_ref().map(|tree| tree.definition.clone());
    let key = key.map(|key| IndexDefinition { name: "other".to_owned(), fill_factor_percent: 80, ..key });
    let (compression, placement) = (table.layout.compression, bulkwire_store::Placement::default());
    transaction.create_table_on(&twin, columns(), key.as_ref(), compression, &placement, "p")?;
    for index in &table.indexes {
        transaction.open_table(&twin)?.create_index(&index.tree.definition)?;
    }
    let mut new = rows(random, 5);
    new.sort();
    new.dedup_by_key(|row| row.0);
    transaction.open_table(&twin)?.insert(&batch(&new))?;
    let (one, other) = (transaction.table(name).unwrap(), transaction.table(&twin).unwrap());
    transaction.exchange_rows(&one, &other)?;
    let old = model.insert(name.to_owned(), new).unwrap();
    model.insert(twin.clone(), old);
    let gone = if random.one_in(3) { &twin } else { name };
    transaction.open_table(gone)?.drop()?;
    model.remove(gone);
    Ok(())
}

/// One change of one table, on both.
pub fn change(
    transaction: &mut Transaction,
    model: &mut Model,
    random: &mut Random,
) -> Result<(), EngineError> {
    let names: Vec<String> = model.keys().cloned().collect();
    if names.is_empty() || (names.len() < 3 && random.one_in(4)) {
        let name = format!("t{}", random.below(1_000_000));
        match random.below(5) {
            0..2 => {
                let compression = Some(compression(random));
                let key = IndexDefinition { compression, ..IndexDefinition::unique("", &[0]) };
                transaction.create_tree(&name, columns(), &key, "p")?;
            }
            2 => transaction.create_tree(&name, columns(), &loose(random), "p")?,
            _ => transaction.create_table_on(
                &name,
                columns(),
                None,
                compression(random),
                &bulkwire_store::Placement::default(),
                "p",
            )?,
        }
        if random.one_in(2) {
            transaction.open_table(&name)?.create_index(&index(random))?;
        }
        model.insert(name, Vec::new());
        return Ok(());
    }
    let name = &names[random.below(names.len() as u64) as usize];
    let clustered = transaction.table(name).unwrap().clustered.clone();
    let unique = clustered.as_ref().is_some_and(|tree| tree.definition.unique);
    match random.below(20) {
        0 => {
            transaction.open_table(name)?.truncate()?;
            model.get_mut(name).unwrap().clear();
        }
        1 => {
            transaction.open_table(name)?.drop()?;
            model.remove(name);
        }
        2 if random.one_in(2) => exchange(transaction, model, name, random)?,
        2 => {
            let new_name = format!("r{}", random.below(1_000_000));
            transaction.open_table(name)?.alter(&new_name, "q")?;
            let rows = model.remove(name).unwrap();
            model.insert(new_name, rows);
        }
        3 if random.one_in(2) => transaction
            .open_table(name)?
            .rebuild(bulkwire_store::RebuildOptions::compressed(compression(random)))?,
        3 => change_form(transaction, name, random)?,
        4.. if unique => change_keyed(transaction, name, model.get_mut(name).unwrap(), random)?,
        4..9 => {
            let mut rows = rows(random, 60);
            if random.one_in(3) {
                rows.sort();
            }
            // Keys that are there, some of them.
            let ids: Vec<i32> = model[name].iter().map(|row| row.0).collect();
            rows.iter_mut().filter(|_| random.one_in(4)).zip(ids).for_each(|(row, id)| row.0 = id);
            load(transaction, name, &rows, random)?;
            let table = model.get_mut(name).unwrap();
            table.extend(rows);
            table.sort();
        }
        9..13 => {
            let rows = rows(random, 5);
            transaction.open_table(name)?.insert(&batch(&rows))?;
            let table = model.get_mut(name).unwrap();
            table.extend(rows);
            table.sort();
        }
        13.. if clustered.is_some() || random.one_in(2) => {
            change_located(transaction, name, model.get_mut(name).unwrap(), random)?;
        }
        number => {
            // Rows are looked up before they are locked, since no other transaction runs.
            let present = addressed(transaction, name)?;
            assert_eq!(present.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>(), model[name]);
            if present.is_empty() {
                return Ok(());
            }
            let mut chosen: Vec<usize> =
                (0..random.below(4) + 1).map(|_| random.below(present.len() as u64) as usize).collect();
            chosen.sort_unstable();
            chosen.dedup();
            let addresses: Vec<RowId> = chosen.iter().map(|index| present[*index].1).collect();
            let table = model.get_mut(name).unwrap();
            if number < 16 {
                transaction.open_table(name)?.delete(&addresses)?;
                chosen.iter().rev().for_each(|index| drop(table.remove(*index)));
            } else {
                let new: Vec<Row> = chosen.iter().map(|_| row(random)).collect();
                transaction.open_table(name)?.update(&addresses, &batch(&new))?;
                for (index, row) in chosen.iter().zip(new) {
                    table[*index] = row;
                }
                table.sort();
            }
        }
    }
    Ok(())
}

/// One transaction of a few changes, with savepoints. True: committed, and `model` is the new state; false: rolled back.
pub fn step(engine: &Engine, model: &mut Model, random: &mut Random) -> Result<bool, EngineError> {
    let mut transaction = engine.begin();
    for _ in 0..random.below(4) + 1 {
        if random.one_in(4) {
            let savepoint = transaction.savepoint();
            let mut discarded = model.clone();
            change(&mut transaction, &mut discarded, random)?;
            change(&mut transaction, &mut discarded, random)?;
            if random.one_in(2) {
                transaction.rollback_to(&savepoint)?;
            } else {
                *model = discarded;
            }
        } else {
            change(&mut transaction, model, random)?;
        }
    }
    if random.one_in(6) {
        engine.checkpoint()?;
    }
    if random.one_in(5) {
        transaction.rollback()?;
        return Ok(false);
    }
    transaction.commit()?;
    Ok(true)
}
