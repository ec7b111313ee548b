"""bulkwire's client against a TDS server that others wrote: what it accepts, and what it refuses and why.

docs/other-servers.md reports the same. The servers are the crates `iridium_server` (`iridium/` starts it) and
`mssql-mock-tds` (`rust/` does).
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import secrets
import subprocess
from collections.abc import Iterator

import pytest

import bulk_stream
import programs
from conftest import Endpoint
from relay import relayed

READY = re.compile(r"listening on 127\.0\.0\.1:(\d+)")


@dataclasses.dataclass(frozen=True)
class OtherServer(Endpoint):
    """Somebody else's server."""

    encryption: str = "Off"

    @property
    def url(self) -> str:
        """The connection URL of bulkwire's client."""
        return super().url + f"&Encrypt={self.encryption}"

    def rows(self, sql: str) -> list[str]:
        """The lines of a query's result, without its header."""
        ran = self.bulkwire("query", sql, "--output", "csv")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()[1:]

    def refused(self, *arguments: str, exit_code: int = 1) -> str:
        """What bulkwire says when a command fails."""
        ran = self.bulkwire(*arguments)
        assert ran.returncode == exit_code, ran.stdout
        return ran.stderr


@contextlib.contextmanager
def served(binaries: pathlib.Path, folder: pathlib.Path, *arguments: str) -> Iterator[OtherServer]:
    """A server of its own, in memory."""
    password = secrets.token_urlsafe(12) + "Aa1"
    process = subprocess.Popen(
        [*programs.iridium(), "serve", folder, *arguments],
        env={**os.environ, "OTHER_SERVER_PASSWORD": password},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        ready = READY.match(process.stdout.readline())
        assert ready, "the server did not start"
        yield OtherServer("127.0.0.1", int(ready[1]), "sa", password, binaries, folder / "certificate.pem")
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def other(binaries, tmp_path_factory) -> Iterator[OtherServer]:
    """A server without TLS."""
    with served(binaries, tmp_path_factory.mktemp("other")) as server:
        yield server


PEOPLE = (
    "CREATE TABLE dbo.people (id int NOT NULL, name nvarchar(20) NULL, balance decimal(9, 2) NULL, "
    "share float NULL, living bit NULL, visits bigint NULL)"
)
CSV = "id,name,balance,share,living,visits\n1,Åsa,1200.50,0.25,1,5000000000\n2,,,,,\n"


@pytest.fixture
def people(other, tmp_path) -> Iterator[pathlib.Path]:
    """A table with a row, which this server needs to name its columns, and a file of further rows."""
    assert other.bulkwire("query", PEOPLE).returncode == 0
    assert other.bulkwire("query", "INSERT INTO dbo.people (id) VALUES (0)").returncode == 0
    file = tmp_path / "people.csv"
    file.write_text(CSV, encoding="utf-8")
    yield file
    other.bulkwire("query", "DROP TABLE dbo.people")


def test_logs_in_although_prelogin_is_answered_in_a_packet_of_type_12(other):
    assert other.rows("SELECT 1 AS n, N'zwölf' AS t") == ["1,zwölf"]


def test_logs_in_over_tls(binaries, tmp_path):
    with served(binaries, tmp_path, "tls") as server:
        encrypted = dataclasses.replace(server, encryption="Mandatory")
        assert encrypted.rows("SELECT N'verschlüsselt' AS t") == ["verschlüsselt"]


def test_an_encrypted_login_alone_is_not_served(other):
    """It answers ENCRYPT_OFF, which promises a handshake, and then expects LOGIN7 in the clear."""
    optional = dataclasses.replace(other, encryption="Optional")
    assert "TLS handshake" in optional.refused("query", "SELECT 1")


def test_a_wrong_password_is_refused(other):
    stranger = dataclasses.replace(other, password="wrong")
    assert "Login failed" in stranger.refused("query", "SELECT 1")


def test_errors_come_as_such(other):
    assert "Msg 208" in other.refused("query", "SELECT * FROM nowhere")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(1 AS bit)", "1"),
        ("CAST(255 AS tinyint)", "255"),
        ("CAST(-32768 AS smallint)", "-32768"),
        ("CAST(-5000000000 AS bigint)", "-5000000000"),
        ("CAST(0.5 AS real)", "0.5"),
        ("CAST(0.1 AS float)", "0.1"),
        ("CAST(1.50 AS decimal(38, 2))", "1.50"),
        ("CAST('a' AS char(3))", "a  "),
        ("CAST(N'\U0001f680' AS nvarchar(5))", "\U0001f680"),
        ("CAST(0x01FF AS varbinary(10))", "0x01FF"),
        ("CAST('2024-02-29 12:34:56 +02:00' AS datetimeoffset)", "2024-02-29 12:34:56 +02:00"),
    ],
)
def test_values_of_queries(other, expression, expected):
    assert other.rows(f"SELECT {expression} AS v") == [expected]


