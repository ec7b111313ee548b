//! Spliced rows are byte by byte what decoding and encoding them would send, whatever the answer looks like and however it is cut.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use arrow::datatypes::{DataType, Field, Schema};
use proptest::prelude::*;
use rows::{
    CastOptions, Decoder, Form, Mapping, Plan, RowDecodeErrorReason as Reason, Splice, Unspliced, is_spliced,
};
use tds::{Collation, Column, LengthClass};

/// Data of cells by type, without the length in front; decimals without sign and zeros behind.
const DATA: &str = "
    bit | 00 01
    tinyint | 00 ff
    smallint | 0080 ff7f
    int | 00000080 ffffff7f
    bigint | 0000000000000080 ffffffffffffff7f
    real | 0000c03f ffff7f7f
    float | 000000000000f03f ffffffffffffef7f
    smallmoney | 00000080 ffffff7f
    money | 0000008000000000 ffffff7fffffffff
    smalldatetime | 00000000 ffff9f05
    datetime | 462effff00000000 7f242d00ff818b01
    date | 000000 dab937
    time(0) | 000000 7f5101
    time(3) | 00000000 ff5b2605
    time(7) | 0000000000 ffbf692ac9
    datetime2(0) | 000000000000 7f5101dab937
    datetime2(3) | 00000000000000 ff5b2605dab937
    datetime2(7) | 0000000000000000 ffbf692ac9dab937
    datetimeoffset(0) | 0000003af90a3c00 7f5101d9b937b8fc
    datetimeoffset(7) | 01000000003af90a4803
    decimal(9,2) | 01ffc99a3b 00ffc99a3b 0107
    decimal(18,4) | 01ffff63a7b3b6e00d 0109
    numeric(28,0) | 0101 0001
    decimal(38,10) | 01ffffffff3f228a097ac4865aa84c3b4b 0102
    char(3) | 412020 fc4142
    varchar(5) | - 41424344fc
    nchar(2) | 41002000
    nvarchar(5) | - 3dd800de 41004200430044004500
    varbinary(4) | - 01020304
    binary(2) | abcd
    nvarchar(max) | - 4100 410042004300440045004600
    varchar(max) | - 41 4142434445464748494afc
    varbinary(max) | - d1 d2d1ff000102030405060708
    xml | 3c0061002f003e00 fffe3c0061002f003e00
    text | - 41fc42
    ntext | - 41004200
    image | - 00d1ff
    uniqueidentifier | 33221100554477668899aabbccddeeff
    rowversion | 00000000000007d1
    sql_variant | 380007000000 e7070904d00034401f410042003d00
    vector(2) | a9010200000000000000803fffff7fff
";

struct Kind {
    sql_type: &'static str,
    data: Vec<Vec<u8>>,
}

fn kinds() -> Vec<Kind> {
    let bytes = |hex: &str| -> Vec<u8> {
        let hex = hex.trim_start_matches('-');
        assert!(hex.len().is_multiple_of(2), "{hex}");
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    DATA.lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(sql_type, data)| Kind {
            sql_type: sql_type.trim(),
            data: data.split_whitespace().map(bytes).collect(),
        })
        .collect()
}

/// A column of the source and its target.
#[derive(Debug, Clone)]
struct Pair {
    kind: usize,
    is_nullable: bool,
    target_is_nullable: bool,
}

