//! The variants: program, file, table lock, recovery model, and the history of the table.

use std::fmt;

use clap::ValueEnum;
use load::TableName;
use serde::Serialize;

use super::host_file::HostFile;
use super::row;
use crate::experiment::Recovery;

/// Program or statement that moves the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mover {
    /// `bulkwire bcp`, both ways. It has no quoted CSV.
    Bcp,
    /// BULK INSERT: the server reads the file. Import only.
    BulkInsert,
    /// `bulkwire load` and `bulkwire export`.
    Load,
    /// `bulkwire copy`, both ways. It reads files of fixed width and writes none.
    Copy,
    /// Copies with a transformation: LOWER of every text, CAST of both numbers. The rows stay what they are.
    CopyTransformed,
}

/// Direction of the move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Files into the table.
    Import,
    /// The table into files.
    Export,
}

/// The table before an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableState {
    /// The table was just created.
    New,
    /// The table was just created, filled with a few rows, and emptied by DELETE.
    Emptied,
    /// The table was just created under SET ANSI_PADDING OFF.
    AnsiPaddingOff,
}

/// A combination of direction, mover and file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Direction of the move.
    pub direction: Direction,
    /// Program or statement that moves the rows.
    pub mover: Mover,
    /// File that rows are moved from or into.
    pub file: HostFile,
    /// TABLOCK; of imports.
    pub table_lock: bool,
    /// Recovery model that is set before; `None` leaves it as it is.
    pub recovery: Option<Recovery>,
    /// The table before.
    pub state: TableState,
}

/// Choices that are combined to variants.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Directions of the move.
    pub directions: Vec<Direction>,
    /// Programs or statements that move the rows.
    pub movers: Vec<Mover>,
    /// Forms of the files.
    pub files: Vec<HostFile>,
    /// Table locks: with and without TABLOCK.
    pub table_locks: Vec<bool>,
    /// Recovery models; `None` leaves it as it is.
    pub recoveries: Vec<Option<Recovery>>,
    /// True if the server can read the experiment's files.
    pub server_reads_files: bool,
}

impl Variant {
    /// Lists every combination that there is: imports, two special cases of them, exports.
    pub fn combinations(choice: &Choice) -> Vec<Variant> {
        let mut variants = Vec::new();
        let pairs = |direction: Direction| {
            choice
                .movers
                .iter()
                .flat_map(move |&mover| choice.files.iter().map(move |&file| (mover, file)))
                .filter(move |&(mover, file)| match mover {
                    Mover::Bcp => file != HostFile::Csv,
                    Mover::BulkInsert => direction == Direction::Import && choice.server_reads_files,
                    Mover::Load => true,
                    Mover::Copy | Mover::CopyTransformed => {
                        direction == Direction::Import || file != HostFile::FixedWidth
                    }
                })
        };
        let base = Variant {
            direction: Direction::Import,
            mover: Mover::Load,
            file: HostFile::Delimited,
            table_lock: true,
            recovery: choice.recoveries.first().copied().flatten(),
            state: TableState::New,
        };
        if choice.directions.contains(&Direction::Import) {
            for &recovery in &choice.recoveries {
                for &table_lock in &choice.table_locks {
                    let import = |(mover, file)| Variant { mover, file, table_lock, recovery, ..base };
                    variants.extend(pairs(Direction::Import).map(import));
                }
            }
            // The special imports have settings of other imports, so that there is one to compare with.
            let special = [
                (HostFile::Delimited, TableState::Emptied),
                (HostFile::FixedWidth, TableState::AnsiPaddingOff),
            ];
            for (file, state) in special {
                let like = variants.iter().find(|other| {
                    other.file == file && other.state == TableState::New && other.mover == Mover::Load
                });
                variants.extend(like.map(|like| Variant { state, ..*like }).into_iter().collect::<Vec<_>>());
            }
        }
        if choice.directions.contains(&Direction::Export) {
            let export = |(mover, file)| Variant {
                direction: Direction::Export,
                mover,
                file,
                table_lock: false,
                ..base
            };
            variants.extend(pairs(Direction::Export).map(export));
        }
        variants
    }

