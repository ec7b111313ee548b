//! Declarations of file groups and data files.

use crate::codec::{CodecError, Reader, Writer};
use crate::page::EXTENT_BYTES;

/// The group that every database has (`data_space_id` 1).
pub const PRIMARY: u16 = 1;
/// Least size of a data file.
pub const LEAST_FILE_BYTES: u64 = 16 * EXTENT_BYTES as u64;

/// A file group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGroup {
    /// Number, `data_space_id`; never used again.
    pub id: u16,
    /// Name of the group.
    pub name: String,
    /// True if tables that name no group go into this one.
    pub is_default: bool,
    /// True if all files of the group grow when one must (`AUTOGROW_ALL_FILES`), so that they stay in
    /// proportion.
    pub grows_together: bool,
}

/// Growth of a data file when nothing is free in its group (`FILEGROWTH`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileGrowth {
    /// Growth by an eighth, 1 to 64 MB.
    #[default]
    Automatic,
    /// The file does not grow.
    None,
    /// Growth by this many bytes, rounded up to extents.
    Bytes(u64),
    /// Growth by this percentage of the file's size.
    Percent(u16),
}

/// The declared properties of a data file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataFileOptions {
    /// Logical name; empty: `data-<number>`.
    pub name: String,
    /// Initial size, at least 1 MB; 0: a little more than that.
    pub size_bytes: u64,
    /// Limit of its growth (`MAXSIZE`); None: no limit.
    pub limit_bytes: Option<u64>,
    /// Growth of the file, and its limit.
    pub growth: FileGrowth,
}

/// A data file as the control file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFileDefinition {
    /// Number, from 1.
    pub number: u16,
    /// The group that it belongs to, which cannot change.
    pub group: u16,
    /// Logical name of the file.
    pub name: String,
    /// Limit of its growth.
    pub limit_bytes: Option<u64>,
    /// Growth of the file, and its limit.
    pub growth: FileGrowth,
}

impl DataFileDefinition {
    /// Declares a file that is only numbered.
    pub fn numbered(number: u16, group: u16) -> Self {
        let name = format!("data-{number}");
        Self { number, group, name, limit_bytes: None, growth: FileGrowth::Automatic }
    }
}

/// All groups and files, as the control file and log backups have them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLayout {
    /// The groups, PRIMARY first.
    pub groups: Vec<FileGroup>,
    /// The files in the order of their numbers.
    pub files: Vec<DataFileDefinition>,
    /// The greatest number that a file has had. No number is used twice, since the log may still have records about the earlier file.
    pub last_file: u16,
}

impl FileLayout {
    /// Returns the layout of a new database with this many files in PRIMARY.
    pub fn primary(files: u16) -> Self {
        Self {
            groups: vec![FileGroup {
                id: PRIMARY,
                name: "PRIMARY".to_owned(),
                is_default: true,
                grows_together: false,
            }],
            files: (1..=files.max(1)).map(|number| DataFileDefinition::numbered(number, PRIMARY)).collect(),
            last_file: files.max(1),
        }
    }

    /// Appends it to `out`.
    pub(crate) fn encode(&self, out: &mut Writer) {
        out.count(self.groups.len());
        for group in &self.groups {
            out.u16(group.id);
            out.string(&group.name);
            out.u8(u8::from(group.is_default) | u8::from(group.grows_together) << 1);
        }
        out.u16(self.last_file);
        out.count(self.files.len());
        for file in &self.files {
            out.u16(file.number);
            out.u16(file.group);
            out.string(&file.name);
            out.u64(file.limit_bytes.unwrap_or(u64::MAX));
            let (kind, amount) = match file.growth {
                FileGrowth::Automatic => (0, 0),
                FileGrowth::None => (1, 0),
                FileGrowth::Bytes(bytes) => (2, bytes),
                FileGrowth::Percent(percent) => (3, u64::from(percent)),
            };
            out.u8(kind);
            out.u64(amount);
        }
    }

    /// Reads a layout that [`encode`](Self::encode) has written.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        let count = reader.count(7, "file groups")?;
        let mut layout = Self::default();
        for _ in 0..count {
            let id = reader.u16("file group")?;
            let name = reader.string("name of a file group")?;
            let flags = reader.u8("flags of a file group")?;
            let (is_default, grows_together) = (flags & 1 != 0, flags & 2 != 0);
            layout.groups.push(FileGroup { id, name, is_default, grows_together });
        }
        layout.last_file = reader.u16("last data file")?;
        let count = reader.count(25, "data files")?;
        for _ in 0..count {
            let (number, group) = (reader.u16("data file")?, reader.u16("its group")?);
            let name = reader.string("name of a data file")?;
            let limit_bytes = Some(reader.u64("limit")?).filter(|limit| *limit != u64::MAX);
            let (kind, amount) = (reader.u8("growth")?, reader.u64("growth")?);
            let growth = match kind {
                0 => FileGrowth::Automatic,
                1 => FileGrowth::None,
                2 => FileGrowth::Bytes(amount),
                3 => FileGrowth::Percent(u16::try_from(amount).unwrap_or(u16::MAX)),
                _ => return Err(reader.invalid("growth", kind.to_string())),
            };
            layout.files.push(DataFileDefinition { number, group, name, limit_bytes, growth });
        }
        Ok(layout)
    }
}

/// The file groups of a table; None: the default group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// Group of its rows, and of indexes that name none (`ON`).
    pub rows: Option<String>,
    /// Group of its large values (`TEXTIMAGE_ON`); None: that of the rows.
    pub large_values: Option<String>,
}

/// Numbers of the groups of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub rows: u16,
    pub large_values: u16,
}