fn column(name: &str, sql_type: &str, is_nullable: bool) -> Column {
    let collation = Some(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    Column::new(name, sql_type.parse().unwrap(), is_nullable, collation)
}

fn source_of(pairs: &[Pair], kinds: &[Kind]) -> Vec<Column> {
    let named = pairs.iter().enumerate();
    named
        .map(|(index, pair)| column(&format!("c{index}"), kinds[pair.kind].sql_type, pair.is_nullable))
        .collect()
}

fn targets_of(pairs: &[Pair], kinds: &[Kind]) -> Vec<Column> {
    let named = pairs.iter().enumerate();
    named
        .map(|(index, pair)| {
            // No table takes rowversions.
            let sql_type = match kinds[pair.kind].sql_type {
                "rowversion" => "binary(8)",
                sql_type => sql_type,
            };
            column(&format!("c{index}"), sql_type, pair.target_is_nullable)
        })
        .collect()
}

/// Appends the cell of a value in one of the forms that servers choose from.
fn cell(column: &Column, data: &[u8], form: u8, out: &mut Vec<u8>) {
    match column.type_info.length_class() {
        LengthClass::Fixed(_) => out.extend(data),
        LengthClass::ByteLen if column.sql_type().is_decimal() => {
            let least = column.sql_type().max_length_bytes().unwrap() as usize;
            // The length of the precision, or that of the largest.
            let length = if form.is_multiple_of(2) { least } else { 17 };
            out.push(length as u8);
            out.extend(data);
            out.resize(out.len() + length - data.len(), 0);
        }
        LengthClass::ByteLen => {
            out.push(data.len() as u8);
            out.extend(data);
        }
        LengthClass::UShortLen => {
            out.extend((data.len() as u16).to_le_bytes());
            out.extend(data);
        }
        LengthClass::Plp => {
            let total = if form.is_multiple_of(2) { data.len() as u64 } else { u64::MAX - 1 };
            out.extend(total.to_le_bytes());
            for chunk in data.chunks(match form % 3 {
                0 => data.len().max(1),
                1 => 3,
                _ => 8,
            }) {
                out.extend((chunk.len() as u32).to_le_bytes());
                out.extend(chunk);
            }
            out.extend([0; 4]);
        }
        LengthClass::LongLen => {
            let pointer = if form.is_multiple_of(2) { 16 } else { 3 };
            out.push(pointer);
            out.extend(vec![0xd1; usize::from(pointer) + 8]);
            out.extend((data.len() as u32).to_le_bytes());
            out.extend(data);
        }
        LengthClass::Variant => {
            out.extend((data.len() as u32).to_le_bytes());
            out.extend(data);
        }
    }
}

fn null(column: &Column, out: &mut Vec<u8>) {
    match column.type_info.length_class() {
        LengthClass::Fixed(_) => panic!("a fixed column has no NULL"),
        LengthClass::ByteLen | LengthClass::LongLen => out.push(0),
        LengthClass::UShortLen => out.extend([0xff; 2]),
        LengthClass::Plp => out.extend([0xff; 8]),
        LengthClass::Variant => out.extend([0; 4]),
    }
}

/// What a cell of an answer is: its value, or NULL, and the form that the server gives it.
type Choice = (u8, u8);

/// Writes a row; an odd `bitmap` makes it an NBCROW.
fn row(
    kinds: &[Kind],
    pairs: &[Pair],
    columns: &[Column],
    choices: &[Choice],
    bitmap: u8,
    out: &mut Vec<u8>,
) {
    let has_bitmap = bitmap % 2 == 1;
    out.push(if has_bitmap { 0xd2 } else { 0xd1 });
    let is_null = |index: usize| pairs[index].is_nullable && choices[index].0.is_multiple_of(3);
    if has_bitmap {
        let mut bits = vec![0u8; pairs.len().div_ceil(8)];
        for index in (0..pairs.len()).filter(|index| is_null(*index)) {
            bits[index / 8] |= 1 << (index % 8);
        }
        out.extend(bits);
    }
    for (index, column) in columns.iter().enumerate() {
        let data = &kinds[pairs[index].kind].data;
        match is_null(index) {
            true if has_bitmap => {}
            true => null(column, out),
            false => {
                cell(column, &data[usize::from(choices[index].0) % data.len()], choices[index].1, out);
            }
        }
    }
}

/// A schema as a copy shows it to a plan: rowversions are bytes.
fn shown(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::UInt64 => Field::new(field.name(), DataType::FixedSizeBinary(8), field.is_nullable()),
        _ => field.as_ref().clone(),
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Decodes and encodes, with rowversions as their bytes.
fn sent_by_decoding(source: &[Column], targets: &[Column], bytes: &[u8]) -> (Plan, Vec<u8>) {
    let as_bytes: Vec<Column> = source
        .iter()
        .map(|column| match column.sql_type() {
            tds::SqlType::RowVersion => self::column(&column.name, "binary(8)", column.flags.is_nullable()),
            _ => column.clone(),
        })
        .collect();
    let mut decoder = Decoder::new(&as_bytes, Form::Exact).unwrap();
    assert_eq!(decoder.decode(bytes).unwrap(), bytes.len());
    let batch = decoder.take_batch().unwrap();
    let plan = Plan::new(&batch.schema(), targets, &Mapping::ByName, CastOptions::default()).unwrap();
    let bound = plan.bind(&batch, 0).unwrap();
    let mut sent = Vec::new();
    bound.encode(0..batch.num_rows(), &mut sent);
    (plan, sent)
}

/// Splices an answer that arrives in pieces of these lengths, in batches of some rows.
fn sent_by_splicing(
    splice: &Splice,
    plan: &Plan,
    source: &[Column],
    bytes: &[u8],
    pieces: &[usize],
    batch_rows: usize,
) -> (Vec<u8>, Vec<usize>) {
    let plan = plan.spliced();
    let mut splicer = splice.splicer(source).unwrap().with_batch_rows(batch_rows);
    let (mut at, mut seen) = (0, 0);
    let mut pieces = pieces.iter().cycle();
    let (mut sent, mut rows) = (Vec::new(), Vec::new());
    loop {
        let taken = splicer.splice(&bytes[at..seen]).unwrap();
        at += taken;
        let is_over = at == bytes.len();
        if splicer.is_full() || is_over {
            let batch = splicer.take_batch().unwrap();
            assert!(is_spliced(&batch));
            assert!(batch.num_rows() <= batch_rows);
            let bound = plan.bind(&batch, 0).unwrap();
            // Any part of the rows is the bytes of that part.
            let half = batch.num_rows() / 2;
            for part in [0..half, half..batch.num_rows()] {
                let before = sent.len();
                bound.encode(part.clone(), &mut sent);
                assert_eq!(bound.encoded_len(part.clone()), sent.len() - before);
                assert_eq!(bound.shared(part).unwrap().as_slice(), &sent[before..]);
            }
            rows.push(batch.num_rows());
            if is_over {
                return (sent, rows);
            }
        } else if taken == 0 {
            assert!(seen < bytes.len(), "the splicer wants more than there is");
            seen = (seen + pieces.next().unwrap()).min(bytes.len());
        }
    }
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let count = kinds().len();
    let pair = (0..count, any::<bool>(), any::<bool>()).prop_map(|(kind, is_nullable, target)| Pair {
        kind,
        is_nullable,
        target_is_nullable: target || is_nullable,
    });
    proptest::collection::vec(pair, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn spliced_rows_are_what_decoding_sends(
        pairs in pairs(),
        rows in proptest::collection::vec((proptest::collection::vec(any::<Choice>(), 20), any::<u8>()), 1..12),
        pieces in proptest::collection::vec(1..90_usize, 1..6),
        batch_rows in 1..8_usize,
    ) {
        let kinds = kinds();
        let (source, targets) = (source_of(&pairs, &kinds), targets_of(&pairs, &kinds));
        let mut bytes = Vec::new();
        for (choices, bitmap) in &rows {
            row(&kinds, &pairs, &source, choices, *bitmap, &mut bytes);
        }
        let (plan, wanted) = sent_by_decoding(&source, &targets, &bytes);
        let splice = Splice::new(&plan, &source).unwrap();
        prop_assert_eq!(splice.column_count(), pairs.len());
        let (sent, counts) = sent_by_splicing(&splice, &plan, &source, &bytes, &pieces, batch_rows);
        prop_assert_eq!(sent, wanted);
        prop_assert_eq!(counts.iter().sum::<usize>(), rows.len());
    }

    #[test]
    fn damaged_rows_are_an_error_or_rows_of_the_same_form(
        pairs in pairs(),
        rows in proptest::collection::vec((proptest::collection::vec(any::<Choice>(), 20), any::<u8>()), 1..6),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let kinds = kinds();
        let (source, targets) = (source_of(&pairs, &kinds), targets_of(&pairs, &kinds));
        let mut bytes = Vec::new();
        for (choices, bitmap) in &rows {
            row(&kinds, &pairs, &source, choices, *bitmap, &mut bytes);
        }
        let schema = Decoder::new(&source, Form::Exact).unwrap().schema();
        let plan = Plan::new(&shown(&schema), &targets, &Mapping::ByName, CastOptions::default()).unwrap();
        let splice = Splice::new(&plan, &source).unwrap();
        for (place, byte) in &damage {
            let at = place.index(bytes.len());
            bytes[at] = *byte;
        }
        let mut splicer = splice.splicer(&source).unwrap();
        let spliced = splicer.splice(&bytes);
        if let Err(error) = &spliced {
            prop_assert!(source.iter().any(|column| column.name == error.column), "{error}");
            prop_assert_eq!(splicer.splice(&bytes).unwrap_err(), error.clone());
        } else {
            // What passed are whole rows of the load: a walk over them finds as many.
            let batch = splicer.take_batch().unwrap();
            let plan = plan.spliced();
            let mut sent = Vec::new();
            plan.bind(&batch, 0).unwrap().encode(0..batch.num_rows(), &mut sent);
            let span = tds::row_span::RowLayout::new(plan.columns()).complete_rows(&sent).unwrap();
            prop_assert_eq!((span.rows as usize, span.bytes), (batch.num_rows(), sent.len()));
        }
    }
}

fn planned(source: &[Column], targets: &[Column], mapping: &Mapping, options: CastOptions) -> Plan {
    let schema = Decoder::new(source, Form::Exact).unwrap().schema();
    Plan::new(&schema, targets, mapping, options).unwrap()
}

fn refused(source: &[Column], targets: &[Column], options: CastOptions) -> Vec<String> {
    let plan = planned(source, targets, &Mapping::ByName, options);
    let reasons: Vec<Unspliced> = Splice::new(&plan, source).unwrap_err();
    reasons.iter().map(ToString::to_string).collect()
}

#[test]
fn columns_that_cannot_pass_are_named_with_their_reasons() {
    let source = [column("a", "int", true), column("b", "varchar(20)", true), column("c", "bit", false)];
    let targets = [column("a", "bigint", true), column("b", "varchar(10)", true), column("c", "bit", false)];
    assert_eq!(
        refused(&source, &targets, CastOptions::default()),
        ["a: int is to become bigint", "b: varchar(20) is to become varchar(10)"]
    );
    let greek = Collation::from_bytes([0x08, 0x04, 0xd0, 0x00, 0x00]);
    let greek = Column::new("b", "varchar(20)".parse().unwrap(), true, Some(greek));
    assert_eq!(
        refused(&source[1..2], &[greek], CastOptions::default()),
        ["b: its text is in code page 1252, the target's in 1253"]
    );
    assert_eq!(
        refused(&source[..1], &[column("a", "int", false)], CastOptions::default()),
        ["a: the target takes no NULL, and the source may have one"]
    );
    let options = CastOptions { empty_as_null: true, ..CastOptions::default() };
    assert_eq!(refused(&source[1..2], &source[1..2], options), ["b: empty text is to become NULL"]);
    assert_eq!(
        refused(&[column("j", "json", true)], &[column("j", "json", true)], CastOptions::default()),
        ["j: json is to become json"]
    );
}

#[test]
fn columns_in_another_order_and_columns_left_out_pass() {
    let source = [column("a", "int", true), column("b", "varchar(5)", true), column("c", "smallint", false)];
    let targets = [column("c", "smallint", true), column("a", "int", true)];
    let pairs = ["c", "a"].map(|name| (name.to_owned(), name.to_owned()));
    let plan = planned(&source, &targets, &Mapping::Explicit(pairs.to_vec()), CastOptions::default());
    let splice = Splice::new(&plan, &source).unwrap();
    let bytes = [0xd1, 4, 1, 0, 0, 0, 1, 0, b'x', 7, 0, 0xd2, 0b011, 8, 0];
    let (sent, rows) = sent_by_splicing(&splice, &plan, &source, &bytes, &[bytes.len()], 10);
    assert_eq!(sent, [0xd1, 2, 7, 0, 4, 1, 0, 0, 0, 0xd1, 2, 8, 0, 0]);
    assert_eq!(rows, [2]);
}

/// Splices one good row and then `bad`, and returns the row and the column of the error and its reason.
fn fault(source: &[Column], good: &[u8], bad: &[u8]) -> (u64, String, Reason) {
    let plan = planned(source, source, &Mapping::ByName, CastOptions::default());
    let mut splicer = Splice::new(&plan, source).unwrap().splicer(source).unwrap();
    let error = splicer.splice(&[good, bad].concat()).unwrap_err();
    (error.row, error.column, error.reason)
}

#[test]
fn lengths_that_lie_are_an_error_with_row_and_column() {
    let length = |length, expected| Reason::Length { length, expected };
    let source = [column("a", "int", true), column("b", "varchar(5)", true)];
    let good = [0xd1, 4, 1, 0, 0, 0, 1, 0, b'x'];
    let cases: [(&[u8], &str, Reason); 2] = [
        (&[0xd1, 3, 1, 0, 0, 1, 0, b'x', 0], "a", length(3, "int")),
        (&[0xd1, 0, 6, 0, 1, 2, 3, 4, 5, 6], "b", Reason::TooLong { length: 6, limit: 5 }),
    ];
    for (bad, column, reason) in cases {
        assert_eq!(fault(&source, &good, bad), (1, column.to_owned(), reason));
    }
    // NULL where the source says that there is none, in both kinds of rows.
    let source = [column("d", "date", false)];
    for bad in [&[0xd1, 0][..], &[0xd2, 1]] {
        assert_eq!(fault(&source, &[0xd1, 3, 1, 0, 0], bad), (1, "d".to_owned(), Reason::UnexpectedNull));
    }
    let source = [column("n", "nvarchar(max)", true)];
    let good: &[u8] = &[&[0xd1][..], &[0xff; 8]].concat();
    let chunks = |total: u64, lengths: &[u8]| {
        let mut bytes = vec![0xd1];
        bytes.extend(total.to_le_bytes());
        for length in lengths {
            bytes.extend(u32::from(*length).to_le_bytes());
            bytes.extend(vec![b'x'; usize::from(*length)]);
        }
        bytes.extend([0; 4]);
        bytes
    };
    let fault_of = |bad: &[u8]| fault(&source, good, bad).2;
    assert_eq!(fault_of(&chunks(4, &[2])), Reason::ChunkTotal { announced: 4, found: 2 });
    assert_eq!(fault_of(&chunks(3, &[3])), Reason::OddUtf16 { length: 3 });
    assert_eq!(fault_of(&chunks(u64::MAX - 1, &[2, 1])), Reason::OddUtf16 { length: 3 });
    let source = [column("d", "decimal(9,2)", true)];
    let wide = [&[0xd1, 9, 1, 1, 0, 0, 0][..], &[1, 0, 0, 0]].concat();
    let good = [0xd1, 5, 1, 1, 0, 0, 0];
    assert_eq!(fault(&source, &good, &wide).2, Reason::DecimalOverflow { precision: 9 });
}

#[test]
fn the_last_row_of_a_batch_is_decoded() {
    let source = [column("a", "int", true), column("b", "varchar(5)", true)];
    let plan = planned(&source, &source, &Mapping::ByName, CastOptions::default());
    let splice = Splice::new(&plan, &source).unwrap();
    let bytes = [0xd1, 4, 1, 0, 0, 0, 1, 0, b'x', 0xd2, 0b10, 4, 2, 0, 0, 0, 0xd1, 4, 3];
    let mut splicer = splice.splicer(&source).unwrap().keeping_last_rows();
    assert_eq!(splicer.last_row().unwrap(), None);
    assert_eq!(splicer.splice(&bytes).unwrap(), 16);
    let mut decoder = Decoder::new(&source, Form::Exact).unwrap();
    decoder.decode(&bytes[9..16]).unwrap();
    assert_eq!(splicer.last_row().unwrap(), Some(decoder.take_batch().unwrap()));
}

#[test]
fn values_larger_than_a_batch_pass() {
    let source = [column("n", "varbinary(max)", true), column("t", "text", true)];
    let plan = planned(&source, &source, &Mapping::ByName, CastOptions::default());
    let splice = Splice::new(&plan, &source).unwrap();
    let range: Range<u32> = 0..400_000;
    let data: Vec<u8> = range.flat_map(u32::to_le_bytes).collect();
    let mut bytes = Vec::new();
    for form in 0..4 {
        bytes.push(0xd1);
        cell(&source[0], &data, if form == 0 { 0 } else { 2 }, &mut bytes);
        cell(&source[1], &data[..1000], form, &mut bytes);
    }
    // 00 to FF are characters of code page 1252, but for five.
    let (sent, rows) = sent_by_splicing(&splice, &plan, &source, &bytes, &[300_000, 7], 100);
    assert_eq!(rows, [1, 1, 1, 1]);
    let span = tds::row_span::RowLayout::new(plan.columns()).complete_rows(&sent).unwrap();
    assert_eq!((span.rows, span.bytes), (4, sent.len()));
    // The token, the total and the length of the chunk.
    let first = 1 + 8 + 4;
    assert_eq!(sent[first..first + data.len()], data);
}
