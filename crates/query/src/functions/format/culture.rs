//! Cultures of .NET, as Windows has them: how numbers, moneys and dates are written.

use rows::text::calendar::{MONTH_NAMES, WEEKDAY_NAMES};
use tsql::SqlError;

/// How a culture writes.
#[derive(Debug)]
pub(super) struct Culture {
    /// Names that it is known by.
    pub names: &'static [&'static str],
    /// Before the fraction.
    pub point: &'static str,
    /// Between groups of three digits.
    pub group: &'static str,
    /// Amounts of money, `n` being the number and `$` the currency: from zero on, and below.
    pub money: (&'static str, &'static str),
    /// The sign of the currency.
    pub currency: &'static str,
    /// What stands between a percentage and its sign.
    pub percent_gap: &'static str,
    /// What `/` stands for in a pattern of dates.
    pub date_separator: &'static str,
    /// Patterns of dates and times.
    pub patterns: Patterns,
    /// Names of months.
    pub months: [&'static str; 12],
    /// Short names of months; None: the first three letters.
    pub short_months: Option<[&'static str; 12]>,
    /// Names of days, from Monday on.
    pub days: [&'static str; 7],
    /// Short names of days; None: the first three letters.
    pub short_days: Option<[&'static str; 7]>,
    /// Of the halves of a day; empty where hours are counted to 24.
    pub halves: [&'static str; 2],
}

/// Patterns of dates and times.
#[derive(Debug)]
pub(super) struct Patterns {
    /// `d`.
    pub short_date: &'static str,
    /// `D`.
    pub long_date: &'static str,
    /// `t`.
    pub short_time: &'static str,
    /// `T`.
    pub long_time: &'static str,
    /// `M`.
    pub month_day: &'static str,
    /// `Y`.
    pub year_month: &'static str,
}

impl Culture {
    /// Returns the culture of a name in any case. Errors: 9818 for one that is not known.
    pub fn named(name: &str) -> Result<&'static Culture, SqlError> {
        let wanted = name.trim().to_ascii_lowercase();
        ALL.iter().find(|culture| culture.names.contains(&wanted.as_str())).ok_or_else(|| {
            let text =
                format!("The culture parameter '{name}' provided in the function call is not supported.");
            SqlError::new(9818, 16, 1, text)
        })
    }

    /// Returns the short name of a month, from 1.
    pub fn short_month(&self, month: u32) -> Option<&'static str> {
        let at = usize::try_from(month).ok()?.checked_sub(1)?;
        match &self.short_months {
            Some(names) => names.get(at).copied(),
            None => self.months.get(at)?.get(..3),
        }
    }

    /// Returns the short name of a day; 0 is Monday.
    pub fn short_day(&self, day: usize) -> Option<&'static str> {
        match &self.short_days {
            Some(names) => names.get(day).copied(),
            None => self.days.get(day)?.get(..3),
        }
    }
}

const UNITED_STATES: Culture = Culture {
    names: &["en-us", "en"],
    point: ".",
    group: ",",
    money: ("$n", "($n)"),
    currency: "$",
    percent_gap: " ",
    date_separator: "/",
    patterns: Patterns {
        short_date: "M/d/yyyy",
        long_date: "dddd, MMMM d, yyyy",
        short_time: "h:mm tt",
        long_time: "h:mm:ss tt",
        month_day: "MMMM d",
        year_month: "MMMM yyyy",
    },
    months: MONTH_NAMES,
    short_months: None,
    days: WEEKDAY_NAMES,
    short_days: None,
    halves: ["AM", "PM"],
};

const INVARIANT: Culture = Culture {
    names: &["", "iv"],
    currency: "¤",
    patterns: Patterns {
        short_date: "MM/dd/yyyy",
        long_date: "dddd, dd MMMM yyyy",
        short_time: "HH:mm",
        long_time: "HH:mm:ss",
        month_day: "MMMM dd",
        year_month: "yyyy MMMM",
    },
    ..UNITED_STATES
};

const BRITISH: Culture = Culture {
    names: &["en-gb"],
    money: ("$n", "-$n"),
    currency: "£",
    patterns: Patterns {
        short_date: "dd/MM/yyyy",
        long_date: "dd MMMM yyyy",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
        ..INVARIANT.patterns
    },
    ..UNITED_STATES
};

const GERMAN: Culture = Culture {
    names: &["de-de", "de"],
    point: ",",
    group: ".",
    money: ("n $", "-n $"),
    currency: "€",
    date_separator: ".",
    patterns: Patterns {
        short_date: "dd.MM.yyyy",
        long_date: "dddd, d. MMMM yyyy",
        month_day: "d. MMMM",
        year_month: "MMMM yyyy",
        ..INVARIANT.patterns
    },
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
    short_months: Some(["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]),
    days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    short_days: Some(["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"]),
    halves: ["", ""],
    ..UNITED_STATES
};

const FRENCH: Culture = Culture {
    names: &["fr-fr", "fr"],
    point: ",",
    group: "\u{A0}",
    money: ("n $", "-n $"),
    currency: "€",
    patterns: Patterns {
        short_date: "dd/MM/yyyy",
        long_date: "dddd d MMMM yyyy",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
        ..INVARIANT.patterns
    },
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
        "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc.",
    ]),
    days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    short_days: Some(["lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."]),
    halves: ["", ""],
    ..UNITED_STATES
};

const SPANISH: Culture = Culture {
    names: &["es-es", "es"],
    point: ",",
    group: ".",
    money: ("n $", "-n $"),
    currency: "€",
    patterns: Patterns {
        short_date: "dd/MM/yyyy",
        long_date: "dddd, d' de 'MMMM' de 'yyyy",
        short_time: "H:mm",
        long_time: "H:mm:ss",
        month_day: "d' de 'MMMM",
        year_month: "MMMM' de 'yyyy",
    },
    months: [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    days: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
    short_days: Some(["lun.", "mar.", "mié.", "jue.", "vie.", "sáb.", "dom."]),
    short_months: Some([
        "ene.", "feb.", "mar.", "abr.", "may.", "jun.", "jul.", "ago.", "sep.", "oct.", "nov.", "dic.",
    ]),
    halves: ["", ""],
    ..UNITED_STATES
};

const ITALIAN: Culture = Culture {
    names: &["it-it", "it"],
    point: ",",
    group: ".",
    money: ("n $", "-n $"),
    currency: "€",
    percent_gap: "",
    patterns: Patterns {
        short_date: "dd/MM/yyyy",
        long_date: "dddd d MMMM yyyy",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
        ..INVARIANT.patterns
    },
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
    days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
    halves: ["", ""],
    ..UNITED_STATES
};

const DUTCH: Culture = Culture {
    names: &["nl-nl", "nl"],
    point: ",",
    group: ".",
    money: ("$ n", "$ -n"),
    currency: "€",
    date_separator: "-",
    patterns: Patterns {
        short_date: "d-M-yyyy",
        long_date: "dddd d MMMM yyyy",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
        ..INVARIANT.patterns
    },
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
    short_months: Some(["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"]),
    days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
    short_days: Some(["ma", "di", "wo", "do", "vr", "za", "zo"]),
    halves: ["", ""],
    ..UNITED_STATES
};

const BRAZILIAN: Culture = Culture {
    names: &["pt-br"],
    point: ",",
    group: ".",
    money: ("$ n", "-$ n"),
    currency: "R$",
    percent_gap: "",
    patterns: Patterns {
        short_date: "dd/MM/yyyy",
        long_date: "dddd, d' de 'MMMM' de 'yyyy",
        month_day: "d' de 'MMMM",
        year_month: "MMMM' de 'yyyy",
        ..INVARIANT.patterns
    },
    months: [
        "janeiro",
        "fevereiro",
        "março",
        "abril",
        "maio",
        "junho",
        "julho",
        "agosto",
        "setembro",
        "outubro",
        "novembro",
        "dezembro",
    ],
    days: [
        "segunda-feira",
        "terça-feira",
        "quarta-feira",
        "quinta-feira",
        "sexta-feira",
        "sábado",
        "domingo",
    ],
    short_days: Some(["seg", "ter", "qua", "qui", "sex", "sáb", "dom"]),
    halves: ["", ""],
    ..UNITED_STATES
};

const SWEDISH: Culture = Culture {
    names: &["sv-se", "sv"],
    point: ",",
    group: "\u{A0}",
    money: ("n $", "-n $"),
    currency: "kr",
    date_separator: "-",
    patterns: Patterns {
        short_date: "yyyy-MM-dd",
        long_date: "'den 'd MMMM yyyy",
        month_day: "'den 'd MMMM",
        year_month: "MMMM yyyy",
        ..INVARIANT.patterns
    },
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
    days: ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
    short_days: Some(["må", "ti", "on", "to", "fr", "lö", "sö"]),
    halves: ["", ""],
    ..UNITED_STATES
};

const CHINESE: Culture = Culture {
    names: &["zh-cn"],
    money: ("$n", "$-n"),
    currency: "¥",
    percent_gap: "",
    patterns: Patterns {
        short_date: "yyyy/M/d",
        long_date: "yyyy'年'M'月'd'日'",
        short_time: "H:mm",
        long_time: "H:mm:ss",
        month_day: "M'月'd'日'",
        year_month: "yyyy'年'M'月'",
    },
    months: [
        "一月",
        "二月",
        "三月",
        "四月",
        "五月",
        "六月",
        "七月",
        "八月",
        "九月",
        "十月",
        "十一月",
        "十二月",
    ],
    short_months: Some([
        "1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月",
    ]),
    days: ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"],
    short_days: Some(["周一", "周二", "周三", "周四", "周五", "周六", "周日"]),
    halves: ["上午", "下午"],
    ..UNITED_STATES
};

const JAPANESE: Culture = Culture {
    names: &["ja-jp", "ja"],
    money: ("$n", "-$n"),
    currency: "¥",
    percent_gap: "",
    patterns: Patterns { short_date: "yyyy/MM/dd", ..CHINESE.patterns },
    months: ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
    short_months: Some(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"]),
    days: ["月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"],
    short_days: Some(["月", "火", "水", "木", "金", "土", "日"]),
    halves: ["午前", "午後"],
    ..UNITED_STATES
};

/// The cultures that are known.
static ALL: [Culture; 12] = [
    UNITED_STATES,
    INVARIANT,
    BRITISH,
    GERMAN,
    FRENCH,
    SPANISH,
    ITALIAN,
    DUTCH,
    BRAZILIAN,
    SWEDISH,
    CHINESE,
    JAPANESE,
];
