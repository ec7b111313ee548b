//! `money` and `smallmoney`: ten-thousandths, written with a currency sign and thousands commas.

use tds::currency::CURRENCY_SIGNS;

use super::{ParseOptions, TextError, number::exact, trim_blanks};

const MONEY: TextError = TextError::Syntax { expected: "an amount of money" };
const SCALE: u8 = 4;

/// Parses a `money` in units of 10^-4.
///
/// Accepts surrounding blanks, a sign before or after one currency sign, and commas among the
/// digits before the point. Digits after the fourth decimal must be zeros unless rounding is allowed.
pub fn money(text: &str, options: &ParseOptions) -> Result<i64, TextError> {
    let units = units(text, options)?;
    i64::try_from(units).map_err(|_| TextError::OutOfRange { target: "money" })
}

/// Parses a `smallmoney` in units of 10^-4; the spelling is that of [`money`].
pub fn smallmoney(text: &str, options: &ParseOptions) -> Result<i32, TextError> {
    let units = units(text, options)?;
    i32::try_from(units).map_err(|_| TextError::OutOfRange { target: "smallmoney" })
}

fn units(text: &str, options: &ParseOptions) -> Result<i128, TextError> {
    let trimmed = trim_blanks(text);
    let plain = trimmed.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+'));
    let value = if plain {
        exact(trimmed, SCALE, MONEY, options.allow_rounding)
    } else {
        exact(undecorated(text)?.as_bytes(), SCALE, MONEY, options.allow_rounding)
    };
    value.map_err(|error| match error {
        TextError::OutOfRange { .. } => TextError::OutOfRange { target: "money" },
        other => other,
    })
}

/// Returns the amount without currency sign, commas and the blanks between them.
fn undecorated(text: &str) -> Result<String, TextError> {
    let mut plain = String::with_capacity(text.len());
    let (mut sign, mut currency, mut started, mut point) = (false, false, false, false);
    for character in text.trim_matches([' ', '\t']).chars() {
        match character {
            '0'..='9' => started = true,
            '.' if !point => (started, point) = (true, true),
            ',' if started && !point => continue,
            '-' | '+' if !started && !sign => sign = true,
            ' ' if !started => continue,
            other if !started && !currency && CURRENCY_SIGNS.contains(&other) => {
                currency = true;
                continue;
            }
            _ => return Err(MONEY),
        }
        plain.push(character);
    }
    if started { Ok(plain) } else { Err(MONEY) }
}
