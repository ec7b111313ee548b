//! A pipe between a socket and its connection that can delay, stall and break.
//!
//! Each direction is a queue of chunks. A chunk leaves when the bytes before it have been sent at the link's rate, and arrives one
//! delay later. So bytes under way overlap, and the delay only adds latency.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use databases::log;
use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::faults::{Direction, Ending, LinkShape, Point, PointAct};
use crate::transport::line::Socket;

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks of a link with a rate take no longer than this.
const CHUNKS_PER_SECOND: u64 = 100;
/// Fewest bytes of a chunk.
const CHUNK_MIN_BYTES: usize = 512;
/// The time for which a closed connection still takes bytes of its client: a socket with unread bytes would be
/// reset.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// The faults that apply to a connection's bytes. Any of them may change while bytes flow.
#[derive(Debug)]
pub(crate) struct LineControl {
    /// The connection as the log names it.
    name: String,
    shape: Mutex<Option<LinkShape>>,
    points: Mutex<Vec<Point>>,
    /// Bytes that have passed, by direction.
    passed: [AtomicU64; 2],
    cut: watch::Sender<Option<Ending>>,
}

/// Bytes under way.
struct Chunk {
    arrives: Instant,
    bytes: Vec<u8>,
    /// The part of the window that the bytes take.
    permits: u32,
}

impl LineControl {
    /// Makes a line without faults yet.
    pub fn new(name: String) -> LineControl {
        LineControl {
            name,
            shape: Mutex::new(None),
            points: Mutex::default(),
            passed: Default::default(),
            cut: watch::Sender::new(None),
        }
    }

    /// Changes delay and rate.
    pub fn shape(&self, shape: LinkShape) {
        *self.shape.lock() = Some(shape);
    }

    /// Sets the place of a fault, counted from the connection's first byte.
    pub fn point(&self, point: Point) {
        self.points.lock().push(point);
    }

    /// Sets the place of a fault, counted from the current byte of its direction.
    pub fn point_ahead(&self, mut point: Point) {
        point.at_byte = point.at_byte.saturating_add(self.passed(point.direction).load(Ordering::Relaxed));
        self.point(point);
    }

    /// Ends the connection; what is under way is lost.
    pub fn cut(&self, ending: Ending) {
        self.cut.send_replace(Some(ending));
    }

