#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

fn german() -> RegionalFormat {
    RegionalFormat {
        decimal_point: ",".to_owned(),
        thousands_separator: ".".to_owned(),
        grouping: vec![3, 3],
        currency_symbols: vec!["€".to_owned(), "EUR".to_owned()],
        negative_sign: "-".to_owned(),
        date_order: [DatePart::Day, DatePart::Month, DatePart::Year],
        months: vec![
            ["Januar".to_owned(), "Jan".to_owned()],
            ["Februar".to_owned(), "Feb".to_owned()],
            ["März".to_owned(), "Mär".to_owned()],
        ],
        half_days: [String::new(), String::new()],
    }
}

fn american() -> RegionalFormat {
    RegionalFormat {
        decimal_point: ".".to_owned(),
        thousands_separator: ",".to_owned(),
        currency_symbols: vec!["$".to_owned(), "USD".to_owned()],
        date_order: [DatePart::Month, DatePart::Day, DatePart::Year],
        half_days: ["AM".to_owned(), "PM".to_owned()],
        ..german()
    }
}

#[test]
fn amounts_of_money() {
    let table = [
        ("1.234.567,89", Some("1234567.89")),
        ("1234567,89", Some("1234567.89")),
        ("-1.234,5", Some("-1234.5")),
        ("1.234,50-", Some("-1234.50")),
        ("(3,5)", Some("-3.5")),
        ("1.234,50 €", Some("1234.50")),
        ("-€ 3", Some("-3")),
        ("EUR -3", Some("-3")),
        ("€-3", Some("-3")),
        ("3 € -", Some("-3")),
        (",5", Some(".5")),
        ("1.234", Some("1234")),
        // Groups of another length, and what is no number.
        ("1.23", None),
        ("12.34,5", None),
        (".234", None),
        ("1234.567", None),
        ("1,234.50", None),
        ("1,2,3", None),
        ("$5", None),
        ("--3", None),
        ("(-3)", None),
        ("€", None),
        ("-", None),
        ("", None),
        (",", None),
    ];
    for (text, plain) in table {
        assert_eq!(german().plain_money(text).as_deref(), plain, "{text:?}");
    }
    assert_eq!(american().plain_money("$1,234.50").as_deref(), Some("1234.50"));
    assert_eq!(american().plain_money("1.234,50"), None);
    let swiss =
        RegionalFormat { thousands_separator: "’".to_owned(), decimal_point: ".".to_owned(), ..german() };
    assert_eq!(swiss.plain_money("1'234’567.05").as_deref(), Some("1234567.05"));
    let french = RegionalFormat { thousands_separator: "\u{202f}".to_owned(), ..german() };
    assert_eq!(french.plain_money("1 234\u{a0}567,05 €").as_deref(), Some("1234567.05"));
    let indian = RegionalFormat { grouping: vec![3, 2], ..american() };
    assert_eq!(indian.plain_money("12,34,567.5").as_deref(), Some("1234567.5"));
    assert_eq!(indian.plain_money("1,234,567"), None);
}

#[test]
fn dates_and_times() {
    let table = [
        ("14.03.2026", Some("2026-03-14")),
        ("3.4.26", Some("2026-04-03")),
        ("3/4/50", Some("1950-04-03")),
        ("3. März 2026", Some("2026-03-03")),
        ("3. mär. 2026", Some("2026-03-03")),
        ("2026/03/14", Some("2026-03-14")),
        ("14.03.2026 9:30", Some("2026-03-14 09:30:00")),
        ("14.03.2026 09:30:15,25", Some("2026-03-14 09:30:15.25")),
        ("14.03.2026 09:30:15.1234567 +02:00", Some("2026-03-14 09:30:15.1234567 +02:00")),
        ("9:30 PM", Some("21:30:00")),
        ("9:30:15", Some("09:30:15")),
        // As it is written without a locale.
        ("2026-03-14 09:30:15.250", Some("2026-03-14 09:30:15.250")),
        ("{ts '2026-03-14 09:30:15'}", Some("{ts '2026-03-14 09:30:15'}")),
        ("14.03", None),
        ("14:03.2026", None),
        ("1.2.3.4", None),
        ("14.March.2026", None),
        ("13:00 PM", None),
        ("24:00", None),
        ("9:30 XM", None),
        ("14.03.20266", None),
        ("", None),
    ];
    for (text, plain) in table {
        assert_eq!(german().plain_moment(text).as_deref(), plain, "{text:?}");
    }
    assert_eq!(american().plain_moment("3/14/2026 9:30 pm").as_deref(), Some("2026-03-14 21:30:00"));
    assert_eq!(american().plain_moment("Jan 3, 2026").as_deref(), Some("2026-01-03"));
    // The calendar is not this module's business; the reader of dates refuses it.
    assert_eq!(american().plain_moment("14/3/2026").as_deref(), Some("2026-14-03"));
}

proptest! {
    #[test]
    fn nothing_panics(text in "\\PC{0,12}") {
        german().plain_money(&text);
        american().plain_moment(&text);
    }

    #[test]
    fn grouped_amounts_are_read_back(units in 0_u64..10_000_000_000, cents in 0_u32..100, negative: bool) {
        let digits = units.to_string();
        let grouped: Vec<&str> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|group| std::str::from_utf8(group).unwrap())
            .collect();
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{},{cents:02} €", grouped.join("."));
        prop_assert_eq!(german().plain_money(&text), Some(format!("{sign}{digits}.{cents:02}")));
    }
}
