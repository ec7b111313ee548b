//! Nonclustered indexes, rebuilds and changes of form, against the rows that they should have.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Int32Type, Int64Type};
use bulkwire_store::{
    Column, ColumnSource, Compression, Engine, EngineError, IndexDefinition, KeyBound, KeyColumn, KeySpan,
    Kind, NewColumn, OrderedScan, RecoveryModel, RowLocator, ScannedRows, Transaction,
};

use crate::basics::{MODELS, options};
use crate::support::volume::MemoryVolume;
use crate::workload::{Row, batch, columns, rows_of};

fn engine(model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(MemoryVolume::default()), options(model)).unwrap()
}

fn text_of(id: i32) -> Option<String> {
    (id % 11 != 0).then(|| format!("{:04}", (id * 7919) % 5000))
}

fn given(ids: impl Iterator<Item = i32>) -> Vec<Row> {
    ids.map(|id| (id, text_of(id), (id % 3 == 0).then(|| vec![7; 60]))).collect()
}

/// Rows by the index on text, and within by id.
fn by_text(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
    rows
}

fn through(engine: &Engine, index: &str, text: Option<&str>) -> Vec<Row> {
    let bound = text.map(|text| {
        let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
        RecordBatch::try_from_iter_with_nullable([("text", text, true)]).unwrap()
    });
    let scan = engine
        .snapshot()
        .read_table("t")
        .unwrap()
        .index_scan(index, None, bound.as_ref(), bound.as_ref())
        .unwrap();
    scan.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

fn commit(engine: &Engine, change: impl FnOnce(&mut Transaction) -> Result<(), EngineError>) {
    let mut transaction = engine.begin();
    change(&mut transaction).unwrap();
    transaction.commit().unwrap();
    assert_eq!(engine.check().unwrap(), []);
}

fn text_index() -> IndexDefinition {
    IndexDefinition { included: vec![0], ..wide_text("by_text") }
}

/// The key limit refuses varchar(8000), so the tables here have a shorter one.
fn wide_text(name: &str) -> IndexDefinition {
    IndexDefinition::new(name, &[1])
}

fn narrow() -> Vec<Column> {
    let mut columns = columns();
    columns[1].kind = Kind::VarChar(Some(300));
    columns
}

fn clustered_forms() -> Vec<Option<IndexDefinition>> {
    let descending =
        IndexDefinition { key: vec![KeyColumn::descending(0)], ..IndexDefinition::unique("d", &[]) };
    vec![
        None,
        Some(IndexDefinition::unique("pk", &[0])),
        Some(descending),
        Some(IndexDefinition::new("c", &[1])),
    ]
}

fn create(transaction: &mut Transaction, key: Option<&IndexDefinition>) -> Result<(), EngineError> {
    match key {
        Some(key) => transaction.create_tree("t", narrow(), key, ""),
        None => transaction.create_table("t", narrow(), ""),
    }
}

fn find(transaction: &Transaction, wanted: impl Fn(&Row) -> bool) -> (Vec<Row>, Vec<RowLocator>) {
    let mut scan = transaction.read_table("t").unwrap().scan(None).unwrap();
    let (mut rows, mut locators) = (Vec::new(), Vec::new());
    while let Some(found) = scan.next_with_locators() {
        let (batch, of_batch) = found.unwrap();
        for (row, locator) in rows_of(&batch).into_iter().zip(of_batch) {
            if wanted(&row) {
                rows.push(row);
                locators.push(locator);
            }
        }
    }
    (rows, locators)
}

#[test]
fn an_index_follows_every_change_of_its_table() {
    for key in clustered_forms() {
        for model in MODELS {
            let engine = engine(model);
            commit(&engine, |transaction| create(transaction, key.as_ref()));
            let mut model = given(0..3000);
            commit(&engine, |t| {
                t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&model)])).map(drop)
            });
            // Made from rows that are there; then a load merges into it, and single rows come and go.
            commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&text_index())));
            assert_eq!(sorted(through(&engine, "by_text", None)), model);
            commit(&engine, |t| {
                t.open_table("t")
                    .and_then(|mut table| table.bulk_load(&[batch(&given(3000..4000))]))
                    .map(drop)
            });
            commit(&engine, |t| {
                t.open_table("t").and_then(|mut table| table.insert(&batch(&given(4000..4100)))).map(drop)
            });
            model = given(0..4100);
            commit(&engine, |t| {
                let (_, locators) = find(t, |row| row.0 % 5 == 0);
                t.open_table("t").and_then(|mut table| table.delete_located(&locators))
            });
            model.retain(|row| row.0 % 5 != 0);
            commit(&engine, |t| {
                let (rows, locators) = find(t, |row| row.0 % 7 == 0);
                let rows: Vec<Row> = rows.into_iter().map(renamed).collect();
                t.open_table("t").and_then(|mut table| table.update_located(&locators, &batch(&rows)))
            });
            model.iter_mut().filter(|row| row.0 % 7 == 0).for_each(|row| *row = renamed(row.clone()));
            let found = through(&engine, "by_text", None);
            assert!(found.iter().is_sorted_by(|a, b| a.1 <= b.1));
            assert_eq!(by_text(&found), by_text(&model));
            for text in ["0017", "moved", "none"] {
                let expected: Vec<Row> =
                    by_text(&model).into_iter().filter(|row| row.1.as_deref() == Some(text)).collect();
                assert_eq!(by_text(&through(&engine, "by_text", Some(text))), expected, "{text}");
            }
            // Key and included columns are read from the index alone.
            let ids = engine
                .snapshot()
                .read_table("t")
                .unwrap()
                .index_scan("by_text", Some(vec![0]), None, None)
                .unwrap();
            assert_eq!(ids.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), model.len());
            commit(&engine, |t| t.open_table("t").and_then(|mut table| table.truncate()));
            assert_eq!(through(&engine, "by_text", None), []);
            commit(&engine, |t| {
                t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&given(0..50))])).map(drop)
            });
            assert_eq!(sorted(through(&engine, "by_text", None)), given(0..50));
            commit(&engine, |t| t.open_table("t").and_then(|mut table| table.drop_index("by_text")));
            assert!(matches!(
                engine
                    .snapshot()
                    .read_table("t")
                    .and_then(|table| table.index_scan("by_text", None, None, None))
                    .map(drop),
                Err(EngineError::NoSuchIndex { .. })
            ));
            commit(&engine, |t| t.open_table("t").and_then(|table| table.drop()));
        }
    }
}

