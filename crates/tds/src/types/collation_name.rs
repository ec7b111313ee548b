//! Collation names: the grammar of Windows collations and the list of SQL collations.
//!
//! A Windows name is `Designator[_version]_{BIN|BIN2|CaseAccent[_KS][_WS]}[_VSS][_SC][_UTF8]`; the designator gives the
//! locale, the rest gives the flags. An SQL name stands for a sort id and has no grammar worth parsing.

use crate::collation::Collation;

impl Collation {
    /// Returns the collation with this name, in any case; `None` if the name is unknown.
    ///
    /// `_SC` and `_VSS` are checked but have no bit on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("SQL_")) {
            return from_sql_name(name);
        }
        WINDOWS.iter().find_map(|designator| {
            let rest = strip_prefix_ignoring_case(name, designator.name)?.strip_prefix('_')?;
            let (version, style) = split_version(rest);
            designator.versions.contains(&version).then_some(())?;
            let flags = parse_style(style, version)?;
            Some(Self {
                info: designator.lcid | flags | u32::from(version) << Self::VERSION_SHIFT,
                sort_id: 0,
            })
        })
    }

    /// Returns the name of this collation; `None` if its locale, version or sort id is unknown.
    ///
    /// Some names share their wire bytes; of those the plain one is returned: without `_SC` (except before `_UTF8`,
    /// which needs it), without `_VSS`, and `_CS_AS_KS_WS_SC_UTF8` rather than `_BIN2_UTF8`.
    pub fn name(self) -> Option<String> {
        if self.sort_id != 0 {
            return SQL.iter().find(|sql| sql.sort_id == self.sort_id).map(|sql| sql.name.to_owned());
        }
        let version = self.version();
        let designator = WINDOWS
            .iter()
            .find(|designator| designator.lcid == self.lcid() && designator.versions.contains(&version))?;
        let mut name = designator.name.to_owned();
        name.push_str(version_suffix(version)?);
        if self.is_utf8() {
            self.push_sensitivity(&mut name);
            // Version 140 implies supplementary characters.
            name.push_str(if version == 3 { "_UTF8" } else { "_SC_UTF8" });
        } else if self.info & Self::BIN2 != 0 {
            name.push_str("_BIN2");
        } else if self.info & Self::BIN != 0 {
            name.push_str("_BIN");
        } else {
            self.push_sensitivity(&mut name);
        }
        Some(name)
    }

    fn push_sensitivity(self, name: &mut String) {
        name.push_str(if self.case_sensitive() { "_CS" } else { "_CI" });
        name.push_str(if self.accent_sensitive() { "_AS" } else { "_AI" });
        if self.kana_sensitive() {
            name.push_str("_KS");
        }
        if self.width_sensitive() {
            name.push_str("_WS");
        }
    }
}

fn from_sql_name(name: &str) -> Option<Collation> {
    let sql = SQL.iter().find(|sql| sql.name.eq_ignore_ascii_case(name))?;
    let style = sql.name.rsplit_once("_C").map_or("", |(_, style)| style);
    let flags = match style {
        _ if sql.name.ends_with("_BIN2") => Collation::BIN2,
        _ if sql.name.ends_with("_BIN") => Collation::BIN,
        style => {
            let case = if style.starts_with('I') { Collation::IGNORE_CASE } else { 0 };
            let accent = if style.ends_with("AI") { Collation::IGNORE_ACCENT } else { 0 };
            case | accent | Collation::IGNORE_KANA | Collation::IGNORE_WIDTH
        }
    };
    Some(Collation { info: sql.lcid? | flags, sort_id: sql.sort_id })
}