    fn passed(&self, direction: Direction) -> &AtomicU64 {
        let [to_server, to_client] = &self.passed;
        match direction {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }

    /// Takes the next place of a direction that lies before `end`.
    fn next_point(&self, direction: Direction, end: u64) -> Option<Point> {
        let mut points = self.points.lock();
        let ahead = points.iter().enumerate();
        let ahead = ahead.filter(|(_, point)| point.direction == direction && point.at_byte < end);
        let (at, _) = ahead.min_by_key(|(_, point)| point.at_byte)?;
        Some(points.swap_remove(at))
    }

    fn note(&self, what: &str, direction: Direction, at_byte: u64) {
        log::line(format!("fault: {}: {what} at byte {at_byte} {}", self.name, direction.name()));
    }

    /// Waits until the connection is to end.
    pub async fn cut_asked(&self) -> Ending {
        let mut asked = self.cut.subscribe();
        loop {
            if let Some(ending) = *asked.borrow_and_update() {
                return ending;
            }
            // The sender lives as long as this.
            if asked.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Carries bytes until the server has closed its end, the client has gone, or the line is cut.
pub(super) async fn run(socket: Socket, far: DuplexStream, control: Arc<LineControl>) {
    let ending = {
        let (from_client, to_client) = tokio::io::split(socket.clone());
        let (from_server, to_server) = tokio::io::split(far);
        let up = pump(from_client, to_server, Direction::ToServer, &control);
        let down = pump(from_server, to_client, Direction::ToClient, &control);
        tokio::pin!(down);
        tokio::select! {
            biased;
            ending = control.cut_asked() => Some(ending),
            _ = &mut down => None,
            up = up => match up {
                // The client has said its last word, and waits for the answer.
                Ok(()) => tokio::select! {
                    biased;
                    ending = control.cut_asked() => Some(ending),
                    _ = &mut down => None,
                },
                Err(_) => None,
            },
        }
        // Here the connection's end of the relay closes.
    };
    match ending {
        Some(Ending::Reset) => {
            // If it cannot be set the client sees an orderly end.
            let _ = SockRef::from(socket.inner()).set_linger(Some(Duration::ZERO));
        }
        Some(Ending::Close) => {
            let mut socket = socket;
            let _ = socket.shutdown().await;
            let mut rest = vec![0; CHUNK_MIN_BYTES];
            let drained = async { while matches!(socket.read(&mut rest).await, Ok(1..)) {} };
            let _ = timeout(DRAIN_TIME, drained).await;
        }
        None => {}
    }
}

/// Carries the bytes of one direction to their end.
async fn pump(
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    direction: Direction,
    control: &LineControl,
) -> io::Result<()> {
    let (sender, chunks) = mpsc::unbounded_channel();
    let window = Semaphore::new(0);
    let reading = read(from, sender, &window, control);
    let delivering = deliver(to, chunks, &window, direction, control);
    tokio::pin!(delivering);
    tokio::select! {
        delivered = &mut delivering => delivered,
        read = reading => {
            delivering.await?;
            read
        }
    }
}

/// Reads chunks and says when each arrives.
async fn read(
    mut from: impl AsyncRead + Unpin,
    chunks: mpsc::UnboundedSender<Chunk>,
    window: &Semaphore,
    control: &LineControl,
) -> io::Result<()> {
    let mut line_free = Instant::now();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut window_bytes = 0_u32;
    loop {
        let shape = *control.shape.lock();
        let rate = shape.and_then(|shape| shape.bytes_per_second);
        let room = rate.map_or(CHUNK_BYTES, |rate| {
            usize::try_from(rate / CHUNKS_PER_SECOND)
                .unwrap_or(CHUNK_BYTES)
                .clamp(CHUNK_MIN_BYTES, CHUNK_BYTES)
        });
        let read = from.read(buffer.get_mut(..room).unwrap_or_default()).await?;
        let bytes = buffer.get(..read).unwrap_or_default().to_vec();
        if bytes.is_empty() {
            return Ok(());
        }
        // It may have changed while the client was silent.
        let shape = *control.shape.lock();
        let rate = shape.and_then(|shape| shape.bytes_per_second);
        let wanted = shape.map_or(CHUNK_BYTES as u32, |shape| shape.window_bytes);
        if wanted > window_bytes {
            window.add_permits((wanted - window_bytes) as usize);
            window_bytes = wanted;
        }
        let permits = (bytes.len() as u32).min(window_bytes);
        // It is never closed.
        let Ok(taken) = window.acquire_many(permits).await else { return Ok(()) };
        taken.forget();
        let sending = rate
            .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes.len() as f64 / rate.max(1) as f64));
        line_free = line_free.max(Instant::now()) + sending;
        let arrives = line_free + shape.map_or(Duration::ZERO, |shape| shape.delay);
        if chunks.send(Chunk { arrives, bytes, permits }).is_err() {
            return Ok(());
        }
    }
}

/// Hands chunks over as they arrive, and does what is to happen between their bytes.
async fn deliver(
    mut to: impl AsyncWrite + Unpin,
    mut chunks: mpsc::UnboundedReceiver<Chunk>,
    window: &Semaphore,
    direction: Direction,
    control: &LineControl,
) -> io::Result<()> {
    while let Some(Chunk { arrives, bytes, permits }) = chunks.recv().await {
        if arrives > Instant::now() {
            sleep_until(arrives).await;
        }
        let mut rest = bytes.as_slice();
        loop {
            let passed = control.passed(direction).load(Ordering::Relaxed);
            let Some(point) = control.next_point(direction, passed.saturating_add(rest.len() as u64)) else {
                break;
            };
            let before = usize::try_from(point.at_byte.saturating_sub(passed)).unwrap_or(0).min(rest.len());
            let (head, tail) = rest.split_at(before);
            send(&mut to, head, direction, control).await?;
            rest = tail;
            match point.act {
                PointAct::Cut(ending) => {
                    to.flush().await?;
                    control.note(&format!("connection {}", ending.participle()), direction, point.at_byte);
                    control.cut(ending);
                    std::future::pending::<()>().await;
                }
                PointAct::Stall(Some(time)) => {
                    let what = format!("stall of {} s", time.as_secs_f64());
                    control.note(&what, direction, point.at_byte);
                    sleep(time).await;
                }
                PointAct::Stall(None) => {
                    control.note("stall for ever", direction, point.at_byte);
                    // Nothing passes any more. Only the sender's end is still noticed.
                    window.add_permits(permits as usize);
                    while let Some(lost) = chunks.recv().await {
                        window.add_permits(lost.permits as usize);
                    }
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
        send(&mut to, rest, direction, control).await?;
        window.add_permits(permits as usize);
    }
    to.shutdown().await
}

async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    direction: Direction,
    control: &LineControl,
) -> io::Result<()> {
    to.write_all(bytes).await?;
    control.passed(direction).fetch_add(bytes.len() as u64, Ordering::Relaxed);
    Ok(())
}
