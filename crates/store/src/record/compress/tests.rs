#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::*;
use arrow::compute::concat_batches;
use proptest::prelude::*;

use super::anchor::Anchor;
use super::cell::{Cell, SYMBOL};
use super::fill::compress_page;
use super::record::CdRecord;
use super::*;
use crate::heap::block::PageBlock;
use crate::page::{CAPACITY_BYTES, Page, PageId, PageType, RowId, UnitId};
use crate::record::kind::Kind;
use crate::record::layout::{Column, Layout};
use crate::record::tests::{MemoryValues, NoLargeValues, column, kinds, layout_of, through_pages};
use crate::record::{BoundBatch, RowGatherer, empty_large_values};

fn bytes_of(cell: Cell) -> Vec<u8> {
    assert!(!cell.is_long());
    cell.word.to_le_bytes()[..cell.short_bytes()].to_vec()
}

#[test]
fn integers_have_their_published_bytes() {
    let published: [(i64, &[u8]); 10] = [
        (0, &[]),
        (1, &[0x81]),
        (-1, &[0x7F]),
        (-2, &[0x7E]),
        (127, &[0xFF]),
        (128, &[0x80, 0x80]),
        (-130, &[0x7F, 0x7E]),
        (-360, &[0x7E, 0x98]),
        (113_538, &[0x81, 0xBB, 0x82]),
        (72_057_594_046_840_832, &[0x81, 0, 0, 0, 0, 0x88, 0, 0]),
    ];
    for (value, bytes) in published {
        assert_eq!(bytes_of(Cell::integer(value)), bytes, "{value}");
        assert_eq!(Cell::integer(value).to_integer(), Some(value));
    }
    for value in [i64::MIN, i64::MAX, -128, -129, 32_767, 32_768, i64::from(i32::MIN)] {
        assert_eq!(Cell::integer(value).to_integer(), Some(value), "{value}");
    }
    assert_eq!((bytes_of(Cell::integer(-128)).len(), bytes_of(Cell::integer(-129)).len()), (1, 2));
}

#[test]
fn floats_lose_their_least_significant_zeros() {
    let published: [(f64, &[u8]); 3] = [(0.0, &[]), (1.0, &[0xF0, 0x3F]), (-1.0, &[0xF0, 0xBF])];
    for (value, bytes) in published {
        assert_eq!(bytes_of(Cell::float(value.to_bits(), 8)), bytes, "{value}");
    }
    for value in [1.5, -0.0, 0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
        assert_eq!(Cell::float(value.to_bits(), 8).to_float(8), Some(value.to_bits()), "{value}");
        let single = value as f32;
        let cell = Cell::float(single.to_bits().into(), 4);
        assert_eq!(cell.to_float(4), Some(single.to_bits().into()), "{single}");
    }
}

#[test]
fn decimals_have_their_published_bytes() {
    let bytes = |value, scale| {
        let mut out = Vec::new();
        vardecimal::put(value, scale, &mut out);
        out
    };
    // Positive, exponent 2; 123 and 456 in ten bits each.
    assert_eq!(bytes(123_456, 3), [0xC2, 0x1E, 0xDC, 0x80]);
    assert_eq!(bytes(-123_456, 3), [0x42, 0x1E, 0xDC, 0x80]);
    // Zeros at the end are not stored, wherever the point is.
    assert_eq!(bytes(123_000, 3), [0xC2, 0x1E, 0xC0]);
    assert_eq!(bytes(123, 6), [0xBC, 0x1E, 0xC0]);
    assert_eq!(bytes(0, 3), [0_u8; 0]);
    // The documented most bytes of a precision: 3 for up to 3 digits, 4 to 6, 5 to 9, 6 to 12, 8 to 15, …
    for (digits, most) in
        [(3, 3), (6, 4), (9, 5), (12, 6), (15, 8), (18, 9), (21, 10), (24, 11), (27, 13), (30, 14)]
    {
        assert_eq!(bytes(10_i128.pow(digits) - 1, 0).len(), most, "{digits} digits");
    }
    // The digits of 1 are followed by ten bits with the value 1000, which is no group of three digits.
    assert_eq!(vardecimal::read(&[0xC0, 0xFA, 0x00], 0), None);
    // 0.5 is no number without digits behind the point.
    assert_eq!(vardecimal::read(&bytes(5, 1), 0), None);
}

