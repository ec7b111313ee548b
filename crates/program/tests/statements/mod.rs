//! Statements written from the grammar's rules: deep, wide and long ones. The same seed gives the same statements.
//!
//! Each rule of `src/tsql/parser` that nests, lists or takes text of any length stands in one of the tables of `rules`. A
//! [`Statement`] names the rule and the size that it was written for, so that a failure can be repeated.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod child;
mod mixture;
mod rules;

pub use mixture::mixtures;
pub use rules::{DEEP, Deep, LONG, Long, WIDE, Wide};

/// A statement and where it comes from.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The rule and the size.
    pub name: String,
    /// T-SQL.
    pub text: String,
}

/// Tables that statements may name. Run before them.
pub const SETUP: &[&str] = &[
    "CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NULL, b int NULL, s varchar(100) NULL)",
    "INSERT t VALUES (1, 1, 10, 'one'), (2, 2, 20, 'two'), (3, 3, NULL, 'three')",
    "CREATE TABLE u (id int NOT NULL, a int NULL)",
];

/// Every nesting rule, that many levels deep.
pub fn deep(levels: usize) -> Vec<Statement> {
    DEEP.iter().map(|rule| rule.statement(levels)).collect()
}

/// Every listing rule, with that many items.
pub fn wide(items: usize) -> Vec<Statement> {
    WIDE.iter().map(|rule| rule.statement(items)).collect()
}

/// Every rule that takes text, with that many characters.
pub fn long(characters: usize) -> Vec<Statement> {
    LONG.iter().map(|rule| rule.statement(characters)).collect()
}

impl Deep {
    /// The rule inside itself.
    pub fn statement(&self, levels: usize) -> Statement {
        let Deep { name, before, open, core, close, after } = self;
        let text = format!("{before}{}{core}{}{after}", open.repeat(levels), close.repeat(levels));
        Statement { name: format!("{name}, {levels} deep"), text }
    }
}

impl Wide {
    /// The rule's list. `{i}` in an item is its number.
    pub fn statement(&self, items: usize) -> Statement {
        let Wide { name, before, item, between, after } = self;
        let mut text = String::with_capacity(before.len() + items * (item.len() + between.len() + 5));
        text.push_str(before);
        for index in 0..items {
            if index > 0 {
                text.push_str(between);
            }
            match item.contains("{i}") {
                true => text.push_str(&item.replace("{i}", &index.to_string())),
                false => text.push_str(item),
            }
        }
        text.push_str(after);
        Statement { name: format!("{name}, {items} wide"), text }
    }
}

impl Long {
    /// The rule's text.
    pub fn statement(&self, characters: usize) -> Statement {
        let Long { name, before, unit, after } = self;
        let text = format!("{before}{}{after}", unit.repeat(characters.div_ceil(unit.len())));
        Statement { name: format!("{name}, {characters} long"), text }
    }
}

/// Numbers that follow from a seed (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((value ^ (value >> 31)) % end.max(1) as u64).unwrap()
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
