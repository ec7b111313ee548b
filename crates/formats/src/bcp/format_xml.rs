//! XML format files: `RECORD` describes the fields of the file, `ROW` the columns they fill.

use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::{BytesStart, Event};
use tds::{Column, Length, SqlType};

use super::format_file::{FieldCollation, FormatFile, FormatVersion, HostField, RowsetColumn};
use super::{HostType, terminator};
use crate::format_file_error::{FormatFileError, FormatFileProblem};

/// The namespace that the server insists on.
const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/2004/bulkload/format";

/// Longest value of a character or binary column without a length of its own, in bytes.
const MAX_LENGTH_DEFAULT: u32 = 8000;

/// Reads the text of an XML format file.
pub(super) fn parse(text: &str, name: &str) -> Result<FormatFile, FormatFileError> {
    let mut reader = Reader::from_str(text);
    let mut document = Document::default();
    let (mut line, mut counted) = (1_u64, 0);
    loop {
        let event = reader.read_event();
        let position = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let passed = text.as_bytes().get(counted..position).unwrap_or_default();
        line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        counted = counted.max(position);
        let fail = |problem| FormatFileError::new(name, Some(line), problem);
        match event {
            Err(error) => return Err(fail(FormatFileProblem::Xml { found: error.to_string() })),
            Ok(Event::Eof) => break,
            Ok(Event::Start(element)) => document.open(&element, false).map_err(fail)?,
            Ok(Event::Empty(element)) => document.open(&element, true).map_err(fail)?,
            Ok(Event::End(_)) => {
                document.path.pop();
            }
            Ok(Event::DocType(_)) => {
                return Err(fail(schema("no document type definition", "<!DOCTYPE")));
            }
            Ok(Event::Text(text)) if !text.trim().is_empty() => {
                return Err(fail(schema("elements only", &format!("the text {:?}", text.trim()))));
            }
            Ok(_) => {}
        }
    }
    let last = text.lines().count() as u64;
    document.finish().map_err(|problem| FormatFileError::new(name, Some(last), problem))
}

/// Writes a format file as `bcp … format -x` does.
pub(super) fn print(file: &FormatFile, columns: &[Column]) -> Result<String, FormatFileError> {
    let fail = |field: usize, problem: &str| {
        let problem = FormatFileProblem::Field { field, problem: problem.to_owned() };
        FormatFileError::new("XML format file", None, problem)
    };
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<BCPFORMAT xmlns=\"{NAMESPACE}\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n <RECORD>\n"
    );
    for (field, number) in file.fields.iter().zip(1_usize..) {
        let attributes = field_attributes(field).map_err(|problem| fail(number, problem))?;
        let _ = writeln!(text, "  <FIELD ID=\"{number}\" {attributes}/>");
    }
    text.push_str(" </RECORD>\n <ROW>\n");
    let mut filled: Vec<(usize, usize)> = file
        .fields
        .iter()
        .zip(1_usize..)
        .filter_map(|(field, number)| Some((field.column?, number)))
        .collect();
    filled.sort_unstable();
    for ((column, number), place) in filled.into_iter().zip(1_usize..) {
        if column != place {
            // Columns are counted, so none can be left out in front of another, and none filled twice.
            return Err(fail(number, "an XML format file fills the table's columns in order, without gaps"));
        }
        let Some(column) = columns.get(column - 1) else {
            return Err(fail(number, "the table has no such column"));
        };
        let name = escape(column.name.as_str());
        let _ = writeln!(
            text,
            "  <COLUMN SOURCE=\"{number}\" NAME=\"{name}\" xsi:type={}/>",
            column_attributes(column.sql_type())
        );
    }
    text.push_str(" </ROW>\n</BCPFORMAT>\n");
    Ok(text)
}

/// Elements read so far.
#[derive(Default)]
struct Document {
    path: Vec<String>,
    fields: Vec<Field>,
    columns: Vec<ColumnElement>,
    rows: usize,
    records: usize,
}

struct Field {
    id: String,
    native: bool,
    host: HostField,
}