fn renamed((id, _, large): Row) -> Row {
    (id, Some("moved".to_owned()), large)
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

#[test]
fn a_unique_index_refuses_what_is_there_and_lets_keys_change_places() {
    for key in clustered_forms() {
        let engine = engine(RecoveryModel::Simple);
        commit(&engine, |transaction| create(transaction, key.as_ref()));
        let unique = IndexDefinition { is_constraint: false, ..IndexDefinition::unique("u", &[0]) };
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&given(0..2000))])).map(drop)
        });
        commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&unique)));
        let duplicate = |error: EngineError, value: &str| {
            let is_u = matches!(&error, EngineError::DuplicateKey { index, key, .. } if index == "u" && key == value);
            let is_key = key.is_some() && matches!(&error, EngineError::DuplicateKey { .. });
            assert!(is_u || is_key, "{error}");
            assert_eq!(error.sql_error().map(|number| number == 2601 || is_key), Some(true));
        };
        let mut transaction = engine.begin();
        duplicate(
            transaction
                .open_table("t")
                .and_then(|mut table| table.insert(&batch(&given(77..78))))
                .unwrap_err(),
            "(77)",
        );
        // The rows of one statement may exchange their keys.
        let (rows, locators) = find(&transaction, |row| row.0 < 1000);
        let turned: Vec<Row> = rows.iter().map(|row| (999 - row.0, row.1.clone(), row.2.clone())).collect();
        transaction.open_table("t").unwrap().update_located(&locators, &batch(&turned)).unwrap();
        let (rows, locators) = find(&transaction, |row| row.0 == 5);
        let onto: Vec<Row> = rows.iter().map(|row| (1500, row.1.clone(), row.2.clone())).collect();
        duplicate(
            transaction
                .open_table("t")
                .and_then(|mut table| table.update_located(&locators, &batch(&onto)))
                .unwrap_err(),
            "(1500)",
        );
        transaction.commit().unwrap();
        assert_eq!(engine.check().unwrap(), []);
        let mut transaction = engine.begin();
        duplicate(
            transaction
                .open_table("t")
                .and_then(|mut table| table.bulk_load(&[batch(&given(1999..2010))]))
                .unwrap_err(),
            "(1999)",
        );
        transaction.rollback().unwrap();
        let mut transaction = engine.begin();
        let texts = IndexDefinition { is_constraint: true, ..IndexDefinition::unique("texts", &[1]) };
        let error = transaction.open_table("t").and_then(|mut table| table.create_index(&texts)).unwrap_err();
        assert!(
            matches!(&error, EngineError::DuplicateKey { index, key, .. } if index == "texts" && key == "(<NULL>)")
        );
        assert_eq!(error.sql_error(), Some(2627));
        transaction.commit().unwrap();
        assert_eq!(engine.check().unwrap(), []);
        assert!(engine.snapshot().table("t").unwrap().index("texts").is_none());
    }
}

