//! PARSE and TRY_PARSE: numbers, moneys and dates as a culture writes them.

use tds::SqlType;
use tsql::SqlError;

use super::culture::Culture;
use crate::datum::Datum;
use crate::facts::Facts;
use crate::functions::function::Call;
use crate::functions::{strict, wide_text};
use crate::running;
use crate::typed::Typed;
use crate::types::is_numeric;

/// Binds a call. The second argument has the wanted type.
///
/// Errors: 10761 for a type that is neither a number nor a date; 9819 for a text that is none, 9818 for an unknown culture.
pub(super) fn parse(call: &Call<'_, dyn Facts>, lenient: bool) -> Result<Typed, SqlError> {
    let [text, wanted] = call.take()?;
    let sql_type = wanted.sql_type;
    let name = if lenient { "TRY_PARSE" } else { "PARSE" };
    if !(sql_type.is_temporal() || is_numeric(&sql_type)) || sql_type == SqlType::Bit {
        let text = format!("Invalid data type {sql_type} in function {name}.");
        return Err(SqlError::new(10_761, 15, 1, text));
    }
    let own = Datum::Text(running::language().culture.to_owned());
    let culture = call.argument_or(2, own, super::name_type())?;
    let key = format!("{name}_{sql_type}");
    let target = sql_type.clone();
    let arguments = vec![(text, wide_text()), (culture, super::name_type())];
    let mut typed = strict(&key, arguments, sql_type, move |values| {
        let [Datum::Text(text), Datum::Text(culture)] = values else { return Ok(Datum::Null) };
        let known = Culture::named(culture)?;
        let invariant = match target.is_temporal() {
            true => moment(text, known),
            false => number(text, known),
        };
        let value = invariant
            .and_then(|text| crate::convert::convert(Datum::Text(text), &wide_text(), &target, 0).ok());
        match value {
            Some(value) => Ok(value),
            None if lenient => Ok(Datum::Null),
            None => {
                let text = format!(
                    "Error converting string value '{text}' into data type {} using culture '{culture}'.",
                    crate::convert::type_name(&target)
                );
                Err(SqlError::new(9819, 16, 1, text))
            }
        }
    })?;
    typed.nullable = true;
    Ok(typed)
}

/// The number as T-SQL writes it; None if there is more than digits, separators, signs and the currency.
fn number(text: &str, culture: &Culture) -> Option<String> {
    let text = text.trim().replace(culture.currency, "");
    let text = text.trim();
    let (text, bracketed) = match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inside) => (inside.trim(), true),
        None => (text, false),
    };
    let (text, signed) = match text.strip_prefix('-').or_else(|| text.strip_suffix('-')) {
        Some(rest) => (rest.trim(), true),
        None => (text.strip_prefix('+').unwrap_or(text).trim(), false),
    };
    if bracketed && signed {
        return None;
    }
    let (whole, fraction) = text.split_once(culture.point).unwrap_or((text, ""));
    // A blank of any kind may separate groups where a hard one does.
    let is_blank = culture.group == "\u{A0}";
    let whole: String =
        whole.replace(culture.group, "").chars().filter(|ch| !(is_blank && *ch == ' ')).collect();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let some = !(whole.is_empty() && fraction.is_empty());
    let sign = if bracketed || signed { "-" } else { "" };
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let whole = if whole.is_empty() { "0" } else { whole.as_str() };
    (some && digits(whole) && digits(fraction)).then(|| format!("{sign}{whole}{point}{fraction}"))
}

/// The moment with its date as `yyyy-MM-dd`; None if the text has words of no meaning.
fn moment(text: &str, culture: &Culture) -> Option<String> {
    let text = text.trim();
    // ISO 8601 is read alike everywhere.
    if text
        .get(..5)
        .is_some_and(|year| year.ends_with('-') && year.bytes().take(4).all(|b| b.is_ascii_digit()))
    {
        return Some(text.to_owned());
    }
    let (mut numbers, mut month, mut rest) = (Vec::new(), None, Vec::new());
    for word in text.split(|ch: char| ch.is_whitespace() || ch == ',').filter(|word| !word.is_empty()) {
        let lower = word.to_lowercase();
        let named = (1..=12).find(|at| is_month(culture, *at, &lower));
        let parts: Vec<&str> =
            word.split(['/', '-', '.', '年', '月', '日']).filter(|part| !part.is_empty()).collect();
        let digits =
            !parts.is_empty() && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(named) = named.filter(|_| month.is_none() && !digits) {
            month = Some(named);
        } else if digits && !word.contains(':') && numbers.len() + parts.len() <= 3 {
            numbers.extend(parts);
        } else if !is_day(culture, &lower) && lower != "de" && lower != "den" {
            rest.push(word);
        }
    }
    let date = match (month, numbers.as_slice()) {
        (None, []) => return Some(rest.join(" ")),
        (Some(month), [one, other]) if one.len() == 4 => (*one, month.to_string(), *other),
        (Some(month), [day, year]) => (*year, month.to_string(), *day),
        (Some(month), [year]) => (*year, month.to_string(), "1"),
        (None, [first, second, third]) => {
            let short = culture.patterns.short_date;
            let place = |letter: char| short.find(letter).unwrap_or_default();
            let (day, month, year) = (place('d'), place('M'), place('y'));
            match () {
                () if first.len() == 4 || (year < day && year < month) => {
                    (*first, (*second).to_owned(), *third)
                }
                () if day < month => (*third, (*second).to_owned(), *first),
                () => (*third, (*first).to_owned(), *second),
            }
        }
        _ => return None,
    };
    let (year, month, day) = date;
    let year: u32 = match (year.len(), year.parse::<u32>().ok()?) {
        (4, year) => year,
        (_, year @ 0..=49) => year + 2000,
        (_, year @ 50..=99) => year + 1900,
        _ => return None,
    };
    let date = format!("{year:04}-{month:0>2}-{day:0>2}");
    Some(if rest.is_empty() { date } else { format!("{date} {}", rest.join(" ")) })
}

fn is_month(culture: &Culture, month: u32, word: &str) -> bool {
    let long = usize::try_from(month).ok().and_then(|at| culture.months.get(at - 1));
    let named = |name: &str| name.to_lowercase() == word || name.trim_end_matches('.').to_lowercase() == word;
    long.is_some_and(|name| named(name)) || culture.short_month(month).is_some_and(named)
}

fn is_day(culture: &Culture, word: &str) -> bool {
    (0..7).any(|day| {
        let long = culture.days.get(day).is_some_and(|name| name.to_lowercase() == word);
        let short = culture.short_day(day).map(|name| name.trim_end_matches('.').to_lowercase());
        long || short.is_some_and(|short| short == word.trim_end_matches('.'))
    })
}
