//! Host files into the other formats and back, without a server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use formats::bcp::{DataMode, FixedWidth, FormatFile, HostFormat, LayoutOptions, RejectedRow, declare};
use formats::{
    Compression, ConvertOptions, Converted, CsvOptions, FileSpec, Format, FormatError, IpcOptions, Location,
    ParquetOptions, convert,
};
use tds::Column;

fn file(path: &Path, format: Format, compression: Compression) -> FileSpec {
    FileSpec { location: Location::Path(path.to_owned()), format, compression }
}

fn host(columns: &[Column], mode: DataMode) -> Format {
    Format::Host(Box::new(HostFormat::for_columns(columns.to_vec(), mode, &LayoutOptions::default())))
}

fn run(source: &FileSpec, target: &FileSpec) -> Converted {
    convert(source, target, &ConvertOptions::default(), None).unwrap()
}

const EVERY_TYPE: &str = "id int not null, b bit, t tinyint, s smallint, g bigint not null, r real, f float, \
    d decimal(18,4), m money, sm smallmoney, da date, ti time(3), dt datetime, sd smalldatetime, d2 datetime2(7), \
    d0 datetime2(0), dto datetimeoffset(7), u uniqueidentifier, c char(4), v varchar(30), n nvarchar(30), \
    vb varbinary(8), vm varchar(max), nm nvarchar(max), x xml";

/// Three rows of every type as `bcp -c` has them: values, the least values, NULL.
fn every_type() -> String {
    let rows = [
        "1,1,200,-5,9000000000,1.5,0.10000000000000001,12345.6700,1234.5678,-2.5000,2026-03-14,09:30:15.250,\
         2026-03-14 09:30:15.250,2026-03-14 09:30:00,2026-03-14 09:30:15.1234567,2026-03-14 09:30:15,\
         2026-03-14 09:30:15.1234567 +02:00,01234567-89AB-CDEF-0123-456789ABCDEF,ab  ,hé,日本,0102,long,länger,<a/>",
        "2,0,0,-32768,-9223372036854775808,-0.5,-1.7976931348623157E+308,-99999999999999.9999,-.0100,.0000,\
         1700-01-01,00:00:00.000,1753-01-01 00:00:00.000,1900-01-01 00:00:00,1753-01-01 00:00:00.0000000,\
         0001-01-01 00:00:00,2026-03-14 23:30:00.0000000 -14:00,00000000-0000-0000-0000-000000000000,    ,\0,\0,\0,\0,\0,<e/>",
        "3,,,,0,,,,,,,,,,,,,,,,,,,,",
    ];
    rows.map(|row| row.replace(',', "\t") + "\n").concat()
}

/// A folder that goes with the test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn every_type_goes_through_every_format_and_comes_back_identical() {
    let folder = folder();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let columns = declare(EVERY_TYPE).unwrap();
    fs::write(at("text.dat"), every_type()).unwrap();
    let text = file(&at("text.dat"), host(&columns, DataMode::Character), Compression::None);
    let others = [
        ("native.dat", host(&columns, DataMode::Native), Compression::None),
        ("unicode.dat", host(&columns, DataMode::UnicodeCharacter), Compression::Gzip),
        ("both.dat", host(&columns, DataMode::UnicodeNative), Compression::Zstd),
        ("table.arrow", Format::ArrowIpc(IpcOptions::default()), Compression::None),
        ("table.csv", Format::Csv(CsvOptions::default()), Compression::None),
    ];
    let mut source = text.clone();
    for (name, format, compression) in others {
        let target = file(&at(name), format, compression);
        // A CSV does not remember types, nor a char's blanks in front of others' rules.
        let converted = run(&source, &target);
        assert_eq!(converted.rows, 3, "{name}");
        let back = file(&at("back.dat"), text.format.clone(), Compression::None);
        assert_eq!(run(&target, &back).rows, 3, "{name}");
        assert_eq!(fs::read_to_string(at("back.dat")).unwrap(), every_type(), "{name}");
        source = target;
    }
}

#[test]
fn a_native_file_to_parquet_and_back_is_identical() {
    let folder = folder();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let columns = declare(
        "id int not null, b bit, g bigint, f float, d decimal(38,10), m money, da date, ti time(7), dt datetime, \
         d2 datetime2(7), dto datetimeoffset(7), u uniqueidentifier, v varchar(30), n nvarchar(max), vb varbinary(max)",
    )
    .unwrap();
    let mut text = String::new();
    for row in 0..5000 {
        let null = |value: String| if row % 7 == 3 { String::new() } else { value };
        let cells = [
            row.to_string(),
            null((row % 2).to_string()),
            null((row * 1_000_000_007_i64).to_string()),
            null(format!("{:?}", row as f64 / 8.0)),
            null(format!("{row}.{:010}", row * 13)),
            null(format!("{row}.0100")),
            null(format!("20{:02}-01-31", row % 100)),
            null(format!("{:02}:00:00.{:07}", row % 24, row)),
            null(format!("20{:02}-02-01 10:00:00.003", row % 100)),
            null(format!("20{:02}-02-01 10:00:00.{:07}", row % 100, row)),
            null(format!("20{:02}-02-01 10:00:00.{:07} -08:30", row % 100, row)),
            null(format!("01234567-89AB-CDEF-0123-{row:012}")),
            null(format!("text {row}")),
            null("x".repeat(row as usize % 50 + 1)),
            null(format!("{row:06}")),
        ];
        text += &(cells.join("\t") + "\n");
    }
    fs::write(at("text.dat"), &text).unwrap();
    let source = file(&at("text.dat"), host(&columns, DataMode::Character), Compression::None);
    let native = file(&at("native.dat"), host(&columns, DataMode::Native), Compression::None);
    let parquet = file(&at("t.parquet"), Format::Parquet(ParquetOptions::default()), Compression::None);
    let again = file(&at("again.dat"), native.format.clone(), Compression::None);
    assert_eq!(run(&source, &native).rows, 5000);
    assert_eq!(run(&native, &parquet).rows, 5000);
    assert_eq!(run(&parquet, &again).rows, 5000);
    assert!(fs::read(at("native.dat")).unwrap() == fs::read(at("again.dat")).unwrap());
}

