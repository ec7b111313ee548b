//! The options of a copy: one struct for the command line, TOML, Python, the JSON Schema and the documentation.
//!
//! [`Options`] is what a user writes. [`Spec`](crate::Spec) is made of it and of both ends, and refuses what does not fit them.

mod bulk;
mod columns;
mod connection;
mod files;
mod keys;
mod language;
mod modes;
mod readers;
mod refusals;
mod spelled;
mod tables;
mod target_files;
mod text;
mod transform;
mod writers;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use bulk::BulkOptions;
pub use columns::{ColumnOptions, ConversionOptions};
pub use connection::ConnectionOptions;
pub use files::{CompressionName, FileOptions, FormatName};
pub use keys::{GivenOption, given};
pub use language::Language;
pub use modes::{ModeName, ModeOptions, StrategyName};
pub use readers::{Datetime2Form, FormOptions, ReaderOptions};
pub use refusals::RefusalOptions;
pub use tables::TableOptions;
pub use target_files::TargetFileOptions;
pub use text::{DateOrderName, DecimalName, PercentName, TextOptions, ThousandsName};
pub use transform::TransformOptions;
pub use writers::{WriterCount, WriterOptions};

use crate::{collations::Collations, destination::Create};

/// The options of a copy, beside its two ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Options {
    /// A query, or several tables.
    #[command(flatten)]
    #[serde(flatten)]
    pub tables: TableOptions,
    /// The connection to SQL Server.
    #[command(flatten)]
    #[serde(flatten)]
    #[schemars(skip)]
    pub connection: ConnectionOptions,
    /// The format of files that are read.
    #[command(flatten)]
    #[serde(flatten)]
    pub format: FileOptions,
    /// Columns of a source of bcp's formats, as in CREATE TABLE: "id int not null, name nvarchar(20)" (default: those of the
    /// destination's table)
    #[arg(long, value_name = "COLUMNS", help_heading = "File")]
    pub declare: Option<String>,
    /// The sheet of a workbook (default: the first)
    #[arg(long, value_name = "NAME", help_heading = "File")]
    pub sheet: Option<String>,
    /// The number of the backup (from 1) that is read, in files that have several
    #[arg(long, value_name = "N", help_heading = "File", value_parser = clap::value_parser!(u16).range(1..))]
    #[schemars(range(min = 1))]
    pub backup_set: Option<u16>,
    /// The format of files that are written.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_file: TargetFileOptions,
    /// Whether the destination's table is made, from the source's types: if it is missing (the default), always, or never.
    /// --create alone is always: a table that is there is then an error
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, default_missing_value = "always", require_equals = true, help_heading = "Target")]
    pub create: Option<Create>,
    /// The effect on existing rows.
    #[command(flatten)]
    #[serde(flatten)]
    pub modes: ModeOptions,
    /// From SQL Server, its backups and packages, to SQL Server: give new tables the keys, indexes, defaults, checks, computed columns and foreign keys of the source's
    #[arg(long, help_heading = "Target")]
    pub with_keys: bool,
    /// From backups, data files and packages to SQL Server, with --tables: make the views, procedures, functions and triggers as well, once all tables have arrived. Each that the server refuses is named, and is a failure
    #[arg(long, help_heading = "Target")]
    pub with_modules: bool,
    /// With --with-modules: those that the server refuses are named, and are no failure
    #[arg(long, requires = "with_modules", help_heading = "Target")]
    pub skip_failing_modules: bool,
    /// What becomes of the collations of columns of tables that are made: keep, default (that of the destination's database), or
    /// map=OLD:NEW, several joined by commas
    #[arg(long, value_name = "WHAT", default_value_t, hide_default_value = true, help_heading = "Target", value_parser = parse_collations)]
    #[serde(with = "spelled")]
    #[schemars(with = "String")]
    pub collations: Collations,
    /// Connections that load, and what is tried again.
    #[command(flatten)]
    #[serde(flatten)]
    pub writers: WriterOptions,
    /// The options of loading rows.
    #[command(flatten)]
    #[serde(flatten)]
    pub bulk: BulkOptions,
    /// The assignment of columns.
    #[command(flatten)]
    #[serde(flatten)]
    pub columns: ColumnOptions,
    /// Conversions that lose something.
    #[command(flatten)]
    #[serde(flatten)]
    pub conversions: ConversionOptions,
    /// The spelling of numbers and dates in text.
    #[command(flatten)]
    #[serde(flatten)]
    pub text: TextOptions,
    /// The form of types that have several.
    #[command(flatten)]
    #[serde(flatten)]
    pub forms: FormOptions,
    /// The transformation of rows on their way.
    #[command(flatten)]
    #[serde(flatten)]
    pub transformation: TransformOptions,
    /// Connections that read.
    #[command(flatten)]
    #[serde(flatten)]
    pub reading: ReaderOptions,
    /// The treatment of rows that cannot be written.
    #[command(flatten)]
    #[serde(flatten)]
    pub refusals: RefusalOptions,
}

impl Options {
    /// Has relative paths begin at `folder`.
    pub fn place_in(&mut self, folder: &Path) {
        let paths = [
            &mut self.format.format_file,
            &mut self.transformation.transform,
            &mut self.transformation.files,
            &mut self.refusals.rejects,
        ];
        for path in paths.into_iter().flatten() {
            *path = folder.join(&*path);
        }
    }

    /// Returns the file that takes the refused rows, if one is named.
    pub fn rejects(&self) -> Option<&PathBuf> {
        self.refusals.rejects.as_ref()
    }
}

/// A switch that the plan decides by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// Always.
    On,
    /// Never.
    Off,
}

fn parse_collations(text: &str) -> Result<Collations, String> {
    text.parse()
}

fn parse_order(text: &str) -> Result<(String, bool), String> {
    let text = text.trim();
    let (name, descends) = match text.rsplit_once(char::is_whitespace) {
        Some((name, word)) if word.eq_ignore_ascii_case("desc") => (name.trim(), true),
        Some((name, word)) if word.eq_ignore_ascii_case("asc") => (name.trim(), false),
        _ => (text, false),
    };
    match name {
        "" => Err("expected COLUMN or COLUMN DESC".to_owned()),
        name => Ok((name.to_owned(), descends)),
    }
}

fn parse_mapping(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((source, target)) if !source.is_empty() && !target.is_empty() => {
            Ok((source.to_owned(), target.to_owned()))
        }
        _ => Err("expected SOURCE=TARGET".to_owned()),
    }
}
