//! Values that are odd, and that the vendor's library loads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arrow::array::Array;
use arrow::util::display::array_value_to_string;
use formats::bcp::{FormatFile, HostReadOptions, HostReader, Tolerance, declare};

/// The value of one field, or why its row is refused: state and words of the vendor's library.
fn read(columns: &str, field: &str, bytes: &[u8], tolerance: Tolerance) -> String {
    let columns = declare(columns).unwrap();
    let layout = FormatFile::parse(format!("14.0\n1\n1 {field} 1 a \"\"\n").as_bytes(), "f.fmt").unwrap();
    let options = HostReadOptions { tolerance, ..HostReadOptions::default() };
    let input = std::io::Cursor::new(bytes.to_vec());
    let reader = HostReader::new(input, "file", &layout, &columns, &options).unwrap();
    let mut shown = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        for row in 0..batch.batch.num_rows() {
            let column = batch.batch.column(0);
            shown.push(match column.is_null(row) {
                true => "NULL".to_owned(),
                false => array_value_to_string(column, row).unwrap(),
            });
        }
        shown.extend(batch.rejected.iter().map(|row| {
            let (state, words) = row.reason.vendor_words();
            format!("{state} {words}")
        }));
    }
    shown.join("; ")
}

fn decimal(precision: u8, scale: u8, sign: u8, magnitude: u32) -> Vec<u8> {
    [&[19, precision, scale, sign][..], &magnitude.to_le_bytes(), &[0; 12]].concat()
}

#[test]
fn odd_values_load_as_the_original_loads_them() {
    const INT: &str = "SQLINT 1 4 \"\"";
    const DECIMAL: &str = "SQLDECIMAL 1 19 \"\"";
    for (columns, field, bytes, value) in [
        ("a int null", "SQLCHAR 0 12 \"\\n\"", b" \n".to_vec(), "NULL"),
        ("a bigint null", "SQLCHAR 0 12 \"\\n\"", b"    \n".to_vec(), "NULL"),
        ("a int null", INT, vec![0], "0"),
        ("a int null", INT, vec![2, 7, 0], "7"),
        ("a float null", "SQLFLT8 1 8 \"\"", vec![0], "0.0"),
        ("a decimal(5,2) null", DECIMAL, decimal(5, 3, 1, 1505), "1.50"),
        ("a decimal(5,2) null", DECIMAL, decimal(5, 3, 0, 1505), "-1.50"),
        ("a decimal(5,2) null", DECIMAL, decimal(5, 2, 2, 150), "-1.50"),
        ("a decimal(5,2) null", DECIMAL, decimal(0, 2, 1, 150), "1.50"),
        ("a decimal(5,2) null", DECIMAL, decimal(39, 2, 1, 150), "1.50"),
    ] {
        assert_eq!(read(columns, field, &bytes, Tolerance::vendor()), value, "{columns} {bytes:?}");
        let strict = read(columns, field, &bytes, Tolerance::strict());
        assert!(strict.len() > 8, "{columns} {bytes:?}: {strict}");
    }
    // Exact, and so nothing odd.
    assert_eq!(read("a decimal(5,2) null", DECIMAL, &decimal(9, 1, 1, 15), Tolerance::strict()), "1.50");
}

#[test]
fn refusals_have_the_original_s_words() {
    let before_1753 = [&(-60_000_i32).to_le_bytes()[..], &[0; 4]].concat();
    let midnight = 864_000_000_000_u64.to_le_bytes();
    for (columns, field, bytes, words) in [
        ("a datetime not null", "SQLDATETIME 0 8 \"\"", before_1753, "22008 Datetime field overflow"),
        ("a time(7) not null", "SQLTIME 0 5 \"\"", midnight[..5].to_vec(), "22007 Invalid time format"),
    ] {
        assert_eq!(read(columns, field, &bytes, Tolerance::vendor()), words);
    }
}
