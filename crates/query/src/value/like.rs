//! LIKE and PATINDEX patterns: `%`, `_`, `[a-f]`, `[^x]`, an escape character.

use crate::running;
use tsql::SqlError;

/// Returns the fixed beginning of all texts that match `pattern`. `function` is the name of the function that LIKE
/// becomes ([`function_name`]). `None` for any other function.
pub(crate) fn beginning(function: &str, pattern: &str) -> Option<String> {
    let rest = function.strip_prefix(NAME)?;
    let mut parts = rest.splitn(3, '_').skip(1);
    let escape = parts.next()?.parse().ok().and_then(char::from_u32)?;
    let is_plain = |ch: &char| !matches!(ch, '%' | '_' | '[') && (*ch != escape || escape == '\0');
    Some(pattern.chars().take_while(is_plain).collect())
}

/// Returns the name of the function that LIKE becomes.
pub(crate) fn function_name(fold: bool, over_blanks: bool, escape: Option<char>) -> String {
    let blanks = if over_blanks { "blanks" } else { "" };
    format!("{NAME}{fold}{blanks}_{}", escape.map_or(0, u32::from))
}

const NAME: &str = "like_";
/// Texts whose characters are counted in the memory of the request; steps of matching between two looks at it.
const LONG_BYTES: usize = 1 << 16;

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
    /// Blanks at the end of a text need nothing that they match.
    over_blanks: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Literal(char),
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Pattern {
    /// Parses a pattern. With `fold` it matches texts in lower case.
    pub fn new(pattern: &str, escape: Option<char>, fold: bool) -> Pattern {
        let text = if fold { pattern.to_lowercase() } else { pattern.to_string() };
        let chars: Vec<char> = text.chars().collect();
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(&ch) = chars.get(at) {
            at += 1;
            parts.push(match ch {
                _ if Some(ch) == escape => {
                    let literal = chars.get(at).copied().unwrap_or(ch);
                    at += 1;
                    Part::Literal(literal)
                }
                '%' => Part::Any,
                '_' => Part::One,
                '[' => match set(&chars, at) {
                    Some((part, end)) => {
                        at = end;
                        part
                    }
                    None => Part::Literal('['),
                },
                _ => Part::Literal(ch),
            });
        }
        Pattern { parts, over_blanks: false }
    }

    /// Sets whether blanks at the end are ignored, as for texts of char and varchar; those of Unicode texts count.
    pub fn over_blanks(self, over_blanks: bool) -> Pattern {
        Pattern { over_blanks, ..self }
    }

    /// Returns true if the whole text matches. Errors: 3617, and 701 for a long text.
    pub fn matches(&self, text: &str) -> Result<bool, SqlError> {
        if text.len() > LONG_BYTES {
            running::take(text.len().saturating_mul(4))?;
        }
        let chars: Vec<char> = text.chars().collect();
        self.matches_chars(&chars)
    }

    /// Matches greedily with one point to return to: linear in text times pattern. Errors: 3617.
    pub fn matches_chars(&self, text: &[char]) -> Result<bool, SqlError> {
        let (mut at, mut part) = (0, 0);
        let mut back: Option<(usize, usize)> = None;
        let mut steps = 0_usize;
        let blanks = text.iter().rev().take_while(|ch| self.over_blanks && **ch == ' ').count();
        let least = text.len() - blanks;
        loop {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(LONG_BYTES) {
                running::check()?;
            }
            match self.parts.get(part) {
                Some(Part::Any) => {
                    back = Some((at, part));
                    part += 1;
                    continue;
                }
                Some(expected) if text.get(at).is_some_and(|ch| expected.accepts(*ch)) => {
                    at += 1;
                    part += 1;
                    continue;
                }
                None if at >= least => return Ok(true),
                _ => {}
            }
            match &mut back {
                Some((from, any)) if *from < text.len() => {
                    *from += 1;
                    at = *from;
                    part = *any + 1;
                }
                _ => return Ok(false),
            }
        }
    }
}

impl Part {
    fn accepts(&self, ch: char) -> bool {
        match self {
            Part::Any => true,
            Part::One => true,
            Part::Literal(literal) => *literal == ch,
            Part::Set { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&ch)) != *negated
            }
        }
    }
}

/// Reads `[…]` from behind the bracket, and returns its end; `None` if it is not closed.
fn set(chars: &[char], start: usize) -> Option<(Part, usize)> {
    let mut at = start;
    let negated = chars.get(at) == Some(&'^');
    at += usize::from(negated);
    let mut ranges = Vec::new();
    let first = at;
    loop {
        let ch = *chars.get(at)?;
        if ch == ']' && at > first {
            return Some((Part::Set { negated, ranges }, at + 1));
        }
        let high = match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(high)) if *high != ']' => {
                at += 2;
                *high
            }
            _ => ch,
        };
        ranges.push((ch, high));
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("a%", "abc", true),
            ("%b%", "abc", true),
            ("a_c", "abc", true),
            ("a_c", "abbc", false),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("%[0-9]", "ab7", true),
            ("100!%", "100%", true),
            ("%a%b%c%", "xxaxxbxxcxx", true),
            ("%a%b%c%", "xxaxxcxxbxx", false),
            ("", "", true),
            ("%", "", true),
            ("[", "[", true),
            ("[]]", "]", true),
        ] {
            assert_eq!(
                Pattern::new(pattern, Some('!'), false).matches(text).ok(),
                Some(expected),
                "{text} LIKE {pattern}"
            );
        }
    }

    #[test]
    fn blanks_at_the_end_count_in_unicode_alone() {
        for (pattern, text, padded, exact) in [
            ("ab", "ab  ", true, false),
            ("% King", "Robert King   ", true, false),
            ("a_", "ab  ", true, false),
            ("ab_", "ab  ", true, false),
            ("ab ", "ab  ", true, false),
            ("ab ", "ab", false, false),
            ("ab %", "ab  ", true, true),
            ("a%", "ab  ", true, true),
            ("%b", "a b b  ", true, false),
            ("", "   ", true, false),
            ("a", "ab  ", false, false),
            ("%[^ ]", "ab  ", true, false),
        ] {
            let pattern_of = |over| Pattern::new(pattern, None, false).over_blanks(over).matches(text).ok();
            assert_eq!(
                (pattern_of(true), pattern_of(false)),
                (Some(padded), Some(exact)),
                "{text} LIKE {pattern}"
            );
        }
    }
}
