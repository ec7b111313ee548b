//! FOR XML PATH: names of columns are paths of elements and attributes.

use super::super::Datum;
use super::xml::{NIL_NAMESPACE, attribute, content, element_name};
use super::{RowWriter, TextColumn};
use tsql::SqlError;
use tsql::for_clause::ForXml;

/// Errors: 6850 for a name that is no path, 6852 for an attribute behind other content, 6864 for one without an element.
pub(super) fn check(row: &str, columns: &[TextColumn]) -> Result<(), SqlError> {
    let mut content_of: Vec<Vec<&str>> = Vec::new();
    for column in columns {
        let (parents, leaf) = split(&column.name);
        for name in parents.iter().chain(leaf.name().iter()) {
            if name.is_empty() || element_name(name) != *name {
                return Err(SqlError::new(
                    6850,
                    16,
                    1,
                    format!(
                        "Column name '{}' contains an invalid XML identifier as required by FOR XML; '{}'(0x{:04X}) is the first character at fault.",
                        column.name,
                        name.chars().next().unwrap_or(' '),
                        name.chars().next().map_or(0, u32::from),
                    ),
                ));
            }
        }
        if matches!(leaf, Leaf::Attribute(_)) {
            if row.is_empty() && parents.is_empty() {
                let text = "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR XML serialization.";
                return Err(SqlError::new(6864, 16, 1, text));
            }
            if content_of.contains(&parents) {
                return Err(SqlError::new(
                    6852,
                    16,
                    1,
                    format!(
                        "Attribute-centric column '{}' must not come after a non-attribute-centric sibling in XML hierarchy in FOR XML PATH.",
                        column.name
                    ),
                ));
            }
        } else {
            content_of.push(parents.clone());
        }
        for depth in 0..parents.len() {
            content_of.push(parents.iter().take(depth).copied().collect());
        }
    }
    Ok(())
}

/// The node that the last step of a path names.
enum Leaf<'n> {
    Attribute(&'n str),
    Element(&'n str),
    Text,
    Data,
    Comment,
    Instruction(&'n str),
}

impl<'n> Leaf<'n> {
    fn name(&self) -> Option<&'n str> {
        match self {
            Leaf::Attribute(name) | Leaf::Element(name) | Leaf::Instruction(name) => Some(name),
            Leaf::Text | Leaf::Data | Leaf::Comment => None,
        }
    }
}

fn split(name: &str) -> (Vec<&str>, Leaf<'_>) {
    if name.is_empty() {
        return (Vec::new(), Leaf::Text);
    }
    let mut parents: Vec<&str> = name.split('/').collect();
    let last = parents.pop().unwrap_or_default();
    let instruction = last.strip_prefix("processing-instruction(").and_then(|rest| rest.strip_suffix(')'));
    let leaf = match last {
        "*" | "text()" | "node()" => Leaf::Text,
        "data()" => Leaf::Data,
        "comment()" => Leaf::Comment,
        _ => match (last.strip_prefix('@'), instruction) {
            (Some(attribute), _) => Leaf::Attribute(attribute),
            (None, Some(target)) => Leaf::Instruction(target),
            (None, None) => Leaf::Element(last),
        },
    };
    (parents, leaf)
}

/// Writes the rows of PATH.
#[derive(Debug)]
pub(super) struct PathWriter {
    clause: ForXml,
    row: String,
    columns: Vec<TextColumn>,
    rows: usize,
    text: String,
}

impl PathWriter {
    pub(super) fn new(clause: ForXml, row: String, columns: Vec<TextColumn>) -> PathWriter {
        PathWriter { clause, row, columns, rows: 0, text: String::new() }
    }
}

/// The elements that are open while a row is written.
struct Elements<'n> {
    open: Vec<&'n str>,
    /// The innermost one's start tag still takes attributes.
    in_tag: bool,
    text: String,
}

impl<'n> Elements<'n> {
    fn begin(&mut self, name: &'n str) {
        self.end_tag();
        self.text.push_str(&format!("<{name}"));
        self.open.push(name);
        self.in_tag = true;
    }

    fn end_tag(&mut self) {
        if std::mem::take(&mut self.in_tag) {
            self.text.push('>');
        }
    }

    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        if std::mem::take(&mut self.in_tag) {
            self.text.push_str("/>");
        } else {
            self.text.push_str(&format!("</{name}>"));
        }
    }
}

impl RowWriter for PathWriter {
    fn add(&mut self, row: Vec<Datum>) -> Result<(), SqlError> {
        self.rows += 1;
        let mut elements = Elements { open: Vec::new(), in_tag: false, text: String::new() };
        let around = usize::from(!self.row.is_empty());
        if around > 0 {
            elements.begin(&self.row);
            if self.clause.nil {
                elements.text.push_str(NIL_NAMESPACE);
            }
        }
        let mut data_before = false;
        for (column, cell) in self.columns.iter().zip(row) {
            let (parents, leaf) = split(&column.name);
            if cell.is_null() && !(self.clause.nil && matches!(leaf, Leaf::Element(_))) {
                continue;
            }
            let common = elements
                .open
                .iter()
                .skip(around)
                .zip(&parents)
                .take_while(|(one, other)| one == other)
                .count();
            while elements.open.len() > around + common {
                elements.end();
            }
            for parent in parents.into_iter().skip(common) {
                elements.begin(parent);
            }
            let data = matches!(leaf, Leaf::Data);
            match leaf {
                Leaf::Attribute(name) => {
                    let text = attribute(cell, &column.sql_type)?;
                    elements.text.push_str(&format!(" {name}=\"{text}\""));
                }
                Leaf::Element(name) if cell.is_null() => {
                    elements.end_tag();
                    elements.text.push_str(&format!("<{name} xsi:nil=\"true\"/>"));
                }
                Leaf::Element(name) => {
                    let text = content(cell, &column.sql_type, column.nested)?;
                    elements.end_tag();
                    elements.text.push_str(&format!("<{name}>{text}</{name}>"));
                }
                Leaf::Text | Leaf::Data => {
                    let text = content(cell, &column.sql_type, column.nested)?;
                    elements.end_tag();
                    if data && data_before {
                        elements.text.push(' ');
                    }
                    elements.text.push_str(&text);
                }
                Leaf::Comment => {
                    let text = content(cell, &column.sql_type, true)?;
                    elements.end_tag();
                    elements.text.push_str(&format!("<!--{text}-->"));
                }
                Leaf::Instruction(target) => {
                    let text = content(cell, &column.sql_type, true)?;
                    elements.end_tag();
                    elements.text.push_str(&format!("<?{target} {text}?>"));
                }
            }
            data_before = data;
        }
        while !elements.open.is_empty() {
            elements.end();
        }
        self.text.push_str(&elements.text);
        Ok(())
    }

    fn rows(&self) -> Option<String> {
        (self.rows > 0).then(|| self.text.clone())
    }

    fn size(&self) -> usize {
        self.text.capacity()
    }
}
