//! The label of a backup's media and the headers of its sets, as `RESTORE LABELONLY`, `HEADERONLY` and `FILELISTONLY` show them.

use tds::Collation;

use super::{blocks::Block, blocks::text_at, media::Lsn};
use crate::little_endian::{array_at, u8_at, u16_at, u32_at, u64_at};

/// The program whose name stands on the media of backups that the embedded server writes.
pub(crate) const OWN_SOFTWARE: &str = "bulkwire";
/// The stream that holds the server's own copy of a database or of its log.
pub(crate) const OWN_CONTENT: &[u8; 4] = b"BWDB";
/// The same, packed as zlib does.
pub(crate) const OWN_PACKED: &[u8; 4] = b"BWDZ";
/// The stream with a package of the database's tables.
pub(crate) const OWN_PACKAGE: &[u8; 4] = b"BWPK";
/// The stream with what the server's catalogue of databases says of this one.
pub(crate) const OWN_ENTRY: &[u8; 4] = b"BWDE";

/// A moment as media give it: year, month, day, hour, minute, second.
pub type Moment = [u16; 6];

/// The label of a file of backups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaLabel {
    /// Identity of the media set.
    pub set_id: [u8; 16],
    /// Identity of this file among the set's.
    pub family_id: u32,
    /// Number of files (families) of the set.
    pub families: u16,
    /// Copies of each file.
    pub mirrors: u16,
    /// Number of this file, from 1.
    pub family: u16,
    /// MEDIANAME; empty if there is none.
    pub name: String,
    /// MEDIADESCRIPTION; empty if there is none.
    pub description: String,
    /// The program that wrote the label.
    pub software: String,
    /// Number of its vendor.
    pub vendor: u16,
    /// The time of writing.
    pub date: Moment,
    /// True if the file is packed as a whole.
    pub is_compressed: bool,
}

/// The kinds of backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupKind {
    /// Of the whole database.
    Full,
    /// Of the log alone.
    Log,
    /// Of what changed since a full one.
    Differential,
}

/// The header of a backup set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupHeader {
    /// Number of the set in its file, from 1.
    pub position: u16,
    /// Kind of the backup.
    pub kind: BackupKind,
    /// COPY_ONLY.
    pub is_copy_only: bool,
    /// NAME; empty if there is none.
    pub name: String,
    /// DESCRIPTION; empty if there is none.
    pub description: String,
    /// The date until which the set is not replaced.
    pub expires: Option<Moment>,
    /// Name of the database.
    pub database: String,
    /// Name of the server.
    pub server: String,
    /// Internal version of the database.
    pub version: u16,
    /// The time at which the database was made.
    pub created: Moment,
    /// The start of the backup.
    pub begun: Moment,
    /// The end of the backup.
    pub finished: Moment,
    /// Bytes of the backup as the server counts them.
    pub size: u64,
    /// The first position in the log that a restore needs.
    pub first_lsn: Lsn,
    /// The end of what a restore needs of the log.
    pub last_lsn: Lsn,
    /// The checkpoint of the pages.
    pub checkpoint_lsn: Lsn,
    /// The checkpoint of the full backup before this one; of a differential one, of that on which it rests.
    pub base_lsn: Lsn,
    /// Where the fork of the log begins that the backup is on.
    pub fork_lsn: Lsn,
    /// Sort order of the server's collation.
    pub sort_order: u8,
    /// Locale of the collation.
    pub locale: u32,
    /// Comparison flags of the collation.
    pub comparison_style: u32,
    /// Name of the collation, if the header gives it in a form that is known.
    pub collation: Option<String>,
    /// Compatibility level.
    pub compatibility: u8,
    /// Number of the vendor of the program that made the backup.
    pub vendor: u16,
    /// Version of the server: major, minor, build.
    pub server_version: (u8, u8, u16),
    /// Identity of the database.
    pub binding_id: [u8; 16],
    /// Identity of the fork of the log at the end of the backup.
    pub recovery_fork_id: [u8; 16],
    /// Identity of the backup set.
    pub set_id: [u8; 16],
    /// True if streams have checksums.
    pub has_checksums: bool,
    /// SIMPLE, FULL or BULK-LOGGED, if the pages say so.
    pub recovery_model: Option<&'static str>,
    /// True if the embedded server made the backup.
    pub is_own: bool,
    /// True if this set is packed.
    pub is_compressed: bool,
    /// Bytes of the set in the file, as far as its blocks and streams go.
    pub stored_bytes: u64,
    /// Files of the database.
    pub files: Vec<HeaderFile>,
}

