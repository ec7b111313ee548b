"""python-tds: `copy_to`, one bulk load for each batch, and `fetchall`."""

from __future__ import annotations

import os

import pytds
from pytds import tds_types
from pytds.tds_base import Column

from race.drivers.contestant import Clock, Task, package, report

NULLABLE = Column.fNullable
COLUMNS = [
    Column("id", tds_types.IntType()),
    Column("col_int", tds_types.IntType(), NULLABLE),
    Column("col_bigint", tds_types.BigIntType(), NULLABLE),
    Column("col_float", tds_types.FloatType(), NULLABLE),
    Column("col_bit", tds_types.BitType(), NULLABLE),
    Column("col_date", tds_types.DateType(), NULLABLE),
    Column("col_datetime2", tds_types.DateTime2Type(6), NULLABLE),
    Column("col_decimal", tds_types.DecimalType(18, 4), NULLABLE),
    Column("col_str1", tds_types.NVarCharType(100), NULLABLE),
    Column("col_str2", tds_types.VarCharType(100), NULLABLE),
    Column("col_str3", tds_types.NVarCharType(100), NULLABLE),
]


def main() -> None:
    task = Task.of_arguments(("load", "read"))
    client = package("python-tds")
    encryption = {"cafile": os.environ["RACE_CERTIFICATE"], "validate_host": False} if task.encrypt else {}
    connection = pytds.connect(
        dsn=task.host,
        port=task.port,
        user=task.user,
        password=task.password,
        database=task.database,
        autocommit=True,
        use_tz=None,
        blocksize=task.packet_bytes,
        **encryption,
    )
    cursor = connection.cursor()
    if task.mode == "load":
        rows = task.values()
        schema, _, table = task.table.rpartition(".")
        step = task.batch_rows or len(rows)
        with Clock() as clock:
            for first in range(0, len(rows), step):
                batch = rows[first : first + step]
                cursor.copy_to(
                    data=batch, table_or_view=table, schema=schema or None, columns=COLUMNS, tablock=True
                )
        report(len(rows), clock, client, source="values")
        return
    with Clock() as clock:
        cursor.execute(f"SELECT * FROM {task.table}")
        rows = cursor.fetchall()
    from race.drivers.row_values import checksum

    report(len(rows), clock, client, checksum=checksum(rows))


if __name__ == "__main__":
    main()
