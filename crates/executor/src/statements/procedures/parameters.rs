//! The arguments of a system procedure, matched with its parameters.

use tsql::SqlError;
use tsql::errors;

use crate::statements::procedures::argument::{Argument, text_of_value};

/// A system procedure's name and parameters.
pub struct Signature {
    /// The name of the procedure, for messages.
    pub name: &'static str,
    /// The names of the parameters in order, with their `@`.
    pub parameters: &'static [&'static str],
    /// The number of parameters, from the first, that have no default.
    pub required: usize,
}

/// The argument of each parameter, or `None`.
pub(crate) struct Parameters<'a>(Vec<Option<&'a Argument>>);

impl Signature {
    /// Matches arguments by name, and unnamed ones by position. Errors: 201, 8144, 8145.
    pub fn bind<'a>(&self, arguments: &'a [Argument]) -> Result<Parameters<'a>, SqlError> {
        let mut bound: Vec<Option<&Argument>> = vec![None; self.parameters.len()];
        for (position, argument) in arguments.iter().enumerate() {
            let place = if argument.name.is_empty() {
                (position < self.parameters.len())
                    .then_some(position)
                    .ok_or_else(|| errors::TOO_MANY_ARGUMENTS.with([self.name]))?
            } else {
                self.parameters
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(&argument.name))
                    .ok_or_else(|| errors::NOT_A_PARAMETER.with([&argument.name, self.name]))?
            };
            if let Some(slot) = bound.get_mut(place) {
                *slot = Some(argument);
            }
        }
        for (name, argument) in self.parameters.iter().zip(&bound).take(self.required) {
            if argument.is_none() {
                return Err(errors::PARAMETER_MISSING.with([self.name, name]));
            }
        }
        Ok(Parameters(bound))
    }
}

impl Parameters<'_> {
    /// Returns an argument as text; `None` if it is absent or NULL.
    pub fn text(&self, position: usize) -> Option<String> {
        let argument = self.argument(position)?;
        (!argument.value.is_null()).then(|| text_of_value(argument))
    }

    /// Returns an argument as a whole number; `None` if it is absent, NULL or no number.
    pub fn int(&self, position: usize) -> Option<i64> {
        let argument = self.argument(position)?;
        argument.value.as_int().or_else(|| self.text(position)?.trim().parse().ok())
    }

    /// Returns true if an argument is a bit of value 0.
    pub fn is_off(&self, position: usize) -> bool {
        matches!(self.text(position).as_deref(), Some("0"))
    }

    /// Returns the argument itself.
    pub fn argument(&self, position: usize) -> Option<&Argument> {
        self.0.get(position).copied().flatten()
    }
}
