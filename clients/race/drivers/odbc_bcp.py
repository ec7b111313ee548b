"""Microsoft's ODBC Driver 18 from C: Arrow record batches by bcp_sendrow, a native file by bcp_exec."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import pathlib
import sys
import tempfile

import pyarrow

import odbc
from race.drivers.contestant import Clock, Task, report
from race.drivers.host_file import host_file

HINT = b"TABLOCK"
# The Arrow C data interface's struct ArrowArray: nine words and a pointer.
ARRAY_BYTES = 80
KINDS = {
    pyarrow.int32(): "i",
    pyarrow.int64(): "l",
    pyarrow.float64(): "g",
    pyarrow.bool_(): "b",
    pyarrow.date32(): "D",
    pyarrow.timestamp("us"): "t",
    pyarrow.decimal128(18, 4): "d",
    pyarrow.string(): "u",
}


def main() -> None:
    library = ctypes.CDLL(sys.argv.pop(1))
    library.race_open.restype = ctypes.c_void_p
    task = Task.of_arguments(("load",), ("sendrow", "exec"))
    os.environ["ODBC_CONNECTION"] = odbc.connection_string(task, **task.odbc_options)
    connection = ctypes.c_void_p(library.race_open())
    table, batch_rows = task.table.encode(), ctypes.c_int64(task.batch_rows)
    client = f"ODBC Driver 18 ({importlib.metadata.version('mssql-python-odbc')})"
    if task.variant == "exec":
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.bcp"
            host_file(task, file, "native")
            library.race_copy.restype = ctypes.c_int64
            with Clock() as clock:
                rows = library.race_copy(connection, table, os.fsencode(file), batch_rows, HINT)
        report(rows, clock, client, source="file")
        return
    batches = task.batches()
    kinds = "".join(KINDS[kind] for kind in batches[0].schema.types).encode()
    exported = [(ctypes.c_byte * ARRAY_BYTES)() for _ in batches]
    for batch, array in zip(batches, exported, strict=True):
        batch._export_to_c(ctypes.addressof(array))
    pointers = (ctypes.c_void_p * len(batches))(*map(ctypes.addressof, exported))
    library.race_send.restype = ctypes.c_int64
    with Clock() as clock:
        count = ctypes.c_int64(len(batches))
        rows = library.race_send(connection, table, kinds, pointers, count, batch_rows, HINT)
    report(rows, clock, client, source="arrow")


if __name__ == "__main__":
    main()
