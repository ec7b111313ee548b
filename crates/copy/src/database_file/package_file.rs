//! A package that several copies fill, each with a table. It appears when all of them have arrived.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::Schema;
use database_files::{DatabaseProperties, PackageWriter, Table, TableWriter};
use formats::{Location, Target};
use tds::Collation;

use crate::error::CopyError;

/// A package in the making.
#[derive(Clone, Default)]
pub(crate) struct PackageFile(Arc<Mutex<Making>>);

#[derive(Default)]
struct Making {
    writer: Option<PackageWriter<Target>>,
    tables: Vec<Table>,
}

/// Returns true for a path of a package that can be written.
pub(crate) fn is_package(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".bacpac") || holds_model_alone(&path)
}

/// Returns true for a package without data.
pub(crate) fn holds_model_alone(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".dacpac")
}

impl PackageFile {
    /// Begins the rows of a table; the first one begins the file.
    ///
    /// # Errors
    /// The file cannot be made, or the table does not fit a package.
    pub(crate) fn begin(
        &self,
        path: &str,
        table: &Table,
        schema: &Schema,
    ) -> Result<TableWriter<Target>, CopyError> {
        let mut making = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = match &mut making.writer {
            Some(writer) => writer,
            none => {
                let target = Location::target(path).create_target()?;
                none.insert(PackageWriter::new(path, target, !holds_model_alone(path)))
            }
        };
        let of_table = writer.table(table, schema).map_err(|error| CopyError::Stream(error.into()))?;
        making.tables.push(table.clone());
        Ok(of_table)
    }

    /// Completes the file and gives it its name. Returns what is to be said of it.
    ///
    /// # Errors
    /// A table is missing, or the file cannot be written.
    pub(crate) fn complete(&self, path: &str, are_all_there: bool) -> Result<Vec<String>, CopyError> {
        let Making { writer, mut tables } =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(writer) = writer else { return Ok(Vec::new()) };
        if !are_all_there {
            return Err(CopyError::Usage(format!(
                "{path} is not written, since not all of its tables arrived"
            )));
        }
        tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        let mut notes = without_strangers(&mut tables);
        let name = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let database = DatabaseProperties { name: name.unwrap_or_default(), collation: collation(&tables) };
        let target = writer.finish(&database, &tables).map_err(|error| CopyError::Stream(error.into()))?;
        let bytes = target.finish()?;
        notes.insert(0, format!("{path}: {} tables, {bytes} bytes", tables.len()));
        Ok(notes)
    }
}

/// Takes out foreign keys to tables that the package lacks, and names them.
fn without_strangers(tables: &mut [Table]) -> Vec<String> {
    let lower = |schema: &str, name: &str| (schema.to_lowercase(), name.to_lowercase());
    let there: Vec<(String, String)> = tables.iter().map(|table| lower(&table.schema, &table.name)).collect();
    let mut notes = Vec::new();
    for table in tables {
        let name = table.full_name();
        table.foreign_keys.retain(|key| {
            let is_there = there.contains(&lower(&key.to_schema, &key.to_table));
            if !is_there {
                notes.push(format!(
                    "foreign key {} of {name} is not written: it refers to {}.{}, which is not in the package",
                    key.name.as_deref().unwrap_or_default(),
                    key.to_schema,
                    key.to_table
                ));
            }
            is_there
        });
    }
    notes
}

/// Returns the collation that most columns have: that of the database, as far as its columns show it.
fn collation(tables: &[Table]) -> Collation {
    let columns = tables.iter().flat_map(|table| &table.columns);
    let mut counts: HashMap<[u8; 5], (usize, Collation)> = HashMap::new();
    for collation in columns.filter_map(|column| column.collation) {
        counts.entry(collation.to_bytes()).or_insert((0, collation)).0 += 1;
    }
    let most = counts.into_iter().max_by_key(|(bytes, (count, _))| (*count, *bytes));
    most.map_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS, |(_, (_, collation))| collation)
}
