//! The fields of a form.

use axum::body::Bytes;
use url::form_urlencoded;
use zeroize::Zeroizing;

use crate::draft::Secret;

/// The fields of a form, in its order.
pub struct Form(Vec<(String, Zeroizing<String>)>);

impl Form {
    /// Reads the body of a request.
    pub fn parse(body: &Bytes) -> Self {
        let fields = form_urlencoded::parse(body);
        Self(fields.map(|(name, value)| (name.into_owned(), Zeroizing::new(value.into_owned()))).collect())
    }

    /// Finds the first field of a name.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of a field; empty if there is none.
    pub fn text(&self, name: &str) -> String {
        // Browsers send lines with carriage returns.
        self.find(name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// Returns the text of a field without blanks around it.
    pub fn trimmed(&self, name: &str) -> String {
        self.text(name).trim().to_owned()
    }

    /// Returns true if a box is ticked.
    pub fn is_ticked(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Lists all fields of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns a password; `None` if none was typed, so that an earlier one stays.
    pub fn secret(&self, name: &str) -> Option<Secret> {
        self.find(name).filter(|text| !text.is_empty()).map(|text| Secret::new(text.to_owned()))
    }
}
