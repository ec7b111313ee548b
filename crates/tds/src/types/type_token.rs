//! The one-byte type tokens of TYPE_INFO (MS-TDS 2.2.5.4).
#![allow(missing_docs, reason = "each constant is its MS-TDS name")]

// Fixed length: the value follows without a length.
pub const NULL: u8 = 0x1F;
pub const INT1: u8 = 0x30;
pub const BIT: u8 = 0x32;
pub const INT2: u8 = 0x34;
pub const INT4: u8 = 0x38;
pub const DATETIM4: u8 = 0x3A;
pub const FLT4: u8 = 0x3B;
pub const MONEY: u8 = 0x3C;
pub const DATETIME: u8 = 0x3D;
pub const FLT8: u8 = 0x3E;
pub const MONEY4: u8 = 0x7A;
pub const INT8: u8 = 0x7F;

// One-byte length before each value.
pub const GUID: u8 = 0x24;
pub const INTN: u8 = 0x26;
pub const DATEN: u8 = 0x28;
pub const TIMEN: u8 = 0x29;
pub const DATETIME2N: u8 = 0x2A;
pub const DATETIMEOFFSETN: u8 = 0x2B;
pub const BITN: u8 = 0x68;
pub const DECIMALN: u8 = 0x6A;
pub const NUMERICN: u8 = 0x6C;
pub const FLTN: u8 = 0x6D;
pub const MONEYN: u8 = 0x6E;
pub const DATETIMEN: u8 = 0x6F;

// One-byte length, from before TDS 7.0; still allowed in RPC parameters.
pub const VARBINARY: u8 = 0x25;
pub const VARCHAR: u8 = 0x27;
pub const BINARY: u8 = 0x2D;
pub const CHAR: u8 = 0x2F;
pub const DECIMAL: u8 = 0x37;
pub const NUMERIC: u8 = 0x3F;

// Two-byte length, or chunks when the declared length is 0xFFFF.
pub const BIGVARBIN: u8 = 0xA5;
pub const BIGVARCHR: u8 = 0xA7;
pub const BIGBINARY: u8 = 0xAD;
pub const BIGCHAR: u8 = 0xAF;
pub const NVARCHAR: u8 = 0xE7;
pub const NCHAR: u8 = 0xEF;
pub const UDT: u8 = 0xF0;
pub const XML: u8 = 0xF1;
pub const TVP: u8 = 0xF3;
pub const JSON: u8 = 0xF4;
pub const VECTOR: u8 = 0xF5;

// Four-byte length.
pub const IMAGE: u8 = 0x22;
pub const TEXT: u8 = 0x23;
pub const SSVARIANT: u8 = 0x62;
pub const NTEXT: u8 = 0x63;
