//! [`Collation`]: the five bytes that say how text compares and which code page its bytes are in.

use crate::code_page::CodePage;

/// A collation as it travels: 20 bits of locale, comparison flags, a version, and the sort id of the old SQL
/// collations (MS-TDS 2.2.5.1.2).
///
/// Names are in [`from_name`](Self::from_name) and [`name`](Self::name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Collation {
    /// Bits 0–19 LCID, 20 ignore case, 21 ignore accent, 22 ignore width, 23 ignore kana, 24 BIN, 25 BIN2,
    /// 26 UTF-8, 28–31 version.
    pub info: u32,
    /// Sort id; non-zero for `SQL_*` collations only.
    pub sort_id: u8,
}

impl Collation {
    /// `SQL_Latin1_General_CP1_CI_AS`, the default of a server installed in US English: `09 04 D0 00 34`.
    pub const SQL_LATIN1_GENERAL_CP1_CI_AS: Self = Self { info: 0x00D0_0409, sort_id: 52 };

    /// `Latin1_General_100_CI_AS_SC_UTF8`: `09 04 D0 24 00`.
    pub const LATIN1_GENERAL_100_CI_AS_SC_UTF8: Self = Self { info: 0x24D0_0409, sort_id: 0 };

    pub(crate) const LCID: u32 = 0x000F_FFFF;
    pub(crate) const IGNORE_CASE: u32 = 1 << 20;
    pub(crate) const IGNORE_ACCENT: u32 = 1 << 21;
    pub(crate) const IGNORE_WIDTH: u32 = 1 << 22;
    pub(crate) const IGNORE_KANA: u32 = 1 << 23;
    pub(crate) const BIN: u32 = 1 << 24;
    pub(crate) const BIN2: u32 = 1 << 25;
    pub(crate) const UTF8: u32 = 1 << 26;
    pub(crate) const VERSION_SHIFT: u32 = 28;

    /// Reads the collation of five wire bytes. Every pattern is accepted: a locale without a known name still
    /// determines the code page.
    pub fn from_bytes(bytes: [u8; 5]) -> Self {
        let [a, b, c, d, sort_id] = bytes;
        Self { info: u32::from_le_bytes([a, b, c, d]), sort_id }
    }

    /// Returns the five wire bytes.
    pub fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = self.info.to_le_bytes();
        [a, b, c, d, self.sort_id]
    }

    /// Returns the Windows locale id, including the sort variant in bits 16–19.
    pub fn lcid(self) -> u32 {
        self.info & Self::LCID
    }

    /// Returns the version of the sorting rules: 0 for names without a version, then 1 `_90`, 2 `_100`, 3
    /// `_140`, 4 `_160`.
    pub fn version(self) -> u8 {
        // The version is in the upper four bits.
        (self.info >> Self::VERSION_SHIFT) as u8
    }

    /// Returns true if text that differs in case only is different.
    pub fn case_sensitive(self) -> bool {
        self.info & Self::IGNORE_CASE == 0
    }

    /// Returns true if text that differs in accents only is different.
    pub fn accent_sensitive(self) -> bool {
        self.info & Self::IGNORE_ACCENT == 0
    }

    /// Returns true if half-width and full-width forms are different.
    pub fn width_sensitive(self) -> bool {
        self.info & Self::IGNORE_WIDTH == 0
    }

    /// Returns true if hiragana and katakana are different.
    pub fn kana_sensitive(self) -> bool {
        self.info & Self::IGNORE_KANA == 0
    }

    /// Returns true for `_BIN` and `_BIN2`: text compares by code value. `_BIN2_UTF8` collations lack this
    /// bit on the wire.
    pub fn is_binary(self) -> bool {
        self.info & (Self::BIN | Self::BIN2) != 0
    }

    /// Returns true if `char`, `varchar` and `text` hold UTF-8.
    pub fn is_utf8(self) -> bool {
        self.info & Self::UTF8 != 0
    }

    /// Returns the code page of `char`, `varchar` and `text` data.
    ///
    /// The UTF-8 bit decides first, then the sort id, then the locale. Locales that exist for Unicode types only (Hindi, Khmer,
    /// …) have no code page. No single-byte column can have them, and UTF-8 is returned.
    pub fn code_page(self) -> CodePage {
        if self.is_utf8() {
            return CodePage::Utf8;
        }
        code_page_of_sort_id(self.sort_id).unwrap_or_else(|| code_page_of_lcid(self.lcid()))
    }
}

fn code_page_of_sort_id(sort_id: u8) -> Option<CodePage> {
    Some(match sort_id {
        30..=35 => CodePage::Cp437,
        40..=45 | 49 | 55..=61 => CodePage::Cp850,
        50..=54 | 71..=75 | 183..=186 | 210..=217 => CodePage::Cp1252,
        80..=98 => CodePage::Cp1250,
        104..=108 => CodePage::Cp1251,
        112..=124 => CodePage::Cp1253,
        128..=130 => CodePage::Cp1254,
        136..=138 => CodePage::Cp1255,
        144..=146 => CodePage::Cp1256,
        152..=160 => CodePage::Cp1257,
        192 | 193 | 200 => CodePage::Cp932,
        194 | 195 | 201 => CodePage::Cp949,
        196 | 197 | 202 => CodePage::Cp950,
        198 | 199 | 203 => CodePage::Cp936,
        204..=206 => CodePage::Cp874,
        _ => return None,
    })
}

fn code_page_of_lcid(lcid: u32) -> CodePage {
    // Sort variants (bits 16–19) share the code page of their language.
    match lcid & 0xFFFF {
        0x001E | 0x041E => CodePage::Cp874,
        0x0411 => CodePage::Cp932,
        0x0804 | 0x1004 => CodePage::Cp936,
        0x0012 | 0x0412 => CodePage::Cp949,
        0x0404 | 0x0C04 | 0x1404 | 0x7C04 => CodePage::Cp950,
        0x0405 | 0x040E | 0x0415 | 0x0418 | 0x041A | 0x041B | 0x041C | 0x0424 | 0x0442 | 0x081A | 0x104E
        | 0x141A => CodePage::Cp1250,
        0x0402 | 0x0419 | 0x0422 | 0x0423 | 0x042F | 0x043F | 0x0444 | 0x046D | 0x0485 | 0x082C | 0x0C1A
        | 0x201A => CodePage::Cp1251,
        0x0408 => CodePage::Cp1253,
        0x041F | 0x042C | 0x0443 => CodePage::Cp1254,
        0x040D => CodePage::Cp1255,
        0x0401 | 0x0420 | 0x0429 | 0x0480 | 0x048C | 0x0801 | 0x0C01 | 0x1001 | 0x1401 | 0x1801 | 0x1C01
        | 0x2001 | 0x2401 | 0x2801 | 0x2C01 | 0x3001 | 0x3401 | 0x3801 | 0x3C01 | 0x4001 => CodePage::Cp1256,
        0x0425 | 0x0426 | 0x0427 | 0x0827 => CodePage::Cp1257,
        0x042A => CodePage::Cp1258,
        0x0439 | 0x043A | 0x0445 | 0x044D | 0x0451 | 0x0453 | 0x0454 | 0x045A | 0x0461 | 0x0463 | 0x0465
        | 0x0481 => CodePage::Utf8,
        _ => CodePage::Cp1252,
    }
}
