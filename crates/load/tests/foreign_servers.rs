//! What servers of other makers, broken lines and stalled machines have been seen to do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use bulkwire_load::{
    BatchTransaction, Client, CountRule, Error, Finding, LoadError, LoadPlan, ParallelOptions,
    ParallelSource, Tolerance, load, load_parallel,
};
use rows::mapping::Form;
use rows::{BulkHints, CastOptions, Mapping, Plan};
use support::{Peer, Server, done, error, hex, int_column, parse, transaction_began, transaction_ended};
use tds::{BulkEvent, BulkStream, Column, PacketType, SqlType};

/// No wait of these tests may take longer; what is waited for is far shorter.
const BOUND: Duration = Duration::from_secs(60);

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]))
}

fn batch(values: impl IntoIterator<Item = i64>) -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    RecordBatch::try_new(schema(), vec![values]).unwrap()
}

fn plan(batch_rows: u64, transaction: BatchTransaction) -> LoadPlan {
    let columns = [Column::new("n", SqlType::Int, true, None)];
    LoadPlan {
        table: "dbo.t".parse().unwrap(),
        rows: Plan::new(&schema(), &columns, &Mapping::ByName, CastOptions::default()).unwrap(),
        batch_rows,
        hints: BulkHints::default(),
        transaction,
        count_rule: CountRule::Exact,
        rows_before: None,
        routing: None,
        routes: false,
        keeps_batch_rows: true,
        writers_max: 1,
        writers_reason: "as the test decides",
        choices: Vec::new(),
    }
}

type Item = Result<RecordBatch, std::io::Error>;

fn loaded(client: &mut Client, plan: &LoadPlan, batches: Vec<RecordBatch>) -> Result<u64, LoadError> {
    let source = batches.into_iter().map(Item::Ok);
    load(client, plan, source, &mut |_| {}).map(|report| report.rows)
}

/// What a server does with a request to commit.
#[derive(Clone, Copy, PartialEq)]
enum Commit {
    Answer,
    /// It leaves instead of answering.
    Leave,
    /// It says that the transaction was rolled back.
    Undo,
}

/// Serves until the client leaves. `judge` answers bulk messages; an attention gets an answer if `hears`.
fn serve(peer: &mut Peer, commit: Commit, hears: bool, mut judge: impl FnMut(u64) -> Vec<u8>) {
    while let Some(message) = peer.message() {
        match message.packet_type {
            PacketType::SqlBatch => peer.reply(&done(0, 0, 0)),
            PacketType::TransactionManager => match (message.payload[22], commit) {
                (5, _) => peer.reply(&[transaction_began(7), done(0, 0, 0)].concat()),
                (7, Commit::Answer) => peer.reply(&[transaction_ended(9, 7), done(0, 0, 0)].concat()),
                (7, Commit::Leave) => return,
                _ => peer.reply(&[transaction_ended(10, 7), done(0, 0, 0)].concat()),
            },
            PacketType::BulkLoad => peer.reply(&judge(rows_of(&message.payload))),
            PacketType::Attention if hears => peer.reply(&done(0x20, 0, 0)),
            _ => {}
        }
    }
}

fn rows_of(payload: &[u8]) -> u64 {
    let (mut stream, mut rest) = (BulkStream::new(), payload);
    loop {
        match stream.next(rest, true).unwrap() {
            BulkEvent::Columns { bytes } => rest = &rest[bytes..],
            BulkEvent::Rows(span) => rest = &rest[span.bytes..],
            BulkEvent::End => return stream.rows(),
            BulkEvent::MoreNeeded => panic!("the message is not complete"),
        }
    }
}

fn counted(rows: u64) -> Vec<u8> {
    done(0x10, 0xF0, rows)
}

/// A result of one `bigint NULL`.
fn count_result(rows: i64) -> Vec<u8> {
    let mut result = hex("81 0100 00000000 0900 26 08 00 d1 08");
    result.extend(rows.to_le_bytes());
    result.extend(done(0x10, 0xC1, 1));
    result
}

