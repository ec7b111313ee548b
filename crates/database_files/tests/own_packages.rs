//! Packages that the test itself writes: what a model and data may be, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use bulkwire_database_files::{DatabaseFile, FileError, InMemory};
use rows::Form;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;

const MODEL: &str = r#"<DataSchemaModel FileFormatVersion="1.2" SchemaVersion="2.9" DspName="Microsoft.Data.Tools.Schema.Sql.Sql150DatabaseSchemaProvider"><Model>
<Element Type="SqlTable" Name="[dbo].[order line]"><Relationship Name="Columns">
<Entry><Element Type="SqlSimpleColumn" Name="[dbo].[order line].[id]"><Property Name="IsNullable" Value="False"/>TYPE(int)</Element></Entry>
<Entry><Element Type="SqlSimpleColumn" Name="[dbo].[order line].[note]">TYPE(nvarchar)</Element></Entry>
</Relationship></Element></Model></DataSchemaModel>"#;

/// A package in the making.
struct Package {
    model: String,
    data: Vec<(&'static str, Vec<u8>)>,
    checksum: Option<String>,
    data_version: &'static str,
}

impl Package {
    fn new() -> Self {
        Self { model: model(), data: Vec::new(), checksum: None, data_version: "2.0.0.0" }
    }

    fn with(mut self, part: &'static str, bytes: Vec<u8>) -> Self {
        self.data.push((part, bytes));
        self
    }

    fn open(self) -> Result<DatabaseFile, FileError> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let mut part = |name: &str, bytes: &[u8]| {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        };
        part("model.xml", self.model.as_bytes());
        part("DacMetadata.xml", b"<DacType><Name>shop</Name></DacType>");
        let sum = Sha256::digest(self.model.as_bytes());
        let sum = self.checksum.unwrap_or_else(|| sum.iter().map(|byte| format!("{byte:02X}")).collect());
        let origin = format!(
            "<DacOrigin><ContainsExportedData>true</ContainsExportedData><Version StreamName=\"Data\">{}</Version>\
             <Checksum Uri=\"/model.xml\">{sum}</Checksum></DacOrigin>",
            self.data_version
        );
        part("Origin.xml", origin.as_bytes());
        self.data.iter().for_each(|(name, bytes)| part(name, bytes));
        let bytes = zip.finish().unwrap().into_inner();
        DatabaseFile::open(vec![Arc::new(InMemory::new("shop.bacpac", bytes))], None)
    }

    /// Reads the only table; the first error ends it.
    fn rows(self) -> Result<Vec<(i32, Option<String>)>, FileError> {
        let database = self.open()?;
        let mut rows = Vec::new();
        for batch in database.read(0, Form::Exact, 2, 2)? {
            let batch = batch?;
            let ids = batch.column(0).as_primitive::<Int32Type>().values().to_vec();
            let notes = batch.column(1).as_string::<i32>().iter().map(|note| note.map(str::to_owned));
            rows.extend(ids.into_iter().zip(notes));
        }
        Ok(rows)
    }

    fn error(self) -> String {
        self.rows().expect_err("it is refused").to_string()
    }
}

fn model() -> String {
    let typed = |name: &str, properties: &str| {
        format!(
            "<Relationship Name=\"TypeSpecifier\"><Entry><Element Type=\"SqlTypeSpecifier\">{properties}<Relationship Name=\"Type\">\
             <Entry><References ExternalSource=\"BuiltIns\" Name=\"[{name}]\"/></Entry></Relationship></Element></Entry></Relationship>"
        )
    };
    MODEL
        .replace("TYPE(int)", &typed("int", ""))
        .replace("TYPE(nvarchar)", &typed("nvarchar", "<Property Name=\"Length\" Value=\"5\"/>"))
}

fn row(id: i32, note: Option<&str>) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    match note {
        None => bytes.extend(u16::MAX.to_le_bytes()),
        Some(text) => {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            bytes.extend((units.len() as u16).to_le_bytes());
            bytes.extend(units);
        }
    }
    bytes
}

const PART: &str = "Data/dbo.order%20line/TableData-000-00000.BCP";