/// A file of a database in a backup's header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderFile {
    /// Number of the file.
    pub number: u16,
    /// True for a file of the log.
    pub is_log: bool,
    /// Number of its file group; 0 for the log.
    pub group: u16,
    /// Name of the file group.
    pub group_name: Option<String>,
    /// Logical name.
    pub name: String,
    /// Path at the server that made the backup.
    pub path: String,
    /// Bytes of the file.
    pub size: u64,
    /// Bytes up to which it may grow.
    pub size_max: u64,
    /// Pages of it in the backup, over all stripes.
    pub pages: u32,
    /// Bytes of a sector of its disk.
    pub sector_bytes: u32,
}

impl Lsn {
    /// Returns the position as one number of 25 digits: `numeric(25, 0)`.
    pub fn number(self) -> i128 {
        (i128::from(self.virtual_log_file) * 10_000_000_000 + i128::from(self.block)) * 100_000
            + i128::from(self.record)
    }
}

impl MediaLabel {
    /// Reads what the block of the media says beside its families.
    pub(super) fn describe(&mut self, bytes: &[u8]) {
        self.family_id = u32_at(bytes, 52).unwrap_or_default();
        self.name = text_at(bytes, 68).unwrap_or_default();
        self.description = text_at(bytes, 72).unwrap_or_default();
        self.software = text_at(bytes, 80).unwrap_or_default();
        self.vendor = u16_at(bytes, 86).unwrap_or_default();
        self.date = array_at(bytes, 88).map(moment).unwrap_or_default();
    }
}

impl BackupHeader {
    /// Reads what the block of a set says.
    pub(super) fn of_set(block: &Block, position: u16) -> Self {
        let bytes = &block.bytes;
        let kind = u32_at(bytes, 52).unwrap_or_default();
        let expires = array_at(bytes, 116).filter(|bytes| *bytes != [0; 5]).map(moment);
        Self {
            position,
            kind: match kind {
                _ if kind & 8 != 0 => BackupKind::Differential,
                _ if kind & 4 != 0 => BackupKind::Full,
                _ => BackupKind::Log,
            },
            is_copy_only: kind & 2 != 0,
            name: text_at(bytes, 64).unwrap_or_default(),
            description: text_at(bytes, 68).unwrap_or_default(),
            expires: expires.filter(|[year, month, ..]| *year > 1900 && (1..=12).contains(month)),
            database: String::new(),
            server: String::new(),
            version: 0,
            created: Moment::default(),
            begun: Moment::default(),
            finished: array_at(bytes, 88).map(moment).unwrap_or_default(),
            size: 0,
            first_lsn: Lsn::default(),
            last_lsn: Lsn::default(),
            checkpoint_lsn: Lsn::default(),
            base_lsn: Lsn::default(),
            fork_lsn: Lsn::default(),
            sort_order: 0,
            locale: 0,
            comparison_style: 0,
            collation: None,
            compatibility: 0,
            vendor: u16_at(bytes, 60).unwrap_or_default(),
            server_version: (0, 0, 0),
            binding_id: [0; 16],
            recovery_fork_id: [0; 16],
            set_id: array_at(bytes, 100).unwrap_or_default(),
            has_checksums: false,
            recovery_model: None,
            is_own: false,
            is_compressed: false,
            stored_bytes: 0,
            files: Vec::new(),
        }
    }

