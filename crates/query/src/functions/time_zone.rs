//! Time zones by their Windows names, and AT TIME ZONE.

use arrow::array::timezone::Tz;
use chrono::{Offset, TimeZone};
use tds::SqlType;

use super::super::datum::{DAYS_MAX, DAYS_TO_1970, TICKS_PER_DAY, TICKS_PER_SECOND};
use super::super::typed::Typed;
use super::super::{Datum, Facts};
use super::function::{Call, Function};
use super::kernel::{Kernel, scalar};
use super::strict;
use tsql::SqlError;

/// Windows names with the zones of the tz database, by Unicode's CLDR.
pub const TIME_ZONES: &[(&str, &str)] = &[
    ("Dateline Standard Time", "Etc/GMT+12"),
    ("UTC-11", "Etc/GMT+11"),
    ("Aleutian Standard Time", "America/Adak"),
    ("Hawaiian Standard Time", "Pacific/Honolulu"),
    ("Marquesas Standard Time", "Pacific/Marquesas"),
    ("Alaskan Standard Time", "America/Anchorage"),
    ("UTC-09", "Etc/GMT+9"),
    ("Pacific Standard Time (Mexico)", "America/Tijuana"),
    ("UTC-08", "Etc/GMT+8"),
    ("Pacific Standard Time", "America/Los_Angeles"),
    ("US Mountain Standard Time", "America/Phoenix"),
    ("Mountain Standard Time (Mexico)", "America/Mazatlan"),
    ("Mountain Standard Time", "America/Denver"),
    ("Yukon Standard Time", "America/Whitehorse"),
    ("Central America Standard Time", "America/Guatemala"),
    ("Central Standard Time", "America/Chicago"),
    ("Easter Island Standard Time", "Pacific/Easter"),
    ("Central Standard Time (Mexico)", "America/Mexico_City"),
    ("Canada Central Standard Time", "America/Regina"),
    ("SA Pacific Standard Time", "America/Bogota"),
    ("Eastern Standard Time (Mexico)", "America/Cancun"),
    ("Eastern Standard Time", "America/New_York"),
    ("Haiti Standard Time", "America/Port-au-Prince"),
    ("Cuba Standard Time", "America/Havana"),
    ("US Eastern Standard Time", "America/Indiana/Indianapolis"),
    ("Turks And Caicos Standard Time", "America/Grand_Turk"),
    ("Paraguay Standard Time", "America/Asuncion"),
    ("Atlantic Standard Time", "America/Halifax"),
    ("Venezuela Standard Time", "America/Caracas"),
    ("Central Brazilian Standard Time", "America/Cuiaba"),
    ("SA Western Standard Time", "America/La_Paz"),
    ("Pacific SA Standard Time", "America/Santiago"),
    ("Newfoundland Standard Time", "America/St_Johns"),
    ("Tocantins Standard Time", "America/Araguaina"),
    ("E. South America Standard Time", "America/Sao_Paulo"),
    ("SA Eastern Standard Time", "America/Cayenne"),
    ("Argentina Standard Time", "America/Argentina/Buenos_Aires"),
    ("Greenland Standard Time", "America/Nuuk"),
    ("Montevideo Standard Time", "America/Montevideo"),
    ("Magallanes Standard Time", "America/Punta_Arenas"),
    ("Saint Pierre Standard Time", "America/Miquelon"),
    ("Bahia Standard Time", "America/Bahia"),
    ("UTC-02", "Etc/GMT+2"),
    // Windows keeps it, without a place that is in it.
    ("Mid-Atlantic Standard Time", "Etc/GMT+2"),
    ("Azores Standard Time", "Atlantic/Azores"),
    ("Cape Verde Standard Time", "Atlantic/Cape_Verde"),
    ("UTC", "Etc/UTC"),
    ("GMT Standard Time", "Europe/London"),
    ("Greenwich Standard Time", "Atlantic/Reykjavik"),
    ("Sao Tome Standard Time", "Africa/Sao_Tome"),
    ("Morocco Standard Time", "Africa/Casablanca"),
    ("W. Europe Standard Time", "Europe/Berlin"),
    ("Central Europe Standard Time", "Europe/Budapest"),
    ("Romance Standard Time", "Europe/Paris"),
    ("Central European Standard Time", "Europe/Warsaw"),
    ("W. Central Africa Standard Time", "Africa/Lagos"),
    ("Jordan Standard Time", "Asia/Amman"),
    ("GTB Standard Time", "Europe/Bucharest"),
    ("Middle East Standard Time", "Asia/Beirut"),
    ("Egypt Standard Time", "Africa/Cairo"),
    ("E. Europe Standard Time", "Europe/Chisinau"),
    ("Syria Standard Time", "Asia/Damascus"),
    ("West Bank Standard Time", "Asia/Hebron"),
    ("South Africa Standard Time", "Africa/Johannesburg"),
    ("FLE Standard Time", "Europe/Kyiv"),
    ("Israel Standard Time", "Asia/Jerusalem"),
    ("South Sudan Standard Time", "Africa/Juba"),
    ("Kaliningrad Standard Time", "Europe/Kaliningrad"),
    ("Sudan Standard Time", "Africa/Khartoum"),
    ("Libya Standard Time", "Africa/Tripoli"),
    ("Namibia Standard Time", "Africa/Windhoek"),
    ("Arabic Standard Time", "Asia/Baghdad"),
    ("Turkey Standard Time", "Europe/Istanbul"),
    ("Arab Standard Time", "Asia/Riyadh"),
    ("Belarus Standard Time", "Europe/Minsk"),
    ("Russian Standard Time", "Europe/Moscow"),
    ("E. Africa Standard Time", "Africa/Nairobi"),
    ("Volgograd Standard Time", "Europe/Volgograd"),
    ("Iran Standard Time", "Asia/Tehran"),
    ("Arabian Standard Time", "Asia/Dubai"),
    ("Astrakhan Standard Time", "Europe/Astrakhan"),
    ("Azerbaijan Standard Time", "Asia/Baku"),
    ("Russia Time Zone 3", "Europe/Samara"),
    ("Mauritius Standard Time", "Indian/Mauritius"),
    ("Saratov Standard Time", "Europe/Saratov"),
    ("Georgian Standard Time", "Asia/Tbilisi"),
    ("Caucasus Standard Time", "Asia/Yerevan"),
    ("Afghanistan Standard Time", "Asia/Kabul"),
    ("West Asia Standard Time", "Asia/Tashkent"),
    ("Qyzylorda Standard Time", "Asia/Qyzylorda"),
    ("Ekaterinburg Standard Time", "Asia/Yekaterinburg"),
    ("Pakistan Standard Time", "Asia/Karachi"),
    ("India Standard Time", "Asia/Kolkata"),
    ("Sri Lanka Standard Time", "Asia/Colombo"),
    ("Nepal Standard Time", "Asia/Kathmandu"),
    ("Central Asia Standard Time", "Asia/Bishkek"),
    ("Bangladesh Standard Time", "Asia/Dhaka"),
    ("Omsk Standard Time", "Asia/Omsk"),
    ("Myanmar Standard Time", "Asia/Yangon"),
    ("SE Asia Standard Time", "Asia/Bangkok"),
    ("Altai Standard Time", "Asia/Barnaul"),
    ("W. Mongolia Standard Time", "Asia/Hovd"),
    ("North Asia Standard Time", "Asia/Krasnoyarsk"),
    ("N. Central Asia Standard Time", "Asia/Novosibirsk"),
    ("Tomsk Standard Time", "Asia/Tomsk"),
    ("China Standard Time", "Asia/Shanghai"),
    ("North Asia East Standard Time", "Asia/Irkutsk"),
    ("Singapore Standard Time", "Asia/Singapore"),
    ("W. Australia Standard Time", "Australia/Perth"),
    ("Taipei Standard Time", "Asia/Taipei"),
    ("Ulaanbaatar Standard Time", "Asia/Ulaanbaatar"),
    ("Aus Central W. Standard Time", "Australia/Eucla"),
    ("Transbaikal Standard Time", "Asia/Chita"),
    ("Tokyo Standard Time", "Asia/Tokyo"),
    ("North Korea Standard Time", "Asia/Pyongyang"),
    ("Korea Standard Time", "Asia/Seoul"),
    ("Yakutsk Standard Time", "Asia/Yakutsk"),
    ("Cen. Australia Standard Time", "Australia/Adelaide"),
    ("AUS Central Standard Time", "Australia/Darwin"),
    ("E. Australia Standard Time", "Australia/Brisbane"),
    ("AUS Eastern Standard Time", "Australia/Sydney"),
    ("West Pacific Standard Time", "Pacific/Port_Moresby"),
    ("Tasmania Standard Time", "Australia/Hobart"),
    ("Vladivostok Standard Time", "Asia/Vladivostok"),
    ("Lord Howe Standard Time", "Australia/Lord_Howe"),
    ("Bougainville Standard Time", "Pacific/Bougainville"),
    ("Russia Time Zone 10", "Asia/Srednekolymsk"),
    ("Magadan Standard Time", "Asia/Magadan"),
    ("Norfolk Standard Time", "Pacific/Norfolk"),
    ("Sakhalin Standard Time", "Asia/Sakhalin"),
    ("Central Pacific Standard Time", "Pacific/Guadalcanal"),
    ("Russia Time Zone 11", "Asia/Kamchatka"),
    ("New Zealand Standard Time", "Pacific/Auckland"),
    ("UTC+12", "Etc/GMT-12"),
    ("Fiji Standard Time", "Pacific/Fiji"),
    ("Kamchatka Standard Time", "Asia/Kamchatka"),
    ("Chatham Islands Standard Time", "Pacific/Chatham"),
    ("UTC+13", "Etc/GMT-13"),
    ("Tonga Standard Time", "Pacific/Tongatapu"),
    ("Samoa Standard Time", "Pacific/Apia"),
    ("Line Islands Standard Time", "Pacific/Kiritimati"),
];

