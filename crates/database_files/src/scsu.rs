//! The Standard Compression Scheme for Unicode (Unicode Technical Standard 6), in which compressed rows hold `nchar` and `nvarchar`.

/// Offsets of the dynamic windows at the beginning.
const DYNAMIC: [u32; 8] = [0x80, 0xc0, 0x400, 0x600, 0x900, 0x3040, 0x30a0, 0xff00];
/// Offsets of the static windows.
const STATIC: [u32; 8] = [0, 0x80, 0x100, 0x300, 0x2000, 0x2080, 0x2100, 0x3000];
/// Offsets of windows that begin at no multiple of 128, from the byte F9 on.
const SPECIAL: [u32; 7] = [0xc0, 0x250, 0x370, 0x530, 0x3040, 0x30a0, 0xff60];

/// Appends the text as UTF-16, little-endian. None: bytes that are no such text.
pub(crate) fn expand(bytes: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let mut text = Text { bytes, windows: DYNAMIC, active: 0, is_unicode: false };
    while let Some(byte) = text.next() {
        match text.is_unicode {
            true => text.in_unicode_mode(byte, into)?,
            false => text.in_byte_mode(byte, into)?,
        }
    }
    Some(())
}

struct Text<'a> {
    bytes: &'a [u8],
    windows: [u32; 8],
    active: usize,
    is_unicode: bool,
}

impl Text<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn in_byte_mode(&mut self, byte: u8, into: &mut Vec<u8>) -> Option<()> {
        match byte {
            0x80.. => push(self.window(self.active)? + u32::from(byte & 0x7f), into),
            0x00 | 0x09 | 0x0a | 0x0d | 0x20..=0x7f => push(u32::from(byte), into),
            // One character of another window.
            0x01..=0x08 => {
                let window = usize::from(byte - 1);
                match self.next()? {
                    of @ 0x80.. => push(self.window(window)? + u32::from(of & 0x7f), into),
                    of => push(STATIC.get(window)? + u32::from(of), into),
                }
            }
            0x0b => self.define_extended(),
            0x0e => self.unit(into),
            0x0f => {
                self.is_unicode = true;
                Some(())
            }
            0x10..=0x17 => {
                self.active = usize::from(byte - 0x10);
                Some(())
            }
            0x18..=0x1f => self.define(usize::from(byte - 0x18)),
            _ => None,
        }
    }

    fn in_unicode_mode(&mut self, byte: u8, into: &mut Vec<u8>) -> Option<()> {
        match byte {
            0xe0..=0xe7 => {
                self.is_unicode = false;
                self.active = usize::from(byte - 0xe0);
                Some(())
            }
            0xe8..=0xef => {
                self.is_unicode = false;
                self.define(usize::from(byte - 0xe8))
            }
            0xf0 => self.unit(into),
            0xf1 => {
                self.is_unicode = false;
                self.define_extended()
            }
            0xf2 => None,
            high => {
                let low = self.next()?;
                into.extend([low, high]);
                Some(())
            }
        }
    }

    /// Copies one unit, whose high byte comes first.
    fn unit(&mut self, into: &mut Vec<u8>) -> Option<()> {
        let (high, low) = (self.next()?, self.next()?);
        into.extend([low, high]);
        Some(())
    }

    fn window(&self, window: usize) -> Option<u32> {
        self.windows.get(window).copied()
    }

    fn define(&mut self, window: usize) -> Option<()> {
        let offset = match u32::from(self.next()?) {
            byte @ 0x01..=0x67 => byte * 0x80,
            byte @ 0x68..=0xa7 => byte * 0x80 + 0xac00,
            byte @ 0xf9..=0xff => *SPECIAL.get(byte as usize - 0xf9)?,
            _ => return None,
        };
        *self.windows.get_mut(window)? = offset;
        self.active = window;
        Some(())
    }

    /// Defines a window beyond the first plane: three bits name it, thirteen its offset.
    fn define_extended(&mut self) -> Option<()> {
        let (high, low) = (self.next()?, self.next()?);
        let window = usize::from(high >> 5);
        *self.windows.get_mut(window)? = 0x1_0000 + 0x80 * (u32::from(high & 0x1f) << 8 | u32::from(low));
        self.active = window;
        Some(())
    }
}

fn push(character: u32, into: &mut Vec<u8>) -> Option<()> {
    match u16::try_from(character) {
        Ok(unit) => into.extend(unit.to_le_bytes()),
        Err(_) => {
            let mut units = [0; 2];
            for unit in char::from_u32(character)?.encode_utf16(&mut units) {
                into.extend(unit.to_le_bytes());
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::little_endian::utf16;

    fn text(bytes: &[u8]) -> String {
        let mut units = Vec::new();
        expand(bytes, &mut units).unwrap();
        utf16(&units)
    }

    #[test]
    fn the_samples_of_the_standard_are_read() {
        // UTS 6, section 9: German, Russian, and characters of all kinds.
        assert_eq!(text(&[0xd6, 0x6c, 0x20, 0x66, 0x6c, 0x69, 0x65, 0xdf, 0x74]), "Öl fließt");
        assert_eq!(text(&[0x12, 0x9c, 0xbe, 0xc1, 0xba, 0xb2, 0xb0]), "Москва");
        let all = [
            0x41, 0xdf, 0x12, 0x81, 0x03, 0x5f, 0x10, 0xdf, 0x1b, 0x03, 0xdf, 0x1c, 0x88, 0x80, 0x0b, 0xbf,
            0xff, 0xff, 0x0d, 0x0a, 0x41, 0x10, 0xdf, 0x12, 0x81, 0x03, 0x5f, 0x10, 0xdf, 0x13, 0xdf, 0x14,
            0x80, 0x15, 0xff,
        ];
        let wanted =
            "Aß\u{401}\u{15f}ß\u{1df}\u{f000}\u{10ffff}\r\nAß\u{401}\u{15f}ß\u{1df}\u{f000}\u{10ffff}";
        assert_eq!(text(&all), wanted);
    }

    #[test]
    fn units_of_two_bytes_are_read() {
        assert_eq!(text(&[0x0e, 0x4e, 0x2d, 0x41]), "中A");
        assert_eq!(text(&[0x0f, 0x4e, 0x2d, 0x65, 0x87, 0xe0, 0x41]), "中文A");
        assert_eq!(text(&[0x0f, 0xf0, 0xe0, 0x01, 0xe8, 0x08, 0x90]), "\u{e001}\u{410}");
    }

    #[test]
    fn what_ends_early_is_none() {
        for bytes in
            [&[0x0e, 0x4e][..], &[0x0c], &[0x18], &[0x18, 0x00], &[0x01], &[0x0f, 0x4e], &[0x0b, 0xff]]
        {
            assert_eq!(expand(bytes, &mut Vec::new()), None, "{bytes:x?}");
        }
    }
}
