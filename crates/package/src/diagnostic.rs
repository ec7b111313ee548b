//! The findings in a package, with their places.

use std::fmt;

/// The gravity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The package does not run.
    Error,
    /// The package runs, but something in it has no effect or may surprise.
    Warning,
}

/// A finding of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The gravity of the finding.
    pub severity: Severity,
    /// A description of the mistake.
    pub message: String,
    /// A suggestion for mending it, if there is one.
    pub hint: Option<String>,
    /// Line and column in characters, both from 1.
    pub line: usize,
    /// See `line`.
    pub column: usize,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}: {kind}: {}", self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Finds the known name that is nearest to `name`, if one is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    // A name of one or two characters is near to every other.
    let limit = if length < 3 { 0 } else { (length / 3).max(1) };
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Characters that have to be inserted, removed, changed or exchanged with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().map(|c| if c == '-' { '_' } else { c }).collect();
    let right: Vec<char> = right.to_lowercase().chars().map(|c| if c == '-' { '_' } else { c }).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut least =
                (at(&row, j) + usize::from(a != b)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && left.get(i - 1) == Some(b) && right.get(j - 1) == Some(a);
            if swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let known = ["after", "after_failure", "statement", "connection"];
        assert_eq!(nearest("aftre", known), Some("after"));
        assert_eq!(nearest("after-failure", known), Some("after_failure"));
        assert_eq!(nearest("conection", known), Some("connection"));
        assert_eq!(nearest("zzz", known), None);
    }
}
