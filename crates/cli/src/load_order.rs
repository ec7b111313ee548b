//! The order in which the rows of files come, found out before they are loaded.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::compute::kernels::cmp;
use arrow::datatypes::DataType;
use copy::loaded_file::{LoadedFile, Reader};
use formats::{Location, Sorted};
use load::{Client, KeyOrder, LoadOptions, TableLoad};

use crate::args::{LoadArgs, WriterCount};
use crate::failure::Failure;
use crate::load_source::{self, Source};

/// The options of the files, with the order of their rows if all of them are known to follow the table's clustered key.
pub fn find(
    client: &mut Client,
    load: &mut TableLoad<'_>,
    group: &[Source],
    readers: &[Reader],
    arguments: &LoadArgs,
) -> Result<Vec<LoadOptions>, Failure> {
    let mut options: Vec<LoadOptions> =
        group.iter().map(|source| load_source::options(arguments, &source.kind)).collect();
    let bytes = readers.iter().map(Reader::bytes_total).sum::<Option<u64>>();
    let mut known = Vec::new();
    let mut looks_sorted = !readers.is_empty();
    for ((source, reader), options) in group.iter().zip(readers).zip(&options) {
        let order = load.key_order(client, &reader.schema(), options);
        let order = order.map_err(|error| load_source::unfit(source, load.table(), error))?;
        let Some(order) = order else {
            looks_sorted = false;
            break;
        };
        let sorted = if order.is_kept { reader.follows(&order)? } else { Sorted::Unknown };
        match sorted {
            Sorted::Yes(evidence) => known.push((order, evidence)),
            Sorted::No(_) => looks_sorted = false,
            // Only the number of connections depends on it.
            Sorted::Unknown if arguments.writers.writers == Some(WriterCount::Auto) => {
                looks_sorted &= begins_sorted(client, load, source, &order, arguments)?;
            }
            Sorted::Unknown => looks_sorted = false,
        }
    }
    if known.len() == readers.len() {
        let ordered = options.into_iter().zip(known);
        options = ordered
            .map(|(options, (order, evidence))| options.in_order(&order, evidence.to_owned()))
            .collect();
    }
    for options in &mut options {
        options.source.bytes = bytes;
        options.source.looks_sorted = looks_sorted;
    }
    Ok(options)
}

/// Whether the first rows of a file are sorted by the first column of a key; false for what can be opened only once.
fn begins_sorted(
    client: &mut Client,
    load: &TableLoad<'_>,
    source: &Source,
    order: &KeyOrder,
    arguments: &LoadArgs,
) -> Result<bool, Failure> {
    let (Some(index), Some((_, descending))) = (order.sources.first(), order.key.first()) else {
        return Ok(false);
    };
    if !matches!(&source.location, Location::Path(path) if path.is_file()) {
        return Ok(false);
    }
    let reader = load_source::open(client, load.table(), source, arguments)?;
    // What is wrong with the rows is found and said when they are loaded.
    let Some(Ok(batch)) = LoadedFile::new(&source.name, reader, Arc::default()).next() else {
        return Ok(false);
    };
    let values = batch.batch().columns().get(*index).map(by_size);
    Ok(values.is_some_and(|values| is_sorted(&values, *descending)))
}

/// Text that is numbers as numbers.
fn by_size(values: &ArrayRef) -> ArrayRef {
    match cast(values, &DataType::Float64) {
        Ok(numbers) if numbers.null_count() == values.null_count() => numbers,
        _ => Arc::clone(values),
    }
}

fn is_sorted(values: &ArrayRef, descending: bool) -> bool {
    let Some(pairs) = values.len().checked_sub(1) else { return false };
    let (before, after) = (values.slice(0, pairs), values.slice(1, pairs));
    let (low, high) = if descending { (after, before) } else { (before, after) };
    values.null_count() == 0 && cmp::lt_eq(&low, &high).is_ok_and(|sorted| sorted.true_count() == pairs)
}