/// Finds the zone of a Windows name.
fn zone(name: &str) -> Option<Tz> {
    let (_, known) = TIME_ZONES.iter().find(|(windows, _)| windows.eq_ignore_ascii_case(name.trim_end()))?;
    known.parse().ok()
}

/// Minutes between a zone and UTC at a moment of UTC.
fn offset_at(zone: &Tz, ticks: i64) -> i64 {
    let seconds = (ticks - DAYS_TO_1970 * TICKS_PER_DAY).div_euclid(TICKS_PER_SECOND);
    let moment = chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    let offset = zone.offset_from_utc_datetime(&moment.naive_utc()).fix().local_minus_utc();
    // datetimeoffset counts minutes; before there were zones, clocks were off by seconds.
    i64::from(offset).div_euclid(60)
}

/// Minutes between a zone and UTC when its clocks show a time. A time that occurs twice is the later one, which is
/// standard time; one that is left out is taken by the offset before the change.
fn offset_of_local(zone: &Tz, local: i64) -> i64 {
    let ticks = |minutes: i64| minutes * 60 * TICKS_PER_SECOND;
    let day = TICKS_PER_DAY;
    let (before, after) = (offset_at(zone, local - day), offset_at(zone, local + day));
    for candidate in [after, before] {
        if offset_at(zone, local - ticks(candidate)) == candidate {
            // If both hold, the smaller offset is the later moment.
            let other = if candidate == after { before } else { after };
            if offset_at(zone, local - ticks(other)) == other {
                return candidate.min(other);
            }
            return candidate;
        }
    }
    before
}

