//! Currency, dates and times as a locale writes them (`-R`).
//!
//! Such text is rewritten into the locale-independent form and then read by its rules. Dates and times are also accepted in the
//! locale-independent form, since the documentation of `-R` does not exclude it. Money in that form is refused, since a point may
//! separate thousands.

/// Form of money, dates and times in a locale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionalFormat {
    /// Separates units from their fractions.
    pub decimal_point: String,
    /// Separates thousands; empty if there is no such sign. A blank stands for every kind of blank, an apostrophe for both.
    pub thousands_separator: String,
    /// Digits in the groups before the decimal point, from the last to the first; the last of them repeats.
    pub grouping: Vec<usize>,
    /// Signs of the currency, each with or without blanks between it and the number, in front of it or behind.
    pub currency_symbols: Vec<String>,
    /// Stands before or after a negative amount. Brackets around an amount also make it negative.
    pub negative_sign: String,
    /// The order of day, month and year in a date.
    pub date_order: [DatePart; 3],
    /// Names of the months, January first: in full and shortened, each with or without a point at its end.
    pub months: Vec<[String; 2]>,
    /// The marks of the hours before and after noon.
    pub half_days: [String; 2],
}

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatePart {
    /// Day of the month.
    Day,
    /// Month of the year.
    Month,
    /// The year, of four digits or of two: as in SQL Server, 49 and below are in this century.
    Year,
}

