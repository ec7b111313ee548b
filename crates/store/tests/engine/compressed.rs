//! Trees and nonclustered indexes with ROW and PAGE compression: built, changed row by row, merged into, rebuilt, damaged.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use bulkwire_store::page::{Page, PageType};
use bulkwire_store::{
    BulkOptions, Column, Compression, Engine, EngineError, EngineOptions, IndexDefinition, KeyColumn, Kind,
    PageStatistics, RecoveryModel, RowLocator, ScanDetail, Transaction,
};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Row, batch, keys, rows_of};

const ALL: [Compression; 3] = [Compression::None, Compression::Row, Compression::Page];

fn engine(model: RecoveryModel) -> Engine {
    Engine::open_on(Arc::new(MemoryVolume::default()), options(model)).unwrap()
}

/// As the workload's columns, with a text that a key can have.
fn columns() -> Vec<Column> {
    vec![
        Column::required("id", Kind::Int),
        Column::new("text", Kind::VarChar(Some(800))),
        Column::new("large", Kind::VarBinary(None)),
    ]
}

fn key(compression: Compression) -> IndexDefinition {
    IndexDefinition { compression: Some(compression), ..IndexDefinition::unique("pk", &[0]) }
}

/// Rows that have much in common: a page of them is worth compressing.
fn row(id: i32) -> Row {
    let text =
        (id % 13 != 0).then(|| format!("a description that many rows begin with, {:03}", id * 7919 % 500));
    (id, text, (id % 3 == 0).then(|| vec![7; 40]))
}

fn commit(engine: &Engine, change: impl FnOnce(&mut Transaction) -> Result<(), EngineError>) {
    let mut transaction = engine.begin();
    change(&mut transaction).unwrap();
    transaction.commit().unwrap();
    assert_eq!(engine.check().unwrap(), []);
}

