//! Bulk loads against a server that counts rows, and against servers that do not like them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, mpsc};
use std::thread;

use arrow::{
    array::{Int32Array, StringArray},
    datatypes::{DataType, Field, Schema},
    record_batch::RecordBatch,
};
use bulkwire_load::{
    BatchTransaction, Client, CountRule, Error, LoadPlan, ParallelOptions, ParallelSource, Progress, Writers,
    load, load_parallel,
};
use rows::{BulkHints, CastOptions, Mapping, Plan};
use support::{Message, Peer, Server, done, error, transaction_began, transaction_ended};
use tds::{BulkEvent, BulkStream, Column, Length, PacketType, SqlType};

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int32, false),
        Field::new("s", DataType::Utf8, true),
    ]))
}

fn batch(rows: std::ops::Range<i32>) -> RecordBatch {
    let numbers = Int32Array::from_iter_values(rows.clone());
    let texts = StringArray::from_iter(rows.map(|n| (n % 7 != 0).then(|| "x".repeat(n as usize % 20))));
    RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
}

fn plan(batch_rows: u64, transaction: BatchTransaction) -> LoadPlan {
    let nvarchar = SqlType::NVarChar { length: Length::Units(19) };
    let collation = Some(tds::Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
    let columns = [Column::new("n", SqlType::Int, false, None), Column::new("s", nvarchar, true, collation)];
    LoadPlan {
        table: "dbo.t".parse().unwrap(),
        rows: Plan::new(&schema(), &columns, &Mapping::ByName, CastOptions::default()).unwrap(),
        batch_rows,
        hints: BulkHints { table_lock: true, ..BulkHints::default() },
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

/// Rows of a bulk message; the message must be well formed to its end.
fn count_rows(message: &Message) -> u64 {
    let mut stream = BulkStream::new();
    let mut rest = message.payload.as_slice();
    loop {
        match stream.next(rest, true).unwrap() {
            BulkEvent::Columns { bytes } => rest = &rest[bytes..],
            BulkEvent::Rows(span) => rest = &rest[span.bytes..],
            BulkEvent::End => return stream.rows(),
            BulkEvent::MoreNeeded => panic!("the message is not complete"),
        }
    }
}

/// Serves one connection like SQL Server; `judge` answers the bulk messages. Returns a log.
fn serve(peer: Peer, judge: impl FnMut(u64) -> Vec<u8>) -> Vec<String> {
    serve_saying(peer, judge, |_| done(0, 0, 0))
}

/// Like [`serve`]; `say` answers the statements.
fn serve_saying(
    mut peer: Peer,
    mut judge: impl FnMut(u64) -> Vec<u8>,
    mut say: impl FnMut(&str) -> Vec<u8>,
) -> Vec<String> {
    peer.log_in();
    let mut log = Vec::new();
    let mut descriptor = 0_u64;
    while let Some(message) = peer.message() {
        match message.packet_type {
            PacketType::SqlBatch => {
                log.push(message.sql());
                peer.reply(&say(&message.sql()));
            }
            PacketType::TransactionManager => {
                let kind = message.payload[22];
                descriptor += u64::from(kind == 5);
                let (name, change) = match kind {
                    5 => ("begin", transaction_began(descriptor)),
                    7 => ("commit", transaction_ended(9, descriptor)),
                    8 => ("rollback", transaction_ended(10, descriptor)),
                    other => panic!("transaction request {other}"),
                };
                log.push(name.to_owned());
                peer.reply(&[change, done(0, 0, 0)].concat());
            }
            PacketType::BulkLoad => {
                let rows = count_rows(&message);
                log.push(format!("bulk {rows} rows"));
                peer.reply(&judge(rows));
            }
            PacketType::Attention => {
                log.push("attention".to_owned());
                peer.reply(&done(0x20, 0, 0));
            }
            other => panic!("{other:?}"),
        }
    }
    log
}

fn counted(rows: u64) -> Vec<u8> {
    done(0x10, 0xF0, rows)
}

const STATEMENT: &str =
    "INSERT BULK [dbo].[t] ([n] int, [s] nvarchar(19) COLLATE SQL_Latin1_General_CP1_CI_AS) WITH (TABLOCK)";

type Item = Result<RecordBatch, std::io::Error>;

fn source(batches: Vec<RecordBatch>) -> impl Iterator<Item = Item> + Send {
    batches.into_iter().map(Ok)
}

#[test]
fn every_batch_is_one_transaction() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let plan = plan(1000, BatchTransaction::Explicit);
    let mut seen: Vec<Progress> = Vec::new();
    let batches = vec![batch(0..700), batch(700..701), batch(0..0), batch(701..2500)];
    let report = load(&mut client, &plan, source(batches), &mut |p| seen.push(*p)).unwrap();
    assert_eq!((report.rows, report.batches), (2500, 3));
    let last = seen.last().unwrap();
    assert_eq!((last.rows_sent, last.rows_committed, last.batches), (2500, 2500, 3));
    assert_eq!(last.bytes_on_wire, report.bytes_on_wire);
    drop(client);
    let one = |rows| {
        vec!["begin".to_owned(), STATEMENT.to_owned(), format!("bulk {rows} rows"), "commit".to_owned()]
    };
    assert_eq!(server.join(), [one(1000), one(1000), one(500)].concat());
}

#[test]
fn autocommit_needs_no_transaction_requests() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let plan = plan(1000, BatchTransaction::Autocommit);
    load(&mut client, &plan, source(vec![batch(0..1500)]), &mut |_| {}).unwrap();
    drop(client);
    assert_eq!(server.join(), [STATEMENT, "bulk 1000 rows", STATEMENT, "bulk 500 rows"]);
}

#[test]
fn an_empty_source_sends_nothing() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let report =
        load(&mut client, &plan(1000, BatchTransaction::Explicit), source(vec![batch(0..0)]), &mut |_| {})
            .unwrap();
    assert_eq!((report.rows, report.batches, report.bytes_on_wire), (0, 0, 0));
    drop(client);
    assert!(server.join().is_empty());
}

