"""Two bcp programs on the same server and files: FreeTDS's freebcp, and bulkwire under that name."""

from __future__ import annotations

import pathlib
import subprocess

from test_freetds import freebcp, freetds

COLUMNS = (
    "id int NOT NULL, small smallint NULL, big bigint NULL, ratio float NULL, name varchar(20) NULL, "
    "wide nvarchar(20) NULL, at datetime NULL, price money NULL, amount decimal(18,4) NULL, flag bit NULL, "
    "bytes varbinary(8) NULL"
)
ROWS = (
    "(1, 9000, 9000000000, 1.5, 'abc', N'æøå 日本', '2024-02-29T01:02:03.003', 12.5, 123.4567, 1, 0x0102), "
    "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
    "(3, -1, -1, -0.25, '', N'', '1753-01-01', -0.01, -0.5, 0, 0x)"
)

# Fields as both programs read them, by the names of before 7.0, which FreeTDS knows. No terminators.
NATIVE = [
    ("SYBINT4", 0, 4, "id"),
    ("SYBINT2", 1, 2, "small"),
    ("SYBFLT8", 1, 8, "ratio"),
    ("SYBCHAR", 2, 20, "name"),
    ("SYBDATETIME", 1, 8, "at"),
    ("SYBMONEY", 1, 8, "price"),
    ("SYBBIT", 1, 1, "flag"),
]


def make(server, table: str, columns: str = COLUMNS, rows: str | None = ROWS) -> None:
    """Makes a table, with rows or without."""
    run = server.bulkwire("query", f"DROP TABLE IF EXISTS {table}")
    run = server.bulkwire("query", f"CREATE TABLE {table} ({columns})")
    assert run.returncode == 0, run.stderr
    if rows:
        run = server.bulkwire("query", f"INSERT INTO {table} VALUES {rows}")
        assert run.returncode == 0, run.stderr


def contents(server, table: str) -> str:
    """All rows, as the command prints them."""
    run = server.bulkwire("query", f"SELECT * FROM {table} ORDER BY id", "--output", "csv")
    assert run.returncode == 0, run.stderr
    return run.stdout


def bcp(server, *words) -> subprocess.CompletedProcess[str]:
    """Runs bulkwire as bcp and insists on three rows."""
    run = server.bulkwire("bcp", *(str(word) for word in words))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "\n3 rows copied.\n" in run.stdout, run.stdout
    return run


def test_freebcp_s_character_file_is_loaded(server, tmp_path):
    make(server, "peer_source")
    make(server, "peer_target", rows=None)
    file = tmp_path / "rows.txt"
    out = freebcp(server, tmp_path, "master..peer_source", "out", file)
    assert "3 rows copied" in out.stdout, out.stdout + out.stderr
    bcp(server, "peer_target", "in", file, "-c", "-t", "|", "-C", "65001", "-k")
    assert contents(server, "peer_target") == contents(server, "peer_source")


def test_freebcp_loads_a_character_file(server, tmp_path):
    make(server, "peer_source")
    make(server, "peer_target", rows=None)
    file = tmp_path / "rows.txt"
    bcp(server, "peer_source", "out", file, "-c", "-t", "|", "-C", "65001")
    back = freebcp(server, tmp_path, "master..peer_target", "in", file)
    assert "3 rows copied" in back.stdout, back.stdout + back.stderr
    assert contents(server, "peer_target") == contents(server, "peer_source")


def test_both_write_the_same_character_file(server, tmp_path):
    # Values that the two spell alike; decimals below one, floats and hexadecimal letters are not.
    columns = (
        "id int NOT NULL, big bigint NULL, wide nvarchar(20) NULL, price money NULL, flag bit NULL, "
        "bytes varbinary(8) NULL"
    )
    rows = (
        "(1, 9000000000, N'æøå 日本', 12.5, 1, 0x0102), (2, NULL, NULL, NULL, NULL, NULL), "
        "(3, -1, N'', -2, 0, 0x00)"
    )
    make(server, "peer_source", columns, rows)
    theirs, ours = tmp_path / "theirs.txt", tmp_path / "ours.txt"
    freebcp(server, tmp_path, "master..peer_source", "out", theirs)
    bcp(server, "peer_source", "out", ours, "-c", "-t", "|", "-C", "65001")
    assert ours.read_bytes() == theirs.read_bytes()


def native_format_file(folder: pathlib.Path) -> pathlib.Path:
    """A format file for the fields of NATIVE."""
    lines = [
        f'{number}\t{host_type}\t{prefix}\t{length}\t""\t{number}\t{name}\t""'
        for number, (host_type, prefix, length, name) in enumerate(NATIVE, 1)
    ]
    file = folder / "native.fmt"
    file.write_text("\n".join(["8.0", str(len(lines)), *lines, ""]))
    return file


def by_format_file(server, folder, table: str, direction: str, file, format_file) -> str:
    """Runs freebcp with a format file."""
    run = subprocess.run(
        [
            "freebcp",
            table,
            direction,
            file,
            "-f",
            format_file,
            "-S",
            "bulkwire",
            "-U",
            server.user,
            "-P",
            server.password,
        ],
        env=freetds(server, folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return run.stdout + run.stderr


def native_columns() -> str:
    """The columns of NATIVE."""
    names = [name for *_, name in NATIVE]
    return ", ".join(column for column in COLUMNS.split(", ") if column.split()[0] in names)


def test_both_write_and_read_the_same_native_file(server, tmp_path):
    # Without NULL: there freebcp writes a length of 0, Microsoft's library FF, which freebcp does not read.
    rows = (
        "(1, 9000, 1.5, 'abc', '2024-02-29T01:02:03.003', 12.5, 1), (2, 0, 0, 'b', '1900-01-01', 0, 0), "
        "(3, -1, -0.25, 'x', '1753-01-01', -0.01, 0)"
    )
    make(server, "peer_source", native_columns(), rows)
    format_file = native_format_file(tmp_path)
    theirs, ours = tmp_path / "theirs.dat", tmp_path / "ours.dat"
    told = by_format_file(server, tmp_path, "master..peer_source", "out", theirs, format_file)
    assert "3 rows copied" in told, told
    bcp(server, "peer_source", "out", ours, "-f", format_file)
    assert ours.read_bytes() == theirs.read_bytes()
    make(server, "peer_target", native_columns(), None)
    bcp(server, "peer_target", "in", theirs, "-f", format_file)
    assert contents(server, "peer_target") == contents(server, "peer_source")
