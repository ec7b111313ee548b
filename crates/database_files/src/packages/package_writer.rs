//! Packages that are written: data parts as they come, then the model and what describes it.
//!
//! No temporary file is needed. Each part is packed by one of several threads, and joins the archive when it is done. Origin.xml has
//! the number of all rows and the checksum of the model, so it is last.

use std::{
    io::{self, Seek, SeekFrom, Write},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{SystemTime, UNIX_EPOCH},
};

use arrow::{array::RecordBatch, datatypes::Schema};
use sha2::{Digest, Sha256};
use tds::Collation;
use zip::{
    CompressionMethod, ZipWriter,
    write::{PreparedZipFile, SimpleFileOptions, ZipFileBuilder},
};

use super::{
    escaped,
    model_writer::{NAMESPACE, WrittenModel, model},
    part_encoder::PartEncoder,
};
use crate::{
    definition::Table,
    error::{FileError, Reason, Result, malformed},
};

/// Threads that pack parts, at most.
const THREADS_MAX: usize = 8;
/// How hard parts are packed, 1 to 9: higher ones take twice the time for a twentieth of the bytes.
const LEVEL: i64 = 4;

/// Writes a package to an output that is filled from its beginning to its end.
pub struct PackageWriter<W: Write> {
    shared: Arc<Shared<W>>,
    parts: SyncSender<Part>,
    packers: Vec<JoinHandle<()>>,
}

/// The database that a package is said to be of.
#[derive(Debug, Clone)]
pub struct DatabaseProperties {
    /// Name.
    pub name: String,
    /// Collation of the database.
    pub collation: Collation,
}

/// Takes the rows of a table.
pub struct TableWriter<W: Write> {
    shared: Arc<Shared<W>>,
    parts: SyncSender<Part>,
    encoder: PartEncoder,
    table: TableName,
    number: usize,
}

#[derive(Clone)]
struct TableName {
    schema: String,
    name: String,
}

/// A part that waits for a packer.
struct Part {
    table: TableName,
    number: usize,
    bytes: Vec<u8>,
}

struct Shared<W: Write> {
    name: String,
    has_data: bool,
    archive: Mutex<WrittenArchive<W>>,
    failure: Mutex<Option<String>>,
}

struct WrittenArchive<W: Write> {
    zip: Option<ZipWriter<Forward<W>>>,
    relationships: Vec<(String, String)>,
    rows: u64,
}

impl<W: Write + Send + 'static> PackageWriter<W> {
    /// Begins a package; `name` is the output's in errors. Without data it is a .dacpac: the model alone.
    pub fn new(name: &str, output: W, has_data: bool) -> Self {
        let zip = ZipWriter::new(Forward { output, at: 0 });
        let archive = WrittenArchive { zip: Some(zip), relationships: Vec::new(), rows: 0 };
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            has_data,
            archive: Mutex::new(archive),
            failure: Mutex::default(),
        });
        let threads = thread::available_parallelism().map_or(1, |count| count.get().min(THREADS_MAX));
        let (parts, waiting) = sync_channel(threads);
        let waiting = Arc::new(Mutex::new(waiting));
        let packers = (0..threads).map(|_| {
            let (shared, waiting) = (Arc::clone(&shared), Arc::clone(&waiting));
            thread::spawn(move || shared.pack(&waiting))
        });
        Self { packers: packers.collect(), shared, parts }
    }

    /// Begins the rows of a table. The columns of `schema` are the table's stored ones, in their order.
    ///
    /// # Errors
    /// A column has a type that packages cannot hold, or cannot take what the schema has.
    pub fn table(&self, table: &Table, schema: &Schema) -> Result<TableWriter<W>> {
        let name = TableName { schema: table.schema.clone(), name: table.name.clone() };
        let encoder = PartEncoder::new(schema, table);
        let encoder = encoder.map_err(|reason| name.error(&self.shared.name, reason))?;
        let (shared, parts) = (Arc::clone(&self.shared), self.parts.clone());
        Ok(TableWriter { shared, parts, encoder, table: name, number: 0 })
    }

    /// Writes the model of the tables and what describes the package, after all rows. Returns the output.
    ///
    /// # Errors
    /// A part could not be written, or a name cannot stand in XML.
    pub fn finish(self, database: &DatabaseProperties, tables: &[Table]) -> Result<W> {
        let Self { shared, parts, packers } = self;
        drop(parts);
        for packer in packers {
            if packer.join().is_err() {
                shared.fail("a thread that packed a part ended");
            }
        }
        shared.check()?;
        let written = model(tables, database.collation);
        if let Some(c) = written.text.chars().find(|c| !is_xml(*c)) {
            let text = format!(
                "a name or an expression has the character U+{:04X}, which XML cannot hold",
                c as u32
            );
            return Err(FileError::new(&shared.name, "model.xml", malformed(text)));
        }
        let mut archive = shared.archive.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |part: &str, error: io::Error| FileError::io(&shared.name, part, &error);
        let described = archive.describe(database, &written, tables.len(), shared.has_data);
        for (part, text, is_packed) in described {
            archive.add(part, text.as_bytes(), is_packed).map_err(|inner| error(part, inner))?;
        }
        let zip = archive.zip.take().ok_or_else(|| error("", io::ErrorKind::BrokenPipe.into()))?;
        let forward = zip.finish().map_err(|inner| error("", inner.into()))?;
        Ok(forward.output)
    }
}