#[test]
fn a_wrong_count_is_rolled_back() {
    for (transaction, committed, last) in [
        (BatchTransaction::Explicit, false, "rollback"),
        (BatchTransaction::Autocommit, true, "bulk 10 rows"),
    ] {
        let server = Server::start(|peer| serve(peer, |rows| counted(rows - 1)));
        let mut client = server.client();
        let failed =
            load(&mut client, &plan(1000, transaction), source(vec![batch(0..10)]), &mut |_| {}).unwrap_err();
        let Error::CountMismatch { sent: 10, acknowledged: 9, committed: stands } = failed.source else {
            panic!("{failed:?}")
        };
        assert_eq!((stands, failed.rows_committed), (committed, 0));
        drop(client);
        assert_eq!(server.join().last().unwrap(), last);
    }
}

#[test]
fn a_rejected_batch_names_its_rows_and_keeps_those_before() {
    let mut batches = 0;
    let server = Server::start(move |peer| {
        serve(peer, move |rows| {
            batches += 1;
            match batches {
                3 => [error(2627, 1, 14, "Violation of PRIMARY KEY constraint 'PK_t'."), done(2, 0xF0, 0)]
                    .concat(),
                _ => counted(rows),
            }
        })
    });
    let mut client = server.client();
    let failed =
        load(&mut client, &plan(100, BatchTransaction::Explicit), source(vec![batch(0..1000)]), &mut |_| {})
            .unwrap_err();
    let message = failed.source.server_message().unwrap();
    assert_eq!((message.number, message.state, message.class, message.line), (2627, 1, 14, 1));
    let where_ = failed.batch.as_ref().unwrap();
    assert_eq!((where_.index, where_.rows.clone(), failed.rows_committed), (2, 200..300, 200));
    assert!(
        failed
            .to_string()
            .contains("(batch 3, rows 201 to 300 of the source); 200 rows before it are committed"),
        "{failed}"
    );
    // The connection is sound.
    client.execute("next").unwrap();
    drop(client);
    let log = server.join();
    assert_eq!(log[log.len() - 3..], ["bulk 100 rows", "rollback", "next"]);
}

