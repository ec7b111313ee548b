//! Files as a source: one after another, as if they were one.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow::datatypes::{DataType, Schema, SchemaRef};
use formats::{
    ColumnReading, Compression, Finding, Format, InferredColumn, InferredSchema, Location, Sorted,
    objects::shown_url,
};
use load::{Choice, Interruption, KeyOrder, SourceBatch, SourceIdentity};
use rows::text::spelling::TextSpelling;

use crate::{
    column_types::ColumnTypes,
    endpoint::FileEndpoint,
    error::CopyError,
    file_formats::FileFormats,
    file_set::files_of,
    loaded_file::{LoadedFile, Reader},
    places::{Part, Places},
    row_stream::{BoxError, RowStream},
    source::{Description, NewColumns, ReadForm, Repeat, Source},
    typed_text,
};

/// Rows of a batch as it is read from a file.
const READ_BATCH_ROWS: usize = 65_536;

/// Files of the same columns.
pub struct FileSource {
    name: String,
    files: Vec<OneFile>,
    places: Places,
    bytes_read: Arc<AtomicU64>,
    collects: bool,
    /// Standard input has been opened, and cannot be again.
    is_spent: bool,
    /// The reader that described the source, if it is the only one that there can be.
    pending: Option<Reader>,
    measured: Option<InferredSchema>,
    /// The identity of the files' content, once it was asked for.
    repeat: Option<Repeat>,
    interruption: Option<Interruption>,
    /// Columns of text files are text, whatever their values could be.
    keeps_text: bool,
    /// Types that the user sets.
    types: Option<ColumnTypes>,
}

#[derive(Debug, Clone)]
struct OneFile {
    location: Location,
    format: Format,
    compression: Compression,
}

impl FileSource {
    /// Makes a source of an endpoint's files.
    ///
    /// # Errors
    /// There are none, or the format of one is unknown.
    pub fn new(endpoint: &FileEndpoint, formats: &FileFormats) -> Result<Self, CopyError> {
        let files = files_of(&endpoint.path)?.into_iter().map(|location| {
            let (format, compression) = formats.of(&location, None)?;
            Ok(OneFile { location, format, compression })
        });
        Ok(Self {
            name: match endpoint.path.as_str() {
                "-" => Location::Stdin.to_string(),
                path => shown_url(path),
            },
            files: files.collect::<Result<_, CopyError>>()?,
            places: Places::default(),
            bytes_read: Arc::default(),
            collects: false,
            is_spent: false,
            pending: None,
            measured: None,
            repeat: None,
            interruption: None,
            keeps_text: false,
            types: None,
        })
    }

    /// Sets the interruption that ends the reading of text for its types.
    #[must_use]
    pub fn interrupted_by(self, interruption: Option<Interruption>) -> Self {
        Self { interruption, ..self }
    }

    /// Leaves the columns of text files text.
    #[must_use]
    pub fn keeping_text(self, keeps_text: bool) -> Self {
        Self { keeps_text, ..self }
    }

    /// Sets the types of columns of text files.
    #[must_use]
    pub fn with_types(self, types: Option<ColumnTypes>) -> Self {
        Self { types, ..self }
    }

    /// Returns the readings of columns whose types were found, and refuses types for columns that get none here.
    fn readings(&self) -> Result<Option<Arc<[ColumnReading]>>, CopyError> {
        match (&self.measured, &self.types) {
            (None, Some(_)) => Err(CopyError::Usage(
                "--types is for a table that is made and for files with types; here the columns have their types"
                    .to_owned(),
            )),
            (measured, _) => Ok(measured.as_ref().and_then(InferredSchema::readings)),
        }
    }

    fn spelling(&self) -> TextSpelling {
        match self.files.first().map(|file| &file.format) {
            Some(Format::Csv(options)) => options.spelling,
            _ => TextSpelling::default(),
        }
    }

    fn first(&self) -> Result<&OneFile, CopyError> {
        self.files.first().ok_or_else(|| CopyError::Usage(format!("{} means no file", self.name)))
    }

    /// Returns true if the first file's columns have names of their own.
    fn has_names(&self) -> bool {
        match self.files.first().map(|file| &file.format) {
            Some(Format::Csv(options)) => options.header || options.columns.is_some(),
            _ => true,
        }
    }

    fn is_pipe(&self) -> bool {
        matches!(self.files.as_slice(), [OneFile { location: Location::Stdin, .. }])
            || self.files.iter().any(|file| match &file.location {
                Location::Path(path) => path.exists() && !path.is_file(),
                _ => false,
            })
    }

    /// Reads the first file's schema. Keeps the reader of a pipe, which can be opened only once.
    fn first_schema(&mut self) -> Result<SchemaRef, CopyError> {
        if let Some(reader) = &self.pending {
            return Ok(reader.schema());
        }
        if self.is_spent {
            return Err(self.spent());
        }
        let mut reader = self.first()?.open()?;
        if self.collects {
            reader.collect_rejects();
        }
        let schema = reader.schema();
        if self.is_pipe() {
            self.is_spent = true;
            self.pending = Some(reader);
        }
        Ok(schema)
    }

