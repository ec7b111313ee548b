//! The AdventureWorksDW sample: table definitions from `testdata/adventureworks-dw/tables.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use formats::{CsvOptions, Format};
use serde::Deserialize;

/// Reason why the sample cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The table list is not what it should be.
    #[error("{}: {source}", path.display())]
    Json {
        /// Path of the table list.
        path: PathBuf,
        /// Place of the error in the file, and its reason.
        source: serde_json::Error,
    },
}

/// A table of the sample.
#[derive(Debug, Deserialize)]
pub struct SampleTable {
    /// Columns in table order, which is also the file's order.
    pub columns: Vec<SampleColumn>,
    /// The primary key, if there is one.
    pub primary_key: Option<PrimaryKey>,
    /// The load file's name.
    pub file: String,
}

/// A column of a sample table.
#[derive(Debug, Deserialize)]
pub struct SampleColumn {
    /// Name of the column.
    pub name: String,
    /// Type of the column in T-SQL.
    #[serde(rename = "type")]
    pub sql_type: String,
    /// True if NULL is allowed.
    pub nullable: bool,
    /// IDENTITY(seed, increment).
    pub identity: Option<(i64, i64)>,
}

/// A primary key.
#[derive(Debug, Deserialize)]
pub struct PrimaryKey {
    /// Key columns in order.
    pub columns: Vec<String>,
    /// Clustered or not.
    pub clustered: bool,
}

/// Reads the table list of the sample in `folder`.
pub fn tables(folder: &Path) -> Result<BTreeMap<String, SampleTable>, SampleError> {
    let path = folder.join("tables.json");
    let text =
        fs::read_to_string(&path).map_err(|source| SampleError::Read { path: path.clone(), source })?;
    serde_json::from_str(&text).map_err(|source| SampleError::Json { path, source })
}

impl SampleTable {
    /// Returns the format of the load file: columns in order, divided by bars, without quotes or a header.
    pub fn file_format(&self) -> Format {
        Format::Csv(CsvOptions {
            delimiter: "|".to_owned(),
            quote: None,
            header: false,
            columns: Some(self.columns.iter().map(|column| column.name.clone()).collect()),
            ..CsvOptions::default()
        })
    }

    /// Writes CREATE TABLE.
    pub fn create_table(&self, name: &str) -> String {
        let mut items: Vec<String> = self.columns.iter().map(SampleColumn::declaration).collect();
        if let Some(key) = &self.primary_key {
            let columns: Vec<String> = key.columns.iter().map(|column| quoted(column)).collect();
            let kind = if key.clustered { "CLUSTERED" } else { "NONCLUSTERED" };
            let constraint = quoted(&format!("PK_{name}"));
            items.push(format!("CONSTRAINT {constraint} PRIMARY KEY {kind} ({})", columns.join(", ")));
        }
        format!("CREATE TABLE {} (\n    {}\n)", quoted(name), items.join(",\n    "))
    }
}

impl SampleColumn {
    fn declaration(&self) -> String {
        let identity = self
            .identity
            .map(|(seed, increment)| format!(" IDENTITY({seed},{increment})"))
            .unwrap_or_default();
        let nullability = if self.nullable { "NULL" } else { "NOT NULL" };
        format!("{} {}{identity} {nullability}", quoted(&self.name), self.sql_type)
    }
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
