//! Many small loads over one connection, as Python's `db.load` makes them: what each asks of the server.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use load::{Client, LoadOptions, LoadWay, RetryPolicy, WholeLoad, load_whole};
use tds::{HEADER_LEN_BYTES, PacketHeader, PacketType, Status};

use crate::fixture::{Fixture, PASSWORD};

const LOADS: i32 = 1000;
/// How long a description is used again.
const DESCRIPTION_SECONDS: u64 = 5;

/// Passes a connection on, and notes the messages of the client once it counts.
struct CountingRelay {
    port: u16,
    is_counting: Arc<AtomicBool>,
    messages: Arc<Mutex<Vec<PacketType>>>,
}

impl CountingRelay {
    /// Passes one connection on to `server`.
    fn start(server: std::net::SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_counting, messages) =
            (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<PacketType>>>::default());
        let (counts, noted) = (Arc::clone(&is_counting), Arc::clone(&messages));
        thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(server).unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || pass(from_server, to_client, |_| {}));
            let mut pending = Vec::new();
            pass(client, server, |bytes| {
                if counts.load(Ordering::SeqCst) {
                    pending.extend_from_slice(bytes);
                    noted.lock().unwrap().extend(messages_of(&mut pending));
                }
            });
        });
        Self { port, is_counting, messages }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut look: impl FnMut(&[u8])) {
    let mut bytes = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        look(&bytes[..read]);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // The other side may be gone.
    let _ = to.shutdown(Shutdown::Both);
}

/// Takes whole packets off `pending`: the kinds of the messages that end with them.
fn messages_of(pending: &mut Vec<u8>) -> Vec<PacketType> {
    let mut ended = Vec::new();
    while let Some(header) = pending.first_chunk::<HEADER_LEN_BYTES>() {
        let header = PacketHeader::parse(header).unwrap();
        let length = usize::from(header.length);
        if pending.len() < length {
            break;
        }
        if header.status.contains(Status::END_OF_MESSAGE) {
            ended.push(header.packet_type);
        }
        pending.drain(..length);
    }
    ended
}

#[test]
fn a_thousand_small_loads_describe_their_table_once() {
    let fixture = Fixture::new();
    fixture.sql("CREATE TABLE t (n int NOT NULL)");
    let relay = CountingRelay::start(fixture.server.address());
    let url = format!("mssql://sa:{PASSWORD}@127.0.0.1:{}/master?Encrypt=Off", relay.port);
    let mut client = Client::connect(&load::Config::parse(&url).unwrap()).unwrap();
    relay.is_counting.store(true, Ordering::SeqCst);
    let table = "t".parse().unwrap();
    let options = LoadOptions::default();
    let whole = WholeLoad {
        table: &table,
        way: LoadWay::default(),
        options: &options,
        writers: Some(1),
        retry: RetryPolicy::NONE,
        ledger: None,
        watch: &(),
        order: &(),
    };
    let started = Instant::now();
    let mut of_first = 0;
    for n in 0..LOADS {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![n]));
        let batch = RecordBatch::try_from_iter([("n", values)]).unwrap();
        let schema = batch.schema();
        let source = [Ok::<_, std::io::Error>(batch)].into_iter();
        load_whole(&mut client, &whole, &schema, source, &mut |_| {}).unwrap();
        if n == 0 {
            of_first = relay.messages.lock().unwrap().len();
        }
    }
    let descriptions_max = 1 + started.elapsed().as_secs() / DESCRIPTION_SECONDS;
    let messages = relay.messages.lock().unwrap().clone();
    let count = |wanted| messages.iter().filter(|&&kind| kind == wanted).count() as u64;
    let loads = LOADS as u64;
    assert_eq!(count(PacketType::BulkLoad), loads);
    // Begin and commit.
    assert_eq!(count(PacketType::TransactionManager), 2 * loads);
    // INSERT BULK, and what the first load asks.
    let of_description = of_first as u64 - 4;
    assert!((1..=2).contains(&of_description), "{:?}", &messages[..of_first]);
    let statements = count(PacketType::SqlBatch);
    assert!(
        statements > loads && statements <= loads + of_description * descriptions_max,
        "{statements} statements for {loads} loads, {descriptions_max} descriptions at most"
    );
    assert_eq!(messages.len() as u64, 3 * loads + statements);
    assert_eq!(fixture.rows("SELECT COUNT(*), SUM(n) FROM t"), "1000,499500\n");
}
