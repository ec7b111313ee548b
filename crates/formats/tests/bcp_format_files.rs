//! Format files of both kinds: what is read of them, how they are printed, and what is said of wrong ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use formats::bcp::{
    DataMode, FieldCollation, FormatFile, FormatFileError, HostField, HostReadOptions, HostReader, HostType,
    LayoutOptions, declare,
};
use tds::Column;

fn parse(text: &str) -> Result<FormatFile, FormatFileError> {
    FormatFile::parse(text.as_bytes(), "orders.fmt")
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// A field in few words: type, prefix, length, terminator, column.
fn spelled(field: &HostField) -> String {
    format!(
        "{} {} {} {:?} {}",
        field.host_type,
        field.prefix_length,
        field.length,
        String::from_utf8_lossy(&field.terminator),
        field.column.map_or("-".to_owned(), |column| column.to_string()),
    )
}

fn mugs() -> Vec<Column> {
    declare(
        "MugId int not null, Label nvarchar(30) null collate Latin1_General_100_CI_AS, \
         Glaze varchar(12) null collate Latin1_General_100_CI_AS, Price decimal(9,2) null, FiredOn date null",
    )
    .unwrap()
}

#[test]
fn lines_are_read_with_skipped_and_reordered_fields() {
    let file = parse(
        "14.0\n4\n\
         1       SQLCHAR             0       41      \",\"      4     Price       \"\"\n\
         2 SQLCHAR 0 12 \",\" 1 MugId \"\"\n\
         3\tSQLCHAR\t0\t200\t\",\"\t0\tjunk\t\"\"\n\
         4       SQLCHAR             0       60      \"\\r\\n\"   2     \"Label of it\"  Latin1_General_100_CI_AS  \n",
    )
    .unwrap();
    let fields: Vec<String> = file.fields.iter().map(spelled).collect();
    assert_eq!(
        fields,
        [
            "SQLCHAR 0 41 \",\" 4",
            "SQLCHAR 0 12 \",\" 1",
            "SQLCHAR 0 200 \",\" -",
            "SQLCHAR 0 60 \"\\r\\n\" 2"
        ]
    );
    assert_eq!(file.fields[3].name, "Label of it");
    assert!(
        matches!(&file.fields[3].collation, FieldCollation::Named { name, .. } if name == "Latin1_General_100_CI_AS")
    );
}

#[test]
fn quotation_marks_in_terminators_are_read_and_written() {
    // "7","red, matt": the quotation marks belong to the terminators.
    let text = "14.0\n3\n\
                1 SQLCHAR 0 0 \"\\\"\" 0 openq \"\"\n\
                2 SQLCHAR 0 12 \"\\\",\\\"\" 1 MugId \"\"\n\
                3 SQLCHAR 0 60 \"\\\"\\n\" 2 Label \"\"\n";
    let file = parse(text).unwrap();
    let ends: Vec<&[u8]> = file.fields.iter().map(|field| field.terminator.as_slice()).collect();
    assert_eq!(ends, [&b"\""[..], b"\",\"", b"\"\n"]);
    assert_eq!(parse(&file.to_text()).unwrap(), file);

    let data = b"\"7\",\"red, matt\"\n\"8\",\"blue\"\n".to_vec();
    let mut reader =
        HostReader::new(std::io::Cursor::new(data), "mugs", &file, &mugs(), &HostReadOptions::default())
            .unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert_eq!(batch.rejected, []);
    assert_eq!(batch.batch.num_rows(), 2);
}

#[test]
fn other_versions_and_encodings_are_read() {
    let line = "1 SQLCHAR 0 12 \"\\n\" 1 id";
    let seven = parse(&format!("7.0\n1\n{line}\n")).unwrap();
    assert_eq!(parse(&format!("16.0\r\n1\r\n{line} \"\"\r\n")).unwrap().fields, seven.fields);
    assert_eq!(parse(&seven.to_text()).unwrap(), seven);
    let with_mark = format!("\u{FEFF}14.0\n1\n{line} \"\"\n\n\n");
    assert_eq!(parse(&with_mark).unwrap().fields, seven.fields);
    let wide: Vec<u8> = with_mark.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(FormatFile::parse(&wide, "wide.fmt").unwrap().fields, seven.fields);
    let old = parse("8.0\n1\n1 SYBCHAR 0 12 \"\\x0A\" 1 id RAW\n").unwrap();
    assert_eq!(old.fields[0].host_type, HostType::Char);
    assert_eq!(old.fields[0].collation, FieldCollation::Raw);
}

#[test]
fn a_wrong_line_is_named_with_what_was_expected() {
    let good = "1 SQLCHAR 0 12 \"\\n\" 1 id \"\"\n";
    for (text, expected) in [
        ("", "orders.fmt: expected a version from 7.0 to 16.0, found \"\""),
        ("10.50\n1\n", "orders.fmt, line 1: expected a version from 7.0 to 16.0, found \"10.50\""),
        ("17.0\n1\n", "orders.fmt, line 1: expected a version from 7.0 to 16.0, found \"17.0\""),
        ("14.0\nx\n", "orders.fmt, line 2: expected the number of fields, 1 or more, found \"x\""),
        ("14.0\n0\n", "orders.fmt, line 2: expected the number of fields, 1 or more, found \"0\""),
        (
            "14.0\n2\n1 SQLCHAR 0 12 \"\\n\" 1 id \"\"\n",
            "orders.fmt: expected 2 fields, found the end of the file after 1",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 12 \"\\n\" 1 id \"\"",
            "orders.fmt, line 3: expected a line feed behind the last field, found the end of the file",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 12 \"\\n\" 1 id\n",
            "orders.fmt, line 3: expected 8 values (host order, host type, prefix length, data length, terminator, server order, server name, collation), found 7",
        ),
        (
            "7.0\n1\n1 SQLCHAR 0 12 \"\\n\" 1 id \"\"\n",
            "orders.fmt, line 3: expected 7 values (host order, host type, prefix length, data length, terminator, server order, server name), found 8",
        ),
        (
            "14.0\n1\n1 sqlchar 0 12 \"\\n\" 1 id \"\"\n",
            "orders.fmt, line 3: expected a host type such as SQLCHAR or SQLINT (upper case), found \"sqlchar\"",
        ),
        (
            "14.0\n1\n1 SQLCHAR 3 12 \"\\n\" 1 id \"\"\n",
            "orders.fmt, line 3: expected a prefix length of 0, 1, 2, 4 or 8, found \"3\"",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 -1 \"\\n\" 1 id \"\"\n",
            "orders.fmt, line 3: expected a length in bytes, from 0 to 4294967295, found \"-1\"",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 12 '\\n' 1 id \"\"\n",
            "orders.fmt, line 3: expected a terminator in double quotation marks, found \"'\\\\n'\"",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 12 \"\\n 1 id ''\n",
            "orders.fmt, line 3: expected a closing quotation mark, found the end of the line",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 12 \"\\n\" a id \"\"\n",
            "orders.fmt, line 3: expected the number of a server column, or 0, found \"a\"",
        ),
        (
            "14.0\n1\n1 SQLCHAR 0 12 \"\\n\" 1 id Nowhere_CI_AS\n",
            "orders.fmt, line 3: expected a collation of SQL Server, RAW or \"\", found \"Nowhere_CI_AS\"",
        ),
    ] {
        assert_eq!(message(text), expected);
    }
    assert_eq!(
        message(&format!("14.0\n2\n{good}{good}")),
        "orders.fmt, line 4: expected host field 2, found \"1\""
    );
    let swapped = message(&format!("14.0\n2\n2{}{good}", &good[1..]));
    assert_eq!(swapped, "orders.fmt, line 3: expected host field 1, found \"2\"");
    let error = FormatFile::parse(b"14.0\n\xFF\n", "orders.fmt").unwrap_err();
    assert!(error.to_string().starts_with("orders.fmt, line 2: expected the number of fields"), "{error}");
    let error = FormatFile::parse(b"\xFF\xFE\x00\xDC", "orders.fmt").unwrap_err();
    assert_eq!(error.to_string(), "orders.fmt: expected text in UTF-8, found byte 00 at offset 2");
    let error = FormatFile::read(Path::new("no such file.fmt")).unwrap_err();
    assert_eq!(error.to_string(), "no such file.fmt: No such file or directory (os error 2)");
    assert_eq!(
        error.vendor_words().1,
        "Format file could not be opened. Invalid name specified or access denied."
    );
}

#[test]
fn a_field_that_the_table_or_the_encoding_has_not_is_named() {
    let file = parse("14.0\n1\n1 SQLCHAR 0 12 \"\\n\" 6 id \"\"\n").unwrap();
    let error = file.check("orders.fmt", 5).unwrap_err();
    assert_eq!(error.to_string(), "orders.fmt, line 3: expected a server column from 1 to 5, found 6");
    assert_eq!(error.vendor_words(), ("07009", "Invalid Descriptor Index"));
    let file = parse("14.0\n1\n1 SQLNCHAR 0 12 \"\\n\" 1 id \"\"\n").unwrap();
    assert_eq!(
        file.check("orders.fmt", 5).unwrap_err().to_string(),
        "orders.fmt, line 3: field 1: the terminator \"\\n\" of UTF-16 text has an odd number of bytes; is \\0 missing behind each character?"
    );
}

const MUGS_XML: &str = r#"<?xml version="1.0"?>
<BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format"
           xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <RECORD>
    <FIELD ID="f1" xsi:type="CharTerm" TERMINATOR=";" MAX_LENGTH="12"/>
    <FIELD ID="f2" xsi:type="CharTerm" TERMINATOR="&quot;;" MAX_LENGTH="60" COLLATION="Latin1_General_100_CI_AS"/>
    <FIELD ID="noise" xsi:type="NCharTerm" TERMINATOR=";"/>
    <FIELD ID="f4" xsi:type="NativePrefix" PREFIX_LENGTH="1"/>
    <FIELD ID="f5" xsi:type="NativeFixed" LENGTH="3"/>
  </RECORD>
  <!-- the label first -->
  <ROW>
    <COLUMN SOURCE="f2" NAME="Label"   xsi:type="SQLNVARCHAR"/>
    <COLUMN SOURCE="f1" NAME="MugId"   xsi:type="SQLINT" NULLABLE="NO"/>
    <COLUMN SOURCE="f4" NAME="Price"   xsi:type="SQLDECIMAL" PRECISION="9" SCALE="2"/>
    <COLUMN SOURCE="f5" NAME="FiredOn" xsi:type="SQLDATE"/>
  </ROW>
</BCPFORMAT>
"#;

#[test]
fn xml_is_read_with_skipped_and_reordered_fields() {
    let file = parse(MUGS_XML).unwrap();
    let fields: Vec<String> = file.fields.iter().map(spelled).collect();
    assert_eq!(
        fields,
        [
            "SQLCHAR 0 12 \";\" 2",
            "SQLCHAR 0 60 \"\\\";\" 1",
            "SQLNCHAR 0 0 \";\\0\" -",
            "SQLDECIMAL 1 0 \"\" 3",
            "SQLDATE 0 3 \"\" 4"
        ]
    );
    let rowset = file.rowset.unwrap();
    let columns: Vec<String> = rowset
        .iter()
        .map(|column| format!("{} {} {} {}", column.field, column.name, column.sql_type, column.nullable))
        .collect();
    assert_eq!(
        columns,
        [
            "1 Label nvarchar(60) true",
            "0 MugId int false",
            "3 Price decimal(9, 2) true",
            "4 FiredOn date true"
        ]
    );
}

#[test]
fn xml_is_written_as_bcp_writes_it_and_reads_back() {
    let expected = r#"<?xml version="1.0"?>
<BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
 <RECORD>
  <FIELD ID="1" xsi:type="CharTerm" TERMINATOR="\t" MAX_LENGTH="12"/>
  <FIELD ID="2" xsi:type="CharTerm" TERMINATOR="\t" MAX_LENGTH="60" COLLATION="Latin1_General_100_CI_AS"/>
  <FIELD ID="3" xsi:type="CharTerm" TERMINATOR="\t" MAX_LENGTH="12" COLLATION="Latin1_General_100_CI_AS"/>
  <FIELD ID="4" xsi:type="CharTerm" TERMINATOR="\t" MAX_LENGTH="41"/>
  <FIELD ID="5" xsi:type="CharTerm" TERMINATOR="\n" MAX_LENGTH="11"/>
 </RECORD>
 <ROW>
  <COLUMN SOURCE="1" NAME="MugId" xsi:type="SQLINT"/>
  <COLUMN SOURCE="2" NAME="Label" xsi:type="SQLNVARCHAR"/>
  <COLUMN SOURCE="3" NAME="Glaze" xsi:type="SQLVARYCHAR"/>
  <COLUMN SOURCE="4" NAME="Price" xsi:type="SQLDECIMAL" PRECISION="9" SCALE="2"/>
  <COLUMN SOURCE="5" NAME="FiredOn" xsi:type="SQLDATE"/>
 </ROW>
</BCPFORMAT>
"#;
    let columns = mugs();
    let layout = FormatFile::for_columns(&columns, DataMode::Character, &LayoutOptions::default());
    assert_eq!(layout.to_xml(&columns).unwrap(), expected);
    for mode in [DataMode::Character, DataMode::UnicodeCharacter, DataMode::Native, DataMode::UnicodeNative] {
        let layout = FormatFile::for_columns(&columns, mode, &LayoutOptions::default());
        let read = parse(&layout.to_xml(&columns).unwrap()).unwrap();
        for (read, written) in read.fields.iter().zip(&layout.fields) {
            // A fixed type's length goes without saying behind a prefix.
            let mut read = read.clone();
            if written.host_type.size_bytes().is_some() {
                read.length = written.length;
            }
            assert_eq!(read, *written, "{mode:?}");
        }
    }
}

#[test]
fn xml_that_is_no_format_file_is_refused_where_it_is_wrong() {
    let expect = |change: (&str, &str), expected: &str| {
        let text = MUGS_XML.replacen(change.0, change.1, 1);
        assert_ne!(text, MUGS_XML);
        assert_eq!(message(&text), expected);
    };
    expect(
        ("http://schemas.microsoft", "https://schemas.microsoft"),
        "orders.fmt, line 3: expected the namespace http://schemas.microsoft.com/sqlserver/2004/bulkload/format, found https://schemas.microsoft.com/sqlserver/2004/bulkload/format",
    );
    expect(("<RECORD>", "<RECORDS>"), "orders.fmt, line 4: expected RECORD or ROW, found <RECORDS>");
    expect(
        ("CharTerm", "CharEnd"),
        "orders.fmt, line 5: expected NativeFixed, NativePrefix, CharFixed, CharPrefix, CharTerm, NCharFixed, NCharPrefix or NCharTerm as the type of a field, found \"CharEnd\"",
    );
    expect((" TERMINATOR=\";\"", ""), "orders.fmt, line 5: expected the attribute TERMINATOR, found none");
    expect(
        ("MAX_LENGTH=\"12\"", "MAX_LENGTH=\"12b\""),
        "orders.fmt, line 5: expected a number as MAX_LENGTH, found \"12b\"",
    );
    expect(
        ("MAX_LENGTH=\"12\"", "LENGTH=\"12\""),
        "orders.fmt, line 5: expected an attribute of FIELD, found LENGTH",
    );
    expect(
        ("PREFIX_LENGTH=\"1\"", "PREFIX_LENGTH=\"3\""),
        "orders.fmt, line 8: expected a PREFIX_LENGTH of 1, 2, 4 or 8, found \"3\"",
    );
    expect(
        ("ID=\"f5\"", "ID=\"f4\""),
        "orders.fmt, line 9: expected a field ID of its own, found ID \"f4\" a second time",
    );
    expect(
        ("SOURCE=\"f1\"", "SOURCE=\"f2\""),
        "orders.fmt, line 14: expected each field as the source of one column, found SOURCE \"f2\" a second time",
    );
    expect(
        ("SOURCE=\"f1\"", "SOURCE=\"f9\""),
        "orders.fmt, line 18: expected the ID of a field as the source of column 2, found \"f9\"",
    );
    expect(
        ("\"SQLINT\"", "\"INT\""),
        "orders.fmt, line 18: expected a column type such as SQLINT or SQLVARYCHAR, found \"INT\"",
    );
    expect(
        ("NULLABLE=\"NO\"", "NULLABLE=\"MAYBE\""),
        "orders.fmt, line 14: expected NULLABLE as YES or NO, found \"MAYBE\"",
    );
    expect(("<ROW>", "<ROW>label"), "orders.fmt, line 13: expected elements only, found the text \"label\"");
    expect(
        ("<BCPFORMAT", "<!DOCTYPE x><BCPFORMAT"),
        "orders.fmt, line 2: expected no document type definition, found <!DOCTYPE",
    );
    assert!(message("<BCPFORMAT").starts_with("orders.fmt, line 1: expected well-formed XML, found "));
    assert_eq!(
        message("<?xml version=\"1.0\"?>\n"),
        "orders.fmt, line 1: expected one RECORD and one ROW, found 0 and 0"
    );
}
