//! sys.time_zone_info.

use query::Datum;
use query::functions::{TIME_ZONES, zone_now};

use crate::system_views::entry::Entry;
use crate::view::{View, bit, text};

pub(super) const ENTRIES: &[Entry] = &[Entry::new(
    "time_zone_info",
    "name sysname!\ncurrent_utc_offset nvarchar(6)!\nis_currently_dst bit!",
    |context, view: &mut View| {
        for (windows, known) in TIME_ZONES {
            if let Some((offset, summer)) = zone_now(known, context.facts.now) {
                view.add([
                    ("name", text(windows)),
                    ("current_utc_offset", Datum::Text(offset)),
                    ("is_currently_dst", bit(summer)),
                ]);
            }
        }
    },
)];
