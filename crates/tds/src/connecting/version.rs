//! The versions of TDS and what each of them changed on the wire.

/// A version of the protocol. Ordered: later versions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TdsVersion {
    /// SQL Server 7.0. Recognised so that it can be refused by name; its type encodings are not implemented.
    V7_0,
    /// SQL Server 2000: no ALL_HEADERS, two-byte line numbers, four-byte row counts in DONE.
    V7_1,
    /// SQL Server 2005: ALL_HEADERS, (max) types, xml.
    V7_2,
    /// SQL Server 2008: date, time, datetime2, datetimeoffset.
    V7_3A,
    /// SQL Server 2008 R2: NBCROW.
    V7_3B,
    /// SQL Server 2012 and later: feature extensions.
    V7_4,
    /// SQL Server 2022 and later: TDS 7.4 inside TLS from the first byte.
    V8_0,
}

impl TdsVersion {
    /// Returns the version that a LOGIN7 asks for (its `TDSVersion` field read little-endian, MS-TDS
    /// 2.2.6.4); `None` for a number that is not of a published version.
    pub fn from_login(number: u32) -> Option<Self> {
        match number {
            0x7000_0000 => Some(Self::V7_0),
            0x7100_0000 | 0x7100_0001 => Some(Self::V7_1),
            0x7209_0002 => Some(Self::V7_2),
            0x730A_0003 => Some(Self::V7_3A),
            0x730B_0003 => Some(Self::V7_3B),
            0x7400_0004 => Some(Self::V7_4),
            0x0800_0000 => Some(Self::V8_0),
            _ => None,
        }
    }

    /// Returns the number that a client puts in LOGIN7.
    pub fn to_login(self) -> u32 {
        match self {
            Self::V7_0 => 0x7000_0000,
            Self::V7_1 => 0x7100_0001,
            Self::V7_2 => 0x7209_0002,
            Self::V7_3A => 0x730A_0003,
            Self::V7_3B => 0x730B_0003,
            Self::V7_4 => 0x7400_0004,
            Self::V8_0 => 0x0800_0000,
        }
    }

    /// Returns the version that a LOGINACK grants (MS-TDS 2.2.7.14).
    pub fn from_login_ack(bytes: [u8; 4]) -> Option<Self> {
        match bytes {
            [0x07, 0x00, 0x00, 0x00] => Some(Self::V7_0),
            [0x07, 0x01, 0x00, 0x00] => Some(Self::V7_1),
            bytes => Self::from_login(u32::from_be_bytes(bytes)),
        }
    }

    /// Returns the four bytes of LOGINACK, which carries the number big-endian.
    pub fn to_login_ack(self) -> [u8; 4] {
        self.to_login().to_be_bytes()
    }

    /// Returns true if SQL batches, RPCs and transaction requests start with ALL_HEADERS (7.2 and later).
    pub fn has_all_headers(self) -> bool {
        self >= Self::V7_2
    }

    /// Returns true for the layouts of 7.2 and later: four-byte line numbers and user types, eight-byte row
    /// counts, table names in parts.
    pub fn has_wide_fields(self) -> bool {
        self >= Self::V7_2
    }

    /// Returns true if rows may travel as NBCROW (7.3B and later).
    pub fn has_nbc_row(self) -> bool {
        self >= Self::V7_3B
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_published_ones() {
        for version in [
            TdsVersion::V7_0,
            TdsVersion::V7_1,
            TdsVersion::V7_2,
            TdsVersion::V7_3A,
            TdsVersion::V7_3B,
            TdsVersion::V7_4,
            TdsVersion::V8_0,
        ] {
            assert_eq!(TdsVersion::from_login(version.to_login()), Some(version));
            assert_eq!(TdsVersion::from_login_ack(version.to_login_ack()), Some(version));
        }
        assert_eq!(TdsVersion::V7_4.to_login_ack(), [0x74, 0, 0, 4]);
        assert_eq!(TdsVersion::V8_0.to_login_ack(), [8, 0, 0, 0]);
        assert_eq!(TdsVersion::from_login(0x0403_0201), None);
        assert!(TdsVersion::V8_0 > TdsVersion::V7_4);
    }
}
