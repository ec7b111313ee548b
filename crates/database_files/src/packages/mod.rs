//! Packages: the model and the data of a database in a ZIP archive (.bacpac), or the model alone (.dacpac).
//!
//! | Module | What it is |
//! |---|---|
//! | `archive` | the parts of the archive, with limits of what they unpack to |
//! | `element` | the model's elements, one at a time |
//! | `model` | tables of the model |
//! | `origin` | what made the package, and the checksum of its model |
//! | `types` | types of the model, and the form of their values in the data |
//! | `data` | rows of the data parts |
//! | `part_encoder` | rows as data parts |
//! | `model_writer`, `package_writer` | a model and a package that are written |

mod archive;
mod data;
mod deviation;
mod element;
mod model;
mod model_writer;
mod origin;
mod package_writer;
mod part_encoder;
mod types;

use std::sync::Arc;

use rows::Form;

use crate::{
    definition::{Module, Table},
    description::{Description, Origin},
    error::{FileError, Reason, Result, malformed, unsupported},
    random_access::ReadAt,
    reading::TableReader,
};
use archive::Archive;
use data::{DataPart, PartRows};
use model::{Model, PackagedTable};

pub use package_writer::{DatabaseProperties, PackageWriter, TableWriter};

/// A package.
pub struct Package {
    archive: Archive,
    model: Model,
    description: Description,
    has_data: bool,
}

/// Returns true if the bytes begin as a ZIP archive does.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04")
}

impl Package {
    /// Opens a package, compares the checksum of its model, and reads the model.
    ///
    /// # Errors
    /// It is no package, its data are of an unknown form, or the model is not the one that was written.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        let name = source.name().to_owned();
        let mut archive = Archive::open(source)?;
        let origin = origin::read(&mut archive)?;
        let (model, checksum) = Model::read(&mut archive)?;
        if !origin.model_checksum.eq_ignore_ascii_case(&checksum) {
            let text = format!(
                "the model has the SHA-256 {checksum}, and Origin.xml says {}",
                origin.model_checksum
            );
            return Err(FileError::new(&name, "model.xml", malformed(text)));
        }
        if origin.has_data && origin.data_version != "2.0.0.0" {
            let text = format!("data of version {} are not read (2.0.0.0 is)", origin.data_version);
            return Err(FileError::new(&name, "Origin.xml", unsupported(text)));
        }
        let model = model.with_parts(&archive)?;
        let has_data = origin.has_data;
        let description = Description {
            database: archive.database_name()?,
            version: 0,
            server: model.platform.clone(),
            compatibility: 0,
            origin: Origin::Package { product: origin.product, has_data: origin.has_data },
        };
        Ok(Self { archive, model, description, has_data })
    }

    /// Returns the package with another description: that of the backup which it is in.
    pub(crate) fn described(self, description: Description) -> Self {
        Self { description, ..self }
    }

    /// Returns what the package says of the database.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the tables, by name.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.model.tables.iter().map(|table| &table.table)
    }

    /// Returns views, procedures, functions and triggers, in the order of the model.
    pub fn modules(&self) -> &[Module] {
        &self.model.modules
    }

    /// Returns the kinds of the model's elements that are neither tables nor parts of them, with their numbers.
    pub fn other_elements(&self) -> &[(String, usize)] {
        &self.model.others
    }

    /// Begins to read the rows of a table, by its number among [`tables`](Self::tables).
    ///
    /// # Errors
    /// Its rows are not read.
    pub fn read(&self, table: usize, form: Form, batch_rows: usize, threads: usize) -> Result<TableReader> {
        let missing = || FileError::new(self.archive.name(), "", malformed("there is no such table"));
        let packaged = self.model.tables.get(table).ok_or_else(missing)?;
        let name = packaged.table.full_name();
        if let Some(reason) = &packaged.table.unreadable {
            return Err(FileError::new(self.archive.name(), "", unsupported(reason.clone())).of_table(&name));
        }
        if !self.has_data {
            let reason = Reason::Incomplete("it has no data: a .dacpac is a model alone".to_owned());
            return Err(FileError::new(self.archive.name(), "", reason));
        }
        let rows = PartRows::new(&packaged.table, form)
            .map_err(|reason| FileError::new(self.archive.name(), "", reason).of_table(&name))?;
        let parts: Vec<DataPart> = packaged.parts.clone();
        let rows = deviation::fitting(rows, &self.archive, &parts)
            .map_err(|reason| FileError::new(self.archive.name(), "", reason).of_table(&name))?;
        Ok(rows.read(self.archive.clone(), parts, batch_rows, threads))
    }
}

/// Returns the folder of a table's data parts.
fn folder_of(table: &PackagedTable) -> String {
    format!("Data/{}/", escaped(&table.table.full_name()))
}

/// Percent-encodes what is neither a letter, a digit nor one of `-._~`, byte by byte.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}
