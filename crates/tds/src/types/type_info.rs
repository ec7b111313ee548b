//! [`TypeInfo`]: the form of a column on the wire, the TYPE_INFO of MS-TDS 2.2.5.6.

use crate::codec::{DecodeError, Reader, Writer};
use crate::collation::Collation;
use crate::sql_type::{BYTE_LENGTH_MAX, Length, PRECISION_MAX, SqlType, TIME_SCALE_MAX, VARIANT_LENGTH_MAX};
use crate::type_token as token;
use crate::vector::{HEADER_BYTES, VectorBase};

/// Direction of the bytes. A few structures differ between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Result sets and return values.
    ServerToClient,
    /// Bulk load and parameters.
    ClientToServer,
}

/// The type of a column or parameter together with the choices of its wire form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TypeInfo {
    /// SQL type of the column.
    pub sql_type: SqlType,
    /// Collation of character types; `None` for all others and for the pre-7.0 character tokens.
    pub collation: Option<Collation>,
    /// Family of tokens that announces the type.
    pub form: Form,
    /// Largest data length in bytes as advertised; [`PLP_LENGTH`] for the `max` types, `xml`, `json` and a CLR type
    /// of unlimited size.
    pub max_length: u32,
    /// Schema collection that an `xml` column is bound to.
    pub xml_schema: Option<Box<XmlSchema>>,
}

/// The family of the type token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// A token that implies the length, for NOT NULL columns: INT4, FLT8, ….
    Fixed,
    /// A token whose values carry their length, so that they can be NULL: INTN, NVARCHAR, ….
    Nullable,
    /// A pre-7.0 token: VARCHAR (27), DECIMAL (37), …, allowed in parameters.
    Legacy,
    /// The untyped NULL (1F); its values take no bytes.
    Null,
}

/// Encoding of a value's length on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LengthClass {
    /// Always this many bytes; no NULL.
    Fixed(u8),
    /// A length byte; 0 is NULL.
    ByteLen,
    /// A length of two bytes; FFFF is NULL.
    UShortLen,
    /// Eight bytes of total length, then chunks (MS-TDS 2.2.5.2.3).
    Plp,
    /// Text pointer, timestamp and four length bytes in a row; only the four length bytes in a parameter.
    LongLen,
    /// Four length bytes; 0 is NULL.
    Variant,
}

/// The schema collection of a typed `xml` column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct XmlSchema {
    /// Database of the collection.
    pub database: String,
    /// Schema that owns the collection.
    pub owner: String,
    /// Name of the collection.
    pub collection: String,
}

/// The advertised length that makes a type chunked.
pub const PLP_LENGTH: u32 = 0xFFFF;

/// Advertised length of every decimal column: SqlClient's bulk writer copies it and always sends sign and 16 bytes.
const DECIMAL_ADVERTISED_BYTES: u32 = 17;

impl TypeInfo {
    /// Returns the TYPE_INFO a server sends for a column: the fixed token if the column is not nullable and
    /// its type has one.
    ///
    /// `collation` is dropped for types that have none. A character type without one travels with five zero bytes.
    pub fn new(sql_type: SqlType, nullable: bool, collation: Option<Collation>) -> Self {
        let form = match !nullable && fixed_token(&sql_type).is_some() {
            true => Form::Fixed,
            false => Form::Nullable,
        };
        let collation = collation.filter(|_| sql_type.is_character());
        let max_length = advertised_length(&sql_type);
        Self { sql_type, collation, form, max_length, xml_schema: None }
    }

    /// Returns the encoding of the lengths of this type's values.
    pub fn length_class(&self) -> LengthClass {
        match self.form {
            Form::Null => return LengthClass::Fixed(0),
            Form::Legacy => return LengthClass::ByteLen,
            Form::Fixed => {
                if let Some((_, bytes)) = fixed_token(&self.sql_type) {
                    return LengthClass::Fixed(bytes);
                }
            }
            Form::Nullable => {}
        }
        match &self.sql_type {
            SqlType::Text | SqlType::NText | SqlType::Image => LengthClass::LongLen,
            SqlType::SqlVariant => LengthClass::Variant,
            sql_type if sql_type.is_plp() => LengthClass::Plp,
            SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::NChar { .. }
            | SqlType::NVarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::RowVersion
            | SqlType::Vector { .. } => LengthClass::UShortLen,
            _ => LengthClass::ByteLen,
        }
    }

