//! Fits text into a code page: letters that it has only without their marks lose these, and other characters become `?`.

use tds::CodePage;

/// Returns the text as the code page can hold it; `None` if that is the text itself.
pub fn in_code_page(text: &str, page: CodePage) -> Option<String> {
    if text.is_ascii() || page == CodePage::Utf8 || page.encoded_len(text).is_ok() {
        return None;
    }
    let mut fitted = String::with_capacity(text.len());
    for ch in text.chars() {
        match (ch.is_ascii() || holds(page, ch), ch.len_utf16()) {
            (true, _) => fitted.push(ch),
            (false, 1) => fitted.push(best_fit(page, ch).unwrap_or('?')),
            // A conversion sees two units.
            (false, _) => fitted.push_str("??"),
        }
    }
    Some(fitted)
}

/// Encodes a text in a code page, after [`in_code_page`].
pub fn code_page_bytes(text: &str, page: CodePage) -> Vec<u8> {
    let fitted = in_code_page(text, page);
    let text = fitted.as_deref().unwrap_or(text);
    page.encode(text).map_or_else(|_| vec![b'?'; text.chars().count()], |bytes| bytes.into_owned())
}

/// Decodes bytes of a code page. An invalid byte becomes the character of its number.
pub fn from_code_page(bytes: &[u8], page: CodePage) -> String {
    match page.decode(bytes) {
        Ok(text) => text.into_owned(),
        Err(_) if page == CodePage::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => bytes.iter().map(|byte| *byte as char).collect(),
    }
}

fn holds(page: CodePage, ch: char) -> bool {
    page.encoded_len(ch.encode_utf8(&mut [0; 4])).is_ok()
}

/// Returns the letter of Windows' best-fit tables: a Latin letter without its marks, or the narrow form of a wide
/// character.
fn best_fit(page: CodePage, ch: char) -> Option<char> {
    let code = u32::from(ch);
    let plain = match code {
        // The Vietnamese page puts marks behind their letters, and has no table for whole ones.
        0x00C0..=0x00FF if page == CodePage::Cp1258 => None,
        0x00C0..=0x00FF => at(LATIN_1, code - 0x00C0),
        0x0180..=0x03FF if page == CodePage::Cp1252 => {
            FURTHER_1252.iter().find(|(from, _)| *from == ch).map(|(_, to)| *to)
        }
        0x0100..=0x017F => at(LATIN_EXTENDED, code - 0x0100),
        0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0),
        0x3000 => Some(' '),
        _ => None,
    };
    plain.filter(|plain| *plain != '?' && page.max_char_len_bytes() == 1)
}

fn at(letters: &str, index: u32) -> Option<char> {
    letters.as_bytes().get(index as usize).map(|letter| *letter as char)
}

/// U+00C0 to U+00FF; `?` where nothing fits.
const LATIN_1: &str = "AAAAAAACEEEEIIIIDNOOOOO?OUUUUY??aaaaaaaceeeeiiiidnooooo?ouuuuy?y";

/// U+0100 to U+017F; `?` where nothing fits.
const LATIN_EXTENDED: &str = "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi??JjKk?LlLlLl??LlNnNnNn???OoOoOo??RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz?";

/// Vietnamese, Chinese and Greek letters that 1252 alone has a letter for.
const FURTHER_1252: &[(char, char)] = &[
    ('Ơ', 'O'),
    ('ơ', 'o'),
    ('Ư', 'U'),
    ('ư', 'u'),
    ('Ǎ', 'A'),
    ('ǎ', 'a'),
    ('Ǐ', 'I'),
    ('ǐ', 'i'),
    ('Ǒ', 'O'),
    ('ǒ', 'o'),
    ('Ǔ', 'U'),
    ('ǔ', 'u'),
    ('Γ', 'G'),
    ('Θ', 'T'),
    ('Σ', 'S'),
    ('Φ', 'F'),
    ('Ω', 'O'),
    ('α', 'a'),
    ('β', 'ß'),
    ('δ', 'd'),
    ('ε', 'e'),
    ('μ', 'µ'),
    ('π', 'p'),
    ('σ', 's'),
    ('τ', 't'),
    ('φ', 'f'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_a_letter_for_each_character() {
        assert_eq!((LATIN_1.len(), LATIN_EXTENDED.len()), (0x40, 0x80));
        let fit = |ch| best_fit(CodePage::Cp1252, ch);
        assert_eq!(
            [fit('Ł'), fit('ź'), fit('ő'), fit('ŵ'), fit('Ÿ')],
            [Some('L'), Some('z'), Some('o'), Some('w'), Some('Y')]
        );
        assert_eq!([fit('ơ'), fit('Σ'), fit('μ'), fit('λ')], [Some('o'), Some('S'), Some('µ'), None]);
        assert_eq!([best_fit(CodePage::Cp1258, 'ã'), best_fit(CodePage::Cp1250, 'Σ')], [None, None]);
        assert_eq!([fit('中'), fit('→'), fit('Ａ')], [None, None, Some('A')]);
    }
}