    /// Reads the database's description: `SCIN`, then a block for each file group and file.
    pub(super) fn describe(&mut self, bytes: &[u8]) -> Option<()> {
        if !bytes.starts_with(b"SCIN") {
            return None;
        }
        self.server_version = (u8_at(bytes, 27)?, u8_at(bytes, 26)?, u16_at(bytes, 24)?);
        self.first_lsn = Lsn::at(bytes, 32)?;
        self.last_lsn = Lsn::at(bytes, 42)?;
        self.checkpoint_lsn = Lsn::at(bytes, 52)?;
        self.base_lsn = Lsn::at(bytes, 62)?;
        self.created = moment(array_at(bytes, 72)?);
        self.begun = moment(array_at(bytes, 77)?);
        self.sort_order = u8_at(bytes, 88)?;
        self.compatibility = u8_at(bytes, 91)?;
        self.version = u16_at(bytes, 94)?;
        self.size = u64_at(bytes, 96)?;
        self.database = text_at(bytes, 104)?;
        self.server = text_at(bytes, 108)?;
        self.locale = u32_at(bytes, 116)?;
        self.comparison_style = u32_at(bytes, 120)?;
        self.binding_id = array_at(bytes, 124).unwrap_or_default();
        self.fork_lsn = Lsn::at(bytes, 144).unwrap_or_default();
        self.recovery_fork_id = array_at(bytes, 156).unwrap_or_default();
        self.collation = collation(bytes);
        let mut groups: Vec<(u16, String)> = Vec::new();
        let mut rest = bytes;
        loop {
            let length = usize::try_from(u32_at(rest, 4)?).ok()?;
            if rest.starts_with(b"SFGI") {
                groups.push((u16_at(rest, 12)?, text_at(rest, 16)?));
            }
            if rest.starts_with(b"SFIN") {
                let file = file(rest, &groups)?;
                self.files.push(file);
            }
            // The last block's length leads to the end.
            rest = match rest.get(length..) {
                Some(next) if length > 0 && next.len() >= 8 => next,
                _ => return Some(()),
            };
            if !rest.starts_with(b"SF") {
                return Some(());
            }
        }
    }
}

/// Returns the name of the collation in a description that has it: its number, then its sort order.
fn collation(bytes: &[u8]) -> Option<String> {
    // Shorter ones are of SQL Server 2005, which has something else in the place.
    let sort_order = u32_at(bytes, 220).filter(|sort_order| *sort_order < 256)?;
    let number = u32_at(bytes, 216).filter(|number| *number != 0)?;
    let [a, b, c, d] = number.to_le_bytes();
    Collation::from_bytes([a, b, c, d, sort_order as u8]).name().map(|name| name.to_string())
}

/// Reads the description of a file.
fn file(bytes: &[u8], groups: &[(u16, String)]) -> Option<HeaderFile> {
    let is_log = u16_at(bytes, 28)? == 2;
    let group = u16_at(bytes, 36).unwrap_or_default();
    let group_name = groups.iter().find(|(number, _)| *number == group).map(|(_, name)| name.clone());
    Some(HeaderFile {
        number: u16_at(bytes, 20)?,
        is_log,
        group,
        group_name: group_name.filter(|_| !is_log),
        name: text_at(bytes, 48).unwrap_or_default(),
        path: text_at(bytes, 52).unwrap_or_default(),
        size: u64_at(bytes, 40).unwrap_or_default(),
        size_max: u64_at(bytes, 86).unwrap_or_default(),
        pages: u32_at(bytes, 24)?,
        sector_bytes: u32_at(bytes, 32).unwrap_or_default(),
    })
}

/// Reads a moment of five bytes: 14 bits of year, then month, day, hour, minute, second.
pub(super) fn moment(bytes: [u8; 5]) -> Moment {
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    [(26, 14), (22, 4), (17, 5), (12, 5), (6, 6), (0, 6)].map(|(shift, bits)| {
        let mask = (1_u64 << bits) - 1;
        (number >> shift & mask) as u16
    })
}

/// Returns the five bytes of a moment.
pub(super) fn packed(moment: Moment) -> [u8; 5] {
    let [year, month, day, hour, minute, second] = moment.map(u64::from);
    let number = year << 26 | month << 22 | day << 17 | hour << 12 | minute << 6 | second;
    let [_, _, _, bytes @ ..] = number.to_be_bytes();
    bytes
}