    /// Reads a TYPE_INFO, token included.
    ///
    /// # Errors
    /// Unknown tokens and lengths, precisions and scales that T-SQL does not have. Tables (F3), which have a decoder of their own, are
    /// refused by name.
    pub fn decode(r: &mut Reader<'_>, direction: Direction) -> Result<Self, DecodeError> {
        let offset = r.position();
        let type_token = r.u8("TYPE_INFO token")?;
        if let Some(sql_type) = type_of_fixed_token(type_token) {
            let max_length = sql_type.max_length_bytes().unwrap_or(0);
            return Ok(Self { sql_type, collation: None, form: Form::Fixed, max_length, xml_schema: None });
        }
        let mut info = Self {
            sql_type: SqlType::Int,
            collation: None,
            form: Form::Nullable,
            max_length: 0,
            xml_schema: None,
        };
        match type_token {
            token::NULL => info.form = Form::Null,
            token::GUID | token::BITN | token::INTN | token::FLTN | token::MONEYN | token::DATETIMEN => {
                let length = r.u8("TYPE_INFO length")?;
                info.sql_type = type_of_sized_token(type_token, length).ok_or_else(|| {
                    let what = format!("no type has token {type_token:02X} and length {length}");
                    DecodeError::invalid("TYPE_INFO length", offset + 1, what)
                })?;
                info.max_length = u32::from(length);
            }
            token::DATEN => (info.sql_type, info.max_length) = (SqlType::Date, 3),
            token::TIMEN | token::DATETIME2N | token::DATETIMEOFFSETN => {
                let scale = r.u8("TYPE_INFO scale")?;
                if scale > TIME_SCALE_MAX {
                    let what = format!("time scale {scale} is above {TIME_SCALE_MAX}");
                    return Err(DecodeError::invalid("TYPE_INFO scale", offset + 1, what));
                }
                info.sql_type = match type_token {
                    token::TIMEN => SqlType::Time { scale },
                    token::DATETIME2N => SqlType::DateTime2 { scale },
                    _ => SqlType::DateTimeOffset { scale },
                };
                info.max_length = info.sql_type.max_length_bytes().unwrap_or(0);
            }
            token::DECIMALN | token::NUMERICN | token::DECIMAL | token::NUMERIC => {
                info.max_length = u32::from(r.u8("TYPE_INFO length")?);
                let (precision, scale) = decode_declared_precision(r, direction)?;
                info.sql_type = match type_token {
                    token::DECIMALN | token::DECIMAL => SqlType::Decimal { precision, scale },
                    _ => SqlType::Numeric { precision, scale },
                };
                if matches!(type_token, token::DECIMAL | token::NUMERIC) {
                    info.form = Form::Legacy;
                }
            }
            token::VARBINARY | token::VARCHAR | token::BINARY | token::CHAR => {
                let length = u16::from(r.u8("TYPE_INFO length")?);
                info.sql_type = match type_token {
                    token::VARBINARY => SqlType::VarBinary { length: Length::Units(length) },
                    token::VARCHAR => SqlType::VarChar { length: Length::Units(length) },
                    token::BINARY => SqlType::Binary { length },
                    _ => SqlType::Char { length },
                };
                info.form = Form::Legacy;
                info.max_length = u32::from(length);
            }
            token::BIGVARBIN
            | token::BIGVARCHR
            | token::BIGBINARY
            | token::BIGCHAR
            | token::NVARCHAR
            | token::NCHAR => {
                let length = r.u16("TYPE_INFO length")?;
                info.sql_type = type_of_short_token(type_token, length)
                    .ok_or_else(|| long_declaration(offset, type_token, length))?;
                info.max_length = u32::from(length);
                if !matches!(type_token, token::BIGVARBIN | token::BIGBINARY) {
                    info.collation = Some(decode_collation(r)?);
                }
            }
            token::TEXT | token::NTEXT | token::IMAGE => {
                info.max_length = r.u32("TYPE_INFO length")?;
                info.sql_type = match type_token {
                    token::TEXT => SqlType::Text,
                    token::NTEXT => SqlType::NText,
                    _ => SqlType::Image,
                };
                if type_token != token::IMAGE {
                    info.collation = Some(decode_collation(r)?);
                }
            }
            token::SSVARIANT => {
                info.max_length = r.u32("TYPE_INFO length")?;
                info.sql_type = SqlType::SqlVariant;
            }
            token::XML => {
                (info.sql_type, info.max_length) = (SqlType::Xml, PLP_LENGTH);
                if r.u8("XML schema present")? != 0 {
                    info.xml_schema = Some(Box::new(XmlSchema {
                        database: r.b_varchar("XML schema database")?,
                        owner: r.b_varchar("XML schema owner")?,
                        collection: r.us_varchar("XML schema collection")?,
                    }));
                }
            }
            token::JSON => (info.sql_type, info.max_length) = (SqlType::Json, PLP_LENGTH),
            token::UDT => {
                info.max_length = match direction {
                    Direction::ServerToClient => u32::from(r.u16("UDT max length")?),
                    Direction::ClientToServer => PLP_LENGTH,
                };
                info.sql_type = SqlType::Udt {
                    database: r.b_varchar("UDT database")?,
                    schema: r.b_varchar("UDT schema")?,
                    name: r.b_varchar("UDT type name")?,
                    assembly: match direction {
                        Direction::ServerToClient => r.us_varchar("UDT assembly")?,
                        Direction::ClientToServer => String::new(),
                    },
                };
            }
            token::TVP => return Err(unsupported(offset, "a table is no type of a column")),
            token::VECTOR => {
                let length = r.u16("TYPE_INFO length")?;
                info.sql_type = vector_type(length, r.u8("vector base type")?).ok_or_else(|| {
                    let what = format!("no vector has {length} bytes of its base type");
                    DecodeError::invalid("TYPE_INFO length", offset + 1, what)
                })?;
                info.max_length = u32::from(length);
            }
            unknown => {
                let what = format!("{unknown:02X} is not a type token");
                return Err(DecodeError::invalid("TYPE_INFO token", offset, what));
            }
        }
        Ok(info)
    }

