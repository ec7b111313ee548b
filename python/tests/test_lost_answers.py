"""What programs get to see when the answer to a COMMIT is lost."""

from __future__ import annotations

import contextlib
import socket
import threading

import bulkwire
import pyarrow as pa
import pytest

TRANSACTION_REQUEST, COMMIT = 0x0E, 7


def forward(source: socket.socket, target: socket.socket) -> None:
    """Passes bytes on until one side has closed."""
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Line:
    """A line to a server that is cut when the N-th COMMIT of its first connection has passed; later connections work."""

    def __init__(self, server: bulkwire.Server, commits: int) -> None:
        self.server, self.commits, self.first = server, commits, True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.server.host, self.server.port))
                upwards = self.cut if self.first else forward
                self.first = False
                threading.Thread(target=upwards, args=(client, server), daemon=True).start()
                threading.Thread(target=forward, args=(server, client), daemon=True).start()

    def cut(self, client: socket.socket, server: socket.socket) -> None:
        """Passes packets on; behind the last COMMIT the client hears nothing more."""
        with contextlib.suppress(OSError), client.makefile("rb") as packets:
            while len(header := packets.read(8)) == 8:
                payload = packets.read(int.from_bytes(header[2:4], "big") - 8)
                # The request's type follows the headers of all requests (MS-TDS 2.2.6.9).
                is_commit = header[0] == TRANSACTION_REQUEST and payload[22] == COMMIT
                self.commits -= is_commit
                if is_commit and self.commits == 0:
                    client.shutdown(socket.SHUT_RDWR)
                    server.sendall(header + payload)
                    break
                server.sendall(header + payload)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def url(self, database: str, password: str) -> str:
        return f"mssql://sa:{password}@127.0.0.1:{self.port}/{database}?Encrypt=off&Command%20Timeout=5"


@pytest.fixture
def database(bulkwire_server, bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int PRIMARY KEY)")
    return bulkwire_db.fetch("SELECT DB_NAME()")[0][0]


def rows(db) -> int:
    return db.fetch("SELECT COUNT(*) FROM t")[0][0]


DATA = pa.table({"id": pa.array(range(30), pa.int32())})


def test_a_load_names_the_rows_in_doubt(bulkwire_server, bulkwire_db, database):
    line = Line(bulkwire_server, commits=2)
    url = line.url(database, bulkwire_server.password)
    expected = pytest.raises(bulkwire.InDoubtError, match="it is not known whether its 10 rows are committed")
    with bulkwire.connect(url) as db, expected as raised:
        db.load("t", DATA, batch_rows=10)
    assert (raised.value.rows_committed, raised.value.rows_in_doubt) == (10, 10)
    assert raised.value.failed_rows == range(10, 20)
    assert isinstance(raised.value, ConnectionError)
    assert rows(bulkwire_db) in (10, 20)


def test_an_upsert_and_a_transaction_are_in_doubt_as_a_whole(bulkwire_server, bulkwire_db, database):
    line = Line(bulkwire_server, commits=1)
    with bulkwire.connect(line.url(database, bulkwire_server.password)) as db, pytest.raises(bulkwire.InDoubtError) as raised:
        db.upsert("t", DATA, keys=["id"])
    assert (raised.value.rows_committed, raised.value.rows_in_doubt) == (0, 30)
    assert rows(bulkwire_db) in (0, 30)
    bulkwire_db.execute("DELETE FROM t")
    line = Line(bulkwire_server, commits=1)
    in_doubt = pytest.raises(bulkwire.InDoubtError)
    with bulkwire.connect(line.url(database, bulkwire_server.password)) as db, in_doubt, db.transaction():
        db.load("t", DATA, batch_rows=10)
    assert rows(bulkwire_db) in (0, 30)


def test_adbc_names_them_among_the_details(bulkwire_server, bulkwire_db, database):
    line = Line(bulkwire_server, commits=1)
    url = line.url(database, bulkwire_server.password)
    with bulkwire.adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        with pytest.raises(Exception, match="it is not known whether its 30 rows are committed") as raised:
            cursor.adbc_ingest("t", DATA, mode="append")
        details = dict(raised.value.details)
        # Python's manager gives keys as bytes, too.
        assert (details[b"bulkwire.rows_committed"], details[b"bulkwire.rows_in_doubt"]) == (b"0", b"30")
    assert rows(bulkwire_db) in (0, 30)