fn in_order(engine: &Engine) -> Vec<Row> {
    let scan = engine.snapshot().read_table("t").unwrap().ordered_scan(None, None, None).unwrap();
    scan.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

fn through(engine: &Engine, index: &str) -> Vec<Row> {
    let scan = engine.snapshot().read_table("t").unwrap().index_scan(index, None, None, None).unwrap();
    scan.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

fn shuffled<T>(mut of: Vec<T>, random: &mut Random) -> Vec<T> {
    for index in (1..of.len()).rev() {
        of.swap(index, random.below(index as u64 + 1) as usize);
    }
    of
}

fn statistics(engine: &Engine) -> Vec<PageStatistics> {
    engine.snapshot().physical_statistics("t", ScanDetail::Detailed).unwrap()
}

/// Compressed pages of the leaves of the tree in the unit with this index id, and of the levels above.
fn compressed_pages(engine: &Engine, index: u16) -> (u64, u64) {
    let of = |leaf: bool| {
        let levels = statistics(engine).into_iter();
        let levels = levels.filter(|row| row.unit.index == index && (row.level == 0) == leaf);
        levels.map(|row| row.contents.unwrap().compressed_pages).sum()
    };
    (of(true), of(false))
}

const TABLE: u16 = 256;

fn by_text(name: &str, compression: Compression) -> IndexDefinition {
    IndexDefinition { compression: Some(compression), ..IndexDefinition::new(name, &[1]) }
}

/// Sorts rows as an index on the text gives them: by text, then by id.
fn ordered_by_text(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| (&a.1, a.0).cmp(&(&b.1, b.0)));
    rows
}

#[test]
fn trees_and_indexes_are_built_in_every_form() {
    for (model, sorted) in [(MODELS[0], true), (MODELS[2], false), (MODELS[1], true)] {
        for compression in ALL {
            let volume = MemoryVolume::default();
            let engine = Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap();
            let rows: Vec<Row> = (0..8000).map(row).collect();
            let given = if sorted { rows.clone() } else { shuffled(rows.clone(), &mut Random(9)) };
            commit(&engine, |t| t.create_tree("t", columns(), &key(compression), ""));
            for other in ALL {
                commit(&engine, |t| {
                    t.open_table("t")
                        .and_then(|mut table| table.create_index(&by_text(&other.to_string(), other)))
                });
            }
            commit(&engine, |t| {
                let options = BulkOptions { sorted, sort_memory_bytes: 100 << 10, ..BulkOptions::default() };
                let mut writer = t.open_table("t")?.bulk_writer_with(options)?;
                for part in given.chunks(900) {
                    writer.append(&batch(part))?;
                }
                t.open_table("t").and_then(|mut table| table.finish_bulk(writer)).map(drop)
            });
            commit(&engine, |t| {
                t.open_table("t").and_then(|mut table| table.create_index(&by_text("later", compression)))
            });
            drop(engine);
            let engine = Engine::open_on(Arc::new(volume.clone()), options(model)).unwrap();
            assert_eq!(engine.check().unwrap(), []);
            assert_eq!(in_order(&engine), rows);
            let ordered = ordered_by_text(&rows);
            for index in ["NONE", "ROW", "PAGE", "later"] {
                assert_eq!(through(&engine, index), ordered, "{index} of {compression}");
            }
            let table = engine.snapshot().table("t").cloned().unwrap();
            assert_eq!(table.clustered.as_ref().unwrap().definition.compression, Some(compression));
            let pages = |name: &str| table.index(name).unwrap().pages();
            assert!(pages("PAGE") < pages("ROW") && pages("ROW") < pages("NONE"));
            assert_eq!(pages("later"), pages(&compression.to_string()));
            let unit = |name: &str| 256 + 4 * table.index(name).unwrap().id;
            let is_page = compression == Compression::Page;
            for (unit, expected) in [(TABLE, is_page), (unit("PAGE"), true), (unit("ROW"), false)] {
                let (leaves, above) = compressed_pages(&engine, unit);
                assert_eq!((leaves > 0, above), (expected, 0), "only leaves, only where it was asked for");
            }
        }
    }
}

/// Bytes of records are the published ones: see `crates/store/src/record/compress/mod.rs`, "A compressed record".
#[test]
fn a_row_compressed_tree_has_as_many_pages_as_its_records_need() {
    let engine = engine(RecoveryModel::Simple);
    let columns = vec![Column::required("id", Kind::Int), Column::required("text", Kind::Char(60))];
    let rows = |ids: std::ops::Range<i32>| {
        let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(ids));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["abcd"; ids.len()]));
        RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("text", texts, false)]).unwrap()
    };
    commit(&engine, |t| t.create_tree("t", columns, &key(Compression::Row), ""));
    // Ids of three bytes; those below 8,388,608 fit.
    commit(&engine, |t| {
        t.open_table("t").and_then(|mut table| table.bulk_load(&[rows(1_000_000..1_100_000)])).map(drop)
    });
    let index = IndexDefinition { compression: Some(Compression::Row), ..IndexDefinition::unique("u", &[0]) };
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&index)));
    // Header, columns, descriptor, 3 + 4 bytes, slot: 12, so 674 in a page, 149 leaves. An entry above: header, columns, descriptor,
    // 3 + 6 bytes, slot: 14, all of them in the root. In the index a row is header, columns, descriptor, 3 bytes, slot: 8, 1,012 in a
    // page, 99 leaves, and the root.
    let table = engine.snapshot().table("t").cloned().unwrap();
    assert_eq!(table.data_pages(), 149 + 1);
    assert_eq!(table.index("u").unwrap().pages(), 99 + 1);
    let levels = statistics(&engine);
    let lengths: Vec<_> =
        levels.iter().filter_map(|row| row.contents).map(|c| c.longest_record_bytes).collect();
    assert_eq!(lengths, [10, 12, 6, 12]);
    // Half full.
    let half = bulkwire_store::RebuildOptions { fill_factor_percent: Some(50), compression: None };
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.rebuild(half)));
    assert_eq!(engine.snapshot().table("t").unwrap().data_pages(), 100_000_u64.div_ceil(4048 / 12) + 1);
}

