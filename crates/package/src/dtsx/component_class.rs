//! The class of a data flow component: a name, a CLSID of one of several versions, or a managed class behind a host.

use crate::dtsx::flow_columns::property;
use crate::dtsx::xml::Element;

/// The work of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads a table or a query.
    TableSource,
    /// Reads a delimited file or a workbook.
    FileSource,
    /// Writes into a table.
    TableDestination,
    /// Writes a delimited file.
    FileDestination,
    /// Adds or replaces columns by expressions.
    DerivedColumn,
    /// Adds columns of other types.
    DataConversion,
    /// Adds columns that equal others.
    CopyColumn,
    /// Changes the case of texts.
    CharacterMap,
    /// Joins a table by keys.
    Lookup,
    /// Sends rows one of several ways by conditions.
    ConditionalSplit,
    /// Counts rows into a variable.
    RowCount,
    /// Sends all rows several ways.
    Multicast,
    /// Sorts rows, and may drop those with equal keys.
    Sort,
    /// Groups rows.
    Aggregate,
    /// Takes the rows of several ways, in any order or in that of a key.
    Union,
    /// Joins two sorted ways.
    MergeJoin,
    /// Has no counterpart.
    Other,
}

/// Classes by a part of their name (SSIS 2014 and later, and the names of version 3), and by the title that components carry in
/// their contact information.
const NAMES: [(&str, &str, Kind); 25] = [
    ("OLEDBSource", "OLE DB Source", Kind::TableSource),
    ("DataReaderSourceAdapter", "ADO NET Source", Kind::TableSource),
    ("ADONETSource", "ADO.NET Source", Kind::TableSource),
    ("OLEDBDestination", "OLE DB Destination", Kind::TableDestination),
    ("ADONETDestination", "ADO NET Destination", Kind::TableDestination),
    ("SQLServerDestination", "SQL Server Destination", Kind::TableDestination),
    ("FlatFileSource", "Flat File Source", Kind::FileSource),
    ("ExcelSource", "Excel Source", Kind::FileSource),
    ("FlatFileDestination", "Flat File Destination", Kind::FileDestination),
    ("DerivedColumn", "Derived Column", Kind::DerivedColumn),
    ("DataConvert", "Data Conversion", Kind::DataConversion),
    ("CopyMap", "Copy Column", Kind::CopyColumn),
    ("CharacterMap", "Character Map", Kind::CharacterMap),
    ("ConditionalSplit", "Conditional Split", Kind::ConditionalSplit),
    ("RowCount", "Row Count", Kind::RowCount),
    ("Multicast", "Multicast", Kind::Multicast),
    ("Sort", "Sort", Kind::Sort),
    ("Aggregate", "Aggregate", Kind::Aggregate),
    ("UnionAll", "Union All", Kind::Union),
    ("MergeJoin", "Merge Join", Kind::MergeJoin),
    ("Merge", "Merge", Kind::Union),
    ("Lookup", "Lookup", Kind::Lookup),
    ("OLEDBCommand", "OLE DB Command", Kind::Other),
    ("ScriptComponentHost", "Script Component", Kind::Other),
    ("SCD", "Slowly Changing Dimension", Kind::Other),
];

/// CLSIDs of SQL Server 2008 to 2014 and the names of their classes.
const CLSIDS: [(&str, &str); 25] = [
    ("{BCEFE59B-6819-47F7-A125-63753B33ABB7}", "OLEDBSource"),
    ("{165A526D-D5DE-47FF-96A6-F8274C19826B}", "OLEDBSource"),
    ("{C8D886B3-1825-4FCC-94DE-C3F108986E21}", "OLEDBSource"),
    ("{5A0B62E8-D91D-49F5-94A5-7BE58DE508F0}", "OLEDBDestination"),
    ("{4ADA7EAA-136C-4215-8098-D7A7C27FC0D1}", "OLEDBDestination"),
    ("{F452EAF3-5EF0-43F1-8067-09DDF0BC6316}", "SQLServerDestination"),
    ("{5ACD952A-F16A-41D8-A681-713640837664}", "FlatFileSource"),
    ("{D23FD76B-F51D-420F-BBCB-19CBF6AC1AB4}", "FlatFileSource"),
    ("{C4D48377-EFD6-4C95-9A0B-049219453431}", "FlatFileSource"),
    ("{8C084929-27D1-479F-9641-ABB7CDADF1AC}", "ExcelSource"),
    ("{9F5C585F-2F02-4622-B273-F75D52419D4A}", "ExcelSource"),
    ("{D658C424-8CF0-441C-B3C4-955E183B7FBA}", "FlatFileDestination"),
    ("{8DA75FED-1B7C-407D-B2AD-2B24209CCCA4}", "FlatFileDestination"),
    ("{FD4FFB90-EECF-4B5A-A3A7-DE2E1FA8052C}", "FlatFileDestination"),
    ("{2932025B-AB99-40F6-B5B8-783A73F80E24}", "DerivedColumn"),
    ("{49928E82-9C4E-49F0-AABE-3812B82707EC}", "DerivedColumn"),
    ("{18E9A11B-7393-47C5-9D47-687BE04A6B09}", "DerivedColumn"),
    ("{27648839-180F-45E6-838D-AFF53DF682D2}", "Lookup"),
    ("{671046B0-AA63-4C9F-90E4-C06E0B710CE3}", "Lookup"),
    ("{9345248B-9709-4C04-90C1-0853F8B68EE8}", "Lookup"),
    ("{62B1106C-7DB8-4EC8-ADD6-4C664DFFC54A}", "DataConvert"),
    ("{7F88F654-4E20-4D14-84F4-AF9C925D3087}", "ConditionalSplit"),
    ("{E2697D8C-70DA-42B2-8208-A19CE3A9FE41}", "RowCount"),
    ("{5B201335-B360-485C-BB93-75C34E09B3D3}", "Aggregate"),
    ("{14D43A4F-D7BD-489D-829E-6DE35750CFE4}", "MergeJoin"),
];