impl RegionalFormat {
    /// Rewrites an amount of money as a plain number: sign, digits, point, digits. `None` if the locale does
    /// not write it so.
    pub fn plain_money(&self, text: &str) -> Option<String> {
        let mut negative = false;
        let mut signed = false;
        let mut priced = false;
        let mut rest = text.trim();
        if let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            (negative, signed, rest) = (true, true, inside.trim());
        }
        // Sign and symbol stand on either side, in either order.
        loop {
            if !signed && let Some(inner) = self.without_sign(rest, &mut negative) {
                (signed, rest) = (true, inner);
            } else if !priced && let Some(inner) = self.without_symbol(rest) {
                (priced, rest) = (true, inner);
            } else {
                break;
            }
        }
        let (whole, fraction) = match rest.split_once(self.decimal_point.as_str()) {
            Some(parts) if !self.decimal_point.is_empty() => parts,
            _ => (rest, ""),
        };
        let digits = self.ungrouped(whole)?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !plain(&digits) || !plain(fraction) || (digits.is_empty() && fraction.is_empty()) {
            return None;
        }
        let sign = if negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        Some(format!("{sign}{digits}{point}{fraction}"))
    }

    /// Rewrites a date, a time of day, or both, with or without an offset, as the same parts of `yyyy-mm-dd
    /// hh:mm:ss.fffffff +hh:mm`. `None` if the locale does not write it so.
    pub fn plain_moment(&self, text: &str) -> Option<String> {
        let text = text.trim();
        if is_plain(text) {
            return Some(text.to_owned());
        }
        let (text, offset) = without_offset(text);
        let (date, time) = match text.find(':') {
            Some(colon) => {
                let head = text.get(..colon)?;
                let digits = head.len() - head.trim_end_matches(|c: char| c.is_ascii_digit()).len();
                text.split_at(colon - digits)
            }
            None => (text, ""),
        };
        let date = match date.trim().trim_end_matches(['T', ',']) {
            "" => String::new(),
            date => self.plain_date(date)?,
        };
        let time = if time.is_empty() { String::new() } else { self.plain_time(time.trim())? };
        let blank = if date.is_empty() || time.is_empty() { "" } else { " " };
        let plain = format!("{date}{blank}{time}");
        match (plain.is_empty(), offset) {
            (true, _) => None,
            (false, Some(offset)) => Some(format!("{plain} {offset}")),
            (false, None) => Some(plain),
        }
    }

    fn without_sign<'a>(&self, text: &'a str, negative: &mut bool) -> Option<&'a str> {
        let signs = [("-", true), ("\u{2212}", true), ("+", false), (self.negative_sign.as_str(), true)];
        let (rest, is_negative) =
            signs.into_iter().filter(|(sign, _)| !sign.is_empty()).find_map(|(sign, is)| {
                let rest = text.strip_prefix(sign).or_else(|| text.strip_suffix(sign))?;
                Some((rest, is))
            })?;
        *negative = is_negative;
        Some(rest.trim())
    }

    fn without_symbol<'a>(&self, text: &'a str) -> Option<&'a str> {
        let symbols = self.currency_symbols.iter().map(String::as_str).filter(|symbol| !symbol.is_empty());
        let mut found =
            symbols.filter_map(|symbol| text.strip_prefix(symbol).or_else(|| text.strip_suffix(symbol)));
        found.next().map(str::trim)
    }

    /// Joins the digits of groups that are as long as the locale makes them; digits without any groups are
    /// taken too.
    fn ungrouped(&self, whole: &str) -> Option<String> {
        let groups: Vec<&str> = match self.thousands_separator.chars().next() {
            Some(separator) => whole.split(|c| is_same_separator(separator, c)).collect(),
            None => vec![whole],
        };
        let [first, others @ ..] = groups.as_slice() else { return None };
        let mut lengths = self.grouping.iter().copied();
        let mut length = 3;
        for group in others.iter().rev() {
            length = lengths.next().unwrap_or(length);
            if group.len() != length {
                return None;
            }
        }
        let length_first = lengths.next().unwrap_or(length);
        if !others.is_empty() && (first.is_empty() || first.len() > length_first) {
            return None;
        }
        Some(groups.concat())
    }

    fn plain_date(&self, text: &str) -> Option<String> {
        let named = self.with_month_in_figures(text);
        let text = named.as_deref().unwrap_or(text);
        let figures: Vec<&str> =
            text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
        let separators = text.chars().filter(|c| !c.is_ascii_digit());
        if !separators.clone().all(|c| matches!(c, '.' | '/' | '-' | ',') || c.is_whitespace()) {
            return None;
        }
        let [first, second, third] = figures.as_slice() else { return None };
        // A year of four digits in front can only be year, month and day.
        let order = match first.len() {
            4 => [DatePart::Year, DatePart::Month, DatePart::Day],
            _ => self.date_order,
        };
        let part = |wanted: DatePart| -> Option<u32> {
            let at = order.iter().position(|part| *part == wanted)?;
            let figures = *[first, second, third].get(at)?;
            let fits = figures.len() <= 2 || (wanted == DatePart::Year && figures.len() == 4);
            let value = figures.parse().ok().filter(|_| fits)?;
            Some(match (wanted, figures.len()) {
                (DatePart::Year, 1 | 2) if value < 50 => 2000 + value,
                (DatePart::Year, 1 | 2) => 1900 + value,
                _ => value,
            })
        };
        let (year, month, day) = (part(DatePart::Year)?, part(DatePart::Month)?, part(DatePart::Day)?);
        Some(format!("{year:04}-{month:02}-{day:02}"))
    }

    /// Puts the month's number in the place of its name in a date; `None` if no month is named.
    fn with_month_in_figures(&self, text: &str) -> Option<String> {
        let word: String =
            text.chars().skip_while(|c| !c.is_alphabetic()).take_while(|c| c.is_alphabetic()).collect();
        let lower = word.to_lowercase();
        let number = self.months.iter().position(|names| {
            names.iter().any(|name| !lower.is_empty() && name.trim_end_matches('.').to_lowercase() == lower)
        })? + 1;
        let figures: Vec<&str> =
            text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
        let [first, second] = figures.as_slice() else { return None };
        let (day, year) = if first.len() == 4 { (second, first) } else { (first, second) };
        let part = |part: DatePart| match part {
            DatePart::Day => (*day).to_owned(),
            DatePart::Month => number.to_string(),
            DatePart::Year => (*year).to_owned(),
        };
        Some(self.date_order.map(part).join("/"))
    }

    fn plain_time(&self, text: &str) -> Option<String> {
        let end =
            text.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.' | ',')).unwrap_or(text.len());
        let (clock, half) = text.split_at(end);
        let mut fields = clock.split(':');
        let number = |text: &str, limit: u32| -> Option<u32> {
            let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|value| plain && *value <= limit)
        };
        let mut hours = number(fields.next()?, 23)?;
        let minutes = number(fields.next()?, 59)?;
        let (seconds, fraction) = match fields.next() {
            Some(seconds) => seconds.split_once(['.', ',']).unwrap_or((seconds, "")),
            None => ("0", ""),
        };
        let seconds = number(seconds, 59)?;
        if fields.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let half = half.trim();
        if !half.is_empty() {
            let marks = ["AM", "PM"].into_iter().zip(&self.half_days);
            let after_noon = marks.zip([false, true]).find_map(|((english, own), after_noon)| {
                let same = |mark: &str| !mark.is_empty() && mark.to_lowercase() == half.to_lowercase();
                (same(english) || same(own)).then_some(after_noon)
            })?;
            if !(1..=12).contains(&hours) {
                return None;
            }
            hours = hours % 12 + if after_noon { 12 } else { 0 };
        }
        let point = if fraction.is_empty() { "" } else { "." };
        Some(format!("{hours:02}:{minutes:02}:{seconds:02}{point}{fraction}"))
    }
}

/// Returns true if a text begins like those that are read without regard to the locale: `yyyy-` or an escape.
fn is_plain(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.starts_with('{') || (digits == 4 && text.as_bytes().get(4) == Some(&b'-'))
}

/// Splits off `+hh:mm` or `-hh:mm` at the end, behind a time of day.
fn without_offset(text: &str) -> (&str, Option<&str>) {
    let Some(start) = text.len().checked_sub("+00:00".len()) else { return (text, None) };
    match (text.get(..start), text.get(start..)) {
        (Some(rest), Some(offset)) if rest.contains(':') && offset.starts_with(['+', '-']) => {
            (rest.trim_end(), Some(offset))
        }
        _ => (text, None),
    }
}

/// Returns true if two signs look alike and separate alike. A narrow no-break space, for instance, is usually
/// typed as a blank.
fn is_same_separator(wanted: char, found: char) -> bool {
    let apostrophe = |c| matches!(c, '\'' | '’');
    wanted == found
        || (wanted.is_whitespace() && found.is_whitespace())
        || (apostrophe(wanted) && apostrophe(found))
}

#[cfg(test)]
mod tests;
