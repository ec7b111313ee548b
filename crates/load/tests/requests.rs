//! Batches, results, transactions, cancelling: the answers of a scripted server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::{thread, time::Duration};

use arrow::{array::Int32Array, record_batch::RecordBatch};
use bulkwire_load::{Client, Error, ResultStream, export};
use rows::Form;
use support::{Server, done, error, hex, int_column, int_row, message, transaction_began, transaction_ended};
use tds::{Isolation, PacketType, SqlType, TdsVersion, Value};

fn values(batch: &RecordBatch) -> Vec<Option<i32>> {
    batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap().iter().collect()
}

fn all(stream: &mut ResultStream<'_>) -> Vec<Option<i32>> {
    stream.flat_map(|batch| values(&batch.unwrap())).collect()
}

#[test]
fn result_sets_come_one_after_the_other() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        let sql = peer.expect(PacketType::SqlBatch).sql();
        let rows = [int_row(1), hex("d1 00"), hex("d2 01"), hex("d2 00 04 05000000")].concat();
        peer.reply_part(&[message(0xAB, 0, 1, 0, "hello"), done(1, 0, 0), int_column()].concat());
        // A row is cut by the packet's end.
        let (head, tail) = rows.split_at(3);
        peer.reply_part(head);
        peer.reply_part(&[tail, &done(0x11, 0xC1, 4)].concat());
        peer.reply(
            &[int_column(), done(0x11, 0xC1, 0), int_column(), int_row(9), done(0x10, 0xC1, 1)].concat(),
        );
        sql
    });
    let mut client = server.client();
    let mut stream = client.query("SELECT n", Form::default()).unwrap();
    assert_eq!(stream.schema().field(0).name(), "n");
    assert_eq!(all(&mut stream), [Some(1), None, None, Some(5)]);
    assert_eq!(stream.take_messages().iter().map(|m| m.message.as_str()).collect::<Vec<_>>(), ["hello"]);
    assert!(stream.next_result().unwrap());
    assert_eq!(all(&mut stream), []);
    assert!(stream.next_result().unwrap());
    assert_eq!(all(&mut stream), [Some(9)]);
    assert!(!stream.next_result().unwrap());
    drop(stream);
    drop(client);
    assert_eq!(server.join(), "SELECT n");
}

#[test]
fn batches_have_the_rows_that_were_asked_for() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        let rows: Vec<u8> = (0..10).flat_map(int_row).collect();
        peer.reply(&[int_column(), rows, done(0x10, 0xC1, 10)].concat());
    });
    let mut client = server.client();
    let stream = client.query("q", Form::default()).unwrap().with_batch_rows(4).unwrap();
    let lengths: Vec<usize> = stream.map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(lengths, [4, 4, 2]);
}

#[test]
fn an_error_behind_rows_is_not_lost() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.reply(
            &[
                int_column(),
                int_row(1),
                error(8134, 1, 16, "Divide by zero error encountered."),
                done(2, 0xC1, 0),
            ]
            .concat(),
        );
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
    });
    let mut client = server.client();
    let mut stream = client.query("q", Form::default()).unwrap();
    assert_eq!(values(&stream.next_batch().unwrap().unwrap()), [Some(1)]);
    let error = stream.next_batch().unwrap_err();
    assert_eq!(error.server_message().unwrap().number, 8134);
    assert_eq!(error.to_string(), "Msg 8134, Level 16, State 1, Line 1: Divide by zero error encountered.");
    assert!(stream.next_batch().unwrap().is_none());
    drop(stream);
    client.execute("still there").unwrap();
}

#[test]
fn a_dropped_stream_cancels_its_query() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.reply_part(&[int_column(), int_row(1), int_row(2)].concat());
        peer.expect(PacketType::Attention);
        peer.reply(&[int_row(3), done(0x20, 0, 0)].concat());
        let sql = peer.expect(PacketType::SqlBatch).sql();
        peer.reply(&done(0x10, 0xC3, 7));
        sql
    });
    let mut client = server.client();
    let mut stream = client.query("endless", Form::default()).unwrap().with_batch_rows(1).unwrap();
    assert_eq!(values(&stream.next_batch().unwrap().unwrap()), [Some(1)]);
    drop(stream);
    assert_eq!(client.execute("next").unwrap().rows_affected, 7);
    assert_eq!(server.join(), "next");
}

