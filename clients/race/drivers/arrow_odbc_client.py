"""arrow-odbc over Microsoft's ODBC Driver 18: arrays of parameters, and fetches into column buffers."""

from __future__ import annotations

import arrow_odbc
import pyarrow

import odbc
from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("load", "read"))
    client = f"{package('arrow-odbc')}, ODBC Driver 18"
    connection = arrow_odbc.connect(odbc.connection_string(task, **task.odbc_options))
    if task.mode == "load":
        source = task.arrow().to_reader()
        with Clock() as clock:
            connection.insert_into_table(source, chunk_size=task.batch_rows or task.rows, table=task.table)
        report(task.rows, clock, client, source="arrow")
        return
    from race import eleven

    with Clock() as clock:
        reader = connection.read_arrow_batches(
            f"SELECT * FROM {task.table}", batch_size=task.batch_rows, max_text_size=100
        )
        read = pyarrow.Table.from_batches(list(reader), reader.schema)
    report(read.num_rows, clock, client, checksum=eleven.checksum(read))


if __name__ == "__main__":
    main()
