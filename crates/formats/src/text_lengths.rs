//! The longest text of a column.

/// Longest texts, in every unit a target may count in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextLengths {
    pub(crate) max_chars: u64,
    pub(crate) max_utf16_units: u64,
    pub(crate) max_utf8_bytes: u64,
    has_wide: bool,
}

impl TextLengths {
    pub(crate) fn observe(&mut self, text: &str) {
        self.max_utf8_bytes = self.max_utf8_bytes.max(text.len() as u64);
        // A text takes at most as many characters or units as bytes.
        let may_grow = text.len() as u64 > self.max_chars.min(self.max_utf16_units);
        if !may_grow && self.has_wide {
            return;
        }
        if text.is_ascii() {
            self.max_chars = self.max_chars.max(text.len() as u64);
            self.max_utf16_units = self.max_utf16_units.max(text.len() as u64);
        } else {
            self.has_wide = true;
            self.max_chars = self.max_chars.max(text.chars().count() as u64);
            self.max_utf16_units = self.max_utf16_units.max(text.encode_utf16().count() as u64);
        }
    }

    pub(crate) fn is_ascii(&self) -> bool {
        !self.has_wide
    }
}
