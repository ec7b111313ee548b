#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::meter::SAMPLE;
use super::*;

/// Writes batches of `batch_bytes` as fast as the limits allow, each with `batch_time` of a processor. The
/// clock moves only in waits, up to ten minutes. Returns bytes per minute, and the samples.
fn unlimited_throughput(
    limits: ResourceLimits,
    batch_bytes: u64,
    batch_time: Duration,
) -> (f64, Vec<ResourceSample>) {
    let mut meter = Meter::new(limits, Duration::ZERO, SystemTime::UNIX_EPOCH);
    let (mut now, mut written) = (Duration::ZERO, 0);
    let end = Duration::from_secs(600);
    while now < end {
        meter.charge_log(batch_bytes);
        meter.charge_processor(batch_time);
        written += batch_bytes;
        now += batch_time;
        while let Some((delay, _)) = meter.delay(now) {
            now += delay.min(LOOK);
        }
    }
    (written as f64 / 10.0 / 1_048_576.0, meter.samples(end, 0.0))
}

#[test]
fn tiers_write_what_was_measured_and_are_at_their_limit() {
    for tier in ServiceTier::ALL {
        let (megabytes, _) = tier.megabytes_per_minute();
        let (written, samples) = unlimited_throughput(tier.limits(), 40_000, Duration::from_micros(50));
        assert!((written - megabytes).abs() < megabytes / 100.0 + 0.05, "{tier:?}: {written}");
        assert!(samples.len() >= 39);
        for sample in &samples {
            assert!((97.0..103.0).contains(&sample.log_write_percent), "{tier:?}: {sample:?}");
            assert!(sample.processor_percent < 50.0);
            assert_eq!(sample.dtu_limit, tier.dtu());
            assert!(sample.dtu_percent() >= sample.log_write_percent);
        }
        assert_eq!(ServiceTier::named(&tier.name().to_lowercase()), Some(tier));
    }
    assert_eq!(ServiceTier::named("business"), Some(ServiceTier::WebBusiness));
    assert_eq!(ServiceTier::named("S99"), None);
}

#[test]
fn what_stays_below_the_limit_is_not_delayed() {
    let mut meter = Meter::new(ServiceTier::S1.limits(), Duration::ZERO, SystemTime::UNIX_EPOCH);
    // 100 rows of 400 bytes a second: an eighth of what S1 writes.
    for second in 1..=60 {
        let now = Duration::from_secs(second);
        assert_eq!(meter.delay(now), None);
        meter.charge_log(40_000);
    }
    let samples = meter.samples(Duration::from_secs(60), 25.0);
    assert_eq!(samples.len(), 4);
    assert!(samples.iter().all(|sample| (10.0..14.0).contains(&sample.log_write_percent)), "{samples:?}");
    assert_eq!(samples[0].end, SystemTime::UNIX_EPOCH + Duration::from_secs(60));
    assert_eq!(samples[3].end, SystemTime::UNIX_EPOCH + SAMPLE);
    assert_eq!(samples[0].memory_percent, 25.0);
}

#[test]
fn the_processor_is_a_limit_too() {
    let limits = ResourceLimits::custom(None, Some(0.5));
    let (_, samples) = unlimited_throughput(limits, 1000, Duration::from_millis(10));
    for sample in &samples {
        assert!((97.0..103.0).contains(&sample.processor_percent), "{sample:?}");
        assert_eq!(sample.log_write_percent, 0.0);
    }
}

#[test]
fn an_hour_of_samples_is_kept() {
    let mut meter = Meter::new(ServiceTier::Basic.limits(), Duration::ZERO, SystemTime::UNIX_EPOCH);
    for step in 1..=300 {
        meter.charge_log(step);
        meter.delay(SAMPLE * step as u32);
    }
    let samples = meter.samples(SAMPLE * 300, 0.0);
    assert_eq!(samples.len(), 240);
    assert_eq!((samples[0].log_bytes, samples[239].log_bytes), (300, 61));
    // A day later nothing of it is left.
    let samples = meter.samples(Duration::from_secs(86_400), 0.0);
    assert_eq!(samples.len(), 240);
    assert!(samples.iter().all(|sample| sample.log_bytes == 0));
    let last = samples[0].end.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(last, Duration::from_secs(86_400));
}