#[test]
fn an_early_error_stops_the_sending() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
        let (first, _) = peer.packet().unwrap();
        assert_eq!(first.packet_type, PacketType::BulkLoad);
        peer.reply(
            &[error(4891, 1, 16, "Insert bulk failed due to a schema change."), done(2, 0xF0, 0)].concat(),
        );
        let mut packets = 1_u64;
        while peer.packet().unwrap().0.packet_type != PacketType::Attention {
            packets += 1;
        }
        peer.reply(&done(0x20, 0, 0));
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
        packets
    });
    let mut client = server.client();
    // Far more than socket buffers hold.
    let endless = (0..100_000).map(|n| Item::Ok(batch(n * 1000..n * 1000 + 1000)));
    let failed =
        load(&mut client, &plan(u64::MAX, BatchTransaction::Autocommit), endless, &mut |_| {}).unwrap_err();
    assert_eq!(failed.source.server_message().unwrap().number, 4891);
    client.execute("next").unwrap();
    let packets = server.join();
    assert!(packets < 100_000, "{packets} packets");
}

#[test]
fn a_connection_cut_while_sending_still_tells_why() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
        peer.packet().unwrap();
        peer.reply(&[error(4014, 2, 20, "A fatal error occurred."), done(2, 0, 0)].concat());
        // Sending is still going on when the server leaves.
        peer.socket.shutdown(std::net::Shutdown::Write).unwrap();
        while peer.packet().is_some_and(|(header, _)| !header.ends_message()) {}
    });
    let mut client = server.client();
    let endless = (0..100_000).map(|n| Item::Ok(batch(n * 1000..n * 1000 + 1000)));
    let failed =
        load(&mut client, &plan(u64::MAX, BatchTransaction::Autocommit), endless, &mut |_| {}).unwrap_err();
    assert_eq!(failed.source.server_message().map(|m| m.number), Some(4014), "{failed:?}");
    assert!(matches!(client.execute("next"), Err(Error::Broken)));
    server.join();
}

#[test]
fn a_bad_value_is_found_before_its_batch_ends() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let long = RecordBatch::try_new(
        schema(),
        vec![
            Arc::new(Int32Array::from(vec![1, 2])),
            Arc::new(StringArray::from(vec!["fits", "twenty characters!!!"])),
        ],
    )
    .unwrap();
    let failed = load(
        &mut client,
        &plan(1000, BatchTransaction::Explicit),
        source(vec![batch(0..1500), long]),
        &mut |_| {},
    )
    .unwrap_err();
    let Error::Cell(cell) = &failed.source else { panic!("{failed:?}") };
    assert_eq!((cell.row, cell.column.as_str()), (1501, "s"));
    assert_eq!(failed.rows_committed, 1000);
    drop(client);
    let log = server.join();
    assert_eq!(log[4..], ["begin", STATEMENT, "attention", "rollback"]);
}

#[test]
fn a_failing_source_aborts_the_open_batch() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let items = vec![Ok(batch(0..10)), Err(std::io::Error::other("line 11 is odd"))];
    let failed = load(&mut client, &plan(1000, BatchTransaction::Explicit), items.into_iter(), &mut |_| {})
        .unwrap_err();
    assert!(matches!(&failed.source, Error::Source(source) if source.to_string() == "line 11 is odd"));
    drop(client);
    assert!(!server.join().contains(&"commit".to_owned()));
}

#[test]
fn a_dropped_load_is_aborted() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let plan = plan(1000, BatchTransaction::Explicit);
    let mut bulk = client.bulk_load(&plan).unwrap();
    bulk.write(&batch(0..1200)).unwrap();
    assert_eq!(bulk.rows_in_batch(), 200);
    drop(bulk);
    let mut bulk = client.bulk_load(&plan).unwrap();
    bulk.write(&batch(0..5)).unwrap();
    assert_eq!(bulk.finish().unwrap().rows_committed, 5);
    drop(client);
    let log = server.join();
    assert!(log[..4].iter().any(|entry| entry == "commit"));
    assert_eq!(
        log[4..],
        ["begin", STATEMENT, "attention", "rollback", "begin", STATEMENT, "bulk 5 rows", "commit"]
    );
}