@pytest.mark.parametrize("expression", ["CAST('2024-02-29' AS date)", "CAST('12:34:56' AS time)"])
def test_columns_that_the_server_describes_wrongly_are_an_error(other, expression):
    """Its `date` has a byte of length and its `time` one more byte than MS-TDS 2.2.5.4 gives them."""
    assert "protocol error" in other.refused("query", f"SELECT {expression} AS v", exit_code=4)


def test_export(other, people):
    exported = other.bulkwire("export", "dbo.people", "-", "--format", "csv")
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout == "id,name,balance,share,living,visits\n0,,,,,\n"


@pytest.mark.parametrize(
    ("columns", "word"),
    [([], "COLLATE"), (["id", "balance"], "TABLOCK")],
    ids=["the_collation_of_text", "hints"],
)
def test_a_load_is_refused_for_the_statement(other, people, columns, word):
    """It does not know the clauses of INSERT BULK that bulkwire says, and all of Microsoft's clients say."""
    maps = [f"--map={name}={name}" for name in columns]
    refused = other.refused("load", "dbo.people", str(people), "--autocommit", *maps)
    assert "Msg 102" in refused
    assert word in refused


def test_the_stream_is_read_as_it_was_meant(server, tmp_path):
    """The rows that bulkwire sends to its own server, as the other server's decoder reads them."""
    file, payload = tmp_path / "rows.csv", tmp_path / "payload"
    file.write_text(
        "id,small,large,living,name,code\n1,-7,5000000000,1,Åsa \U0001f680,x y\n2,,,,,\n-3,0,-1,0,,z\n"
    )
    table = (
        "CREATE TABLE decoded (id int NOT NULL, small smallint NULL, large bigint NULL, living bit NULL, "
        "name nvarchar(20) NULL, code varchar(10) NULL)"
    )
    assert server.bulkwire("query", table).returncode == 0
    with relayed(server) as (endpoint, relay):
        url = endpoint.url + "&Encrypt=Optional"
        loaded = endpoint.bulkwire("load", "decoded", str(file), "--url", url)
        assert loaded.returncode == 0, loaded.stderr
        sent = [
            message for message in bulk_stream.messages(relay.sent()) if message.kind == bulk_stream.BULK_LOAD
        ]
    payload.write_bytes(sent[0].payload)
    decoded = subprocess.run(
        [*programs.iridium(), "decode", payload], capture_output=True, text=True, timeout=60, check=False
    )
    assert decoded.returncode == 0, decoded.stderr
    assert decoded.stdout.splitlines() == [
        "id|small|large|living|name|code",
        "1|-7|5000000000|1|Åsa \U0001f680|x y",
        "2|NULL|NULL|NULL|NULL|NULL",
        "-3|0|-1|0|NULL|z",
    ]


