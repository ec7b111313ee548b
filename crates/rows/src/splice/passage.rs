//! The pairs of columns whose cells can pass.

use tds::{Collation, Column, Form, Length, LengthClass, SqlType, TypeInfo};

use super::splicer::Splicer;
use crate::cast::Target;
use crate::encode::Frame;
use crate::plan::Plan;

/// Why a column's cells cannot pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{column}: {reason}")]
pub struct Unspliced {
    /// Name of the target column.
    pub column: String,
    /// The reason, for people.
    pub reason: String,
}

/// The form in which the cells of a source column go into a target column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// As they came.
    Same,
    /// With a length byte in front, since the target may be NULL.
    Counted(u8),
    /// Decimals, in this many bytes.
    Decimal(u8),
    /// Chunked values, in one chunk of a known length.
    Chunked {
        /// A byte-order mark is dropped.
        has_mark: bool,
    },
    /// `text`, `ntext` and `image`, with the pointer of a load.
    Pointed,
}

/// A target column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// Index of the source column.
    pub(super) source: usize,
    pub(super) passage: Passage,
    pub(super) frame: Frame,
}

/// The decision that the rows of an answer can become rows of a load.
#[derive(Debug, Clone)]
pub struct Splice {
    columns: Vec<Column>,
    declared: Vec<Column>,
    targets: Vec<(usize, Target)>,
}

impl Splice {
    /// Decides whether rows of the columns `source` can pass into the columns of `plan`, which was made for the same columns.
    ///
    /// # Errors
    /// Every column whose cells cannot pass.
    pub fn new(plan: &Plan, source: &[Column]) -> Result<Self, Vec<Unspliced>> {
        let splice = Self {
            columns: plan.columns().to_vec(),
            declared: plan.declared_columns().to_vec(),
            targets: plan.casts().map(|(index, target)| (index, target.clone())).collect(),
        };
        let mut unspliced = splice.passed(source).err().unwrap_or_default();
        if plan.options().empty_as_null {
            let texts = splice.declared.iter().filter(|column| column.sql_type().is_character());
            unspliced.extend(texts.map(|column| {
                let reason = "empty text is to become NULL".to_owned();
                Unspliced { column: column.name.clone(), reason }
            }));
        }
        if unspliced.is_empty() { Ok(splice) } else { Err(unspliced) }
    }

    /// Returns true if rows of this splice are what `plan` sends.
    pub fn fits(&self, plan: &Plan) -> bool {
        self.columns == plan.columns()
            && self.targets.iter().map(|(index, _)| *index).eq(plan.source_indexes())
    }

    /// Counts the columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Makes what splices the rows of one answer, which has the columns `source`.
    ///
    /// # Errors
    /// The columns are others than the splice was decided for.
    pub fn splicer(&self, source: &[Column]) -> Result<Splicer, Vec<Unspliced>> {
        Ok(Splicer::new(source, self.passed(source)?))
    }

    fn passed(&self, source: &[Column]) -> Result<Vec<Passed>, Vec<Unspliced>> {
        let mut passed = Vec::with_capacity(self.targets.len());
        let mut unspliced = Vec::new();
        for ((index, target), declared) in self.targets.iter().zip(&self.declared) {
            let found = match source.get(*index) {
                Some(column) => passage(column, target, declared),
                None => Err("the source has no such column".to_owned()),
            };
            match found {
                Ok(passage) => passed.push(Passed { source: *index, passage, frame: target.frame }),
                Err(reason) => unspliced.push(Unspliced { column: declared.name.clone(), reason }),
            }
        }
        if unspliced.is_empty() { Ok(passed) } else { Err(unspliced) }
    }
}

fn passage(source: &Column, target: &Target, declared: &Column) -> Result<Passage, String> {
    let info = &source.type_info;
    if matches!(info.form, Form::Legacy | Form::Null) {
        return Err("it comes by a token of the time before SQL Server 7".to_owned());
    }
    let (from, to) = (&info.sql_type, declared.sql_type());
    if !is_same_kind(from, to) {
        return Err(format!("{from} is to become {to}"));
    }
    if is_code_paged(from) {
        let (page, wanted) = (code_page(info), code_page(&target.type_info));
        if page != wanted {
            return Err(format!("its text is in code page {page}, the target's in {wanted}"));
        }
    }
    if source.flags.is_nullable() && !target.nullable {
        return Err("the target takes no NULL, and the source may have one".to_owned());
    }
    let width = || u8::try_from(to.max_length_bytes().unwrap_or_default()).unwrap_or_default();
    let mark = Passage::Chunked { has_mark: *from == SqlType::Xml };
    match (info.length_class(), target.frame) {
        _ if from.is_decimal() => Ok(Passage::Decimal(width())),
        (LengthClass::Fixed(_), Frame::Bare)
        | (LengthClass::ByteLen, Frame::Byte)
        | (LengthClass::UShortLen, Frame::Short)
        | (LengthClass::Variant, Frame::Total) => Ok(Passage::Same),
        (LengthClass::Fixed(width), Frame::Byte) => Ok(Passage::Counted(width)),
        (LengthClass::Plp, Frame::Chunked) => Ok(mark),
        (LengthClass::LongLen, Frame::UnsetTextPointer) => Ok(Passage::Pointed),
        _ => Err(format!("{from} travels in another form than the target's {to}")),
    }
}

/// Returns true if every value of `from` is one of `to`, in the same bytes.
fn is_same_kind(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::{Binary, Decimal, NVarChar, Numeric, RowVersion, Udt, VarBinary, VarChar};
    match (from, to) {
        (VarChar { length }, VarChar { length: most })
        | (NVarChar { length }, NVarChar { length: most })
        | (VarBinary { length }, VarBinary { length: most }) => match (length, most) {
            (Length::Units(length), Length::Units(most)) => length <= most,
            (length, most) => length == most,
        },
        (
            Decimal { precision, scale } | Numeric { precision, scale },
            Decimal { precision: to_precision, scale: to_scale }
            | Numeric { precision: to_precision, scale: to_scale },
        ) => precision <= to_precision && scale == to_scale,
        (RowVersion, Binary { length: 8 }) => true,
        (Udt { name, .. }, Udt { name: to_name, .. }) => name.eq_ignore_ascii_case(to_name),
        // A document becomes text of another encoding.
        (SqlType::Json, SqlType::Json) => false,
        (from, to) => from == to,
    }
}

fn is_code_paged(sql_type: &SqlType) -> bool {
    sql_type.is_character() && !sql_type.is_unicode()
}

fn code_page(info: &TypeInfo) -> u16 {
    info.collation.unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS).code_page().number()
}