/// Lists every collation that [`Collation::from_name`] knows with its description in words, as `sys.fn_helpcollations` lists them.
pub fn collations() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for designator in WINDOWS.iter().filter(|designator| !DEPRECATED.contains(&designator.name)) {
        for version in designator.versions {
            for style in styles(*version) {
                let base = format!("{}{}", designator.name, version_suffix(*version).unwrap_or(""));
                let description = described(&base.replace('_', "-"), &style);
                all.push((format!("{base}_{style}"), description));
            }
        }
    }
    for sql in SQL.iter().filter(|sql| sql.lcid.is_some()) {
        let base = sql.name.trim_start_matches("SQL_");
        let at = base.rfind("_C").filter(|at| base.get(at + 2..at + 3) != Some("P"));
        let (base, style) = base.split_at(at.or_else(|| base.rfind("_BIN")).unwrap_or(base.len()));
        let style = style.trim_start_matches('_');
        let words = described(&base.replace('_', "-"), style);
        all.push((
            sql.name.to_owned(),
            format!("{words} for non-Unicode Data, SQL sort order {}", sql.sort_id),
        ));
    }
    all.sort();
    all
}

/// Lists the endings of a designator's names in a version.
fn styles(version: u8) -> Vec<String> {
    let mut styles = vec!["BIN".to_owned(), "BIN2".to_owned()];
    for case in ["CI", "CS"] {
        for accent in ["AI", "AS"] {
            for kana in ["", "_KS"] {
                for width in ["", "_WS"] {
                    let plain = format!("{case}_{accent}{kana}{width}");
                    let more: &[&str] = match version {
                        0 => &[],
                        1 => &["_SC"],
                        3 => &["_VSS", "_UTF8", "_VSS_UTF8"],
                        _ => &["_SC", "_SC_UTF8"],
                    };
                    styles.extend(more.iter().map(|more| format!("{plain}{more}")));
                    styles.push(plain);
                }
            }
        }
    }
    styles
}

fn described(base: &str, style: &str) -> String {
    let mut words = vec![base.to_owned()];
    let parts: Vec<&str> = style.split('_').collect();
    let has = |part: &str| parts.contains(&part);
    if has("BIN") {
        words.push("binary sort".to_owned());
    } else if has("BIN2") {
        words.push("binary code point comparison sort".to_owned());
    } else {
        let told = |sensitive: bool, what: &str| {
            format!("{what}-{}", if sensitive { "sensitive" } else { "insensitive" })
        };
        words.push(told(has("CS"), "case"));
        words.push(told(!has("AI"), "accent"));
        words.push(told(has("KS"), "kanatype"));
        words.push(told(has("WS"), "width"));
    }
    for (part, more) in
        [("SC", "supplementary characters"), ("VSS", "variation selector sensitive"), ("UTF8", "UTF8")]
    {
        if has(part) {
            words.push(more.to_owned());
        }
    }
    words.join(", ")
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Splits a leading `90_`, `100_`, … off; 0 for none.
fn split_version(rest: &str) -> (u8, &str) {
    for (version, digits) in [(1, "90_"), (2, "100_"), (3, "140_"), (4, "160_")] {
        if let Some(style) = rest.strip_prefix(digits) {
            return (version, style);
        }
    }
    (0, rest)
}

fn version_suffix(version: u8) -> Option<&'static str> {
    ["", "_90", "_100", "_140", "_160"].get(usize::from(version)).copied()
}

/// Parses the flag bits of the part of a Windows name after designator and version.
fn parse_style(style: &str, version: u8) -> Option<u32> {
    let mut parts = style.split('_').peekable();
    let mut take = |word: &str| parts.next_if(|part| part.eq_ignore_ascii_case(word)).is_some();
    if take("BIN") {
        return parts.next().is_none().then_some(Collation::BIN);
    }
    if take("BIN2") {
        let utf8 = version >= 2 && take("UTF8");
        return parts.next().is_none().then_some(if utf8 { Collation::UTF8 } else { Collation::BIN2 });
    }
    let mut flags = 0;
    if take("CI") {
        flags |= Collation::IGNORE_CASE;
    } else if !take("CS") {
        return None;
    }
    if take("AI") {
        flags |= Collation::IGNORE_ACCENT;
    } else if !take("AS") {
        return None;
    }
    if !take("KS") {
        flags |= Collation::IGNORE_KANA;
    }
    if !take("WS") {
        flags |= Collation::IGNORE_WIDTH;
    }
    if version == 3 {
        take("VSS");
    }
    let supplementary = matches!(version, 1 | 2 | 4) && take("SC");
    if (supplementary || version == 3) && take("UTF8") {
        flags |= Collation::UTF8;
    }
    parts.next().is_none().then_some(flags)
}

