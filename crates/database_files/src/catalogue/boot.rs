//! The boot page, 1:9, from which everything else is found.

use crate::{
    error::{Result, malformed, unsupported},
    image::Image,
    little_endian::{u8_at, u16_at, u32_at, utf16},
    pages::{PageAddress, kind},
};

/// The address of the boot page.
const BOOT_PAGE: PageAddress = PageAddress { file: 1, page: 9 };
/// Oldest version that is read: SQL Server 2005.
const OLDEST_VERSION: u16 = 611;
/// Versions from which the layout of rows stands in `sysrscols`: SQL Server 2008.
pub(crate) const NEW_CATALOGUE: u16 = 655;
/// The bit of a database that was shut down: its files need no log.
const IS_CLEAN: u32 = 0x4000_0000;

/// The characters that fill the name: blanks, of one byte or of two.
const PADDING: [char; 3] = [' ', '\0', '\u{2020}'];

/// The facts of the boot page.
#[derive(Debug, Clone)]
pub(crate) struct Boot {
    /// Internal version of the database.
    pub version: u16,
    /// Compatibility level.
    pub compatibility: u8,
    /// True if the database was shut down, so that its pages are final.
    pub is_clean: bool,
    /// Name of the database; it may be a path.
    pub name: String,
    /// Collation of the database, as the catalogue numbers it.
    pub collation: u32,
    /// First page of the table of allocation units.
    pub allocation_units: PageAddress,
}

impl Boot {
    /// Reads the boot page.
    ///
    /// # Errors
    /// The page is damaged, or of a version that is not read.
    pub(crate) fn read(image: &Image) -> Result<Self> {
        let page = image.page(BOOT_PAGE)?;
        let bytes = page.bytes();
        let short = || image.error(BOOT_PAGE, malformed("it is no boot page"));
        if page.kind() != kind::BOOT {
            return Err(short());
        }
        let name = utf16(bytes.get(148..148 + 256).ok_or_else(short)?);
        let boot = Self {
            version: u16_at(bytes, 100).ok_or_else(short)?,
            compatibility: u8_at(bytes, 410).ok_or_else(short)?,
            is_clean: u32_at(bytes, 132).ok_or_else(short)? & IS_CLEAN != 0,
            name: name.trim_end_matches(PADDING).to_owned(),
            collation: u32_at(bytes, 488).ok_or_else(short)?,
            allocation_units: PageAddress::at(bytes, 612).ok_or_else(short)?,
        };
        match boot.version {
            OLDEST_VERSION.. => Ok(boot),
            version => Err(image.error(
                BOOT_PAGE,
                unsupported(format!("the database has the internal version {version}; 611 (SQL Server 2005) and later are read")),
            )),
        }
    }

    /// Returns the server that writes databases of this version.
    pub(crate) fn server(&self) -> &'static str {
        match self.version {
            ..611 => "before SQL Server 2005",
            611..655 => "SQL Server 2005",
            655..661 => "SQL Server 2008",
            661..706 => "SQL Server 2008 R2",
            706..782 => "SQL Server 2012",
            782..852 => "SQL Server 2014",
            852..869 => "SQL Server 2016",
            869..904 => "SQL Server 2017",
            904..957 => "SQL Server 2019",
            957..998 => "SQL Server 2022",
            998.. => "SQL Server 2025",
        }
    }
}