struct ColumnElement {
    source: String,
    name: String,
    kind: String,
    length: Option<u32>,
    precision: Option<u8>,
    scale: Option<u8>,
    nullable: bool,
}

fn schema(expected: &str, found: &str) -> FormatFileProblem {
    FormatFileProblem::Schema { expected: expected.to_owned(), found: found.to_owned() }
}

impl Document {
    fn open(&mut self, element: &BytesStart<'_>, empty: bool) -> Result<(), FormatFileProblem> {
        let name = element.local_name().as_ref().to_owned();
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        match (path.as_slice(), name.as_str()) {
            ([], "BCPFORMAT") => self.format(element)?,
            (["BCPFORMAT"], "RECORD") => self.records += 1,
            (["BCPFORMAT"], "ROW") => self.rows += 1,
            (["BCPFORMAT", "RECORD"], "FIELD") => {
                let field = field(&mut Attributes::of(element)?)?;
                if self.fields.iter().any(|other| other.id == field.id) {
                    return Err(schema("a field ID of its own", &format!("ID {:?} a second time", field.id)));
                }
                self.fields.push(field);
            }
            (["BCPFORMAT", "ROW"], "COLUMN") => {
                let column = column(&mut Attributes::of(element)?)?;
                if self.columns.iter().any(|other| other.source == column.source) {
                    let found = format!("SOURCE {:?} a second time", column.source);
                    return Err(schema("each field as the source of one column", &found));
                }
                self.columns.push(column);
            }
            (path, _) => {
                let expected = match path {
                    [] => "BCPFORMAT",
                    ["BCPFORMAT"] => "RECORD or ROW",
                    ["BCPFORMAT", "RECORD"] => "FIELD",
                    ["BCPFORMAT", "ROW"] => "COLUMN",
                    _ => "no element",
                };
                return Err(schema(expected, &format!("<{name}>")));
            }
        }
        if !empty {
            self.path.push(name);
        }
        Ok(())
    }

    fn format(&self, element: &BytesStart<'_>) -> Result<(), FormatFileProblem> {
        if self.records > 0 {
            return Err(schema("one BCPFORMAT", "another"));
        }
        let mut attributes = Attributes::of(element)?;
        match attributes.take("xmlns") {
            Some(found) if found == NAMESPACE => Ok(()),
            // Bound to a prefix instead.
            None if attributes.values.iter().any(|(_, value)| value == NAMESPACE) => Ok(()),
            found => Err(schema(&format!("the namespace {NAMESPACE}"), &found.unwrap_or("none".to_owned()))),
        }
    }

    /// Joins fields and columns.
    fn finish(self) -> Result<FormatFile, FormatFileProblem> {
        if self.records != 1 || self.rows != 1 {
            let found = format!("{} and {}", self.records, self.rows);
            return Err(schema("one RECORD and one ROW", &found));
        }
        if self.fields.is_empty() {
            return Err(schema("a FIELD", "none"));
        }
        let Self { mut fields, columns, .. } = self;
        let mut rowset = Vec::new();
        for (element, number) in columns.into_iter().zip(1_usize..) {
            let Some(index) = fields.iter().position(|field| field.id == element.source) else {
                let expected = format!("the ID of a field as the source of column {number}");
                return Err(schema(&expected, &format!("{:?}", element.source)));
            };
            let Some(field) = fields.get_mut(index) else { continue };
            let sql_type = sql_type(&element, &field.host)?;
            if field.native {
                field.host.host_type = HostType::native(&sql_type, false);
            }
            field.host.column = Some(number);
            field.host.name.clone_from(&element.name);
            rowset.push(RowsetColumn {
                field: index,
                name: element.name,
                sql_type,
                nullable: element.nullable,
            });
        }
        let fields = fields.into_iter().map(|field| field.host).collect();
        Ok(FormatFile { version: FormatVersion::V16, fields, rowset: Some(rowset) })
    }
}

/// The attributes of an element, taken one by one.
struct Attributes {
    values: Vec<(String, String)>,
}