/// A load of three batches of ten rows whose second commit is not answered; the table then has `rows`. The client asks whether a
/// count waits for `locks` only where that matters.
fn lost_commit(
    commit: Commit,
    rows_before: Option<u64>,
    rows: i64,
    transaction: BatchTransaction,
    locks: Option<bool>,
) -> LoadError {
    let server = Server::listen(move |listener| {
        let mut peer = Peer::accept(&listener);
        peer.log_in();
        let mut commits = 0;
        while let Some(message) = peer.message() {
            match message.packet_type {
                PacketType::SqlBatch => peer.reply(&done(0, 0, 0)),
                PacketType::TransactionManager => match message.payload[22] {
                    5 => peer.reply(&[transaction_began(7), done(0, 0, 0)].concat()),
                    _ => {
                        commits += 1;
                        match (commits, commit) {
                            (2, Commit::Leave) => break,
                            (2, Commit::Undo) => {
                                peer.reply(&[transaction_ended(10, 7), done(0, 0, 0)].concat());
                            }
                            _ => peer.reply(&[transaction_ended(9, 7), done(0, 0, 0)].concat()),
                        }
                    }
                },
                PacketType::BulkLoad => {
                    commits += u32::from(transaction == BatchTransaction::Autocommit);
                    if transaction == BatchTransaction::Autocommit && commits == 2 {
                        break;
                    }
                    peer.reply(&counted(rows_of(&message.payload)));
                }
                other => panic!("{other:?}"),
            }
        }
        drop(peer);
        // The look at the table.
        let mut peer = Peer::accept(&listener);
        peer.log_in();
        let sql = peer.expect(PacketType::SqlBatch).sql();
        assert!(sql.ends_with("SELECT COUNT_BIG(*) FROM [dbo].[t] WITH (TABLOCK, HOLDLOCK)"), "{sql}");
        peer.reply(&count_result(rows));
        drop(peer);
        let Some(waits) = locks else { return };
        let (mut holder, mut reader) = (Peer::accept_in(&listener), Peer::accept_in(&listener));
        assert!(holder.expect(PacketType::SqlBatch).sql().starts_with("SET LOCK_TIMEOUT "));
        holder.reply(&done(0, 0, 0));
        holder.expect(PacketType::TransactionManager);
        holder.reply(&[transaction_began(8), done(0, 0, 0)].concat());
        let locking = holder.expect(PacketType::SqlBatch).sql();
        assert!(locking.ends_with("WITH (TABLOCKX, HOLDLOCK)"), "{locking}");
        holder.reply(&count_result(1));
        reader.expect(PacketType::SqlBatch);
        reader.reply(&match waits {
            true => {
                [error(1222, 45, 16, "Lock request time out period exceeded."), done(2, 0xC1, 0)].concat()
            }
            false => count_result(1),
        });
        // The transaction is rolled back, or goes with its connection.
        holder.message();
    });
    let mut client = server.client();
    let plan = LoadPlan { rows_before, ..plan(10, transaction) };
    let failed = loaded(&mut client, &plan, vec![batch(0..30)]).unwrap_err();
    server.join();
    assert!(client.is_broken());
    failed
}

#[test]
fn a_lost_answer_to_a_commit_leaves_its_rows_in_doubt() {
    let explicit = BatchTransaction::Explicit;
    for commit in [Commit::Leave, Commit::Undo] {
        // The count alone proves nothing where others may write.
        let failed = lost_commit(commit, None, 20, explicit, None);
        assert!(failed.source.is_in_doubt(), "{failed:?}");
        assert_eq!((failed.rows_committed, failed.rows_in_doubt), (10, 10));
        assert_eq!(failed.look.as_ref().map(|look| look.finding), Some(Finding::Unknown));
        let said = failed.to_string();
        assert!(
            said.contains("10 rows before it are committed; it is not known whether its 10 rows"),
            "{said}"
        );
    }
    // Neither with nor without the batch.
    let failed = lost_commit(Commit::Leave, Some(5), 17, explicit, None);
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (10, 10));
}