/// Hosts of managed classes, whose names stand in a property.
const HOSTS: [&str; 3] = [
    "{874F7595-FB5F-40FF-96AF-FBFF8250E3EF}",
    "{2E42D45B-F83C-400F-8D77-61DDE6A7DF29}",
    "{33D831DE-5DCF-48F0-B431-4D327B9E785D}",
];

/// Returns the kind of a component.
pub fn kind_of(component: &Element) -> Kind {
    let class = class_of(component);
    let plain = plain(&class);
    let by_name = NAMES.iter().find(|(name, _, _)| plain.eq_ignore_ascii_case(name));
    let by_title = || {
        let title = title_of(component);
        NAMES.iter().find(|(_, known, _)| title.eq_ignore_ascii_case(known))
    };
    by_name.or_else(by_title).map_or(Kind::Other, |(_, _, kind)| *kind)
}

/// Returns the class of a component for people: its name, or else its title.
pub fn shown_class(component: &Element) -> String {
    let class = class_of(component);
    match (class.starts_with('{'), title_of(component)) {
        (true, title) if !title.is_empty() => title.to_owned(),
        _ => class,
    }
}

fn class_of(component: &Element) -> String {
    let class = component.value("componentClassID");
    let is_host =
        class.contains("ManagedComponent") || HOSTS.iter().any(|host| class.eq_ignore_ascii_case(host));
    if is_host {
        let inner = property(component, "UserComponentTypeName");
        if !inner.is_empty() {
            return inner.to_owned();
        }
    }
    let by_id = CLSIDS.iter().find(|(id, _)| class.eq_ignore_ascii_case(id));
    by_id.map_or_else(|| class.to_owned(), |(_, name)| format!("Microsoft.{name}"))
}

/// Returns the last part of a class name: `OLEDBSource` of `DTSAdapter.OLEDBSource.3` and of
/// `Microsoft.SqlServer.Dts.Pipeline.OLEDBSource, Microsoft.SqlServer, Version=…`.
fn plain(class: &str) -> &str {
    let name = class.split(',').next().unwrap_or_default().trim();
    let is_version = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit('.').find(|part| !is_version(part)).unwrap_or(name)
}

/// Returns the title of a component, with which its contact information begins.
fn title_of(component: &Element) -> &str {
    component.value("contactInfo").split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::dtsx::xml::parse;

    #[test]
    fn classes_are_known_by_name_id_and_title() {
        let kind = |attributes: &str, inner: &str| {
            kind_of(
                &parse(&format!("<component {attributes}><properties>{inner}</properties></component>"))
                    .unwrap(),
            )
        };
        let host = "<property name=\"UserComponentTypeName\">Microsoft.SqlServer.Dts.Pipeline.DataReaderSourceAdapter, \
                    Microsoft.SqlServer.ADONETSrc, Version=11.0.0.0</property>";
        for (attributes, inner, expected) in [
            ("componentClassID=\"Microsoft.OLEDBSource\"", "", Kind::TableSource),
            ("componentClassID=\"DTSTransform.MergeJoin.3\"", "", Kind::MergeJoin),
            ("componentClassID=\"{671046b0-aa63-4c9f-90e4-c06e0b710ce3}\"", "", Kind::Lookup),
            ("componentClassID=\"{874F7595-FB5F-40FF-96AF-FBFF8250E3EF}\"", host, Kind::TableSource),
            (
                "componentClassID=\"{00000000-0000-0000-0000-000000000001}\" contactInfo=\"Sort;Microsoft Corporation; 1\"",
                "",
                Kind::Sort,
            ),
            ("componentClassID=\"Microsoft.FuzzyLookup\"", "", Kind::Other),
            ("componentClassID=\"Microsoft.ScriptComponentHost\"", "", Kind::Other),
        ] {
            assert_eq!(kind(attributes, inner), expected, "{attributes}");
        }
    }
}