/// Rows that come one by one, in order. Leaves are compressed when they are full, so the tree is a little larger than
/// one that is built, and much smaller than with ROW.
#[test]
fn full_leaves_are_compressed_before_they_split() {
    let mut pages = Vec::new();
    for compression in [Compression::Row, Compression::Page] {
        for ascending in [true, false] {
            let engine = engine(RecoveryModel::Simple);
            let rows: Vec<Row> = (0..6000).map(row).collect();
            commit(&engine, |t| t.create_tree("t", columns(), &key(compression), ""));
            let given = if ascending { rows.clone() } else { shuffled(rows.clone(), &mut Random(3)) };
            for part in given.chunks(1500) {
                commit(&engine, |t| {
                    t.open_table("t").and_then(|mut table| table.insert(&batch(part))).map(drop)
                });
            }
            assert_eq!(in_order(&engine), rows);
            let table = engine.snapshot().table("t").cloned().unwrap();
            pages.push(table.data_pages());
            let counts = engine.compression_counts(table.object);
            let (leaves, above) = compressed_pages(&engine, TABLE);
            assert_eq!((leaves > 4, above), (compression == Compression::Page, 0), "{leaves}");
            assert_eq!(counts.successes > 4, compression == Compression::Page, "{counts:?}");
            commit(&engine, |t| {
                t.open_table("t")
                    .and_then(|mut table| table.rebuild(bulkwire_store::RebuildOptions::default()))
            });
            assert_eq!(in_order(&engine), rows);
            pages.push(engine.snapshot().table("t").unwrap().data_pages());
        }
    }
    let [row_ascending, row_built, row_random, _, ascending, built, random, again] = pages[..] else {
        panic!()
    };
    assert!(ascending < row_ascending / 2 && random < row_random / 2, "{pages:?}");
    // A leaf is compressed again when it is full and worn, so it may even hold more than one that is built.
    assert!(ascending * 10 <= built * 12 && built * 10 <= ascending * 12, "{pages:?}");
    assert!(row_built == row_ascending && built == again && random < built * 2, "{pages:?}");
}

/// Every kind of change, in every form, against the rows that there should be.
#[test]
fn rows_change_in_compressed_trees_and_indexes() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let volume = MemoryVolume::default();
        let options = options(MODELS[seed as usize % 3]);
        let mut engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let unique = seed % 2 == 0;
        let chosen = |random: &mut Random| {
            [Compression::Row, Compression::Page, Compression::Page][random.below(3) as usize]
        };
        let own = IndexDefinition {
            compression: Some(chosen(&mut random)),
            unique,
            key: vec![if seed % 3 == 0 { KeyColumn::descending(0) } else { KeyColumn::new(0) }],
            ..IndexDefinition::unique("pk", &[])
        };
        commit(&engine, |t| {
            t.create_tree("t", columns(), &own, "")?;
            t.open_table("t")?.create_index(&by_text("a", chosen(&mut random)))?;
            t.open_table("t").and_then(|mut table| {
                table
                    .create_index(&IndexDefinition { included: vec![0], ..by_text("b", chosen(&mut random)) })
            })
        });
        let mut rows: Vec<Row> = Vec::new();
        for number in 0..16 {
            let mut transaction = engine.begin();
            let mut next = rows.clone();
            for _ in 0..random.below(3) + 1 {
                change(&mut transaction, &mut next, unique, &mut random);
                if random.one_in(3) {
                    let (savepoint, mut discarded) = (transaction.savepoint(), next.clone());
                    change(&mut transaction, &mut discarded, unique, &mut random);
                    change(&mut transaction, &mut discarded, unique, &mut random);
                    transaction.rollback_to(&savepoint).unwrap();
                }
            }
            let before = engine.snapshot();
            if random.one_in(5) {
                transaction.rollback().unwrap();
            } else {
                transaction.commit().unwrap();
                let old = before
                    .read_table("t")
                    .unwrap()
                    .scan(None)
                    .unwrap()
                    .flat_map(|batch| rows_of(&batch.unwrap()));
                assert_eq!(sorted(old.collect()), rows, "a snapshot reads what was there: {seed}, {number}");
                rows = next;
            }
            drop(before);
            if random.one_in(6) {
                drop(engine);
                engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
            }
            if number % 3 == 0 {
                assert_eq!(engine.check().unwrap(), [], "{seed}, {number}");
            }
            let found = in_order(&engine);
            let falls = seed % 3 == 0;
            assert!(found.windows(2).all(|pair| if falls {
                pair[0].0 >= pair[1].0
            } else {
                pair[0].0 <= pair[1].0
            }));
            assert_eq!(sorted(found), rows, "{seed}, {number}");
            for index in ["a", "b"] {
                let found = through(&engine, index);
                assert!(found.is_sorted_by_key(|row| row.1.clone()));
                assert_eq!(sorted(found), rows, "{seed}, {number}, {index}");
            }
        }
        assert_eq!(engine.check().unwrap(), [], "{seed}");
        assert!(rows.len() > 500, "{}", rows.len());
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

