//! Tables of a database, and patterns that choose among them.

/// A table or a view of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTable {
    /// Schema, if the database has schemas.
    pub schema: Option<String>,
    /// Name.
    pub name: String,
    /// True for a view.
    pub is_view: bool,
    /// Rows, if the catalogue counts them.
    pub rows: Option<u64>,
    /// Bytes, if the catalogue counts them.
    pub bytes: Option<u64>,
}

/// Patterns of names: `sales.*`, `*.orders`, `dbo.log_????`. A pattern without a dot is that of a name in any schema. Upper and lower case
/// are the same. A part in brackets or double quotes, as in `[my.schema].[st*r]`, means what it says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TablePatterns {
    /// A table must match one of these.
    pub included: Vec<String>,
    /// A table must match none of these.
    pub excluded: Vec<String>,
}

impl TablePatterns {
    /// Returns true if the patterns select the table. A pattern with `*` or `?` in its name selects no views: a
    /// view must be named.
    pub fn matches(&self, table: &ListedTable) -> bool {
        let meant = self.included.iter().any(|pattern| {
            let (schema, name) = parts(pattern);
            (name.is_exact() || !table.is_view) && matches(&schema, &name, table)
        });
        meant
            && !self.excluded.iter().any(|pattern| {
                let (schema, name) = parts(pattern);
                matches(&schema, &name, table)
            })
    }

    /// Returns the first pattern that selects none of `tables`.
    pub fn without_tables<'a>(&'a self, tables: &[ListedTable]) -> Option<&'a str> {
        self.included.iter().map(String::as_str).find(|pattern| {
            let one = Self { included: vec![(*pattern).to_owned()], excluded: Vec::new() };
            !tables.iter().any(|table| one.matches(table))
        })
    }
}

impl ListedTable {
    /// Returns `schema.name`, for people.
    pub fn full_name(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl ListedTable {
    /// Returns the pattern that selects this table alone.
    pub fn pattern(&self) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '#' | '@' | ' ');
        let quoted = |part: &str| match part.chars().all(is_plain) && part.trim() == part {
            true => part.to_owned(),
            false => format!("[{}]", part.replace(']', "]]")),
        };
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&self.name)),
            None => quoted(&self.name),
        }
    }

    /// Returns the name as an endpoint spells it: a part with a dot, a quote or a bracket stands between quotes.
    pub fn quoted_name(&self) -> String {
        let quoted = |part: &str| match part.contains(['.', '"', '[']) {
            true => format!("\"{}\"", part.replace('"', "\"\"")),
            false => part.to_owned(),
        };
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&self.name)),
            None => quoted(&self.name),
        }
    }
}

/// A part of a pattern.
enum Part {
    /// Text with `*` and `?`.
    Like(String),
    /// A quoted name.
    Exact(String),
}

impl Part {
    fn is_exact(&self) -> bool {
        match self {
            Self::Like(text) => !text.contains(['*', '?']),
            Self::Exact(_) => true,
        }
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Like(pattern) => is_like(pattern, name),
            Self::Exact(text) => text.to_lowercase() == name.to_lowercase(),
        }
    }
}

/// Divides a pattern into that of the schema and that of the name.
fn parts(pattern: &str) -> (Part, Part) {
    let like = |text: &str| Part::Like(text.to_owned());
    let name = |text: &str| match unquoted(text) {
        Some((name, "")) => Part::Exact(name),
        _ => like(text),
    };
    match unquoted(pattern) {
        Some((schema, rest)) if rest.starts_with('.') => (Part::Exact(schema), name(rest.split_at(1).1)),
        Some((only, "")) => (like("*"), Part::Exact(only)),
        _ => match pattern.split_once('.') {
            Some((schema, rest)) => (like(schema), name(rest)),
            None => (like("*"), like(pattern)),
        },
    }
}

/// Returns the name in brackets or quotes that a text begins with, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let end = match text.chars().next()? {
        '[' => ']',
        '"' => '"',
        _ => return None,
    };
    let mut name = String::new();
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = rest.next() {
        if c != end {
            name.push(c);
        } else if rest.next_if(|(_, next)| *next == end).is_some() {
            name.push(end);
        } else {
            return Some((name, text.split_at(at + 1).1));
        }
    }
    None
}

