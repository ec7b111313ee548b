//! The copy that has been made, as a value to run.

use copy::{CopyError, Ends, Language, Options, Spec, Voice};
use serde_json::Value as Json;

use super::Draft;
use super::end::{Password, Side};
use super::flag::{Flag, Value};
use super::text::Spelling;

impl Draft {
    /// Returns what is said of the copy, beside its ends.
    ///
    /// # Errors
    /// An option has a value that it cannot have, or does not go with another.
    pub fn options(&self) -> Result<Options, CopyError> {
        options(&self.all_flags())
    }

    /// Returns the copy with the passwords that were typed.
    ///
    /// # Errors
    /// An option is wrong, or an end cannot honour it.
    pub fn spec_to_run(&self) -> Result<Spec, CopyError> {
        let is_one = !self.has_several_tables();
        let source = self.source.endpoint(Side::Source, Password::Typed, is_one);
        let destination = self.destination.endpoint(Side::Destination, Password::Typed, is_one);
        spec(&source, &destination, &self.all_flags())
    }

    /// Returns a copy whose rows come as the source has them, with nothing done to them.
    ///
    /// # Errors
    /// An option is wrong, or the source cannot honour it.
    pub fn spec_of_source(&self) -> Result<Spec, CopyError> {
        self.spec_to_look(&self.flags_of_source())
    }

    /// Returns the same with all columns of a text file as text.
    ///
    /// # Errors
    /// An option is wrong, or the source cannot honour it.
    pub fn spec_of_untyped_source(&self) -> Result<Spec, CopyError> {
        self.untyped().spec_of_source()
    }

    /// Returns a copy whose rows are transformed, and looked at.
    ///
    /// # Errors
    /// An option is wrong, or the source cannot honour it.
    pub fn spec_of_preview(&self) -> Result<Spec, CopyError> {
        let mut flags = self.flags_of_source();
        flags.extend(self.columns.flags(false));
        self.spec_to_look(&flags)
    }

    /// Returns true if the engine for transformations computes rows of the copy.
    pub fn transforms(&self) -> bool {
        self.columns.flags(false).iter().any(is_transforming)
    }

    /// Rows that are only looked at go nowhere. Without a transformation they stay texts, which no spelling is for.
    fn spec_to_look(&self, flags: &[Flag]) -> Result<Spec, CopyError> {
        let source = self.source.endpoint(Side::Source, Password::Typed, !self.has_several_tables());
        let is_transformed = flags.iter().any(is_transforming);
        let keeps = |flag: &&Flag| is_transformed || !Spelling::FLAGS.contains(&flag.name);
        let mut flags: Vec<Flag> = flags.iter().filter(keeps).cloned().collect();
        flags.push(Flag::text("to-format", "csv"));
        spec(&source, "-", &flags)
    }
}

/// Returns true if an option makes the engine for transformations compute rows.
fn is_transforming(flag: &Flag) -> bool {
    ["select", "where", "transform-query"].contains(&flag.name)
}

fn options(flags: &[Flag]) -> Result<Options, CopyError> {
    let keys = flags.iter().map(|flag| {
        let value = match &flag.value {
            Value::Switch => Json::Bool(true),
            Value::Text(text) => Json::from(text.as_str()),
            Value::Number(number) => Json::from(*number),
            Value::List(values) => Json::from(values.clone()),
        };
        (Language::Toml.option(flag.name), value)
    });
    Options::from_keys(&keys.collect(), Language::Command)
}

fn spec(source: &str, destination: &str, flags: &[Flag]) -> Result<Spec, CopyError> {
    let options = options(flags)?;
    let ends = Ends::parse(source, destination, &options, Voice::default())?;
    Spec::new(&ends, &options, Language::Command, Voice::default())
}
