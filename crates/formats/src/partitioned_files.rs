//! Directories that are named after the values of a column, as in Hive: `country=SE/part-00001.parquet`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, UInt32Array};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::split_files::part_name;
use crate::{BatchWriter, Compression, Folder, Format, FormatError, Reason, Written, create};

/// Files that are open at a time; the one that has waited longest for a row is closed for another.
const OPEN_MAX: usize = 64;
/// Parquet holds row groups in memory; with many files open they have to be smaller.
const ROW_GROUP_BYTES: usize = 8 << 20;
/// The directory of rows without a value.
const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// Writes each row to the directory of its value. The column itself is not in the files.
pub struct PartitionedFiles {
    folder: Arc<Folder>,
    /// Schema without the partition column.
    schema: SchemaRef,
    column: usize,
    name: String,
    format: Format,
    compression: Compression,
    open: HashMap<String, Open>,
    /// Files that each directory has.
    files: HashMap<String, usize>,
    writes: u64,
    written: Written,
}

struct Open {
    writer: Box<dyn BatchWriter>,
    last_write: u64,
}

impl PartitionedFiles {
    /// Starts with no file.
    ///
    /// # Errors
    /// There is no such column, or its values have no text form for a name.
    pub fn new(
        folder: Arc<Folder>,
        schema: &SchemaRef,
        column: &str,
        format: &Format,
        compression: Compression,
    ) -> Result<Self, FormatError> {
        let problem = |problem: String| Err(FormatError::option("partition-by", problem));
        let found =
            schema.fields().iter().position(|field| field.name() == column).or_else(|| {
                schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(column))
            });
        let Some(index) = found else { return problem(format!("there is no column {column:?}")) };
        let field = schema.field(index);
        if !has_names(field.data_type()) {
            return problem(format!("values of type {} make no names of directories", field.data_type()));
        }
        if schema.fields().len() == 1 {
            return problem("no column would be left for the files".to_owned());
        }
        let rest: Vec<usize> = (0..schema.fields().len()).filter(|other| *other != index).collect();
        let format = match format {
            Format::Parquet(options) => Format::Parquet(crate::ParquetOptions {
                row_group_bytes: options.row_group_bytes.min(ROW_GROUP_BYTES),
                ..options.clone()
            }),
            other => other.clone(),
        };
        Ok(Self {
            folder,
            name: escaped(field.name()),
            schema: Arc::new(schema.project(&rest)?),
            column: index,
            format,
            compression,
            open: HashMap::new(),
            files: HashMap::new(),
            writes: 0,
            written: Written { rows: 0, bytes: 0 },
        })
    }

    /// Writes rows that all have this value.
    fn write_to(&mut self, directory: &str, rows: &RecordBatch) -> Result<(), FormatError> {
        self.writes += 1;
        if let Some(open) = self.open.get_mut(directory) {
            open.last_write = self.writes;
            return open.writer.write(rows);
        }
        if self.open.len() >= OPEN_MAX
            && let Some(oldest) =
                self.open.iter().min_by_key(|(_, open)| open.last_write).map(|(name, _)| name.clone())
            && let Some(open) = self.open.remove(&oldest)
        {
            self.close(open.writer)?;
        }
        let mut writer = self.next_file(directory)?;
        writer.write(rows)?;
        self.open.insert(directory.to_owned(), Open { writer, last_write: self.writes });
        Ok(())
    }

    fn next_file(&mut self, directory: &str) -> Result<Box<dyn BatchWriter>, FormatError> {
        let number = self.files.entry(directory.to_owned()).or_default();
        *number += 1;
        let file = part_name(*number, &self.format, self.compression);
        let location = self.folder.file(&Path::new(directory).join(file))?;
        create(&location, Arc::clone(&self.schema), &self.format, self.compression)
    }

    fn close(&mut self, writer: Box<dyn BatchWriter>) -> Result<(), FormatError> {
        let Written { rows, bytes } = writer.finish()?;
        self.written = Written { rows: self.written.rows + rows, bytes: self.written.bytes + bytes };
        Ok(())
    }
}

impl BatchWriter for PartitionedFiles {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        let Some(column) = batch.columns().get(self.column) else {
            return Err(FormatError::new(Reason::SchemaMismatch {
                expected: format!("{} columns", self.schema.fields().len() + 1),
                found: format!("{} columns", batch.num_columns()),
            }));
        };
        let text = cast(column, &DataType::Utf8)?;
        let text = text.as_string::<i32>();
        let mut rest = batch.clone();
        rest.remove_column(self.column);
        // Groups are in the order of their first rows, so that the same rows make the same files.
        let mut groups: Vec<(Option<&str>, Vec<u32>)> = Vec::new();
        let mut places: HashMap<Option<&str>, usize> = HashMap::new();
        for (row, value) in (0..).zip(text.iter()) {
            let place = *places.entry(value).or_insert_with(|| {
                groups.push((value, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, rows)) = groups.get_mut(place) {
                rows.push(row);
            }
        }
        for (value, rows) in groups {
            let directory = format!("{}={}", self.name, value.map_or_else(|| NULL_NAME.to_owned(), escaped));
            if rows.len() == rest.num_rows() {
                self.write_to(&directory, &rest)?;
            } else {
                self.write_to(&directory, &take_record_batch(&rest, &UInt32Array::from(rows))?)?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, FormatError> {
        let open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        for open in open {
            self.close(open.writer)?;
        }
        Ok(self.written)
    }
}

/// Returns true if each value of a type has a text of its own, which can name a folder.
fn has_names(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Boolean | T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Date32 | T::Date64 => true,
        T::Timestamp(..) | T::Time32(_) | T::Time64(_) => true,
        T::Dictionary(_, values) => has_names(values),
        other => other.is_integer() || matches!(other, T::Decimal128(..) | T::Decimal256(..)),
    }
}

/// Writes a name or value as Hive does in a path.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '#' | '%' | '\'' | '*' | '/' | ':' | '=' | '?' | '\\' | '{' | '}' | '[' | ']' | '^'
            | '<' | '>' | '|' => escaped.push_str(&format!("%{:02X}", u32::from(c))),
            c if c.is_ascii_control() => escaped.push_str(&format!("%{:02X}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}
