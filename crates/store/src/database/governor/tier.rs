//! Service tiers and what they allow.

/// A tier of a hosted database, as it was in 2014.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceTier {
    /// The smallest tier, Basic.
    Basic,
    /// Standard tier S0.
    S0,
    /// Standard tier S1.
    S1,
    /// Standard tier S2.
    S2,
    /// Standard tier S3.
    S3,
    /// Premium tier P1.
    P1,
    /// Premium tier P2.
    P2,
    /// Premium tier P3.
    P3,
    /// The older tiers Web and Business, on shared machines.
    WebBusiness,
}

impl ServiceTier {
    /// All tiers, the smallest first.
    pub const ALL: [Self; 9] = [
        Self::Basic,
        Self::S0,
        Self::S1,
        Self::S2,
        Self::S3,
        Self::P1,
        Self::P2,
        Self::P3,
        Self::WebBusiness,
    ];

    /// Returns the name in `sys.database_service_objectives`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Basic => "Basic",
            Self::S0 => "S0",
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::WebBusiness => "Web/Business",
        }
    }

    /// Returns the tier of a name, in any case; `Web` and `Business` are the same.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|tier| tier.name().eq_ignore_ascii_case(name));
        found.or_else(|| match name.to_ascii_lowercase().as_str() {
            "web" | "business" => Some(Self::WebBusiness),
            _ => None,
        })
    }

    /// Returns the most megabytes of rows per minute that one load generator could write, and true if that
    /// was measured. The others are interpolated by DTU (S0), or scaled by DTU from the next smaller tier
    /// (S3, P3).
    pub fn megabytes_per_minute(self) -> (f64, bool) {
        match self {
            Self::Basic => (9.3, true),
            Self::S0 => (12.4, false),
            Self::S1 => (18.7, true),
            Self::S2 => (37.5, true),
            Self::S3 => (75.0, false),
            Self::P1 => (46.9, true),
            Self::P2 => (91.3, true),
            Self::P3 => (365.2, false),
            Self::WebBusiness => (93.7, true),
        }
    }

    /// Returns the database throughput units; None if the tier had none.
    pub fn dtu(self) -> Option<u32> {
        match self {
            Self::Basic => Some(5),
            Self::S0 => Some(10),
            Self::S1 => Some(20),
            Self::S2 => Some(50),
            Self::S3 | Self::P1 => Some(100),
            Self::P2 => Some(200),
            Self::P3 => Some(800),
            Self::WebBusiness => None,
        }
    }

    /// Returns the limits of the tier: the log rate of [`megabytes_per_minute`](Self::megabytes_per_minute),
    /// and a processor core per 100 DTU.
    pub fn limits(self) -> ResourceLimits {
        let (megabytes, _) = self.megabytes_per_minute();
        ResourceLimits {
            tier: Some(self),
            log_bytes_per_second: Some((megabytes * 1_048_576.0 / 60.0) as u64),
            processors: self.dtu().map(|dtu| f64::from(dtu) / 100.0),
            dtu: self.dtu(),
        }
    }
}

/// Limits on the resources that a database may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceLimits {
    /// The tier of these limits; None if the caller has set them.
    pub tier: Option<ServiceTier>,
    /// Bytes of log records per second; None: no limit.
    pub log_bytes_per_second: Option<u64>,
    /// Processor cores, also fractions; None: no limit. Counted on Linux only.
    pub processors: Option<f64>,
    /// Value of `dtu_limit` in `sys.dm_db_resource_stats`.
    pub dtu: Option<u32>,
}

impl ResourceLimits {
    /// Makes limits of the caller's own.
    pub fn custom(log_bytes_per_second: Option<u64>, processors: Option<f64>) -> Self {
        Self { tier: None, log_bytes_per_second, processors, dtu: None }
    }
}
