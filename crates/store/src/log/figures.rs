//! The names and counts of log records: the operations and contexts of `sys.fn_dblog`.

use super::record::{Change, LogRecord, Operation};
use crate::page::{self, PAGE_BYTES, PageType, UnitId};

/// Operation of a log record, named as `sys.fn_dblog` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogOperation {
    /// A transaction's first record.
    BeginTransaction,
    /// A transaction's last, committed.
    CommitTransaction,
    /// A commit that was withdrawn for lack of space. The name is this engine's own.
    WithdrawnCommit,
    /// The last record of a part of a transaction over several databases before the coordinator decides.
    PrepareTransaction,
    /// The decision to commit a prepared transaction, in the coordinator's log. The name is this engine's own.
    CommitDecision,
    /// A transaction's last, undone.
    AbortTransaction,
    /// A row was added.
    InsertRows,
    /// A row was removed.
    DeleteRows,
    /// A row was replaced.
    ModifyRow,
    /// A page as a whole: a new one, or a root that moved down.
    FormatPage,
    /// A page as a whole, before its first change since a checkpoint. SQL Server has no such record; the name is this engine's own.
    PageImage,
    /// A page's neighbours.
    ModifyHeader,
    /// Bits of an allocation map.
    SetBits,
    /// Entries of a PFS page.
    SetFreeSpace,
}

impl LogOperation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::BeginTransaction,
        Self::CommitTransaction,
        Self::WithdrawnCommit,
        Self::PrepareTransaction,
        Self::CommitDecision,
        Self::AbortTransaction,
        Self::InsertRows,
        Self::DeleteRows,
        Self::ModifyRow,
        Self::FormatPage,
        Self::PageImage,
        Self::ModifyHeader,
        Self::SetBits,
        Self::SetFreeSpace,
    ];

    /// Returns the name in `sys.fn_dblog`: `LOP_…`
    pub fn name(self) -> &'static str {
        match self {
            Self::BeginTransaction => "LOP_BEGIN_XACT",
            Self::CommitTransaction => "LOP_COMMIT_XACT",
            Self::WithdrawnCommit => "LOP_COMMIT_WITHDRAWN",
            Self::PrepareTransaction => "LOP_PREP_XACT",
            Self::CommitDecision => "LOP_COMMIT_DECISION",
            Self::AbortTransaction => "LOP_ABORT_XACT",
            Self::InsertRows => "LOP_INSERT_ROWS",
            Self::DeleteRows => "LOP_DELETE_ROWS",
            Self::ModifyRow => "LOP_MODIFY_ROW",
            Self::FormatPage => "LOP_FORMAT_PAGE",
            Self::PageImage => "LOP_PAGE_IMAGE",
            Self::ModifyHeader => "LOP_MODIFY_HEADER",
            Self::SetBits => "LOP_SET_BITS",
            Self::SetFreeSpace => "LOP_SET_FREE_SPACE",
        }
    }

    /// Returns the operation of a record; a compensation counts as the change that it makes.
    pub fn of(record: &LogRecord) -> Self {
        match &record.operation {
            Operation::Begin => Self::BeginTransaction,
            Operation::Commit { .. } => Self::CommitTransaction,
            Operation::Withdrawn { .. } => Self::WithdrawnCommit,
            Operation::Prepare { .. } => Self::PrepareTransaction,
            Operation::Decision { .. } => Self::CommitDecision,
            Operation::End => Self::AbortTransaction,
            Operation::Change(change) | Operation::Compensation { change, .. } => match change {
                Change::Image { .. } => Self::PageImage,
                Change::Format { .. } | Change::Reformat { .. } => Self::FormatPage,
                Change::Insert { .. } => Self::InsertRows,
                Change::Remove { .. } => Self::DeleteRows,
                Change::Replace { .. } => Self::ModifyRow,
                Change::Links { .. } => Self::ModifyHeader,
                Change::SetBits { .. } => Self::SetBits,
                Change::SetFreeSpace { .. } => Self::SetFreeSpace,
            },
        }
    }
}

/// Kind of page that a record is about, named as `sys.fn_dblog` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum LogContext {
    /// The record is about no page.
    #[default]
    None,
    /// Rows of a heap.
    Heap,
    /// The leaf of a clustered tree.
    Clustered,
    /// The leaf of a nonclustered index.
    IndexLeaf,
    /// Upper levels of a tree.
    IndexInterior,
    /// Fragments of large and overflowing values.
    TextMix,
    /// Inner nodes of a large value.
    TextTree,
    /// Map of the free extents.
    Gam,
    /// Map of the mixed extents.
    Sgam,
    /// Map of the extents of one allocation unit.
    Iam,
    /// Map of the fullness of pages.
    Pfs,
    /// The first page of a file.
    FileHeader,
    /// The database's own page.
    BootPage,
    /// Extents changed since a full backup.
    DifferentialMap,
    /// Extents written by minimally logged operations.
    MinimallyLoggedMap,
}