#[test]
fn another_thread_cancels() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.expect(PacketType::Attention);
        peer.reply(&done(0x20, 0, 0));
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
    });
    let mut client = server.client();
    let cancel = client.cancel_handle();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        cancel.cancel().unwrap();
    });
    assert!(matches!(client.execute("WAITFOR DELAY '1:00'"), Err(Error::Cancelled)));
    canceller.join().unwrap();
    client.execute("next").unwrap();
}

#[test]
fn an_attention_that_comes_too_late_is_still_acknowledged() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.expect(PacketType::Attention);
        // The answer was complete when the attention arrived: two messages.
        peer.reply(&done(0x10, 0xC3, 1));
        peer.reply(&done(0x20, 0, 0));
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0x10, 0xC3, 5));
    });
    let mut client = server.client();
    let cancel = client.cancel_handle();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        cancel.cancel().unwrap();
    });
    assert!(matches!(client.execute("q"), Err(Error::Cancelled)));
    canceller.join().unwrap();
    assert_eq!(client.execute("next").unwrap().rows_affected, 5);
}

#[test]
fn a_command_that_takes_too_long_is_stopped() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        peer.expect(PacketType::Attention);
        peer.reply(&done(0x20, 0, 0));
        peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
    });
    let mut client = Client::connect(&server.config("Command Timeout=1")).unwrap();
    assert!(matches!(client.execute("slow"), Err(Error::TimedOut { .. })));
    client.execute("next").unwrap();
}

#[test]
fn transactions_are_named_in_the_headers_of_what_follows() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::TransactionManager);
        peer.reply(&[transaction_began(0x1122), done(0, 0xD4, 0)].concat());
        let inside = peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
        let commit = peer.expect(PacketType::TransactionManager);
        peer.reply(&[transaction_ended(9, 0x1122), done(0, 0xD5, 0)].concat());
        let outside = peer.expect(PacketType::SqlBatch);
        peer.reply(&done(0, 0, 0));
        [inside, commit, outside].map(|m| u64::from_le_bytes(m.payload[10..18].try_into().unwrap()))
    });
    let mut client = server.client();
    client.begin(Isolation::Current).unwrap();
    assert!(client.in_transaction());
    client.execute("inside").unwrap();
    client.commit().unwrap();
    assert!(!client.in_transaction());
    client.rollback().unwrap();
    client.execute("outside").unwrap();
    assert_eq!(server.join(), [0x1122, 0x1122, 0]);
}

#[test]
fn parameters_travel_in_sp_executesql() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        let call =
            tds::rpc::RpcMessage::decode(&peer.expect(PacketType::Rpc).payload, TdsVersion::V7_4).unwrap();
        let mut reply = vec![0xFF];
        reply.extend(&done(0x11, 0xC3, 2)[1..]);
        reply.extend(hex("79 07000000"));
        reply.push(0xFE);
        reply.extend(&done(0, 0xE0, 0)[1..]);
        peer.reply(&reply);
        call
    });
    let mut client = server.client();
    let name =
        ("@name", SqlType::NVarChar { length: tds::Length::Units(20) }, Value::String("Zoë".to_owned()));
    let result =
        client.execute_with("UPDATE t SET n = @n", &[("@n", SqlType::Int, Value::Int(7)), name]).unwrap();
    assert_eq!((result.rows_affected, result.return_status), (2, Some(7)));
    let call = server.join();
    let parameters = &call.requests[0].parameters;
    let texts: Vec<String> = parameters.iter().map(|p| p.value.to_string()).collect();
    assert_eq!(texts, ["UPDATE t SET n = @n", "@n int, @name nvarchar(20)", "7", "Zoë"]);
    assert_eq!(parameters[2].name, "@n");
}

