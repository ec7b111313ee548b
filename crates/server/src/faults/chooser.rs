//! Chooses the rules that apply. A random choice depends only on the seed, the rule, the connection's number and how often the
//! rule has matched on it. So the faults of one connection do not depend on the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use databases::log;
use parking_lot::Mutex;

use crate::faults::file::FaultPlan;
use crate::faults::pace::Pace;
use crate::faults::rule::{
    Direction, Fault, Happening, LinkShape, Moment, Point, PointAct, RequestKind, Rule, Target, Who,
};

/// The faults of a server.
#[derive(Debug)]
pub(crate) struct Faults {
    seed: u64,
    rules: Vec<ServerRule>,
    connections: AtomicU64,
}

#[derive(Debug)]
struct ServerRule {
    rule: Rule,
    /// The number of times that the rule has happened.
    happened: AtomicU64,
}

/// The faults of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionFaults {
    faults: Arc<Faults>,
    /// From 1, in the order in which they were accepted.
    number: u64,
    spid: u16,
    /// Application and login, once they are known.
    client: Option<(String, String)>,
    counts: Vec<Count>,
    paces: Arc<Mutex<Vec<Pace>>>,
    requests: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    fitted: u64,
    happened: u64,
    /// True once the rule is decided for the whole connection.
    decided: bool,
}

/// The fault of a request.
#[derive(Debug)]
pub(crate) struct RequestFault {
    pub moment: Moment,
    pub happening: Happening,
    /// The line for the log.
    pub told: String,
}

/// The faults of a connection's line.
#[derive(Debug, Default)]
pub(crate) struct LineFaults {
    pub shape: Option<LinkShape>,
    pub points: Vec<Point>,
}

impl Faults {
    /// Makes the faults of a plan.
    pub fn new(plan: FaultPlan) -> Faults {
        let rules = plan.rules.into_iter().map(|rule| ServerRule { rule, happened: AtomicU64::new(0) });
        Faults { seed: plan.seed, rules: rules.collect(), connections: AtomicU64::new(0) }
    }

    /// Begins a connection.
    pub fn connection(self: &Arc<Self>, spid: u16) -> ConnectionFaults {
        ConnectionFaults {
            number: self.connections.fetch_add(1, Ordering::Relaxed) + 1,
            spid,
            client: None,
            counts: vec![Count::default(); self.rules.len()],
            paces: Arc::default(),
            requests: 0,
            faults: Arc::clone(self),
        }
    }

    /// Returns true if a fault may affect bytes on the line.
    pub fn concern_lines(&self) -> bool {
        self.rules.iter().any(|rule| match &rule.rule.fault {
            Fault::Link(_) | Fault::Byte { .. } | Fault::Within { .. } => true,
            Fault::Request { happening, .. } => matches!(happening, Happening::Cut(_)),
            Fault::Cap(_) => false,
        })
    }
}

impl ConnectionFaults {
    /// Sets the client's program and login; rules for these apply from here on.
    pub fn client(&mut self, application: &str, login: &str) {
        self.client = Some((application.to_owned(), login.to_owned()));
    }

    /// Returns the faults of the line that were not decided yet.
    pub fn line(&mut self) -> LineFaults {
        let mut line = LineFaults::default();
        let faults = Arc::clone(&self.faults);
        for (at, ServerRule { rule, .. }) in faults.rules.iter().enumerate() {
            let stays = matches!(rule.fault, Fault::Link(_) | Fault::Cap(_) | Fault::Byte { .. });
            if !stays || !self.fits(&rule.who) || !self.decides(at) || !self.happens(at) {
                continue;
            }
            match &rule.fault {
                Fault::Link(shape) => {
                    line.shape = Some(*shape);
                    let rate = shape.bytes_per_second;
                    let rate = rate.map_or(String::new(), |rate| format!(", {rate} bytes/s"));
                    self.note(&format!("link of {} ms{rate}", shape.delay.as_secs_f64() * 1000.0));
                }
                Fault::Cap(cap) => {
                    self.paces.lock().push(Pace::new(*cap, Instant::now()));
                    self.note(&format!("cap of {cap:?} a second"));
                }
                Fault::Byte { direction, at: range, act } => {
                    let span = range.last.saturating_sub(range.first).saturating_add(1);
                    let direction = direction.unwrap_or_else(|| self.any_direction(at));
                    let at_byte = range.first.saturating_add(self.random(at, 2) % span);
                    line.points.push(Point { direction, at_byte, act: *act });
                }
                Fault::Request { .. } | Fault::Within { .. } => {}
            }
        }
        line
    }

