//! Languages of sessions (SET LANGUAGE, `sys.syslanguages`): names of months and days, the order of dates, the first day of the week.

use rows::text::calendar::{MONTH_NAMES, WEEKDAY_NAMES};

use crate::date_format::DateFormat;

/// A language.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Its name, as `@@LANGUAGE` has it.
    pub name: &'static str,
    /// Its English name.
    pub alias: &'static str,
    /// `@@LANGID`.
    pub id: u8,
    /// Windows' number of its locale.
    pub lcid: u16,
    /// The culture of FORMAT and PARSE.
    pub culture: &'static str,
    /// The order of day, month and year.
    pub date_format: DateFormat,
    /// The first day of the week: 1 is Monday.
    pub date_first: u8,
    /// Names of the months.
    pub months: [&'static str; 12],
    /// Short names of the months, None: the first three letters.
    short_months: Option<[&'static str; 12]>,
    /// Names of the days, from Monday on.
    pub days: [&'static str; 7],
}

impl Language {
    /// The language of a session that asks for none.
    pub const ENGLISH: &'static Language = &US_ENGLISH;

    /// Returns the language of a name, in any case.
    pub fn named(name: &str) -> Option<&'static Language> {
        let wanted = name.trim().to_lowercase();
        all().find(|own| own.name.to_lowercase() == wanted || own.alias.to_lowercase() == wanted)
    }

    /// Returns the language of a number (`@@LANGID`).
    pub(crate) fn of_id(id: u8) -> &'static Language {
        all().find(|own| own.id == id).unwrap_or(Language::ENGLISH)
    }

    /// Returns the short name of a month, from 1.
    pub fn short_month(&self, month: u32) -> &'static str {
        let at = month.saturating_sub(1) as usize;
        let short = match &self.short_months {
            Some(names) => names.get(at).copied(),
            None => self.months.get(at).and_then(|name| name.get(..3)),
        };
        short.unwrap_or_default()
    }

    /// Returns a text with the English name in the place of the month's; None if it names no month. `Err`: the month is named in
    /// English, which this language is not.
    pub(crate) fn with_english_month(&self, text: &str) -> Result<Option<String>, EnglishMonth> {
        let Some(start) = text.find(char::is_alphabetic) else { return Ok(None) };
        let (before, rest) = text.split_at(start);
        let end = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let word = word.to_lowercase();
        match (self.month_named(&word), Language::ENGLISH.month_named(&word)) {
            (Some(month), _) => {
                let english = MONTH_NAMES.get(month as usize - 1).copied().unwrap_or_default();
                Ok(Some(format!("{before}{english}{after}")))
            }
            (None, Some(_)) => Err(EnglishMonth),
            (None, None) => Ok(None),
        }
    }

    /// Returns the month, from 1, of a name in small letters.
    fn month_named(&self, word: &str) -> Option<u32> {
        (1..=12).find(|month| {
            let long = self.months.get(*month as usize - 1).is_some_and(|name| name.to_lowercase() == word);
            long || self.short_month(*month).to_lowercase() == word
        })
    }
}

/// A month is named in English where that is not the language.
pub(crate) struct EnglishMonth;

/// Lists the languages, in the order of their numbers.
pub fn all() -> impl Iterator<Item = &'static Language> {
    std::iter::once(Language::ENGLISH).chain(&OTHERS)
}

const US_ENGLISH: Language = Language {
    name: "us_english",
    alias: "English",
    id: 0,
    lcid: 1033,
    culture: "en-US",
    date_format: DateFormat::Mdy,
    date_first: 7,
    months: MONTH_NAMES,
    short_months: None,
    days: WEEKDAY_NAMES,
};