fn matches(schema: &Part, name: &Part, table: &ListedTable) -> bool {
    let has_schema = match &table.schema {
        Some(of) => schema.fits(of),
        None => matches!(schema, Part::Like(text) if text == "*"),
    };
    has_schema && name.fits(&table.name)
}

/// Returns true if a text fits a pattern with `*` and `?`, ignoring case.
fn is_like(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let (mut at, mut place) = (0, 0);
    // The place of the last star, and the place up to which it has been tried.
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = text.get(place) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(p) if *p == '?' || p == c => {
                at += 1;
                place += 1;
            }
            _ => match star {
                Some((star_at, tried)) => {
                    star = Some((star_at, tried + 1));
                    at = star_at + 1;
                    place = tried + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(schema: &str, name: &str, is_view: bool) -> ListedTable {
        ListedTable {
            schema: Some(schema.to_owned()),
            name: name.to_owned(),
            is_view,
            rows: None,
            bytes: None,
        }
    }

    fn patterns(included: &[&str], excluded: &[&str]) -> TablePatterns {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        TablePatterns { included: owned(included), excluded: owned(excluded) }
    }

    #[test]
    fn patterns_choose_tables() {
        let cases = [
            (patterns(&["sales.*"], &[]), table("Sales", "Orders", false), true),
            (patterns(&["sales.*"], &[]), table("dbo", "Orders", false), false),
            (patterns(&["orders"], &[]), table("dbo", "Orders", false), true),
            (patterns(&["*.o*s"], &[]), table("x", "orders", false), true),
            (patterns(&["*.o*s"], &["x.*"]), table("x", "orders", false), false),
            (patterns(&["log_????"], &[]), table("dbo", "log_2024", false), true),
            (patterns(&["log_????"], &[]), table("dbo", "log_24", false), false),
            (patterns(&["sales.*"], &[]), table("sales", "v", true), false),
            (patterns(&["sales.v"], &[]), table("sales", "v", true), true),
            (patterns(&["**a**b*"], &[]), table("s", "xxaxxxbb", false), true),
            (patterns(&["[a.b].c"], &[]), table("a.b", "c", false), true),
            (patterns(&["[a.b].c"], &[]), table("a", "b.c", false), false),
            (patterns(&["a.[b.c]"], &[]), table("A", "B.c", false), true),
            (patterns(&["\"a\".*"], &[]), table("a", "b.c", false), true),
            (patterns(&["[st*r]"], &[]), table("dbo", "star", false), false),
            (patterns(&["[st*r]"], &[]), table("dbo", "st*r", true), true),
            (patterns(&["dbo.[br]]a]"], &[]), table("dbo", "br]a", false), true),
            (patterns(&["[open"], &[]), table("dbo", "[open", false), true),
            (patterns(&["*.*"], &["[a.b].*"]), table("a.b", "c", false), false),
        ];
        for (patterns, table, expected) in cases {
            assert_eq!(patterns.matches(&table), expected, "{patterns:?} {table:?}");
        }
    }

    #[test]
    fn the_pattern_of_a_table_selects_it_alone() {
        let names = ["a", "b c", "a.b", "st*r", "q?", "br]a[", "\"q\"", " lead", "日本", "[x]"];
        let tables: Vec<_> =
            names.iter().flat_map(|schema| names.map(|name| table(schema, name, false))).collect();
        for one in &tables {
            let pattern = one.pattern();
            let chosen: Vec<_> =
                tables.iter().filter(|table| patterns(&[&pattern], &[]).matches(table)).collect();
            assert_eq!(chosen, [one], "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_means_nothing_is_named() {
        let tables = [table("dbo", "a", false)];
        assert_eq!(patterns(&["dbo.*", "sales.*"], &[]).without_tables(&tables), Some("sales.*"));
        assert_eq!(patterns(&["a"], &[]).without_tables(&tables), None);
    }
}
