//! Replaces characters that a code page lacks. On Linux the original lets the C library's iconv transliterate: `€` becomes `EUR`,
//! `À` in code page 437 becomes `A`, and other characters become `?`. This module has that table for the letters of Western
//! Europe, common punctuation and box drawing.

use tds::CodePage;

/// Appends `text` in `page`, or for `None` in ISO 8859-1. Returns whether anything was replaced.
pub(super) fn encode(text: &str, page: Option<CodePage>, out: &mut Vec<u8>) -> bool {
    let mut replaced = false;
    let mut buffer = [0; 4];
    for character in text.chars() {
        if push(character.encode_utf8(&mut buffer), page, out) {
            continue;
        }
        replaced = true;
        if !substitute(character).is_some_and(|substitute| push(substitute, page, out)) {
            out.push(b'?');
        }
    }
    replaced
}

/// Replaces the characters of `text` that `page` lacks.
pub(super) fn encodable(text: &str, page: CodePage) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut buffer, mut bytes) = ([0; 4], Vec::new());
    for character in text.chars() {
        bytes.clear();
        if push(character.encode_utf8(&mut buffer), Some(page), &mut bytes) {
            kept.push(character);
        } else {
            kept.push_str(substitute(character).unwrap_or("?"));
        }
    }
    kept
}

fn push(text: &str, page: Option<CodePage>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let encoded = match page {
        Some(page) => page.encode_into(text, out).is_ok(),
        None => text.chars().all(|character| match u8::try_from(u32::from(character)) {
            Ok(byte) => {
                out.push(byte);
                true
            }
            Err(_) => false,
        }),
    };
    if !encoded {
        out.truncate(start);
    }
    encoded
}

/// Returns a substitute in ASCII, so that every code page has it.
fn substitute(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{FEFF}' | '\u{200B}' => "",
        '\u{A0}' => " ",
        '\u{AD}' | '‐' | '‑' | '‒' | '–' | '—' | '─' => "-",
        '©' => "(C)",
        '®' => "(R)",
        '«' => "<<",
        '»' => ">>",
        '¼' => " 1/4 ",
        '½' => " 1/2 ",
        '¾' => " 3/4 ",
        'µ' | 'ù' | 'ú' | 'û' | 'ü' => "u",
        'À' | 'Á' | 'Â' | 'Ã' | 'Ä' | 'Å' => "A",
        'Æ' => "AE",
        'Ç' => "C",
        'È' | 'É' | 'Ê' | 'Ë' => "E",
        'Ì' | 'Í' | 'Î' | 'Ï' => "I",
        'Ð' => "D",
        'Ñ' => "N",
        'Ò' | 'Ó' | 'Ô' | 'Õ' | 'Ö' | 'Ø' => "O",
        '×' => "x",
        'Ù' | 'Ú' | 'Û' | 'Ü' => "U",
        'Ý' | 'Ÿ' => "Y",
        'Þ' => "TH",
        'ß' => "ss",
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => "a",
        'æ' => "ae",
        'ç' => "c",
        'è' | 'é' | 'ê' | 'ë' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ð' => "d",
        'ñ' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => "o",
        '÷' => ":",
        'ý' | 'ÿ' => "y",
        'þ' => "th",
        'Œ' => "OE",
        'œ' => "oe",
        'Š' => "S",
        'š' => "s",
        'Ž' => "Z",
        'ž' => "z",
        'ƒ' => "f",
        '‘' | '’' | '‚' | '′' => "'",
        '“' | '”' => "\"",
        '„' => ",,",
        '…' => "...",
        '•' => "o",
        '‹' => "<",
        '›' => ">",
        '€' => "EUR",
        '™' => "TM",
        '│' | '║' => "|",
        '═' => "=",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => "+",
        '\u{2552}'..='\u{256C}' => "+",
        _ => return None,
    })
}