    /// Appends the TYPE_INFO, token included, in the form that `direction` uses.
    pub fn encode(&self, w: &mut Writer, direction: Direction) {
        match self.form {
            Form::Null => return w.u8(token::NULL),
            Form::Legacy => return self.encode_legacy(w),
            Form::Fixed => {
                if let Some((fixed, _)) = fixed_token(&self.sql_type) {
                    return w.u8(fixed);
                }
            }
            Form::Nullable => {}
        }
        match &self.sql_type {
            SqlType::Bit => w.bytes(&[token::BITN, 1]),
            SqlType::TinyInt => w.bytes(&[token::INTN, 1]),
            SqlType::SmallInt => w.bytes(&[token::INTN, 2]),
            SqlType::Int => w.bytes(&[token::INTN, 4]),
            SqlType::BigInt => w.bytes(&[token::INTN, 8]),
            SqlType::Real => w.bytes(&[token::FLTN, 4]),
            SqlType::Float => w.bytes(&[token::FLTN, 8]),
            SqlType::SmallMoney => w.bytes(&[token::MONEYN, 4]),
            SqlType::Money => w.bytes(&[token::MONEYN, 8]),
            SqlType::SmallDateTime => w.bytes(&[token::DATETIMEN, 4]),
            SqlType::DateTime => w.bytes(&[token::DATETIMEN, 8]),
            SqlType::UniqueIdentifier => w.bytes(&[token::GUID, 16]),
            SqlType::Date => w.u8(token::DATEN),
            SqlType::Time { scale } => w.bytes(&[token::TIMEN, *scale]),
            SqlType::DateTime2 { scale } => w.bytes(&[token::DATETIME2N, *scale]),
            SqlType::DateTimeOffset { scale } => w.bytes(&[token::DATETIMEOFFSETN, *scale]),
            SqlType::Decimal { precision, scale } => {
                self.encode_decimal(w, token::DECIMALN, *precision, *scale);
            }
            SqlType::Numeric { precision, scale } => {
                self.encode_decimal(w, token::NUMERICN, *precision, *scale);
            }
            SqlType::Char { .. } => self.encode_short(w, token::BIGCHAR),
            SqlType::VarChar { .. } => self.encode_short(w, token::BIGVARCHR),
            SqlType::NChar { .. } => self.encode_short(w, token::NCHAR),
            SqlType::NVarChar { .. } => self.encode_short(w, token::NVARCHAR),
            SqlType::Binary { .. } | SqlType::RowVersion => self.encode_short(w, token::BIGBINARY),
            SqlType::VarBinary { .. } => self.encode_short(w, token::BIGVARBIN),
            SqlType::Text => self.encode_long(w, token::TEXT),
            SqlType::NText => self.encode_long(w, token::NTEXT),
            SqlType::Image => self.encode_long(w, token::IMAGE),
            SqlType::SqlVariant => self.encode_long(w, token::SSVARIANT),
            SqlType::Json => w.u8(token::JSON),
            SqlType::Vector { base, .. } => {
                w.u8(token::VECTOR);
                let length = w.length_u16(self.max_length as usize, "TYPE_INFO length");
                w.u16(length);
                w.u8(base.number());
            }
            SqlType::Xml => {
                w.u8(token::XML);
                w.u8(u8::from(self.xml_schema.is_some()));
                if let Some(schema) = &self.xml_schema {
                    w.b_varchar(&schema.database, "XML schema database");
                    w.b_varchar(&schema.owner, "XML schema owner");
                    w.us_varchar(&schema.collection, "XML schema collection");
                }
            }
            SqlType::Udt { database, schema, name, assembly } => {
                w.u8(token::UDT);
                if direction == Direction::ServerToClient {
                    let max_length = w.length_u16(self.max_length as usize, "UDT max length");
                    w.u16(max_length);
                }
                w.b_varchar(database, "UDT database");
                w.b_varchar(schema, "UDT schema");
                w.b_varchar(name, "UDT type name");
                if direction == Direction::ServerToClient {
                    w.us_varchar(assembly, "UDT assembly");
                }
            }
        }
    }

