"""Moves tables in and out of SQL Server at the speed of the wire.

    >>> import bulkwire
    >>> with bulkwire.connect("mssql://sa@localhost/sales") as db:  # doctest: +SKIP
    ...     print(db.load("dbo.orders", frame))
    ...     frame = db.read("SELECT * FROM dbo.orders").to_polars()

Data goes in from anything that speaks the Arrow PyCapsule interface (pyarrow, Polars, pandas, DuckDB, ADBC), from iterators of
such objects and from files; it comes out as an object that all of them read.
"""

import os as _os
import sys as _sys

from ._bulkwire import CopyReport, Execution, LoadReport, Reader, __version__
from ._connection import Connection, Progress, connect
from ._copy import CopyError, copy
from ._exceptions import (
    BrokenConnectionError,
    CancelledError,
    CellError,
    ConfigError,
    ConnectError,
    CountMismatchError,
    Error,
    FormError,
    InDoubtError,
    LoginError,
    LoginRefusedError,
    NoTableError,
    PlanError,
    ProtocolError,
    ServerError,
    ServerMessage,
    SourceError,
    TimedOutError,
    TlsError,
    TransactionEndedError,
    UsageError,
)
from ._null import Null
from ._package import PackageError, PackagePlan, PackageReport, PlannedTask, TaskReport, run_package
from ._server import Server
from ._upsert import UpsertReport

# Drivers of other databases are looked for in this interpreter's environment, whether or not a shell has activated it.
_os.environ["BULKWIRE_PYTHON_PREFIX"] = _sys.prefix

__all__ = [
    "BrokenConnectionError",
    "CancelledError",
    "CellError",
    "ConfigError",
    "ConnectError",
    "Connection",
    "CopyError",
    "CopyReport",
    "CountMismatchError",
    "Error",
    "Execution",
    "FormError",
    "InDoubtError",
    "LoadReport",
    "LoginError",
    "LoginRefusedError",
    "NoTableError",
    "Null",
    "PackageError",
    "PackagePlan",
    "PackageReport",
    "PlanError",
    "PlannedTask",
    "Progress",
    "ProtocolError",
    "Reader",
    "Server",
    "ServerError",
    "ServerMessage",
    "SourceError",
    "TaskReport",
    "TimedOutError",
    "TlsError",
    "TransactionEndedError",
    "UpsertReport",
    "UsageError",
    "__version__",
    "connect",
    "copy",
    "run_package",
]
