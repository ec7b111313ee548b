//! Virtual log files that a restore writes.

use std::sync::Arc;

use super::block::{self, Block, UNIT_BYTES};
use super::file_name;
use crate::disk::volume::{Volume, VolumeFile};
use crate::error::EngineError;
use crate::page::lsn::Lsn;

/// Head of a virtual log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogFileHeader {
    pub number: u32,
    /// End of the file before, in units.
    pub previous_end: u32,
}

impl LogFileHeader {
    /// Reads the header of an existing file.
    pub fn read(volume: &Arc<dyn Volume>, number: u32) -> Result<Self, EngineError> {
        let name = file_name(number);
        let io = |operation| {
            let path = volume.path(&name);
            move |source| EngineError::Io { operation, path, source }
        };
        let mut bytes = vec![0; UNIT_BYTES];
        let file = volume.open(&name).map_err(io("open"))?;
        file.read_at(0, &mut bytes).map_err(io("read"))?;
        match block::parse_file_header(&bytes, number) {
            Some(previous_end) => Ok(Self { number, previous_end }),
            None => Err(Self::damaged(number, 0, "it has no header")),
        }
    }

    /// Opens the file, or creates it. A file whose header contradicts the end of the file before is refused.
    pub fn open_or_create(&self, volume: &Arc<dyn Volume>) -> Result<Arc<dyn VolumeFile>, EngineError> {
        let name = file_name(self.number);
        match volume.open(&name) {
            Ok(file) => match Self::read(volume, self.number)? == *self {
                true => Ok(file),
                false => Err(Self::damaged(self.number, 0, "it goes on another log than the backup")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                super::create_file(volume, self.number, self.previous_end)
            }
            Err(source) => Err(EngineError::Io { operation: "open", path: volume.path(&name), source }),
        }
    }

    /// Writes a block at its position.
    pub fn write_block(
        &self,
        volume: &Arc<dyn Volume>,
        file: &dyn VolumeFile,
        position: u32,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        let whole = Block::parse(bytes, self.number, position);
        if whole.is_none_or(|block| block.units as usize * UNIT_BYTES != bytes.len()) {
            return Err(Self::damaged(self.number, position, "no block of the backup"));
        }
        let path = volume.path(&file_name(self.number));
        file.write_at(u64::from(position) * UNIT_BYTES as u64, bytes).map_err(|source| EngineError::Io {
            operation: "write",
            path,
            source,
        })
    }

    /// Makes the file durable.
    pub fn sync(&self, volume: &Arc<dyn Volume>, file: &dyn VolumeFile) -> Result<(), EngineError> {
        let path = volume.path(&file_name(self.number));
        file.sync().map_err(|source| EngineError::Io { operation: "sync", path, source })
    }

    fn damaged(number: u32, block: u32, reason: &str) -> EngineError {
        let lsn = Lsn { file: number, block, record: 0 };
        EngineError::DamagedLog { lsn, reason: reason.to_owned() }
    }
}
