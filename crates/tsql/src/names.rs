//! Names of objects; they compare without regard to case, as under the server's default collation.

/// Returns true if two names are the same, ignoring case.
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || !(left.is_ascii() && right.is_ascii()) && left.to_lowercase() == right.to_lowercase()
}

/// `server.database.schema.name`. Leading parts may be left out, and a middle part may be empty (`db..t`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectName {
    /// Database part, if written and not empty.
    pub database: Option<String>,
    /// Schema part, if written and not empty.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
}

impl ObjectName {
    /// Makes a one-part name.
    pub fn bare(name: impl Into<String>) -> Self {
        ObjectName { database: None, schema: None, name: name.into() }
    }

    /// Returns true for the name of a temporary object.
    pub fn is_temporary(&self) -> bool {
        self.name.starts_with('#')
    }

    /// Returns true for a `##` object, which all sessions see.
    pub fn is_global(&self) -> bool {
        self.name.starts_with("##")
    }

    /// Returns true for a `#` object of the session's own.
    pub fn is_session_own(&self) -> bool {
        self.is_temporary() && !self.is_global()
    }

    /// Returns true for the name of a table variable.
    pub fn is_variable(&self) -> bool {
        self.schema.is_none() && self.name.starts_with('@')
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.database, &self.schema) {
            (Some(database), Some(schema)) => write!(f, "{database}.{schema}.{}", self.name),
            (Some(database), None) => write!(f, "{database}..{}", self.name),
            (None, Some(schema)) => write!(f, "{schema}.{}", self.name),
            (None, None) => f.write_str(&self.name),
        }
    }
}