#[test]
fn the_table_tells_what_became_of_a_batch_where_nobody_else_writes() {
    let explicit = BatchTransaction::Explicit;
    let failed = lost_commit(Commit::Leave, Some(5), 25, explicit, None);
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (20, 0));
    assert!(failed.to_string().contains("20 rows are committed, those of this batch included"), "{failed}");
    let failed = lost_commit(Commit::Leave, Some(5), 15, explicit, Some(true));
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (10, 0));
    assert!(!failed.source.is_in_doubt());
    // A server whose counts wait for nobody: the COMMIT may arrive when the rows have been counted.
    let failed = lost_commit(Commit::Leave, Some(5), 15, explicit, Some(false));
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (10, 10), "{failed}");
    assert!(failed.source.is_in_doubt());
    // A statement that commits by itself may be on its way still.
    let failed = lost_commit(Commit::Leave, Some(5), 15, BatchTransaction::Autocommit, None);
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (10, 10));
    let failed = lost_commit(Commit::Leave, Some(5), 25, BatchTransaction::Autocommit, None);
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (20, 0));
}

#[test]
fn batches_of_the_callers_transaction_are_not_called_committed() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        let mut batches = 0;
        serve(&mut peer, Commit::Answer, true, |rows| {
            batches += 1;
            match batches {
                2 => [error(8152, 1, 16, "Too long."), done(2, 0xF0, 0)].concat(),
                _ => counted(rows),
            }
        });
    });
    let mut client = server.client();
    client.begin(tds::Isolation::Current).unwrap();
    let failed = loaded(&mut client, &plan(10, BatchTransaction::Explicit), vec![batch(0..30)]).unwrap_err();
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (0, 0));
}

#[test]
fn statements_whose_answer_is_lost_are_in_doubt() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.message();
    });
    let mut client = server.client();
    let failed = client.execute("DELETE FROM t").unwrap_err();
    assert!(failed.is_in_doubt(), "{failed:?}");
    // What was never sent is not.
    assert!(matches!(client.execute("DELETE FROM t"), Err(Error::Broken)));
}

#[test]
fn a_bad_value_is_told_though_the_server_never_answers_an_attention() {
    for closes in [false, true] {
        let server = Server::start(|mut peer| {
            peer.log_in();
            serve(&mut peer, Commit::Answer, false, counted);
        });
        let mut client = Client::connect(&server.config("Command Timeout=2")).unwrap();
        if closes {
            client.close_failed_loads();
        }
        let started = Instant::now();
        let plan = plan(1_000_000, BatchTransaction::Explicit);
        let failed = loaded(&mut client, &plan, vec![batch(0..200_000), batch([i64::MAX])]).unwrap_err();
        assert!(matches!(&failed.source, Error::Cell(cell) if cell.row == 200_000), "{failed:?}");
        assert!(started.elapsed() < BOUND && client.is_broken());
        drop(client);
        server.join();
    }
}

#[test]
fn cancelling_does_not_wait_for_a_server_that_hears_nothing() {
    // A query.
    let server = Server::start(|mut peer| {
        peer.log_in();
        while peer.message().is_some() {}
    });
    let mut client = server.client();
    let cancel = client.cancel_handle();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        // A caller may ask to stop again and again.
        for _ in 0..3 {
            cancel.cancel().unwrap();
            thread::sleep(Duration::from_millis(50));
        }
    });
    let started = Instant::now();
    let cancelled = client.query("SELECT 1", Form::Exact).map(drop).unwrap_err();
    assert!(matches!(cancelled, Error::Cancelled), "{cancelled:?}");
    assert!(started.elapsed() < BOUND && client.is_broken());
    canceller.join().unwrap();
    drop(client);
    server.join();
    // A load whose bytes nobody takes.
    let server = Server::start(|mut peer| {
        peer.log_in();
        for _ in 0..2 {
            let message = peer.message().unwrap();
            let began =
                if message.packet_type == PacketType::SqlBatch { Vec::new() } else { transaction_began(7) };
            peer.reply(&[began, done(0, 0, 0)].concat());
        }
        peer
    });
    let mut client = server.client();
    let cancel = client.cancel_handle();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        cancel.cancel().unwrap();
    });
    let started = Instant::now();
    let endless = std::iter::repeat_with(|| Item::Ok(batch(0..60_000)));
    let plan = plan(u64::MAX, BatchTransaction::Explicit);
    let failed = load(&mut client, &plan, endless, &mut |_| {}).unwrap_err();
    assert!(matches!(failed.source, Error::Cancelled), "{failed:?}");
    assert!(started.elapsed() < BOUND);
    canceller.join().unwrap();
    drop(server.join());
}