@dataclasses.dataclass(frozen=True)
class MockServer(OtherServer):
    """Microsoft's mock, which knows the statements of `rust/src/mock_server.rs` alone."""

    process: subprocess.Popen[str] = dataclasses.field(kw_only=True)

    @property
    def pinned(self) -> str:
        """Accepts its certificate and no other."""
        return f"ServerCertificate={self.certificate}"

    def ask(
        self, sql: str, options: str, user: str = "sa:Any-1@", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """What `bulkwire query` makes of a statement, with these options of the URL."""
        return subprocess.run(
            [self.binaries / "bulkwire", "query", sql, "--output", "csv"]
            + ["--url", f"mssql://{user}{self.host}:{self.port}/master?{options}"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def answers(self, options: str) -> bool:
        """Whether a connection with these options gets an answer."""
        return self.ask("SELECT 1", options).stdout.splitlines()[1:] == ["1"]


@contextlib.contextmanager
def mocked(binaries: pathlib.Path, folder: pathlib.Path, *arguments: str) -> Iterator[MockServer]:
    """A mock of its own."""
    process = subprocess.Popen(
        [*programs.rust(), "mock-server", folder, *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        ready = READY.match(process.stdout.readline())
        assert ready, "the server did not start"
        certificate = folder / "certificate.pem"
        yield MockServer("127.0.0.1", int(ready[1]), "sa", "Any-1", binaries, certificate, process=process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def mock(binaries, tmp_path_factory) -> Iterator[MockServer]:
    """A mock without TLS."""
    with mocked(binaries, tmp_path_factory.mktemp("mock"), "none") as server:
        yield server


def test_the_mock_without_tls_gets_a_password_only_if_that_is_asked_for(mock):
    assert mock.answers("Encrypt=Off")
    for encryption in ("Optional", "Mandatory"):
        refused = mock.ask("SELECT 1", f"Encrypt={encryption}&TrustServerCertificate=true")
        assert refused.returncode == 1
        assert "Encrypt=Off" in refused.stderr


def test_the_mock_is_reached_over_tls_within_tds(binaries, tmp_path):
    with mocked(binaries, tmp_path, "tls") as mock:
        for encryption in ("Mandatory", "Optional"):
            assert mock.answers(f"Encrypt={encryption}&{mock.pinned}")
            assert mock.answers(f"Encrypt={encryption}&TrustServerCertificate=true")
        assert "certificate is not accepted" in mock.ask("SELECT 1", "Encrypt=Mandatory").stderr
        assert "requires encryption" in mock.ask("SELECT 1", "Encrypt=Off").stderr
        assert "TLS handshake" in mock.ask("SELECT 1", f"Encrypt=Strict&{mock.pinned}").stderr


def test_the_mock_is_reached_over_tds_within_tls(binaries, tmp_path):
    with mocked(binaries, tmp_path, "strict") as mock:
        assert mock.answers(f"Encrypt=Strict&{mock.pinned}")
        assert "certificate is not accepted" in mock.ask("SELECT 1", "Encrypt=Strict").stderr
        other = tmp_path / "other"
        other.mkdir()
        with mocked(binaries, other, "strict") as stranger:
            assert "not the one" in mock.ask("SELECT 1", f"Encrypt=Strict&{stranger.pinned}").stderr
        assert mock.ask("SELECT 1", f"Encrypt=Mandatory&{mock.pinned}").returncode == 1


def test_the_mock_sends_its_clients_elsewhere(binaries, tmp_path, mock):
    with mocked(binaries, tmp_path, "none", str(mock.port)) as gateway:
        rows = gateway.ask("SELECT CAST(1 AS BIGINT), 2, 3", "Encrypt=Off").stdout.splitlines()[1:]
        assert rows == ["1,2,3"]


def test_the_mock_gets_the_access_token(binaries, tmp_path):
    with mocked(binaries, tmp_path, "tls") as mock:
        ran = mock.ask("SELECT 1", mock.pinned, user="", BULKWIRE_ACCESS_TOKEN="tøken")
        assert ran.returncode == 0, ran.stderr
        assert mock.process.stdout.readline() == "login token=tøken\n"


def test_values_of_the_mock(mock):
    ran = mock.ask("SELECT every type", "Encrypt=Off")
    assert ran.returncode == 0, ran.stderr
    header, row = ran.stdout.splitlines()
    assert header == "tiny,small,large,text,long,narrow,bytes"
    assert row == "255,-32768,-9223372036854775808,zwölf,a\U0001f680,cé€,0x01FF00"


def test_answers_of_the_mock_that_are_no_rows(mock):
    unknown = mock.ask("SELECT unknown", "Encrypt=Off")
    assert (unknown.returncode, unknown.stdout, unknown.stderr) == (0, "", "")
    assert "Msg 1222" in mock.ask("SELECT refused", "Encrypt=Off").stderr
    after = mock.ask("SELECT after an error", "Encrypt=Off")
    assert (after.returncode, after.stdout) == (1, "n\n1\n")
    assert "Msg 50000" in after.stderr
    among = mock.ask("SELECT among messages", "Encrypt=Off")
    assert (among.returncode, among.stdout) == (0, "n\n1\n")
    assert among.stderr == "a message between the columns and the rows\n"


def test_answers_of_the_mock_that_break_the_protocol(mock):
    assert "unpaired surrogate" in mock.ask("SELECT half a pair", "Encrypt=Off").stderr
    assert "NULL in a column that is NOT NULL" in mock.ask("SELECT nothing", "Encrypt=Off").stderr


def test_the_mock_hears_an_attention(mock):
    slow = mock.ask("SELECT slowly", "Encrypt=Off&Command Timeout=1")
    assert slow.returncode == 1
    assert "time-out" in slow.stderr