/// Now and then a row that is as long as a row may be, or has a value outside of it.
fn any_row(id: i32, random: &mut Random) -> Row {
    let (_, text, large) = row(random.below(5000) as i32);
    match random.below(60) {
        0 => (
            id,
            Some("w".repeat(random.below(801) as usize)),
            Some(vec![5; 6000 + random.below(2000) as usize]),
        ),
        1 => (id, text, Some(vec![6; 20_000])),
        2..8 => (id, Some(format!("{:x}", random.next()).repeat(random.below(12) as usize)), large),
        _ => (id, text, large),
    }
}

fn change(transaction: &mut Transaction, rows: &mut Vec<Row>, unique: bool, random: &mut Random) {
    let new = |count: u64, rows: &[Row], random: &mut Random| {
        let from = random.below(30_000) as i32;
        let mut new: Vec<Row> = (0..random.below(count) + 1)
            .map(|number| match random.below(3) {
                0 => any_row(random.below(60_000) as i32 - 20_000, random),
                _ => any_row(from + number as i32, random),
            })
            .collect();
        if unique {
            new.sort();
            new.dedup_by_key(|row| row.0);
            new.retain(|row| rows.binary_search_by_key(&row.0, |row| row.0).is_err());
        }
        shuffled(new, random)
    };
    match random.below(10) {
        0..3 => {
            let new = new(150, rows, random);
            transaction.open_table("t").unwrap().insert(&batch(&new)).unwrap();
            rows.extend(new);
        }
        3..6 => {
            let new = new(700, rows, random);
            assert_eq!(
                transaction.open_table("t").unwrap().bulk_load(&[batch(&new)]).unwrap(),
                new.len() as u64
            );
            rows.extend(new);
        }
        6 => {
            let to = ALL[random.below(3) as usize];
            match random.below(5) {
                0 => transaction
                    .open_table("t")
                    .unwrap()
                    .rebuild(bulkwire_store::RebuildOptions::compressed(to))
                    .unwrap(),
                1 => transaction
                    .open_table("t")
                    .unwrap()
                    .rebuild_index("a", bulkwire_store::RebuildOptions::compressed(to))
                    .unwrap(),
                2 => transaction
                    .open_table("t")
                    .unwrap()
                    .rebuild_index("b", bulkwire_store::RebuildOptions::compressed(to))
                    .unwrap(),
                _ => {}
            }
        }
        other => {
            let mut found: Vec<(Row, RowLocator)> = Vec::new();
            let mut scan = transaction.read_table("t").unwrap().ordered_scan(None, None, None).unwrap();
            while let Some(next) = scan.next_with_locators() {
                let (batch, locators) = next.unwrap();
                found.extend(rows_of(&batch).into_iter().zip(locators));
            }
            if found.is_empty() {
                return;
            }
            // Neighbours, so that leaves become worn or empty.
            let first = random.below(found.len() as u64) as usize;
            let chosen = &found[first..(first + random.below(150) as usize + 1).min(found.len())];
            let locators: Vec<RowLocator> = chosen.iter().map(|(_, locator)| locator.clone()).collect();
            for (row, _) in chosen {
                let place = rows.iter().position(|other| other == row).unwrap();
                rows.swap_remove(place);
            }
            if other == 7 {
                transaction.open_table("t").unwrap().delete_located(&locators).unwrap();
            } else {
                let new: Vec<Row> = chosen.iter().map(|(row, _)| any_row(row.0, random)).collect();
                transaction.open_table("t").unwrap().update_located(&locators, &batch(&new)).unwrap();
                rows.extend(new);
            }
        }
    }
    rows.sort();
}

