//! Elements of a model, one after another: the whole model is never in memory.

use std::io::{BufReader, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// Depth of elements in one another.
const DEPTH_MAX: usize = 100;
/// Bytes of text in one element of the model, all that is in it included.
const ELEMENT_BYTES_MAX: usize = 256 << 20;

/// An XML element of the model, with what is in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Node>,
    pub text: String,
}

impl Node {
    /// Returns an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the kind of a model's element.
    pub(crate) fn kind(&self) -> &str {
        self.attribute("Type").unwrap_or_default()
    }

    /// Returns the value of a property: an attribute, or text in an element `Value`.
    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        let is_it = |child: &&Node| child.name == "Property" && child.attribute("Name") == Some(name);
        let property = self.children.iter().find(is_it)?;
        property.attribute("Value").or_else(|| {
            let value = property.children.iter().find(|child| child.name == "Value");
            value.map(|value| value.text.as_str())
        })
    }

    /// Returns true if a property has the value True.
    pub(crate) fn is(&self, property: &str) -> bool {
        self.property(property).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns the elements of a relationship.
    pub(crate) fn elements<'a>(&'a self, relationship: &'a str) -> impl Iterator<Item = &'a Node> {
        self.entries(relationship).filter(|node| node.name == "Element")
    }

    /// Returns the names that a relationship refers to.
    pub(crate) fn references<'a>(&'a self, relationship: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries(relationship)
            .filter(|node| node.name == "References")
            .filter_map(|node| node.attribute("Name"))
    }

    /// Returns the annotations of a kind.
    pub(crate) fn annotations<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Node> {
        self.children
            .iter()
            .filter(move |child| child.name == "Annotation" && child.attribute("Type") == Some(kind))
    }

    fn entries<'a>(&'a self, relationship: &'a str) -> impl Iterator<Item = &'a Node> {
        self.named("Relationship", relationship)
            .flat_map(|relationship| &relationship.children)
            .filter(|entry| entry.name == "Entry")
            .flat_map(|entry| &entry.children)
    }

    fn named<'a>(&'a self, tag: &'a str, name: &'a str) -> impl Iterator<Item = &'a Node> {
        self.children.iter().filter(move |child| child.name == tag && child.attribute("Name") == Some(name))
    }
}

/// Calls `take` with the root's attributes first, as a node without children, then with each element below `Model`.
///
/// # Errors
/// It is no XML, or XML that is refused: document types, entities, depth, size.
pub(crate) fn each_element(model: impl Read, mut take: impl FnMut(Node)) -> Result<(), String> {
    let mut reader = Reader::from_reader(BufReader::with_capacity(64 << 10, model));
    let (mut buffer, mut open, mut size) = (Vec::new(), Vec::<Node>::new(), 0_usize);
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        let position = reader.error_position();
        match event.map_err(|error| format!("byte {position}: {error}"))? {
            Event::Start(start) => {
                let node = node(&start)?;
                if open.is_empty() {
                    take(node.clone());
                }
                open.push(node);
                if open.len() > DEPTH_MAX {
                    return Err("its elements are too deep in one another".to_owned());
                }
            }
            Event::Empty(start) => close(node(&start)?, &mut open, &mut take),
            Event::End(_) => {
                if let Some(node) = open.pop() {
                    close(node, &mut open, &mut take);
                }
            }
            Event::Text(text) => append(&mut open, &text.xml10_content(), &mut size)?,
            Event::CData(text) => append(&mut open, &text.xml10_content(), &mut size)?,
            Event::GeneralRef(reference) => {
                let text = resolved(&reference).ok_or("it has an entity of its own")?;
                append(&mut open, text.encode_utf8(&mut [0; 4]), &mut size)?;
            }
            Event::DocType(_) => return Err("it has a document type".to_owned()),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
        if open.len() <= 2 {
            size = 0;
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err("it ends within an element".to_owned()),
    }
}

/// Puts a finished element into the one around it, or hands it over if that is `Model`.
fn close(node: Node, open: &mut [Node], take: &mut impl FnMut(Node)) {
    match open {
        [_, model] if model.name == "Model" => take(node),
        [.., parent] => parent.children.push(node),
        [] => {}
    }
}

fn append(open: &mut [Node], text: &str, size: &mut usize) -> Result<(), String> {
    let Some(node) = open.last_mut() else { return Ok(()) };
    *size += text.len();
    if *size > ELEMENT_BYTES_MAX {
        return Err("an element is too large".to_owned());
    }
    // Only values have text; between elements there are line breaks.
    if node.name == "Value" {
        node.text.push_str(text);
    }
    Ok(())
}

fn node(start: &BytesStart<'_>) -> Result<Node, String> {
    let name = start.name().as_ref().to_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|error| error.to_string())?;
        attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
    }
    Ok(Node { name, attributes, ..Node::default() })
}

/// Returns the character of a reference: one of the five that XML names, or one by its number.
fn resolved(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        number => {
            let digits = number.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

/// Resolves the references in a short text.
pub(crate) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        match after.split_once(';').and_then(|(name, after)| Some((resolved(name)?, after))) {
            Some((character, after)) => {
                plain.push(character);
                rest = after;
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Splits a name of bracketed parts: `[dbo].[order line].[a]]b]`.
pub(crate) fn name_parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut characters = name.chars().peekable();
    while let Some(first) = characters.next() {
        let mut part = String::new();
        match first {
            '.' => continue,
            '[' => {
                while let Some(character) = characters.next() {
                    match (character, characters.peek()) {
                        (']', Some(']')) => {
                            part.push(']');
                            characters.next();
                        }
                        (']', _) => break,
                        (other, _) => part.push(other),
                    }
                }
            }
            other => {
                part.push(other);
                while let Some(character) = characters.next_if(|next| *next != '.') {
                    part.push(character);
                }
            }
        }
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_have_parts() {
        assert_eq!(name_parts("[dbo].[order line].[a]]b.c]"), ["dbo", "order line", "a]b.c"]);
        assert_eq!(name_parts("[int]"), ["int"]);
        assert_eq!(name_parts("dbo.t"), ["dbo", "t"]);
        assert_eq!(name_parts("["), [""]);
    }

    #[test]
    fn elements_come_one_by_one() {
        let text = "<R a=\"1\"><Model>\n<Element Type=\"X\"><Property Name=\"P\"><Value><![CDATA[a<b]]>&amp;</Value></Property>\
                    <Relationship Name=\"R\"><Entry><References Name=\"[n]\"/></Entry></Relationship></Element>\
                    <Element Type=\"Y\"/></Model></R>";
        let mut nodes = Vec::new();
        each_element(text.as_bytes(), |node| nodes.push(node)).unwrap();
        let [root, x, y] = nodes.as_slice() else { unreachable!("three nodes") };
        assert_eq!((root.attribute("a"), x.kind(), y.kind()), (Some("1"), "X", "Y"));
        assert_eq!(x.property("P"), Some("a<b&"));
        assert_eq!(x.references("R").collect::<Vec<_>>(), ["[n]"]);
    }

    #[test]
    fn hostile_documents_are_refused() {
        let of = |text: &str| each_element(text.as_bytes(), |_| ()).unwrap_err();
        assert!(of("<!DOCTYPE a [<!ENTITY b \"c\">]><a/>").contains("document type"));
        assert!(of(&"<a>".repeat(200)).contains("too deep"));
        assert!(of("<a><b>").contains("ends within"));
        assert!(of("<a>&mine;</a>").contains("entity"));
    }
}
