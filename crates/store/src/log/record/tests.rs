#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use proptest::prelude::*;

use super::*;

fn change() -> impl Strategy<Value = Change> {
    let page = (1_u16..4, any::<u32>()).prop_map(|(file, page)| PageId { file, page });
    let row = prop::collection::vec(any::<u8>(), 0..300);
    let image = prop::collection::vec((0_usize..8192, any::<u8>()), 0..60).prop_map(|bytes| {
        let mut page = Page::zeroed();
        for (place, byte) in bytes {
            page.bytes_mut()[place] = byte;
        }
        Box::new(page)
    });
    let entries = prop::collection::vec(prop_oneof![Just(0_u8), Just(0x44), Just(0x40)], 0..200);
    prop_oneof![
        (page.clone(), image.clone()).prop_map(|(page, image)| Change::Image { page, image }),
        (page.clone(), image.clone()).prop_map(|(page, image)| Change::Format { page, image }),
        (page.clone(), image.clone(), image).prop_map(|(page, before, after)| Change::Reformat {
            page,
            before,
            after
        }),
        (page.clone(), any::<u16>(), any::<bool>(), row.clone())
            .prop_map(|(page, slot, shift, row)| Change::Insert { page, slot, shift, row }),
        (page.clone(), any::<u16>(), any::<bool>(), row.clone())
            .prop_map(|(page, slot, shift, row)| Change::Remove { page, slot, shift, row }),
        (page.clone(), any::<u16>(), row.clone(), row)
            .prop_map(|(page, slot, before, after)| Change::Replace { page, slot, before, after }),
        [page.clone(), page.clone(), page.clone(), page.clone(), page.clone()]
            .prop_map(|[page, a, b, c, d]| Change::Links { page, before: (a, b), after: (c, d) }),
        (page.clone(), any::<u32>(), any::<u32>(), any::<bool>())
            .prop_map(|(page, first, count, value)| Change::SetBits { page, first, count, value }),
        (page, any::<u32>(), entries.clone(), entries)
            .prop_map(|(page, first, before, after)| Change::SetFreeSpace { page, first, before, after }),
    ]
}

fn record() -> impl Strategy<Value = LogRecord> {
    let lsn = any::<(u32, u32, u16)>().prop_map(|(file, block, record)| Lsn { file, block, record });
    let operation = prop_oneof![
        Just(Operation::Begin),
        prop::collection::vec(any::<(u32, i64)>(), 0..4)
            .prop_map(|row_counts| Operation::Commit { row_counts }),
        Just(Operation::End),
        change().prop_map(Operation::Change),
        (lsn.clone(), change()).prop_map(|(undo_next, change)| Operation::Compensation { undo_next, change }),
    ];
    let place =
        (0..LogContext::ALL.len(), any::<u32>(), any::<u16>()).prop_map(|(context, object, index)| {
            match LogContext::ALL[context] {
                LogContext::None => LogPlace::default(),
                context => LogPlace { unit: UnitId { object, index }, context },
            }
        });
    (any::<u64>(), lsn, place, operation).prop_map(|(transaction, previous, place, operation)| LogRecord {
        transaction,
        previous,
        place,
        operation,
    })
}

proptest! {
    #[test]
    fn records_survive_the_log(record in record()) {
        prop_assert_eq!(LogRecord::decode(&record.encode()).unwrap(), record);
    }

    #[test]
    fn damaged_records_are_refused_or_read_but_never_run_over(
        record in record(), place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()
    ) {
        let mut bytes = record.encode();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = LogRecord::decode(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        prop_assert!(LogRecord::decode(&bytes).is_err());
    }
}