#[test]
fn a_table_and_its_indexes_change_their_compression_by_themselves() {
    let volume = MemoryVolume::default();
    let mut engine = Engine::open_on(Arc::new(volume.clone()), options(RecoveryModel::Full)).unwrap();
    let rows: Vec<Row> = (0..4000).map(row).collect();
    let ordered = ordered_by_text(&rows);
    commit(&engine, |t| {
        t.create_tree("t", columns(), &key(Compression::None), "")?;
        t.open_table("t")?.create_index(&by_text("i", Compression::None))?;
        t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&rows)])).map(drop)
    });
    let sizes = |engine: &Engine| {
        let table = engine.snapshot().table("t").cloned().unwrap();
        (table.data_pages(), table.index("i").unwrap().pages())
    };
    let mut known: Vec<((Compression, Compression), (u64, u64))> = Vec::new();
    let mut index = Compression::None;
    let (mut estimated, mut measured) = (Vec::new(), Vec::new());
    for table in [Compression::Page, Compression::Row, Compression::Page, Compression::None, Compression::Row]
    {
        let held = engine.snapshot();
        estimated.push(held.estimate_compression("t", table).unwrap().requested_bytes / 8192);
        commit(&engine, |t| {
            t.open_table("t")
                .and_then(|mut open| open.rebuild(bulkwire_store::RebuildOptions::compressed(table)))
        });
        measured.push(sizes(&engine).0);
        known.push(((table, index), sizes(&engine)));
        index = ALL[known.len() % 3];
        let snapshot = engine.snapshot();
        estimated.push(snapshot.estimate_index_compression("t", "i", index).unwrap().requested_bytes / 8192);
        drop(snapshot);
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| {
                table.rebuild_index("i", bulkwire_store::RebuildOptions::compressed(index))
            })
        });
        measured.push(sizes(&engine).1);
        known.push(((table, index), sizes(&engine)));
        assert_eq!((in_order(&engine), through(&engine, "i")), (rows.clone(), ordered.clone()));
        let old = held.read_table("t").unwrap().ordered_scan(None, None, None).unwrap();
        assert_eq!(old.flat_map(|batch| rows_of(&batch.unwrap())).collect::<Vec<_>>(), rows);
        drop(held);
        drop(engine);
        engine = Engine::open_on(Arc::new(volume.clone()), options(RecoveryModel::Full)).unwrap();
    }
    // A size depends on the setting of what it is the size of, and on nothing else.
    for ((forms, pages), (other_forms, other_pages)) in known.iter().zip(known.iter().skip(1)) {
        assert!(forms.0 != other_forms.0 || pages.0 == other_pages.0, "{known:?}");
        assert!(forms.1 != other_forms.1 || pages.1 == other_pages.1, "{known:?}");
    }
    for (estimated, measured) in estimated.iter().zip(&measured) {
        // In proportion to a present size of a few pages.
        assert!(estimated.abs_diff(*measured) * 5 <= *measured + 5, "{estimated} for {measured}");
    }
    // A heap, and back: it keeps its compression unless the key says another.
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.drop_clustered_index()));
    assert_eq!(engine.snapshot().table("t").unwrap().layout.compression, Compression::Row);
    commit(&engine, |t| {
        t.open_table("t")
            .and_then(|mut table| table.create_clustered_index(&IndexDefinition::unique("pk", &[0])))
    });
    assert_eq!(engine.snapshot().table("t").unwrap().layout.compression, Compression::Row);
    commit(&engine, |t| {
        t.open_table("t").and_then(|mut table| table.create_clustered_index(&key(Compression::Page)))
    });
    assert_eq!(engine.snapshot().table("t").unwrap().layout.compression, Compression::Page);
    assert_eq!((in_order(&engine), through(&engine, "i")), (rows, ordered));
}