impl Attributes {
    fn of(element: &BytesStart<'_>) -> Result<Self, FormatFileProblem> {
        let malformed = |error: String| FormatFileProblem::Xml { found: error };
        let mut values = Vec::new();
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| malformed(error.to_string()))?;
            let value = quick_xml::escape::unescape(&attribute.value)
                .map_err(|error| malformed(error.to_string()))?;
            values.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        }
        Ok(Self { values })
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let index = self.values.iter().position(|(key, _)| key == name)?;
        Some(self.values.swap_remove(index).1)
    }

    fn required(&mut self, name: &str) -> Result<String, FormatFileProblem> {
        self.take(name).ok_or_else(|| schema(&format!("the attribute {name}"), "none"))
    }

    /// Takes `xsi:type`, with any prefix that the file gives its namespace.
    fn kind(&mut self) -> Result<String, FormatFileProblem> {
        let index = self.values.iter().position(|(key, _)| key.ends_with(":type"));
        match index {
            Some(index) => Ok(self.values.swap_remove(index).1),
            None => Err(schema("the attribute xsi:type", "none")),
        }
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, FormatFileProblem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| schema(&format!("a number as {name}"), &format!("{text:?}")))
    }

    /// Checks that every attribute was of use; namespaces are.
    fn finish(self, element: &str) -> Result<(), FormatFileProblem> {
        match self.values.into_iter().find(|(key, _)| !key.starts_with("xmlns")) {
            Some((key, _)) => Err(schema(&format!("an attribute of {element}"), &key)),
            None => Ok(()),
        }
    }
}

fn field(attributes: &mut Attributes) -> Result<Field, FormatFileProblem> {
    let id = attributes.required("ID")?;
    let kind = attributes.kind()?;
    let (base, form) = ["Fixed", "Prefix", "Term"]
        .iter()
        .find_map(|form| Some((kind.strip_suffix(form)?, *form)))
        .unwrap_or((kind.as_str(), ""));
    let (host_type, native) = match base {
        // The type is that of the column that the field fills; a native field that fills none is bytes.
        "Native" if form != "Term" => (HostType::Binary, true),
        "Char" => (HostType::Char, false),
        "NChar" => (HostType::NChar, false),
        _ => {
            let expected = "NativeFixed, NativePrefix, CharFixed, CharPrefix, CharTerm, NCharFixed, NCharPrefix or NCharTerm as the type of a field";
            return Err(schema(expected, &format!("{kind:?}")));
        }
    };
    let mut host = HostField::delimited(host_type, &[], 0, &id);
    host.column = None;
    match form {
        "Fixed" => {
            host.length =
                attributes.number("LENGTH")?.ok_or_else(|| schema("the attribute LENGTH", "none"))?;
        }
        "Prefix" => {
            let text = attributes.required("PREFIX_LENGTH")?;
            host.prefix_length = text
                .parse()
                .ok()
                .filter(|prefix| matches!(prefix, 1 | 2 | 4 | 8))
                .ok_or_else(|| schema("a PREFIX_LENGTH of 1, 2, 4 or 8", &format!("{text:?}")))?;
            host.length = attributes.number("MAX_LENGTH")?.unwrap_or(0);
        }
        _ => {
            let text = attributes.required("TERMINATOR")?;
            host.terminator = terminator::unescape(&text);
            if host.terminator.is_empty() {
                return Err(schema("a TERMINATOR of one character or more", "none"));
            }
            // The server widens what someone wrote by hand without the zero bytes.
            if host_type == HostType::NChar && !host.terminator.contains(&0) {
                host.terminator = terminator::widen(&host.terminator);
            }
            host.length = attributes.number("MAX_LENGTH")?.unwrap_or(0);
        }
    }
    if let Some(collation) = attributes.take("COLLATION") {
        host.collation = FieldCollation::from_token(&collation)?;
    }
    std::mem::replace(attributes, Attributes { values: Vec::new() }).finish("FIELD")?;
    Ok(Field { id, native, host })
}

