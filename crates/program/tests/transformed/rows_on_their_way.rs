//! What holds for any stream: memory, many bad rows, and how the stream is cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use bulkwire_transform::Transformer;
use copy::{Lookup, RowStream, TransformEngine, Transformation};
use load::SourceBatch;
use proptest::prelude::*;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, false),
        Field::new("n", DataType::Utf8, true),
    ]))
}

fn batch(ids: std::ops::Range<i32>, n: impl Fn(i32) -> Option<String>) -> RecordBatch {
    let texts: StringArray = ids.clone().map(n).collect();
    let columns: [ArrayRef; 2] = [Arc::new(Int32Array::from_iter_values(ids)), Arc::new(texts)];
    RecordBatch::try_new(schema(), columns.to_vec()).unwrap()
}

fn stream(batches: impl Iterator<Item = RecordBatch> + Send + 'static) -> RowStream {
    RowStream { schema: schema(), batches: Box::new(batches.map(|batch| Ok(batch.into()))) }
}

fn select(list: &str) -> Transformation {
    Transformation { select: Some(list.to_owned()), ..Transformation::default() }
}

fn transformed(transformation: &Transformation, lookups: Vec<Lookup>, source: RowStream) -> RowStream {
    Transformer.prepare(transformation, schema(), lookups).unwrap().apply(source)
}

/// No batch is read before the one before it has come out, whatever the number of batches.
#[test]
fn rows_stream_through() {
    let lookup = || Lookup {
        name: "l".to_owned(),
        rows: stream(std::iter::once(batch(0..100, |id| Some(id.to_string())))),
    };
    let joined = "SELECT s.id, UPPER(l.n) AS n FROM source s LEFT JOIN l ON l.id = s.id % 100";
    let query = Transformation { query: Some(joined.to_owned()), ..Transformation::default() };
    for transformation in [select("id, UPPER(n) AS n, CAST(n AS int) AS v"), query] {
        let read = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&read);
        let source = (0..200).map(move |part| {
            counter.fetch_add(1, Ordering::Relaxed);
            batch(part * 1000..(part + 1) * 1000, |id| Some(id.to_string()))
        });
        let mut rows = 0;
        for (at, out) in transformed(&transformation, vec![lookup()], stream(source)).batches.enumerate() {
            rows += out.unwrap().rows();
            assert!(read.load(Ordering::Relaxed) <= at + 1);
        }
        assert_eq!(rows, 200_000);
    }
}

/// One row of ten is bad: they cost a multiple of their number, not of their number's square.
#[test]
fn many_bad_rows_are_found_in_time() {
    const ROWS: i32 = 100_000;
    let text = |id: i32| Some(if id % 10 == 3 { format!("x{id}") } else { id.to_string() });
    let source = stream((0..ROWS / 10_000).map(move |part| batch(part * 10_000..(part + 1) * 10_000, text)));
    let started = Instant::now();
    let (mut good, mut bad) = (0, 0);
    for out in transformed(&select("id, CAST(n AS int) AS v"), Vec::new(), source).batches {
        let out = out.unwrap();
        assert!(out.unread().iter().all(|row| row.origin.row % 10 == 3));
        assert!((0..out.rows()).all(|at| {
            let id = out.batch().column(0).as_primitive::<Int32Type>().value(at);
            out.origin_row(at) == id as u64
                && out.batch().column(1).as_primitive::<Int32Type>().value(at) == id
        }));
        good += out.rows();
        bad += out.unread().len();
    }
    assert_eq!((good, bad), (ROWS as usize / 10 * 9, ROWS as usize / 10));
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}

/// A sort of more rows than the memory holds goes to files.
#[test]
fn a_sort_spills() {
    let query = "SELECT id, n FROM source ORDER BY n DESC, id";
    let transformation =
        Transformation { query: Some(query.to_owned()), memory_limit: 16 << 20, ..Transformation::default() };
    let text = |id: i32| Some(format!("{:08}{}", id.wrapping_mul(7919) % 1_000_003, "x".repeat(100)));
    let source = stream((0..40).map(move |part| batch(part * 10_000..(part + 1) * 10_000, text)));
    let mut last: Option<String> = None;
    let mut rows = 0;
    for out in transformed(&transformation, Vec::new(), source).batches {
        let out = out.unwrap();
        rows += out.rows();
        for text in out.batch().column(1).as_string::<i32>().iter().flatten() {
            assert!(last.as_deref().is_none_or(|last| last >= text));
            last = Some(text.to_owned());
        }
    }
    assert_eq!(rows, 400_000);
}

/// The rows, the refused rows and their numbers that come out.
fn outcome(
    transformation: &Transformation,
    texts: &[Option<String>],
    cuts: &[usize],
) -> (Vec<String>, Vec<String>) {
    let lookup = Lookup {
        name: "l".to_owned(),
        rows: stream(std::iter::once(batch(0..40, |id| Some((id % 10).to_string())))),
    };
    let whole = batch(0..texts.len() as i32, |id| texts[id as usize].clone());
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (texts.len() + 1)).collect();
    cuts.extend([0, texts.len()]);
    cuts.sort_unstable();
    let parts: Vec<RecordBatch> = cuts.windows(2).map(|cut| whole.slice(cut[0], cut[1] - cut[0])).collect();
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for out in transformed(transformation, vec![lookup], stream(parts.into_iter())).batches {
        let out: SourceBatch = out.unwrap();
        for at in 0..out.rows() {
            let values = out.batch().columns().iter().map(|array| match array.is_null(at) {
                true => "NULL".to_owned(),
                false => arrow::util::display::array_value_to_string(array, at).unwrap(),
            });
            rows.push(format!("{}: {}", out.origin_row(at), values.collect::<Vec<_>>().join(",")));
        }
        refused.extend(out.unread().iter().map(|row| format!("{}: {}", row.origin.row, row.error)));
    }
    (rows, refused)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_split_stream_gives_what_the_whole_gives(
        texts in prop::collection::vec(prop::option::of("[0-9x]{0,3}"), 0..120),
        cuts in prop::collection::vec(0..200_usize, 0..8),
        which in 0..4_usize,
    ) {
        let joined = "SELECT s.id, l.id AS other, CAST(s.n AS int) AS v FROM source s LEFT JOIN l ON l.n = s.n";
        let transformation = match which {
            0 => select("id, CAST(n AS tinyint) AS v, UPPER(n) AS u"),
            1 => Transformation { condition: Some("100 / CAST(n AS int) > 2".to_owned()), ..Transformation::default() },
            2 => Transformation { query: Some(joined.to_owned()), ..Transformation::default() },
            _ => select("id, (SELECT COUNT(*) FROM l WHERE l.n = source.n) AS matches"),
        };
        let whole = outcome(&transformation, &texts, &[]);
        prop_assert_eq!(outcome(&transformation, &texts, &cuts), whole);
    }
}
