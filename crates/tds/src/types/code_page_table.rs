//! Tables of the legacy code pages, as Windows has them.
//!
//! The bulk comes from the WHATWG tables of `encoding_rs` and the OEM tables of `oem_cp`. Where Windows differs (see
//! its published best-fit tables) the difference is stated here: undefined bytes and end-user-defined characters map
//! to the private use area, so that every such byte round-trips.

use std::sync::OnceLock;

use encoding_rs::{BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS};
use oem_cp::code_table::{DECODING_TABLE_CP437, DECODING_TABLE_CP850};

use crate::code_page::CodePage;

/// Both directions of one code page. All characters of these code pages are in the basic multilingual plane, so a
/// UTF-16 unit says it all.
pub(crate) struct CodePageTable {
    /// Character of each byte, or [`LEAD`], or [`UNDEFINED`].
    singles: [u16; 256],
    /// Character of each lead byte and trail byte, or 0. Empty for single-byte code pages.
    doubles: Vec<u16>,
    /// Bytes of each character: the one byte, or lead and trail byte, or 0.
    codes: Vec<u16>,
}

// Two noncharacters, which no code page has.
const LEAD: u16 = 0xFFFF;
const UNDEFINED: u16 = 0xFFFE;

impl CodePageTable {
    /// Returns the table of a code page, built on first use (about 260 KiB for a double-byte one); `None` for
    /// UTF-8.
    pub(crate) fn of(code_page: CodePage) -> Option<&'static Self> {
        static TABLES: [OnceLock<CodePageTable>; CodePage::ALL.len()] =
            [const { OnceLock::new() }; CodePage::ALL.len()];
        let slot = TABLES.get(code_page as usize)?;
        match slot.get() {
            Some(table) => Some(table),
            None => {
                let rules = rules(code_page)?;
                Some(slot.get_or_init(|| Self::build(&rules)))
            }
        }
    }

    /// Appends the text of `bytes`; the error is the offset of the first undecodable sequence.
    pub(crate) fn decode(&self, bytes: &[u8], text: &mut String) -> Result<(), usize> {
        // UTF-8 is checked once a buffer, not once a character.
        let mut buffer = [0; 256];
        let mut filled = 0;
        let mut outcome = Ok(());
        let mut at = 0;
        while let Some([first, tail @ ..]) = bytes.get(at..) {
            if filled + 3 > buffer.len() {
                push_utf8(text, &buffer, filled);
                filled = 0;
            }
            if first.is_ascii() {
                if let Some(slot) = buffer.get_mut(filled) {
                    *slot = *first;
                }
                filled += 1;
                at += 1;
                continue;
            }
            let (unit, length) = match (self.single(*first), tail) {
                (LEAD, [trail, ..]) => (self.double(*first, *trail), 2),
                (unit, _) => (unit, 1),
            };
            let ch = char::from_u32(u32::from(unit)).filter(|_| unit < UNDEFINED);
            let (Some(ch), Some(slot)) = (ch, buffer.get_mut(filled..filled + 3)) else {
                outcome = Err(at);
                break;
            };
            filled += ch.encode_utf8(slot).len();
            at += length;
        }
        push_utf8(text, &buffer, filled);
        outcome
    }

    /// Appends `text`; the error is the byte index of the first character that has no code, and the character.
    pub(crate) fn encode(&self, text: &str, bytes: &mut Vec<u8>) -> Result<(), (usize, char)> {
        bytes.reserve(text.len());
        let mut rest = text;
        while let Some((ascii, tail)) = rest.split_at_checked(ascii_run(rest.as_bytes())) {
            bytes.extend_from_slice(ascii.as_bytes());
            let mut chars = tail.chars();
            let Some(ch) = chars.next() else { break };
            match self.code(ch) {
                Some(code) if code < 0x100 => bytes.push(code as u8),
                Some(code) => bytes.extend_from_slice(&code.to_be_bytes()),
                None => return Err((text.len() - tail.len(), ch)),
            }
            rest = chars.as_str();
        }
        Ok(())
    }

    /// Counts the bytes that `text` takes; the error is that of [`encode`](Self::encode).
    pub(crate) fn encoded_len(&self, text: &str) -> Result<usize, (usize, char)> {
        let mut len = 0;
        for (index, ch) in text.char_indices() {
            let code = self.code(ch).ok_or((index, ch))?;
            len += if code < 0x100 { 1 } else { 2 };
        }
        Ok(len)
    }

    fn single(&self, byte: u8) -> u16 {
        self.singles.get(usize::from(byte)).copied().unwrap_or(UNDEFINED)
    }

    fn double(&self, lead: u8, trail: u8) -> u16 {
        match self.doubles.get(usize::from(u16::from_be_bytes([lead, trail]))) {
            Some(0) | None => UNDEFINED,
            Some(unit) => *unit,
        }
    }

    fn code(&self, ch: char) -> Option<u16> {
        match self.codes.get(ch as usize).copied().unwrap_or(0) {
            0 if ch != '\0' => None,
            code => Some(code),
        }
    }

    fn build(rules: &Rules) -> Self {
        let mut singles = [UNDEFINED; 256];
        for (byte, unit) in (0..=u8::MAX).zip(&mut singles) {
            *unit = if rules.is_lead(byte) { LEAD } else { rules.single(byte).unwrap_or(UNDEFINED) };
        }
        let mut doubles = Vec::new();
        if rules.leads.is_some() {
            doubles = vec![0; 0x1_0000];
            for (code, unit) in (0..=u16::MAX).zip(&mut doubles) {
                let [lead, trail] = code.to_be_bytes();
                if rules.is_lead(lead) && trail >= 0x40 {
                    *unit = rules.double(lead, trail).unwrap_or(0);
                }
            }
        }
        let mut table = Self { singles, doubles, codes: vec![0; 0x1_0000] };
        table.invert(rules.encoding);
        table
    }

    /// Fills `codes`. Of several codes for one character the encoder of `encoding_rs` names the one that Windows uses.
    fn invert(&mut self, encoding: Option<&'static Encoding>) {
        let singles = (0u16..).zip(self.singles).filter(|(_, unit)| *unit < UNDEFINED);
        let doubles = (0u16..=u16::MAX).zip(self.doubles.iter().copied()).filter(|(_, unit)| *unit != 0);
        let mut doubtful = Vec::new();
        for (code, unit) in singles.chain(doubles) {
            match self.codes.get_mut(usize::from(unit)) {
                Some(slot) if *slot == 0 => *slot = code,
                Some(_) if code != 0 => doubtful.push(unit),
                _ => {}
            }
        }
        for unit in doubtful {
            let preferred = encoding.and_then(|encoding| encode_one(encoding, unit));
            let is_ours = |code: u16| match code {
                0..=0xFF => self.singles.get(usize::from(code)) == Some(&unit),
                _ => self.doubles.get(usize::from(code)) == Some(&unit),
            };
            if let (Some(code), Some(slot)) =
                (preferred.filter(|code| is_ours(*code)), self.codes.get_mut(usize::from(unit)))
            {
                *slot = code;
            }
        }
    }
}

