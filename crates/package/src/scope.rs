//! Variables while a package runs, and texts with their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::loaded::Loaded;
use crate::model::{Connection, DeclaredVariable, Kind, Variable};
use crate::scalar::Scalar;
use crate::secrets::{self, KnownSecrets, SecretError};
use crate::template::{Form, Part, Template, TemplateError};

/// An error in a text's variables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No such variable.
    #[error("there is no variable `{0}`")]
    Unknown(String),
    /// A variable without default that nobody gives a value.
    #[error("the variable `{0}` has no default: give it a value with --set {0}=VALUE")]
    NoValue(String),
    /// A value of another type.
    #[error("variable `{name}`: {reason}")]
    WrongType {
        /// The variable.
        name: String,
        /// A description of the mistake.
        reason: String,
    },
    /// Not a template.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A secret that cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// The treatment of secrets in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// Secrets are put in.
    Resolve,
    /// The references to secrets stay, for people to read.
    Show,
}

/// The variables of one package that runs.
#[derive(Debug)]
pub struct Variables {
    values: Mutex<BTreeMap<String, Scalar>>,
    kinds: BTreeMap<String, Kind>,
}

/// The names that a task sees.
#[derive(Debug, Clone)]
pub struct Scope {
    variables: Arc<Variables>,
    built_in: Arc<BTreeMap<&'static str, String>>,
    each: Vec<(String, BTreeMap<String, Scalar>)>,
    task: String,
    folder: PathBuf,
    connections: Arc<BTreeMap<String, Connection>>,
}

impl Variables {
    /// Makes the variables of a package from its defaults, and the values that override them.
    ///
    /// # Errors
    /// An override of no variable, a value of another type, a variable without any value.
    pub fn new(package: &Loaded, set: &[(String, String)]) -> Result<Self, ScopeError> {
        let mut values = BTreeMap::new();
        let mut kinds = BTreeMap::new();
        for (name, variable) in &package.model.variables {
            let (kind, default) = declared(variable);
            kinds.insert(name.clone(), kind);
            let given = set.iter().rev().find(|(other, _)| other == name).map(|(_, text)| text.clone());
            let text = given.or(default).ok_or_else(|| ScopeError::NoValue(name.clone()))?;
            let value = Scalar::parse(kind, &text)
                .map_err(|error| ScopeError::WrongType { name: name.clone(), reason: error.to_string() })?;
            values.insert(name.clone(), value);
        }
        match set.iter().find(|(name, _)| !kinds.contains_key(name)) {
            Some((name, _)) => Err(ScopeError::Unknown(name.clone())),
            None => Ok(Self { values: Mutex::new(values), kinds }),
        }
    }

    /// Returns all variables as texts; NULLs are left out.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.iter().filter_map(|(name, value)| Some((name.clone(), value.text.clone()?))).collect()
    }

    /// Returns the type of a variable.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.get(name).copied()
    }

    /// Gives a variable a value. None is NULL.
    ///
    /// # Errors
    /// No such variable, or not a value of its type.
    pub fn set(&self, name: &str, text: Option<&str>) -> Result<(), ScopeError> {
        let kind = self.kind(name).ok_or_else(|| ScopeError::Unknown(name.to_owned()))?;
        let value = match text {
            None => Scalar::null(kind),
            Some(text) => Scalar::parse(kind, text).map_err(|error| ScopeError::WrongType {
                name: name.to_owned(),
                reason: error.to_string(),
            })?,
        };
        self.values.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), value);
        Ok(())
    }

    fn get(&self, name: &str) -> Option<Scalar> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

fn declared(variable: &Variable) -> (Kind, Option<String>) {
    match variable {
        Variable::Boolean(value) => (Kind::Boolean, Some(value.to_string())),
        Variable::Integer(value) => (Kind::Integer, Some(value.to_string())),
        Variable::Number(value) => (Kind::Number, Some(value.to_string())),
        Variable::Text(text) => (Kind::Text, Some(text.clone())),
        Variable::Declared(DeclaredVariable { kind, default, .. }) => {
            (*kind, default.as_ref().map(|plain| Scalar::of_plain(plain).to_string()))
        }
    }
}

