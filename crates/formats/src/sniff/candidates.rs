//! Candidates for delimiters of fields and rows, and the evidence against them.

/// Characters that divide fields, in the order in which they are believed.
const SINGLE: &[char] = &[
    ',', ';', '\t', '|', '\u{1}', '\u{1F}', '~', '^', '¦', '§', ':', '\0', '#', '@', '$', '%', '!', '*', '+',
];
/// Single characters that are believed alone; the others only as part of a longer delimiter.
const ALONE: &[char] = &[',', ';', '\t', '|', '\u{1}', '\u{1F}', '~', '^', '¦', '§', ':', '\0'];
/// Delimiters that text files most often have: in a field of another delimiter they are a bad sign.
const USUAL: &[char] = &[',', ';', '\t', '|'];
/// Characters that may stand next to a divider in a delimiter of several characters.
const COMPANIONS: &[char] = &['|', '~', '^', '#', '@', '$', '%', '&', '*', '+', '!', ':', ';', '<', '>', '='];
/// Characters that divide fields by themselves, in a longer delimiter too.
const DIVIDERS: &[char] = &[',', ';', '\t', '|', '~', '^', '\u{1}', '\u{1F}', '¦', '§'];
/// A divider twice is an empty field: no one writes these two characters as a delimiter.
const NEVER_TWICE: &[char] = &[',', ';', '\t'];
const LONGEST: usize = 3;
/// Occurrences from which on a character's constant neighbour is taken for a part of the delimiter.
const OCCURRENCES_MIN: usize = 2;

/// Returns the divider of a delimiter whose other marks may as well be parts of fields: `,` of `,+`, as in
/// phone numbers.
pub(super) fn without_marks(delimiter: &str) -> Option<String> {
    let mut dividers = delimiter.chars().filter(|c| DIVIDERS.contains(c));
    match (dividers.next(), dividers.next()) {
        (Some(divider), None) if delimiter.chars().count() > 1 => Some(divider.to_string()),
        _ => None,
    }
}

/// Lists the delimiters worth a try. One whose character always has the same companion comes with it: `+|`,
/// `||`, `|~|`.
pub(super) fn delimiters(text: &str, row_terminator: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for single in SINGLE {
        let mut delimiter = single.to_string();
        let count = text.matches(*single).count();
        if count == 0 {
            continue;
        }
        if count >= OCCURRENCES_MIN && USUAL.iter().chain(COMPANIONS).any(|c| c == single) {
            while delimiter.chars().count() < LONGEST
                && let Some(longer) = extended(text, &delimiter, row_terminator)
                && !(NEVER_TWICE.contains(single) && longer.matches(*single).count() > 1)
            {
                delimiter = longer;
            }
        }
        if let Some(alone) = without_marks(&delimiter).filter(|alone| !found.contains(alone)) {
            found.push(alone);
        }
        let is_believed = delimiter.chars().count() > 1 || ALONE.contains(single);
        if is_believed && !found.contains(&delimiter) {
            found.push(delimiter);
        }
    }
    // A delimiter that occurs only within a longer one divides nothing by itself.
    let within = |short: &String, long: &String| {
        long.len() > short.len()
            && long.contains(short)
            && text.matches(short).count() == text.matches(long).count() * long.matches(short).count()
    };
    let of_marks = |short: &String, long: &String| without_marks(long).as_ref() == Some(short);
    let alone = |delimiter: &&String| {
        !found.iter().any(|longer| within(delimiter, longer) && !of_marks(delimiter, longer))
    };
    let mut found: Vec<String> = found.iter().filter(alone).cloned().collect();
    // A delimiter of several characters before those that it contains.
    found.sort_by_key(|delimiter| std::cmp::Reverse(delimiter.chars().count()));
    found
}