    fn encode_legacy(&self, w: &mut Writer) {
        let (legacy, precision_and_scale) = match &self.sql_type {
            SqlType::VarBinary { .. } => (token::VARBINARY, None),
            SqlType::VarChar { .. } => (token::VARCHAR, None),
            SqlType::Binary { .. } => (token::BINARY, None),
            SqlType::Char { .. } => (token::CHAR, None),
            SqlType::Decimal { precision, scale } => (token::DECIMAL, Some([*precision, *scale])),
            SqlType::Numeric { precision, scale } => (token::NUMERIC, Some([*precision, *scale])),
            other => return w.invalid("TYPE_INFO token", format!("{other} has no pre-7.0 token")),
        };
        w.u8(legacy);
        let length = w.length_u8(self.max_length as usize, "TYPE_INFO length");
        w.u8(length);
        if let Some(precision_and_scale) = precision_and_scale {
            w.bytes(&precision_and_scale);
        }
    }

    fn encode_decimal(&self, w: &mut Writer, decimal_token: u8, precision: u8, scale: u8) {
        let length = w.length_u8(self.max_length as usize, "TYPE_INFO length");
        w.bytes(&[decimal_token, length, precision, scale]);
    }

    fn encode_short(&self, w: &mut Writer, short_token: u8) {
        w.u8(short_token);
        let length = w.length_u16(self.max_length as usize, "TYPE_INFO length");
        w.u16(length);
        self.encode_collation(w);
    }

    fn encode_long(&self, w: &mut Writer, long_token: u8) {
        w.u8(long_token);
        w.u32(self.max_length);
        self.encode_collation(w);
    }

    fn encode_collation(&self, w: &mut Writer) {
        if self.sql_type.is_character() {
            w.bytes(&self.collation.unwrap_or_default().to_bytes());
        }
    }
}

/// Returns the token and data length of types that have a fixed-length token.
fn fixed_token(sql_type: &SqlType) -> Option<(u8, u8)> {
    Some(match sql_type {
        SqlType::Bit => (token::BIT, 1),
        SqlType::TinyInt => (token::INT1, 1),
        SqlType::SmallInt => (token::INT2, 2),
        SqlType::Int => (token::INT4, 4),
        SqlType::BigInt => (token::INT8, 8),
        SqlType::Real => (token::FLT4, 4),
        SqlType::Float => (token::FLT8, 8),
        SqlType::SmallMoney => (token::MONEY4, 4),
        SqlType::Money => (token::MONEY, 8),
        SqlType::SmallDateTime => (token::DATETIM4, 4),
        SqlType::DateTime => (token::DATETIME, 8),
        _ => return None,
    })
}

pub(crate) fn type_of_fixed_token(type_token: u8) -> Option<SqlType> {
    Some(match type_token {
        token::BIT => SqlType::Bit,
        token::INT1 => SqlType::TinyInt,
        token::INT2 => SqlType::SmallInt,
        token::INT4 => SqlType::Int,
        token::INT8 => SqlType::BigInt,
        token::FLT4 => SqlType::Real,
        token::FLT8 => SqlType::Float,
        token::MONEY4 => SqlType::SmallMoney,
        token::MONEY => SqlType::Money,
        token::DATETIM4 => SqlType::SmallDateTime,
        token::DATETIME => SqlType::DateTime,
        _ => return None,
    })
}

