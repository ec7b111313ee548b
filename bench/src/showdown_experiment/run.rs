//! One verified run: a program, or the server, moves the rows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use formats::Checksum;
use load::{BulkInsertOptions, Client, TableName, bulk_insert_statement, literal};
use serde::Serialize;

use super::host_file::HostFile;
use super::row;
use super::variant::{Direction, Mover, TableState, Variant};
use crate::experiment::{
    FileIo, Finished, LogMark, LogUse, Outcome, Physical, Space, Target, Told, answer, file_io, number,
    physical, plant_wrong_row, run_program, space, verify,
};
use crate::installed_program::beside;

/// Packet size that bcp asks for: the largest that every kind of connection has.
const BCP_PACKET_BYTES: &str = "16383";

/// Figures of a run; the rows of the table, or of the file, were read and are those that were sent.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Number of rows moved.
    pub rows: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Wall-clock time: of the program from its start to its end, or of the statement.
    pub seconds: f64,
    /// Processor time of the program.
    pub client_cpu_seconds: Option<f64>,
    /// Processor time of the embedded server meanwhile.
    pub server_cpu_seconds: Option<f64>,
    /// Parts of the program's time, for programs that report them; activities overlap.
    pub phase_seconds: BTreeMap<String, f64>,
    /// Log that it took.
    pub log: LogUse,
    /// Input and output of data files and log.
    pub io: Told<BTreeMap<&'static str, FileIo>>,
    /// Density and order of the table's pages; of imports.
    pub physical: Option<Told<Physical>>,
    /// Space of the table; of imports.
    pub space: Option<Told<Space>>,
    /// True if the table has the blanks of a file of fixed width, as the server says; of imports from one.
    pub blanks_kept: Option<bool>,
}

/// The rows of one size, in files and as they should read.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) count: u32,
    /// Checksum of the rows as they are.
    pub(super) plain: Checksum,
    /// Checksum of the rows with their texts padded.
    pub(super) padded: Checksum,
    /// Sizes of the files, in bytes.
    pub(super) files: BTreeMap<HostFile, u64>,
}

/// Connection, tables and folders of the runs.
pub(super) struct Place<'a> {
    pub(super) target: &'a Target,
    pub(super) client: &'a mut Client,
    /// The table of imports.
    pub(super) table: &'a TableName,
    /// The full table of exports.
    pub(super) full: &'a TableName,
    /// Folder of the files as this process sees it.
    pub(super) folder: &'a Path,
    pub(super) server_folder: Option<&'a str>,
    pub(super) plant_wrong_row: bool,
}