#[test]
fn what_follows_a_transaction_that_the_server_has_ended_is_not_sent() {
    // A failed conversion, a deadlock, a snapshot conflict.
    for (number, commits) in
        [245, 1205, 3960].into_iter().flat_map(|number| [(number, true), (number, false)])
    {
        let server = Server::start(move |mut peer| {
            peer.log_in();
            peer.expect(PacketType::TransactionManager);
            peer.reply(&[transaction_began(7), done(0, 0, 0)].concat());
            peer.expect(PacketType::SqlBatch);
            let error = error(number, 1, 16, "It failed.");
            peer.reply(&[error, transaction_ended(10, 7), done(2, 0, 0)].concat());
            // Nothing but what is asked for when the transaction is over.
            let sql = peer.expect(PacketType::SqlBatch).sql();
            peer.reply(&done(0, 0, 0));
            sql
        });
        let mut client = server.client();
        client.begin(Isolation::Current).unwrap();
        let failed = client.execute("SELECT CONVERT(int, 'x')").unwrap_err();
        assert_eq!(failed.server_message().unwrap().number, number);
        assert!(client.in_transaction() && !client.transaction_stands());
        let parameter = ("@n", SqlType::Int, Value::Int(7));
        let refused = [
            client.execute("INSERT t VALUES (1)").map(drop),
            client.execute_with("INSERT t VALUES (@n)", &[parameter]).map(drop),
            client.query("SELECT 1", Form::default()).map(drop),
            client.query_values("SELECT 1").map(drop),
            client.rpc("p", Vec::new()).map(drop),
            client.describe(&"t".parse().unwrap()).map(drop),
            client.begin(Isolation::Current),
            client.check_transaction(),
        ];
        for result in refused {
            assert!(matches!(result, Err(Error::TransactionEnded { committed: false, cause: Some(_) })));
        }
        match commits {
            true => assert!(matches!(client.commit(), Err(Error::TransactionEnded { .. }))),
            false => client.rollback().unwrap(),
        }
        assert!(!client.in_transaction());
        client.execute("afterwards").unwrap();
        drop(client);
        assert_eq!(server.join(), "afterwards");
    }
}

#[test]
fn statements_that_fail_before_a_commit_leave_no_transaction_open() {
    // The server rolls back, or it has not read its CATCH, or it refuses to roll back.
    for (stays_open, rolls_back) in [(false, true), (true, true), (true, false)] {
        let server = Server::start(move |mut peer| {
            peer.log_in();
            peer.expect(PacketType::TransactionManager);
            peer.reply(&[transaction_began(7), done(0, 0, 0)].concat());
            let sql = peer.expect(PacketType::SqlBatch).sql();
            assert!(sql.contains("INSERT nope VALUES (1)"), "{sql}");
            let end = if stays_open { Vec::new() } else { transaction_ended(10, 7) };
            let failed = error(208, 1, 16, "Invalid object name 'nope'.");
            peer.reply(&[end, failed, done(2, 0, 0)].concat());
            if stays_open {
                let request = peer.expect(PacketType::TransactionManager);
                assert_eq!(request.payload[22], 8, "a rollback");
                peer.reply(&match rolls_back {
                    true => [transaction_ended(10, 7), done(0, 0, 0)].concat(),
                    false => [error(3903, 1, 16, "No."), done(2, 0, 0)].concat(),
                });
            }
            peer.message().map(|message| message.sql())
        });
        let mut client = server.client();
        client.begin(Isolation::Current).unwrap();
        let failed = client.commit_after("INSERT nope VALUES (1)").unwrap_err();
        assert_eq!(failed.server_message().unwrap().number, 208);
        assert!(client.is_broken() || !client.in_transaction());
        assert_eq!(client.is_broken(), stays_open && !rolls_back);
        let next = client.execute("afterwards");
        drop(client);
        let heard = server.join();
        assert_eq!(heard.as_deref(), rolls_back.then_some("afterwards"), "{next:?}");
    }
}

#[test]
fn a_fatal_error_ends_the_connection_but_is_reported() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        peer.expect(PacketType::SqlBatch);
        // No DONE: the connection is simply gone.
        peer.reply_part(&error(4014, 1, 20, "A fatal error occurred while reading the input stream."));
    });
    let mut client = server.client();
    let error = client.execute("q").unwrap_err();
    assert_eq!(error.server_message().unwrap().number, 4014);
    assert!(client.is_broken());
    assert!(matches!(client.execute("next"), Err(Error::Broken)));
}

