//! Converts the bytes of a field to a value of the column's type, by the rules of the original's client library.
//!
//! Those rules are not the server's: `4.0` and `1e3` are integers, digits that a column would lose are refused rather
//! than rounded, and there are two grammars of dates. `docs/bcp-formats.md` has what was observed.

pub(super) mod hex;
pub(super) mod instant;
pub(super) mod moment_text;
pub(super) mod native;
pub(super) mod number_text;

use tds::SqlType;

use super::{Deviation, RejectReason};

/// Reason why a value is not one of the column's type. Small, because it travels through the hot loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Syntax,
    TooLong,
    Range,
    Date,
    Time,
    DateRange,
    DateOverflow,
    AmbiguousDate,
    Length(usize),
    Malformed(&'static str),
    Refused(Deviation),
}

impl Fault {
    pub(super) fn reason(self, sql_type: &SqlType) -> RejectReason {
        let target = sql_type.clone();
        match self {
            Self::Syntax => RejectReason::Syntax { target },
            Self::TooLong => RejectReason::TooLong { target },
            Self::Range => RejectReason::OutOfRange { target },
            Self::Date => RejectReason::Date { target },
            Self::Time => RejectReason::Time { target },
            Self::DateRange => RejectReason::DateOutOfRange { target },
            Self::DateOverflow => RejectReason::DateOverflow { target },
            Self::AmbiguousDate => RejectReason::AmbiguousDate,
            Self::Length(found) => RejectReason::Length { target, found },
            Self::Malformed(problem) => RejectReason::Malformed { problem },
            Self::Refused(deviation) => RejectReason::Refused(deviation),
        }
    }
}

/// Accepted deviation of a conversion, besides its value.
pub(super) type Remark = Option<Deviation>;
