//! Options for writing a host file.

use super::layout::NativeVersion;
use super::options::FileCodePage;

/// Treatment of a character that the file's code page lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnmappableText {
    /// The write fails and names row, column and character.
    Refuse,
    /// The character is transliterated (`€` becomes `EUR`) or becomes `?`, as in Microsoft's library, and is reported.
    #[default]
    Vendor,
}

/// Form of values of `(max)` types, xml and CLR types behind an eight-byte length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LongValues {
    /// Values have the form in which Microsoft's library writes them. It is in pieces for xml, and for
    /// varchar(max) that becomes UTF-16; else whole.
    #[default]
    Vendor,
    /// Every value is written whole, which every reader accepts.
    Whole,
    /// Every value is written in pieces, as for a server that does not announce lengths.
    Pieces,
}

/// Treatment of text values that are shorter or longer than a field of fixed width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FixedWidth {
    /// Shorter values are padded with blanks; a longer value is an error.
    #[default]
    Refuse,
    /// Shorter values are padded with blanks; a longer value is cut.
    Cut,
}

/// Options for writing a host file. The default is `bcp out` on Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWriteOptions {
    /// Encoding of `SQLCHAR` fields without one of their own.
    pub code_page: FileCodePage,
    /// The native layout (`-V`).
    pub native_version: NativeVersion,
    /// Begins UTF-16 text with FF FE. True for `-w`, but not with a format file.
    pub byte_order_mark: bool,
    /// Characters that the code page lacks.
    pub unmappable: UnmappableText,
    /// Form of values of `(max)` types, xml and CLR types.
    pub long_values: LongValues,
    /// Writes datetime, smalldatetime and datetime2 as `{ts '…'}`, for other ODBC programs.
    pub odbc_escapes: bool,
    /// Gives floats as text the fewest digits that read back as the same value. The original writes 17 for a
    /// float and 8 for a real, and a real may need 9.
    pub shortest_floats: bool,
    /// Leaves out blanks at the end of char and nchar values, where the field's length allows.
    pub trim_blanks: bool,
    /// Values in text fields of fixed width.
    pub fixed_width: FixedWidth,
    /// Refuses a value that contains a terminator; else it is written and reported, and the file cannot be
    /// read back.
    pub refuse_terminators: bool,
}

impl Default for HostWriteOptions {
    fn default() -> Self {
        Self {
            code_page: FileCodePage::default(),
            native_version: NativeVersion::Current,
            byte_order_mark: false,
            unmappable: UnmappableText::Vendor,
            long_values: LongValues::Vendor,
            odbc_escapes: false,
            shortest_floats: false,
            trim_blanks: false,
            fixed_width: FixedWidth::Refuse,
            refuse_terminators: false,
        }
    }
}
