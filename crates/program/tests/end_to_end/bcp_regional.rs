//! `bulkwire bcp -R`: money, dates and times as the client's locale writes them.

use serde_json::Value;

use crate::fixture::Fixture;

const TABLE: &str = "CREATE TABLE t (id int NOT NULL, m money NULL, sm smallmoney NULL, d date NULL, ti time(3) NULL, \
     dt datetime NULL, d2 datetime2(3) NULL, dto datetimeoffset(0) NULL, c decimal(9,2) NULL)";
const CELLS: &str = "SELECT id, CAST(m AS varchar(30)), CAST(sm AS varchar(30)), CONVERT(varchar(30), d, 23), CAST(ti AS varchar(30)), \
     CONVERT(varchar(30), dt, 121), CAST(d2 AS varchar(30)), CAST(dto AS varchar(40)), c FROM t ORDER BY id";

/// The same row as each locale writes it. Numbers other than money are no business of -R.
#[test]
fn each_locale_s_money_dates_and_times_are_loaded() {
    let fixture = Fixture::new();
    fixture.sql(TABLE);
    let rows = [
        (
            "de_DE.UTF-8",
            "1.234.567,89 €|-5,5|14.03.2026|9:30|14.03.2026 09:30:15,25|14.3.26|14.03.2026 09:30:15 +02:00|1.5",
        ),
        (
            "fr_FR.UTF-8",
            "1 234 567,89 €|-5,5 €|14/03/2026|09:30:00|14/03/2026 09:30:15.25|14 mars 2026|14/03/2026 09:30:15 +02:00|1.5",
        ),
        (
            "en_US.UTF-8",
            "$1,234,567.89|($5.50)|3/14/2026|9:30 AM|3/14/2026 9:30:15.25 AM|Mar 14, 2026|3/14/2026 9:30:15 +02:00|1.5",
        ),
        (
            "en_GB.UTF-8",
            "£1,234,567.89|-£5.50|14/03/26|9:30 am|14/03/2026 09:30:15.25|14 March 2026|14/03/2026 09:30:15 +02:00|1.5",
        ),
    ];
    let expected = "1234567.89,-5.50,2026-03-14,09:30:00.000,2026-03-14 09:30:15.250,2026-03-14 00:00:00.000,\
                    2026-03-14 09:30:15 +02:00,1.50\n";
    for (locale, row) in rows {
        for letter in ["-c", "-w"] {
            fixture.sql("TRUNCATE TABLE t");
            let text = format!("1|{row}\n");
            match letter {
                "-c" => fixture.file("t.dat", text),
                _ => {
                    fixture.file("t.dat", text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
                }
            };
            let words = ["bcp", "t", "in", "t.dat", letter, "-t|", "-R"];
            let ran = fixture.run_in_locale(&[("LC_ALL", locale)], &words);
            assert!(
                ran.stdout.contains("\n1 rows copied.\n"),
                "{locale} {letter}: {}{}",
                ran.stdout,
                ran.stderr
            );
            assert_eq!(fixture.rows(CELLS), format!("1,{expected}"), "{locale} {letter}");
            // Without -R the locale is not asked.
            let plain = fixture.run_in_locale(&[("LC_ALL", locale)], &words[..6]);
            assert!(plain.stdout.contains("\n0 rows copied.\n"), "{locale} {letter}: {}", plain.stdout);
        }
    }
}

#[test]
fn what_another_locale_writes_is_refused() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (id int NOT NULL, m money NULL, d date NULL)");
    fixture.file("t.dat", "1\t1,234.50\t14.03.2026\n2\t1.234,50\t03/14/2026\n3\t1.234\t2026-03-14\n4\t\t\n");
    let words = ["bcp", "t", "in", "t.dat", "-c", "-R", "--rejects", "r.json"];
    let ran =
        fixture.run_in_locale(&[("LC_MONETARY", "de_DE"), ("LC_TIME", "en_GB"), ("LANG", "en_US")], &words);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // A point separates thousands there; a date that begins with its year is none of any locale.
    assert_eq!(
        fixture.rows("SELECT id, CAST(m AS varchar(20)), d FROM t ORDER BY id"),
        "3,1234.00,2026-03-14\n4,,\n"
    );
    let rejected = std::fs::read_to_string(fixture.path("r.json")).unwrap();
    let facts: Vec<(u64, String)> = rejected
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            (row["row"].as_u64().unwrap(), row["column"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(facts, [(1, "m".to_owned()), (2, "d".to_owned())]);
    let unknown = fixture.run_in_locale(&[("LANG", "xx_YY.UTF-8")], &words);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stdout.contains("LANG=xx_YY.UTF-8 names no known locale"), "{}", unknown.stdout);
}