impl TableName {
    fn error(&self, file: &str, reason: Reason) -> FileError {
        FileError::new(file, "", reason).of_table(&format!("{}.{}", self.schema, self.name))
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// Takes a batch of the schema that was given.
    ///
    /// # Errors
    /// A value does not fit its column, by row and column; or a part could not be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { shared, parts, encoder, table, number } = self;
        let mut closed = false;
        let encoded = encoder.encode(batch, &mut |bytes| {
            let part = Part { table: table.clone(), number: *number, bytes };
            *number += 1;
            closed |= parts.send(part).is_err();
            Ok(())
        });
        encoded.map_err(|reason| table.error(&shared.name, reason))?;
        match closed {
            true => Err(FileError::io(&shared.name, "", &io::ErrorKind::BrokenPipe.into())),
            false => shared.check(),
        }
    }

    /// Hands the last part on, and counts the rows.
    ///
    /// # Errors
    /// A part could not be written.
    pub fn finish(mut self) -> Result<u64> {
        if let Some(bytes) = self.encoder.last_part() {
            let part = Part { table: self.table.clone(), number: self.number, bytes };
            if self.parts.send(part).is_err() {
                return Err(FileError::io(&self.shared.name, "", &io::ErrorKind::BrokenPipe.into()));
            }
        }
        let rows = self.encoder.rows();
        self.shared.archive.lock().unwrap_or_else(PoisonError::into_inner).rows += rows;
        self.shared.check()?;
        Ok(rows)
    }
}

impl<W: Write> Shared<W> {
    /// Packs parts until no more come.
    fn pack(&self, waiting: &Mutex<Receiver<Part>>) {
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(part) = next else { return };
            if self.check().is_err() {
                continue;
            }
            if let Err(error) = self.add(&part) {
                self.fail(&error.to_string());
            }
        }
    }

    fn add(&self, part: &Part) -> io::Result<()> {
        let TableName { schema, name } = &part.table;
        let folder = escaped(&format!("{schema}.{name}"));
        let path = format!("Data/{folder}/TableData-000-{:05}.BCP", part.number);
        let mut packer = ZipFileBuilder::new(&path, options(true))?;
        packer.write_all(&part.bytes)?;
        let packed = packer.finish()?;
        let mut archive = self.archive.lock().unwrap_or_else(PoisonError::into_inner);
        archive.append(packed)?;
        for of in [format!("table={name}"), format!("schema={schema}")] {
            archive.relationships.push((of, format!("/{path}")));
        }
        Ok(())
    }

    fn fail(&self, text: &str) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text.to_owned());
    }

    fn check(&self) -> Result<()> {
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(text) => Err(FileError::new(&self.name, "", Reason::Io(text.as_str().into()))),
        }
    }
}

fn options(is_packed: bool) -> SimpleFileOptions {
    let options = SimpleFileOptions::default();
    match is_packed {
        true => options.compression_method(CompressionMethod::Deflated).compression_level(Some(LEVEL)),
        false => options.compression_method(CompressionMethod::Stored),
    }
}

/// The mark of UTF-8 before a text: Microsoft's tools write it, but before the model.
const MARK: &str = "\u{feff}";
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>";
const TYPES: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";

impl<W: Write> WrittenArchive<W> {
    fn add(&mut self, part: &str, bytes: &[u8], is_packed: bool) -> io::Result<()> {
        self.append(PreparedZipFile::from_data(part, options(is_packed), bytes)?)
    }

    fn append(&mut self, packed: PreparedZipFile) -> io::Result<()> {
        let zip = self.zip.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(zip.add_prepared_file(packed)?)
    }