fn column(attributes: &mut Attributes) -> Result<ColumnElement, FormatFileProblem> {
    let element = ColumnElement {
        source: attributes.required("SOURCE")?,
        name: attributes.required("NAME")?,
        kind: attributes.kind()?,
        length: attributes.number("LENGTH")?,
        precision: attributes.number("PRECISION")?,
        scale: attributes.number("SCALE")?,
        nullable: match attributes.take("NULLABLE").as_deref() {
            None | Some("YES") => true,
            Some("NO") => false,
            Some(other) => return Err(schema("NULLABLE as YES or NO", &format!("{other:?}"))),
        },
    };
    std::mem::replace(attributes, Attributes { values: Vec::new() }).finish("COLUMN")?;
    Ok(element)
}

/// Returns the type of a rowset column.
fn sql_type(element: &ColumnElement, field: &HostField) -> Result<SqlType, FormatFileProblem> {
    let wide = field.host_type == HostType::NChar;
    let field_units = match field.length {
        0 => MAX_LENGTH_DEFAULT / if wide { 2 } else { 1 },
        bytes => bytes / if wide { 2 } else { 1 },
    };
    let units = element.length.unwrap_or(field_units).max(1);
    let limited = |limit: u16| u16::try_from(units).map_or(limit, |units| units.min(limit));
    let length = |limit: u16| match u16::try_from(units) {
        Ok(units) if units <= limit => Length::Units(units),
        _ => Length::Max,
    };
    let scale = element.scale;
    let (precision, decimal_scale) = (element.precision.unwrap_or(18), scale.unwrap_or(0));
    if !(1..=38).contains(&precision) || decimal_scale > precision {
        let found = format!("PRECISION {precision}, SCALE {decimal_scale}");
        return Err(schema("a PRECISION from 1 to 38 and no larger SCALE", &found));
    }
    let time_scale = scale.unwrap_or(7);
    Ok(match element.kind.as_str() {
        "SQLBIT" => SqlType::Bit,
        "SQLTINYINT" => SqlType::TinyInt,
        "SQLSMALLINT" => SqlType::SmallInt,
        "SQLINT" => SqlType::Int,
        "SQLBIGINT" => SqlType::BigInt,
        "SQLFLT4" => SqlType::Real,
        "SQLFLT8" => SqlType::Float,
        "SQLDATETIME" | "SQLDATETIM8" => SqlType::DateTime,
        "SQLDATETIM4" => SqlType::SmallDateTime,
        "SQLDATE" => SqlType::Date,
        "SQLTIME" if time_scale <= 7 => SqlType::Time { scale: time_scale },
        "SQLDATETIME2" if time_scale <= 7 => SqlType::DateTime2 { scale: time_scale },
        "SQLDATETIMEOFFSET" if time_scale <= 7 => SqlType::DateTimeOffset { scale: time_scale },
        "SQLMONEY" => SqlType::Money,
        "SQLMONEY4" => SqlType::SmallMoney,
        "SQLVARIANT" => SqlType::SqlVariant,
        "SQLUNIQUEID" => SqlType::UniqueIdentifier,
        "SQLDECIMAL" => SqlType::Decimal { precision, scale: decimal_scale },
        "SQLNUMERIC" => SqlType::Numeric { precision, scale: decimal_scale },
        "SQLIMAGE" => SqlType::Image,
        "SQLTEXT" => SqlType::Text,
        "SQLNTEXT" => SqlType::NText,
        "CharLOB" => SqlType::VarChar { length: Length::Max },
        "SQLUDT" => SqlType::VarBinary { length: Length::Max },
        "SQLBINARY" => SqlType::Binary { length: limited(8000) },
        "SQLVARYBIN" => SqlType::VarBinary { length: length(8000) },
        "SQLCHAR" => SqlType::Char { length: limited(8000) },
        "SQLVARYCHAR" => SqlType::VarChar { length: length(8000) },
        "SQLNCHAR" => SqlType::NChar { length: limited(4000) },
        "SQLNVARCHAR" => SqlType::NVarChar { length: length(4000) },
        other => return Err(schema("a column type such as SQLINT or SQLVARYCHAR", &format!("{other:?}"))),
    })
}

