//! Lengths of time as people write them.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};

/// Seconds, or a text such as `90s`, `10m`, `1h30m`, `500ms` or `2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

const PATTERN: &str = "^([0-9]+(ms|s|m|h|d))+$";
const WANTED: &str = "seconds, or a text such as \"90s\", \"10m\", \"1h30m\"";

impl JsonSchema for Span {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": PATTERN}]
        })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Seconds(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => Ok(Self(Duration::from_secs(seconds))),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is no length of time: {WANTED}");
        let mut total = Duration::ZERO;
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wanted)?;
            let (number, unit) = rest.split_at(digits);
            let number: u64 = number.parse().map_err(|_| wanted())?;
            let end = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
            let (unit, after) = unit.split_at(end);
            let milliseconds = match unit {
                "ms" => 1,
                "s" => 1000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(wanted()),
            };
            let part = number.checked_mul(milliseconds).map(Duration::from_millis);
            total = part.and_then(|part| total.checked_add(part)).ok_or_else(wanted)?;
            rest = after;
        }
        if text.is_empty() { Err(wanted()) } else { Ok(Self(total)) }
    }
}

#[cfg(test)]
mod tests {
    use super::Span;
    use std::time::Duration;

    #[test]
    fn lengths_of_time() {
        for (text, milliseconds) in
            [("90s", 90_000), ("1h30m", 5_400_000), ("500ms", 500), ("2d", 172_800_000)]
        {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(milliseconds))), "{text}");
        }
        for text in ["", "10", "m", "1x", "99999999999999999999s", "18446744073709551615d", "-1s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