#[test]
fn a_rebuild_makes_pages_dense_and_removes_forwarding() {
    let engine = engine(RecoveryModel::BulkLogged);
    commit(&engine, |t| create(t, None));
    commit(&engine, |t| {
        t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&given(0..3000))])).map(drop)
    });
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&text_index())));
    let grown = |row: &Row| -> Row { (row.0, Some(format!("{:0>290}", row.0)), None) };
    commit(&engine, |t| {
        let (rows, locators) = find(t, |_| true);
        let rows: Vec<Row> = rows.iter().map(grown).collect();
        t.open_table("t").and_then(|mut table| table.update_located(&locators, &batch(&rows)))
    });
    let pages = |engine: &Engine| engine.snapshot().table("t").unwrap().data_pages();
    let before = pages(&engine);
    let expected = sorted(given(0..3000).iter().map(grown).collect());
    let kept = engine.snapshot();
    commit(&engine, |t| {
        t.open_table("t").and_then(|mut table| table.rebuild(bulkwire_store::RebuildOptions::default()))
    });
    // 4 + 4 + 3 + 4 + 290 = 305 bytes (the last column is null: no entry) and a slot: 26 in a page.
    assert_eq!(pages(&engine), 3000_u64.div_ceil(26));
    assert!(before > pages(&engine));
    assert_eq!(sorted(through(&engine, "by_text", None)), expected);
    let old: Vec<Row> = kept
        .read_table("t")
        .unwrap()
        .index_scan("by_text", None, None, None)
        .unwrap()
        .flat_map(|b| rows_of(&b.unwrap()))
        .collect();
    assert_eq!(sorted(old), expected, "a snapshot reads what was there");
    let size = |engine: &Engine| engine.snapshot().table("t").unwrap().extents();
    drop(kept);
    let dense = size(&engine);
    commit(&engine, |t| {
        t.open_table("t").and_then(|mut table| {
            table.rebuild_index("by_text", bulkwire_store::RebuildOptions::filled(Some(20)))
        })
    });
    assert!(size(&engine) > dense);
    assert_eq!(sorted(through(&engine, "by_text", None)), expected);
}

