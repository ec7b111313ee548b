"""Host files for the clients that load files, converted from the source by bulkwire itself."""

from __future__ import annotations

import pathlib

from race.drivers.bulkwire_cli import binaries
from race.drivers.contestant import Process, Task

COLUMNS = (
    "id int not null, col_int int null, col_bigint bigint null, col_float float null, col_bit bit null, "
    "col_date date null, col_datetime2 datetime2(6) null, col_decimal decimal(18,4) null, "
    "col_str1 nvarchar(100) null, col_str2 varchar(100) null, col_str3 nvarchar(100) null"
)


def host_file(task: Task, target: pathlib.Path, form: str) -> None:
    """Writes the source, all of it, as bcp's `char` or `native` file."""
    Process.run(
        [
            binaries() / "bulkwire",
            "convert",
            task.source,
            target,
            "--to",
            form,
            "--declare",
            COLUMNS,
            "--quiet",
        ]
    )
