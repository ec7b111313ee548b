//! The file of rules: JSON, in which unknown words are errors.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Deserialize;

use crate::faults::rule::{
    ByteRange, Cap, Direction, Ending, Failure, Fault, Happening, LinkShape, Moment, Often, PointAct,
    RequestKind, Rule, Target, Who,
};

/// Bytes that one direction of a link holds, if the file does not say.
const WINDOW_BYTES: u32 = 4 << 20;
/// Bytes among which a cut within a request falls, if the file does not say.
const WITHIN_BYTES: u64 = 4096;

/// The faults that a server is to inject.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPlan {
    /// The seed of random choices.
    pub(super) seed: u64,
    pub(super) rules: Vec<Rule>,
}

/// An error in a file of faults.
#[derive(Debug, thiserror::Error)]
pub enum FaultFileError {
    /// The file cannot be read.
    #[error("cannot read the faults in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The file is not JSON, or has a field that no rule knows.
    #[error("cannot understand the faults in {}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The mistake and its line.
        source: serde_json::Error,
    },
    /// A rule is contradictory.
    #[error("{}, rule {rule}: {reason}", path.display())]
    Rule {
        /// The file.
        path: PathBuf,
        /// The number of the rule, from 1.
        rule: usize,
        /// A description of the mistake.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    seed: u64,
    rules: Vec<RuleText>,
}

/// A rule as it is written. Which fields go together, [`RuleText::rule`] says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    fault: String,
    /// For readers.
    #[serde(rename = "note")]
    _note: Option<String>,
    application: Option<String>,
    login: Option<String>,
    connection: Option<u64>,
    every: Option<u64>,
    nth: Option<u64>,
    chance: Option<f64>,
    times: Option<u64>,
    times_per_connection: Option<u64>,
    on: Option<String>,
    text: Option<String>,
    when: Option<String>,
    after_rows: Option<u64>,
    direction: Option<String>,
    at_byte: Option<ByteText>,
    within_bytes: Option<u64>,
    how: Option<String>,
    seconds: Option<f64>,
    number: Option<i32>,
    message: Option<String>,
    class: Option<u8>,
    state: Option<u8>,
    delay_ms: Option<f64>,
    bytes_per_second: Option<u64>,
    window_bytes: Option<u32>,
    rows_per_second: Option<u64>,
}

/// A byte, or the first and the last of a range.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum ByteText {
    One(u64),
    Range(u64, u64),
}

impl FaultPlan {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<FaultPlan, FaultFileError> {
        let text = fs::read_to_string(path)
            .map_err(|source| FaultFileError::Read { path: path.to_owned(), source })?;
        let file: FileText = serde_json::from_str(&text)
            .map_err(|source| FaultFileError::Syntax { path: path.to_owned(), source })?;
        let rules = file.rules.into_iter().enumerate().map(|(at, rule)| {
            let wrong = |reason| FaultFileError::Rule { path: path.to_owned(), rule: at + 1, reason };
            rule.rule().map_err(wrong)
        });
        Ok(FaultPlan { seed: file.seed, rules: rules.collect::<Result<_, _>>()? })
    }
}