#[test]
fn tables_change_their_form_and_keep_their_rows() {
    for model in MODELS {
        let volume = MemoryVolume::default();
        let mut engine = Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap();
        commit(&engine, |t| create(t, None));
        let mut rows = given(0..2500);
        rows.push((9999, Some("large".to_owned()), Some(vec![3; 30_000])));
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&rows)])).map(drop)
        });
        commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&text_index())));
        for key in clustered_forms().into_iter().chain(clustered_forms().into_iter().rev()) {
            commit(&engine, |t| match &key {
                Some(key) => t.open_table("t").and_then(|mut table| table.create_clustered_index(key)),
                None => t.open_table("t").and_then(|mut table| table.drop_clustered_index()),
            });
            assert_eq!(sorted(through(&engine, "by_text", None)), rows);
            assert_eq!(engine.snapshot().table("t").unwrap().clustered.is_some(), key.is_some());
            drop(engine);
            engine = Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap();
            assert_eq!(engine.check().unwrap(), []);
        }
        // A key that is not unique in the rows is refused, and nothing happens.
        let mut transaction = engine.begin();
        let refused = transaction
            .open_table("t")
            .and_then(|mut table| table.create_clustered_index(&IndexDefinition::unique("pk", &[1])));
        assert!(matches!(refused, Err(EngineError::DuplicateKey { .. })));
        transaction.commit().unwrap();
        assert_eq!(sorted(through(&engine, "by_text", None)), rows);
        assert_eq!(engine.check().unwrap(), []);
    }
}

#[test]
fn columns_come_go_and_change() {
    let kept = |number: usize| ColumnSource::Kept(number);
    let new = |column: Column, source: ColumnSource| NewColumn { column, source };
    let old = narrow();
    for key in clustered_forms() {
        let engine = engine(RecoveryModel::Full);
        commit(&engine, |t| create(t, key.as_ref()));
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&given(0..1500))])).map(drop)
        });
        commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&text_index())));
        let same = || old.iter().cloned().enumerate().map(|(number, column)| new(column, kept(number)));
        // One more nullable column of variable length: the rows stay as they are, unless there is a hidden column behind them.
        let written = engine.usage().log_written_bytes;
        commit(&engine, |t| {
            let note = new(Column::new("note", Kind::NVarChar(Some(20))), ColumnSource::Null);
            t.open_table("t")
                .and_then(|mut table| table.alter_columns(&same().chain([note]).collect::<Vec<_>>()))
        });
        let hidden = key.as_ref().is_some_and(|key| !key.unique);
        assert_eq!(engine.usage().log_written_bytes - written < 20_000, !hidden);
        let read = |engine: &Engine| -> Vec<RecordBatch> {
            engine.snapshot().read_table("t").unwrap().scan(None).unwrap().map(Result::unwrap).collect()
        };
        for batch in read(&engine) {
            assert_eq!(batch.num_columns(), 4);
            assert_eq!(batch.column(3).null_count(), batch.num_rows());
        }
        // Rows of both ages, changed and moved.
        commit(&engine, |t| {
            let more = batch(&given(1500..1600));
            let note: ArrayRef = Arc::new(StringArray::from(vec!["n"; 100]));
            let columns = more.columns().iter().cloned().chain([note]).collect();
            let schema = t.table("t").unwrap().layout.schema.clone();
            t.open_table("t")
                .and_then(|mut table| table.insert(&RecordBatch::try_new(schema, columns)?))
                .map(drop)
        });
        // A wider number, a constant, another order; the large column goes.
        commit(&engine, |t| {
            let seven: ArrayRef = Arc::new(Int32Array::from(vec![7]));
            t.open_table("t").and_then(|mut table| {
                table.alter_columns(&[
                    new(Column::required("seven", Kind::Int), ColumnSource::Value(seven)),
                    new(Column::required("id", Kind::BigInt), kept(0)),
                    new(old[1].clone(), kept(1)),
                    new(Column::new("note", Kind::NVarChar(Some(20))), kept(3)),
                ])
            })
        });
        let mut found: Vec<(i64, Option<String>, bool)> = Vec::new();
        for batch in read(&engine) {
            let ids = batch.column(1).as_primitive::<Int64Type>();
            assert!(batch.column(0).as_primitive::<Int32Type>().iter().all(|seven| seven == Some(7)));
            let texts = batch.column(2).as_string::<i32>();
            let notes = batch.column(3).as_string::<i32>();
            found.extend(
                ids.iter()
                    .zip(texts.iter())
                    .zip(notes.iter())
                    .map(|((id, text), note)| (id.unwrap(), text.map(str::to_owned), note == Some("n"))),
            );
        }
        found.sort();
        let expected: Vec<_> = (0..1600).map(|id| (i64::from(id), text_of(id), id >= 1500)).collect();
        assert_eq!(found, expected);
        let table = engine.snapshot().table("t").cloned().unwrap();
        assert_eq!(table.index("by_text").unwrap().tree.definition.key, KeyColumn::all(&[2]));
        let mut transaction = engine.begin();
        let without_key = [new(Column::required("id", Kind::BigInt), kept(1))];
        assert!(matches!(
            transaction.open_table("t").and_then(|mut table| table.alter_columns(&without_key)),
            Err(EngineError::Schema { .. })
        ));
        let narrowed: Vec<NewColumn> = table
            .layout
            .visible()
            .iter()
            .cloned()
            .enumerate()
            .map(|(number, column)| match number {
                1 => new(Column::required("id", Kind::TinyInt), kept(1)),
                _ => new(column, kept(number)),
            })
            .collect();
        assert!(
            transaction.open_table("t").and_then(|mut table| table.alter_columns(&narrowed)).is_err(),
            "1599 is no tinyint"
        );
        transaction.commit().unwrap();
        assert_eq!(engine.check().unwrap(), []);
    }
}