#[test]
fn unicode_compression_gives_the_examples_of_the_standard() {
    let compressed = |text: &str| {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut out = Vec::new();
        scsu::compress(&units, &mut out).then_some(out)
    };
    // Unicode Technical Standard 6, section 9: German, Russian.
    let german = [0xD6, 0x6C, 0x20, 0x66, 0x6C, 0x69, 0x65, 0xDF, 0x74];
    assert_eq!(compressed("Öl fließt").unwrap(), german);
    assert_eq!(compressed("Москва").unwrap(), [0x12, 0x9C, 0xBE, 0xC1, 0xBA, 0xB2, 0xB0]);
    // Four bytes would look like UTF-16.
    assert_eq!(compressed("wire").unwrap(), *b"wire\x10");
    // Ideographs do not get shorter.
    assert_eq!(compressed("漢字"), None);
    assert_eq!(compressed(""), None);
    let mut out = Vec::new();
    assert_eq!(scsu::expand_utf8(&german, &mut out), Some(()));
    assert_eq!(out, "Öl fließt".as_bytes());
    // Cut off in a quoted unit.
    assert_eq!(scsu::expand_utf16(&[0x0E, 0x20], &mut Vec::new()), None);
}

#[test]
fn a_record_has_the_published_form() {
    let kinds = [
        Kind::Int,
        Kind::Char(10),
        Kind::Bit,
        Kind::VarChar(Some(20)),
        Kind::BigInt,
        Kind::NVarChar(Some(20)),
        Kind::Int,
    ];
    let layout = layout_of(&kinds).with_compression(Compression::Row).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![300])),
        Arc::new(StringArray::from(vec!["ab        "])),
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(StringArray::from(vec!["more than eight"])),
        Arc::new(Int64Array::from(vec![None])),
        Arc::new(StringArray::from(vec!["Öl"])),
        Arc::new(Int32Array::from(vec![0])),
    ];
    let batch = RecordBatch::try_new(layout.schema.clone(), columns).unwrap();
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let mut expected = vec![
        0x21, // CD record with a long data region
        7,    // columns
        0x33, // the first has two bytes, the second, too
        0xAB, // the third is a bit that is 1, the fourth is long
        0x40, // the fifth is null, the sixth has three bytes
        0x01, // the seventh is zero
        0x81, 0x2C, // 300
        b'a', b'b', // without its blanks
        0xD6, b'l', 0x10, // compressed, and made odd
        1,    // two-byte offsets
        1, 0, // one long value
        15, 0, // where it ends
    ];
    expected.extend_from_slice(b"more than eight");
    assert_eq!(bound.record(0), expected);
    assert_eq!(bound.lengths(), [expected.len() as u16]);
    assert_eq!(through_pages(&layout, &batch), batch);
}

#[test]
fn clusters_appear_past_thirty_columns_and_a_second_count_byte_past_127() {
    let record = |columns: usize| {
        let layout = layout_of(&vec![Kind::SmallInt; columns]).with_compression(Compression::Row).unwrap();
        let values = (0..columns).map(|_| Arc::new(Int16Array::from(vec![7])) as ArrayRef).collect();
        let batch = RecordBatch::try_new(layout.schema.clone(), values).unwrap();
        assert_eq!(through_pages(&layout, &batch), batch);
        BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap().record(0)
    };
    // Header, count, a nibble and a byte per column.
    assert_eq!(record(30).len(), 2 + 15 + 30);
    assert_eq!(record(30)[..3], [0x01, 30, 0x22]);
    // The length of the first cluster.
    assert_eq!(record(31).len(), 2 + 16 + 1 + 31);
    assert_eq!(record(31)[18], 30);
    assert_eq!(record(128)[..3], [0x01, 0x80, 128]);
    assert_eq!(record(128).len(), 3 + 64 + 4 + 128);
}