impl Scope {
    /// Makes the scope of a package's tasks.
    pub fn new(package: &Loaded, variables: Arc<Variables>, run: &[(&'static str, String)]) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut built_in: BTreeMap<&'static str, String> = run.iter().cloned().collect();
        built_in.insert("package.name", package.name.clone());
        built_in.insert("package.folder", absolute(&package.folder).display().to_string());
        built_in.insert("package.file", absolute(&package.path).display().to_string());
        Self {
            variables,
            built_in: Arc::new(built_in),
            each: Vec::new(),
            task: String::new(),
            folder: package.folder.clone(),
            connections: Arc::new(package.model.connections.clone()),
        }
    }

    /// Makes the scope of a task.
    pub fn of_task(&self, name: &str) -> Self {
        Self { task: name.to_owned(), ..self.clone() }
    }

    /// Makes the scope of one round of a loop. The value itself stands under the empty name.
    pub fn of_round(&self, name: &str, values: BTreeMap<String, Scalar>) -> Self {
        let mut inner = self.clone();
        inner.each.push((name.to_owned(), values));
        inner
    }

    /// Returns the package's variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Returns the folder that paths are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the package's connections.
    pub fn connections(&self) -> &BTreeMap<String, Connection> {
        &self.connections
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<Scalar> {
        let (head, part) = name.split_once('.').unwrap_or((name, ""));
        if let Some((_, values)) = self.each.iter().rev().find(|(each, _)| each == head) {
            let same = |known: &&String| known.eq_ignore_ascii_case(part);
            return values
                .get(part)
                .or_else(|| values.keys().find(same).and_then(|key| values.get(key)))
                .cloned();
        }
        if name == "task.name" {
            return Some(Scalar::text(self.task.clone()));
        }
        self.variables.get(name).or_else(|| self.built_in.get(name).map(Scalar::text))
    }

    /// Puts the values into a text.
    ///
    /// # Errors
    /// A name without a value.
    pub fn text(&self, text: &str, secrets: Secrets) -> Result<String, ScopeError> {
        if !text.contains("${") {
            return Ok(text.to_owned());
        }
        let template = Template::parse(text)?;
        let mut whole = String::new();
        for part in template.parts() {
            match (part, secrets) {
                (Part::Text(text), _) => whole.push_str(text),
                (Part::Variable { name, form }, _) => {
                    match (self.get(name), secrets) {
                        (Some(value), _) => whole.push_str(&spelled(&value, *form)),
                        // The item of a loop is known in its rounds.
                        (None, Secrets::Show) => whole.push_str(&format!("${{{name}}}")),
                        (None, Secrets::Resolve) => return Err(ScopeError::Unknown(name.clone())),
                    }
                }
                (Part::Environment(name), Secrets::Show) => whole.push_str(&format!("${{env:{name}}}")),
                (Part::File(path), Secrets::Show) => whole.push_str(&format!("${{file:{path}}}")),
                (Part::Environment(name), Secrets::Resolve) => {
                    whole.push_str(&secrets::of_environment(name)?)
                }
                (Part::File(path), Secrets::Resolve) => {
                    whole.push_str(&secrets::of_file(&self.folder, path)?)
                }
            }
        }
        Ok(whole)
    }

    /// Adds the secrets that the texts of a tree name. One that cannot be had is left out.
    pub fn note_secrets(&self, value: &Value, known: &mut KnownSecrets) {
        match value {
            Value::String(text) => {
                let parts = Template::parse(text).map(|template| template.parts().to_vec());
                for part in parts.unwrap_or_default() {
                    match part {
                        Part::Environment(name) => {
                            if let Ok(secret) = secrets::of_environment(&name) {
                                known.add(&format!("${{env:{name}}}"), &secret);
                            }
                        }
                        Part::File(path) => {
                            if let Ok(secret) = secrets::of_file(&self.folder, &path) {
                                known.add(&format!("${{file:{path}}}"), &secret);
                            }
                        }
                        Part::Text(_) | Part::Variable { .. } => {}
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.note_secrets(item, known)),
            Value::Object(members) => members.values().for_each(|inner| self.note_secrets(inner, known)),
            _ => {}
        }
    }

    /// Expands every text in a tree of values; the tasks of a group stay as they are.
    ///
    /// # Errors
    /// A name without a value.
    pub fn tree(&self, value: &Value, secrets: Secrets) -> Result<Value, ScopeError> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(text, secrets)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.tree(item, secrets)).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, inner)| {
                        let stays = matches!(name.as_str(), "tasks" | "for_each" | "if" | "description");
                        let inner = if stays { inner.clone() } else { self.tree(inner, secrets)? };
                        Ok((name.clone(), inner))
                    })
                    .collect::<Result<_, ScopeError>>()?,
            ),
            other => other.clone(),
        })
    }
}

fn spelled(value: &Scalar, form: Form) -> String {
    match form {
        Form::Plain => value.to_string(),
        Form::Literal => value.literal(),
        Form::Identifier => {
            let text = value.to_string();
            let bare = |part: &str| match part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
                Some(inner) => inner.replace("]]", "]"),
                None => part.to_owned(),
            };
            text.split('.').map(|part| load::quoted(&bare(part))).collect::<Vec<_>>().join(".")
        }
        Form::Digits => value.to_string().chars().filter(char::is_ascii_digit).collect(),
        Form::Url => value
            .to_string()
            .bytes()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    char::from(byte).to_string()
                }
                byte => format!("%{byte:02X}"),
            })
            .collect(),
    }
}