/// A Windows collation designator and the versions it exists in (numbered as on the wire).
struct Windows {
    name: &'static str,
    lcid: u32,
    versions: &'static [u8],
}

const fn windows(name: &'static str, lcid: u32, versions: &'static [u8]) -> Windows {
    Windows { name, lcid, versions }
}

/// Designators that old databases still have, and `sys.fn_helpcollations` does not list.
const DEPRECATED: &[&str] = &["Hindi", "Korean_Wansung_Unicode", "Lithuanian_Classic", "Macedonian"];

/// Designators that `sys.fn_helpcollations` lists, and the deprecated ones.
const WINDOWS: &[Windows] = &[
    windows("Albanian", 0x041C, &[0, 2]),
    windows("Arabic", 0x0401, &[0, 2]),
    windows("Assamese", 0x044D, &[2]),
    windows("Azeri_Cyrillic", 0x082C, &[1, 2]),
    windows("Azeri_Latin", 0x042C, &[1, 2]),
    windows("Bashkir", 0x046D, &[2]),
    windows("Bengali", 0x0445, &[2]),
    windows("Bosnian_Cyrillic", 0x201A, &[2]),
    windows("Bosnian_Latin", 0x141A, &[2]),
    windows("Breton", 0x047E, &[2]),
    windows("Chinese_Hong_Kong_Stroke", 0x0C04, &[1]),
    windows("Chinese_PRC", 0x0804, &[0, 1]),
    windows("Chinese_PRC_Stroke", 0x2_0804, &[0, 1]),
    windows("Chinese_Simplified_Pinyin", 0x0804, &[2, 4]),
    windows("Chinese_Simplified_Stroke_Order", 0x2_0804, &[2, 4]),
    windows("Chinese_Taiwan_Bopomofo", 0x3_0404, &[0, 1]),
    windows("Chinese_Taiwan_Stroke", 0x0404, &[0, 1]),
    windows("Chinese_Traditional_Bopomofo", 0x3_0404, &[2]),
    windows("Chinese_Traditional_Pinyin", 0x1404, &[2]),
    windows("Chinese_Traditional_Stroke_Count", 0x0404, &[2]),
    windows("Chinese_Traditional_Stroke_Order", 0x2_1404, &[2]),
    windows("Corsican", 0x0483, &[2]),
    windows("Croatian", 0x041A, &[0, 2]),
    windows("Cyrillic_General", 0x0419, &[0, 2]),
    windows("Czech", 0x0405, &[0, 2]),
    windows("Danish_Greenlandic", 0x0406, &[2]),
    windows("Danish_Norwegian", 0x0406, &[0]),
    windows("Dari", 0x048C, &[2]),
    windows("Divehi", 0x0465, &[1, 2]),
    windows("Estonian", 0x0425, &[0, 2]),
    windows("Finnish_Swedish", 0x040B, &[0, 2]),
    windows("French", 0x040C, &[0, 2]),
    windows("Frisian", 0x0462, &[2]),
    windows("Georgian_Modern_Sort", 0x1_0437, &[0, 2]),
    windows("German_PhoneBook", 0x1_0407, &[0, 2]),
    windows("Greek", 0x0408, &[0, 2]),
    windows("Hebrew", 0x040D, &[0, 2]),
    windows("Hindi", 0x0439, &[0]),
    windows("Hungarian", 0x040E, &[0, 2]),
    windows("Hungarian_Technical", 0x1_040E, &[0, 2]),
    windows("Icelandic", 0x040F, &[0, 2]),
    windows("Indic_General", 0x0439, &[1, 2]),
    windows("Japanese", 0x0411, &[0, 1]),
    windows("Japanese_Bushu_Kakusu", 0x4_0411, &[2, 3]),
    windows("Japanese_Unicode", 0x1_0411, &[0]),
    windows("Japanese_XJIS", 0x0411, &[2, 3]),
    windows("Kazakh", 0x043F, &[1, 2]),
    windows("Khmer", 0x0453, &[2]),
    windows("Korean", 0x0412, &[1, 2]),
    windows("Korean_Wansung", 0x0412, &[0]),
    windows("Korean_Wansung_Unicode", 0x1_0412, &[0]),
    windows("Lao", 0x0454, &[2]),
    windows("Latin1_General", 0x0409, &[0, 2]),
    windows("Latvian", 0x0426, &[0, 2]),
    windows("Lithuanian", 0x0427, &[0, 2]),
    windows("Lithuanian_Classic", 0x0827, &[0]),
    windows("Macedonian", 0x042F, &[0]),
    windows("Macedonian_FYROM", 0x042F, &[1, 2]),
    windows("Maltese", 0x043A, &[2]),
    windows("Maori", 0x0481, &[2]),
    windows("Mapudungan", 0x047A, &[2]),
    windows("Modern_Spanish", 0x0C0A, &[0, 2]),
    windows("Mohawk", 0x047C, &[2]),
    windows("Nepali", 0x0461, &[2]),
    windows("Norwegian", 0x0414, &[2]),
    windows("Pashto", 0x0463, &[2]),
    windows("Persian", 0x0429, &[2]),
    windows("Polish", 0x0415, &[0, 2]),
    windows("Romanian", 0x0418, &[0, 2]),
    windows("Romansh", 0x0417, &[2]),
    windows("Sami_Norway", 0x043B, &[2]),
    windows("Sami_Sweden_Finland", 0x083B, &[2]),
    windows("Serbian_Cyrillic", 0x0C1A, &[2]),
    windows("Serbian_Latin", 0x081A, &[2]),
    windows("Slovak", 0x041B, &[0, 2]),
    windows("Slovenian", 0x0424, &[0, 2]),
    windows("Syriac", 0x045A, &[1, 2]),
    windows("Tamazight", 0x085F, &[2]),
    windows("Tatar", 0x0444, &[1, 2]),
    windows("Thai", 0x041E, &[0, 2]),
    windows("Tibetan", 0x0451, &[2]),
    windows("Traditional_Spanish", 0x040A, &[0, 2]),
    windows("Turkish", 0x041F, &[0, 2]),
    windows("Turkmen", 0x0442, &[2]),
    windows("Uighur", 0x0480, &[2]),
    windows("Ukrainian", 0x0422, &[0, 2]),
    windows("Upper_Sorbian", 0x042E, &[2]),
    windows("Urdu", 0x0420, &[2]),
    windows("Uzbek_Latin", 0x0443, &[1, 2]),
    windows("Vietnamese", 0x042A, &[0, 2]),
    windows("Welsh", 0x0452, &[2]),
    windows("Yakut", 0x0485, &[2]),
];

