//! FOR JSON and FOR XML, as written.

/// The text that a query's rows are turned into.
#[derive(Debug, Clone, PartialEq)]
pub enum ForClause {
    /// FOR JSON.
    Json(ForJson),
    /// FOR XML.
    Xml(ForXml),
}

/// FOR JSON.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForJson {
    /// AUTO rather than PATH.
    pub auto: bool,
    /// ROOT.
    pub root: Option<String>,
    /// INCLUDE_NULL_VALUES.
    pub include_nulls: bool,
    /// WITHOUT_ARRAY_WRAPPER.
    pub without_wrapper: bool,
}

/// FOR XML.
#[derive(Debug, Clone, PartialEq)]
pub struct ForXml {
    /// The mapping of rows to elements.
    pub shape: XmlShape,
    /// ELEMENTS: columns become elements rather than attributes.
    pub elements: bool,
    /// XSINIL: NULLs become elements, too.
    pub nil: bool,
    /// ROOT.
    pub root: Option<String>,
    /// TYPE: a value of xml rather than text.
    pub typed: bool,
}

/// The modes of FOR XML.
#[derive(Debug, Clone, PartialEq)]
pub enum XmlShape {
    /// RAW, with the element of a row.
    Raw(String),
    /// AUTO: an element a table.
    Auto,
    /// PATH, with the element of a row; names of columns are paths.
    Path(String),
}