const OTHERS: [Language; 12] = [
    Language {
        name: "Deutsch",
        alias: "German",
        id: 1,
        lcid: 1031,
        culture: "de-DE",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        short_months: Some([
            "Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
        ]),
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    },
    Language {
        name: "Français",
        alias: "French",
        id: 2,
        lcid: 1036,
        culture: "fr-FR",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        short_months: Some([
            "janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc",
        ]),
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    },
    Language {
        name: "Dansk",
        alias: "Danish",
        id: 4,
        lcid: 1030,
        culture: "da-DK",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "januar",
            "februar",
            "marts",
            "april",
            "maj",
            "juni",
            "juli",
            "august",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: None,
        days: ["mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag"],
    },
    Language {
        name: "Español",
        alias: "Spanish",
        id: 5,
        lcid: 3082,
        culture: "es-ES",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "Enero",
            "Febrero",
            "Marzo",
            "Abril",
            "Mayo",
            "Junio",
            "Julio",
            "Agosto",
            "Septiembre",
            "Octubre",
            "Noviembre",
            "Diciembre",
        ],
        short_months: None,
        days: ["Lunes", "Martes", "Miércoles", "Jueves", "Viernes", "Sábado", "Domingo"],
    },
    Language {
        name: "Italiano",
        alias: "Italian",
        id: 6,
        lcid: 1040,
        culture: "it-IT",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        short_months: None,
        days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
    },
    Language {
        name: "Nederlands",
        alias: "Dutch",
        id: 7,
        lcid: 1043,
        culture: "nl-NL",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "januari",
            "februari",
            "maart",
            "april",
            "mei",
            "juni",
            "juli",
            "augustus",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: Some([
            "jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec",
        ]),
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
    },
    Language {
        name: "Norsk",
        alias: "Norwegian",
        id: 8,
        lcid: 2068,
        culture: "nn-NO",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "januar",
            "februar",
            "mars",
            "april",
            "mai",
            "juni",
            "juli",
            "august",
            "september",
            "oktober",
            "november",
            "desember",
        ],
        short_months: None,
        days: ["mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag"],
    },
    Language {
        name: "Português",
        alias: "Portuguese",
        id: 9,
        lcid: 2070,
        culture: "pt-PT",
        date_format: DateFormat::Dmy,
        date_first: 7,
        months: PORTUGUESE_MONTHS,
        short_months: None,
        days: PORTUGUESE_DAYS,
    },
    Language {
        name: "Svenska",
        alias: "Swedish",
        id: 11,
        lcid: 1053,
        culture: "sv-SE",
        date_format: DateFormat::Ymd,
        date_first: 1,
        months: [
            "januari",
            "februari",
            "mars",
            "april",
            "maj",
            "juni",
            "juli",
            "augusti",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: None,
        days: ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
    },
    Language {
        name: "Türkçe",
        alias: "Turkish",
        id: 22,
        lcid: 1055,
        culture: "tr-TR",
        date_format: DateFormat::Dmy,
        date_first: 1,
        months: [
            "Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim",
            "Kasım", "Aralık",
        ],
        short_months: Some([
            "Oca", "Şub", "Mar", "Nis", "May", "Haz", "Tem", "Ağu", "Eyl", "Eki", "Kas", "Ara",
        ]),
        days: ["Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma", "Cumartesi", "Pazar"],
    },
    Language {
        name: "British",
        alias: "British English",
        id: 23,
        lcid: 2057,
        culture: "en-GB",
        date_format: DateFormat::Dmy,
        date_first: 1,
        ..US_ENGLISH
    },
    Language {
        name: "Português (Brasil)",
        alias: "Brazilian",
        id: 27,
        lcid: 1046,
        culture: "pt-BR",
        date_format: DateFormat::Dmy,
        date_first: 7,
        months: PORTUGUESE_MONTHS,
        short_months: None,
        days: PORTUGUESE_DAYS,
    },
];

const PORTUGUESE_MONTHS: [&str; 12] = [
    "Janeiro",
    "Fevereiro",
    "Março",
    "Abril",
    "Maio",
    "Junho",
    "Julho",
    "Agosto",
    "Setembro",
    "Outubro",
    "Novembro",
    "Dezembro",
];
const PORTUGUESE_DAYS: [&str; 7] =
    ["segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"];