    /// Takes the fingerprints by which a later run recognises the files.
    fn look_for_repeats(&self) -> Result<Repeat, CopyError> {
        let mut prints = Vec::new();
        for file in &self.files {
            let print = formats::fingerprint(&file.location)
                .map_err(|error| CopyError::endpoint(file.location.to_string(), error))?;
            match print {
                Some(print) => prints.push(print),
                // The rows that were committed are compared in any case.
                None => {
                    return Ok(Repeat::IfNamed(SourceIdentity {
                        name: self.name(),
                        fingerprint: String::new(),
                    }));
                }
            }
        }
        // A folder and a pattern have their own name, whatever files they hold today.
        let is_local = self.files.iter().all(|file| matches!(file.location, Location::Path(_)));
        let name = if is_local { formats::true_name(Path::new(&self.name)) } else { self.name.clone() };
        Ok(Repeat::InOrder(SourceIdentity { name, fingerprint: prints.join("; ") }))
    }

    fn spent(&self) -> CopyError {
        CopyError::Usage(format!("{}: a pipe can be read only once", self.name))
    }

    fn is_text(&self) -> bool {
        self.files.iter().any(|file| matches!(file.format, Format::Csv(_)))
    }

    /// Types, lengths and NULLs of all rows.
    fn measured(&mut self) -> Result<&InferredSchema, CopyError> {
        if self.measured.is_none() {
            let files: Vec<_> =
                self.files.iter().map(|file| (&file.location, &file.format, file.compression)).collect();
            let is_over = || self.interruption.as_ref().is_some_and(Interruption::is_asked);
            let measured = formats::measure_until(&files, self.collects, &is_over)?;
            if is_over() {
                return Err(CopyError::Cancelled);
            }
            let keeps_text = self.keeps_text && self.is_text();
            let mut measured = if keeps_text { measured.into_text() } else { measured };
            if let Some(types) = &self.types {
                types.apply(&mut measured)?;
            }
            self.measured = Some(measured);
        }
        self.measured.as_ref().ok_or_else(|| CopyError::Usage(format!("{} means no file", self.name)))
    }
}

impl OneFile {
    fn open(&self) -> Result<Reader, CopyError> {
        Ok(Reader::typed(formats::open(&self.location, &self.format, self.compression, READ_BATCH_ROWS)?))
    }
}

impl Source for FileSource {
    fn name(&self) -> String {
        match self.files.len() {
            0 | 1 => self.name.clone(),
            files => format!("{} ({files} files)", self.name),
        }
    }

    fn describe(&mut self, form: ReadForm) -> Result<Description, CopyError> {
        let mut schema = self.first_schema()?;
        if form.is_typed && self.is_text() && !self.is_pipe() {
            schema = Arc::new(self.measured()?.schema());
        }
        let sizes = self.files.iter().map(|file| file.location.length());
        Ok(Description {
            schema,
            rows: None,
            bytes: sizes.sum(),
            has_names: self.has_names(),
            notes: Vec::new(),
        })
    }

    fn new_columns(&mut self, _form: ReadForm) -> Result<NewColumns, CopyError> {
        if self.is_pipe() {
            let schema = self.first_schema()?;
            let longest = vec![None; schema.fields().len()];
            return Ok(NewColumns { schema, longest });
        }
        let is_text = self.is_text();
        let measured = self.measured()?;
        let schema = match is_text {
            true => load::roomy_schema(&measured.schema()),
            false => measured.schema(),
        };
        let longest = measured
            .columns
            .iter()
            .map(|column| Some(column.max_binary_bytes.unwrap_or(column.max_utf16_units)));
        Ok(NewColumns { longest: longest.collect(), schema: Arc::new(schema) })
    }

    fn open(&mut self, form: ReadForm) -> Result<RowStream, CopyError> {
        let schema = self.first_schema()?;
        let pending = self.pending.take();
        if self.is_pipe() && pending.is_none() {
            return Err(self.spent());
        }
        self.places.clear();
        self.bytes_read.store(0, Ordering::Relaxed);
        let typed = match form.is_typed && self.is_text() && !self.is_pipe() {
            true => Some(Arc::new(self.measured()?.schema())),
            false => None,
        };
        let readings = self.readings()?;
        let spelled = |file: &OneFile| OneFile {
            format: file.format.clone().with_readings(readings.clone()),
            ..file.clone()
        };
        let chain = Chain {
            files: self.files.iter().map(spelled).collect(),
            threads: formats::reading_threads(1),
            current: None,
            pending,
            schema: Arc::clone(&schema),
            places: self.places.clone(),
            bytes_read: Arc::clone(&self.bytes_read),
            bytes_before: 0,
            collects: self.collects,
            next_row: 0,
        };
        let rows = RowStream { schema, batches: Box::new(chain) };
        match typed {
            Some(schema) => typed_text::typed(rows, &schema, self.spelling()),
            None => Ok(rows),
        }
    }

