"""bulkwire's ADBC driver: `adbc_ingest`, `fetch_arrow_table`."""

from __future__ import annotations

import bulkwire.adbc
from race.drivers.bulkwire_cli import url
from race.drivers.contestant import Clock, Task, package, report


def main() -> None:
    task = Task.of_arguments(("load", "read"))
    client = f"{package('bulkwire')}, {package('adbc-driver-manager')}"
    with bulkwire.adbc.connect(url(task), autocommit=True) as connection, connection.cursor() as cursor:
        if task.mode == "read":
            from race import eleven

            with Clock() as clock:
                cursor.execute(f"SELECT * FROM {task.table}")
                read = cursor.fetch_arrow_table()
            report(read.num_rows, clock, client, checksum=eleven.checksum(read))
            return
        source = task.arrow()
        schema, _, table = task.table.rpartition(".")
        cursor.adbc_statement.set_options(
            **{"bulkwire.ingest.batch_rows": str(task.batch_rows), "bulkwire.ingest.table_lock": "true"}
        )
        with Clock() as clock:
            rows = cursor.adbc_ingest(table, source, mode="append", db_schema_name=schema or None)
        report(rows, clock, client, source="arrow")


if __name__ == "__main__":
    main()
