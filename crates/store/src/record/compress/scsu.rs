//! Unicode compression of `nchar` and `nvarchar`: Unicode Technical Standard 6 in its single-byte mode.
//!
//! ASCII takes a byte per character, most alphabets too after one byte that selects their window. What would not
//! become shorter stays UTF-16. The length distinguishes the two: that of UTF-16 is even. Compressed text is made
//! odd, if need be by a tag at its end that selects the initial window.

/// Quote one unit from a static or dynamic window: 01 to 08.
const QUOTE: u8 = 0x01;
/// Quote one unit in two bytes.
const QUOTE_UNIT: u8 = 0x0E;
/// Select a dynamic window: 10 to 17.
const SELECT: u8 = 0x10;
/// Define a dynamic window and select it: 18 to 1F.
const DEFINE: u8 = 0x18;
/// Units of a window.
const WINDOW: u16 = 0x80;

/// Initial offsets of the dynamic windows.
const DYNAMIC: [u16; 8] = [0x0080, 0x00C0, 0x0400, 0x0600, 0x0900, 0x3040, 0x30A0, 0xFF00];
/// Offsets of the static windows.
const STATIC: [u16; 8] = [0x0000, 0x0080, 0x0100, 0x0300, 0x2000, 0x2080, 0x2100, 0x3000];
/// Offsets of windows that begin at no multiple of 128.
const SPECIAL: [u16; 7] = [0x00C0, 0x0250, 0x0370, 0x0530, 0x3040, 0x30A0, 0xFF60];
/// The byte that names the first of them.
const FIRST_SPECIAL: u8 = 0xF9;

/// Appends the compressed form of UTF-16 (little-endian) if it is shorter. False, and nothing appended, if it is not.
pub fn compress(utf16: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let (units, _) = utf16.as_chunks::<2>();
    let (mut windows, mut active) = (DYNAMIC, 0_usize);
    let mut next_defined = 0_usize;
    for unit in units {
        if out.len() - start >= utf16.len() {
            out.truncate(start);
            return false;
        }
        let unit = u16::from_le_bytes(*unit);
        if is_plain(unit) {
            out.push(unit as u8);
            continue;
        }
        if unit < 0x20 {
            out.extend_from_slice(&[QUOTE, unit as u8]);
            continue;
        }
        if let Some(byte) = in_window(windows[active & 7], unit) {
            out.push(byte);
            continue;
        }
        let known = windows.iter().position(|window| in_window(*window, unit).is_some());
        if let Some(window) = known {
            active = window;
            out.push(SELECT + window as u8);
        } else if let Some(name) = window_name(unit) {
            // Windows are given up in turn.
            active = next_defined;
            next_defined = (next_defined + 1) % 8;
            windows[active & 7] = window_offset(name).unwrap_or(0);
            out.extend_from_slice(&[DEFINE + active as u8, name]);
        } else {
            let [low, high] = unit.to_le_bytes();
            out.extend_from_slice(&[QUOTE_UNIT, high, low]);
            continue;
        }
        out.extend(in_window(windows[active & 7], unit));
    }
    if (out.len() - start).is_multiple_of(2) && out.len() > start {
        out.push(SELECT);
    }
    if out.len() - start < utf16.len() {
        return true;
    }
    out.truncate(start);
    false
}

/// Returns true if `bytes` are compressed text rather than UTF-16.
pub fn is_compressed(bytes: &[u8]) -> bool {
    !bytes.len().is_multiple_of(2)
}

/// Appends the text as UTF-8. None if [`compress`] does not make such bytes.
pub fn expand_utf8(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let text = match bytes {
        [text @ .., SELECT] => text,
        text => text,
    };
    if text.iter().all(|byte| is_plain(u16::from(*byte))) {
        out.extend_from_slice(text);
        return Some(());
    }
    let mut units = Vec::with_capacity(bytes.len());
    expand(bytes, |unit| units.push(unit))?;
    let mut buffer = [0; 4];
    for char in char::decode_utf16(units) {
        out.extend_from_slice(char.ok()?.encode_utf8(&mut buffer).as_bytes());
    }
    Some(())
}

/// Appends the text as UTF-16, little-endian.
pub fn expand_utf16(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    expand(bytes, |unit| out.extend_from_slice(&unit.to_le_bytes()))
}

fn expand(bytes: &[u8], mut each: impl FnMut(u16)) -> Option<()> {
    let (mut windows, mut active) = (DYNAMIC, 0_usize);
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            0x80.. => each(windows[active & 7].checked_add(u16::from(byte - 0x80))?),
            0x00 | 0x09 | 0x0A | 0x0D | 0x20..=0x7F => each(u16::from(byte)),
            0x01..=0x08 => {
                let window = usize::from(byte - QUOTE) & 7;
                match bytes.next()? {
                    low @ 0x80.. => each(windows[window].checked_add(u16::from(low - 0x80))?),
                    low => each(STATIC[window].checked_add(u16::from(low))?),
                }
            }
            QUOTE_UNIT => {
                let (high, low) = (bytes.next()?, bytes.next()?);
                each(u16::from_be_bytes([high, low]));
            }
            0x10..=0x17 => active = usize::from(byte - SELECT),
            0x18..=0x1F => {
                active = usize::from(byte - DEFINE);
                windows[active & 7] = window_offset(bytes.next()?)?;
            }
            // Windows beyond the first plane and the two-byte mode, which are never written.
            _ => return None,
        }
    }
    Some(())
}

/// Returns true for units that stand for themselves.
fn is_plain(unit: u16) -> bool {
    matches!(unit, 0x20..=0x7F | 0x00 | 0x09 | 0x0A | 0x0D)
}

fn in_window(offset: u16, unit: u16) -> Option<u8> {
    unit.checked_sub(offset).filter(|index| *index < WINDOW).map(|index| 0x80 + index as u8)
}

/// Returns the byte that names a window with this unit in it; None: there is none, as for ideographs and
/// surrogates.
fn window_name(unit: u16) -> Option<u8> {
    if let Some(special) = SPECIAL.iter().position(|window| in_window(*window, unit).is_some()) {
        return Some(FIRST_SPECIAL + special as u8);
    }
    match unit {
        0x80..0x3400 => Some((unit / WINDOW) as u8),
        0xE000.. => Some(((unit - 0xAC00) / WINDOW) as u8),
        _ => None,
    }
}

fn window_offset(name: u8) -> Option<u16> {
    match name {
        0x01..=0x67 => Some(u16::from(name) * WINDOW),
        0x68..=0xA7 => Some(u16::from(name) * WINDOW + 0xAC00),
        FIRST_SPECIAL.. => SPECIAL.get(usize::from(name - FIRST_SPECIAL)).copied(),
        _ => None,
    }
}
