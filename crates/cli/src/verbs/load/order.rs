//! The order in which the rows of files come, found out before they are loaded.

use std::sync::Arc;

use copy::loaded_file::{LoadedFile, Reader};
use formats::Sorted;
use load::{Client, KeyOrder, LoadOptions, TableLoad};

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::verbs::load::source::{self, Source};

/// Returns the options of the files, with the order of their rows if all of them are known to follow the table's
/// clustered key.
pub fn find(
    client: &mut Client,
    load: &mut TableLoad<'_>,
    group: &[Source],
    readers: &[Reader],
    arguments: &LoadArgs,
) -> Result<Vec<LoadOptions>, Failure> {
    let mut options: Vec<LoadOptions> =
        group.iter().map(|source| source::options(arguments, &source.kind)).collect::<Result<_, _>>()?;
    let bytes = readers.iter().map(Reader::bytes_total).sum::<Option<u64>>();
    for options in &mut options {
        options.source.bytes = bytes;
    }
    let mut known = Vec::new();
    let mut looks_sorted = !readers.is_empty();
    for ((source, reader), options) in group.iter().zip(readers).zip(&options) {
        let order = load.key_order(client, &reader.schema(), options);
        let order = order.map_err(|error| source::unfit(source, load.table(), error))?;
        let Some(order) = order else {
            looks_sorted = false;
            break;
        };
        let sorted = if order.is_kept { reader.follows(&order)? } else { Sorted::Unknown };
        match sorted {
            Sorted::Yes(evidence) => known.push((order, evidence)),
            Sorted::No(_) => looks_sorted = false,
            Sorted::Unknown if load.needs_a_look(options) => {
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
        options.source.looks_sorted = looks_sorted;
    }
    Ok(options)
}

/// Returns true if the first rows of a file are sorted by the first column of a key. False for a source that can be
/// opened only once.
fn begins_sorted(
    client: &mut Client,
    load: &TableLoad<'_>,
    source: &Source,
    order: &KeyOrder,
    arguments: &LoadArgs,
) -> Result<bool, Failure> {
    if !source.location.is_rereadable() {
        return Ok(false);
    }
    let reader = source::open(client, load.table(), source, arguments)?;
    // Errors in the rows are found and reported when they are loaded.
    let Some(Ok(batch)) = LoadedFile::new(&source.name, reader, Arc::default()).next() else {
        return Ok(false);
    };
    Ok(order.seems_kept_by([batch.batch()]))
}
