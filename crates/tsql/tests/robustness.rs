//! Whatever text arrives, it is parsed or refused: no panic, no endless parse.

use bulkwire_tsql::{parse_batch, parse_declarations, parse_expression, parse_object_name};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_parses_or_is_refused(text in any::<String>(), quoted in any::<bool>()) {
        let _ = parse_batch(&text, quoted);
        let _ = parse_expression(&text);
        let _ = parse_declarations(&text);
        let _ = parse_object_name(&text);
    }

    #[test]
    fn any_words_parse_or_are_refused(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        let _ = parse_batch(&words.join(" "), true);
    }
}

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "t",
    "a",
    "b",
    "*",
    ",",
    "(",
    ")",
    "=",
    "<",
    "+",
    "-",
    "/",
    "%",
    "'x'",
    "N'y'",
    "1",
    "2.5",
    "1e3",
    "NULL",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AS",
    "JOIN",
    "ON",
    "LEFT",
    "GROUP",
    "BY",
    "ORDER",
    "TOP",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "SET",
    "DELETE",
    "CREATE",
    "TABLE",
    "int",
    "varchar(5)",
    "IF",
    "EXISTS",
    "BEGIN",
    "DECLARE",
    "@v",
    "EXEC",
    "UNION",
    "OVER",
    "COUNT",
    ".",
    ";",
    "0x1F",
    "[q]",
    "CAST",
    "BULK",
    "WITH",
    "DROP",
    "ALTER",
    "ADD",
    "PRIMARY",
    "KEY",
    "CHECK",
    "DEFAULT",
    "IDENTITY",
    "HAVING",
    "DISTINCT",
];