/// Returns the delimiter with the companion that stands at the same side of it everywhere.
fn extended(text: &str, delimiter: &str, row_terminator: &str) -> Option<String> {
    let mut before: Option<Option<char>> = None;
    let mut behind: Option<Option<char>> = None;
    let note = |seen: &mut Option<Option<char>>, beside: Option<char>| {
        let beside = beside.filter(|c| COMPANIONS.contains(c));
        *seen = match *seen {
            None => Some(beside),
            Some(known) if known == beside => Some(known),
            Some(_) => Some(None),
        };
    };
    let mut occurrences = 0;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(delimiter)) {
        let start = at + found;
        // The mark that ends the row is no delimiter.
        let in_terminator = (0..row_terminator.len())
            .filter(|back| row_terminator.get(*back..).is_some_and(|rest| rest.starts_with(delimiter)))
            .any(|back| {
                start
                    .checked_sub(back)
                    .and_then(|from| text.get(from..))
                    .is_some_and(|rest| rest.starts_with(row_terminator))
            });
        at = start + delimiter.len();
        if in_terminator {
            continue;
        }
        occurrences += 1;
        let repeated = text.get(at..).is_some_and(|rest| rest.starts_with(delimiter));
        note(&mut before, text.get(..start).and_then(|head| head.chars().next_back()));
        note(&mut behind, text.get(at..).and_then(|rest| rest.chars().next()));
        if repeated {
            // `||` is found once, not twice.
            at += delimiter.len();
        }
    }
    if occurrences < OCCURRENCES_MIN {
        return None;
    }
    match (before.flatten(), behind.flatten()) {
        (Some(before), _) => Some(format!("{before}{delimiter}")),
        (None, Some(behind)) => Some(format!("{delimiter}{behind}")),
        (None, None) => None,
    }
}

/// Finds marks that stand in front of most line ends, as in `&|\n`: two or three characters that are no text.
pub(super) fn row_marks(text: &str, line_end: &str) -> Vec<String> {
    let mut lines: Vec<&str> = text.split(line_end).filter(|line| !line.is_empty()).collect();
    if !text.ends_with(line_end) && lines.len() > 1 {
        lines.pop();
    }
    let Some(last) = lines.last() else { return Vec::new() };
    let last: Vec<char> = last.chars().rev().take(LONGEST).collect();
    let count = |mark: &str| lines.iter().filter(|line| line.ends_with(mark)).count();
    let of_length = |length: usize| -> Option<String> {
        let mark: String = last.get(..length)?.iter().rev().collect();
        mark.chars().all(|c| COMPANIONS.contains(&c)).then_some(mark)
    };
    let alone = of_length(1).map_or(0, |mark| count(&mark));
    // Fields may hold line ends, but most rows do not.
    if alone * 2 < lines.len() {
        return Vec::new();
    }
    (2..=LONGEST).filter_map(of_length).filter(|mark| count(mark) == alone).collect()
}

/// Returns true if all fields but the last of each row end with the same mark.
pub(super) fn ends_alike(rows: &[Vec<String>]) -> bool {
    let mut fields = rows.iter().flat_map(|row| row.split_last().map_or(&[][..], |(_, before)| before));
    let end = |field: &String| field.chars().next_back().filter(|c| COMPANIONS.contains(c));
    let Some(mark) = fields.next().and_then(end) else { return false };
    fields.all(|field| end(field) == Some(mark))
}

/// Measures the evidence against these rows: times taken apart at their colons, fields that hold other
/// delimiters.
pub(super) fn implausibility(delimiter: &str, rows: &[Vec<String>]) -> f64 {
    let share = |odd: &dyn Fn(&Vec<String>) -> bool| {
        rows.iter().filter(|row| odd(row)).count() as f64 / rows.len().max(1) as f64
    };
    let foreign = share(&|row| row.iter().any(|cell| holds_other(cell, delimiter)));
    let times = match delimiter {
        ":" => 5.0 + 30.0 * share(&|row| row.windows(2).any(|pair| is_time(&pair[0], &pair[1]))),
        _ => 0.0,
    };
    3.0 * foreign + times
}

fn holds_other(cell: &str, delimiter: &str) -> bool {
    let is_decimal_comma = || {
        let (whole, rest) = cell.split_once(',').unwrap_or((cell, ""));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits(whole.trim_start_matches('-')) && digits(rest)
    };
    USUAL.iter().any(|other| !delimiter.contains(*other) && cell.contains(*other)) && !is_decimal_comma()
}

/// Returns true if a colon between the two stood in a time of day.
fn is_time(before: &str, behind: &str) -> bool {
    let mut digits = behind.bytes();
    let ends = before.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit());
    let two = digits.by_ref().take(2).filter(u8::is_ascii_digit).count() == 2;
    ends && two && !digits.next().is_some_and(|byte| byte.is_ascii_digit())
}
