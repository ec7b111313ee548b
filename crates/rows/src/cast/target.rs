//! The target of a cast, the losses that are allowed, and the errors.

use tds::{LengthClass, SqlType, TypeInfo};

use crate::cell_error::CellErrorReason;
use crate::encode::Frame;
use crate::text::spelling::TextSpelling;

/// Losses that a load may accept. All are off by default: every value then arrives unchanged, or is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CastOptions {
    /// Cut text and binary values to the length of the target (text at a character), and drop the time of day where the
    /// target is a `date`.
    pub allow_truncate: bool,
    /// Round numbers and times, half away from zero, to what the target keeps.
    pub allow_rounding: bool,
    /// Replacement for characters that the target's code page does not have; None: they are refused.
    pub replacement: Option<char>,
    /// Write lists, structs and maps as JSON text.
    pub nested_as_json: bool,
    /// Accept an instant for a target without an offset and keep the local date and time of its zone.
    pub drop_time_zone: bool,
    /// Load empty text as NULL.
    pub empty_as_null: bool,
    /// The spelling of dates and numbers in text.
    pub spelling: TextSpelling,
}

/// The first value of a column that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Index of the value in the array.
    pub(crate) index: usize,
    pub(crate) reason: CellErrorReason,
}

/// Everything about the target that a cast needs.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) type_info: TypeInfo,
    pub(crate) nullable: bool,
    pub(crate) frame: Frame,
}

impl Target {
    /// Creates a target column as it travels.
    pub(crate) fn new(type_info: TypeInfo, nullable: bool) -> Self {
        let (frame, expresses_null) = match type_info.length_class() {
            LengthClass::Fixed(_) => (Frame::Bare, false),
            LengthClass::ByteLen => (Frame::Byte, true),
            LengthClass::UShortLen => (Frame::Short, true),
            LengthClass::Plp => (Frame::Chunked, true),
            LengthClass::LongLen => (Frame::TextPointer, true),
            LengthClass::Variant => (Frame::Total, true),
        };
        Target { type_info, nullable: nullable && expresses_null, frame }
    }

    /// Creates a target column of a load.
    pub(crate) fn for_load(type_info: TypeInfo, nullable: bool) -> Self {
        let target = Self::new(type_info, nullable);
        match target.frame {
            Frame::TextPointer => Target { frame: Frame::UnsetTextPointer, ..target },
            _ => target,
        }
    }

    pub(crate) fn sql_type(&self) -> &SqlType {
        &self.type_info.sql_type
    }

    pub(crate) fn out_of_range(&self) -> CellErrorReason {
        CellErrorReason::OutOfRange(Box::new(self.sql_type().clone()))
    }

    pub(crate) fn inexact(&self) -> CellErrorReason {
        CellErrorReason::Inexact(Box::new(self.sql_type().clone()))
    }
}
