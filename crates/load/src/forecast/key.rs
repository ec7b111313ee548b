//! Keys as bytes that order about as a server orders them: exactly but for text, where accents count more.

use super::{sample::Values, shrunk::trimmed, stored_kind::StoredKind};

/// A column of a key.
pub(super) struct KeyColumn<'a> {
    pub kind: StoredKind,
    pub values: &'a Values,
    pub descending: bool,
    pub ignores_case: bool,
}

/// Sorts the rows by a key, and tells for each if its key is that of the row before it.
pub(super) fn sorted(columns: &[KeyColumn<'_>], rows: usize) -> (Vec<u32>, Vec<bool>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows + 1));
    ends.push(0_usize);
    for row in 0..rows {
        for column in columns {
            let start = bytes.len();
            column.write(row, &mut bytes);
            if column.descending {
                bytes.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
            }
        }
        ends.push(bytes.len());
    }
    let key = |row: u32| {
        let row = row as usize;
        let (start, end) = (ends.get(row).copied().unwrap_or(0), ends.get(row + 1).copied().unwrap_or(0));
        bytes.get(start..end).unwrap_or_default()
    };
    let mut order: Vec<u32> = (0..u32::try_from(rows).unwrap_or(u32::MAX)).collect();
    order.sort_by(|one, other| key(*one).cmp(key(*other)));
    let mut before: Option<&[u8]> = None;
    let repeats = order.iter().map(|row| before.replace(key(*row)) == Some(key(*row))).collect();
    (order, repeats)
}

impl KeyColumn<'_> {
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        let Some(value) = self.values.get(row) else { return out.push(0) };
        out.push(1);
        let start = out.len();
        match self.kind {
            StoredKind::Integer(_) => {
                out.extend(value.iter().rev());
                flip_sign(out, start);
            }
            StoredKind::Float(_) => {
                out.extend(value.iter().rev());
                match out.get(start).is_some_and(|byte| *byte >= 0x80) {
                    true => out.iter_mut().skip(start).for_each(|byte| *byte = !*byte),
                    false => flip_sign(out, start),
                }
            }
            StoredKind::Decimal { .. } => {
                out.extend_from_slice(value.get(..1).unwrap_or_default());
                let is_negative = value.first() == Some(&0);
                let digits = value.iter().skip(1).rev();
                out.extend(digits.map(|byte| if is_negative { !*byte } else { *byte }));
            }
            // Dates and times: the date is behind the time. A bit or a tinyint is one byte.
            StoredKind::Fixed(bytes) if bytes != 16 => out.extend(value.iter().rev()),
            kind if kind.is_utf16() => {
                let units = trimmed(value, &[b' ', 0]).as_chunks::<2>().0.iter();
                out.extend(units.flat_map(|unit| self.folded(u16::from_le_bytes(*unit)).to_be_bytes()));
                out.extend_from_slice(&[0, 0]);
            }
            kind if kind.is_text() => {
                let bytes = trimmed(value, b" ").iter();
                out.extend(
                    bytes.map(|byte| if self.ignores_case { byte.to_ascii_lowercase() } else { *byte }),
                );
                out.push(0);
            }
            _ => out.extend_from_slice(value),
        }
    }

    fn folded(&self, unit: u16) -> u16 {
        match char::from_u32(unit.into()).filter(|_| self.ignores_case) {
            Some(letter) => {
                let lower = letter.to_lowercase().next().map_or(u32::from(unit), u32::from);
                u16::try_from(lower).unwrap_or(unit)
            }
            None => unit,
        }
    }
}

fn flip_sign(bytes: &mut [u8], at: usize) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 0x80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(kind: StoredKind, values: &[Option<&[u8]>], descending: bool) -> (Vec<u32>, Vec<bool>) {
        let values: Values = values.iter().copied().collect();
        let key = KeyColumn { kind, values: &values, descending, ignores_case: true };
        sorted(&[key], values.len())
    }

    #[test]
    fn keys_order_as_their_values_do() {
        let numbers = [5_i32, -1, 300, 5].map(i32::to_le_bytes);
        let numbers: Vec<Option<&[u8]>> = numbers.iter().map(|number| Some(number.as_slice())).collect();
        let kind = StoredKind::Integer(4);
        assert_eq!(order(kind, &numbers, false), (vec![1, 0, 3, 2], vec![false, false, true, false]));
        assert_eq!(order(kind, &numbers, true).0, [2, 0, 3, 1]);
        let floats = [1.5_f64, -2.0, 0.0, -3.0].map(f64::to_le_bytes);
        let floats: Vec<Option<&[u8]>> = floats.iter().map(|number| Some(number.as_slice())).collect();
        assert_eq!(order(StoredKind::Float(8), &floats, false).0, [3, 1, 2, 0]);
        let text = StoredKind::Variable { limit_bytes: Some(9), is_unicode: false };
        let texts: [Option<&[u8]>; 4] = [Some(b"b"), Some(b"A "), None, Some(b"a")];
        assert_eq!(order(text, &texts, false), (vec![2, 1, 3, 0], vec![false, false, true, false]));
    }
}