#[test]
fn values_share_the_beginning_of_the_anchor() {
    // The documentation's example of column prefixes (Page Compression Implementation).
    let anchor = Anchor::new(Cow::Borrowed(b"aaabcc"));
    let shortened = |value: &[u8]| bytes_of(anchor.shorten(Cell::short(value), &[], &mut Vec::new()));
    assert_eq!(shortened(b"aaabb"), *b"\x04b");
    assert_eq!(shortened(b"aaabcc"), *b"");
    assert_eq!(shortened(b"aaaccc"), *b"\x03ccc");
    assert_eq!(shortened(b"bbbb"), *b"\x00bbbb");
    assert_eq!(shortened(b""), *b"\x00");
    assert_eq!(anchor.shorten(Cell::NULL, &[], &mut Vec::new()), Cell::NULL);
    // With the byte in front of them, eight bytes become nine, which is long.
    let mut data = Vec::new();
    let cell = anchor.shorten(Cell::short(b"bbbbbbbb"), &[], &mut data);
    assert!(cell.is_long() && data == b"\x00bbbbbbbb");
    // A prefix of 128 bytes or more takes two bytes.
    let long = Anchor::new(Cow::Owned(vec![b'x'; 300]));
    let mut data = Vec::new();
    long.shorten(Cell::long(0, 299), &[b'x'; 299], &mut data);
    assert!(data.is_empty());
    assert_eq!(bytes_of(long.shorten(Cell::long(0, 299), &[b'x'; 299], &mut data)), [0xAB, 0x02]);
}

fn pages_of(layout: &Layout, batch: &RecordBatch) -> (Vec<Arc<Page>>, CompressionCounts) {
    let mut values = MemoryValues::default();
    let bound = BoundBatch::new(layout, batch, &mut values).unwrap();
    let mut block = PageBlock::new(UnitId::default(), layout, 10_000, 100);
    assert_eq!(block.append(&bound, 0), batch.num_rows());
    let pages = block.finish().unwrap().iter().map(|bytes| Arc::new(Page::from_bytes(*bytes))).collect();
    (pages, block.compression_counts())
}

fn text_batch(layout: &Layout, rows: usize, text: impl Fn(usize) -> String) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values((0..rows as i32).map(|row| row + 1_000_000))),
        Arc::new(StringArray::from_iter_values((0..rows).map(text))),
    ];
    RecordBatch::try_new(layout.schema.clone(), columns).unwrap()
}

fn int_and_text(compression: Compression) -> Layout {
    let columns = vec![Column::required("id", Kind::Int), Column::new("text", Kind::VarChar(Some(200)))];
    Layout::new(columns).unwrap().with_compression(compression).unwrap()
}