fn push_utf8(text: &mut String, buffer: &[u8], filled: usize) {
    // Only whole characters were written.
    let written = buffer.get(..filled).and_then(|written| std::str::from_utf8(written).ok());
    text.push_str(written.unwrap_or_default());
}

/// Measures the ASCII text at the head of `bytes`. Runs between foreign letters are short, so eight bytes at
/// a time.
fn ascii_run(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let high = u64::from_le_bytes(*chunk) & 0x8080_8080_8080_8080;
        if high != 0 {
            return index * 8 + high.trailing_zeros() as usize / 8;
        }
    }
    let whole = chunks.len() * 8;
    let tail = bytes.get(whole..).unwrap_or_default();
    whole + tail.iter().take_while(|byte| byte.is_ascii()).count()
}

/// Sources of the characters of one code page.
struct Rules {
    encoding: Option<&'static Encoding>,
    oem: Option<&'static [char; 128]>,
    /// `first byte, first character, count`: single bytes that Windows maps otherwise.
    singles: &'static [(u8, u16, u8)],
    /// Lead byte ranges of a double-byte code page.
    leads: Option<&'static [(u8, u8)]>,
    /// End-user-defined characters, in private use order.
    user_defined: &'static [UserDefined],
    /// `first code, last code`: double-byte codes of the WHATWG table that Windows does not have.
    absent: &'static [(u16, u16)],
}

