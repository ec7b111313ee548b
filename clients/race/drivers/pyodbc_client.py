"""pyodbc over Microsoft's ODBC Driver 18: `fast_executemany` and `fetchall`."""

from __future__ import annotations

import pyodbc

import odbc
from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("load", "read"))
    client = f"{package('pyodbc')}, ODBC Driver 18"
    connection = pyodbc.connect(odbc.connection_string(task, **task.odbc_options))
    cursor = connection.cursor()
    if task.mode == "load":
        rows = task.values()
        cursor.fast_executemany = True
        statement = f"INSERT INTO {task.table} WITH (TABLOCK) VALUES ({', '.join('?' * len(rows[0]))})"
        step = task.batch_rows or len(rows)
        with Clock() as clock:
            for first in range(0, len(rows), step):
                cursor.executemany(statement, rows[first : first + step])
                connection.commit()
        report(len(rows), clock, client, source="values")
        return
    with Clock() as clock:
        rows = cursor.execute(f"SELECT * FROM {task.table}").fetchall()
    from race.drivers.row_values import checksum

    report(len(rows), clock, client, checksum=checksum(rows))


if __name__ == "__main__":
    main()