#[test]
fn a_full_page_is_compressed_once_if_it_pays() {
    let [none, row, page] = [Compression::None, Compression::Row, Compression::Page].map(int_and_text);
    let repeating = |row: usize| format!("one of a few descriptions: {}", row % 5);
    let counted = |layout: &Layout, text: &dyn Fn(usize) -> String| {
        let (pages, counts) = pages_of(layout, &text_batch(layout, 20_000, text));
        let compressed = pages.iter().filter(|page| page.is_compressed()).count();
        (pages.len(), compressed, counts)
    };
    let (pages_none, _, _) = counted(&none, &repeating);
    let (pages_row, compressed, counts) = counted(&row, &repeating);
    assert_eq!((compressed, counts), (0, CompressionCounts::default()));
    let (pages_page, compressed, counts) = counted(&page, &repeating);
    // A plain row has 4 + 4 + 2 + 1 + 4 + 28 bytes and a slot. A ROW-compressed one has 1 + 1 + 1 + 3 + 5 +
    // 28 and a slot. A PAGE-compressed row has 3 + at most 3 + 1 bytes. It takes the 9 bytes of a forwarding
    // stub, and a slot.
    assert_eq!(pages_none, 20_000_usize.div_ceil(8096 / 45));
    assert_eq!(pages_row, 20_000_usize.div_ceil(8096 / 41));
    let least = 20_000_usize.div_ceil(8096 / 11);
    assert!((least..=least + 1).contains(&pages_page), "{pages_page} of {pages_row} pages");
    // The last page is not full, so it is not tried.
    assert_eq!(compressed as u64, counts.successes);
    assert!(counts.attempts == counts.successes && (pages_page - 1..=pages_page).contains(&compressed));
    // Nothing to share: every full page is tried and left as it is.
    let noise = |row: usize| {
        let mut word = row as u64 + 1;
        (0..6)
            .map(|_| {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(12_345);
                format!("{word:016x}")
            })
            .collect::<String>()
    };
    let (pages_noise, compressed, counts) = counted(&page, &noise);
    assert_eq!((compressed, counts.successes), (0, 0));
    assert_eq!(counts.attempts, pages_noise as u64 - 1);
    let (pages_row, _, _) = counted(&row, &noise);
    assert_eq!(pages_noise, pages_row);
}

#[test]
fn five_rows_or_a_quarter_more_pay() {
    assert!(pays(100, 105) && !pays(100, 104));
    assert!(pays(4, 5) && !pays(5, 6) && !pays(0, 0) && pays(8, 10));
}

/// Makes a page of a tree, with rows that are added until it is full.
fn full_leaf(layout: &Layout, batch: &RecordBatch) -> (Page, usize) {
    let bound = BoundBatch::new(layout, batch, &mut NoLargeValues).unwrap();
    let mut page = Page::formatted(PageId::new(1, 9), PageType::Data, 0, UnitId::default(), 4);
    let rows =
        (0..batch.num_rows()).take_while(|row| page.insert(*row as u16, &bound.record(*row), true)).count();
    (page, rows)
}

fn values_of(layout: &Layout, page: &Page) -> RecordBatch {
    let mut gatherer = RowGatherer::new(layout);
    gatherer.push_page(&Arc::new(page.clone())).unwrap();
    gatherer.finish(&[0, 1], &NoLargeValues).unwrap()
}

#[test]
fn rows_are_added_to_a_compressed_page_and_taken_from_it() {
    let layout = int_and_text(Compression::Page);
    let batch = text_batch(&layout, 2000, |row| format!("one of a few descriptions: {}", row % 7));
    let bound = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap();
    let (page, rows) = full_leaf(&layout, &batch);
    let mut counts = CompressionCounts::default();
    let mut compressed = compress_page(&page, 2, &mut counts).unwrap();
    assert_eq!(counts, CompressionCounts { attempts: 1, successes: 1 });
    assert_eq!(values_of(&layout, &compressed), batch.slice(0, rows));
    // It is not tried again before enough of it has changed.
    assert!(compress_page(&compressed, 2, &mut counts).is_none());
    assert_eq!(counts.attempts, 1);
    let mut count = rows;
    loop {
        let record = bound.record(count);
        let stored = compressed.stored(&record).unwrap();
        assert!(stored.len() < record.len());
        if !compressed.insert(count as u16, &stored, true) {
            break;
        }
        assert_eq!(compressed.record(count as u16).unwrap(), record);
        count += 1;
    }
    assert!(count > 3 * rows && compressed.is_worn());
    assert_eq!(values_of(&layout, &compressed), batch.slice(0, count));
    // Rows and their slots, what they share, and what is free make a page.
    let information = PageInformation::read(compressed.bytes()).unwrap();
    assert!(information.anchors() == 2 && information.entries() > 0);
    let used: usize = compressed.rows().map(|(_, row)| row.len() + 2).sum();
    assert_eq!(used + information.bytes() + compressed.free_bytes(), CAPACITY_BYTES);
    // Half of it moves to another page, with what it shares.
    let mut other = Page::formatted(PageId::new(1, 10), PageType::Data, 0, UnitId::default(), 4);
    assert!(other.share_information(&compressed));
    for slot in (count / 2..count).rev() {
        let row = compressed.row(slot as u16).unwrap().to_vec();
        assert!(other.insert(0, &row, true) && compressed.remove(slot as u16, true));
    }
    assert_eq!(values_of(&layout, &compressed), batch.slice(0, count / 2));
    assert_eq!(values_of(&layout, &other), batch.slice(count / 2, count - count / 2));
}

