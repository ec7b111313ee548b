//! The `vector` type: what a value is, its bytes (MS-TDS 2.2.5.5.7) and its text.
//!
//! A value travels and is stored as a header of eight bytes and its elements, little-endian. As text it is a JSON
//! array of numbers.

use std::fmt;
use std::str::FromStr;

use half::f16;

/// Bytes in front of the elements.
pub const HEADER_BYTES: usize = 8;
/// The header's first two bytes: layout and version.
const LAYOUT: [u8; 2] = [0xA9, 1];

/// Type of a vector's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VectorBase {
    /// Four bytes, IEEE 754 single precision.
    #[default]
    Float32,
    /// Two bytes, IEEE 754 half precision.
    Float16,
}

impl VectorBase {
    /// Returns the number of the base: in TYPE_INFO, in the header of values and in `sys.columns`.
    pub fn number(self) -> u8 {
        match self {
            Self::Float32 => 0,
            Self::Float16 => 1,
        }
    }

    /// Returns the base of this number.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Float32),
            1 => Some(Self::Float16),
            _ => None,
        }
    }

    /// Returns T-SQL's name of the base.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Float16 => "float16",
        }
    }

    /// Returns the bytes of one element.
    pub fn element_bytes(self) -> usize {
        match self {
            Self::Float32 => 4,
            Self::Float16 => 2,
        }
    }

    /// Returns the most dimensions that a vector can have: header and elements fit 8000 bytes.
    pub fn max_dimensions(self) -> u16 {
        match self {
            Self::Float32 => 1998,
            Self::Float16 => 3996,
        }
    }

    /// Returns the lowest version of the vector feature under which such vectors travel as vectors.
    pub fn feature_version(self) -> u8 {
        match self {
            Self::Float32 => 1,
            Self::Float16 => 2,
        }
    }
}

impl fmt::Display for VectorBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for VectorBase {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Float32, Self::Float16]
            .into_iter()
            .find(|base| text.eq_ignore_ascii_case(base.name()))
            .ok_or(())
    }
}

/// Reason why something is not a vector, or not one of the type that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// The bytes have no header of a vector, or their length is not the one that it implies.
    #[error("{length} bytes are no vector")]
    Malformed {
        /// Number of bytes.
        length: usize,
    },
    /// The number of dimensions is not allowed.
    #[error("a vector of {dimensions} dimensions; 1 to {max} are allowed for {base}")]
    Count {
        /// Number of dimensions.
        dimensions: usize,
        /// Maximum number of dimensions that the base allows.
        max: u16,
        /// Base of the vector.
        base: VectorBase,
    },
    /// The number of dimensions is not that of the type.
    #[error("{found} dimensions, the column has {expected}")]
    Dimensions {
        /// Dimensions of the value.
        found: usize,
        /// Dimensions of the type.
        expected: u16,
    },
    /// The base is not that of the type.
    #[error("elements of {found}, the column has {expected}")]
    Base {
        /// Base of the value.
        found: VectorBase,
        /// Base of the type.
        expected: VectorBase,
    },
    /// An element is NaN or infinite.
    #[error("element {index} is not a finite number")]
    NotFinite {
        /// Index of the element, from 0.
        index: usize,
    },
    /// An element is larger than the base allows.
    #[error("element {index} is outside the range of {base}")]
    OutOfRange {
        /// Index of the element, from 0.
        index: usize,
        /// Base of the vector.
        base: VectorBase,
    },
    /// The text is no JSON array of numbers.
    #[error("no JSON array of numbers: {what} at byte {offset}")]
    Text {
        /// Token that the parser expected.
        what: &'static str,
        /// Offset at which the token is missing.
        offset: usize,
    },
}

/// One value, whose elements the base can hold. Those of a value read from bytes may be NaN or infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    base: VectorBase,
    elements: Vec<f32>,
}

impl Vector {
    /// Makes a vector of these elements, each rounded to the base.
    ///
    /// # Errors
    /// No or too many elements, and elements that the base cannot hold.
    pub fn new(base: VectorBase, mut elements: Vec<f32>) -> Result<Self, VectorError> {
        check_count(base, elements.len())?;
        for (index, element) in elements.iter_mut().enumerate() {
            *element = rounded(base, *element, index)?;
        }
        Ok(Self { base, elements })
    }