impl RuleText {
    fn rule(mut self) -> Result<Rule, String> {
        let who = Who {
            application: self.application.take(),
            login: self.login.take(),
            connection: counted("connection", self.connection.take())?,
            every: counted("every", self.every.take())?,
        };
        let often = Often {
            nth: counted("nth", self.nth.take())?,
            chance: self.chance.take(),
            times: counted("times", self.times.take())?,
            times_per_connection: counted("times_per_connection", self.times_per_connection.take())?,
        };
        if often.chance.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
            return Err("chance is a number from 0 to 1".to_owned());
        }
        let fault = match self.fault.as_str() {
            "link" => self.link()?,
            "cap" => Fault::Cap(self.cap()?),
            "cut" | "stall" if self.at_byte.is_some() => self.at_a_byte()?,
            "cut" if self.when.as_deref() == Some("within") => self.within()?,
            "cut" | "stall" | "silence" | "error" => self.at_a_request()?,
            other => return Err(format!("\"{other}\" is no fault: link, cap, cut, stall, silence or error")),
        };
        if matches!(fault, Fault::Link(_) | Fault::Cap(_) | Fault::Byte { .. })
            && (often.nth.is_some() || often.times_per_connection.is_some())
        {
            return Err("it is there once for each connection: nth and times_per_connection count requests"
                .to_owned());
        }
        if let Fault::Request { target: Target { on: RequestKind::Login, .. }, .. } = fault
            && often.nth.is_some()
        {
            return Err("a connection has one login: connection and every choose among logins".to_owned());
        }
        self.all_taken()?;
        Ok(Rule { who, often, fault })
    }

    fn link(&mut self) -> Result<Fault, String> {
        let delay = self.delay_ms.take().map_or(Ok(Duration::ZERO), |ms| time("delay_ms", ms / 1000.0))?;
        let shape = LinkShape {
            delay,
            bytes_per_second: counted("bytes_per_second", self.bytes_per_second.take())?,
            window_bytes: self.window_bytes.take().unwrap_or(WINDOW_BYTES),
        };
        if shape.window_bytes == 0 {
            return Err("window_bytes is at least 1".to_owned());
        }
        Ok(Fault::Link(shape))
    }

    fn cap(&mut self) -> Result<Cap, String> {
        let rows = counted("rows_per_second", self.rows_per_second.take())?;
        let bytes = counted("bytes_per_second", self.bytes_per_second.take())?;
        match (rows, bytes) {
            (Some(rows), None) => Ok(Cap::Rows(rows)),
            (None, Some(bytes)) => Ok(Cap::Bytes(bytes)),
            _ => Err("a cap has rows_per_second or bytes_per_second".to_owned()),
        }
    }

    fn at_a_byte(&mut self) -> Result<Fault, String> {
        let at = match self.at_byte.take() {
            Some(ByteText::One(byte)) => ByteRange { first: byte, last: byte },
            Some(ByteText::Range(first, last)) if first <= last => ByteRange { first, last },
            _ => return Err("at_byte is a number, or [first, last]".to_owned()),
        };
        let direction = self.direction.take().map(|word| match word.as_str() {
            "to_server" => Ok(Direction::ToServer),
            "to_client" => Ok(Direction::ToClient),
            other => Err(format!("\"{other}\" is no direction: to_server or to_client")),
        });
        let act = match self.fault.as_str() {
            "cut" => PointAct::Cut(self.ending()?),
            _ => PointAct::Stall(self.seconds.take().map(|seconds| time("seconds", seconds)).transpose()?),
        };
        Ok(Fault::Byte { direction: direction.transpose()?, at, act })
    }

    fn within(&mut self) -> Result<Fault, String> {
        self.when = None;
        let bytes = counted("within_bytes", self.within_bytes.take())?.unwrap_or(WITHIN_BYTES);
        Ok(Fault::Within { target: self.target()?, bytes, ending: self.ending()? })
    }

    fn at_a_request(&mut self) -> Result<Fault, String> {
        let happening = match self.fault.as_str() {
            "cut" => Happening::Cut(self.ending()?),
            "silence" => Happening::Silence,
            "stall" => match self.seconds.take() {
                Some(seconds) => Happening::Stall(time("seconds", seconds)?),
                None => Happening::Silence,
            },
            _ => Happening::Error(self.failure()?),
        };
        let target = self.target()?;
        let moment = match (self.when.take().as_deref(), self.after_rows.take()) {
            (None, Some(rows)) if target.on == RequestKind::Bulk => Moment::AfterRows(rows),
            (_, Some(_)) => return Err("after_rows is for \"on\": \"bulk\", and instead of when".to_owned()),
            (Some("before") | None, None) => Moment::Before,
            (Some("after"), None) if target.on == RequestKind::Login => {
                return Err("a login has no \"after\": nth request 1 comes next".to_owned());
            }
            (Some("after"), None) => Moment::After,
            (Some(other), None) => {
                return Err(format!("\"{other}\" is no time: before, after, and for a cut within"));
            }
        };
        Ok(Fault::Request { target, moment, happening })
    }

    fn failure(&mut self) -> Result<Failure, String> {
        let number = self.number.take().filter(|number| *number > 0);
        let class = self.class.take();
        if class.is_some_and(|class| !(11..=25).contains(&class)) {
            return Err("class is a number from 11 to 25".to_owned());
        }
        Ok(Failure {
            number: number.ok_or("an error has a number")?,
            message: self.message.take(),
            class,
            state: self.state.take(),
        })
    }

    fn target(&mut self) -> Result<Target, String> {
        let on = match self.on.take().as_deref() {
            None | Some("request") => RequestKind::Any,
            Some("login") => RequestKind::Login,
            Some("batch") => RequestKind::Batch,
            Some("rpc") => RequestKind::Rpc,
            Some("commit") => RequestKind::Commit,
            Some("bulk") => RequestKind::Bulk,
            Some(other) => {
                return Err(format!(
                    "\"{other}\" is no kind of request: login, request, batch, rpc, commit or bulk"
                ));
            }
        };
        let text = self.text.take().map(|text| text.to_lowercase());
        if text.is_some() && matches!(on, RequestKind::Login | RequestKind::Bulk) {
            return Err("text is for requests that have one".to_owned());
        }
        Ok(Target { on, text })
    }

    fn ending(&mut self) -> Result<Ending, String> {
        match self.how.take().as_deref() {
            None | Some("reset") => Ok(Ending::Reset),
            Some("close") => Ok(Ending::Close),
            Some(other) => Err(format!("\"{other}\" is no end: close or reset")),
        }
    }

    /// Refuses fields that are left over, which would do nothing.
    fn all_taken(&self) -> Result<(), String> {
        let left = [
            ("on", self.on.is_some()),
            ("text", self.text.is_some()),
            ("when", self.when.is_some()),
            ("after_rows", self.after_rows.is_some()),
            ("direction", self.direction.is_some()),
            ("at_byte", self.at_byte.is_some()),
            ("within_bytes", self.within_bytes.is_some()),
            ("how", self.how.is_some()),
            ("seconds", self.seconds.is_some()),
            ("number", self.number.is_some()),
            ("message", self.message.is_some()),
            ("class", self.class.is_some()),
            ("state", self.state.is_some()),
            ("delay_ms", self.delay_ms.is_some()),
            ("bytes_per_second", self.bytes_per_second.is_some()),
            ("window_bytes", self.window_bytes.is_some()),
            ("rows_per_second", self.rows_per_second.is_some()),
        ];
        match left.iter().find(|(_, there)| *there) {
            Some((name, _)) => Err(format!("{name} means nothing for this {}", self.fault)),
            None => Ok(()),
        }
    }
}

