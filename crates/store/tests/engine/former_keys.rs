//! Databases of builds in whose keys 0xAE came before 0xAE00.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, RecordBatch};
use bulkwire_store::disk::volume::Volume;
use bulkwire_store::{Column, Engine, EngineError, IndexDefinition, Kind, RecoveryModel};

use crate::basics::options;
use crate::support::volume::MemoryVolume;

/// A database with an index over bytes, closed, and with the control file of such a build.
fn former(values: &[&[u8]]) -> Arc<MemoryVolume> {
    let volume = Arc::new(MemoryVolume::default());
    let engine = Engine::open_on(volume.clone(), options(RecoveryModel::Simple)).unwrap();
    let mut transaction = engine.begin();
    let columns =
        vec![Column::required("id", Kind::Int), Column::required("code", Kind::VarBinary(Some(20)))];
    transaction.create_tree("t", columns, &IndexDefinition::unique("pk", &[0]), "").unwrap();
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..values.len() as i32));
    let codes: ArrayRef = Arc::new(BinaryArray::from_iter_values(values));
    let rows = RecordBatch::try_from_iter([("id", ids), ("code", codes)]).unwrap();
    let mut table = transaction.open_table("t").unwrap();
    table.insert(&rows).unwrap();
    table.create_index(&IndexDefinition::new("by_code", &[1])).unwrap();
    transaction.commit().unwrap();
    engine.checkpoint().unwrap();
    drop(engine);
    let file = volume.open("control").unwrap();
    let mut bytes = vec![0; file.length_bytes().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    assert_eq!(bytes[..8], *b"BWPAGES5");
    bytes[7] = b'4';
    let end = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    file.write_at(0, &bytes).unwrap();
    volume
}

fn version(volume: &Arc<MemoryVolume>) -> u8 {
    let mut bytes = [0; 8];
    volume.open("control").unwrap().read_at(0, &mut bytes).unwrap();
    bytes[7]
}

#[test]
fn keys_whose_order_is_the_same_are_taken_over() {
    let volume = former(&[b"\xAE", b"\x00\x01", b""]);
    let engine = Engine::open_on(volume.clone(), options(RecoveryModel::Simple)).unwrap();
    assert_eq!(engine.check().unwrap(), []);
    assert_eq!(version(&volume), b'5');
}

#[test]
fn keys_that_may_be_in_another_order_are_refused_by_name_and_stay_as_they_are() {
    let volume = former(&[b"\xAE", b"\xAE\x00"]);
    for _ in 0..2 {
        let error = Engine::open_on(volume.clone(), options(RecoveryModel::Simple)).unwrap_err();
        let EngineError::FormerKey { table, key } = &error else { panic!("{error}") };
        assert_eq!((table.as_str(), key.as_str()), ("t", "by_code"));
        assert_eq!(version(&volume), b'4');
    }
}
