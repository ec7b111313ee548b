//! The errors in typed fields.

use std::collections::BTreeMap;

/// The errors of a form, by the name of the field. The field `""` is the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors(BTreeMap<String, String>);

impl Errors {
    /// Makes an error that concerns the page as a whole.
    pub fn of_page(text: impl Into<String>) -> Self {
        Self::of("", text)
    }

    /// Makes an error of one field.
    pub fn of(field: &str, text: impl Into<String>) -> Self {
        let mut errors = Self::default();
        errors.add(field, text);
        errors
    }

    /// Adds the error of a field; the first one stays.
    pub fn add(&mut self, field: &str, text: impl Into<String>) {
        self.0.entry(field.to_owned()).or_insert_with(|| text.into());
    }

    /// Adds the error of a field of a row.
    pub fn add_at(&mut self, field: &str, number: usize, text: impl Into<String>) {
        self.add(&format!("{field}.{number}"), text);
    }

    /// Returns the error of a field.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// Returns the error of a field of a row.
    pub fn at(&self, field: &str, number: &usize) -> Option<&str> {
        self.get(&format!("{field}.{number}"))
    }

    /// Returns true if nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of wrong fields.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
