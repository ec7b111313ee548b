//! Texts with `${name}` in them.

use std::fmt;

/// A text with places for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text as it is.
    Text(String),
    /// The value of a variable.
    Variable {
        /// The name of the variable.
        name: String,
        /// The form of the value.
        form: Form,
    },
    /// An environment variable: a secret.
    Environment(String),
    /// The content of a file: a secret.
    File(String),
}

/// The form of a value in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `${name}`
    Plain,
    /// `${name:literal}`, a literal of T-SQL.
    Literal,
    /// `${name:identifier}`, names of T-SQL in brackets, divided by points.
    Identifier,
    /// `${name:digits}`, its digits alone, as in 20261123.
    Digits,
    /// `${name:url}`, with `%20` for a blank.
    Url,
}

const FORMS: [(&str, Form); 4] = [
    ("literal", Form::Literal),
    ("identifier", Form::Identifier),
    ("digits", Form::Digits),
    ("url", Form::Url),
];

/// A `${` that is not right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No `}`.
    #[error("`${{` has no end; `$${{` stands for the characters themselves")]
    Open,
    /// No name of a variable.
    #[error("`${{{0}}}` names no variable; `$${{` stands for the characters themselves")]
    Name(String),
    /// Not a form.
    #[error("`:{0}` is no form of a value: literal, identifier, digits and url are")]
    Form(String),
}

impl Template {
    /// Reads a text. `$${` is `${` as it is.
    ///
    /// # Errors
    /// A `${` without an end, or without a name.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            if let Some(escaped) = before.strip_suffix('$') {
                plain.push_str(escaped);
                plain.push_str("${");
                rest = from.get(2..).unwrap_or_default();
                continue;
            }
            plain.push_str(before);
            let inner = from.get(2..).unwrap_or_default();
            let (name, after) = inner.split_once('}').ok_or(TemplateError::Open)?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(part(name)?);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// Returns the pieces.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the one variable that is the whole text.
    pub fn only_variable(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Variable { name, form: Form::Plain }] => Some(name),
            _ => None,
        }
    }
}

/// Parses the text between `${` and `}`.
fn part(text: &str) -> Result<Part, TemplateError> {
    match text.split_once(':') {
        Some(("env", name)) if !name.is_empty() => Ok(Part::Environment(name.to_owned())),
        Some(("file", path)) if !path.is_empty() => Ok(Part::File(path.to_owned())),
        Some((name, form)) if is_name(name) => match FORMS.iter().find(|(known, _)| *known == form) {
            Some((_, form)) => Ok(Part::Variable { name: name.to_owned(), form: *form }),
            None => Err(TemplateError::Form(form.to_owned())),
        },
        None if is_name(text) => Ok(Part::Variable { name: text.to_owned(), form: Form::Plain }),
        _ => Err(TemplateError::Name(text.to_owned())),
    }
}

/// Names of variables, with points between those of a row's columns.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.split('.').all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
        })
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS.iter().find(|(_, form)| form == self).map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Form, Part, Template, TemplateError};

    #[test]
    fn places_for_values() {
        let variable = |name: &str, form| Part::Variable { name: name.to_owned(), form };
        assert_eq!(
            Template::parse("a${b}$${c}${each.id:literal}${env:X}").unwrap().parts(),
            [
                Part::Text("a".to_owned()),
                variable("b", Form::Plain),
                Part::Text("${c}".to_owned()),
                variable("each.id", Form::Literal),
                Part::Environment("X".to_owned()),
            ]
        );
        assert_eq!(Template::parse("${a").unwrap_err(), TemplateError::Open);
        assert!(matches!(Template::parse("${a:b}"), Err(TemplateError::Form(_))));
        for text in ["${}", "${1}", "${a..b}", "${:x}"] {
            assert!(matches!(Template::parse(text), Err(TemplateError::Name(_))), "{text}");
        }
        assert_eq!(Template::parse("${day}").unwrap().only_variable(), Some("day"));
    }
}