/// A rectangle of end-user-defined characters, filled row by row.
struct UserDefined {
    leads: (u8, u8),
    /// Trail byte ranges of a row.
    trails: &'static [(u8, u8)],
    /// Characters missing at the start of the first row.
    skip: u16,
    first: u16,
}

impl Rules {
    fn is_lead(&self, byte: u8) -> bool {
        self.leads.is_some_and(|leads| leads.iter().any(|(first, last)| (*first..=*last).contains(&byte)))
    }

    fn single(&self, byte: u8) -> Option<u16> {
        if byte < 0x80 {
            return Some(u16::from(byte));
        }
        for (first, unit, count) in self.singles {
            if (*first..=first.saturating_add(count - 1)).contains(&byte) {
                return Some(unit + u16::from(byte - first));
            }
        }
        if let Some(oem) = self.oem {
            return oem.get(usize::from(byte - 0x80)).and_then(|ch| one_unit(*ch));
        }
        self.encoding.and_then(|encoding| decode_one(encoding, &[byte]))
    }

    fn double(&self, lead: u8, trail: u8) -> Option<u16> {
        if let Some(unit) = self.user_defined.iter().find_map(|area| area.unit(lead, trail)) {
            return Some(unit);
        }
        let code = u16::from_be_bytes([lead, trail]);
        if self.absent.iter().any(|(first, last)| (*first..=*last).contains(&code)) {
            return None;
        }
        self.encoding.and_then(|encoding| decode_one(encoding, &[lead, trail]))
    }
}

impl UserDefined {
    fn unit(&self, lead: u8, trail: u8) -> Option<u16> {
        let (first_lead, last_lead) = self.leads;
        if !(first_lead..=last_lead).contains(&lead) {
            return None;
        }
        let mut row = 0;
        let mut place = None;
        for (first, last) in self.trails {
            if (*first..=*last).contains(&trail) {
                place = Some(row + u16::from(trail - first));
            }
            row += u16::from(last - first) + 1;
        }
        let index = u16::from(lead - first_lead) * row + place?;
        Some(self.first + index.checked_sub(self.skip)?)
    }
}

/// Decodes the one character that `bytes` stand for.
fn decode_one(encoding: &'static Encoding, bytes: &[u8]) -> Option<u16> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let mut chars = text.chars();
    let ch = chars.next()?;
    chars.next().is_none().then_some(())?;
    one_unit(ch)
}

fn encode_one(encoding: &'static Encoding, unit: u16) -> Option<u16> {
    let text = char::from_u32(u32::from(unit))?.to_string();
    match encoding.encode(&text) {
        (_, _, true) => None,
        (bytes, _, false) => match bytes.as_ref() {
            [byte] => Some(u16::from(*byte)),
            [lead, trail] => Some(u16::from_be_bytes([*lead, *trail])),
            _ => None,
        },
    }
}

fn one_unit(ch: char) -> Option<u16> {
    u16::try_from(u32::from(ch)).ok()
}

const NONE: Rules =
    Rules { encoding: None, oem: None, singles: &[], leads: None, user_defined: &[], absent: &[] };