#[test]
fn parts_come_in_the_order_of_their_numbers() {
    let package = Package::new()
        .with("Data/dbo.order%20line/TableData-010-00000.BCP", row(4, None))
        .with("Data/dbo.order%20line/TableData-002-00001.BCP", row(3, Some("ü")))
        .with(
            "Data/dbo.order%20line/TableData-002-00000.BCP",
            [row(1, Some("")), row(2, Some("abcde"))].concat(),
        );
    let rows = package.rows().unwrap();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(rows, [(1, text("")), (2, text("abcde")), (3, text("ü")), (4, None)]);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let good = row(1, Some("ab"));
    let cases = [
        (Package::new().with(PART, [good.clone(), vec![2, 0]].concat()), "row 2: the file ends within a row"),
        (
            Package::new().with(PART, [good.clone(), row(2, Some("abcdef"))].concat()),
            "row 2, column note, byte 14: a value of 12 bytes, where 10 belong",
        ),
        (Package::new().with("Data/dbo.other/TableData-000-00000.BCP", good.clone()), "belongs to no table"),
        (
            Package::new().with("Data/dbo.order%20line/BlobData-1.BIN", good.clone()),
            "whose form is not known",
        ),
        (Package { checksum: Some("00".repeat(32)), ..Package::new() }, "Origin.xml says 0000"),
        (Package { data_version: "1.0.0.0", ..Package::new() }, "data of version 1.0.0.0 are not read"),
        (Package { model: model().replace("1.2", "1.3"), ..Package::new() }, "format 1.3 is not read"),
        (
            Package { model: model().replace("[nvarchar]", "[sql_variant]"), ..Package::new() },
            "column note: sql_variant is not read",
        ),
        (Package::new().with("Data/../x/TableData-000-00000.BCP", good), "leads out of the archive"),
    ];
    for (package, part) in cases {
        let error = package.error();
        assert!(error.contains(part) && error.contains("shop.bacpac"), "{error}");
    }
}

/// A row whose text has a length of `prefix` bytes before it, or none.
fn other_row(id: i32, text: &str, prefix: usize) -> Vec<u8> {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = (units.len() as u64).to_le_bytes();
    [id.to_le_bytes().as_slice(), &length[..prefix], &units].concat()
}

#[test]
fn writers_that_deviate_are_understood() {
    let of = |kind: &str, length: &str, properties: &str| {
        let column = format!("[note]\">{properties}<Relationship");
        model()
            .replace("[nvarchar]", kind)
            .replace("Name=\"Length\" Value=\"5\"", &format!("Name=\"Length\" Value=\"{length}\""))
            .replace("[note]\"><Relationship", &column)
    };
    let long = of("[varchar]", "5000", "");
    let of_utf8 = "<Property Name=\"IsNullable\" Value=\"False\"/><Property Name=\"Collation\" Value=\"Latin1_General_100_CI_AS_SC_UTF8\"/>";
    let utf8 = of("[char]", "2", of_utf8);
    let rows = |model: &str, bytes: Vec<u8>| {
        let package = Package { model: model.to_owned(), ..Package::new() };
        package.with(PART, bytes).rows()
    };
    let wanted = [(1, Some("ab".to_owned())), (2, Some("cd".to_owned()))];
    for (model, prefix) in [(&long, 2), (&long, 8), (&utf8, 0), (&utf8, 2)] {
        let bytes = [other_row(1, "ab", prefix), other_row(2, "cd", prefix)].concat();
        assert_eq!(rows(model, bytes).unwrap(), wanted, "prefix {prefix}");
    }
    // No form ends where the part does.
    let cut = [other_row(1, "ab", 8), other_row(2, "cd", 2)].concat();
    assert!(rows(&long, cut).is_err());
    // No table is read in a form that another one fits as well.
    let both = of("[char]", "1", of_utf8).replace("[int]", "[tinyint]");
    let package = Package { model: both, ..Package::new() };
    let bytes = [[1, 0, 0], [2, 0, 0]].concat();
    let refused = package.with(PART, bytes).open().unwrap().read(0, Form::Exact, 2, 1).err().unwrap();
    assert!(refused.to_string().contains("in two forms"), "{refused}");
}