/// Returns the present offset of a zone, as `+02:00`, and true if its clocks are ahead of standard time.
pub fn zone_now(known: &str, now: i64) -> Option<(String, bool)> {
    let zone: Tz = known.parse().ok()?;
    let offset = offset_at(&zone, now);
    // Standard time is the smaller offset of the year around.
    let standard = (0..12).map(|month| offset_at(&zone, now + month * 30 * TICKS_PER_DAY)).min()?;
    let sign = if offset < 0 { '-' } else { '+' };
    let text = format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60);
    Some((text, offset > standard))
}

/// AT TIME ZONE.
pub(super) const FUNCTIONS: &[Function<Kernel>] =
    &[scalar("AT TIME ZONE", &["value", "zone"], "datetimeoffset", at_time_zone)
        .written("value AT TIME ZONE zone")];

/// Makes `value AT TIME ZONE name`. Errors: 9820 for an unknown zone, 8116 for a value without date and time.
fn at_time_zone(call: &Call<'_, dyn Facts>) -> Result<Typed, SqlError> {
    let [value, zone_name] = call.take()?;
    let (from, scale) = match value.sql_type {
        SqlType::DateTimeOffset { scale } => (SqlType::DateTimeOffset { scale }, scale),
        SqlType::DateTime2 { scale } => (SqlType::DateTime2 { scale }, scale),
        SqlType::DateTime => (SqlType::DateTime2 { scale: 3 }, 3),
        SqlType::SmallDateTime => (SqlType::DateTime2 { scale: 0 }, 0),
        ref other => {
            let text =
                format!("Argument data type {other} is invalid for argument 1 of AT TIME ZONE function.");
            return Err(SqlError::new(8116, 16, 1, text));
        }
    };
    let result = SqlType::DateTimeOffset { scale };
    let names = SqlType::NVarChar { length: tds::Length::Units(128) };
    strict(call.name, vec![(value, from), (zone_name, names)], result, |values| {
        let Some(Datum::Text(name)) = values.get(1) else { return Ok(Datum::Null) };
        let Some(zone) = zone(name) else {
            let text =
                format!("The time zone parameter '{name}' provided to AT TIME ZONE clause is invalid.");
            return Err(SqlError::new(9820, 16, 1, text));
        };
        let (ticks, offset) = match values.first() {
            Some(Datum::Instant { ticks, .. }) => (*ticks, offset_at(&zone, *ticks)),
            Some(Datum::Moment(local)) => {
                let taken = offset_of_local(&zone, *local);
                let ticks = local - taken * 60 * TICKS_PER_SECOND;
                // A time that is left out shows as what the clocks say then.
                (ticks, offset_at(&zone, ticks))
            }
            _ => return Ok(Datum::Null),
        };
        if !(0..(DAYS_MAX + 1) * TICKS_PER_DAY).contains(&ticks) {
            let text = "The timezone provided to builtin function would cause the datetimeoffset to overflow the range of valid date range in either UTC or local time.";
            return Err(SqlError::new(9813, 16, 0, text));
        }
        let offset_minutes = i16::try_from(offset).unwrap_or(0);
        Ok(Datum::Instant { ticks, offset_minutes })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_is_in_the_database() {
        for (windows, known) in TIME_ZONES {
            assert!(zone(windows).is_some(), "{windows}: {known}");
        }
    }
}
