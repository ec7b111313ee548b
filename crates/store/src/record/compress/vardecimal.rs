//! Decimal numbers without the digits that they do not need.
//!
//! A sign bit (80: not negative) with the exponent of the first digit plus 64, then the digits from the first one on, three to ten
//! bits, without zeros at the end. Zero has no bytes at all. 123.456 is `C2 1E DC 80`.

/// Digits of a group.
const GROUP_DIGITS: i32 = 3;
const GROUP_BITS: usize = 10;
/// Groups of 38 digits.
const GROUPS: usize = 13;

/// Appends `value` / 10^`scale`.
pub fn put(value: i128, scale: u8, out: &mut Vec<u8>) {
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return;
    }
    let digits = magnitude.ilog10() as i32 + 1;
    let exponent = digits - 1 - i32::from(scale);
    let sign = if value < 0 { 0 } else { 0x80 };
    out.push(sign | (exponent + 64).clamp(0, 127) as u8);
    let count = (digits as usize).div_ceil(GROUP_DIGITS as usize).min(GROUPS);
    let padding = (count as i32 * GROUP_DIGITS - digits).max(0) as u32;
    let mut groups = [0_u16; GROUPS];
    match u64::try_from(magnitude).ok().filter(|_| digits <= 17) {
        Some(small) => {
            let mut rest = small * 10_u64.pow(padding);
            for group in groups.iter_mut().take(count).rev() {
                *group = (rest % 1000) as u16;
                rest /= 1000;
            }
        }
        None => {
            // 39 digits fit 128 bits only just: the last group is padded apart from the others.
            let unit = 10_u128.pow(GROUP_DIGITS as u32 - padding.min(2));
            let (mut rest, last) = (magnitude / unit, magnitude % unit);
            let mut places = groups.iter_mut().take(count).rev();
            if let Some(group) = places.next() {
                *group = (last * 10_u128.pow(padding)) as u16;
            }
            for group in places {
                *group = (rest % 1000) as u16;
                rest /= 1000;
            }
        }
    }
    let used = groups.iter().rposition(|group| *group != 0).map_or(0, |last| last + 1);
    let (mut bits, mut waiting) = (0_u32, 0);
    for group in groups.iter().take(used) {
        bits = (bits << GROUP_BITS) | u32::from(*group);
        waiting += GROUP_BITS;
        while waiting >= 8 {
            waiting -= 8;
            out.push((bits >> waiting) as u8);
        }
    }
    if waiting > 0 {
        out.push((bits << (8 - waiting)) as u8);
    }
}

/// Reads a number of this scale that [`put`] has written. None: bytes that it never writes, or more digits
/// behind the point.
pub fn read(bytes: &[u8], scale: u8) -> Option<i128> {
    let Some((head, digits)) = bytes.split_first() else { return Some(0) };
    let exponent = i32::from(head & 0x7F) - 64;
    let (mut value, mut count, mut bits, mut waiting) = (0_i128, 0, 0_u32, 0);
    for byte in digits {
        bits = ((bits << 8) | u32::from(*byte)) & 0xFFFF;
        waiting += 8;
        if waiting >= GROUP_BITS {
            waiting -= GROUP_BITS;
            let group = (bits >> waiting) & 0x3FF;
            if group > 999 || count >= GROUPS {
                return None;
            }
            // The 13th group has two digits at most, and zeros.
            if count == GROUPS - 1 {
                if !group.is_multiple_of(10) {
                    return None;
                }
                value = value.checked_mul(100)?.checked_add(i128::from(group / 10))?;
            } else {
                value = value.checked_mul(1000)?.checked_add(i128::from(group))?;
            }
            count += 1;
        }
    }
    let kept = count as i32 * GROUP_DIGITS - i32::from(count == GROUPS);
    // The value has `kept` digits from the exponent down; the number has `exponent + 1 + scale`.
    let shift = exponent + 1 + i32::from(scale) - kept;
    let value = match shift {
        0 => value,
        1..=38 => value.checked_mul(10_i128.pow(shift as u32))?,
        -38..=-1 => {
            let unit = 10_i128.pow(shift.unsigned_abs());
            (value % unit == 0).then_some(value / unit)?
        }
        _ => return None,
    };
    Some(if head & 0x80 != 0 { value } else { -value })
}