fn field_attributes(field: &HostField) -> Result<String, &'static str> {
    let base = match field.host_type {
        HostType::Char => "Char",
        HostType::NChar => "NChar",
        _ => "Native",
    };
    let mut text = match (field.prefix_length, field.terminator.is_empty()) {
        (0, true) => {
            let length = field.host_type.size_bytes().map_or(field.length, |size| size as u32);
            format!("xsi:type=\"{base}Fixed\" LENGTH=\"{length}\"")
        }
        (0, false) if base == "Native" => {
            return Err("a native field has no terminator in an XML format file");
        }
        (0, false) => {
            let spelled = terminator::escape(&field.terminator);
            // Quotation marks are XML's to escape.
            let spelled = spelled.replace("\\\"", "\"");
            format!("xsi:type=\"{base}Term\" TERMINATOR=\"{}\"", escape(spelled.as_str()))
        }
        (prefix, true) => format!("xsi:type=\"{base}Prefix\" PREFIX_LENGTH=\"{prefix}\""),
        (_, false) => {
            return Err("a field has a length in front or a terminator in an XML format file, not both");
        }
    };
    let fixed = field.prefix_length == 0 && field.terminator.is_empty();
    if !fixed && field.length > 0 && field.host_type.size_bytes().is_none() {
        let _ = write!(text, " MAX_LENGTH=\"{}\"", field.length);
    }
    if let FieldCollation::Named { name, .. } = &field.collation {
        let _ = write!(text, " COLLATION=\"{name}\"");
    }
    Ok(text)
}

/// Writes the value of `xsi:type`, in quotation marks, and the attributes that belong to it.
fn column_attributes(sql_type: &SqlType) -> String {
    let name = match sql_type {
        SqlType::Bit => "SQLBIT",
        SqlType::TinyInt => "SQLTINYINT",
        SqlType::SmallInt => "SQLSMALLINT",
        SqlType::Int => "SQLINT",
        SqlType::BigInt => "SQLBIGINT",
        SqlType::Real => "SQLFLT4",
        SqlType::Float => "SQLFLT8",
        SqlType::SmallMoney => "SQLMONEY4",
        SqlType::Money => "SQLMONEY",
        SqlType::SmallDateTime => "SQLDATETIM4",
        SqlType::DateTime => "SQLDATETIME",
        SqlType::Date => "SQLDATE",
        SqlType::Time { .. } => "SQLTIME",
        SqlType::DateTime2 { .. } => "SQLDATETIME2",
        SqlType::DateTimeOffset { .. } => "SQLDATETIMEOFFSET",
        SqlType::Decimal { precision, scale } => {
            return format!("\"SQLDECIMAL\" PRECISION=\"{precision}\" SCALE=\"{scale}\"");
        }
        SqlType::Numeric { precision, scale } => {
            return format!("\"SQLNUMERIC\" PRECISION=\"{precision}\" SCALE=\"{scale}\"");
        }
        SqlType::Char { .. } => "SQLCHAR",
        SqlType::VarChar { .. } => "SQLVARYCHAR",
        SqlType::NChar { .. } => "SQLNCHAR",
        SqlType::NVarChar { .. } | SqlType::Xml | SqlType::Json => "SQLNVARCHAR",
        SqlType::Binary { .. } | SqlType::RowVersion => "SQLBINARY",
        SqlType::VarBinary { .. } | SqlType::Vector { .. } => "SQLVARYBIN",
        SqlType::UniqueIdentifier => "SQLUNIQUEID",
        SqlType::SqlVariant => "SQLVARIANT",
        SqlType::Text => "SQLTEXT",
        SqlType::NText => "SQLNTEXT",
        SqlType::Image => "SQLIMAGE",
        SqlType::Udt { .. } => "SQLUDT",
    };
    format!("\"{name}\"")
}
