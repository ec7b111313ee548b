//! A table of a package as a destination.

use std::fmt;

use arrow::{
    array::RecordBatch,
    datatypes::{Schema, SchemaRef},
};
use database_files::{Table, TableWriter};
use formats::Target;
use load::{Choice, TableName, TableShape};

use super::{
    definition,
    endpoint::DatabaseFileEndpoint,
    package_file::{PackageFile, holds_model_alone, is_package},
};
use crate::{
    destination::{Create, Destination, Landed, Prepared},
    error::CopyError,
    new_table::transplanted,
    row_stream::RowStream,
    rowversions::without_rowversions,
    source::{ReadForm, Source},
    watch::Control,
};

/// The settings of writing a package.
#[derive(Clone)]
pub struct PackageTarget {
    /// The file, and the table in it.
    pub endpoint: DatabaseFileEndpoint,
    /// Keys, indexes, defaults, checks and computed columns of a table of SQL Server come with it.
    pub with_keys: bool,
    /// Decides whether a file of the name may exist.
    pub create: Create,
    /// The schema that takes all tables.
    pub to_schema: Option<String>,
    pub(crate) file: PackageFile,
}

impl fmt::Debug for PackageTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.endpoint)
    }
}

impl PackageTarget {
    /// Makes the target of an endpoint.
    ///
    /// # Errors
    /// It is no package.
    pub(crate) fn new(
        endpoint: DatabaseFileEndpoint,
        with_keys: bool,
        create: Create,
        to_schema: Option<String>,
    ) -> Result<Self, CopyError> {
        match endpoint.files.as_slice() {
            [path] if is_package(path) && !path.contains(['*', '?']) => {
                Ok(Self { endpoint, with_keys, create, to_schema, file: PackageFile::default() })
            }
            _ => Err(endpoint.not_written()),
        }
    }

    /// Completes the package if all of its tables have arrived. Returns what is to be said of it.
    ///
    /// # Errors
    /// A table is missing, or the file cannot be written.
    pub(crate) fn complete(&self, are_all_there: bool) -> Result<Vec<String>, CopyError> {
        self.file.complete(self.path(), are_all_there)
    }

    fn path(&self) -> &str {
        self.endpoint.files.first().map(String::as_str).unwrap_or_default()
    }
}

/// A table of a package that takes rows.
pub struct PackageDestination {
    target: PackageTarget,
    writer: Option<OpenTable>,
}

/// A table that was begun, and the columns of a batch that are stored in it.
struct OpenTable {
    writer: TableWriter<Target>,
    columns: Vec<usize>,
}

impl PackageDestination {
    /// Makes a destination of a target's table.
    pub fn new(target: PackageTarget) -> Self {
        Self { target, writer: None }
    }

    fn unfit(&self, text: String) -> CopyError {
        CopyError::endpoint(self.name(), text)
    }

    /// Returns the table's name: the endpoint's, or that of a table of SQL Server.
    fn table_name(&self, shape: Option<&TableShape>) -> Result<TableName, CopyError> {
        if let Some(text) = &self.target.endpoint.table {
            return text.parse().map_err(|error: load::Error| CopyError::Usage(error.to_string()));
        }
        match shape {
            Some(shape) => Ok(shape.name.clone()),
            None => Err(CopyError::Usage(format!(
                "{0}: name the table that the rows are written to ({0}#dbo.orders)",
                self.name()
            ))),
        }
    }

    /// Defines the table for the rows of a source.
    fn define(
        &self,
        source: &mut dyn Source,
        schema: &SchemaRef,
        form: ReadForm,
    ) -> Result<Table, CopyError> {
        let shape = source.table_shape()?;
        let name = self.table_name(shape.as_ref())?;
        let defined = match shape {
            Some(shape) => {
                let left_out = shape.obstacles.iter().map(ToString::to_string).collect::<Vec<_>>();
                let shape = transplanted(shape, &name, self.target.with_keys, |name| {
                    let field = schema.field_with_name(name).ok()?;
                    let found = rows::mapping::sql_type_of(field, &rows::mapping::CreateOptions::default());
                    found.ok().map(|sql_type| sql_type.to_string())
                });
                definition::of_shape(&shape, &name).map(|mut table| {
                    if self.target.with_keys {
                        table.left_out.extend(left_out);
                    }
                    table
                })
            }
            None => {
                let columns = source.new_columns(form)?;
                let schema = without_rowversions(&columns.schema);
                definition::of_columns(&columns, &schema, &name)
            }
        };
        let mut table = defined.map_err(|text| self.unfit(text))?;
        if let Some(schema) = &self.target.to_schema {
            for key in &mut table.foreign_keys {
                key.to_schema.clone_from(schema);
            }
        }
        Ok(table)
    }