/// Returns the type of a nullable token whose declared length picks the member of its family.
fn type_of_sized_token(type_token: u8, length: u8) -> Option<SqlType> {
    Some(match (type_token, length) {
        // Length 0 can carry only NULL.
        (token::GUID, 0 | 16) => SqlType::UniqueIdentifier,
        (token::BITN, 1) => SqlType::Bit,
        (token::INTN, 1) => SqlType::TinyInt,
        (token::INTN, 2) => SqlType::SmallInt,
        (token::INTN, 4) => SqlType::Int,
        (token::INTN, 8) => SqlType::BigInt,
        (token::FLTN, 4) => SqlType::Real,
        (token::FLTN, 8) => SqlType::Float,
        (token::MONEYN, 4) => SqlType::SmallMoney,
        (token::MONEYN, 8) => SqlType::Money,
        (token::DATETIMEN, 4) => SqlType::SmallDateTime,
        (token::DATETIMEN, 8) => SqlType::DateTime,
        _ => return None,
    })
}

/// Returns the type of a two-byte-length token; `None` if it is declared longer than T-SQL allows.
pub(crate) fn type_of_short_token(type_token: u8, length: u16) -> Option<SqlType> {
    let bytes = (length <= BYTE_LENGTH_MAX).then_some(length);
    let bytes_or_max = match length {
        0xFFFF => Some(Length::Max),
        _ => bytes.map(Length::Units),
    };
    let units_or_max = match length {
        0xFFFF => Some(Length::Max),
        _ => bytes.map(|bytes| Length::Units(bytes / 2)),
    };
    Some(match type_token {
        token::BIGCHAR => SqlType::Char { length: bytes? },
        token::BIGVARCHR => SqlType::VarChar { length: bytes_or_max? },
        token::NCHAR => SqlType::NChar { length: bytes? / 2 },
        token::NVARCHAR => SqlType::NVarChar { length: units_or_max? },
        token::BIGBINARY => SqlType::Binary { length: bytes? },
        token::BIGVARBIN => SqlType::VarBinary { length: bytes_or_max? },
        _ => return None,
    })
}

/// Returns the vector whose values take `length` bytes. One without dimensions can carry only NULL.
fn vector_type(length: u16, base: u8) -> Option<SqlType> {
    let base = VectorBase::from_number(base)?;
    let elements = usize::from(length).checked_sub(HEADER_BYTES)?;
    if !elements.is_multiple_of(base.element_bytes()) {
        return None;
    }
    let dimensions = u16::try_from(elements / base.element_bytes()).ok()?;
    (dimensions <= base.max_dimensions()).then_some(SqlType::Vector { dimensions, base })
}

/// Precision that T-SQL gives a `decimal` without one.
const NULLS_PRECISION: u8 = 18;

/// Decodes precision and scale as [`decode_precision_and_scale`] does. Clients that have only NULLs to send
/// declare `decimal(0, 0)`, which SQL Server takes.
fn decode_declared_precision(r: &mut Reader<'_>, direction: Direction) -> Result<(u8, u8), DecodeError> {
    if direction == Direction::ClientToServer && r.ahead().starts_with(&[0, 0]) {
        r.take(2, "decimal precision")?;
        return Ok((NULLS_PRECISION, 0));
    }
    decode_precision_and_scale(r)
}

pub(crate) fn decode_precision_and_scale(r: &mut Reader<'_>) -> Result<(u8, u8), DecodeError> {
    let offset = r.position();
    let (precision, scale) = (r.u8("decimal precision")?, r.u8("decimal scale")?);
    if precision == 0 || precision > PRECISION_MAX || scale > precision {
        let what = format!("decimal({precision}, {scale}) is not a type");
        return Err(DecodeError::invalid("decimal precision", offset, what));
    }
    Ok((precision, scale))
}

pub(crate) fn decode_collation(r: &mut Reader<'_>) -> Result<Collation, DecodeError> {
    r.array("collation").map(Collation::from_bytes)
}

fn long_declaration(offset: usize, type_token: u8, length: u16) -> DecodeError {
    let what = format!("length {length} of token {type_token:02X} is above {BYTE_LENGTH_MAX}");
    DecodeError::invalid("TYPE_INFO length", offset + 1, what)
}

fn unsupported(offset: usize, what: &'static str) -> DecodeError {
    DecodeError::invalid("TYPE_INFO token", offset, what)
}

/// Returns the largest data length that a real server advertises for a type.
fn advertised_length(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => DECIMAL_ADVERTISED_BYTES,
        SqlType::Text | SqlType::Image => 0x7FFF_FFFF,
        SqlType::NText => 0x7FFF_FFFE,
        SqlType::SqlVariant => VARIANT_LENGTH_MAX,
        other => other.max_length_bytes().unwrap_or(PLP_LENGTH),
    }
}
