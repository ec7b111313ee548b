//! The options of a copy, from which both the command and the package are made.

/// An option of `bulkwire copy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flag {
    /// The name of the option, without the dashes.
    pub(super) name: &'static str,
    /// The value of the option.
    pub(super) value: Value,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing but its name.
    Switch,
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// Several texts.
    List(Vec<String>),
}

impl Flag {
    pub(super) fn switch(name: &'static str) -> Self {
        Self { name, value: Value::Switch }
    }

    pub(super) fn text(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: Value::Text(value.into()) }
    }

    pub(super) fn number(name: &'static str, value: u64) -> Self {
        Self { name, value: Value::Number(value) }
    }

    pub(super) fn list(name: &'static str, values: Vec<String>) -> Self {
        Self { name, value: Value::List(values) }
    }

    /// Returns the words of a command line. `--map` is repeated, other lists have commas.
    pub(super) fn words(&self) -> Vec<String> {
        let name = self.name;
        match &self.value {
            Value::Switch => vec![format!("--{name}")],
            Value::Text(text) => vec![format!("--{name}={text}")],
            Value::Number(number) => vec![format!("--{name}={number}")],
            Value::List(values) if name == "map" => {
                values.iter().map(|value| format!("--{name}={value}")).collect()
            }
            Value::List(values) => vec![format!("--{name}={}", values.join(","))],
        }
    }
}