/// Checks a number that counts from 1.
fn counted(name: &str, number: Option<u64>) -> Result<Option<u64>, String> {
    match number {
        Some(0) => Err(format!("{name} is at least 1")),
        number => Ok(number),
    }
}

fn time(name: &str, seconds: f64) -> Result<Duration, String> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= Duration::from_secs(86_400));
    time.ok_or_else(|| format!("{name} is a time of at most a day"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(rule: &str) -> Option<String> {
        let rule: RuleText = serde_json::from_str(rule).map_err(|error| error.to_string()).ok()?;
        rule.rule().err()
    }

    #[test]
    fn a_field_that_would_do_nothing_is_refused() {
        let cases = [
            (r#"{"fault": "link", "delay_ms": 5}"#, None),
            (r#"{"fault": "cap", "rows_per_second": 10, "application": "a"}"#, None),
            (r#"{"fault": "cut", "at_byte": [10, 20], "direction": "to_client", "how": "close"}"#, None),
            (r#"{"fault": "cut", "when": "within", "within_bytes": 9, "chance": 0.5}"#, None),
            (r#"{"fault": "stall", "on": "commit", "seconds": 1, "when": "after", "nth": 2}"#, None),
            (r#"{"fault": "error", "number": 1205, "on": "bulk", "after_rows": 7}"#, None),
            (r#"{"fault": "leak"}"#, Some("is no fault")),
            (r#"{"fault": "error"}"#, Some("has a number")),
            (r#"{"fault": "link", "delay_ms": -1}"#, Some("delay_ms")),
            (r#"{"fault": "link", "delay_ms": 1, "nth": 1}"#, Some("once for each connection")),
            (r#"{"fault": "cap"}"#, Some("a cap has")),
            (r#"{"fault": "cut", "seconds": 3}"#, Some("seconds means nothing")),
            (r#"{"fault": "cut", "at_byte": 3, "on": "bulk"}"#, Some("on means nothing")),
            (r#"{"fault": "silence", "when": "within"}"#, Some("is no time")),
            (r#"{"fault": "silence", "chance": 1.5}"#, Some("chance")),
            (r#"{"fault": "silence", "times": 0}"#, Some("times is at least 1")),
            (r#"{"fault": "silence", "after_rows": 1}"#, Some("after_rows")),
            (r#"{"fault": "error", "number": 1, "on": "login", "text": "x"}"#, Some("text")),
        ];
        for (rule, expected) in cases {
            let reason = reason(rule);
            match expected {
                None => assert_eq!(reason, None, "{rule}"),
                Some(part) => {
                    assert!(reason.as_ref().is_some_and(|text| text.contains(part)), "{rule}: {reason:?}")
                }
            }
        }
        assert!(serde_json::from_str::<RuleText>(r#"{"fault": "link", "dellay_ms": 5}"#).is_err());
    }
}