/// Serves until the client asks to stop, and closes the connection instead of acknowledging that. Statements are not answered.
fn serve_until_attention(peer: &mut Peer) {
    while let Some(message) = peer.message() {
        match message.packet_type {
            PacketType::SqlBatch if message.sql().starts_with("INSERT BULK") => peer.reply(&done(0, 0, 0)),
            PacketType::TransactionManager if message.payload[22] == 5 => {
                peer.reply(&[transaction_began(7), done(0, 0, 0)].concat());
            }
            PacketType::Attention => return,
            _ => {}
        }
    }
}

#[test]
fn whoever_cancels_hears_of_it_where_the_server_closes_the_connection() {
    let cancelled_after = |client: &Client| {
        let cancel = client.cancel_handle();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            cancel.cancel().unwrap();
        })
    };
    let served = || {
        Server::start(|mut peer| {
            peer.log_in();
            serve_until_attention(&mut peer);
        })
    };
    // The rows are on their way, or they are there and the commit, or the end of a batch that commits itself, is not answered.
    for (rows, transaction, in_doubt) in [
        (u64::MAX, BatchTransaction::Explicit, 0),
        (10, BatchTransaction::Explicit, 0),
        (10, BatchTransaction::Autocommit, 10),
    ] {
        let server = served();
        let mut client = server.client();
        let canceller = cancelled_after(&client);
        let source = std::iter::repeat_with(|| Item::Ok(batch(0..10)));
        let mut source = source.take(if rows == u64::MAX { usize::MAX } else { 1 });
        let slow = std::iter::from_fn(|| {
            thread::sleep(Duration::from_millis(u64::from(rows == u64::MAX)));
            source.next()
        });
        let failed = load(&mut client, &plan(rows, transaction), slow, &mut |_| {}).unwrap_err();
        let is_cancelled = match &failed.source {
            Error::Cancelled => in_doubt == 0,
            Error::InDoubt { source, .. } => in_doubt > 0 && matches!(**source, Error::Cancelled),
            _ => false,
        };
        assert!(is_cancelled, "{transaction:?}: {failed:?}");
        assert_eq!((failed.rows_committed, failed.rows_in_doubt), (0, in_doubt));
        canceller.join().unwrap();
        drop(client);
        server.join();
    }
    let server = served();
    let mut client = server.client();
    let canceller = cancelled_after(&client);
    let failed = client.query("SELECT 1", Form::Exact).map(drop).unwrap_err();
    assert!(matches!(failed, Error::Cancelled), "{failed:?}");
    canceller.join().unwrap();
    drop(client);
    server.join();
    // Its time was over, which it answers alike.
    let server = served();
    let mut client = Client::connect(&server.config("Command Timeout=1")).unwrap();
    let failed = client.query("SELECT 1", Form::Exact).map(drop).unwrap_err();
    assert!(matches!(failed, Error::TimedOut { .. }), "{failed:?}");
    drop(client);
    server.join();
}

#[test]
fn a_silent_server_is_not_waited_for_without_end() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        while peer.message().is_some() {}
    });
    let mut client = Client::connect(&server.config("Command Timeout=1")).unwrap();
    let started = Instant::now();
    let failed = client.execute("WAITFOR DELAY '01:00'").unwrap_err();
    assert!(failed.is_in_doubt() && failed.to_string().contains("time-out"), "{failed:?}");
    assert!(started.elapsed() < BOUND);
    drop(client);
    server.join();
    // A handshake.
    let server = Server::start(|mut peer| {
        peer.expect(PacketType::Prelogin);
        let mut reply = hex(support::PRELOGIN_REPLY_WITHOUT_TLS);
        let encryption = reply.len() - 3;
        reply[encryption] = 1;
        peer.reply(&reply);
        while peer.packet().is_some() {}
    });
    let text =
        format!("Server=127.0.0.1,{};Uid=sa;Pwd=x;TrustServerCertificate=yes;Connect Timeout=1", server.port);
    let failed = Client::connect(&parse(&text)).unwrap_err();
    assert!(failed.to_string().contains("did not answer in time"), "{failed}");
    server.join();
}

