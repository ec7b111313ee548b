//! The control file, which says where recovery starts. It is replaced as a whole by a rename.
//!
//! The bytes, in this order:
//! * `BWPAGES5`, or `BWPAGES4` where keys over bytes may have the order of former builds;
//! * start of redoing, and the oldest record that may be needed: file u32, block u32, record u32 each;
//! * next transaction u64, next object u32;
//! * number of groups u32; of each its number u16, name (u32 length, UTF-8), flags u8 (1 the default, 2 all its
//!   files grow together);
//! * greatest number that a file has had u16;
//! * number of files u32; of each its number u16, group u16, logical name, limit in bytes u64 (all ones: none),
//!   growth u8 (0 an eighth, 1 none, 2 bytes, 3 per cent) and its amount u64;
//! * first IAM page of the catalogue: file u32, page u32;
//! * recovery model u8;
//! * number of open transactions u32; of each its number u64, first and last record;
//! * number of tables u32; of each its object u32 and rows u64;
//! * number of remembered decisions u32; each u64;
//! * CRC of all before.

use std::sync::Arc;

use crate::codec::{CodecError, Reader, Writer};
use crate::disk::file_layout::FileLayout;
use crate::disk::volume::Volume;
use crate::error::EngineError;
use crate::page::PageId;
use crate::page::lsn::Lsn;

const NAME: &str = "control";
const NEW_NAME: &str = "control.new";
const MAGIC: &[u8; 8] = b"BWPAGES5";
/// First bytes of a control file of builds for whose keys the zeros at the end of bytes counted.
const FORMER_MAGIC: &[u8; 8] = b"BWPAGES4";

/// The contents of the control file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Control {
    /// Log position at which recovery starts to redo.
    pub redo_start: Lsn,
    /// The oldest record that may still be needed.
    pub keep_from: Lsn,
    /// Transactions that were open at `redo_start`: id, first and last record.
    pub open_transactions: Vec<(u64, Lsn, Lsn)>,
    /// Ids of transactions and objects below these were used.
    pub next_transaction: u64,
    /// Least object id that has not been used.
    pub next_object: u32,
    /// File groups and data files.
    pub files: FileLayout,
    /// First IAM page of the catalogue's own heap.
    pub catalogue_iam: PageId,
    /// Recovery model, see `RecoveryModel`.
    pub recovery_model: u8,
    /// Rows of each table, committed before `redo_start`.
    pub row_counts: Vec<(u32, u64)>,
    /// Transactions over several databases that this one has decided to commit, and whose commits may not be durable in all of them.
    pub decisions: Vec<u64>,
    /// True if a former build wrote the trees: see the module `former_keys` of the engine.
    pub former_keys: bool,
}

impl Control {
    /// Reads the file; None if there is no database.
    pub fn read(volume: &Arc<dyn Volume>) -> Result<Option<Self>, EngineError> {
        let io = |operation| move |source| EngineError::Io { operation, path: volume.path(NAME), source };
        let file = match volume.open(NAME) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io("open")(error)),
        };
        let length = file.length_bytes().map_err(io("read the length of"))?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        file.read_at(0, &mut bytes).map_err(io("read"))?;
        let damaged = |reason| EngineError::DamagedDatabase { what: "the control file", reason };
        Self::from_bytes(&bytes).map(Some).map_err(damaged)
    }

    /// Returns the bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = if self.former_keys { FORMER_MAGIC } else { MAGIC }.to_vec();
        bytes.extend_from_slice(&self.encode());
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Parses the bytes of the file; the error says what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (body, sum) = bytes.split_last_chunk::<4>().ok_or("it is too short")?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err("its checksum is wrong".to_owned());
        }
        let former = body.strip_prefix(FORMER_MAGIC);
        let body = former.or_else(|| body.strip_prefix(MAGIC)).ok_or("it is of another format")?;
        let control = Self::decode(body).map_err(|error| error.to_string())?;
        Ok(Self { former_keys: former.is_some(), ..control })
    }

    /// Returns true for the name of a control file, or of a temporary one.
    pub fn is_name(name: &str) -> bool {
        name == NAME || name == NEW_NAME
    }

    /// Replaces the old file, durably.
    pub fn write(&self, volume: &Arc<dyn Volume>) -> Result<(), EngineError> {
        let io = |operation| move |source| EngineError::Io { operation, path: volume.path(NEW_NAME), source };
        let file = volume.create(NEW_NAME).map_err(io("create"))?;
        file.write_at(0, &self.to_bytes()).map_err(io("write"))?;
        file.sync().map_err(io("sync"))?;
        volume.rename(NEW_NAME, NAME).map_err(io("rename"))?;
        volume.sync_directory().map_err(io("sync the directory of"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let lsn = |out: &mut Writer, lsn: Lsn| {
            out.u32(lsn.file);
            out.u32(lsn.block);
            out.u32(u32::from(lsn.record));
        };
        lsn(&mut out, self.redo_start);
        lsn(&mut out, self.keep_from);
        out.u64(self.next_transaction);
        out.u32(self.next_object);
        self.files.encode(&mut out);
        out.u32(u32::from(self.catalogue_iam.file));
        out.u32(self.catalogue_iam.page);
        out.u8(self.recovery_model);
        out.count(self.open_transactions.len());
        for (id, first, last) in &self.open_transactions {
            out.u64(*id);
            lsn(&mut out, *first);
            lsn(&mut out, *last);
        }
        out.count(self.row_counts.len());
        for (object, rows) in &self.row_counts {
            out.u32(*object);
            out.u64(*rows);
        }
        out.count(self.decisions.len());
        self.decisions.iter().for_each(|global| out.u64(*global));
        out.into_bytes()
    }

    fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        fn u16(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, CodecError> {
            let value = reader.u32(field)?;
            u16::try_from(value).map_err(|_| reader.invalid(field, format!("{value} is too large")))
        }
        fn lsn(reader: &mut Reader<'_>) -> Result<Lsn, CodecError> {
            Ok(Lsn { file: reader.u32("lsn")?, block: reader.u32("lsn")?, record: u16(reader, "lsn")? })
        }
        let mut reader = Reader::new(bytes);
        let (redo_start, keep_from) = (lsn(&mut reader)?, lsn(&mut reader)?);
        let next_transaction = reader.u64("transactions")?;
        let next_object = reader.u32("objects")?;
        let files = FileLayout::decode(&mut reader)?;
        let catalogue_iam = PageId { file: u16(&mut reader, "catalogue")?, page: reader.u32("catalogue")? };
        let recovery_model = reader.u8("recovery model")?;
        let count = reader.count(32, "open transactions")?;
        let open_transactions = (0..count)
            .map(|_| Ok((reader.u64("transaction")?, lsn(&mut reader)?, lsn(&mut reader)?)))
            .collect::<Result<_, CodecError>>()?;
        let count = reader.count(12, "row counts")?;
        let row_counts = (0..count)
            .map(|_| Ok((reader.u32("object")?, reader.u64("rows")?)))
            .collect::<Result<_, CodecError>>()?;
        let count = reader.count(8, "decisions")?;
        let decisions = (0..count).map(|_| reader.u64("decision")).collect::<Result<_, CodecError>>()?;
        reader.finish("control file")?;
        Ok(Self {
            redo_start,
            keep_from,
            open_transactions,
            next_transaction,
            next_object,
            files,
            catalogue_iam,
            recovery_model,
            row_counts,
            decisions,
            former_keys: false,
        })
    }
}
