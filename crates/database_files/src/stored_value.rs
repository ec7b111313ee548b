//! Values as pages store them, in the form in which a server sends them.

use tds::SqlType;

/// The way from the bytes of a value on a page to those of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// Both have the same bytes.
    Same,
    /// The two halves change places: money, whose high half travels first, and dates before times.
    SwapHalves,
    /// A value with its own type before it.
    Variant,
}

impl Conversion {
    /// Returns the conversion of a type.
    pub(crate) fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Money | SqlType::DateTime | SqlType::SmallDateTime => Self::SwapHalves,
            SqlType::SqlVariant => Self::Variant,
            _ => Self::Same,
        }
    }

    /// Returns the value of the wire. `into` is a buffer for values that change.
    ///
    /// # Errors
    /// A variant holds what is not read, by its reason.
    pub(crate) fn apply<'a>(self, value: &'a [u8], into: &'a mut Vec<u8>) -> Result<&'a [u8], String> {
        match self {
            Self::Same => return Ok(value),
            Self::SwapHalves => swap_halves(value, into),
            Self::Variant => variant(value, into)?,
        }
        Ok(into)
    }
}

fn swap_halves(value: &[u8], into: &mut Vec<u8>) {
    let (first, second) = value.split_at(value.len() / 2);
    into.clear();
    into.extend(second);
    into.extend(first);
}

/// Reads a variant: its type's number, a version, properties, the value.
fn variant(value: &[u8], into: &mut Vec<u8>) -> Result<(), String> {
    let (Some(&number), Some(&1)) = (value.first(), value.get(1)) else {
        return Err("a sql_variant of an unknown form".to_owned());
    };
    let properties = match number {
        36 | 40 | 48 | 52 | 56 | 58..=62 | 104 | 122 | 127 => 0,
        41..=43 => 1,
        106 | 108 => 2,
        _ => {
            return Err(format!("a sql_variant with a value of the type number {number}, which is not read"));
        }
    };
    let (token, swaps) = match number {
        58 => (0x3a, true),
        60 => (0x3c, true),
        61 => (0x3d, true),
        36 => (0x24, false),
        40 => (0x28, false),
        41 => (0x29, false),
        42 => (0x2a, false),
        43 => (0x2b, false),
        48 => (0x30, false),
        52 => (0x34, false),
        56 => (0x38, false),
        59 => (0x3b, false),
        62 => (0x3e, false),
        104 => (0x32, false),
        106 => (0x6a, false),
        108 => (0x6c, false),
        122 => (0x7a, false),
        _ => (0x7f, false),
    };
    let rest = value.get(2..).unwrap_or_default();
    let (kept, rest) = rest.split_at_checked(properties).ok_or("a sql_variant that ends in its type")?;
    into.clear();
    into.extend([token, properties as u8]);
    into.extend(kept);
    let (first, second) = rest.split_at(if swaps { rest.len() / 2 } else { 0 });
    into.extend(second);
    into.extend(first);
    Ok(())
}
