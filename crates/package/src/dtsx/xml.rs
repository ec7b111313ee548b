//! XML as a tree of elements. Hostile documents are refused: no document types, bounded depth and size.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::dtsx::import_error::ImportError;

const DEPTH_MAX: usize = 200;
const ELEMENTS_MAX: usize = 2_000_000;
const BYTES_MAX: usize = 256 << 20;

/// An element with what is in it. Names have no prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// The name of the element.
    pub name: String,
    attributes: Vec<(String, String)>,
    /// The elements in it.
    pub children: Vec<Element>,
    /// The text in it.
    pub text: String,
}

impl Element {
    /// Returns an attribute's value.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns an attribute's value, empty if it is absent.
    pub fn value(&self, name: &str) -> &str {
        self.attribute(name).unwrap_or_default()
    }

    /// Finds the first child of this name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Lists the children of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Lists the elements named `name` in the first element named `list`.
    pub fn within<'a>(&'a self, list: &'a str, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.child(list).into_iter().flat_map(move |list| list.all(name))
    }

    /// Finds the first element of this name, however deep.
    pub fn find(&self, name: &str) -> Option<&Element> {
        self.children.iter().find_map(|child| if child.name == name { Some(child) } else { child.find(name) })
    }

    /// Returns a property: an attribute, or as older files have it, an element `Property` with a name.
    pub fn property(&self, name: &str) -> &str {
        if let Some(value) = self.attribute(name) {
            return value;
        }
        self.all("Property")
            .find(|property| property.value("Name") == name)
            .map_or("", |property| &property.text)
    }
}

/// Returns true for a boolean that is set, in any of the spellings of SSIS.
pub fn is_true(text: &str) -> bool {
    matches!(text, "True" | "true" | "1" | "-1")
}

/// Reads a document.
///
/// # Errors
/// It is no XML, or one that is refused.
pub fn parse(text: &str) -> Result<Element, ImportError> {
    if text.len() > BYTES_MAX {
        return Err(ImportError::TooLarge);
    }
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut count = 0_usize;
    loop {
        let event = reader.read_event().map_err(|error| ImportError::Xml {
            at: usize::try_from(reader.error_position()).unwrap_or(usize::MAX),
            reason: error.to_string(),
        })?;
        match event {
            Event::Start(start) => {
                count += 1;
                if open.len() >= DEPTH_MAX || count > ELEMENTS_MAX {
                    return Err(ImportError::TooLarge);
                }
                open.push(element(&start)?);
            }
            Event::Empty(start) => {
                count += 1;
                if count > ELEMENTS_MAX {
                    return Err(ImportError::TooLarge);
                }
                close(element(&start)?, &mut open, &mut root);
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut root);
                }
            }
            Event::Text(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text.xml10_content());
                }
            }
            Event::CData(text) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(reference) => {
                let resolved = resolved(&reference).ok_or(ImportError::Entity)?;
                if let Some(element) = open.last_mut() {
                    element.text.push(resolved);
                }
            }
            Event::DocType(_) => return Err(ImportError::DocumentType),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    match (root, open.is_empty()) {
        (Some(root), true) => Ok(root),
        _ => Err(ImportError::Xml { at: text.len(), reason: "the document has no end".to_owned() }),
    }
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, ImportError> {
    let name = local(start.name().as_ref());
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let wrong = |reason: String| ImportError::Xml { at: 0, reason };
        let attribute = attribute.map_err(|error| wrong(error.to_string()))?;
        let value =
            attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|error| wrong(error.to_string()))?;
        attributes.push((local(attribute.key.as_ref()), value.into_owned()));
    }
    Ok(Element { name, attributes, ..Element::default() })
}

/// Returns a name without its prefix.
fn local(name: &str) -> String {
    name.rsplit_once(':').map_or(name, |(_, local)| local).to_owned()
}

/// Resolves the five characters that XML names, and those by number.
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
