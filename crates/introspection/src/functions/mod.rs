//! The functions that know the session, the server and the catalogue.

mod application_locks;
mod collation_property;
mod metadata;
mod system;

use std::sync::{Arc, LazyLock};

use query::Typed;
use query::functions::function::{Family, Functions, Signature, ValueKernel};
use tsql::SqlError;

use crate::facts::Facts;

/// The functions that need a session, in the form of the language's own.
static TABLE: LazyLock<Functions<ValueKernel<Facts>>> = LazyLock::new(|| Functions::new(FAMILIES));

const FAMILIES: &[Family<ValueKernel<Facts>>] = &[
    Family { title: "Server and session", functions: system::FUNCTIONS },
    Family { title: "Catalogue", functions: metadata::FUNCTIONS },
];

/// Lists the built-in functions by the headings of their families.
pub fn signatures() -> Vec<(&'static str, Vec<&'static Signature>)> {
    let mut families = query::functions::signatures();
    families.extend(TABLE.signatures());
    families
}

/// Returns true if calls of a function are quick and read no rows.
pub fn is_light(name: &str) -> bool {
    let own = || TABLE.find(name).map(|function| function.signature.is_light);
    let known = query::functions::find(name).map(|function| function.signature.is_light);
    known.or_else(own).unwrap_or(false)
}

impl query::Facts for Facts {
    fn now(&self) -> i64 {
        self.now
    }

    fn date_first(&self) -> u8 {
        self.date_first
    }

    fn options(&self) -> i64 {
        self.options
    }

    fn row_version(&self) -> u64 {
        self.row_version
    }

    fn message(&self, number: i64) -> Option<String> {
        let own = self.directory.messages.iter().find(|message| i64::from(message.number) == number);
        let text = own.map(|message| message.text.clone());
        text.or_else(|| tsql::system_messages::find(number).map(|message| message.text.to_owned()))
    }

    fn function(self: Arc<Self>, name: &str, arguments: &[Typed]) -> Result<Option<Typed>, SqlError> {
        TABLE.find(name).map(|function| function.bind(arguments, &self)).transpose()
    }
}
