//! The notation in which statements are described that this server reads and does not run.
//!
//! A rule is `name := parts`; lines that begin with a blank go on with it, and `#` begins a comment. Blanks separate the parts:
//!
//! | Part | Stands for |
//! |---|---|
//! | `WORD` | that word, in any case |
//! | `name`, `expr` … | another rule, or what the parser reads by itself ([`Leaf`]) |
//! | `(`, `=`, `::`, `'{'` … | that symbol |
//! | `{ a \| b }` | the first that fits |
//! | `[ a ]` | `a` or nothing |
//! | `a ...`, `a ,...` | `a` once or more, with a comma between |
//! | `{ a \| b } once`, `,once` | any of them once or more, each at most once |
//!
//! A rule whose name is in capitals is a statement, and its name the statement's first words.

use std::collections::HashMap;

/// A piece of a rule.
#[derive(Debug)]
pub(super) enum Part {
    /// A word, in capitals.
    Word(&'static str),
    /// A symbol.
    Symbol(&'static str),
    /// What the parser reads by itself.
    Leaf(Leaf),
    /// Another rule, by its number.
    Rule(usize),
    /// One behind the other.
    Sequence(Vec<Part>),
    /// The first that fits.
    Choice(Vec<Part>),
    /// The part or nothing.
    Optional(Box<Part>),
    /// The part once or more.
    Several {
        /// The part, a choice if each of its branches may stand but once.
        part: Box<Part>,
        /// A comma stands between two.
        comma: bool,
        /// Each branch stands at most once.
        once: bool,
    },
}

/// What the parser reads by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    /// A name of one part.
    Name,
    /// A name of one to four parts.
    Object,
    /// A bare word, reserved or not.
    AnyWord,
    /// A string literal.
    Text,
    /// Digits.
    Integer,
    /// A number with a sign, a point or an exponent, or without.
    Number,
    /// `0x…`.
    Binary,
    /// `@name`.
    Variable,
    /// An expression.
    Expression,
    /// A condition.
    Condition,
    /// A query.
    Query,
    /// A type.
    Type,
}

const LEAVES: &[(&str, Leaf)] = &[
    ("name", Leaf::Name),
    ("object", Leaf::Object),
    ("any_word", Leaf::AnyWord),
    ("text", Leaf::Text),
    ("integer", Leaf::Integer),
    ("number", Leaf::Number),
    ("binary", Leaf::Binary),
    ("variable", Leaf::Variable),
    ("expr", Leaf::Expression),
    ("condition", Leaf::Condition),
    ("query", Leaf::Query),
    ("type", Leaf::Type),
];

/// A statement: its first words, and the rule for what follows them.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) words: Vec<&'static str>,
    pub(super) rule: usize,
}

/// Rules that have been read.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    rules: Vec<Part>,
    names: HashMap<&'static str, usize>,
    /// The statements by their first word, the longest first.
    heads: HashMap<&'static str, Vec<Head>>,
}

impl Grammar {
    /// Reads rules. Errors: a rule that is written twice, is not there, or does not end.
    pub(super) fn read(texts: &[&'static str]) -> Result<Grammar, String> {
        let mut written: Vec<(&'static str, Vec<&'static str>)> = Vec::new();
        for line in texts.iter().flat_map(|text| text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            match (line.split_once(":="), written.last_mut()) {
                (Some((name, body)), _) if !line.starts_with(' ') => written.push((name.trim(), vec![body])),
                (_, Some((_, lines))) => lines.push(line),
                _ => return Err(format!("no rule before '{line}'")),
            }
        }
        let mut grammar = Grammar::default();
        for (number, (name, _)) in written.iter().enumerate() {
            if grammar.names.insert(name, number).is_some() {
                return Err(format!("two rules '{name}'"));
            }
            let first =
                name.split(' ').next().filter(|word| word.starts_with(|ch: char| ch.is_ascii_uppercase()));
            if let Some(first) = first {
                let words = name.split(' ').collect();
                grammar.heads.entry(first).or_default().push(Head { words, rule: number });
            }
        }
        for heads in grammar.heads.values_mut() {
            heads.sort_by_key(|head| std::cmp::Reverse(head.words.len()));
        }
        for (name, lines) in &written {
            let mut parts = Vec::new();
            for line in lines {
                parts.extend(line.split_whitespace());
            }
            let body = Reader { parts: &parts, at: 0, names: &grammar.names }.all();
            grammar.rules.push(body.map_err(|error| format!("{name}: {error}"))?);
        }
        Ok(grammar)
    }

    /// Returns the rule of a number.
    pub(super) fn rule(&self, number: usize) -> Option<&Part> {
        self.rules.get(number)
    }

    /// Returns the number of a rule.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Returns the statements that begin with a word in capitals.
    pub(super) fn heads(&self, first: &str) -> &[Head] {
        self.heads.get(first).map_or(&[], Vec::as_slice)
    }
}

/// Reads the body of a rule.
struct Reader<'a> {
    parts: &'a [&'static str],
    at: usize,
    names: &'a HashMap<&'static str, usize>,
}

impl Reader<'_> {
    fn next(&self) -> Option<&'static str> {
        self.parts.get(self.at).copied()
    }

    fn accept(&mut self, part: &str) -> bool {
        let found = self.next() == Some(part);
        self.at += usize::from(found);
        found
    }

    fn all(mut self) -> Result<Part, String> {
        let part = self.choice()?;
        match self.next() {
            None => Ok(part),
            Some(left) => Err(format!("'{left}' closes nothing")),
        }
    }

    fn choice(&mut self) -> Result<Part, String> {
        let mut branches = vec![self.sequence()?];
        while self.accept("|") {
            branches.push(self.sequence()?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Part::Choice(branches) })
    }

    fn sequence(&mut self) -> Result<Part, String> {
        let mut parts = Vec::new();
        while self.next().is_some_and(|part| !matches!(part, "|" | "}" | "]")) {
            let part = self.part()?;
            let (comma, once) = match self.next() {
                Some("...") => (false, false),
                Some(",...") => (true, false),
                Some("once") => (false, true),
                Some(",once") => (true, true),
                _ => {
                    parts.push(part);
                    continue;
                }
            };
            self.at += 1;
            parts.push(Part::Several { part: Box::new(part), comma, once });
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Part::Sequence(parts) })
    }

    fn part(&mut self) -> Result<Part, String> {
        let Some(part) = self.next() else { return Err("a part is missing".to_owned()) };
        self.at += 1;
        let closed = |reader: &mut Self, close: &str, inner: Part| match reader.accept(close) {
            true => Ok(inner),
            false => Err(format!("'{close}' is missing")),
        };
        if part == "{" {
            let inner = self.choice()?;
            return closed(self, "}", inner);
        }
        if part == "[" {
            let inner = self.choice()?;
            return closed(self, "]", Part::Optional(Box::new(inner)));
        }
        if let Some(symbol) = part.strip_prefix('\'').and_then(|part| part.strip_suffix('\'')) {
            return Ok(Part::Symbol(symbol));
        }
        let first = part.chars().next().unwrap_or(' ');
        if first.is_ascii_uppercase() {
            return Ok(Part::Word(part));
        }
        if !first.is_ascii_lowercase() {
            return Ok(Part::Symbol(part));
        }
        if let Some((_, leaf)) = LEAVES.iter().find(|(name, _)| *name == part) {
            return Ok(Part::Leaf(*leaf));
        }
        self.names.get(part).map(|number| Part::Rule(*number)).ok_or_else(|| format!("no rule '{part}'"))
    }
}