    /// Chooses the fault for a request, by the first rule that applies, and faults at later bytes of the line.
    pub fn request(
        &mut self,
        kind: RequestKind,
        is_commit: bool,
        text: &str,
    ) -> (Option<RequestFault>, Vec<Point>) {
        if kind != RequestKind::Login {
            self.requests += 1;
        }
        let lower = text.to_lowercase();
        let (mut fault, mut points) = (None, Vec::new());
        let faults = Arc::clone(&self.faults);
        for (at, ServerRule { rule, .. }) in faults.rules.iter().enumerate() {
            let target = match &rule.fault {
                Fault::Request { target, .. } if fault.is_none() => target,
                Fault::Within { target, .. } => target,
                _ => continue,
            };
            if !hits(target, kind, is_commit, &lower) || !self.fits(&rule.who) || !self.happens(at) {
                continue;
            }
            match &rule.fault {
                Fault::Request { moment, happening, .. } => {
                    let told = format!("{} {} {}", happening.name(), moment.name(), self.place(kind));
                    fault = Some(RequestFault { moment: *moment, happening: happening.clone(), told });
                }
                Fault::Within { bytes, ending, .. } => {
                    let at_byte = self.random(at, 2) % (*bytes).max(1);
                    points.push(Point {
                        direction: self.any_direction(at),
                        at_byte,
                        act: PointAct::Cut(*ending),
                    });
                }
                _ => {}
            }
        }
        (fault, points)
    }

    /// Returns the rate limits for the session's loads.
    pub fn paces(&self) -> Arc<Mutex<Vec<Pace>>> {
        Arc::clone(&self.paces)
    }

    /// Logs what is injected.
    pub fn note(&self, what: &str) {
        log::line(format!("fault: {}: {what}", self.name()));
    }

    /// Names the connection as the log does.
    pub fn name(&self) -> String {
        format!("connection {} (session {})", self.number, self.spid)
    }

    fn place(&self, kind: RequestKind) -> String {
        match kind {
            RequestKind::Login => "the login".to_owned(),
            kind => format!("request {} ({})", self.requests, kind.name()),
        }
    }

    fn fits(&self, who: &Who) -> bool {
        let named = |wanted: &Option<String>, own: fn(&(String, String)) -> &String| {
            wanted.as_ref().is_none_or(|wanted| {
                self.client.as_ref().is_some_and(|client| own(client).eq_ignore_ascii_case(wanted))
            })
        };
        named(&who.application, |client| &client.0)
            && named(&who.login, |client| &client.1)
            && who.connection.is_none_or(|number| number == self.number)
            && who.every.is_none_or(|every| self.number.is_multiple_of(every.max(1)))
    }

    /// Returns true for the first question about a rule that is decided once for the whole connection.
    fn decides(&mut self, at: usize) -> bool {
        self.counts.get_mut(at).is_some_and(|count| !std::mem::replace(&mut count.decided, true))
    }

    /// Decides if a fitting rule happens now, and counts it.
    fn happens(&mut self, at: usize) -> bool {
        let faults = Arc::clone(&self.faults);
        let (Some(ServerRule { rule, happened }), Some(count)) =
            (faults.rules.get(at), self.counts.get_mut(at))
        else {
            return false;
        };
        count.fitted += 1;
        let (fitted, here) = (count.fitted, count.happened);
        let often = &rule.often;
        if often.nth.is_some_and(|nth| nth != fitted)
            || often.times_per_connection.is_some_and(|most| here >= most)
            || often.chance.is_some_and(|chance| self.random(at, 0) as f64 / u64::MAX as f64 >= chance)
        {
            return false;
        }
        let most = often.times.unwrap_or(u64::MAX);
        let taken = happened.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |so_far| {
            (so_far < most).then_some(so_far.saturating_add(1))
        });
        if taken.is_ok()
            && let Some(count) = self.counts.get_mut(at)
        {
            count.happened += 1;
        }
        taken.is_ok()
    }

    fn any_direction(&self, at: usize) -> Direction {
        match self.random(at, 1) % 2 {
            0 => Direction::ToServer,
            _ => Direction::ToClient,
        }
    }

    /// Makes a random number for one purpose at this place.
    fn random(&self, at: usize, purpose: u64) -> u64 {
        let fitted = self.counts.get(at).map_or(0, |count| count.fitted);
        [at as u64, self.number, fitted, purpose]
            .into_iter()
            .fold(self.faults.seed, |sum, part| mixed(sum ^ mixed(part)))
    }
}

/// Takes SplitMix64's step: each bit of the result depends on all of `value`.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

fn hits(target: &Target, kind: RequestKind, is_commit: bool, lower: &str) -> bool {
    let fits = match target.on {
        RequestKind::Any => kind != RequestKind::Login,
        RequestKind::Commit => is_commit,
        on => on == kind,
    };
    fits && target.text.as_ref().is_none_or(|text| lower.contains(text))
}