    /// Writes the batches that make the empty table.
    pub(super) fn create_table(&self, table: &TableName) -> Vec<String> {
        // A constraint's name is its schema's; the server makes one.
        let create = format!(
            "CREATE TABLE {table} ({}, PRIMARY KEY CLUSTERED (id) WITH (FILLFACTOR = 10))",
            row::columns()
        );
        match self.state {
            TableState::New => vec![create],
            TableState::AnsiPaddingOff => {
                vec!["SET ANSI_PADDING OFF".to_owned(), create, "SET ANSI_PADDING ON".to_owned()]
            }
            TableState::Emptied => {
                let texts = ["'held before'"; row::TEXTS].join(", ");
                let rows: Vec<String> = (0..1000).map(|number| format!("({number}, {texts})")).collect();
                let names: Vec<String> = (1..=row::TEXTS).map(|number| format!("t{number}")).collect();
                let insert =
                    format!("INSERT INTO {table} (number, {}) VALUES {}", names.join(", "), rows.join(", "));
                vec![create, insert, format!("DELETE FROM {table}")]
            }
        }
    }
}

impl fmt::Display for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mover::Bcp => "bcp",
            Mover::BulkInsert => "BULK INSERT",
            Mover::Load => "load",
            Mover::Copy => "copy",
            Mover::CopyTransformed => "copy with LOWER and CAST",
        })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.direction == Direction::Export {
            let mover = match self.mover {
                Mover::Load => "export".to_owned(),
                Mover::Bcp | Mover::BulkInsert => format!("{} out", self.mover),
                Mover::Copy | Mover::CopyTransformed => format!("{} to a file", self.mover),
            };
            return write!(f, "{mover}, {}", self.file);
        }
        write!(f, "{}, {}", self.mover, self.file)?;
        if self.table_lock {
            f.write_str(", TABLOCK")?;
        }
        if let Some(recovery) = self.recovery {
            write!(f, ", {recovery}")?;
        }
        f.write_str(match self.state {
            TableState::New => "",
            TableState::Emptied => ", held rows before",
            TableState::AnsiPaddingOff => ", ANSI_PADDING OFF",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(server_reads_files: bool) -> Choice {
        Choice {
            directions: vec![Direction::Import, Direction::Export],
            movers: vec![Mover::Bcp, Mover::BulkInsert, Mover::Load, Mover::Copy],
            files: HostFile::value_variants().to_vec(),
            table_locks: vec![true, false],
            recoveries: vec![Some(Recovery::BulkLogged)],
            server_reads_files,
        }
    }

    #[test]
    fn bcp_has_no_csv_and_bulk_insert_no_export() {
        let variants = Variant::combinations(&choice(true));
        // Imports: 3 + 4 + 4 + 4 files, twice, and two special cases; exports: 3 + 4 + 3.
        assert_eq!(variants.len(), 2 * 15 + 2 + 10);
        let names: Vec<String> = variants.iter().map(Variant::to_string).collect();
        for expected in [
            "bcp, native, BULK_LOGGED",
            "BULK INSERT, CSV, TABLOCK, BULK_LOGGED",
            "load, delimited, TABLOCK, BULK_LOGGED, held rows before",
            "load, fixed width, TABLOCK, BULK_LOGGED, ANSI_PADDING OFF",
            "bcp out, fixed width",
            "export, CSV",
            "copy, fixed width, BULK_LOGGED",
            "copy to a file, native",
        ] {
            assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.starts_with("bcp, CSV") || name.starts_with("bcp out, CSV")));
        let without = Variant::combinations(&choice(false));
        assert!(without.iter().all(|variant| variant.mover != Mover::BulkInsert));
    }
}
