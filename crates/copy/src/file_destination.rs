//! A file, or a directory of files, as a destination.

use std::{
    path::{MAIN_SEPARATOR, Path},
    sync::Arc,
    thread,
};

use arrow::datatypes::SchemaRef;
use crossbeam_channel::bounded;
use formats::{
    BatchWriter, Compression, Folder, Format, Location, PartitionedFiles, SplitFiles,
    bcp::columns_of,
    objects::{is_object_url, is_web_url, shown_url},
};
use load::{Choice, SourceBatch};
use rows::mapping::note_of_offsets;

use crate::{
    destination::{Create, Destination, Landed, Prepared},
    error::CopyError,
    file_formats::FileFormats,
    row_stream::{BoxError, RowStream},
    source::{Description, ReadForm, Source},
    watch::Control,
};

/// Batches between the source and the file.
const BATCHES_MAX: usize = 2;

/// The settings of writing files.
#[derive(Debug, Clone, Default)]
pub struct FileWrite {
    /// The format of each.
    pub formats: FileFormats,
    /// Fill a directory with files of at most this many rows.
    pub split_rows: Option<u64>,
    /// Fill a directory with one directory for each value of this column.
    pub partition_by: Option<String>,
    /// Decides whether a file of the name may exist.
    pub create: Create,
    /// Text of text files stays text, whatever the format could hold.
    pub keeps_text: bool,
}

/// A file or a directory that takes rows. It appears under its name when it is complete.
pub struct FileDestination {
    path: String,
    write: FileWrite,
    writer: Option<Box<dyn BatchWriter>>,
    folder: Option<Arc<Folder>>,
}

impl FileDestination {
    /// Makes a destination of the file or directory at a path; `-` is standard output.
    ///
    /// # Errors
    /// Several files cannot go to standard output.
    pub fn new(path: &str, write: FileWrite) -> Result<Self, CopyError> {
        if path.contains(['*', '?']) && !is_web_url(path) {
            return Err(CopyError::Usage(format!(
                "{path}: a pattern cannot take rows; name a file, or a directory with '/' at its end"
            )));
        }
        if crate::endpoint::is_workbook(path) {
            return Err(CopyError::Usage(format!(
                "{path}: workbooks are read and not written; write CSV or Parquet"
            )));
        }
        let destination = Self { path: path.to_owned(), write, writer: None, folder: None };
        if destination.is_folder() && path == "-" {
            return Err(CopyError::Usage(
                "several files need a directory, and not standard output".to_owned(),
            ));
        }
        Ok(destination)
    }

    fn is_folder(&self) -> bool {
        self.write.split_rows.is_some() || self.write.partition_by.is_some() || is_directory(&self.path)
    }

    /// Returns the location of the file, or of a file in the directory.
    fn location(&self) -> Location {
        match self.is_folder() {
            true => Location::Path("part.parquet".into()),
            false => match (Location::target(&self.path), self.write.create) {
                (Location::Object(object), Create::Always) => Location::Object(object.only_new()),
                (location, _) => location,
            },
        }
    }

    /// Returns true if a file exists that would be replaced.
    fn exists(&self) -> Result<bool, CopyError> {
        match self.location() {
            _ if self.is_folder() => Ok(false),
            Location::Path(path) => Ok(path.exists()),
            Location::Object(object) => {
                object.exists().map_err(|error| CopyError::endpoint(object.to_string(), error))
            }
            _ => Ok(false),
        }
    }

    /// Returns the format; that of a file of bcp depends on the columns.
    fn format(&self, schema: Option<&SchemaRef>) -> Result<(Format, Compression), CopyError> {
        let columns = schema.map(|schema| columns_of(schema)).transpose();
        self.write.formats.of(&self.location(), columns.ok().flatten().as_deref())
    }

    fn create(&mut self, schema: &SchemaRef) -> Result<Box<dyn BatchWriter>, CopyError> {
        let (format, compression) = self.format(Some(schema))?;
        if !self.is_folder() {
            return Ok(formats::create(&self.location(), Arc::clone(schema), &format, compression)?);
        }
        if matches!(format, Format::Host(_)) {
            return Err(CopyError::Usage("a directory takes CSV, Parquet and Arrow files".to_owned()));
        }
        let folder = Arc::new(Folder::named(&self.path)?);
        self.folder = Some(Arc::clone(&folder));
        Ok(match (&self.write.partition_by, self.write.split_rows) {
            (Some(column), _) => {
                Box::new(PartitionedFiles::new(folder, schema, column, &format, compression)?)
            }
            (None, rows) => {
                let rows = rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX);
                Box::new(SplitFiles::new(folder, Arc::clone(schema), &format, compression, rows))
            }
        })
    }
}

