//! A source whose rows are transformed while they are read.

use std::sync::{Arc, atomic::AtomicU64};

use arrow::datatypes::SchemaRef;
use load::{SourceBatch, SourceIdentity};
use rows::text::spelling::YEAR_CUTOFF;
use rows::{Form, mapping::note_of_offsets};

use crate::{
    error::CopyError,
    places::Places,
    row_stream::{BoxError, RowStream},
    source::{Description, ReadForm, Repeat, Source, Undecoded},
    transformation::{Lookup, PreparedTransformation, TransformEngine, Transformation},
};

/// A source and what is done to its rows.
pub struct TransformedSource {
    inner: Box<dyn Source>,
    engine: Arc<dyn TransformEngine>,
    transformation: Transformation,
    lookups: Vec<(String, Box<dyn Source>)>,
    /// Made for the schema of the form that it was asked for last, and not used yet.
    prepared: Option<(ReadForm, Box<dyn PreparedTransformation>)>,
    /// The schema of the result, once it is known, by form.
    known: Option<(ReadForm, SchemaRef, bool)>,
}

impl TransformedSource {
    /// Transforms the rows of `inner` by `engine`; each lookup has a name in the query.
    pub fn new(
        inner: Box<dyn Source>,
        engine: Arc<dyn TransformEngine>,
        transformation: Transformation,
        lookups: Vec<(String, Box<dyn Source>)>,
    ) -> Self {
        Self { inner, engine, transformation, lookups, prepared: None, known: None }
    }

    /// The form in which the inner source is read. A query sees the same columns whatever the destination is: exact ones of SQL
    /// Server, text of text files.
    const READ: ReadForm = ReadForm { is_exact: true, is_typed: false };

    fn prepare(&mut self, form: ReadForm) -> Result<Box<dyn PreparedTransformation>, CopyError> {
        if let Some((_, prepared)) = self.prepared.take_if(|(of, _)| *of == form) {
            return Ok(prepared);
        }
        let schema = self.inner.describe(Self::READ)?.schema;
        let mut lookups = Vec::with_capacity(self.lookups.len());
        for (name, source) in &mut self.lookups {
            lookups.push(Lookup { name: name.clone(), rows: source.open(Self::READ)? });
        }
        let transformation = Transformation {
            form: if form.is_exact { Form::Exact } else { self.transformation.form.clone() },
            ..self.transformation.clone()
        };
        let prepared = self.engine.prepare(&transformation, schema, lookups);
        let prepared = prepared.map_err(|error| CopyError::endpoint("transformation", error))?;
        self.known = Some((form, prepared.schema(), prepared.is_row_wise()));
        Ok(prepared)
    }

    /// Returns the schema of the result, and true if it is made row by row.
    fn known(&mut self, form: ReadForm) -> Result<(SchemaRef, bool), CopyError> {
        if let Some((_, schema, is_row_wise)) = self.known.as_ref().filter(|(of, ..)| *of == form) {
            return Ok((Arc::clone(schema), *is_row_wise));
        }
        let prepared = self.prepare(form)?;
        let known = (prepared.schema(), prepared.is_row_wise());
        self.prepared = Some((form, prepared));
        Ok(known)
    }
}

impl Source for TransformedSource {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn describe(&mut self, form: ReadForm) -> Result<Description, CopyError> {
        let (schema, is_row_wise) = self.known(form)?;
        let mut notes = self.inner.describe(Self::READ)?.notes;
        if !is_row_wise {
            notes.push("the query needs all rows before the first one comes out".to_owned());
        }
        notes.extend(note_of_offsets(&schema));
        // The number of rows is known only at the end.
        Ok(Description { schema, rows: None, bytes: None, has_names: true, notes })
    }

    fn open(&mut self, form: ReadForm) -> Result<RowStream, CopyError> {
        let prepared = self.prepare(form)?;
        let rows = self.inner.open(Self::READ)?;
        let (name, places) = (self.inner.name(), self.inner.places());
        let RowStream { schema, batches } = rows;
        let placed = Placed { batches, places, name, rows: 0, file: None };
        Ok(prepared.apply(RowStream { schema, batches: Box::new(placed) }))
    }

    fn undecoded(&mut self, _form: ReadForm) -> Result<Undecoded, CopyError> {
        Ok(match self.inner.undecoded(Self::READ)? {
            Undecoded::OfNoServer => Undecoded::OfNoServer,
            Undecoded::Never(_) | Undecoded::Rows { .. } => Undecoded::Never("they are transformed"),
        })
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        if !self.known(ReadForm::default())?.1 {
            let text = "its query needs all rows before the first one comes out, so that none stands for a row of the source";
            return Ok(Repeat::No(text.to_owned()));
        }
        for (name, lookup) in &mut self.lookups {
            if let Repeat::No(reason) = lookup.repeat()? {
                return Ok(Repeat::No(format!("lookup {name}: {reason}")));
            }
        }
        let Transformation { select, condition, query, action, collation, spelling, .. } =
            &self.transformation;
        let mut text = format!("{select:?} {condition:?} {query:?} {collation:?}");
        // Marks of loads that were recorded before hold the order alone.
        if let Some(order) = spelling.date_order {
            text += &format!(" {order:?}");
        }
        if spelling.year_cutoff.is_some_and(|cutoff| cutoff != YEAR_CUTOFF) || spelling.numbers.is_some() {
            text += &format!(" {:?} {:?}", spelling.year_cutoff, spelling.numbers);
        }
        if let Some(action) = action {
            text += &format!(" {action:?}");
        }
        Ok(match self.inner.repeat()? {
            Repeat::InOrder(SourceIdentity { name, fingerprint }) if !fingerprint.is_empty() => {
                let fingerprint = format!("{fingerprint} {:016x}", fingerprint_of(text.as_bytes()));
                Repeat::InOrder(SourceIdentity { name, fingerprint })
            }
            other => other,
        })
    }

    fn collect_unread(&mut self) {
        self.inner.collect_unread();
    }

    fn bytes_read(&self) -> Option<Arc<AtomicU64>> {
        self.inner.bytes_read()
    }

    fn places(&self) -> Places {
        self.inner.places()
    }
}

/// Hashes by FNV-1a: another transformation of the same source is another source.
fn fingerprint_of(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Batches that know the files in which their rows stand.
struct Placed {
    batches: Box<dyn Iterator<Item = Result<SourceBatch, BoxError>> + Send>,
    places: Places,
    name: String,
    /// Rows so far.
    rows: u64,
    /// The file of the batch before.
    file: Option<Arc<str>>,
}

impl Iterator for Placed {
    type Item = Result<SourceBatch, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.batches.next()?.map(|batch| {
            let batch = batch.counted_from(self.rows);
            self.rows += batch.rows() as u64;
            if batch.rows() == 0 {
                return batch;
            }
            let row = batch.origin_row(0);
            let place = self.places.of(row, &self.name);
            let file = match self.file.take() {
                Some(file) if *file == *place.name => file,
                _ => place.name.into(),
            };
            self.file = Some(Arc::clone(&file));
            batch.in_file(file, row - place.row.min(row))
        }))
    }
}