#[test]
fn a_load_is_cancelled_from_another_thread() {
    let server = Server::start(|peer| serve(peer, counted));
    let mut client = server.client();
    let cancel = client.cancel_handle();
    let endless = (0..i32::MAX / 1000).map(|n| Item::Ok(batch(n * 1000..n * 1000 + 1000)));
    let mut calls = 0;
    let failed = load(&mut client, &plan(u64::MAX, BatchTransaction::Explicit), endless, &mut |_| {
        calls += 1;
        if calls == 3 {
            cancel.cancel().unwrap();
        }
    })
    .unwrap_err();
    assert!(matches!(failed.source, Error::Cancelled), "{failed:?}");
    client.execute("next").unwrap();
    drop(client);
    assert_eq!(server.join(), ["begin", STATEMENT, "attention", "rollback", "next"]);
}

#[test]
fn a_refused_statement_leaves_no_transaction() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::TransactionManager);
        peer.reply(&[transaction_began(7), done(0, 0, 0)].concat());
        peer.expect(PacketType::SqlBatch);
        peer.reply(&[error(208, 1, 16, "Invalid object name 'dbo.t'."), done(2, 0, 0)].concat());
        let rollback = peer.expect(PacketType::TransactionManager).payload[22];
        peer.reply(&[transaction_ended(10, 7), done(0, 0, 0)].concat());
        rollback
    });
    let mut client: Client = server.client();
    let failed =
        load(&mut client, &plan(10, BatchTransaction::Explicit), source(vec![batch(0..5)]), &mut |_| {})
            .unwrap_err();
    assert_eq!(failed.source.server_message().unwrap().number, 208);
    assert!(!client.in_transaction());
    assert_eq!(server.join(), 8);
}

/// The second connection's bulk load is refused while the first has begun one. That one gets its answers only when the second
/// connection has ended, and with it everything that the client does about the refusal.
#[test]
fn when_one_writer_fails_the_others_finish_their_batch() {
    let server = Server::listen(|listener| {
        let (begun, has_begun) = mpsc::channel::<()>();
        let (ended, has_ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let first = Peer::accept(&listener);
            let first = scope.spawn(move || {
                let mut is_first = true;
                serve_saying(first, counted, move |sql| {
                    assert!(sql.starts_with("INSERT BULK"), "{sql}");
                    if std::mem::take(&mut is_first) {
                        begun.send(()).unwrap();
                        has_ended.recv().unwrap();
                    }
                    done(0, 0, 0)
                })
            });
            let second = Peer::accept(&listener);
            let second = serve_saying(second, counted, |_| {
                has_begun.recv().unwrap();
                [error(229, 5, 14, "The INSERT permission was denied."), done(2, 0, 0)].concat()
            });
            ended.send(()).unwrap();
            (first.join().unwrap(), second)
        })
    });
    let mut client = server.client();
    let batches = (0..10).map(|n| Ok(batch(n * 1000..(n + 1) * 1000).into()));
    let plan = LoadPlan { writers_max: 2, ..plan(1000, BatchTransaction::Explicit) };
    let source = ParallelSource { plan, tolerance: None, batches: Box::new(batches) };
    let options = ParallelOptions { writers: Writers::Fixed(2), ..ParallelOptions::default() };
    let failed = load_parallel(&mut client, vec![source], &options, &mut |_| {}).unwrap_err();
    assert_eq!(failed.source.server_message().map(|message| message.number), Some(229));
    assert_eq!((failed.rows_committed, failed.rows_in_doubt), (1000, 0));
    drop(client);
    let (first, second) = server.join();
    assert_eq!(first, ["begin", STATEMENT, "bulk 1000 rows", "commit"]);
    assert_eq!(second, ["begin", STATEMENT, "rollback"]);
}