const FIXED: &str = "14.0\n4\n\
    1 SQLCHAR 0 5 \"\" 1 id \"\"\n\
    2 SQLCHAR 0 8 \"\" 2 name \"\"\n\
    3 SQLCHAR 0 10 \"\" 3 day \"\"\n\
    4 SQLCHAR 0 0 \"\\r\\n\" 0 end \"\"\n";

fn fixed(columns: &str) -> HostFormat {
    let format_file = FormatFile::parse(FIXED.as_bytes(), "fixed.fmt").unwrap();
    HostFormat { columns: declare(columns).unwrap(), ..HostFormat::from_format_file(format_file).unwrap() }
}

#[test]
fn fixed_widths_are_padded_trimmed_and_held() {
    let folder = folder();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let lines = "1    ab      2026-03-14\r\n20   \u{e9}               \r\n";
    fs::write(at("fixed.txt"), lines).unwrap();
    let mut format = fixed("id int not null, name varchar(8), day date");
    format.read.blank_is_null = true;
    let source = file(&at("fixed.txt"), Format::Host(Box::new(format.clone())), Compression::None);
    let csv = file(&at("t.csv"), Format::Csv(CsvOptions::default()), Compression::None);
    let error = convert(&source, &csv, &ConvertOptions::default(), None).unwrap_err().to_string();
    // A byte short, as when widths were counted in characters.
    assert_eq!(
        error,
        format!(
            "{}, row 2, byte 25, column \"day\": not a value of type date (value \"         \\r\")",
            at("fixed.txt").display()
        )
    );
    fs::write(at("fixed.txt"), lines.replace("\u{e9}", "\u{e9} ")).unwrap();
    assert_eq!(run(&source, &csv).rows, 2);
    assert_eq!(fs::read_to_string(at("t.csv")).unwrap(), "id,name,day\n1,ab,2026-03-14\n20,\u{e9},\n");
    let back = file(&at("back.txt"), Format::Host(Box::new(format.clone())), Compression::None);
    assert_eq!(run(&csv, &back).rows, 2);
    assert_eq!(fs::read(at("back.txt")).unwrap(), fs::read(at("fixed.txt")).unwrap());

    let narrow = "id,name,day\n123456,ab,2026-03-14\n";
    fs::write(at("wide.csv"), narrow).unwrap();
    let wide = file(&at("wide.csv"), Format::Csv(CsvOptions::default()), Compression::None);
    let refused = convert(&wide, &back, &ConvertOptions::default(), None).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "{}, row 1, column \"id\": the value takes 6 bytes where the field has 5",
            at("back.txt").display()
        )
    );
    format.write.fixed_width = FixedWidth::Cut;
    let cut = file(&at("cut.txt"), Format::Host(Box::new(format)), Compression::None);
    assert_eq!(run(&wide, &cut).rows, 1);
    assert_eq!(fs::read_to_string(at("cut.txt")).unwrap(), "12345ab      2026-03-14\r\n");
}

#[test]
fn rows_that_do_not_load_are_handed_over() {
    let folder = folder();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let columns = declare("id int not null, v varchar(3)").unwrap();
    fs::write(at("in.dat"), "1\tabc\nx\tabc\n3\tabcd\n4\t\n").unwrap();
    let source = file(&at("in.dat"), host(&columns, DataMode::Character), Compression::None);
    let target = file(&at("out.csv"), Format::Csv(CsvOptions::default()), Compression::None);
    let mut rejected = Vec::new();
    let mut collect = |row: RejectedRow| -> Result<(), FormatError> {
        rejected.push((row.row, row.byte_offset, row.column, row.value, row.reason.to_string()));
        Ok(())
    };
    let converted = convert(&source, &target, &ConvertOptions::default(), Some(&mut collect)).unwrap();
    assert_eq!(converted.rows, 2);
    let owned = |row, byte, column: &str, value: &str, reason: &str| {
        (row, byte, column.to_owned(), value.to_owned(), reason.to_owned())
    };
    assert_eq!(
        rejected,
        [
            owned(2, 6, "id", "x", "not a value of type int"),
            owned(3, 12, "v", "abcd", "too long for varchar(3)")
        ]
    );
    assert_eq!(fs::read_to_string(at("out.csv")).unwrap(), "id,v\n1,abc\n4,\n");
}
