//! Origin.xml: what made a package, and the checksum of its model.

use super::{archive::Archive, element::unescaped};
use crate::error::{Result, malformed};

/// Largest Origin.xml: the list of tables makes it long.
const BYTES_MAX: u64 = 64 << 20;

/// The parts of Origin.xml that are read.
pub(crate) struct PackageOrigin {
    pub has_data: bool,
    pub data_version: String,
    pub product: String,
    pub model_checksum: String,
}

/// Reads Origin.xml.
///
/// # Errors
/// It is missing, or has no checksum of the model.
pub(crate) fn read(archive: &mut Archive) -> Result<PackageOrigin> {
    const PART: &str = "Origin.xml";
    let text = archive.text(PART, BYTES_MAX)?;
    let version = between(&text, "StreamName=\"Data\">", "</");
    let checksum = between(&text, "<Checksum Uri=\"/model.xml\">", "</");
    let product = between(&text, "<ProductName>", "</").unwrap_or_default();
    let number = between(&text, "<ProductVersion>", "</").unwrap_or_default();
    let product = product.split(',').next().unwrap_or_default();
    Ok(PackageOrigin {
        has_data: between(&text, "<ContainsExportedData>", "</").is_some_and(|value| value.trim() == "true"),
        data_version: version.unwrap_or_default().trim().to_owned(),
        product: format!("{product} {number}").trim().to_owned(),
        model_checksum: checksum
            .ok_or_else(|| archive.error(PART, malformed("it has no checksum of the model")))?
            .trim()
            .to_owned(),
    })
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(value, _)| unescaped(value))
}