/// A row that needs a whole page finds one, although compressed leaves keep anchors and dictionaries in front
/// of rows.
#[test]
fn a_long_row_finds_room_among_compressed_ones() {
    let engine = engine(RecoveryModel::Full);
    let long = |id: i32| -> Row { (id, Some("x".repeat(800)), Some(vec![id as u8; 7100])) };
    commit(&engine, |t| t.create_tree("t", columns(), &key(Compression::Page), ""));
    let mut rows: Vec<Row> = (0..3000).map(|id| row(id * 4)).collect();
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&rows)])).map(drop));
    // Between others, then in a leaf from which all others have gone.
    for id in [1, 2, 4001, 11_999, 20_000] {
        commit(&engine, |t| {
            t.open_table("t").and_then(|mut table| table.insert(&batch(&[long(id)]))).map(drop)
        });
        rows.push(long(id));
    }
    rows.sort();
    assert_eq!(in_order(&engine), rows);
    let gone: Vec<i32> = rows.iter().map(|row| row.0).filter(|id| (5000..9000).contains(id)).collect();
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.delete_keys(&keys(&gone))));
    rows.retain(|row| !(5000..9000).contains(&row.0));
    let added: Vec<Row> = (0..30).map(|number| long(5000 + number * 130)).collect();
    let mut undone = engine.begin();
    undone.open_table("t").unwrap().insert(&batch(&added)).unwrap();
    undone.rollback().unwrap();
    assert_eq!(engine.check().unwrap(), []);
    assert_eq!(in_order(&engine), rows);
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.insert(&batch(&added))).map(drop));
    rows.extend(added);
    rows.sort();
    assert_eq!(in_order(&engine), rows);
    // 4 + 4 + 8048 + 3 bytes are a record; 1 + 1 + 2 + 4 + 3 + 2 · 2 + 8048 could be too long for one.
    for (compression, fits) in ALL.into_iter().zip([true, false, false]) {
        let wide = [("id", Kind::Int), ("a", Kind::Char(8000)), ("b", Kind::Char(48))];
        let wide = wide.map(|(name, kind)| Column::required(name, kind)).to_vec();
        let made = engine.begin().create_tree("wide", wide, &key(compression), "");
        assert_eq!(made.is_ok(), fits);
        assert!(fits || matches!(made, Err(EngineError::RowTooLarge { bytes: 8063, .. })), "{made:?}");
    }
}