    /// Writes the parts that are no data: their names, their texts, and whether they are packed.
    fn describe(
        &self,
        database: &DatabaseProperties,
        model: &WrittenModel,
        tables: usize,
        has_data: bool,
    ) -> Vec<(&'static str, String, bool)> {
        let checksum: String = Sha256::digest(&model.text).iter().map(|byte| format!("{byte:02X}")).collect();
        let of_xml = quick_xml::escape::escape;
        let metadata = format!(
            "{MARK}{HEAD}<DacType xmlns=\"{NAMESPACE}\"><Name>{}</Name><Version>0.0.0.0</Version></DacType>",
            of_xml(&database.name)
        );
        let types = format!(
            "{MARK}{HEAD}<Types xmlns=\"{TYPES}\"><Default Extension=\"xml\" ContentType=\"text/xml\" />\
             <Default Extension=\"BCP\" ContentType=\"application/octet-stream\" />\
             <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\" /></Types>"
        );
        let mut relationships = format!("{MARK}{HEAD}<Relationships xmlns=\"{RELATIONSHIPS}\">");
        for (of, target) in &self.relationships {
            let id = Sha256::digest(format!("{of}\0{target}"));
            let id: String = id.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let of = of_xml(of);
            relationships
                .push_str(&format!("<Relationship Type=\"{of}\" Target=\"{target}\" Id=\"R{id}\" />"));
        }
        relationships.push_str("</Relationships>");
        let statistics = format!(
            "<ExportStatistics><SourceDatabaseSize>8192</SourceDatabaseSize>\
             <TableRowCountTotalTag>{}</TableRowCountTotalTag></ExportStatistics>",
            self.rows
        );
        let statistics = if has_data { statistics } else { String::new() };
        let origin = Origin { checksum: &checksum, version: model.version, tables, statistics: &statistics };
        let mut parts = vec![
            ("model.xml", model.text.clone(), true),
            ("DacMetadata.xml", metadata, true),
            ("[Content_Types].xml", types, true),
        ];
        if has_data {
            parts.push(("_rels/.rels", relationships, false));
        }
        parts.push(("Origin.xml", origin.text(has_data), false));
        parts
    }
}

/// The facts of Origin.xml.
struct Origin<'a> {
    checksum: &'a str,
    version: &'a str,
    tables: usize,
    statistics: &'a str,
}

impl Origin<'_> {
    fn text(&self, has_data: bool) -> String {
        let Self { checksum, version, tables, statistics } = self;
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = Sha256::digest(format!("{checksum}{}", begun.as_nanos()));
        let hex: String = id.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        let identity = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
        let product = env!("CARGO_PKG_VERSION");
        format!(
            "{MARK}{HEAD}<DacOrigin xmlns=\"{NAMESPACE}\"><PackageProperties><Version>3.1.0.0</Version>\
             <ContainsExportedData>{has_data}</ContainsExportedData><StreamVersions>\
             <Version StreamName=\"Data\">2.0.0.0</Version>\
             <Version StreamName=\"DeploymentContributors\">1.0.0.0</Version></StreamVersions></PackageProperties>\
             <Operation><Identity>{identity}</Identity><Start>{}</Start><End>0001-01-01T00:00:00.0000000</End>\
             <ProductName>bulkwire</ProductName><ProductVersion>{product}.0</ProductVersion>\
             <ProductSchema>{NAMESPACE}</ProductSchema></Operation>\
             <Server><ServerVersion>bulkwire {product}</ServerVersion>\
             <ObjectCounts><Table>{tables}</Table></ObjectCounts></Server>\
             {statistics}<Checksums><Checksum Uri=\"/model.xml\">{checksum}</Checksum></Checksums>\
             <ModelSchemaVersion>{version}</ModelSchemaVersion></DacOrigin>",
            moment(begun.as_secs()),
        )
    }
}

/// Writes a moment of seconds since 1970 as `2026-01-01T00:00:00.0000000+00:00`.
fn moment(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(arrow::temporal_conversions::timestamp_s_to_datetime);
    let at = at.unwrap_or_default();
    format!("{}.0000000+00:00", at.format("%Y-%m-%dT%H:%M:%S"))
}

/// Returns true for a character that XML 1.0 can hold.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// An output that is written from its beginning to its end, and knows how far it is.
struct Forward<W> {
    output: W,
    at: u64,
}

impl<W: Write> Write for Forward<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.output.write(buffer)?;
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl<W> Seek for Forward<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Current(0) | SeekFrom::End(0) => Ok(self.at),
            SeekFrom::Start(at) if at == self.at => Ok(at),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "the output is written once, forward")),
        }
    }
}
