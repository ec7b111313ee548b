"""mssql-python: `bulkcopy` of tuples, `bulkcopy_arrow`, `cursor.arrow()`. They log in inside the clock."""

from __future__ import annotations

import mssql_python

import odbc
from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("load", "read"), ("arrow", "tuples"))
    client = package("mssql-python")
    with mssql_python.connect(odbc.server_options(task, **task.odbc_options), autocommit=True) as connection:
        cursor = connection.cursor()
        if task.mode == "read":
            from race import eleven

            with Clock() as clock:
                read = cursor.execute(f"SELECT * FROM {task.table}").arrow(batch_size=task.batch_rows)
            report(read.num_rows, clock, client, checksum=eleven.checksum(read))
            return
        settings = {"batch_size": task.batch_rows, "table_lock": True, "timeout": 0}
        if task.variant == "arrow":
            source = task.arrow()
            with Clock() as clock:
                done = cursor.bulkcopy_arrow(task.table, source, **settings)
        else:
            rows = task.values()
            with Clock() as clock:
                done = cursor.bulkcopy(task.table, rows, **settings)
        report(done["rows_copied"], clock, client, source="arrow" if task.variant == "arrow" else "values")


if __name__ == "__main__":
    main()