    fn repeat(&mut self) -> Result<Repeat, CopyError> {
        // The files are read whole for it, once.
        if self.repeat.is_none() {
            self.repeat = Some(self.look_for_repeats()?);
        }
        self.repeat.clone().ok_or(CopyError::Cancelled)
    }

    fn follows(&mut self, _form: ReadForm, order: &KeyOrder) -> Result<Option<&'static str>, CopyError> {
        let ([file], false) = (self.files.as_slice(), self.is_pipe()) else { return Ok(None) };
        Ok(match file.open()?.follows(order)? {
            Sorted::Yes(evidence) => Some(evidence),
            Sorted::No(_) | Sorted::Unknown => None,
        })
    }

    fn findings(&self) -> Vec<Choice> {
        let columns = self.measured.iter().filter(|_| self.is_text()).flat_map(|measured| &measured.columns);
        let choice = |Finding { column, decision, reason }| Choice {
            setting: "column",
            value: column,
            reason: format!("{decision}: {reason}"),
        };
        columns.flat_map(InferredColumn::findings).map(choice).collect()
    }

    fn collect_unread(&mut self) {
        self.collects = true;
    }

    fn bytes_read(&self) -> Option<Arc<AtomicU64>> {
        Some(Arc::clone(&self.bytes_read))
    }

    fn places(&self) -> Places {
        self.places.clone()
    }
}

/// The batches of one file after another.
struct Chain {
    files: VecDeque<OneFile>,
    threads: usize,
    current: Option<(LoadedFile, u64, Arc<AtomicU64>)>,
    pending: Option<Reader>,
    schema: SchemaRef,
    places: Places,
    bytes_read: Arc<AtomicU64>,
    bytes_before: u64,
    collects: bool,
    /// The number of the next row, those that could not be read included.
    next_row: u64,
}

impl Chain {
    /// Opens the next file.
    fn advance(&mut self, file: &OneFile) -> Result<(), BoxError> {
        let name = file.location.to_string();
        let reader = match self.pending.take() {
            Some(reader) => reader,
            None => {
                let mut reader = file.open()?;
                same_columns(&self.schema, &reader.schema(), &name)?;
                reader.use_threads(self.threads);
                if self.collects {
                    reader.collect_rejects();
                }
                reader
            }
        };
        self.places.note(Part {
            name: name.clone(),
            first_row: self.next_row,
            lines: reader.lines(),
            encoding: reader.text_encoding(),
        });
        if let Some((.., bytes)) = &self.current {
            self.bytes_before += bytes.load(Ordering::Relaxed);
        }
        let bytes = Arc::new(AtomicU64::new(0));
        self.current = Some((LoadedFile::new(&name, reader, Arc::clone(&bytes)), self.next_row, bytes));
        Ok(())
    }
}

impl Iterator for Chain {
    type Item = Result<SourceBatch, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let next = self.current.as_mut().map(|(file, first_row, bytes)| {
                let batch = file.next();
                (batch, *first_row, bytes.load(Ordering::Relaxed))
            });
            if let Some((Some(batch), first_row, bytes)) = next {
                self.bytes_read.store(self.bytes_before + bytes, Ordering::Relaxed);
                let batch = match batch {
                    Ok(batch) => batch,
                    Err(error) => {
                        self.files.clear();
                        self.current = None;
                        return Some(Err(error.into()));
                    }
                };
                let counted = self.next_row.saturating_sub(first_row);
                let batch = batch.numbered(counted).shifted(first_row);
                let last = match batch.rows() {
                    0 => None,
                    rows => Some(batch.origin_row(rows - 1)),
                };
                let last_unread = batch.unread().last().map(|row| row.origin.row);
                if let Some(last) = last.max(last_unread) {
                    self.next_row = last.saturating_add(1);
                }
                return Some(Ok(batch));
            }
            let file = self.files.pop_front()?;
            if let Err(error) = self.advance(&file) {
                self.files.clear();
                self.current = None;
                return Some(Err(error));
            }
        }
    }
}

/// Refuses a file whose columns are not those of the first.
fn same_columns(first: &Schema, other: &Schema, name: &str) -> Result<(), CopyError> {
    let refused = |what: String| {
        Err(CopyError::Usage(format!("{name}: {what}; files that are copied together have the same columns")))
    };
    if first.fields().len() != other.fields().len() {
        return refused(format!(
            "{} columns, and the first file has {}",
            other.fields().len(),
            first.fields().len()
        ));
    }
    for (of_first, field) in first.fields().iter().zip(other.fields()) {
        if of_first.name() != field.name() {
            return refused(format!(
                "column {:?} stands where the first file has {:?}",
                field.name(),
                of_first.name()
            ));
        }
        if of_first.data_type() != field.data_type()
            && !is_dictionary_of(of_first.data_type(), field.data_type())
        {
            return refused(format!(
                "column {:?} is {}, and {} in the first file",
                field.name(),
                field.data_type(),
                of_first.data_type()
            ));
        }
    }
    Ok(())
}

fn is_dictionary_of(one: &DataType, other: &DataType) -> bool {
    matches!((one, other), (DataType::Dictionary(_, one), DataType::Dictionary(_, other)) if one == other)
}
