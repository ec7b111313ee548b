//! Options for the spelling of numbers and dates in texts.

use clap::{Args, ValueEnum};
use rows::text::DateOrder;
use rows::text::spelling::{
    CurrencySign, DecimalMark, NumberSpelling, Percent, TextSpelling, ThousandsMark, YEAR_CUTOFF,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{column_types::ColumnTypes, error::CopyError};

/// The spelling of numbers and dates in the source's texts, wherever they become numbers and dates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TextOptions {
    /// Order of day, month and year in all-digit dates that do not begin with a year of four digits
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Text")]
    pub date_order: Option<DateOrderName>,
    /// The last year that two digits stand for: 2049 makes 49 2049 and 50 1950 (default: 2049 beside --date-order, else years
    /// of two digits are refused)
    #[arg(long, value_name = "YEAR", help_heading = "Text", value_parser = clap::value_parser!(u16).range(99..=9999))]
    #[schemars(range(min = 99, max = 9999))]
    pub year_cutoff: Option<u16>,
    /// The mark in front of decimals: , or . (default: a point, and no mark between groups)
    #[arg(long, value_enum, value_name = "MARK", help_heading = "Text")]
    pub decimal: Option<DecimalName>,
    /// The mark between groups of three digits: , or . or ' or blank (any blank, no-break too)
    #[arg(long, value_enum, value_name = "MARK", help_heading = "Text", allow_hyphen_values = true)]
    pub thousands: Option<ThousandsName>,
    /// The sign or code of the currency that may stand beside numbers, and is left out: €, $, EUR; any other is refused
    #[arg(long, value_name = "SIGN", help_heading = "Text")]
    pub currency: Option<String>,
    /// The value of 12 %: number is 12, fraction is 0.12 (default: a percent sign is refused)
    #[arg(long, value_enum, value_name = "VALUE", help_heading = "Text")]
    pub percent: Option<PercentName>,
    /// Types of columns of text files, for a table that is made or a file with types: "price=decimal(9,2), zip=char(5)" (default:
    /// the narrowest that all values fit)
    #[arg(long, value_name = "TYPES", help_heading = "Text")]
    pub types: Option<String>,
}

/// Orders of the parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrderName {
    /// Month, day, year.
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day, where the year has two digits.
    Ymd,
}

/// Marks in front of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
pub enum DecimalName {
    /// 1,5
    #[value(name = ",", alias = "comma")]
    #[serde(rename = ",", alias = "comma")]
    Comma,
    /// 1.5
    #[value(name = ".", alias = "point")]
    #[serde(rename = ".", alias = "point")]
    Point,
}

/// Marks between groups of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
pub enum ThousandsName {
    /// 1,234
    #[value(name = ",", alias = "comma")]
    #[serde(rename = ",", alias = "comma")]
    Comma,
    /// 1.234
    #[value(name = ".", alias = "point")]
    #[serde(rename = ".", alias = "point")]
    Point,
    /// 1'234
    #[value(name = "'", alias = "apostrophe")]
    #[serde(rename = "'", alias = "apostrophe")]
    Apostrophe,
    /// 1 234
    #[value(name = "blank", alias = " ")]
    #[serde(rename = "blank", alias = " ")]
    Blank,
}

/// Values of percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PercentName {
    /// 12 % is 12.
    Number,
    /// 12 % is 0.12.
    Fraction,
}

impl TextOptions {
    /// Returns the spelling that the options describe.
    ///
    /// # Errors
    /// One mark has two meanings, or the currency is none.
    pub fn spelling(&self) -> Result<TextSpelling, CopyError> {
        let is_spelled = self.decimal.is_some()
            || self.thousands.is_some()
            || self.currency.is_some()
            || self.percent.is_some();
        Ok(TextSpelling {
            date_order: self.date_order.map(DateOrder::from),
            year_cutoff: self.year_cutoff.or(self.date_order.map(|_| YEAR_CUTOFF)),
            numbers: if is_spelled { Some(self.numbers()?) } else { None },
        })
    }

    /// Returns the types of columns that the options name.
    ///
    /// # Errors
    /// A part is no name with a type.
    pub fn column_types(&self) -> Result<Option<ColumnTypes>, CopyError> {
        self.types.as_deref().map(ColumnTypes::parse).transpose()
    }

    fn numbers(&self) -> Result<NumberSpelling, CopyError> {
        let numbers = NumberSpelling {
            decimal: match self.decimal {
                Some(DecimalName::Comma) => DecimalMark::Comma,
                Some(DecimalName::Point) | None => DecimalMark::Point,
            },
            thousands: self.thousands.map(|mark| match mark {
                ThousandsName::Comma => ThousandsMark::Comma,
                ThousandsName::Point => ThousandsMark::Point,
                ThousandsName::Apostrophe => ThousandsMark::Apostrophe,
                ThousandsName::Blank => ThousandsMark::Blank,
            }),
            currency: match &self.currency {
                Some(text) => {
                    let sign = text.parse::<CurrencySign>();
                    Some(sign.map_err(|problem| CopyError::Usage(format!("--currency {text}: {problem}")))?)
                }
                None => None,
            },
            percent: self.percent.map(|value| match value {
                PercentName::Number => Percent::Number,
                PercentName::Fraction => Percent::Fraction,
            }),
        };
        match numbers.is_contradictory() {
            true => Err(CopyError::Usage(
                "--decimal and --thousands are the same mark: say the other one too (default: --decimal .)"
                    .to_owned(),
            )),
            false => Ok(numbers),
        }
    }
}

impl From<DateOrderName> for DateOrder {
    fn from(name: DateOrderName) -> DateOrder {
        match name {
            DateOrderName::Mdy => DateOrder::MonthDayYear,
            DateOrderName::Dmy => DateOrder::DayMonthYear,
            DateOrderName::Ymd => DateOrder::YearMonthDay,
        }
    }
}