impl Place<'_> {
    /// Returns the file of a kind.
    pub(super) fn file(&self, kind: HostFile) -> PathBuf {
        self.folder.join(format!("rows.{}", kind.suffix()))
    }

    fn format_file(&self, kind: HostFile) -> Option<PathBuf> {
        kind.format_file().map(|_| self.folder.join(format!("{}.fmt", kind.suffix())))
    }

    /// Writes what describes the files.
    pub(super) fn write_format_files(&self, kinds: &[HostFile]) -> Outcome<()> {
        for kind in kinds {
            if let (Some(path), Some(text)) = (self.format_file(*kind), kind.format_file()) {
                std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(())
    }

    pub(super) fn run(&mut self, variant: &Variant, rows: &Rows) -> Outcome<Run> {
        if let Some(recovery) = variant.recovery {
            recovery.set(self.target, self.client)?;
        }
        match variant.direction {
            Direction::Import => self.import(variant, rows),
            Direction::Export => self.export(variant, rows),
        }
    }

    /// Makes and loads the table that exports read.
    pub(super) fn fill(&mut self, rows: &Rows, seed: u64) -> Outcome<()> {
        let (filling, table, path) = (Variant::filling(), self.full, self.folder.join("full.bcp"));
        HostFile::Native.write(&path, rows.count, seed)?;
        self.make_table(&filling, table)?;
        self.load(&filling, table, &path)?;
        std::fs::remove_file(&path)?;
        verify(self.client, table, rows.plain)
    }

    fn import(&mut self, variant: &Variant, rows: &Rows) -> Outcome<Run> {
        let table = self.table;
        self.make_table(variant, table)?;
        let mark = LogMark::set(self.client)?;
        let cpu_before = self.target.server_cpu_seconds();
        let finished = self.load(variant, table, &self.file(variant.file))?;
        let server_cpu = cpu_before.zip(self.target.server_cpu_seconds());
        let (log, io) = self.logged(&mark)?;
        if self.plant_wrong_row {
            plant_wrong_row(self.client, table, "number")?;
        }
        let kept = match variant.file {
            HostFile::FixedWidth => Some(self.keeps_blanks(table)?),
            _ => None,
        };
        verify(self.client, table, if kept == Some(true) { rows.padded } else { rows.plain })?;
        Ok(Run {
            rows: u64::from(rows.count),
            file_bytes: rows.files.get(&variant.file).copied().unwrap_or(0),
            seconds: finished.seconds,
            client_cpu_seconds: finished.cpu_seconds,
            server_cpu_seconds: server_cpu.map(|(before, after)| after - before),
            phase_seconds: phases(&finished.output),
            log,
            io,
            physical: Some(physical(self.client, table)?),
            space: Some(space(self.client, table)?),
            blanks_kept: kept,
        })
    }

    fn export(&mut self, variant: &Variant, rows: &Rows) -> Outcome<Run> {
        let path = self.folder.join(format!("exported.{}", variant.file.suffix()));
        let mark = LogMark::set(self.client)?;
        let cpu_before = self.target.server_cpu_seconds();
        let mut command = self.program();
        let (table, path_text) = (self.full.to_string(), path.display().to_string());
        match variant.mover {
            Mover::Bcp => {
                command.args(["bcp", &table, "out", &path_text, "-a", BCP_PACKET_BYTES]);
                self.bcp_layout(&mut command, variant.file);
            }
            Mover::Load => {
                command.args(["export", &table, &path_text, "--json", "--quiet"]);
                self.layout(&mut command, variant.file);
            }
            Mover::Copy | Mover::CopyTransformed => {
                let format = match variant.file {
                    HostFile::Csv => "csv",
                    HostFile::Native => "native",
                    HostFile::Delimited => "char",
                    HostFile::FixedWidth => return Err("copy writes no files of fixed width".into()),
                };
                let source = format!("mssql:{table}");
                command.args(["copy", &source, &path_text, "--quiet", "--to-format", format]);
                self.transform(&mut command, variant.mover);
            }
            Mover::BulkInsert => return Err("BULK INSERT exports nothing".into()),
        }
        let finished = run_program(&mut command, self.target.interrupt())?;
        let server_cpu = cpu_before.zip(self.target.server_cpu_seconds());
        let (log, io) = self.logged(&mark)?;
        let file_bytes = std::fs::metadata(&path)?.len();
        if self.plant_wrong_row {
            spoil(&path)?;
        }
        let read = variant.file.checksum(&path)?;
        std::fs::remove_file(&path)?;
        if read != rows.plain {
            return Err(
                format!("the rows of the file are not those of the table: {read}, {}", rows.plain).into()
            );
        }
        Ok(Run {
            rows: u64::from(rows.count),
            file_bytes,
            seconds: finished.seconds,
            client_cpu_seconds: finished.cpu_seconds,
            server_cpu_seconds: server_cpu.map(|(before, after)| after - before),
            phase_seconds: phases(&finished.output),
            log,
            io,
            physical: None,
            space: None,
            blanks_kept: None,
        })
    }

    fn make_table(&mut self, variant: &Variant, table: &TableName) -> Outcome<()> {
        self.client.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
        for statement in variant.create_table(table) {
            self.client.execute(&statement)?;
        }
        Ok(())
    }

    /// Moves a file into a table.
    fn load(&mut self, variant: &Variant, table: &TableName, file: &Path) -> Outcome<Finished> {
        let (name, path) = (table.to_string(), file.display().to_string());
        let lock = variant.table_lock;
        let mut command = self.program();
        match variant.mover {
            Mover::BulkInsert => return self.bulk_insert(variant, table, file),
            Mover::Bcp => {
                command.args(["bcp", &name, "in", &path, "-E", "-m", "1", "-a", BCP_PACKET_BYTES]);
                if lock {
                    command.args(["-h", "TABLOCK"]);
                }
                self.bcp_layout(&mut command, variant.file);
            }
            Mover::Copy | Mover::CopyTransformed => {
                let lock = if lock { "--table-lock=on" } else { "--table-lock=off" };
                let (destination, batch) = (format!("mssql:{name}"), i32::MAX.to_string());
                command.args(["copy", &path, &destination, "--keep-identity", "--quiet", lock]);
                command.args(["--create=never", "--batch-rows", &batch]);
                self.transform(&mut command, variant.mover);
                self.layout(&mut command, variant.file);
            }
            Mover::Load => {
                let lock = if lock { "--table-lock=on" } else { "--table-lock=off" };
                // The whole file is one batch, as the other two have it.
                let batch = i32::MAX.to_string();
                command.args([
                    "load",
                    &name,
                    &path,
                    "--keep-identity",
                    "--json",
                    "--quiet",
                    lock,
                    "--batch-rows",
                    &batch,
                ]);
                self.layout(&mut command, variant.file);
            }
        }
        run_program(&mut command, self.target.interrupt())
    }

    fn transform(&self, command: &mut Command, mover: Mover) {
        if mover == Mover::CopyTransformed {
            command.args(["--select", &row::transformation()]);
        }
    }

    fn bulk_insert(&mut self, variant: &Variant, table: &TableName, file: &Path) -> Outcome<Finished> {
        let folder = self.server_folder.ok_or("the server does not see the files")?;
        let seen = |path: &Path| -> Outcome<String> {
            let name = path.file_name().and_then(|name| name.to_str()).ok_or("a file without a name")?;
            let separator = if folder.contains('\\') { '\\' } else { '/' };
            Ok(format!("{}{separator}{name}", folder.trim_end_matches(['/', '\\'])))
        };
        let text = matches!(variant.file, HostFile::Csv | HostFile::Delimited);
        let options = BulkInsertOptions {
            csv: variant.file == HostFile::Csv,
            data_file_type: match variant.file {
                HostFile::Native => Some("native"),
                HostFile::Delimited => Some("char"),
                HostFile::Csv | HostFile::FixedWidth => None,
            },
            first_row: (variant.file == HostFile::Csv).then_some(2),
            row_terminator: text.then(|| "0x0a".to_owned()),
            format_file: self.format_file(variant.file).map(|path| seen(&path)).transpose()?,
            table_lock: variant.table_lock,
            keep_identity: true,
            ..BulkInsertOptions::default()
        };
        let statement = bulk_insert_statement(table, &seen(file)?, &options);
        let started = Instant::now();
        self.client.execute(&statement)?;
        Ok(Finished { seconds: started.elapsed().as_secs_f64(), cpu_seconds: None, output: String::new() })
    }

    fn program(&self) -> Command {
        let mut command = Command::new(beside("bulkwire"));
        command.env("BULKWIRE_URL", self.target.url());
        command
    }

    fn bcp_layout(&self, command: &mut Command, file: HostFile) {
        match (file, self.format_file(file)) {
            (_, Some(path)) => command.arg("-f").arg(path),
            (HostFile::Native, None) => command.arg("-n"),
            (_, None) => command.arg("-c"),
        };
    }

    fn layout(&self, command: &mut Command, file: HostFile) {
        match (file, self.format_file(file)) {
            (_, Some(path)) => command.arg("--format-file").arg(path),
            (HostFile::Csv, None) => command.args(["--format", "csv"]),
            (HostFile::Native, None) => command.args(["--format", "native"]),
            (_, None) => command.args(["--format", "char"]),
        };
    }

    fn logged(&mut self, mark: &LogMark) -> Outcome<(LogUse, Told<BTreeMap<&'static str, FileIo>>)> {
        Ok((mark.measure(self.client)?, FileIo::all_since(mark.io(), file_io(self.client)?)))
    }

    /// Returns true if the columns keep trailing blanks, which was decided when they were made.
    fn keeps_blanks(&mut self, table: &TableName) -> Outcome<bool> {
        let name = literal(&TableName { database: None, ..table.clone() }.to_string());
        let sql = format!(
            "SELECT is_ansi_padded FROM sys.columns WHERE object_id = OBJECT_ID({name}) AND name = 't1'"
        );
        let rows = answer(self.client, &sql)?;
        Ok(rows.value().and_then(|rows| number(rows.first()?.first()?)).is_none_or(|padded| padded != 0.0))
    }
}

/// Reads the phases in a program's JSON, in seconds.
fn phases(output: &str) -> BTreeMap<String, f64> {
    let told = output.lines().find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let phases = told.as_ref().and_then(|told| told.get("phase_seconds")?.as_object());
    phases
        .into_iter()
        .flatten()
        .filter_map(|(name, seconds)| Some((name.clone(), seconds.as_f64()?)))
        .collect()
}

/// Changes a byte of the last text, so that the verification can be seen to fail.
fn spoil(path: &Path) -> Outcome<()> {
    let mut bytes = std::fs::read(path)?;
    let last = bytes.iter_mut().rev().find(|byte| byte.is_ascii_lowercase()).ok_or("a file without texts")?;
    *last = if *last == b'a' { b'b' } else { b'a' };
    Ok(std::fs::write(path, bytes)?)
}

impl Variant {
    /// Returns the variant by which the table of exports is made and loaded.
    pub(super) fn filling() -> Variant {
        Variant {
            direction: Direction::Import,
            mover: Mover::Load,
            file: HostFile::Native,
            table_lock: false,
            recovery: None,
            state: TableState::New,
        }
    }
}