impl LogContext {
    /// All contexts, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::Heap,
        Self::Clustered,
        Self::IndexLeaf,
        Self::IndexInterior,
        Self::TextMix,
        Self::TextTree,
        Self::Gam,
        Self::Sgam,
        Self::Iam,
        Self::Pfs,
        Self::FileHeader,
        Self::BootPage,
        Self::DifferentialMap,
        Self::MinimallyLoggedMap,
    ];

    /// Returns the name in `sys.fn_dblog`: `LCX_…`
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "LCX_NULL",
            Self::Heap => "LCX_HEAP",
            Self::Clustered => "LCX_CLUSTERED",
            Self::IndexLeaf => "LCX_INDEX_LEAF",
            Self::IndexInterior => "LCX_INDEX_INTERIOR",
            Self::TextMix => "LCX_TEXT_MIX",
            Self::TextTree => "LCX_TEXT_TREE",
            Self::Gam => "LCX_GAM",
            Self::Sgam => "LCX_SGAM",
            Self::Iam => "LCX_IAM",
            Self::Pfs => "LCX_PFS",
            Self::FileHeader => "LCX_FILE_HEADER",
            Self::BootPage => "LCX_BOOT_PAGE",
            Self::DifferentialMap => "LCX_DIFF_MAP",
            Self::MinimallyLoggedMap => "LCX_ML_MAP",
        }
    }

    /// Returns the kind of a page; `in_tree` says whether its table is a clustered tree.
    pub fn of(bytes: &[u8; PAGE_BYTES], in_tree: impl FnOnce(u32) -> bool) -> Self {
        let unit = page::unit(bytes);
        match page::page_type(bytes) {
            Some(PageType::Data | PageType::Index) if page::level(bytes) > 0 => Self::IndexInterior,
            Some(PageType::Data | PageType::Index) if unit.index >= FIRST_INDEX_UNIT => Self::IndexLeaf,
            Some(PageType::Data) if !in_tree(unit.object) => Self::Heap,
            Some(PageType::Data) => Self::Clustered,
            Some(PageType::Index) => Self::IndexLeaf,
            Some(PageType::TextMix) => Self::TextMix,
            Some(PageType::TextTree) => Self::TextTree,
            Some(PageType::Gam) => Self::Gam,
            Some(PageType::Sgam) => Self::Sgam,
            Some(PageType::Iam) => Self::Iam,
            Some(PageType::Pfs) => Self::Pfs,
            Some(PageType::FileHeader) => Self::FileHeader,
            Some(PageType::Boot) => Self::BootPage,
            Some(PageType::DifferentialMap) => Self::DifferentialMap,
            Some(PageType::MinimallyLoggedMap) => Self::MinimallyLoggedMap,
            None => Self::None,
        }
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// Units of a table's own rows and large values have smaller numbers.
const FIRST_INDEX_UNIT: u16 = 259;

/// Allocation unit and kind of the page that a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPlace {
    /// The allocation unit; all zeros for maps and for records about no page.
    pub unit: UnitId,
    /// Kind of the page.
    pub context: LogContext,
}

/// Number of log records of one operation and context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogCount {
    /// Operation of the records.
    pub operation: LogOperation,
    /// Kind of page that the records are about.
    pub context: LogContext,
    /// Number of records.
    pub records: u64,
    /// The sum of what `fn_dblog` shows as `Log Record Length`.
    pub bytes: u64,
}

/// Counts by operation and context.
#[derive(Debug, Default)]
pub(super) struct LogCounts {
    counts: [[(u64, u64); LogContext::ALL.len()]; LogOperation::ALL.len()],
}

impl LogCounts {
    pub fn add(&mut self, operation: LogOperation, context: LogContext, bytes: u64) {
        let row = self.counts.get_mut(operation as usize);
        if let Some(count) = row.and_then(|row| row.get_mut(context as usize)) {
            count.0 += 1;
            count.1 += bytes;
        }
    }

    /// Lists the counts that are not zero.
    pub fn rows(&self) -> Vec<LogCount> {
        let rows = LogOperation::ALL.into_iter().zip(&self.counts);
        rows.flat_map(|(operation, row)| {
            LogContext::ALL.into_iter().zip(row).map(move |(context, (records, bytes))| LogCount {
                operation,
                context,
                records: *records,
                bytes: *bytes,
            })
        })
        .filter(|count| count.records > 0)
        .collect()
    }
}
