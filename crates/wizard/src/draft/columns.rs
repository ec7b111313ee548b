//! The choice of columns, and their transformation.

use super::flag::Flag;
use super::sql::{literal, quoted};
use crate::errors::Errors;

/// The columns of one copy.
#[derive(Debug, Clone, Default)]
pub struct ColumnChoices {
    /// The source for which the choices were made; they are made again for another one.
    pub made_for: String,
    /// The columns, in the order of the result.
    pub columns: Vec<ColumnChoice>,
    /// The condition of the copied rows, in T-SQL.
    pub condition: String,
    /// A whole SELECT in place of all of this.
    pub query: String,
    /// The columns of the destination's table, if it is there; they decide types.
    pub targets: Vec<TargetColumn>,
}

/// A column of the destination's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetColumn {
    /// The name of the column.
    pub name: String,
    /// The type of the column, with its nullability.
    pub kind: String,
    /// True if a row needs a value for the column.
    pub is_required: bool,
}

/// The choices for a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnChoice {
    /// The column of the source; `None`: it is added, and its expression says what it holds.
    pub source: Option<String>,
    /// The type that the source gives it, for people.
    pub source_kind: String,
    /// The name of the column at the destination.
    pub name: String,
    /// True if the column is left out.
    pub is_ignored: bool,
    /// The type of the column in T-SQL; empty keeps the source's.
    pub kind: String,
    /// The type that all values of a text file have; empty: it is not known, or does not matter.
    pub inferred: String,
    /// The treatment of NULL and of empty text.
    pub filling: Filling,
    /// An expression in T-SQL in place of the column.
    pub expression: String,
}

/// The treatment of NULL and of empty text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Filling {
    /// Both stay.
    #[default]
    Keep,
    /// Text that is empty or blank becomes NULL.
    BlankIsNull,
    /// NULL becomes this value.
    Value(String),
}

impl ColumnChoice {
    /// Returns true if the column's values arrive unchanged, whatever its name.
    fn is_plain(&self) -> bool {
        self.source.is_some()
            && self.kind.trim().is_empty()
            && self.filling == Filling::Keep
            && self.expression.trim().is_empty()
    }

    /// Returns true if the source has whole numbers here.
    fn is_whole_number(&self) -> bool {
        let kind = self.source_kind.to_ascii_lowercase();
        matches!(
            kind.trim_start_matches('u'),
            "tinyint" | "smallint" | "int" | "bigint" | "int8" | "int16" | "int32" | "int64"
        )
    }

    /// Returns the column's text in a SELECT list.
    pub fn select(&self) -> String {
        let own = self.source.as_deref().map(quoted);
        let mut text = match self.expression.trim() {
            "" => own.clone().unwrap_or_else(|| "NULL".to_owned()),
            expression => expression.to_owned(),
        };
        if self.filling == Filling::BlankIsNull {
            text = format!("NULLIF(TRIM({text}), '')");
        }
        // Text would stay text as soon as there is a SELECT list. What an expression gives has a type of its own.
        let kind = match self.kind.trim() {
            "" if self.expression.trim().is_empty() => self.inferred.as_str(),
            kind => kind,
        };
        if !kind.is_empty() {
            // Digits such as 20260304 are a date as text, and none as a number.
            if self.is_whole_number() && self.expression.trim().is_empty() && is_of_dates(kind) {
                text = format!("CAST({text} AS varchar(20))");
            }
            text = format!("CAST({text} AS {kind})");
        }
        if let Filling::Value(value) = &self.filling {
            text = format!("COALESCE({text}, {})", literal(value));
        }
        match own {
            Some(own) if own == text && self.source.as_deref() == Some(&self.name) => text,
            _ => format!("{text} AS {}", quoted(&self.name)),
        }
    }
}

/// Returns true if a type of T-SQL has days.
fn is_of_dates(kind: &str) -> bool {
    let name = kind.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(name.as_str(), "date" | "datetime" | "datetime2" | "smalldatetime" | "datetimeoffset")
}

impl ColumnChoices {
    /// Columns of a source, each to the column of its name, if the destination's columns are known. Choices that were made before for a
    /// column of the same name stay.
    pub fn of_source(made_for: String, columns: Vec<ColumnChoice>, before: &Self) -> Self {
        let targets = &before.targets;
        let target =
            |name: &str| targets.iter().find(|target| target.name.to_lowercase() == name.to_lowercase());
        let mut choices: Vec<ColumnChoice> = columns
            .into_iter()
            .map(|mut column| {
                let chosen = before.columns.iter().find(|chosen| chosen.source == column.source);
                if let Some(chosen) =
                    chosen.filter(|chosen| targets.is_empty() || target(&chosen.name).is_some())
                {
                    return ColumnChoice { source_kind: column.source_kind, ..chosen.clone() };
                }
                match target(&column.name) {
                    Some(target) => column.name.clone_from(&target.name),
                    None => column.is_ignored = !targets.is_empty(),
                }
                column
            })
            .collect();
        choices.extend(before.columns.iter().filter(|column| column.source.is_none()).cloned());
        Self { made_for, columns: choices, ..before.clone() }
    }

    /// Lists the columns that are copied.
    pub fn copied(&self) -> impl Iterator<Item = &ColumnChoice> {
        self.columns.iter().filter(|column| !column.is_ignored)
    }

    /// Returns true if every column is left out.
    pub fn is_empty_choice(&self) -> bool {
        self.query.trim().is_empty() && !self.columns.is_empty() && self.copied().next().is_none()
    }

    pub(super) fn check(&self, errors: &mut Errors) {
        if !self.query.trim().is_empty() || self.columns.is_empty() {
            return;
        }
        if self.is_empty_choice() {
            errors.add("columns", "Every column is left out: copy one at least.");
        }
        let mut seen = Vec::new();
        for (number, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.is_ignored) {
            let name = column.name.trim().to_lowercase();
            if name.is_empty() {
                errors.add_at("name", number, "Give the column a name.");
            } else if seen.contains(&name) {
                errors.add_at("name", number, "Two columns go to this name.");
            }
            seen.push(name);
            if column.source.is_none() && column.expression.trim().is_empty() {
                errors.add_at(
                    "expression",
                    number,
                    "Say what the column holds: an expression, or a constant.",
                );
            }
        }
    }

    /// Returns the options of the transformation. `maps`: the destination's table exists, and pairs of names are enough
    /// for columns that arrive unchanged.
    pub(super) fn flags(&self, maps: bool) -> Vec<Flag> {
        if !self.query.trim().is_empty() {
            return vec![Flag::text("transform-query", self.query.trim())];
        }
        let mut flags = Vec::new();
        let is_changed = |column: &ColumnChoice| {
            column.is_ignored || !column.is_plain() || column.source.as_deref() != Some(&column.name)
        };
        // A pair is divided at its first '='.
        let is_pair = |column: &ColumnChoice| {
            column.is_plain() && !column.source.as_deref().is_some_and(|name| name.contains('='))
        };
        let is_mapped = self.copied().all(is_pair);
        if self.columns.iter().any(is_changed) {
            match maps && is_mapped {
                true => {
                    let pair =
                        |column: &ColumnChoice| Some(format!("{}={}", column.source.as_ref()?, column.name));
                    flags.push(Flag::list("map", self.copied().filter_map(pair).collect()));
                }
                false => {
                    let list: Vec<String> = self.copied().map(ColumnChoice::select).collect();
                    flags.push(Flag::text("select", list.join(", ")));
                }
            }
        }
        if !self.condition.trim().is_empty() {
            flags.push(Flag::text("where", self.condition.trim()));
        }
        flags
    }
}
