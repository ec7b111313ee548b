"""One of several processes that load a clustered table at the same time.

    clustered_loader.py CLIENT HOST PORT USER FIRST STEP

It loads the rows FIRST, FIRST + STEP, ... in a scattered order and in small batches, without TABLOCK. Nothing
is tried again: an error ends it.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

ROWS = 1500
BATCH_ROWS = 700
TABLE = "crowded"


def rows(first: int, step: int) -> list[tuple[int, str]]:
    """The rows of this process."""
    # 701 has no factor in common with ROWS, so each row comes once.
    numbers = (first + (row * 701 % ROWS) * step for row in range(ROWS))
    return [(number, f"name {number % 97}") for number in numbers]


def pymssql(host: str, port: str, user: str, password: str, data: list[tuple[int, str]]) -> None:
    """`Connection.bulk_copy`."""
    import pymssql

    with pymssql.connect(
        server=host, port=port, user=user, password=password, autocommit=True, encryption="off"
    ) as connection:
        connection.bulk_copy(TABLE, data, batch_size=BATCH_ROWS)


def pytds(host: str, port: str, user: str, password: str, data: list[tuple[int, str]]) -> None:
    """`Cursor.copy_to`, a bulk load for each batch."""
    import pytds
    from pytds import tds_types
    from pytds.tds_base import Column

    columns = [Column("id", tds_types.IntType()), Column("name", tds_types.VarCharType(40))]
    with pytds.connect(dsn=host, port=int(port), user=user, password=password, autocommit=True) as connection:
        cursor = connection.cursor()
        for first in range(0, len(data), BATCH_ROWS):
            batch = data[first : first + BATCH_ROWS]
            cursor.copy_to(data=batch, table_or_view=TABLE, columns=columns)


def mssql_python(host: str, port: str, user: str, password: str, data: list[tuple[int, str]]) -> None:
    """`Cursor.bulkcopy`."""
    import mssql_python

    address = f"Server={host},{port};Database=master;UID={user};PWD={{{password}}}"
    with mssql_python.connect(f"{address};Encrypt=Optional;TrustServerCertificate=yes") as connection:
        connection.cursor().bulkcopy(TABLE, data, batch_size=BATCH_ROWS, table_lock=False, timeout=0)


def freebcp(host: str, port: str, user: str, password: str, data: list[tuple[int, str]]) -> None:
    """FreeTDS's command, with a file of text."""
    with tempfile.TemporaryDirectory() as name:
        file, configuration = pathlib.Path(name) / "rows.txt", pathlib.Path(name) / "freetds.conf"
        file.write_text("".join(f"{number}\t{text}\n" for number, text in data))
        configuration.write_text(
            f"[global]\ntds version = 7.4\nencryption = off\n[here]\nhost = {host}\nport = {port}\n"
        )
        command = [
            "freebcp",
            f"master.dbo.{TABLE}",
            "in",
            file,
            "-S",
            "here",
            "-U",
            user,
            "-P",
            password,
            "-c",
        ]
        ran = subprocess.run(
            [*command, "-b", str(BATCH_ROWS)],
            env={**os.environ, "FREETDSCONF": str(configuration)},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0 or f"{len(data)} rows copied" not in ran.stdout:
            raise SystemExit(ran.stdout + ran.stderr)


def bulkwire(host: str, port: str, user: str, password: str, data: list[tuple[int, str]]) -> None:
    """Our own command."""
    text = "id,name\n" + "".join(f"{number},{text}\n" for number, text in data)
    flags = ["--quiet", "--table-lock=off", "--batch-rows", str(BATCH_ROWS), "--retry-for", "0"]
    subprocess.run(
        [os.environ["LOADER_BULKWIRE"], "load", TABLE, "-", "--format", "csv", *flags],
        env={**os.environ, "BULKWIRE_URL": f"mssql://{user}:{password}@{host}:{port}/master?Encrypt=Off"},
        input=text,
        text=True,
        check=True,
    )


CLIENTS = {
    "bulkwire": bulkwire,
    "pymssql": pymssql,
    "pytds": pytds,
    "mssql_python": mssql_python,
    "freebcp": freebcp,
}


def main() -> None:
    """Loads."""
    name, host, port, user, first, step = sys.argv[1:]
    CLIENTS[name](host, port, user, os.environ["LOADER_PASSWORD"], rows(int(first), int(step)))


if __name__ == "__main__":
    main()
