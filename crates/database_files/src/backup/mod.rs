//! Backups: the container of descriptor blocks and streams (Microsoft Tape Format), its compressed form, and what it says of itself.
//!
//! | Module | What it is |
//! |---|---|
//! | `chunks` | a compressed backup as the bytes of an uncompressed one |
//! | `xpress` | LZ77 with Huffman codes, MS-XCA 2.2 |
//! | `blocks` | descriptor blocks and their streams, by their lengths |
//! | `media` | media families and sets, databases, files, positions in the log |
//! | `frames` | which extent each frame of a data stream is |

mod blocks;
mod chunks;
mod frames;
mod media;
mod xpress;

#[cfg(test)]
pub(crate) use blocks::Blocks;
pub(crate) use frames::place_frames;
pub(crate) use media::{BackupSet, DataStream, Lsn, Media};

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
