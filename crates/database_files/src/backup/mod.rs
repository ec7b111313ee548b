//! Backups: the container of descriptor blocks and streams (Microsoft Tape Format), its compressed form, and what it says of itself.
//!
//! | Module | What it is |
//! |---|---|
//! | `chunks` | a compressed backup as the bytes of an uncompressed one |
//! | `xpress` | LZ77 with Huffman codes, MS-XCA 2.2 |
//! | `blocks` | descriptor blocks and their streams, by their lengths |
//! | `media` | media families and sets, and their streams |
//! | `header` | what sets say of databases, files, positions in the log |
//! | `writer` | blocks and streams of backups that the embedded server makes |
//! | `frames` | which extent each frame of a data stream is |

mod blocks;
mod chunks;
mod frames;
mod header;
mod media;
mod writer;
mod xpress;

#[cfg(test)]
pub(crate) use blocks::Blocks;
pub(crate) use frames::place_frames;
pub use header::{BackupHeader, BackupKind, HeaderFile, MediaLabel, Moment};
pub use media::Lsn;
pub(crate) use media::{BackupSet, DataStream, Media};
pub use writer::BackupWriter;

use std::sync::Arc;

use crate::{error::Result, random_access::ReadAt};

/// Returns true if the bytes begin as a backup does.
pub(crate) fn is_backup(head: &[u8]) -> bool {
    head.starts_with(b"TAPE") || chunks::is_compressed(head)
}

/// Opens the container: a compressed backup is read as the uncompressed one that it holds.
///
/// # Errors
/// The compressed form is damaged, or one that is not read.
pub(crate) fn open(source: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
    chunks::open(source)
}