#[test]
fn a_definition_alone_changes_where_rows_need_not_know_of_it() {
    for (key, compression) in
        clustered_forms().into_iter().zip([Compression::None, Compression::Page, Compression::Row])
    {
        let engine = engine(RecoveryModel::Full);
        commit(&engine, |t| create(t, key.as_ref()));
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&given(0..1500))])).map(drop)
        });
        commit(&engine, |t| {
            t.open_table("t")
                .and_then(|mut table| table.rebuild(bulkwire_store::RebuildOptions::compressed(compression)))
        });
        let (old, rows) = (narrow(), through_rows(&engine));
        let written = engine.usage().log_written_bytes;
        commit(&engine, |t| {
            let renamed = Column { name: "number".to_owned(), ..old[0].clone() };
            let Kind::VarChar(Some(length)) = old[1].kind else { panic!("a text") };
            let longer = Column { kind: Kind::VarChar(Some(length + 100)), ..old[1].clone() };
            let columns = [renamed, longer, old[2].clone()];
            let columns = columns.into_iter().enumerate();
            let columns =
                columns.map(|(number, column)| NewColumn { column, source: ColumnSource::Kept(number) });
            t.open_table("t").and_then(|mut table| table.alter_columns(&columns.collect::<Vec<_>>()))
        });
        assert!(engine.usage().log_written_bytes - written < 20_000);
        assert_eq!(engine.snapshot().table("t").unwrap().layout.columns[0].name, "number");
        assert_eq!(through_rows(&engine), rows);
    }
}