/// An SQL collation. `lcid` is `None` where no public source says which locale its Unicode side has: such a collation
/// is recognised by its sort id, but its name gives no wire bytes.
struct Sql {
    name: &'static str,
    sort_id: u8,
    lcid: Option<u32>,
}

const fn sql(name: &'static str, sort_id: u8, lcid: u32) -> Sql {
    Sql { name, sort_id, lcid: Some(lcid) }
}

const fn sql_of_unknown_locale(name: &'static str, sort_id: u8) -> Sql {
    Sql { name, sort_id, lcid: None }
}

const SQL: &[Sql] = &[
    sql("SQL_Latin1_General_CP437_BIN", 30, 0x0409),
    sql("SQL_Latin1_General_CP437_CS_AS", 31, 0x0409),
    sql("SQL_Latin1_General_CP437_CI_AS", 32, 0x0409),
    sql("SQL_Latin1_General_Pref_CP437_CI_AS", 33, 0x0409),
    sql("SQL_Latin1_General_CP437_CI_AI", 34, 0x0409),
    sql("SQL_Latin1_General_CP437_BIN2", 35, 0x0409),
    sql("SQL_Latin1_General_CP850_BIN", 40, 0x0409),
    sql("SQL_Latin1_General_CP850_CS_AS", 41, 0x0409),
    sql("SQL_Latin1_General_CP850_CI_AS", 42, 0x0409),
    sql("SQL_Latin1_General_Pref_CP850_CI_AS", 43, 0x0409),
    sql("SQL_Latin1_General_CP850_CI_AI", 44, 0x0409),
    sql("SQL_Latin1_General_CP850_BIN2", 45, 0x0409),
    sql("SQL_1xCompat_CP850_CI_AS", 49, 0x0409),
    sql("SQL_Latin1_General_CP1_CS_AS", 51, 0x0409),
    sql("SQL_Latin1_General_CP1_CI_AS", 52, 0x0409),
    sql("SQL_Latin1_General_Pref_CP1_CI_AS", 53, 0x0409),
    sql("SQL_Latin1_General_CP1_CI_AI", 54, 0x0409),
    sql("SQL_AltDiction_CP850_CS_AS", 55, 0x0409),
    sql("SQL_AltDiction_Pref_CP850_CI_AS", 56, 0x0409),
    sql("SQL_AltDiction_CP850_CI_AI", 57, 0x0409),
    sql_of_unknown_locale("SQL_Scandinavian_Pref_CP850_CI_AS", 58),
    sql_of_unknown_locale("SQL_Scandinavian_CP850_CS_AS", 59),
    sql_of_unknown_locale("SQL_Scandinavian_CP850_CI_AS", 60),
    sql("SQL_AltDiction_CP850_CI_AS", 61, 0x0409),
    sql("SQL_Latin1_General_CP1250_CS_AS", 81, 0x0409),
    sql("SQL_Latin1_General_CP1250_CI_AS", 82, 0x0409),
    sql("SQL_Czech_CP1250_CS_AS", 83, 0x0405),
    sql("SQL_Czech_CP1250_CI_AS", 84, 0x0405),
    sql("SQL_Hungarian_CP1250_CS_AS", 85, 0x040E),
    sql("SQL_Hungarian_CP1250_CI_AS", 86, 0x040E),
    sql("SQL_Polish_CP1250_CS_AS", 87, 0x0415),
    sql("SQL_Polish_CP1250_CI_AS", 88, 0x0415),
    sql("SQL_Romanian_CP1250_CS_AS", 89, 0x0418),
    sql("SQL_Romanian_CP1250_CI_AS", 90, 0x0418),
    sql("SQL_Croatian_CP1250_CS_AS", 91, 0x041A),
    sql("SQL_Croatian_CP1250_CI_AS", 92, 0x041A),
    sql("SQL_Slovak_CP1250_CS_AS", 93, 0x041B),
    sql("SQL_Slovak_CP1250_CI_AS", 94, 0x041B),
    sql("SQL_Slovenian_CP1250_CS_AS", 95, 0x0424),
    sql("SQL_Slovenian_CP1250_CI_AS", 96, 0x0424),
    sql("SQL_Latin1_General_CP1251_CS_AS", 105, 0x0409),
    sql("SQL_Latin1_General_CP1251_CI_AS", 106, 0x0409),
    sql("SQL_Ukrainian_CP1251_CS_AS", 107, 0x0422),
    sql("SQL_Ukrainian_CP1251_CI_AS", 108, 0x0422),
    sql("SQL_Latin1_General_CP1253_CS_AS", 113, 0x0409),
    sql("SQL_Latin1_General_CP1253_CI_AS", 114, 0x0409),
    sql_of_unknown_locale("SQL_MixDiction_CP1253_CS_AS", 120),
    sql_of_unknown_locale("SQL_AltDiction_CP1253_CS_AS", 121),
    sql_of_unknown_locale("SQL_AltDiction2_CP1253_CS_AS", 122),
    sql("SQL_Latin1_General_CP1253_CI_AI", 124, 0x0409),
    sql("SQL_Latin1_General_CP1254_CS_AS", 129, 0x0409),
    sql("SQL_Latin1_General_CP1254_CI_AS", 130, 0x0409),
    sql("SQL_Latin1_General_CP1255_CS_AS", 137, 0x0409),
    sql("SQL_Latin1_General_CP1255_CI_AS", 138, 0x0409),
    sql("SQL_Latin1_General_CP1256_CS_AS", 145, 0x0409),
    sql("SQL_Latin1_General_CP1256_CI_AS", 146, 0x0409),
    sql("SQL_Latin1_General_CP1257_CS_AS", 153, 0x0409),
    sql("SQL_Latin1_General_CP1257_CI_AS", 154, 0x0409),
    sql("SQL_Estonian_CP1257_CS_AS", 155, 0x0425),
    sql("SQL_Estonian_CP1257_CI_AS", 156, 0x0425),
    sql("SQL_Latvian_CP1257_CS_AS", 157, 0x0426),
    sql("SQL_Latvian_CP1257_CI_AS", 158, 0x0426),
    sql("SQL_Lithuanian_CP1257_CS_AS", 159, 0x0427),
    sql("SQL_Lithuanian_CP1257_CI_AS", 160, 0x0427),
    sql("SQL_Danish_Pref_CP1_CI_AS", 183, 0x0406),
    sql("SQL_SwedishPhone_Pref_CP1_CI_AS", 184, 0x040B),
    sql("SQL_SwedishStd_Pref_CP1_CI_AS", 185, 0x040B),
    sql("SQL_Icelandic_Pref_CP1_CI_AS", 186, 0x040F),
    sql_of_unknown_locale("SQL_EBCDIC037_CP1_CS_AS", 210),
    sql_of_unknown_locale("SQL_EBCDIC273_CP1_CS_AS", 211),
    sql_of_unknown_locale("SQL_EBCDIC277_CP1_CS_AS", 212),
    sql_of_unknown_locale("SQL_EBCDIC278_CP1_CS_AS", 213),
    sql_of_unknown_locale("SQL_EBCDIC280_CP1_CS_AS", 214),
    sql_of_unknown_locale("SQL_EBCDIC284_CP1_CS_AS", 215),
    sql_of_unknown_locale("SQL_EBCDIC285_CP1_CS_AS", 216),
    sql_of_unknown_locale("SQL_EBCDIC297_CP1_CS_AS", 217),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::code_page::CodePage;

    /// `wire bytes, code page, name`; the first three are published examples.
    const EXAMPLES: &[([u8; 5], u16, &str)] = &[
        ([0x09, 0x04, 0xD0, 0x00, 0x34], 1252, "SQL_Latin1_General_CP1_CI_AS"),
        ([0x09, 0x04, 0xD0, 0x24, 0x00], 65001, "Latin1_General_100_CI_AS_SC_UTF8"),
        ([0x09, 0x04, 0x00, 0x02, 0x00], 1252, "Latin1_General_BIN2"),
        ([0x09, 0x04, 0x00, 0x01, 0x00], 1252, "Latin1_General_BIN"),
        ([0x11, 0x04, 0x00, 0x30, 0x00], 932, "Japanese_XJIS_140_CS_AS_KS_WS"),
        ([0x11, 0x04, 0xD4, 0x20, 0x00], 932, "Japanese_Bushu_Kakusu_100_CI_AS"),
        ([0x04, 0x08, 0xD0, 0x44, 0x00], 65001, "Chinese_Simplified_Pinyin_160_CI_AS_SC_UTF8"),
        ([0x04, 0x04, 0xD3, 0x10, 0x00], 950, "Chinese_Taiwan_Bopomofo_90_CI_AS"),
        ([0x19, 0x04, 0xC0, 0x00, 0x00], 1251, "Cyrillic_General_CS_AS"),
        ([0x1E, 0x04, 0xF0, 0x20, 0x00], 874, "Thai_100_CI_AI"),
        ([0x09, 0x04, 0x00, 0x01, 0x1E], 437, "SQL_Latin1_General_CP437_BIN"),
        ([0x09, 0x04, 0xF0, 0x00, 0x2C], 850, "SQL_Latin1_General_CP850_CI_AI"),
        ([0x15, 0x04, 0xC0, 0x00, 0x57], 1250, "SQL_Polish_CP1250_CS_AS"),
    ];

    #[test]
    fn names_bytes_and_code_pages_agree() {
        for (bytes, code_page, name) in EXAMPLES {
            let collation = Collation::from_name(name).expect(name);
            assert_eq!(collation.to_bytes(), *bytes, "{name}");
            assert_eq!(Collation::from_bytes(*bytes), collation);
            assert_eq!(collation.name().as_deref(), Some(*name));
            assert_eq!(collation.code_page(), CodePage::from_number(*code_page).unwrap(), "{name}");
        }
    }

    #[test]
    fn every_collation_that_is_listed_is_known() {
        let all = collations();
        assert!(all.len() > 3000, "{}", all.len());
        for (name, description) in &all {
            assert!(Collation::from_name(name).is_some(), "{name}: {description}");
        }
        let latin =
            all.iter().find(|(name, _)| name == "Latin1_General_CI_AS").map(|(_, words)| words.as_str());
        let words =
            "Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive";
        assert_eq!(latin, Some(words));
        let lao = all.iter().find(|(name, _)| name == "Lao_100_BIN").map(|(_, words)| words.as_str());
        assert_eq!(lao, Some("Lao-100, binary sort"));
    }

    #[test]
    fn every_listed_collation_survives_its_name() {
        for designator in WINDOWS {
            for version in designator.versions {
                for style in ["BIN", "BIN2", "CI_AI", "CS_AS", "CI_AS_KS_WS", "CS_AI_WS"] {
                    let name = format!("{}{}_{style}", designator.name, version_suffix(*version).unwrap());
                    let collation = Collation::from_name(&name.to_ascii_lowercase()).expect(&name);
                    assert_eq!(collation.lcid(), designator.lcid, "{name}");
                    assert_eq!(collation.name(), Some(name));
                }
            }
        }
        for sql in SQL {
            let from_sort_id = Collation { info: 0, sort_id: sql.sort_id };
            assert_eq!(from_sort_id.name().as_deref(), Some(sql.name));
            if sql.lcid.is_some() {
                let collation = Collation::from_name(sql.name).expect(sql.name);
                assert_eq!(collation.sort_id, sql.sort_id);
                assert_eq!(collation.case_sensitive(), !sql.name.contains("_CI_"), "{}", sql.name);
                assert_eq!(collation.accent_sensitive(), !sql.name.ends_with("_AI"), "{}", sql.name);
                assert_eq!(collation.is_binary(), sql.name.contains("_BIN"), "{}", sql.name);
            }
        }
    }

    #[test]
    fn names_with_the_same_bytes_print_as_the_plain_one() {
        for (name, plain) in [
            ("Latin1_General_100_CI_AS_SC", "Latin1_General_100_CI_AS"),
            ("Japanese_XJIS_140_CI_AS_VSS", "Japanese_XJIS_140_CI_AS"),
            ("Japanese_XJIS_140_CI_AS_VSS_UTF8", "Japanese_XJIS_140_CI_AS_UTF8"),
            ("Latin1_General_100_BIN2_UTF8", "Latin1_General_100_CS_AS_KS_WS_SC_UTF8"),
        ] {
            assert_eq!(Collation::from_name(name).unwrap().name().as_deref(), Some(plain), "{name}");
        }
    }

    #[test]
    fn unknown_names_are_not_guessed() {
        for name in [
            "",
            "SQL_",
            "SQL_Latin1_General_CP1_XX_AS",
            "SQL_Scandinavian_CP850_CI_AS",
            "Latin1_General",
            "Latin1_General_",
            "Latin1_General_CI",
            "Latin1_General_CI_AS_",
            "Latin1_General_CI_AS_UTF8",
            "Latin1_General_100_CI_AS_UTF8",
            "Latin1_General_CI_AS_SC",
            "Latin1_General_90_CI_AS",
            "Latin1_General_100_CI_AS_WS_KS",
            "Welsh_CI_AS",
            "bbf_unicode_cp1_ci_as",
            "Lätin1_General_CI_AS",
        ] {
            assert_eq!(Collation::from_name(name), None, "{name}");
        }
        assert_eq!(Collation { info: 0x0407, sort_id: 0 }.name(), None);
        assert_eq!(Collation { info: 0, sort_id: 99 }.name(), None);
    }
}
