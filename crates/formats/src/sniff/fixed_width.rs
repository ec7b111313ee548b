//! The positions at which columns of fixed width begin.

/// Unit of positions in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// Positions count characters.
    Characters,
    /// Units of UTF-16: a character beyond the first 65,536 has two.
    Utf16Units,
}

/// Starts of columns of fixed width, and the number of lines that contradict them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedColumns {
    /// Unit of the positions.
    pub positions: Positions,
    /// The start of each column but the first, as a position from 0.
    pub breaks: Vec<usize>,
    /// The length of the longest line.
    pub width: usize,
    /// Lines of another length.
    pub odd_rows: usize,
}

/// Lines that are looked at.
const LINES_MAX: usize = 2000;

impl FixedColumns {
    /// Divides a line into its columns, padding included.
    pub(super) fn divide(&self, line: &str) -> Vec<String> {
        let characters = self.positions.of(line);
        let mut edges = vec![0];
        edges.extend_from_slice(&self.breaks);
        edges.push(self.width.max(characters.len()));
        edges
            .windows(2)
            .map(|pair| {
                let end = pair[1].min(characters.len());
                let start = pair[0].min(end);
                characters.get(start..end).unwrap_or_default().iter().flatten().collect()
            })
            .collect()
    }
}

impl Positions {
    /// Returns the character at each position; None: the rest of the character before.
    fn of(self, line: &str) -> Vec<Option<char>> {
        let mut found = Vec::with_capacity(line.len());
        for character in line.chars() {
            found.push(Some(character));
            if self == Self::Utf16Units && character.len_utf16() == 2 {
                found.push(None);
            }
        }
        found
    }
}

/// Finds columns of lines of equal length: they begin behind a position that is blank in all lines, and where
/// digits meet letters in all of them. `None` if lines differ in length or nothing divides them.
pub fn fixed_columns(lines: &[&str], positions: Positions) -> Option<FixedColumns> {
    let lines: Vec<_> = lines.iter().take(LINES_MAX).map(|line| positions.of(line)).collect();
    let width = lines.iter().map(Vec::len).max()?;
    let regular = lines.iter().filter(|line| line.len() == width).count();
    // Blanks at the ends of lines are often gone.
    let padded = lines.iter().all(|line| line.len() <= width) && regular * 2 >= lines.len();
    if lines.len() < 2 || width < 2 || !(regular * 10 >= lines.len() * 9 || padded) {
        return None;
    }
    // The rest of a character divides nothing.
    let at = |line: &Vec<Option<char>>, position: usize| {
        line.get(position).map_or(' ', |character| character.unwrap_or('\0'))
    };
    let blank = |position: usize| lines.iter().all(|line| at(line, position) == ' ');
    let meets = |position: usize| {
        let kind = |character: char| match character {
            '0'..='9' => 'd',
            ' ' => ' ',
            _ if character.is_alphabetic() => 'a',
            _ => 'x',
        };
        let pairs: Vec<(char, char)> =
            lines.iter().map(|line| (kind(at(line, position - 1)), kind(at(line, position)))).collect();
        let holds = |from: char, to: char| pairs.iter().all(|pair| *pair == (from, to));
        holds('d', 'a') || holds('a', 'd')
    };
    // The letter between the date and the time of ISO 8601 divides no columns.
    let is_time_mark = |position: usize| {
        lines.iter().all(|line| {
            let digit = |position: usize| at(line, position).is_ascii_digit();
            position > 0 && at(line, position) == 'T' && digit(position - 1) && digit(position + 1)
        })
    };
    let divides = |position: usize| meets(position) && !is_time_mark(position) && !is_time_mark(position - 1);
    let breaks: Vec<usize> = (1..width)
        .filter(|position| !blank(*position) && (blank(position - 1) || divides(*position)))
        .collect();
    if breaks.is_empty() {
        return None;
    }
    Some(FixedColumns { positions, breaks, width, odd_rows: lines.len() - regular })
}