#[test]
fn rows_are_made_by_the_caller_or_stay_as_they_are() {
    for key in clustered_forms() {
        let engine = engine(RecoveryModel::Full);
        commit(&engine, |t| create(t, key.as_ref()));
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&given(0..1500))])).map(drop)
        });
        commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&text_index())));
        let old = narrow();
        let columns = [
            NewColumn { column: Column::required("id", Kind::BigInt), source: ColumnSource::Made(Some(0)) },
            NewColumn { column: old[1].clone(), source: ColumnSource::Kept(1) },
        ];
        let wide = |batch: &RecordBatch| {
            let ids = batch.column(0).as_primitive::<Int32Type>().iter().flatten();
            let ids: ArrayRef =
                Arc::new(Int64Array::from_iter_values(ids.map(|id| i64::from(id) * 1_000_000)));
            let texts = Arc::clone(batch.column(1));
            RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("text", texts, true)]).unwrap()
        };
        let rows = through_rows(&engine);
        // Neither given up nor dropped half way does it leave anything, and the transaction goes on.
        let mut transaction = engine.begin();
        for given_up in [true, false] {
            let mut altering =
                transaction.open_table("t").unwrap().start_altering(&columns).unwrap().unwrap();
            let first = altering.next().unwrap().unwrap();
            altering.append(&wide(&first)).unwrap();
            match given_up {
                true => transaction.open_table("t").unwrap().abandon_altering(altering),
                false => drop(altering),
            }
        }
        transaction.open_table("t").unwrap().insert(&batch(&given(1500..1501))).unwrap();
        transaction.commit().unwrap();
        assert_eq!(engine.check().unwrap(), []);
        assert_eq!(through_rows(&engine).len(), rows.len() + 1);
        commit(&engine, |t| {
            let mut altering = t.open_table("t")?.start_altering(&columns)?.unwrap();
            while let Some(batch) = altering.next() {
                altering.append(&wide(&batch?))?;
            }
            t.open_table("t")?.finish_altering(altering)
        });
        let ids = engine
            .snapshot()
            .read_table("t")
            .unwrap()
            .scan(None)
            .unwrap()
            .flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec());
        let mut ids: Vec<i64> = ids.collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..1501).map(|id| id * 1_000_000).collect::<Vec<_>>());
        assert_eq!(
            engine.snapshot().table("t").unwrap().index("by_text").unwrap().tree.definition.included,
            [0]
        );
    }
}

fn through_rows(engine: &Engine) -> Vec<Row> {
    let rows = engine
        .snapshot()
        .read_table("t")
        .unwrap()
        .scan(None)
        .unwrap()
        .flat_map(|batch| rows_of(&batch.unwrap()));
    sorted(rows.collect())
}

