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
/// are the same.
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
            let by_name = !name.contains(['*', '?']);
            (by_name || !table.is_view) && matches(schema, name, table)
        });
        meant
            && !self.excluded.iter().any(|pattern| {
                let (schema, name) = parts(pattern);
                matches(schema, name, table)
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
    /// Returns `schema.name`, as a pattern spells it.
    pub fn full_name(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl ListedTable {
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

fn parts(pattern: &str) -> (&str, &str) {
    pattern.split_once('.').unwrap_or(("*", pattern))
}

fn matches(schema: &str, name: &str, table: &ListedTable) -> bool {
    let has_schema = match &table.schema {
        Some(of) => is_like(schema, of),
        None => schema == "*",
    };
    has_schema && is_like(name, &table.name)
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
        ];
        for (patterns, table, expected) in cases {
            assert_eq!(patterns.matches(&table), expected, "{patterns:?} {table:?}");
        }
    }

    #[test]
    fn a_pattern_that_means_nothing_is_named() {
        let tables = [table("dbo", "a", false)];
        assert_eq!(patterns(&["dbo.*", "sales.*"], &[]).without_tables(&tables), Some("sales.*"));
        assert_eq!(patterns(&["a"], &[]).without_tables(&tables), None);
    }
}
