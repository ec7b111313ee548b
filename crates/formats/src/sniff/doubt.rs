//! Reasons why a guess may be wrong: evidence that is weak, or that supports another guess too.

use arrow::datatypes::DataType;

use super::Layout;
use super::delimited::Guess;
use crate::bcp::terminator;
use crate::{Encoding, InferredSchema};

/// Rows below which a guess rests on too little.
const ROWS_MIN: usize = 3;

/// Doubts about the encoding, the line ends and the delimiter.
pub(super) fn of_text(
    text: &str,
    encoding: Encoding,
    byte_order_mark: bool,
    line_end: &str,
    guess: Option<&Guess>,
) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Encoding::CodePage(number) = encoding
        && !byte_order_mark
    {
        let letters = text.chars().filter(|c| !c.is_ascii()).count();
        doubts.push(format!(
            "code page {number} is a guess from {letters} characters beyond ASCII; --encoding names another"
        ));
    }
    let (feeds, both) = (text.matches('\n').count(), text.matches("\r\n").count());
    let quotes = guess.is_some_and(|guess| guess.quote.is_some());
    if !quotes && both > 0 && feeds > both && guess.is_none_or(|guess| guess.row_terminator == line_end) {
        doubts.push(format!("lines end with \\r\\n {both} times, with \\n alone {} times", feeds - both));
    }
    if let Some(titles) = guess.map(|guess| guess.titles).filter(|titles| *titles > 0) {
        let lines = if titles == 1 { "line has".to_owned() } else { format!("{titles} lines have") };
        doubts.push(format!("the first {lines} no delimiter; --skip-lines passes lines"));
    }
    if let Some(rival) = guess.and_then(|guess| guess.rival.as_deref()) {
        doubts.push(format!(
            "{} divides the rows about as evenly; --delimiter names it",
            terminator::escape(rival.as_bytes())
        ));
    }
    doubts
}

/// Doubts about the rows that the guess makes.
pub(super) fn of_rows(
    rows: &[Vec<String>],
    odd_rows: usize,
    inferred: &InferredSchema,
    layout: &Layout,
    header: bool,
) -> Vec<String> {
    let mut doubts = Vec::new();
    let count = rows.len();
    if count < ROWS_MIN && *layout != Layout::OneColumn {
        let plural = if count == 1 { "" } else { "s" };
        doubts.push(format!("only {count} row{plural} to judge by"));
    }
    // Lengths differ for many reasons; another number of fields is a sign of the wrong delimiter.
    if odd_rows * 20 > count && matches!(layout, Layout::Delimited { .. }) {
        doubts.push(format!("{odd_rows} of {count} rows have another number of fields"));
    }
    let is_text = |data_type: &DataType| *data_type == DataType::Utf8;
    let all_text = inferred.columns.iter().all(|column| is_text(column.field.data_type()));
    match layout {
        Layout::OneColumn if rows.iter().flatten().any(|line| line.contains([',', ';', '\t', '|'])) => {
            doubts.push("no delimiter divides the rows evenly".to_owned());
        }
        Layout::OneColumn => {}
        _ if all_text && count > 1 => {
            let said = if header { "is taken for a header" } else { "is taken for data" };
            doubts.push(format!("all columns are text: the first row {said} for its words alone"));
        }
        _ => {}
    }
    doubts
}