#[test]
fn a_forwarded_record_ends_with_its_home() {
    let layout = int_and_text(Compression::Row);
    let batch = text_batch(&layout, 1, |_| "a text of more than eight bytes".to_owned());
    let record = BoundBatch::new(&layout, &batch, &mut NoLargeValues).unwrap().record(0);
    let home = RowId { page: PageId::new(2, 77), slot: 5 };
    let forwarded = crate::record::forwarded(&record, home).unwrap();
    assert_eq!(forwarded.len(), record.len() + 8);
    assert_eq!(crate::record::length(&forwarded, 0), Some(forwarded.len()));
    assert_eq!(crate::record::forwarded_from(&forwarded), Some(home));
    assert_eq!(crate::record::forwarded_from(&record), None);
    let mut page = Page::formatted(PageId::new(1, 9), PageType::Data, 0, UnitId::default(), 4);
    assert!(page.insert(0, &forwarded, true));
    assert_eq!(values_of(&layout, &page), batch);
}

#[test]
fn a_table_whose_rows_could_be_too_long_compressed_is_refused() {
    // 990 columns of eight bytes: 4 + 7920 + 2 + 124 fit a row, with half a byte more per column they do not.
    let kinds = vec![Kind::BigInt; 990];
    let refused = layout_of(&kinds).with_compression(Compression::Row);
    assert!(matches!(refused, Err(crate::error::EngineError::RowTooLarge { limit_bytes: 8060, .. })));
    assert_eq!(layout_of(&kinds).row_limit_bytes, 8060);
    let few = layout_of(&[Kind::VarChar(Some(8000)), Kind::VarChar(Some(8000))]);
    assert!(few.with_compression(Compression::Page).unwrap().row_limit_bytes > 8050);
}

#[test]
fn settings_are_read_and_written() {
    for compression in [Compression::None, Compression::Row, Compression::Page] {
        assert_eq!(compression.to_string().parse(), Ok(compression));
        assert_eq!(Compression::from_number(compression as u8), Some(compression));
    }
    assert_eq!("page".parse(), Ok(Compression::Page));
    assert!("COLUMNSTORE".parse::<Compression>().is_err());
    assert_eq!(Compression::from_number(3), None);
}

