//! The treatment of collations in a table that is made like another.

use std::{fmt, str::FromStr, sync::Arc};

use arrow::datatypes::{Schema, SchemaRef};
use load::TableShape;
use rows::mapping::COLLATION_KEY;

/// The treatment of column collations. A server refuses those that it does not know: older versions, other
/// services.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Collations {
    /// Columns keep their collations.
    #[default]
    Keep,
    /// Columns get the default of their database.
    Default,
    /// Pairs of names: the first of each becomes the second, and all others stay.
    Map(Vec<(String, String)>),
}

impl Collations {
    fn of(&self, name: String) -> Option<String> {
        match self {
            Self::Keep => Some(name),
            Self::Default => None,
            Self::Map(pairs) => {
                let found = pairs.iter().find(|(from, _)| from.eq_ignore_ascii_case(&name));
                Some(found.map_or(name, |(_, to)| to.clone()))
            }
        }
    }

    /// Gives the columns of a table their collations.
    pub(crate) fn apply(&self, shape: &mut TableShape) {
        for column in &mut shape.columns {
            column.collation = column.collation.take().and_then(|name| self.of(name));
        }
    }

    /// Applies the treatment to columns that name their collations in their metadata.
    pub(crate) fn applied(&self, schema: SchemaRef) -> SchemaRef {
        if *self == Self::Keep {
            return schema;
        }
        let fields = schema.fields().iter().map(|field| {
            let mut metadata = field.metadata().clone();
            if let Some(name) = metadata.remove(COLLATION_KEY)
                && let Some(name) = self.of(name)
            {
                metadata.insert(COLLATION_KEY.to_owned(), name);
            }
            field.as_ref().clone().with_metadata(metadata)
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

impl FromStr for Collations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(pairs) = text.strip_prefix("map=") {
            let pair = |pair: &str| {
                let (from, to) = pair.split_once(':')?;
                let is_name = |name: &str| {
                    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                };
                (is_name(from) && is_name(to)).then(|| (from.to_owned(), to.to_owned()))
            };
            let pairs: Option<Vec<_>> = pairs.split(',').map(pair).collect();
            return pairs.map(Self::Map).ok_or_else(|| "map=OLD:NEW, several joined by commas".to_owned());
        }
        match text {
            "keep" => Ok(Self::Keep),
            "default" => Ok(Self::Default),
            _ => Err("keep, default, or map=OLD:NEW".to_owned()),
        }
    }
}

impl fmt::Display for Collations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("keep"),
            Self::Default => f.write_str("default"),
            Self::Map(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(from, to)| format!("{from}:{to}")).collect();
                write!(f, "map={}", pairs.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_read_back_and_map() {
        for text in ["keep", "default", "map=A_1:B_2", "map=A:B,C:D"] {
            assert_eq!(text.parse::<Collations>().map(|read| read.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "map=", "map=A", "map=A:", "map=A:B;C", "keep,default"] {
            assert!(text.parse::<Collations>().is_err(), "{text}");
        }
        let map: Result<Collations, _> = "map=A_UTF8:B".parse();
        let of = |name: &str| map.as_ref().ok().and_then(|map| map.of(name.to_owned()));
        assert_eq!((of("a_utf8").as_deref(), of("C").as_deref()), (Some("B"), Some("C")));
        assert_eq!(Collations::Default.of("A".to_owned()), None);
    }
}
