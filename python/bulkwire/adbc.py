"""The ADBC driver, for `adbc_driver_manager` and everything that is built on it.

Example:
    import bulkwire.adbc

    with bulkwire.adbc.connect("mssql://sa@localhost/sales") as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("orders", frame, mode="append")
        cursor.execute("SELECT * FROM orders WHERE day > ?", (day,))
        frame = cursor.fetch_polars()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _bulkwire
from ._connection_string import connection_string

if TYPE_CHECKING:
    from adbc_driver_manager import dbapi

#: The function that a driver manager calls first.
ENTRYPOINT = "AdbcDriverBulkwireInit"


def driver_path() -> str:
    """The path of the driver library: the package's own extension module, which is loaded into Python processes only."""
    path = _bulkwire.__file__
    if path is None:
        raise RuntimeError("the extension module has no file")
    return path


def connect(text: str | None = None, /, *, autocommit: bool = False, **keywords: Any) -> dbapi.Connection:
    """Connect through `adbc_driver_manager`'s DB-API. The arguments are those of `bulkwire.connect`.

    As DB-API demands, a transaction is open from the start unless `autocommit` is set; commit it.
    """
    from adbc_driver_manager import dbapi

    return dbapi.connect(
        driver=driver_path(),
        entrypoint=ENTRYPOINT,
        db_kwargs={"uri": connection_string(text, keywords)},
        autocommit=autocommit,
    )