    /// Returns the type of the elements.
    pub fn base(&self) -> VectorBase {
        self.base
    }

    /// Returns the elements.
    pub fn elements(&self) -> &[f32] {
        &self.elements
    }

    /// Counts the elements.
    pub fn dimensions(&self) -> u16 {
        u16::try_from(self.elements.len()).unwrap_or(u16::MAX)
    }

    /// Reads header and elements.
    ///
    /// # Errors
    /// Bytes that are no vector.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VectorError> {
        let (base, elements) = split(bytes)?;
        let elements: Vec<f32> = match base {
            VectorBase::Float32 => {
                elements.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
            }
            VectorBase::Float16 => {
                elements.as_chunks::<2>().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect()
            }
        };
        Ok(Self { base, elements })
    }

    /// Encodes header and elements.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = header(self.base, self.dimensions()).to_vec();
        append_elements(self.base, &self.elements, &mut bytes);
        bytes
    }

    /// Reads a JSON array of numbers.
    ///
    /// # Errors
    /// Other text, numbers beyond the base, no or too many of them.
    pub fn parse(text: &str, base: VectorBase) -> Result<Self, VectorError> {
        let mut elements = Vec::new();
        parse_elements(text, base, &mut elements)?;
        check_count(base, elements.len())?;
        Ok(Self { base, elements })
    }
}

/// Prints as the server does: `[1.0000000e+000,-2.5000000e-001]`.
impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, element) in self.elements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            let text = format!("{element:.7e}");
            match text.split_once('e') {
                Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
                    Some(exponent) => write!(f, "{mantissa}e-{exponent:0>3}")?,
                    None => write!(f, "{mantissa}e+{exponent:0>3}")?,
                },
                None => f.write_str(&text)?,
            }
        }
        f.write_str("]")
    }
}

/// Makes the bytes in front of the elements.
pub fn header(base: VectorBase, dimensions: u16) -> [u8; HEADER_BYTES] {
    let [low, high] = dimensions.to_le_bytes();
    [LAYOUT[0], LAYOUT[1], low, high, base.number(), 0, 0, 0]
}

/// Appends elements as the base holds them.
pub fn append_elements(base: VectorBase, elements: &[f32], bytes: &mut Vec<u8>) {
    bytes.reserve(elements.len() * base.element_bytes());
    match base {
        VectorBase::Float32 => elements.iter().for_each(|element| bytes.extend(element.to_le_bytes())),
        VectorBase::Float16 => {
            elements.iter().for_each(|element| bytes.extend(f16::from_f32(*element).to_le_bytes()));
        }
    }
}

/// Splits a vector's bytes into the base and the bytes of the elements.
///
/// # Errors
/// Bytes that are no vector. Elements are not checked.
pub fn split(bytes: &[u8]) -> Result<(VectorBase, &[u8]), VectorError> {
    let malformed = || VectorError::Malformed { length: bytes.len() };
    let (head, elements) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(malformed)?;
    let [layout, version, low, high, base, ..] = *head;
    let base = VectorBase::from_number(base).ok_or_else(malformed)?;
    let dimensions = usize::from(u16::from_le_bytes([low, high]));
    if [layout, version] != LAYOUT || elements.len() != dimensions * base.element_bytes() {
        return Err(malformed());
    }
    check_count(base, dimensions)?;
    Ok((base, elements))
}

/// Returns the bytes of the elements, if `bytes` are a vector of this type.
///
/// # Errors
/// The rule that the bytes break. Elements are not checked.
pub fn check_type(bytes: &[u8], base: VectorBase, dimensions: u16) -> Result<&[u8], VectorError> {
    let (found, elements) = split(bytes)?;
    if found != base {
        return Err(VectorError::Base { found, expected: base });
    }
    match elements.len() / base.element_bytes() {
        count if count == usize::from(dimensions) => Ok(elements),
        found => Err(VectorError::Dimensions { found, expected: dimensions }),
    }
}