#[test]
fn spans_of_a_tree_give_each_row_once_and_in_order() {
    let engine = engine(RecoveryModel::Full);
    commit(&engine, |t| create(t, Some(&IndexDefinition::unique("pk", &[0]))));
    let rows = given(0..3000);
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&rows)])).map(drop));
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&text_index())));
    let id = |id: i32| {
        let id: ArrayRef = Arc::new(Int32Array::from(vec![id]));
        Some(RecordBatch::try_from_iter_with_nullable([("id", id, false)]).unwrap())
    };
    let text = |text: &str| {
        let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
        Some(RecordBatch::try_from_iter_with_nullable([("text", text, true)]).unwrap())
    };
    let found = |index: Option<&str>, spans: &[KeySpan]| -> Vec<Row> {
        let scan = engine.snapshot().read_table("t").unwrap().span_scan(index, None, spans).unwrap();
        scan.flat_map(|batch| rows_of(&batch.unwrap())).collect()
    };
    let between = |from: Option<RecordBatch>, to: Option<RecordBatch>| {
        let (from, to) = (from.map(KeyBound::included), to.map(KeyBound::included));
        KeySpan { from, to, begins: false }
    };
    // In any order, over one another, empty, touching, beyond both ends.
    let spans = [
        between(id(2900), None),
        between(id(40), id(50)),
        between(id(45), id(45)),
        between(id(51), id(60)),
        between(id(500), id(400)),
        between(id(1700), id(2100)),
        between(None, id(3)),
        between(id(5000), id(6000)),
    ];
    let wanted = |id: i32| id <= 3 || (40..=60).contains(&id) || (1700..=2100).contains(&id) || id >= 2900;
    let expected: Vec<Row> = rows.iter().filter(|row| wanted(row.0)).cloned().collect();
    assert_eq!(found(None, &spans), expected);
    assert_eq!(found(None, &[]), []);
    // Bounds that lie outside.
    let outside = |id: Option<RecordBatch>| id.map(|columns| KeyBound { columns, included: false });
    let inside = |id: Option<RecordBatch>| id.map(KeyBound::included);
    let spans = [
        KeySpan { from: outside(id(40)), to: outside(id(50)), begins: false },
        KeySpan { from: outside(id(60)), to: inside(id(62)), begins: false },
        KeySpan { from: inside(id(70)), to: outside(id(71)), begins: false },
        KeySpan { from: outside(id(80)), to: outside(id(81)), begins: false },
        KeySpan { from: inside(id(90)), to: outside(id(90)), begins: false },
        KeySpan { from: outside(id(2998)), to: None, begins: false },
        KeySpan { from: None, to: outside(id(1)), begins: false },
    ];
    let wanted = |id: i32| id == 0 || (41..50).contains(&id) || matches!(id, 61 | 62 | 70 | 2999);
    let expected: Vec<Row> = rows.iter().filter(|row| wanted(row.0)).cloned().collect();
    assert_eq!(found(None, &spans), expected);
    // Borrowed page rows are the same ones.
    let mut scan = engine.snapshot().read_table("t").unwrap().span_scan(None, None, &spans).unwrap();
    let mut lying = Vec::new();
    while let Some(next) = scan.next_rows() {
        let batch = match next.unwrap() {
            ScannedRows::Lying(rows) => rows.batch(&[0, 1, 2]).unwrap(),
            ScannedRows::Batch(batch) => batch,
        };
        lying.extend(rows_of(&batch));
    }
    assert_eq!(lying, expected);
    // Backward scans give the same rows from the end.
    let reversed: Vec<Row> = expected.iter().rev().cloned().collect();
    let read = || engine.snapshot().read_table("t").unwrap();
    let rows_in =
        |scan: OrderedScan| -> Vec<Row> { scan.flat_map(|batch| rows_of(&batch.unwrap())).collect() };
    assert_eq!(rows_in(read().backward_scan(None, None, &spans).unwrap()), reversed);
    let all: Vec<Row> = rows.iter().rev().cloned().collect();
    assert_eq!(rows_in(read().backward_scan(None, None, &[KeySpan::default()]).unwrap()), all);
    let mut backward = by_text(&rows);
    backward.reverse();
    let whole = [KeySpan::default()];
    assert_eq!(rows_in(read().backward_scan(Some("by_text"), None, &whole).unwrap()), backward);
    let mut scan = read().backward_scan(Some("by_text"), None, &whole).unwrap();
    let (batch, locators) = scan.next_with_locators().unwrap().unwrap();
    assert_eq!(rows_of(&read().rows_at(&locators).unwrap()), rows_of(&batch));
    // Beginnings of texts.
    let begins = |start: &str| {
        let bound = text(start).map(KeyBound::included);
        KeySpan { from: bound.clone(), to: bound, begins: true }
    };
    let expected: Vec<Row> = rows
        .iter()
        .filter(|row| row.1.as_deref().is_some_and(|text| text.starts_with("03") || text.starts_with("499")))
        .cloned()
        .collect();
    assert!(expected.len() > 50);
    let spans = [begins("499"), begins("03"), begins("0399"), begins("no such text")];
    assert_eq!(found(Some("by_text"), &spans), by_text(&expected));
    let transaction = engine.begin();
    let scan =
        transaction.read_table("t").unwrap().span_scan(Some("by_text"), Some(vec![0]), &spans).unwrap();
    assert_eq!(scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), expected.len());
}
