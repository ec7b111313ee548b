//! Wrong passwords, counted by address: after a few, further attempts from the address are checked one by one. A
//! delayed answer alone would slow one connection, but not a thousand parallel ones. So the attempts of an address that
//! has failed repeatedly queue up. Each is checked in its turn, and one whose turn is too far off is refused without a
//! check. A client that knows the password waits in the same queue, a few seconds at most.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures that cost nothing but the delay of their own answer.
const FAILURES_FREE: u32 = 10;
/// Failures are forgotten after so long without another.
const MEMORY: Duration = Duration::from_secs(60);
/// Attempts that may wait for their turn, in delays.
const QUEUE_MAX: u32 = 8;
/// Addresses remembered.
const ADDRESSES_MAX: usize = 4096;

/// The addresses that have failed of late.
#[derive(Debug)]
pub(crate) struct Guesses {
    /// From one attempt to the next.
    delay: Duration,
    addresses: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
    /// The time from which the next attempt may be checked.
    next_turn: Instant,
}

impl Guesses {
    /// Makes a counter with `delay` between two attempts that are checked; zero slows nothing.
    pub fn new(delay: Duration) -> Guesses {
        Guesses { delay, addresses: Mutex::default() }
    }

    /// Returns the wait of an attempt before it is checked; `None` if it is refused without a check.
    pub fn turn(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let mut addresses = self.addresses.lock();
        let Some(failures) = addresses.get_mut(&network_of(address)) else { return Some(Duration::ZERO) };
        if failures.count <= FAILURES_FREE || now.saturating_duration_since(failures.last) > MEMORY {
            return Some(Duration::ZERO);
        }
        let turn = failures.next_turn.max(now);
        let wait = turn.saturating_duration_since(now);
        if wait > self.delay * QUEUE_MAX {
            return None;
        }
        failures.next_turn = turn + self.delay;
        Some(wait)
    }

    /// Counts a wrong password.
    pub fn failed(&self, address: IpAddr, now: Instant) {
        if self.delay.is_zero() {
            return;
        }
        let mut addresses = self.addresses.lock();
        if addresses.len() >= ADDRESSES_MAX {
            addresses.retain(|_, failures| now.saturating_duration_since(failures.last) <= MEMORY);
        }
        if addresses.len() >= ADDRESSES_MAX
            && let Some(oldest) = addresses.iter().min_by_key(|(_, failures)| failures.last)
        {
            let oldest = *oldest.0;
            addresses.remove(&oldest);
        }
        let fresh = Failures { count: 0, last: now, next_turn: now };
        let failures = addresses.entry(network_of(address)).or_insert(fresh);
        if now.saturating_duration_since(failures.last) > MEMORY {
            *failures = fresh;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
    }

    /// Clears the failures of an address after the right password.
    pub fn succeeded(&self, address: IpAddr) {
        self.addresses.lock().remove(&network_of(address));
    }
}

/// Returns the address, or of IPv6 its /64: one host has all of that.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => IpAddr::V4(mapped),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const DELAY: Duration = Duration::from_millis(500);

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn many_failures_make_attempts_queue_and_then_refuse_them() {
        let guesses = Guesses::new(DELAY);
        let now = Instant::now();
        for _ in 0..=FAILURES_FREE {
            assert_eq!(guesses.turn(address(1), now), Some(Duration::ZERO));
            guesses.failed(address(1), now);
        }
        for place in 0..=QUEUE_MAX {
            assert_eq!(guesses.turn(address(1), now), Some(DELAY * place));
        }
        assert_eq!(guesses.turn(address(1), now), None);
        assert_eq!(guesses.turn(address(2), now), Some(Duration::ZERO), "another address");
        let later = now + DELAY * 3;
        assert_eq!(guesses.turn(address(1), later), Some(DELAY * (QUEUE_MAX - 2)));
    }

    #[test]
    fn failures_are_forgotten_by_time_and_by_the_right_password() {
        let guesses = Guesses::new(DELAY);
        let now = Instant::now();
        for host in [1, 2] {
            (0..100).for_each(|_| guesses.failed(address(host), now));
            while guesses.turn(address(host), now).is_some() {}
        }
        guesses.succeeded(address(1));
        assert_eq!(guesses.turn(address(1), now), Some(Duration::ZERO));
        assert_eq!(guesses.turn(address(2), now + MEMORY + DELAY), Some(Duration::ZERO));
    }

    #[test]
    fn memory_is_bounded_and_a_network_is_one_address() {
        let guesses = Guesses::new(DELAY);
        let now = Instant::now();
        for number in 0..2 * ADDRESSES_MAX as u32 {
            guesses.failed(IpAddr::from(number.to_be_bytes()), now + Duration::from_micros(number.into()));
        }
        assert_eq!(guesses.addresses.lock().len(), ADDRESSES_MAX);
        let near: IpAddr = "2001:db8::1".parse().unwrap();
        let same: IpAddr = "2001:db8::ffff".parse().unwrap();
        assert_eq!(network_of(near), network_of(same));
        assert_ne!(network_of(near), network_of("2001:db8:0:1::1".parse().unwrap()));
        assert_eq!(network_of("::ffff:192.0.2.1".parse().unwrap()), address(1));
    }
}
