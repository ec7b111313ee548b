//! Dictionary and run-end encoded columns: every distinct value that a row shows is cast once.

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, RunArray, UInt32Array, downcast_integer,
    downcast_run_end_index,
};
use arrow::compute::take;
use arrow::datatypes::{ArrowDictionaryKeyType, DataType, Field, RunEndIndexType};

use super::{Cast, CastOptions, Fault};
use crate::cell_error::CellErrorReason;
use crate::encode::{Cells, Lane, SharedLane};

const UNUSED: u32 = u32::MAX;

pub(super) fn dictionary(
    cast: &Cast,
    array: &ArrayRef,
    options: &CastOptions,
) -> Result<Lane<'static>, Fault> {
    macro_rules! keys {
        ($key:ty) => {
            from_keys(cast, array.as_dictionary::<$key>(), options)
        };
    }
    let DataType::Dictionary(key_type, _) = array.data_type() else { unreachable!("not a dictionary") };
    downcast_integer! {
        key_type.as_ref() => (keys),
        other => unreachable!("Arrow has no dictionary with keys of type {other}")
    }
}

fn from_keys<K: ArrowDictionaryKeyType>(
    cast: &Cast,
    array: &DictionaryArray<K>,
    options: &CastOptions,
) -> Result<Lane<'static>, Fault> {
    use arrow::datatypes::ArrowNativeType;
    // Values that no row shows are neither cast nor checked.
    let mut compact = vec![UNUSED; array.values().len()];
    let mut used = Vec::new();
    let index: Vec<Option<u32>> = array
        .keys()
        .iter()
        .map(|key| {
            let slot = compact.get_mut(key?.as_usize())?;
            if *slot == UNUSED {
                *slot = used.len() as u32;
                used.push(key?.as_usize() as u32);
            }
            Some(*slot)
        })
        .collect();
    let values = take(array.values(), &UInt32Array::from(used), None)
        .map_err(|error| Fault { index: 0, reason: CellErrorReason::Text(error.to_string()) })?;
    share(cast, &values, &index, options)
}

pub(super) fn run_end_encoded(
    cast: &Cast,
    array: &ArrayRef,
    options: &CastOptions,
) -> Result<Lane<'static>, Fault> {
    macro_rules! runs {
        ($run_end:ty) => {
            from_runs(cast, array.as_run::<$run_end>(), options)
        };
    }
    let DataType::RunEndEncoded(run_ends, _) = array.data_type() else { unreachable!("not run-end encoded") };
    downcast_run_end_index! {
        run_ends.data_type() => (runs),
        other => unreachable!("Arrow has no run ends of type {other}")
    }
}

fn from_runs<R: RunEndIndexType>(
    cast: &Cast,
    array: &RunArray<R>,
    options: &CastOptions,
) -> Result<Lane<'static>, Fault> {
    use arrow::datatypes::ArrowNativeType;
    let runs = array.run_ends();
    let mut index = Vec::with_capacity(array.len());
    let first = if array.is_empty() { 0 } else { runs.get_start_physical_index() };
    let mut count = 0;
    for run_end in &runs.values()[first..] {
        if index.len() == array.len() {
            break;
        }
        let end = run_end.as_usize().saturating_sub(runs.offset()).min(array.len());
        index.resize(end, Some(count));
        count += 1;
    }
    let values = array.values().slice(first, count as usize);
    share(cast, &values, &index, options)
}

/// Casts `values` and lays their cells out for the rows that `index` names them for.
fn share(
    cast: &Cast,
    values: &ArrayRef,
    index: &[Option<u32>],
    options: &CastOptions,
) -> Result<Lane<'static>, Fault> {
    if !cast.target.nullable
        && let Some(index) = index.iter().position(Option::is_none)
    {
        return Err(Fault { index, reason: CellErrorReason::Null });
    }
    let field = Field::new(cast.field.name(), values.data_type().clone(), true)
        .with_metadata(cast.field.metadata().clone());
    let of_values = Cast { field, target: cast.target.clone(), zone: cast.zone.clone() };
    let lane = of_values.bind(values, options).map_err(|fault| Fault {
        index: index.iter().position(|&value| value == Some(fault.index as u32)).unwrap_or(0),
        reason: fault.reason,
    })?;
    let distinct = values.len();
    let index = index.iter().map(|value| value.unwrap_or(distinct as u32)).collect();
    let frame = cast.target.frame;
    Ok(Lane { cells: Cells::Shared(SharedLane::new(&lane, distinct, index), frame), nulls: None })
}