#[test]
fn an_answer_without_its_end_is_an_error() {
    let whole = [int_column(), int_row(1), done(0x10, 0xC1, 1)].concat();
    for length in 0..=whole.len() {
        let answer = whole[..length].to_vec();
        let complete = length == whole.len();
        let server = Server::start(move |mut peer| {
            peer.log_in();
            peer.expect(PacketType::SqlBatch);
            peer.reply(&answer);
        });
        let mut client = server.client();
        let read = client.query_values("q");
        assert_eq!(read.is_ok(), complete, "{length} bytes: {read:?}");
        assert_eq!(client.is_broken(), !complete);
    }
}

#[test]
fn an_export_hands_every_batch_to_its_sink() {
    let server = Server::start(|mut peer| {
        peer.log_in();
        for _ in 0..2 {
            peer.expect(PacketType::SqlBatch);
            peer.reply_part(&int_column());
            for first in 0..20 {
                peer.reply_part(&(0..100).flat_map(|n| int_row(first * 100 + n)).collect::<Vec<_>>());
            }
            peer.reply(&done(0x10, 0xC1, 2000));
        }
    });
    let mut client = server.client();
    let mut sum = 0;
    let stream = client.query("q", Form::default()).unwrap().with_batch_rows(300).unwrap();
    let report = export(stream, |batch| {
        sum += values(&batch).into_iter().flatten().sum::<i32>();
        Ok::<_, std::io::Error>(())
    })
    .unwrap();
    assert_eq!((report.rows, report.batches, sum), (2000, 7, 1999 * 1000));

    let stream = client.query("q", Form::default()).unwrap().with_batch_rows(300).unwrap();
    let result = export(stream, |_| Err(std::io::Error::other("disk full")));
    assert!(matches!(&result, Err(Error::Sink(source)) if source.to_string() == "disk full"), "{result:?}");
}

/// Handles and clients may be moved to other threads.
fn is_send<T: Send>() {}

#[test]
fn clients_and_streams_can_be_moved_to_other_threads() {
    is_send::<Client>();
    is_send::<ResultStream<'_>>();
    is_send::<bulkwire_load::CancelHandle>();
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// No answer, however broken, makes the client panic or wait for more than the answer announces.
    #[test]
    fn any_answer_ends(start in 0..4_usize, cut in 0..40_usize, noise in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let starts = [Vec::new(), int_column(), [int_column(), int_row(7)].concat(), error(50_000, 1, 16, "no")];
        let mut answer = starts[start].clone();
        answer.truncate(cut);
        answer.extend(noise);
        let server = Server::start(move |mut peer| {
            peer.log_in();
            peer.expect(PacketType::SqlBatch);
            peer.reply(&answer);
        });
        let mut client = server.client();
        if let Ok(stream) = client.query("q", Form::default()) {
            stream.for_each(drop);
        }
    }
}

#[test]
fn a_statement_that_fails_without_a_word_has_failed() {
    let severe = done(0x110, 0xC1, 3);
    for replies in [done(0x02, 0xC1, 0), [done(0x03, 0xC1, 0), done(0, 0xC1, 1)].concat(), severe] {
        let server = Server::start(move |mut peer| {
            peer.log_in();
            for _ in 0..2 {
                peer.expect(PacketType::SqlBatch);
                peer.reply(&replies);
            }
        });
        let mut client = server.client();
        let failed = client.execute("q").unwrap_err();
        assert!(failed.to_string().contains("A severe error occurred"), "{failed}");
        let failed = client.query_values("q").unwrap_err();
        assert!(failed.to_string().contains("A severe error occurred"), "{failed}");
        server.join();
    }
}

#[test]
fn rows_that_are_lost_on_their_way_are_missed() {
    for (said, is_whole) in [(2, true), (5, false), (1, false)] {
        let server = Server::start(move |mut peer| {
            peer.log_in();
            peer.expect(PacketType::SqlBatch);
            peer.reply(
                &[
                    support::int_column(),
                    support::int_row(1),
                    support::int_row(2),
                    done(0x11, 0xC1, said),
                    // An assignment counts rows, and sends none.
                    done(0x10, 0xC1, 1),
                ]
                .concat(),
            );
            peer.message();
        });
        let mut client = server.client();
        let read: Result<Vec<_>, _> = client.query("q", Form::Exact).unwrap().collect();
        assert_eq!(read.is_ok(), is_whole, "{read:?}");
        drop(client);
        server.join();
    }
}