/// Returns true if a path means a directory: one exists, or the path ends like one.
pub fn is_directory(path: &str) -> bool {
    path.ends_with(['/', MAIN_SEPARATOR]) || (path != "-" && !is_object_url(path) && Path::new(path).is_dir())
}

impl Destination for FileDestination {
    fn name(&self) -> String {
        match self.path.as_str() {
            "-" => Location::Stdout.to_string(),
            path => shown_url(path),
        }
    }

    fn form(&mut self) -> Result<ReadForm, CopyError> {
        // Text goes into text as it is.
        let (format, _) = self
            .format(None)
            .or_else(|_| self.format(Some(&SchemaRef::new(arrow::datatypes::Schema::empty()))))?;
        let is_typed = !matches!(format, Format::Csv(_)) && !self.write.keeps_text;
        Ok(ReadForm { is_exact: matches!(format, Format::Host(_)), is_typed })
    }

    fn prepare(&mut self, source: &mut dyn Source, is_dry: bool) -> Result<Prepared, CopyError> {
        let form = self.form()?;
        let exists = self.exists()?;
        match self.write.create {
            Create::Always if exists => {
                return Err(CopyError::Usage(format!("{}: there is such a file already", self.name())));
            }
            Create::Never if !exists => {
                return Err(CopyError::Usage(format!("{}: there is no such file to replace", self.name())));
            }
            _ => {}
        }
        let Description { schema, notes, .. } = source.describe(form)?;
        let (format, compression) = self.format(Some(&schema))?;
        let mut value = match &format {
            Format::Csv(_) => "CSV",
            Format::Parquet(_) => "Parquet",
            Format::ArrowIpc(_) => "Arrow IPC",
            Format::Host(_) => "bcp",
        }
        .to_owned();
        match compression {
            Compression::None => {}
            Compression::Gzip => value += ", gzip",
            Compression::Zstd => value += ", zstd",
        }
        let reason = match exists {
            true => "the file that is there is replaced when the new one is complete",
            false => "it appears when it is complete",
        };
        let mut plan = vec![Choice { setting: "file", value, reason: reason.to_owned() }];
        if let Some(reason) = note_of_offsets(&schema).filter(|note| notes.contains(note)) {
            plan.push(Choice { setting: "offsets", value: "UTC".to_owned(), reason });
        }
        if !is_dry {
            self.writer = Some(self.create(&schema)?);
        }
        Ok(Prepared { plan, ..Prepared::default() })
    }

    fn write(&mut self, rows: RowStream, control: &Control<'_>) -> Result<Landed, CopyError> {
        let Some(writer) = self.writer.as_mut() else { return Err(CopyError::Cancelled) };
        let mut written = 0;
        let (sender, batches) = bounded::<Result<SourceBatch, BoxError>>(BATCHES_MAX);
        let done = thread::scope(|scope| {
            scope.spawn(move || {
                for batch in rows.batches {
                    // Nobody takes it any more: the file has failed.
                    if sender.send(batch).is_err() {
                        break;
                    }
                }
            });
            // Moved in, so that the sender learns of an early end.
            let batches = batches;
            for batch in &batches {
                control.check()?;
                let mut batch = batch.map_err(CopyError::from_stream)?;
                control.take_unread(&mut batch)?;
                writer.write(batch.batch())?;
                written += batch.rows() as u64;
                control.watch.progress(written, 0);
            }
            Ok(())
        });
        done.map(|()| Landed { rows: written, writers: 1, ..Landed::default() })
    }

    fn finish(&mut self, landed: Landed, _control: &Control<'_>) -> Result<Landed, CopyError> {
        let Some(writer) = self.writer.take() else { return Err(CopyError::Cancelled) };
        let written = writer.finish()?;
        if let Some(folder) = self.folder.take().and_then(Arc::into_inner) {
            folder.finish()?;
        }
        Ok(Landed { rows: written.rows, bytes: Some(written.bytes), ..landed })
    }

    fn abort(&mut self, _failure: &CopyError) -> Vec<String> {
        // Files under way are removed with their writers.
        self.writer = None;
        self.folder = None;
        Vec::new()
    }
}