/// Makes values with common prefixes and repetitions: numbers of up to eight bytes, texts and nulls. Texts
/// lie on both sides of the limits of their forms: 8 bytes in the short region, 128 shared ones.
fn alike(picks: &[(u8, u8, u16)]) -> (Layout, RecordBatch) {
    let text = |length: usize, pick: u8, number: u16| {
        let end = match pick % 4 {
            0 => String::new(),
            1 => format!("{:x}", number % 3),
            2 => format!("{number:04x}"),
            _ => return format!("{number:x<length$}"),
        };
        format!("{:.<1$}", end, length - length.min(end.len())).chars().rev().collect::<String>()
    };
    let kinds =
        [Kind::BigInt, Kind::DateTime, Kind::VarChar(Some(400)), Kind::Char(12), Kind::VarBinary(Some(9))];
    let layout = layout_of(&kinds).with_compression(Compression::Page).unwrap();
    let lengths = [0, 1, 7, 8, 9, 30, 127, 128, 129, 300];
    let each = |value: &dyn Fn(u8, u16) -> Option<i64>| {
        picks.iter().map(|(_, pick, number)| value(*pick, *number)).collect::<Vec<_>>()
    };
    let words = each(&|pick, number| match pick % 8 {
        0 => None,
        1..4 => Some(0x0102_0304_0506_0700 + i64::from(number % 5)),
        4 => Some(i64::from(number).wrapping_mul(0x0123_4567_89AB_CDEF)),
        _ => Some(i64::from(number % 7)),
    });
    let times =
        each(&|pick, number| Some((i64::from(pick / 64) * 40_000_000 + i64::from(number / 300)) * 1000));
    let binary = |word: &Option<i64>| word.map(|word| word.to_le_bytes().to_vec());
    let columns: Vec<ArrayRef> =
        vec![
            Arc::new(Int64Array::from(words.clone())),
            Arc::new(TimestampMillisecondArray::from(times)),
            Arc::new(StringArray::from_iter_values(
                picks
                    .iter()
                    .map(|(length, pick, number)| text(lengths[usize::from(*length) % 10], *pick, *number)),
            )),
            Arc::new(StringArray::from_iter_values(picks.iter().map(|(_, pick, number)| {
                format!("{:<12}", format!("AB-{}", number % u16::from(pick % 9 + 1)))
            }))),
            Arc::new(BinaryArray::from_iter(words.iter().map(binary))),
        ];
    let batch = RecordBatch::try_new(layout.schema.clone(), columns).unwrap();
    (layout, batch)
}

