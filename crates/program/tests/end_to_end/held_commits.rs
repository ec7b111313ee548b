//! A COMMIT that arrives late: its client has lost the connection, looks at the table, and must not say what is not so.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::fixture::{Fixture, PASSWORD};

/// A driver's requests about transactions, and the one that commits (MS-TDS 2.2.7.17).
const TRANSACTION_MANAGER: u8 = 14;
const COMMIT: u16 = 7;

/// When the COMMIT goes on to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// When the client has come to its end.
    AfterTheClient,
    /// When the client connects again, to look.
    WithTheLook,
}

/// A line whose first connection keeps the COMMIT with this number, and resets the client.
struct HoldingLine {
    port: u16,
    release: Sender<()>,
    holder: JoinHandle<()>,
}

impl HoldingLine {
    fn new(server: SocketAddr, commit: usize, arrival: Arrival) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (release, released) = channel();
        let by_look = release.clone();
        let holder = thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let holding = pump(client, TcpStream::connect(server).unwrap(), Some((commit, released)));
            // Later connections are those of the look.
            let looks = thread::spawn(move || {
                for client in listener.incoming().map_while(Result::ok) {
                    if arrival == Arrival::WithTheLook {
                        let _ = by_look.send(());
                    }
                    let Ok(server) = TcpStream::connect(server) else { return };
                    pump(client, server, None);
                }
            });
            holding.join().unwrap();
            drop(looks);
        });
        Self { port, release, holder }
    }
}

/// Passes bytes on in both directions. The thread of the client's is returned.
fn pump(client: TcpStream, server: TcpStream, held: Option<(usize, Receiver<()>)>) -> JoinHandle<()> {
    let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let answering = thread::spawn(move || {
        let _ = std::io::copy(&mut answers, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    thread::spawn(move || up(client, server, held, answering))
}

fn up(
    mut client: TcpStream,
    mut server: TcpStream,
    mut held: Option<(usize, Receiver<()>)>,
    answering: JoinHandle<()>,
) {
    let mut header = [0; 8];
    let mut commits = 0;
    while client.read_exact(&mut header).is_ok() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut packet = header.to_vec();
        packet.resize(length, 0);
        if client.read_exact(&mut packet[8..]).is_err() {
            break;
        }
        // Behind the headers of all requests.
        let at =
            8 + packet.get(8..12).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().unwrap()) as usize);
        let request = packet.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        if header[0] == TRANSACTION_MANAGER && request == Some(COMMIT) {
            commits += 1;
            if let Some((_, released)) = held.take_if(|(number, _)| *number == commits) {
                let _ = socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO));
                let _ = client.shutdown(Shutdown::Both);
                let _ = released.recv();
                let _ = server.write_all(&packet);
                // Its answer goes nowhere, and is waited for: then it has happened.
                let _ = server.shutdown(Shutdown::Write);
                answering.join().unwrap();
                return;
            }
        }
        if server.write_all(&packet).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
}

#[test]
fn a_commit_that_arrives_late_is_not_called_rolled_back() {
    for versions in ["OFF", "ON"] {
        let fixture = Fixture::new();
        fixture.sql(&format!("CREATE DATABASE d; ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT {versions}"));
        let rows: String = (0..300).map(|n| format!("{n},row {n}\n")).collect();
        fixture.file("t.csv", format!("n,s\n{rows}"));
        for (index, (arrival, flag)) in [
            (Arrival::AfterTheClient, "--sole-writer"),
            (Arrival::AfterTheClient, "--truncate"),
            (Arrival::WithTheLook, "--sole-writer"),
        ]
        .into_iter()
        .enumerate()
        {
            let table = format!("t{index}");
            fixture.sql(&format!("CREATE TABLE d.dbo.{table} (n int NOT NULL, s varchar(30) NULL)"));
            let line = HoldingLine::new(fixture.server.address(), 2, arrival);
            let url = format!("mssql://sa@127.0.0.1:{}/d?Encrypt=Off", line.port);
            let words = [
                "load",
                &table,
                "t.csv",
                "--url",
                &url,
                "--batch-rows",
                "100",
                "--command-timeout",
                "2",
                "--quiet",
                flag,
            ];
            let ran = fixture.run_with_variables(&[("BULKWIRE_PASSWORD", PASSWORD)], &words);
            let what = format!("{versions}, {arrival:?}, {flag}: {} {}", ran.code, ran.stderr);
            match arrival {
                // The lock is not given free, so nothing is known.
                Arrival::AfterTheClient => {
                    assert_eq!(ran.code, 4, "{what}");
                    assert!(ran.stderr.contains("it is not known whether"), "{what}");
                }
                Arrival::WithTheLook => {
                    assert_eq!(ran.code, 1, "{what}");
                    assert!(ran.stderr.contains("200 rows are committed"), "{what}");
                }
            }
            let _ = line.release.send(());
            line.holder.join().unwrap();
            let found = fixture.rows(&format!("SELECT COUNT(*) FROM d.dbo.{table}"));
            assert_eq!(found.trim(), "200", "{what}");
        }
    }
}
