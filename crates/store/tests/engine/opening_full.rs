//! Opening a database on a disk without room: what was committed can be read, what needs room is refused, and everything goes on when
//! there is some, without another opening.

use std::sync::Arc;

use bulkwire_store::{Engine, EngineError, EngineOptions};

use crate::basics::{MODELS, options};
use crate::support::Random;
use crate::support::volume::MemoryVolume;
use crate::workload::{Model, batch, columns, contents, step};

/// A disk after a power cut, on which transactions were open that had loaded and changed rows, and what was committed.
fn cut_off(seed: u64, options: EngineOptions) -> (MemoryVolume, Model) {
    let volume = MemoryVolume::default();
    let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
    let (mut model, mut random) = (Model::new(), Random(seed));
    let mut lingering = engine.begin();
    lingering.create_table("lingering", columns(), "").unwrap();
    let rows: Vec<_> =
        (0..60).map(|id| (id, Some("l".repeat(id as usize * 9)), Some(vec![3; 700]))).collect();
    lingering.open_table("lingering").unwrap().bulk_load(&[batch(&rows)]).unwrap();
    lingering.open_table("lingering").unwrap().insert(&batch(&rows[..8])).unwrap();
    for number in 0..7 {
        let mut next = model.clone();
        if step(&engine, &mut next, &mut random).unwrap() {
            model = next;
        }
        if number == 4 && seed.is_multiple_of(2) {
            engine.checkpoint().unwrap();
        }
    }
    // The last change of the transaction is in the log, so that there is something to undo.
    lingering.open_table("lingering").unwrap().bulk_load(&[batch(&rows)]).unwrap();
    let mut other = engine.begin();
    other.create_table("other", columns(), "").unwrap();
    other.commit().unwrap();
    model.insert("other".to_owned(), Vec::new());
    let left = MemoryVolume::on(volume.disk().after_power_cut(&mut random));
    (left, model)
}

fn refused(error: &EngineError) -> bool {
    matches!(error.sql_error(), Some(9002 | 1105))
}

#[test]
fn a_database_opens_on_a_disk_that_is_full_from_any_operation_on() {
    let (mut points, mut refusals, mut deferred) = (0, 0, 0);
    for seed in 0..9 {
        let options = options(MODELS[seed as usize % 3]);
        let (left, committed) = cut_off(seed, options);
        let whole = MemoryVolume::on(left.disk());
        drop(Engine::open_on(Arc::new(whole.clone()), options).unwrap());
        for at in 0..=whole.operations() {
            points += 1;
            let name = format!("seed {seed}, full from {at} on");
            let volume = MemoryVolume::on(left.disk());
            volume.set_full(Some(at));
            let engine = Engine::open_on(Arc::new(volume.clone()), options)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut model = committed.clone();
            assert_eq!(contents(&engine), model, "{name}");
            assert_eq!(engine.check().unwrap(), [], "{name}");
            let names = volume.names();
            deferred += usize::from(names == left.names());
            let mut random = Random(at);
            for _ in 0..3 {
                let mut next = model.clone();
                match step(&engine, &mut next, &mut random) {
                    Ok(true) => model = next,
                    Ok(false) => {}
                    Err(error) => {
                        assert!(refused(&error), "{name}: {error}");
                        refusals += 1;
                    }
                }
                assert_eq!(contents(&engine), model, "{name}");
            }
            // The power goes while the disk is full, and it is full when the power comes back, too.
            let again = MemoryVolume::on(volume.disk().after_power_cut(&mut random));
            again.set_full(Some(0));
            let other = Engine::open_on(Arc::new(again.clone()), options)
                .unwrap_or_else(|error| panic!("{name}, again: {error}"));
            assert_eq!(contents(&other), model, "{name}, again");
            drop(other);
            again.set_full(None);
            let other = Engine::open_on(Arc::new(again), options)
                .unwrap_or_else(|error| panic!("{name}, with room: {error}"));
            assert_eq!(contents(&other), model, "{name}, with room");
            assert_eq!(other.check().unwrap(), [], "{name}, with room");
            // There is room again: nothing has to be reopened.
            volume.set_full(None);
            for _ in 0..3 {
                let mut next = model.clone();
                if step(&engine, &mut next, &mut random)
                    .unwrap_or_else(|error| panic!("{name}, going on: {error}"))
                {
                    model = next;
                }
            }
            engine.checkpoint().unwrap_or_else(|error| panic!("{name}, going on: {error}"));
            assert_eq!(contents(&engine), model, "{name}, going on");
            assert_eq!(engine.check().unwrap(), [], "{name}, going on");
            drop(engine);
            let last = MemoryVolume::on(volume.disk().after_power_cut(&mut random));
            let engine = Engine::open_on(Arc::new(last), options)
                .unwrap_or_else(|error| panic!("{name}, after: {error}"));
            assert_eq!(contents(&engine), model, "{name}, after");
            assert_eq!(engine.check().unwrap(), [], "{name}, after");
        }
    }
    println!(
        "{points} openings, {refusals} transactions refused, {deferred} without a virtual log file of their own"
    );
    assert!(points > 100 && refusals > points / 3 && deferred > 9);
}

/// A load after such an opening must not get extents of a transaction whose undoing is not durable. The next
/// recovery would undo that once more, on the pages of the load.
#[test]
fn extents_of_what_recovery_has_undone_wait_for_room() {
    for seed in 0..9 {
        let options = options(MODELS[seed as usize % 3]);
        let (left, mut model) = cut_off(seed, options);
        let volume = MemoryVolume::on(left.disk());
        volume.set_full(Some(0));
        let engine = Engine::open_on(Arc::new(volume.clone()), options).unwrap();
        let rows: Vec<_> = (0..400).map(|id| (id, Some("t".repeat(600)), None)).collect();
        let load = || {
            let mut transaction = engine.begin();
            transaction.open_table("other")?.bulk_load(&[batch(&rows)])?;
            transaction.commit()
        };
        let error = load().unwrap_err();
        assert!(refused(&error), "{error}");
        volume.set_full(None);
        load().unwrap();
        model.insert("other".to_owned(), rows.clone());
        let left = MemoryVolume::on(volume.disk().after_power_cut(&mut Random(seed)));
        let engine = Engine::open_on(Arc::new(left), options).unwrap();
        assert_eq!(contents(&engine), model, "seed {seed}");
        assert_eq!(engine.check().unwrap(), [], "seed {seed}");
    }
}