    /// Checks that a file may be there, or must.
    fn check_file(&self) -> Result<bool, CopyError> {
        let path = self.target.path();
        let exists = match formats::Location::target(path) {
            formats::Location::Path(path) => path.exists(),
            formats::Location::Object(object) => {
                object.exists().map_err(|error| CopyError::endpoint(object.to_string(), error))?
            }
            _ => false,
        };
        match self.target.create {
            Create::Always if exists => {
                Err(CopyError::Usage(format!("{path}: there is such a file already")))
            }
            Create::Never if !exists => {
                Err(CopyError::Usage(format!("{path}: there is no such file to replace")))
            }
            _ => Ok(exists),
        }
    }
}

/// Finds the columns of a schema that a table stores.
fn stored_columns(table: &Table, schema: &Schema) -> Result<Vec<usize>, String> {
    let found = table.stored_columns().map(|column| {
        schema
            .index_of(&column.name)
            .map_err(|_| format!("column {}: the source has no such column", column.name))
    });
    found.collect()
}

impl Destination for PackageDestination {
    fn name(&self) -> String {
        self.target.endpoint.to_string()
    }

    fn form(&mut self) -> Result<ReadForm, CopyError> {
        Ok(ReadForm { is_exact: true, is_typed: true })
    }

    fn prepare(&mut self, source: &mut dyn Source, is_dry: bool) -> Result<Prepared, CopyError> {
        let form = self.form()?;
        let exists = self.check_file()?;
        let schema = source.describe(form)?.schema;
        let table = self.define(source, &schema, form)?;
        let columns = stored_columns(&table, &schema).map_err(|text| self.unfit(text))?;
        let is_model_alone = holds_model_alone(self.target.path());
        let choice =
            |setting, value: String, reason: &str| Choice { setting, value, reason: reason.to_owned() };
        let reason = match exists {
            true => "the file that is there is replaced when the new one is complete",
            false => "it appears when all of its tables are in it",
        };
        let kind = if is_model_alone { "dacpac: tables without rows" } else { "bacpac" };
        let mut plan = vec![
            choice("file", kind.to_owned(), reason),
            choice("table", table.full_name(), "made in the package's model"),
        ];
        if self.target.with_keys {
            let parts = format!(
                "{} indexes and keys, {} checks, {} foreign keys",
                table.indexes.len(),
                table.checks.len(),
                table.foreign_keys.len()
            );
            plan.push(choice("keys", parts, "they come with the table"));
        }
        if !table.left_out.is_empty() {
            plan.push(choice(
                "not copied",
                table.left_out.join("; "),
                "a package's table has no place for it here",
            ));
        }
        if !is_dry {
            let projected = schema.project(&columns).map_err(|error| self.unfit(error.to_string()))?;
            let begun = self.target.file.begin(self.target.path(), &table, &projected);
            self.writer = Some(OpenTable { writer: begun?, columns });
        }
        Ok(Prepared { plan, ..Prepared::default() })
    }

    fn write(&mut self, rows: RowStream, control: &Control<'_>) -> Result<Landed, CopyError> {
        let Some(OpenTable { writer, columns }) = self.writer.as_mut() else {
            return Err(CopyError::Cancelled);
        };
        let mut written = 0;
        if holds_model_alone(self.target.path()) {
            return Ok(Landed { writers: 1, ..Landed::default() });
        }
        for batch in rows.batches {
            control.check()?;
            let mut batch = batch.map_err(CopyError::from_stream)?;
            control.take_unread(&mut batch)?;
            let projected: RecordBatch =
                batch.batch().project(columns).map_err(|error| CopyError::Stream(error.into()))?;
            writer.write(&projected).map_err(|error| CopyError::Stream(error.into()))?;
            written += batch.rows() as u64;
            control.watch.progress(written, 0);
        }
        Ok(Landed { rows: written, writers: 1, ..Landed::default() })
    }

    fn finish(&mut self, landed: Landed, _control: &Control<'_>) -> Result<Landed, CopyError> {
        let Some(OpenTable { writer, .. }) = self.writer.take() else { return Err(CopyError::Cancelled) };
        let rows = writer.finish().map_err(|error| CopyError::Stream(error.into()))?;
        Ok(Landed { rows, ..landed })
    }

    fn abort(&mut self, _failure: &CopyError) -> Vec<String> {
        self.writer = None;
        Vec::new()
    }
}