/// Checks that `bytes` are a vector of this type with finite elements, without an allocation.
///
/// # Errors
/// The rule that the bytes break: type, length, or an element that is not finite.
pub fn check(bytes: &[u8], base: VectorBase, dimensions: u16) -> Result<(), VectorError> {
    match first_not_finite(base, check_type(bytes, base, dimensions)?) {
        Some(index) => Err(VectorError::NotFinite { index }),
        None => Ok(()),
    }
}

/// Finds the first element, among elements as they travel, that is NaN or infinite.
pub fn first_not_finite(base: VectorBase, elements: &[u8]) -> Option<usize> {
    // All bits of the exponent are set. A whole pass without an exit first: the compiler can vectorise it.
    match base {
        VectorBase::Float32 => {
            let infinite = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes) & 0x7F80_0000 == 0x7F80_0000;
            let elements = elements.as_chunks::<4>().0;
            let any = elements.iter().fold(false, |any, bytes| any | infinite(bytes));
            any.then(|| elements.iter().position(infinite)).flatten()
        }
        VectorBase::Float16 => {
            let infinite = |bytes: &[u8; 2]| u16::from_le_bytes(*bytes) & 0x7C00 == 0x7C00;
            let elements = elements.as_chunks::<2>().0;
            let any = elements.iter().fold(false, |any, bytes| any | infinite(bytes));
            any.then(|| elements.iter().position(infinite)).flatten()
        }
    }
}

/// Rounds `element` to the form in which the base holds it.
///
/// # Errors
/// It is not finite, or too large for the base.
pub fn rounded(base: VectorBase, element: f32, index: usize) -> Result<f32, VectorError> {
    if !element.is_finite() {
        return Err(VectorError::NotFinite { index });
    }
    match base {
        VectorBase::Float32 => Ok(element),
        VectorBase::Float16 => match f16::from_f32(element) {
            half if half.is_finite() => Ok(half.to_f32()),
            _ => Err(VectorError::OutOfRange { index, base }),
        },
    }
}

/// Appends the numbers of a JSON array to `elements`, each rounded to the base.
///
/// # Errors
/// Other text, and numbers beyond the base. What was appended before stays.
pub fn parse_elements(text: &str, base: VectorBase, elements: &mut Vec<f32>) -> Result<(), VectorError> {
    let mut cursor = JsonArray { bytes: text.as_bytes(), at: 0 };
    cursor.blanks();
    cursor.expect(b'[', "no opening bracket")?;
    cursor.blanks();
    if cursor.take(b']') {
        return cursor.end();
    }
    let first = elements.len();
    loop {
        cursor.blanks();
        let number = text.get(cursor.number()?).unwrap_or_default();
        let index = elements.len() - first;
        if index > usize::from(base.max_dimensions()) {
            let (dimensions, max) = (index, base.max_dimensions());
            return Err(VectorError::Count { dimensions, max, base });
        }
        let out_of_range = VectorError::OutOfRange { index, base };
        let element = number.parse::<f32>().map_err(|_| out_of_range.clone())?;
        elements.push(rounded(base, element, index).map_err(|_| out_of_range)?);
        cursor.blanks();
        if cursor.take(b']') {
            return cursor.end();
        }
        cursor.expect(b',', "no comma")?;
    }
}

fn check_count(base: VectorBase, dimensions: usize) -> Result<(), VectorError> {
    let max = base.max_dimensions();
    match (1..=usize::from(max)).contains(&dimensions) {
        true => Ok(()),
        false => Err(VectorError::Count { dimensions, max, base }),
    }
}

/// A place in JSON text.
struct JsonArray<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl JsonArray<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), VectorError> {
        if self.take(byte) { Ok(()) } else { Err(VectorError::Text { what, offset: self.at }) }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> Result<(), VectorError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(VectorError::Text { what: "no number", offset: self.at }),
        }
    }

    /// Reads the range of a JSON number.
    fn number(&mut self) -> Result<std::ops::Range<usize>, VectorError> {
        let start = self.at;
        self.take(b'-');
        // Nothing follows a leading zero but a point or an exponent.
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(start..self.at)
    }

    fn end(mut self) -> Result<(), VectorError> {
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(VectorError::Text { what: "text behind the array", offset: self.at }),
        }
    }
}

#[cfg(test)]
#[path = "vector_tests.rs"]
mod tests;