fn repeated(batch: &RecordBatch, times: usize) -> RecordBatch {
    concat_batches(&batch.schema(), std::iter::repeat_n(batch, times)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_that_share_much_come_out_of_compressed_pages(
        (kinds, columns) in (prop::collection::vec(kinds(), 1..16), 1_usize..8).prop_flat_map(|(kinds, rows)| {
            let columns: Vec<_> = kinds.iter().map(|kind| column(*kind, rows)).collect();
            (Just(kinds), columns)
        }),
        times in 1_usize..120,
    ) {
        let layout = layout_of(&kinds).with_compression(Compression::Page).unwrap();
        let batch = repeated(&RecordBatch::try_new(layout.schema.clone(), columns).unwrap(), times);
        prop_assume!(BoundBatch::new(&layout, &batch, &mut MemoryValues::default()).is_ok());
        prop_assert!(through_pages(&layout, &batch) == batch);
    }

    #[test]
    fn pages_are_the_same_rows_in_order_however_they_come(
        picks in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u16>()), 1..1500),
        cuts in prop::collection::vec(1_usize..700, 1..6),
    ) {
        let (layout, batch) = alike(&picks);
        let (at_once, _) = pages_of(&layout, &batch);
        let mut block = PageBlock::new(UnitId::default(), &layout, 10_000, 100);
        let mut first = 0;
        for cut in cuts.iter().cycle() {
            let part = batch.slice(first, (*cut).min(batch.num_rows() - first));
            let bound = BoundBatch::new(&layout, &part, &mut NoLargeValues).unwrap();
            prop_assert_eq!(block.append(&bound, 0), part.num_rows());
            for row in 0..part.num_rows() {
                prop_assert_eq!(bound.record(row).len(), usize::from(bound.lengths()[row]));
            }
            first += part.num_rows();
            if first == batch.num_rows() {
                break;
            }
        }
        let in_parts: Vec<_> =
            block.finish().unwrap().iter().map(|bytes| Arc::new(Page::from_bytes(*bytes))).collect();
        // A page is planned with the rows at hand, so their number matters. A page never takes fewer rows
        // than without anchors and dictionary.
        let rows_alone = layout.clone().with_compression(Compression::Row).unwrap();
        let (plain, _) = pages_of(&rows_alone, &batch);
        prop_assert!(at_once.len() <= plain.len() && in_parts.len() <= plain.len());
        for pages in [at_once, in_parts] {
            let mut gatherer = RowGatherer::new(&layout);
            for page in &pages {
                let information = PageInformation::read(page.bytes()).map_or(0, |information| information.bytes());
                let used: usize = page.rows().map(|(_, row)| row.len() + 2).sum();
                prop_assert_eq!(used + information + page.free_bytes(), CAPACITY_BYTES);
                gatherer.push_page(page).unwrap();
            }
            prop_assert!(gatherer.finish(&[0, 1, 2, 3, 4], &NoLargeValues).unwrap() == batch);
        }
    }

    #[test]
    fn numbers_of_any_size_come_back(value in any::<i64>(), shift in 0_u32..64, decimal in any::<i128>(), divisor in 0_u32..37) {
        let value = value >> shift;
        prop_assert_eq!(Cell::integer(value).to_integer(), Some(value));
        let most = 10_i128.pow(38) - 1;
        let decimal = decimal.clamp(-most, most) / 10_i128.pow(divisor);
        for scale in [0, 5, 38] {
            let mut bytes = Vec::new();
            vardecimal::put(decimal, scale, &mut bytes);
            prop_assert_eq!(vardecimal::read(&bytes, scale), Some(decimal));
        }
    }

    #[test]
    fn text_of_any_script_comes_back(text in "\\PC{0,40}", ascii in "[ -~\\x00-\\x1F]{0,20}") {
        for text in [text, ascii] {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let mut bytes = Vec::new();
            if scsu::compress(&units, &mut bytes) {
                prop_assert!(bytes.len() < units.len() && scsu::is_compressed(&bytes));
                let (mut back, mut utf8) = (Vec::new(), Vec::new());
                prop_assert_eq!(scsu::expand_utf16(&bytes, &mut back), Some(()));
                prop_assert_eq!(scsu::expand_utf8(&bytes, &mut utf8), Some(()));
                prop_assert_eq!(&back, &units);
                prop_assert_eq!(utf8, text.as_bytes());
            }
        }
    }

    #[test]
    fn damaged_compressed_pages_are_refused_or_read_but_never_run_over(
        damage in prop::collection::vec((prop_oneof![0_usize..8192, 96_usize..400, 0_usize..96], any::<u8>()), 1..20),
        slot in 0_u16..300,
    ) {
        let layout = int_and_text(Compression::Page);
        let batch = text_batch(&layout, 2000, |row| format!("one of a few descriptions: {}", row % 7));
        let (pages, _) = pages_of(&layout, &batch);
        let mut bytes = *pages[0].bytes();
        prop_assert!(pages[0].is_compressed());
        for (place, byte) in damage {
            bytes[place] = byte;
        }
        let page = Arc::new(Page::from_bytes(bytes));
        let mut gatherer = RowGatherer::new(&layout);
        if gatherer.push_page(&page).is_ok() {
            let _ = gatherer.finish(&[0, 1], &empty_large_values());
        }
        for slot in 0..page.slot_count() {
            if let Some(record) = page.record(slot) {
                let _ = (super::record::pointers(&record), page.stored(&record));
            }
        }
        let _ = compress_page(&page, 2, &mut CompressionCounts::default());
        let mut changed = (*page).clone();
        let _ = (changed.remove(slot, true), changed.insert(slot, &[1, 2, 0x22, 5, 6], true), changed.replace(slot, &[1, 2, 0x22, 5, 6]));
    }

    #[test]
    fn garbage_is_no_record_or_one_within_its_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), header in 0_u8..64) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = header | 1;
        }
        if let Some(record) = CdRecord::parse(&bytes) {
            prop_assert!(record.bytes.len() <= bytes.len());
            let mut columns = 0;
            record.for_each(|_, cell, long| {
                columns += 1;
                assert!(cell.code <= SYMBOL && (cell.is_long() || long.is_empty()));
            });
            prop_assert_eq!(columns, record.columns);
        }
        let mut out = Vec::new();
        let _ = (scsu::expand_utf8(&bytes, &mut out), scsu::expand_utf16(&bytes, &mut out));
        for scale in [0, 20, 38] {
            let _ = vardecimal::read(&bytes, scale);
        }
    }
}
