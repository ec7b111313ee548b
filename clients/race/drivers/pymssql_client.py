"""pymssql (FreeTDS's db-lib): `bulk_copy` and `fetchall`."""

from __future__ import annotations

import datetime

import pymssql

from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("load", "read"))
    client = package("pymssql")
    connection = pymssql.connect(
        server=task.host,
        port=str(task.port),
        user=task.user,
        password=task.password,
        database=task.database,
        autocommit=True,
        encryption="require" if task.encrypt else "off",
    )
    if task.mode == "load":
        rows = [_texts(row) for row in task.values()]
        with Clock() as clock:
            connection.bulk_copy(task.table, rows, batch_size=task.batch_rows or len(rows), tablock=True)
        report(len(rows), clock, client, source="values")
        return
    cursor = connection.cursor()
    with Clock() as clock:
        cursor.execute(f"SELECT * FROM {task.table}")
        rows = cursor.fetchall()
    from race.drivers.row_values import checksum

    report(len(rows), clock, client, checksum=checksum(rows))


def _texts(row: tuple) -> tuple:
    """Dates and times as text: `bulk_copy` refuses dates and cuts datetimes to milliseconds."""
    return tuple(str(value) if isinstance(value, datetime.date) else value for value in row)


if __name__ == "__main__":
    main()