fn rules(code_page: CodePage) -> Option<Rules> {
    let single_byte = |encoding, singles| Rules { encoding: Some(encoding), singles, ..NONE };
    Some(match code_page {
        CodePage::Utf8 => return None,
        CodePage::Cp437 => Rules { oem: Some(&DECODING_TABLE_CP437), ..NONE },
        CodePage::Cp850 => Rules { oem: Some(&DECODING_TABLE_CP850), ..NONE },
        CodePage::Cp874 => single_byte(encoding_rs::WINDOWS_874, &[(0xDB, 0xF8C1, 4), (0xFC, 0xF8C5, 4)]),
        CodePage::Cp1250 => single_byte(encoding_rs::WINDOWS_1250, &[]),
        CodePage::Cp1251 => single_byte(encoding_rs::WINDOWS_1251, &[]),
        CodePage::Cp1252 => single_byte(encoding_rs::WINDOWS_1252, &[]),
        CodePage::Cp1253 => {
            single_byte(encoding_rs::WINDOWS_1253, &[(0xAA, 0xF8F9, 1), (0xD2, 0xF8FA, 1), (0xFF, 0xF8FB, 1)])
        }
        CodePage::Cp1254 => single_byte(encoding_rs::WINDOWS_1254, &[]),
        CodePage::Cp1255 => {
            single_byte(encoding_rs::WINDOWS_1255, &[(0xD9, 0xF88D, 7), (0xFB, 0xF894, 2), (0xFF, 0xF896, 1)])
        }
        CodePage::Cp1256 => single_byte(encoding_rs::WINDOWS_1256, &[]),
        CodePage::Cp1257 => single_byte(encoding_rs::WINDOWS_1257, &[(0xA1, 0xF8FC, 1), (0xA5, 0xF8FD, 1)]),
        CodePage::Cp1258 => single_byte(encoding_rs::WINDOWS_1258, &[]),
        CodePage::Cp932 => Rules {
            encoding: Some(SHIFT_JIS),
            singles: &[(0x80, 0x0080, 1), (0xA0, 0xF8F0, 1), (0xFD, 0xF8F1, 3)],
            leads: Some(&[(0x81, 0x9F), (0xE0, 0xFC)]),
            user_defined: &[UserDefined {
                leads: (0xF0, 0xF9),
                trails: &[(0x40, 0x7E), (0x80, 0xFC)],
                skip: 0,
                first: 0xE000,
            }],
            ..NONE
        },
        CodePage::Cp936 => Rules {
            encoding: Some(GBK),
            singles: &[(0x80, 0x20AC, 1), (0xFF, 0xF8F5, 1)],
            leads: Some(&[(0x81, 0xFE)]),
            user_defined: &[
                UserDefined { leads: (0xAA, 0xAF), trails: &[(0xA1, 0xFE)], skip: 0, first: 0xE000 },
                UserDefined { leads: (0xF8, 0xFE), trails: &[(0xA1, 0xFE)], skip: 0, first: 0xE234 },
                UserDefined {
                    leads: (0xA1, 0xA7),
                    trails: &[(0x40, 0x7E), (0x80, 0xA0)],
                    skip: 0,
                    first: 0xE4C6,
                },
            ],
            absent: CP936_ABSENT,
            ..NONE
        },
        CodePage::Cp949 => Rules {
            encoding: Some(EUC_KR),
            singles: &[(0x80, 0x0080, 1), (0xFF, 0xF8F7, 1)],
            leads: Some(&[(0x81, 0xFE)]),
            user_defined: &[
                UserDefined { leads: (0xC9, 0xC9), trails: &[(0xA1, 0xFE)], skip: 0, first: 0xE000 },
                UserDefined { leads: (0xFE, 0xFE), trails: &[(0xA1, 0xFE)], skip: 0, first: 0xE05E },
            ],
            ..NONE
        },
        CodePage::Cp950 => Rules {
            encoding: Some(BIG5),
            singles: &[(0x80, 0x0080, 1), (0xFF, 0xF8F8, 1)],
            leads: Some(&[(0x81, 0xFE)]),
            user_defined: &[
                UserDefined { leads: (0xFA, 0xFE), trails: BIG5_TRAILS, skip: 0, first: 0xE000 },
                UserDefined { leads: (0x8E, 0xA0), trails: BIG5_TRAILS, skip: 0, first: 0xE311 },
                UserDefined { leads: (0x81, 0x8D), trails: BIG5_TRAILS, skip: 0, first: 0xEEB8 },
                // C6A1 is the 64th character of its row.
                UserDefined { leads: (0xC6, 0xC8), trails: BIG5_TRAILS, skip: 63, first: 0xF6B1 },
            ],
            absent: CP950_ABSENT,
            ..NONE
        },
    })
}

const BIG5_TRAILS: &[(u8, u8)] = &[(0x40, 0x7E), (0xA1, 0xFE)];

/// Codes that GB 18030 gave characters which code page 936 does not have.
const CP936_ABSENT: &[(u16, u16)] = &[
    (0xA2E3, 0xA2E3),
    (0xA6D9, 0xA6DF),
    (0xA6EC, 0xA6ED),
    (0xA6F3, 0xA6F3),
    (0xA8BC, 0xA8BC),
    (0xA8BF, 0xA8BF),
    (0xA989, 0xA995),
    (0xFE50, 0xFEA0),
];

/// The control pictures that ETEN's Big5 has and code page 950 has not.
const CP950_ABSENT: &[(u16, u16)] = &[(0xA3C0, 0xA3E0)];
