//! Columns on their way through a data flow, each as the T-SQL that makes it.

use std::collections::BTreeMap;

use crate::dtsx::expression::{Cast, parse};
use crate::dtsx::named::VariableNames;
use crate::dtsx::tsql::{self, Names};
use crate::dtsx::xml::Element;

/// The columns behind a component, as far as they are known.
#[derive(Debug, Clone, Default)]
pub struct FlowColumns {
    /// T-SQL by lineage.
    by_lineage: BTreeMap<String, Column>,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    sql: String,
}

/// Columns and variables, as expressions name them.
pub struct Known<'a> {
    pub columns: &'a FlowColumns,
    pub variables: &'a VariableNames,
}

impl FlowColumns {
    /// Notes a column: its lineage, its name and the T-SQL that makes it.
    pub fn set(&mut self, column: &Element, sql: String) {
        self.put(lineage_of(column), column.value("name"), sql);
    }

    /// Notes a column of a lineage.
    pub fn put(&mut self, lineage: &str, name: &str, sql: String) {
        self.by_lineage.insert(lineage.to_owned(), Column { name: name.to_owned(), sql });
    }

    /// Lists the columns: lineage, name, and the T-SQL that makes it.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.by_lineage
            .iter()
            .map(|(lineage, column)| (lineage.as_str(), column.name.as_str(), column.sql.as_str()))
    }

    /// Forgets a column.
    pub fn remove(&mut self, lineage: &str) {
        self.by_lineage.remove(lineage);
    }

    /// Replaces the value of an existing column.
    pub fn replace(&mut self, lineage: &str, sql: String) {
        if let Some(column) = self.by_lineage.get_mut(lineage) {
            column.sql = sql;
        }
    }

    /// Returns the T-SQL of a column by its lineage.
    pub fn of_lineage(&self, lineage: &str) -> Option<&str> {
        self.by_lineage.get(lineage).map(|column| column.sql.as_str())
    }

    fn find(&self, name: &str) -> Option<&Column> {
        let by_name = || self.by_lineage.values().rfind(|column| column.name.eq_ignore_ascii_case(name));
        self.by_lineage.get(name).or_else(by_name)
    }

    /// Translates an expression as a value.
    ///
    /// # Errors
    /// What has no translation.
    pub fn value(&self, text: &str, variables: &VariableNames) -> Result<String, String> {
        let known = Known { columns: self, variables };
        parse(text)
            .and_then(|parsed| tsql::value(&parsed, &known))
            .map_err(|reason| in_expression(text, &reason))
    }

    /// Translates an expression as a search condition.
    ///
    /// # Errors
    /// What has no translation.
    pub fn predicate(&self, text: &str, variables: &VariableNames) -> Result<String, String> {
        let known = Known { columns: self, variables };
        parse(text)
            .and_then(|parsed| tsql::predicate(&parsed, &known))
            .map_err(|reason| in_expression(text, &reason))
    }
}

/// Says which expression has no translation.
fn in_expression(text: &str, reason: &str) -> String {
    format!("its expression {}: {reason}", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the lineage of an output column.
pub fn lineage_of(column: &Element) -> &str {
    match column.value("lineageId") {
        "" => column.value("refId"),
        lineage => lineage,
    }
}

/// Returns the lineage or id that a property refers to, which newer packages write as `#{…}`.
pub fn reference<'a>(column: &'a Element, name: &str) -> &'a str {
    property(column, name).trim_start_matches("#{").trim_end_matches('}')
}

impl Names for Known<'_> {
    fn column(&self, name: &str) -> Option<String> {
        let column = self.columns.find(name)?;
        let is_plain =
            column.sql.chars().all(|c| c.is_alphanumeric() || matches!(c, '[' | ']' | '_' | '.' | ' '));
        Some(if is_plain { column.sql.clone() } else { format!("({})", column.sql) })
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name)
    }
}

/// Returns the property of a component or a column.
pub fn property<'a>(element: &'a Element, name: &str) -> &'a str {
    element
        .within("properties", "property")
        .find(|property| property.value("name") == name)
        .map_or("", |property| property.text.trim())
}

/// Returns the type of a column of the data flow.
pub fn cast_of(column: &Element) -> Cast {
    let number = |name: &str| column.value(name).parse().unwrap_or(0);
    let name = format!("DT_{}", column.value("dataType").to_ascii_uppercase());
    let numbers = match name.as_str() {
        "DT_STR" | "DT_WSTR" | "DT_BYTES" => vec![number("length")],
        "DT_NUMERIC" => vec![number("precision"), number("scale")],
        "DT_DECIMAL" | "DT_DBTIME2" | "DT_DBTIMESTAMP2" | "DT_DBTIMESTAMPOFFSET" => vec![number("scale")],
        _ => Vec::new(),
    };
    Cast { name, numbers }
}