#[test]
fn a_key_twice_is_refused_in_compressed_pages() {
    let engine = engine(RecoveryModel::Simple);
    commit(&engine, |t| t.create_tree("t", columns(), &key(Compression::Page), ""));
    let texts = IndexDefinition { unique: true, ..by_text("u", Compression::Page) };
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.create_index(&texts)));
    let row = |id: i32| -> Row { (id, Some(format!("the same beginning {id:05}")), None) };
    let rows: Vec<Row> = (0..5000).map(|id| row(id * 2)).collect();
    commit(&engine, |t| t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&rows)])).map(drop));
    assert!(compressed_pages(&engine, TABLE).0 > 0);
    let mut transaction = engine.begin();
    for (given, number, value) in [
        ((4000, Some("another".to_owned()), None), 2627, "(4000)"),
        ((4001, row(998).1, None), 2601, "(the same beginning 00998)"),
    ] {
        for load in [false, true] {
            let refused = match load {
                true => transaction
                    .open_table("t")
                    .and_then(|mut table| table.bulk_load(&[batch(std::slice::from_ref(&given))]))
                    .map(drop),
                false => transaction
                    .open_table("t")
                    .and_then(|mut table| table.insert(&batch(std::slice::from_ref(&given))))
                    .map(drop),
            };
            let error = refused.unwrap_err();
            assert_eq!(error.sql_error(), Some(number), "{error}");
            assert!(error.to_string().contains(value), "{error}");
        }
    }
    transaction.open_table("t").unwrap().insert(&batch(&[row(4001)])).unwrap();
    transaction.commit().unwrap();
    assert_eq!(engine.check().unwrap(), []);
    assert_eq!(in_order(&engine).len(), 5001);
}

/// Damage whose checksum is right.
#[test]
fn the_check_finds_damage_in_compressed_trees() {
    let volume = MemoryVolume::default();
    let options = EngineOptions::default();
    let pages = {
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let rows: Vec<Row> = (0..2500).map(row).collect();
        commit(&engine, |t| {
            t.create_tree("t", columns(), &key(Compression::Page), "")?;
            t.open_table("t")?.create_index(&by_text("i", Compression::Page))?;
            t.open_table("t")?.create_index(&by_text("r", Compression::Row))?;
            t.open_table("t").and_then(|mut table| table.bulk_load(&[batch(&rows)])).map(drop)
        });
        engine.checkpoint().unwrap();
        engine.usage().extents * 8
    };
    let mut seen: BTreeMap<_, u32> = BTreeMap::new();
    let (mut planted, mut compressed) = (0, [0, 0]);
    for number in 0..pages {
        let original = volume.read("data-1.pages", number * 8192, 8192);
        let page = Page::from_bytes(original.clone().try_into().unwrap());
        if page.unit().object < 2 || page.slot_count() < 2 {
            continue;
        }
        // Two pages of each kind are enough.
        let kind = seen.entry((page.unit(), page.level(), page.is_compressed())).or_default();
        *kind += 1;
        if *kind > 2 {
            continue;
        }
        let last = page.row_offset(page.slot_count() - 1).unwrap();
        let mut changes: Vec<(usize, u8)> = match page.page_type() {
            // A free count, a slot that leads elsewhere, a neighbour, no CD record, another type of it, another number of columns.
            Some(PageType::Data | PageType::Index) => {
                vec![(28, 1), (8190, 4), (16, 1), (last, 1), (last, 8), (last + 1, 1)]
            }
            _ => continue,
        };
        if page.is_compressed() {
            compressed[usize::from(page.page_type() == Some(PageType::Index))] += 1;
            // Neither anchors nor dictionary, other ends of them, another number of entries, an anchor of other columns.
            changes.extend([(96, 6), (99, 1), (101, 1), (103 + 1, 1)]);
            let end = usize::from(u16::from_le_bytes([page.bytes()[99], page.bytes()[100]]));
            changes.push((96 + end + 1, 0x80));
            // It is not said to be compressed.
            changes.push((2, 0x80));
        } else {
            // It is said to be.
            changes.push((2, 0x80));
        }
        for (place, mask) in changes {
            let mut damaged = page.clone();
            damaged.bytes_mut()[place] ^= mask;
            damaged.seal();
            volume.damage("data-1.pages", number * 8192, damaged.bytes());
            let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
            let found = engine.check();
            assert!(
                !matches!(&found, Ok(findings) if findings.is_empty()),
                "page {number} ({page:?}), byte {place}"
            );
            planted += 1;
            drop(engine);
            volume.damage("data-1.pages", number * 8192, &original);
        }
    }
    assert!(planted > 80 && compressed == [2, 2], "{planted} in {compressed:?}");
}
