//! Values of options as texts: how serde reads and writes types that the command line parses.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The schema of a value that is a number or a word.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum NumberOrWord {
    /// A number.
    Number(i64),
    /// A word.
    Word(String),
}

/// The schema of a text, or of several.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum TextOrTexts {
    /// One text.
    Text(String),
    /// Several.
    Texts(Vec<String>),
}

/// Writes a value as a number if it looks like one, and otherwise as a text.
pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let text = value.to_string();
    match text.parse::<i64>() {
        Ok(number) => serializer.serialize_i64(number),
        Err(_) => serializer.serialize_str(&text),
    }
}

/// Reads a value from a text or a number.
pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(Scalar(PhantomData))
}

struct Scalar<T>(PhantomData<T>);

impl<T: FromStr<Err: Display>> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Optional values.
pub(super) mod option {
    use super::{Deserialize, Deserializer, Display, FromStr, Serializer};

    /// Writes a value as [`serialize`](super::serialize) does, or nothing.
    pub(in super::super) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a value as [`deserialize`](super::deserialize) does.
    pub(in super::super) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        struct Known<T>(T);
        impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Known<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                super::deserialize(deserializer).map(Self)
            }
        }
        Ok(Option::<Known<T>>::deserialize(deserializer)?.map(|known| known.0))
    }
}

/// A part of a list option, such as `id DESC` of an order.
pub(super) trait Item: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// What is expected.
    fn read(text: &str) -> Result<Self, String>;
    /// Spells it.
    fn spelled(&self) -> String;
}

impl Item for String {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn spelled(&self) -> String {
        self.clone()
    }
}

/// A source column and its target, as `a=b`.
impl Item for (String, String) {
    fn read(text: &str) -> Result<Self, String> {
        super::parse_mapping(text)
    }

    fn spelled(&self) -> String {
        format!("{}={}", self.0, self.1)
    }
}

/// A column and whether it descends, as `id DESC`.
impl Item for (String, bool) {
    fn read(text: &str) -> Result<Self, String> {
        super::parse_order(text)
    }

    fn spelled(&self) -> String {
        if self.1 { format!("{} DESC", self.0) } else { self.0.clone() }
    }
}

/// Lists: of items, or a text with commas between them.
pub(super) mod list {
    use super::{Deserializer, Item, Items, PhantomData, Serialize, Serializer};

    /// Writes the items.
    pub(in super::super) fn serialize<T: Item, S: Serializer>(
        items: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        items.iter().map(Item::spelled).collect::<Vec<_>>().serialize(serializer)
    }

    /// Reads the items.
    pub(in super::super) fn deserialize<'de, T: Item, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_any(Items(PhantomData))
    }
}

struct Items<T>(PhantomData<T>);

impl<'de, T: Item> Visitor<'de> for Items<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        text.split(',').map(|item| T::read(item.trim()).map_err(E::custom)).collect()
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element::<String>()? {
            found.push(T::read(&item).map_err(A::Error::custom)?);
        }
        Ok(found)
    }
}

/// Texts: a single one, commas and all, or a list.
pub(super) mod texts {
    use serde::Deserialize;

    use super::{Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Several(Vec<String>),
        None,
    }

    /// Writes one text as such, and several as a list.
    pub(in super::super) fn serialize<S: Serializer>(
        texts: &[String],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match texts {
            [text] => text.serialize(serializer),
            texts => texts.serialize(serializer),
        }
    }

    /// Reads the texts.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<String>, D::Error> {
        Ok(match Texts::deserialize(deserializer)? {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
            Texts::None => Vec::new(),
        })
    }
}

/// Optional lists.
pub(super) mod optional_list {
    use super::{Deserializer, Serialize, Serializer, list};

    /// Writes the items, or nothing.
    pub(in super::super) fn serialize<S: Serializer>(
        items: &Option<Vec<String>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        items.serialize(serializer)
    }

    /// Reads the items; an empty list is none.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<String>>, D::Error> {
        Ok(Some(list::deserialize::<String, D>(deserializer)?).filter(|items| !items.is_empty()))
    }
}
