//! The server's options: sp_configure and sys.configurations.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};

use tsql::SqlError;

/// An option as sys.configurations shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerOption {
    /// `configuration_id`.
    pub id: i32,
    /// Name, by a beginning of which sp_configure finds it.
    pub name: &'static str,
    /// The value that counts.
    pub value: i32,
    /// The least value.
    pub least: i32,
    /// The greatest value.
    pub greatest: i32,
    /// sp_configure without a name lists it only under `show advanced options`.
    pub is_advanced: bool,
}

const SHOW_ADVANCED: i32 = 518;
const MAX_DOP: i32 = 1539;

/// The options whose value never changes here: what the server does anyway.
const FIXED: [ServerOption; 14] = [
    fixed(101, "recovery interval (min)", 0, (0, 32_767), true),
    fixed(103, "user connections", 0, (0, 32_767), true),
    fixed(109, "fill factor (%)", 0, (0, 100), true),
    fixed(115, "nested triggers", 1, (0, 1), false),
    fixed(124, "default language", 0, (0, 9_999), false),
    fixed(1127, "two digit year cutoff", 2049, (1753, 9_999), true),
    fixed(1544, "max server memory (MB)", i32::MAX, (128, i32::MAX), true),
    fixed(1562, "clr enabled", 0, (0, 1), false),
    fixed(1579, "backup compression default", 0, (0, 1), false),
    fixed(1581, "optimize for ad hoc workloads", 0, (0, 1), true),
    fixed(16_388, "Ole Automation Procedures", 0, (0, 1), true),
    fixed(16_390, "xp_cmdshell", 0, (0, 1), true),
    fixed(16_391, "Ad Hoc Distributed Queries", 0, (0, 1), true),
    fixed(16_393, "contained database authentication", 0, (0, 1), false),
];

const fn fixed(
    id: i32,
    name: &'static str,
    value: i32,
    range: (i32, i32),
    is_advanced: bool,
) -> ServerOption {
    ServerOption { id, name, value, least: range.0, greatest: range.1, is_advanced }
}

/// The values of the options, for as long as the server runs.
#[derive(Debug, Default)]
pub struct Configuration {
    max_dop: AtomicU16,
    shows_advanced: AtomicBool,
}

impl Configuration {
    /// Returns `max degree of parallelism`; 0: as many as there are processors.
    pub fn max_dop(&self) -> u16 {
        self.max_dop.load(Relaxed)
    }

    /// Returns all options by their id.
    pub fn options(&self) -> Vec<ServerOption> {
        let shown = i32::from(self.shows_advanced.load(Relaxed));
        let changeable = [
            fixed(SHOW_ADVANCED, "show advanced options", shown, (0, 1), false),
            fixed(MAX_DOP, "max degree of parallelism", i32::from(self.max_dop()), (0, 32_767), true),
        ];
        let mut options: Vec<_> = FIXED.into_iter().chain(changeable).collect();
        options.sort_by_key(|option| option.id);
        options
    }

    /// Finds the option of a name, or the one whose name begins so. Errors: 15123, 15124.
    pub fn find(&self, name: &str) -> Result<ServerOption, SqlError> {
        let wanted = name.to_lowercase();
        let options = self.options();
        let found: Vec<_> =
            options.iter().filter(|option| option.name.to_lowercase().starts_with(&wanted)).collect();
        let whole = found.iter().find(|option| option.name.len() == wanted.len());
        match (whole, found.as_slice()) {
            (Some(option), _) | (None, [option]) => Ok(**option),
            (None, []) => {
                let text = format!(
                    "The configuration option '{name}' does not exist, or it may be an advanced option."
                );
                Err(SqlError::new(15123, 16, 1, text))
            }
            (None, _) => {
                let text = format!("The configuration option '{name}' is not unique.");
                Err(SqlError::new(15124, 16, 1, text))
            }
        }
    }

    /// Sets an option. Errors: 15129 outside of its range, 40515 for a value that would change nothing here.
    pub fn set(&self, option: &ServerOption, value: i64) -> Result<(), SqlError> {
        if value < i64::from(option.least) || value > i64::from(option.greatest) {
            let text = format!("'{value}' is not a valid value for configuration option '{}'.", option.name);
            return Err(SqlError::new(15129, 16, 1, text));
        }
        match option.id {
            MAX_DOP => self.max_dop.store(u16::try_from(value).unwrap_or_default(), Relaxed),
            SHOW_ADVANCED => self.shows_advanced.store(value != 0, Relaxed),
            _ if value == i64::from(option.value) => {}
            _ => {
                let what = format!("sp_configure '{}' with another value than {}", option.name, option.value);
                return Err(SqlError::unsupported(&what));
            }
        }
        Ok(())
    }
}
