//! The regional settings of `-R`: those of the locale that the environment names, by the tables of the GNU C library.

use std::env;
use std::sync::Arc;

use formats::bcp::{DatePart, RegionalFormat};
use pure_rust_locales::{Locale, locale_match};

/// An error in the regional settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocaleError {
    /// The variable names a locale that no table describes.
    #[error("-R: {variable}={name} names no known locale (de_DE and en_GB, for instance, are known)")]
    Unknown {
        /// The variable.
        variable: &'static str,
        /// The name of the unknown locale.
        name: String,
    },
    /// No variable names a locale, and the system cannot be asked.
    #[error("-R: name the locale in LC_ALL, such as LC_ALL=de_DE: the settings of Windows are not read")]
    Unnamed,
}

/// Returns the regional settings of this process.
///
/// # Errors
/// A locale that is not known.
pub fn regional_format() -> Result<Arc<RegionalFormat>, LocaleError> {
    let variable = |name: &str| env::var(name).ok();
    Ok(Arc::new(format_of(variable, cfg!(windows))?))
}

/// Chooses money by LC_MONETARY, dates and times by LC_TIME; LC_ALL overrules both, LANG stands in for both.
fn format_of(
    variable: impl Fn(&str) -> Option<String>,
    must_be_named: bool,
) -> Result<RegionalFormat, LocaleError> {
    let locale = |category: &'static str| {
        let named = ["LC_ALL", category, "LANG"].into_iter().find_map(|name| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some((name, value))
        });
        match named {
            Some((variable, name)) => locale_of(&name).ok_or(LocaleError::Unknown { variable, name }),
            None if must_be_named => Err(LocaleError::Unnamed),
            None => Ok(Locale::POSIX),
        }
    };
    let (money, time) = (locale("LC_MONETARY")?, locale("LC_TIME")?);
    let decimal_point = locale_match!(money => LC_MONETARY::MON_DECIMAL_POINT);
    let grouping = locale_match!(money => LC_MONETARY::MON_GROUPING);
    let months = locale_match!(time => LC_TIME::MON);
    let short_months = locale_match!(time => LC_TIME::ABMON);
    let half_days = locale_match!(time => LC_TIME::AM_PM);
    let half_day = |index: usize| half_days.get(index).copied().unwrap_or_default().to_owned();
    Ok(RegionalFormat {
        // POSIX has none; numbers have a point there.
        decimal_point: if decimal_point.is_empty() { "." } else { decimal_point }.to_owned(),
        thousands_separator: locale_match!(money => LC_MONETARY::MON_THOUSANDS_SEP).to_owned(),
        grouping: grouping.iter().filter_map(|length| usize::try_from(*length).ok()).collect(),
        currency_symbols: vec![
            locale_match!(money => LC_MONETARY::CURRENCY_SYMBOL).trim().to_owned(),
            locale_match!(money => LC_MONETARY::INT_CURR_SYMBOL).trim().to_owned(),
        ],
        negative_sign: locale_match!(money => LC_MONETARY::NEGATIVE_SIGN).to_owned(),
        date_order: order_of(locale_match!(time => LC_TIME::D_FMT)),
        months: months
            .iter()
            .zip(short_months)
            .map(|(full, short)| [(*full).to_owned(), (*short).trim().to_owned()])
            .collect(),
        half_days: [half_day(0), half_day(1)],
    })
}

/// Finds a locale such as `de_DE.UTF-8@euro`, without the parts that are not about its settings. `C` is another name of
/// POSIX.
fn locale_of(name: &str) -> Option<Locale> {
    let (language, variant) = name.split_once('@').unwrap_or((name, ""));
    let language = language.split('.').next().unwrap_or_default().replace('-', "_");
    match language.as_str() {
        "C" | "POSIX" => Some(Locale::POSIX),
        language => {
            let with_variant = format!("{language}@{variant}");
            with_variant.parse().ok().filter(|_| !variant.is_empty()).or_else(|| language.parse().ok())
        }
    }
}

/// Returns the order of day, month and year in a date format of the C library.
fn order_of(format: &str) -> [DatePart; 3] {
    let mut parts = format.split('%').skip(1).flat_map(|directive| {
        match directive.trim_start_matches(['-', '_', '0', 'E', 'O']).chars().next() {
            Some('d' | 'e') => vec![DatePart::Day],
            Some('m' | 'b' | 'B' | 'h') => vec![DatePart::Month],
            Some('y' | 'Y' | 'G') => vec![DatePart::Year],
            Some('F') => vec![DatePart::Year, DatePart::Month, DatePart::Day],
            Some('D') => vec![DatePart::Month, DatePart::Day, DatePart::Year],
            _ => Vec::new(),
        }
    });
    let order = [parts.next(), parts.next(), parts.next()];
    match order {
        [Some(first), Some(second), Some(third)] if first != second && second != third && first != third => {
            [first, second, third]
        }
        // A calendar of its own: dates without a locale are still taken.
        _ => [DatePart::Year, DatePart::Month, DatePart::Day],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<RegionalFormat, LocaleError> {
        let variable = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        format_of(variable, false)
    }

    #[test]
    fn locales_write_money_and_dates_in_their_own_way() {
        use DatePart::{Day, Month, Year};
        let table = [
            ("de_DE.UTF-8", ",", ".", "€", [Day, Month, Year]),
            ("fr_FR", ",", "\u{202f}", "€", [Day, Month, Year]),
            ("en_US.UTF-8", ".", ",", "$", [Month, Day, Year]),
            ("en_GB", ".", ",", "£", [Day, Month, Year]),
            ("sv_SE.ISO-8859-1", ",", "\u{202f}", "kr", [Year, Month, Day]),
            ("ja-JP", ".", ",", "￥", [Year, Month, Day]),
            ("C", ".", "", "", [Month, Day, Year]),
        ];
        for (name, point, separator, symbol, order) in table {
            let format = of(&[("LC_ALL", name), ("LANG", "it_IT")]).unwrap();
            let facts = (format.decimal_point.as_str(), format.thousands_separator.as_str());
            assert_eq!(facts, (point, separator), "{name}");
            assert_eq!((format.currency_symbols[0].as_str(), format.date_order), (symbol, order), "{name}");
        }
        assert_eq!(of(&[]).unwrap(), of(&[("LANG", "C.UTF-8")]).unwrap());
    }

    #[test]
    fn categories_may_differ_and_unknown_names_are_refused() {
        let mixed = of(&[("LC_MONETARY", "de_DE"), ("LANG", "en_US")]).unwrap();
        assert_eq!((mixed.decimal_point.as_str(), mixed.date_order[0]), (",", DatePart::Month));
        let unknown = of(&[("LANG", "xx_YY")]).unwrap_err();
        assert_eq!(unknown, LocaleError::Unknown { variable: "LANG", name: "xx_YY".to_owned() });
        assert_eq!(format_of(|_| None, true).unwrap_err(), LocaleError::Unnamed);
    }
}
