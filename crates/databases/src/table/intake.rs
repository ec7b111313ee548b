//! Decides how the rows of a bulk load get into pages: copied from the bytes of the wire, or decoded. A load asks once, when its
//! stream names its columns. Single rows depend on their values too: a row with a value that has another form in pages is
//! decoded, and reported if it is wrong.

use tds::row_span::ROW;
use tsql::SqlError;

use crate::catalogue::TableDefinition;
use crate::storage::{CopyRefusal, ValueForm, WireForm, WireRowCopier};
use crate::table::value_form::value_form;

/// Way in which the rows of one load are stored.
#[derive(Debug)]
pub enum Intake {
    /// Rows are copied into pages from the bytes of the wire.
    Copy(WireRowCopier),
    /// Rows are decoded into batches.
    Decode(DecodeReason),
}

/// Reason why rows are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeReason {
    /// Triggers read the rows.
    Triggers,
    /// CHECK constraints are evaluated.
    CheckConstraints,
    /// FOREIGN KEYs are looked up.
    ForeignKeys,
    /// Rows with a key that exists are left out (IGNORE_DUP_KEY).
    IgnoredDuplicates,
    /// A key may be too wide for an index entry, so that each one is measured.
    WideKeys,
    /// The table has a computed column.
    ComputedColumns,
    /// The table has a rowversion column.
    RowVersion,
    /// The table has an identity column.
    Identity,
    /// The stream has no values for a column.
    MissingColumns,
    /// A column is stored without its trailing padding (ANSI_PADDING OFF).
    TrimmedPadding,
    /// Values of a column may be too large for their row.
    LargeValues,
    /// A column's values are converted: its type or collation is another one on the wire.
    Conversion,
    /// The table is a heap with a filtered or compressed index, whose entries are made of the rows' columns.
    Indexes,
    /// The table is compressed.
    Compression,
    /// Values of variable length come in another order than the table's columns.
    ColumnOrder,
    /// The rows came in too few bytes for extents of their own.
    FewRows,
    /// Some rows had values that pages hold in another form, such as text beyond ASCII.
    Values,
}

impl DecodeReason {
    /// Returns the reason's name in `sys.dm_bulkwire_loads`.
    pub fn name(self) -> &'static str {
        match self {
            DecodeReason::Triggers => "TRIGGERS",
            DecodeReason::CheckConstraints => "CHECK_CONSTRAINTS",
            DecodeReason::ForeignKeys => "FOREIGN_KEYS",
            DecodeReason::IgnoredDuplicates => "IGNORE_DUP_KEY",
            DecodeReason::WideKeys => "WIDE_KEYS",
            DecodeReason::ComputedColumns => "COMPUTED_COLUMNS",
            DecodeReason::RowVersion => "ROWVERSION",
            DecodeReason::Identity => "IDENTITY",
            DecodeReason::MissingColumns => "MISSING_COLUMNS",
            DecodeReason::TrimmedPadding => "TRIMMED_PADDING",
            DecodeReason::LargeValues => "LARGE_VALUES",
            DecodeReason::Conversion => "CONVERSION",
            DecodeReason::Indexes => "INDEXES",
            DecodeReason::Compression => "COMPRESSION",
            DecodeReason::ColumnOrder => "COLUMN_ORDER",
            DecodeReason::FewRows => "FEW_ROWS",
            DecodeReason::Values => "VALUES",
        }
    }
}

/// The facts about a load before its first row.
#[derive(Debug, Clone, Copy)]
pub struct LoadFacts<'a> {
    /// Columns of the stream.
    pub columns: &'a [tds::Column],
    /// The position of each column in the table.
    pub positions: &'a [usize],
    /// Triggers will read the rows.
    pub fires_triggers: bool,
}

/// Work of the writer on each row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowWork<'a> {
    /// Definition of the table.
    pub definition: &'a TableDefinition,
    /// The writer evaluates CHECK constraints.
    pub checks: bool,
    /// The load checks FOREIGN KEYs.
    pub looks_up: bool,
    /// The writer leaves out rows whose keys exist.
    pub leaves_out: bool,
    /// The writer measures keys.
    pub measures_keys: bool,
    /// A NULL becomes the column's default.
    pub default_for_null: bool,
}

impl Intake {
    /// Decides. `copier` asks the store whether its pages can hold rows of a form.
    ///
    /// # Errors
    /// The errors of the store.
    pub(super) fn decide(
        load: LoadFacts<'_>,
        work: RowWork<'_>,
        copier: impl FnOnce(WireForm<'_>) -> Result<Result<WireRowCopier, CopyRefusal>, SqlError>,
    ) -> Result<Intake, SqlError> {
        let values = match value_forms(load, work) {
            Ok(values) => values,
            Err(reason) => return Ok(Intake::Decode(reason)),
        };
        Ok(match copier(WireForm { marker: ROW, values: &values })? {
            Ok(copier) => Intake::Copy(copier),
            Err(refusal) => Intake::Decode(match refusal {
                CopyRefusal::Keys => DecodeReason::Indexes,
                CopyRefusal::Compression => DecodeReason::Compression,
                CopyRefusal::Columns => DecodeReason::MissingColumns,
                CopyRefusal::ColumnOrder => DecodeReason::ColumnOrder,
                CopyRefusal::Values(_) => DecodeReason::Conversion,
            }),
        })
    }
}

/// Returns for each column of the stream its position in the table, and the form of its values.
fn value_forms(load: LoadFacts<'_>, work: RowWork<'_>) -> Result<Vec<(usize, ValueForm)>, DecodeReason> {
    let definitions = &work.definition.columns;
    let of_statement = [
        (load.fires_triggers, DecodeReason::Triggers),
        (work.checks, DecodeReason::CheckConstraints),
        (work.looks_up, DecodeReason::ForeignKeys),
        (work.leaves_out, DecodeReason::IgnoredDuplicates),
        (work.measures_keys, DecodeReason::WideKeys),
    ];
    if let Some((_, reason)) = of_statement.into_iter().find(|(holds, _)| *holds) {
        return Err(reason);
    }
    for column in definitions {
        if column.computed.is_some() {
            return Err(DecodeReason::ComputedColumns);
        }
        if column.sql_type == tds::SqlType::RowVersion {
            return Err(DecodeReason::RowVersion);
        }
        if column.identity.is_some() {
            return Err(DecodeReason::Identity);
        }
    }
    if load.columns.len() != definitions.len() {
        return Err(DecodeReason::MissingColumns);
    }
    let forms = load.positions.iter().zip(load.columns).map(|(position, from)| {
        let column = definitions.get(*position).ok_or(DecodeReason::MissingColumns)?;
        if column.trims_padding() {
            return Err(DecodeReason::TrimmedPadding);
        }
        let required = !column.nullable || (column.default.is_some() && work.default_for_null);
        Ok((*position, value_form(from, &column.sql_type, column.collation(), required)?))
    });
    forms.collect()
}