#[test]
fn packets_without_content_are_silence() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        let began = Instant::now();
        // An attention is heard as little.
        let mut empty =
            tds::packet_framer::frame_message(PacketType::TabularResult, 4096, 51, tds::Status::NORMAL, &[]);
        empty[1] = 0;
        while began.elapsed() < BOUND && std::io::Write::write_all(&mut peer.socket, &empty).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
        began.elapsed() < BOUND
    });
    let mut client = Client::connect(&server.config("Command Timeout=1")).unwrap();
    let failed = client.query_values("SELECT 1").unwrap_err();
    assert!(matches!(failed, Error::TimedOut { .. }), "{failed:?}");
    drop(client);
    assert!(server.join());
}

/// The login answer without the ENVCHANGE of the packet size.
fn untold_login_reply() -> Vec<u8> {
    let told = hex("e3 1300 04 04 3400 3000 3900 3600 04 3400 3000 3900 3600");
    let reply = support::login_reply(&[]);
    let at = reply.windows(told.len()).position(|window| window == told).unwrap();
    [&reply[..at], &reply[at + told.len()..]].concat()
}

#[test]
fn a_server_that_names_no_packet_size_gets_packets_that_it_takes() {
    // It shows the size in an answer of several packets, or it does not.
    for (shown, more, largest) in [(None, "", 4092), (Some(2048), "", 2048), (None, "Packet Size=1024", 1024)]
    {
        let server = Server::start(move |mut peer| {
            peer.greet();
            peer.reply(&untold_login_reply());
            peer.expect(PacketType::SqlBatch);
            let size = shown.unwrap_or(4096);
            let answer = [int_column(), support::int_row(1).repeat(800), done(0x10, 0xC1, 800)].concat();
            let answer = if shown.is_some() { answer } else { done(0, 0, 0) };
            let packets = tds::packet_framer::frame_message(
                PacketType::TabularResult,
                size,
                51,
                tds::Status::NORMAL,
                &answer,
            );
            std::io::Write::write_all(&mut peer.socket, &packets).unwrap();
            let mut largest = 0;
            loop {
                let (header, _) = peer.packet().unwrap();
                largest = largest.max(header.length);
                if header.ends_message() {
                    break;
                }
            }
            peer.reply(&done(0, 0, 0));
            largest
        });
        let mut client = Client::connect(&server.config(more)).unwrap();
        client.execute("SELECT n FROM t").unwrap();
        client.execute(&format!("SELECT {}", "1 + ".repeat(5000))).unwrap();
        assert_eq!(server.join(), largest);
    }
}

#[test]
fn a_batch_in_which_the_server_lost_its_way_is_tried_in_another_cut() {
    let lost = |rows: u64, most: u64| match rows > most {
        true => {
            [error(33_557_097, 1, 16, "Protocol violation: a row ends early."), done(2, 0xF0, 0)].concat()
        }
        false => counted(rows),
    };
    let refuse = |_| ControlFlow::Break(());
    let tolerance = Tolerance { reject: &refuse, bisect: true, keep: &|| Ok(()), keep_open_batch: false };
    for (most, loads) in [(5, true), (3, false)] {
        let server = Server::start(move |mut peer| {
            peer.log_in();
            serve(&mut peer, Commit::Answer, true, |rows| lost(rows, most));
        });
        let mut client = server.client();
        let source = vec![Item::Ok(batch(0..10))].into_iter();
        let plan = plan(10, BatchTransaction::Explicit);
        let batches = Box::new(source.map(|batch| batch.map(Into::into).map_err(Into::into)));
        let source = ParallelSource { plan, tolerance: Some(&tolerance), batches };
        let done = load_parallel(&mut client, vec![source], &ParallelOptions::default(), &mut |_| {});
        assert_eq!(done.as_ref().map(|report| report.load.rows).ok(), loads.then_some(10), "{done:?}");
        drop(client);
        server.join();
    }
}
