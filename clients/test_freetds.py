"""FreeTDS's own programs, tsql and freebcp, against the embedded server."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

import cells
import every_type
import python_cells
from relay import relayed

ENCRYPTION = ["off", "request", "require"]


def freetds(server, folder: pathlib.Path, encryption: str = "request") -> dict[str, str]:
    """Environment with a configuration file for the server."""
    configuration = folder / f"freetds-{encryption}.conf"
    configuration.write_text(
        f"[global]\ntds version = 7.4\nclient charset = UTF-8\nencryption = {encryption}\n"
        f"[bulkwire]\nhost = {server.host}\nport = {server.port}\n"
    )
    return {**os.environ, "FREETDSCONF": str(configuration), "LC_ALL": "C.UTF-8"}


def tsql(server, folder: pathlib.Path, sql: str, encryption: str = "request", password: str | None = None):
    """Runs a batch through tsql; fields are separated by a vertical bar."""
    return subprocess.run(
        [
            "tsql",
            "-S",
            "bulkwire",
            "-U",
            server.user,
            "-P",
            password or server.password,
            "-o",
            "fhq",
            "-t",
            "|",
        ],
        env=freetds(server, folder, encryption),
        input=f"{sql}\ngo\nexit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def freebcp(server, folder: pathlib.Path, table: str, direction: str, file: pathlib.Path, *flags: str):
    """Runs freebcp in character mode with `|` between fields."""
    return subprocess.run(
        ["freebcp", table, direction, file, "-S", "bulkwire", "-U", server.user, "-P", server.password]
        + ["-c", "-t", "|", *flags],
        env=freetds(server, folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("encryption", ENCRYPTION)
def test_tsql_logs_in_and_selects(server, tmp_path, encryption):
    done = tsql(server, tmp_path, "SELECT 40 + 2, N'blå', NULL", encryption)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["42|blå|NULL"], done.stderr


def test_tsql_wrong_password(server, tmp_path):
    done = tsql(server, tmp_path, "SELECT 1", password="wrong")
    assert done.returncode != 0
    assert "18456" in done.stdout + done.stderr


def test_tsql_missing_database(server, tmp_path):
    done = subprocess.run(
        ["tsql", "-S", "bulkwire", "-U", server.user, "-P", server.password, "-D", "no_such_database"],
        env=freetds(server, tmp_path),
        input="exit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "4060" in done.stdout + done.stderr


def test_tsql_shows_the_server_s_error_and_goes_on(server, tmp_path):
    done = tsql(server, tmp_path, "SELECT nothing FROM nowhere\ngo\nSELECT 7")
    assert "Msg 208" in done.stdout + done.stderr
    assert "7" in done.stdout.splitlines()


def test_freebcp_loads_what_tsql_reads(server, tmp_path):
    table = "freebcp_character"
    tsql(server, tmp_path, f"IF OBJECT_ID('{table}') IS NOT NULL DROP TABLE {table}")
    created = tsql(
        server,
        tmp_path,
        f"CREATE TABLE {table} (id int NOT NULL, name nvarchar(100) NULL, code varchar(20) NULL, "
        "amount decimal(18,4) NULL, ratio float NULL, day datetime NULL, flag bit NULL)",
    )
    assert created.returncode == 0, created.stderr
    file = tmp_path / "in.txt"
    file.write_text(
        "1|Ångström|abc|12.5000|0.5|2024-02-29 01:02:03|1\n"
        "2||||||\n"
        "-3|日本|x|-99999999999999.9999|1e+100|1753-01-01 00:00:00|0\n",
        encoding="utf-8",
    )
    loaded = freebcp(server, tmp_path, f"master..{table}", "in", file, "-b", "2", "-h", "TABLOCK")
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
    assert "3 rows copied" in loaded.stdout
    read = tsql(server, tmp_path, f"SELECT id, name, code, amount, flag FROM {table} ORDER BY id DESC")
    assert read.stdout.splitlines() == [
        "2|NULL|NULL|NULL|NULL",
        "1|Ångström|abc|12.5000|1",
        "-3|日本|x|-99999999999999.9999|0",
    ]


def test_freebcp_character_file_out_and_in_again(server, tmp_path):
    source, target = "freebcp_source", "freebcp_target"
    # Types that FreeTDS's own character files carry without loss.
    columns = "id, c_bit, c_tinyint, c_smallint, c_int, c_bigint, c_decimal, c_decimal38, c_date, c_nvarchar"
    tsql(server, tmp_path, f"IF OBJECT_ID('{source}_all') IS NOT NULL DROP TABLE {source}_all")
    tsql(server, tmp_path, every_type.create_table(f"{source}_all"))
    for statement in every_type.insert_statements(f"{source}_all"):
        inserted = tsql(server, tmp_path, statement)
        assert "Msg" not in inserted.stdout + inserted.stderr, inserted.stdout + inserted.stderr
    for table in (source, target):
        tsql(server, tmp_path, f"IF OBJECT_ID('{table}') IS NOT NULL DROP TABLE {table}")
    made = tsql(server, tmp_path, f"SELECT {columns} INTO {source} FROM {source}_all WHERE id IN (1, 2)")
    made = tsql(server, tmp_path, f"SELECT {columns} INTO {target} FROM {source}_all WHERE id = 0")
    assert "Msg" not in made.stdout + made.stderr, made.stdout + made.stderr
    file = tmp_path / "rows.bcp"
    out = freebcp(server, tmp_path, f"master..{source}", "out", file)
    assert "2 rows copied" in out.stdout, out.stdout + out.stderr
    back = freebcp(server, tmp_path, f"master..{target}", "in", file)
    assert "2 rows copied" in back.stdout, back.stdout + back.stderr
    read = [tsql(server, tmp_path, f"SELECT * FROM {table} ORDER BY id").stdout for table in (source, target)]
    assert read[0] == read[1]
    assert (
        read[0]
        .splitlines()[0]
        .startswith("1|1|255|-32768|2147483647|-9223372036854775808|12345678901234.5678|")
    )


def test_freebcp_reports_a_duplicate_key(server, tmp_path):
    table = "freebcp_key"
    tsql(server, tmp_path, f"IF OBJECT_ID('{table}') IS NOT NULL DROP TABLE {table}")
    tsql(server, tmp_path, f"CREATE TABLE {table} (id int NOT NULL PRIMARY KEY)")
    file = tmp_path / "duplicates.txt"
    file.write_text("1\n2\n1\n")
    loaded = freebcp(server, tmp_path, f"master..{table}", "in", file)
    assert "2627" in loaded.stdout + loaded.stderr
    assert tsql(server, tmp_path, f"SELECT COUNT(*) FROM {table}").stdout.split() == ["0"]


@pytest.mark.parametrize(
    ("mode", "encryption", "expected"),
    [("off", "off", "none"), ("optional", "request", "login"), ("required", "require", "full")],
    ids=["without_tls", "with_an_encrypted_login_only", "with_full_tls"],
)
def test_tsql_logs_in_with(tls_modes, tmp_path, mode, encryption, expected):
    with relayed(tls_modes(mode)) as (endpoint, relay):
        done = tsql(endpoint, tmp_path, "SELECT N'zwölf'", encryption)
        assert done.stdout.splitlines() == ["zwölf"], done.stderr
        assert relay.encryption() == expected


def test_tsql_logs_in_with_strict_encryption(tls_modes, tmp_path):
    done = subprocess.run(["tsql", "-C"], capture_output=True, text=True, check=True)
    version = done.stdout.split("freetds v")[1].split()[0]
    if tuple(int(part) for part in version.split(".")[:2]) < (1, 4):
        pytest.skip(f"FreeTDS {version}: strict encryption came with 1.4")
    with relayed(tls_modes("strict")) as (endpoint, relay):
        done = tsql(endpoint, tmp_path, "SELECT 1", "strict")
        assert done.stdout.splitlines() == ["1"], done.stderr
        assert relay.encryption() == "strict"


def test_tsql_shows_number_state_class_and_line(server, tmp_path):
    done = tsql(server, tmp_path, "SELECT 1\n\nRAISERROR('mine', 15, 7)")
    assert "Msg 50000 (severity 15, state 7)" in done.stdout + done.stderr
    assert "Line 3" in done.stdout + done.stderr


def test_tsql_reads_every_type(server, tmp_path):
    columns = python_cells.columns("real", "float", "datetime", "smalldatetime", "datetimeoffset")
    script = [python_cells.create_table("#tsql", columns), *python_cells.inserts("#tsql", columns)]
    texts = ", ".join(_as_text(column) for column in columns)
    done = tsql(server, tmp_path, "\ngo\n".join([*script, f"SELECT {texts} FROM #tsql ORDER BY id"]))
    assert "Msg" not in done.stdout + done.stderr, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines()]
    expected = [
        [_shown(column, cells.text(column, row)) for column in columns] for row in range(cells.ROW_COUNT)
    ]
    found = [
        f"row {number}, {column.name}: {cell[:60]} is not {wanted[:60]}"
        for number, (row, wanted_row) in enumerate(zip(rows, expected, strict=True), 1)
        for column, cell, wanted in zip(columns, row, wanted_row, strict=True)
        if cell != wanted
    ]
    assert found == []


def _as_text(column: cells.Column) -> str:
    """The column as text that tsql prints whole: its formats of times and binaries are its own."""
    if column.kind in ("binary", "varbinary", "image"):
        return f"CONVERT(varchar(max), CAST({column.name} AS varbinary(max)), 2)"
    if column.kind in ("time", "datetime2"):
        return f"CAST(CAST({column.name} AS {column.kind}(7)) AS varchar(30))"
    if column.kind == "date":
        return f"CAST({column.name} AS varchar(10))"
    if column.kind in ("money", "smallmoney"):
        return f"CONVERT(varchar(30), {column.name}, 2)"
    return column.name


def _shown(column: cells.Column, text: str | None) -> str:
    if text is None:
        return "NULL"
    return text.upper() if column.kind in ("binary", "varbinary", "image", "uniqueidentifier") else text


def test_tsql_transactions_roll_back(server, tmp_path):
    script = [
        "CREATE TABLE #undo (n int)",
        "BEGIN TRAN",
        "INSERT INTO #undo VALUES (1)",
        "ROLLBACK",
        "INSERT INTO #undo VALUES (2)",
        "SELECT n, @@TRANCOUNT FROM #undo",
    ]
    done = tsql(server, tmp_path, "\ngo\n".join(script))
    assert "2|0" in done.stdout.splitlines(), done.stderr


def test_tsql_prepares_executes_and_unprepares(server, tmp_path):
    script = (
        "DECLARE @h int EXEC sp_prepare @h OUTPUT, N'@n int', N'SELECT @n * 2' "
        "EXEC sp_execute @h, 21 EXEC sp_execute @h, 22 EXEC sp_unprepare @h"
    )
    done = tsql(server, tmp_path, script)
    assert [line for line in done.stdout.splitlines() if line.isdigit()] == ["42", "44"], done.stderr


def test_a_killed_freebcp_leaves_nothing(server, tmp_path):
    """It reads from a pipe that never ends; it is killed in the middle of its batch."""
    tsql(server, tmp_path, "DROP TABLE IF EXISTS freebcp_killed")
    tsql(server, tmp_path, "CREATE TABLE freebcp_killed (n int NOT NULL, t varchar(200) NULL)")
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        ["freebcp", "master..freebcp_killed", "in", pipe, "-S", "bulkwire", "-U", server.user]
        + ["-P", server.password, "-c", "-t", "|", "-b", "1000000"],
        env=freetds(server, tmp_path),
        stdout=subprocess.DEVNULL,
    )
    with pipe.open("w") as file:
        file.write("".join(f"{n}|{'x' * 150}\n" for n in range(5000)))
        file.flush()
        process.kill()
        process.wait()
    left = tsql(
        server, tmp_path, "SET LOCK_TIMEOUT 20000 SELECT COUNT(*) FROM freebcp_killed WITH (TABLOCKX)"
    )
    assert left.stdout.split() == ["0"], left.stdout + left.stderr
