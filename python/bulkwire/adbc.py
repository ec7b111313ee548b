"""The ADBC driver, for `adbc_driver_manager` and everything that is built on it.

Example:
    import bulkwire.adbc

    with bulkwire.adbc.connect("mssql://sa@localhost/sales") as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("orders", frame, mode="append")
        cursor.execute("SELECT * FROM orders WHERE day > ?", (day,))
        frame = cursor.fetch_polars()
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
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


def write_manifest(directory: str | Path | None = None, name: str = "bulkwire") -> Path:
    """Write a driver manifest, by which driver managers of this environment find the driver under a name: `driver="bulkwire"`.

    A wheel cannot bring one, because a manifest holds the library's absolute path. Also `python -m bulkwire.adbc`.

    Args:
        directory: where to write it; `etc/adbc/drivers` of this Python environment otherwise, where Python's driver manager looks.
        name: the name of the driver. Under `mssql` it is found by URLs alone: `dbapi.connect("mssql://…")`.

    Returns:
        The file written.
    """
    folder = Path(directory) if directory is not None else Path(sys.prefix) / "etc" / "adbc" / "drivers"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / f"{name}.toml"
    # Strings of JSON are strings of TOML.
    quoted = [json.dumps(text) for text in (_bulkwire.__version__, ENTRYPOINT, driver_path())]
    manifest.write_text(
        'manifest_version = 1\nname = "bulkwire"\npublisher = "bulkwire"\n'
        f"version = {quoted[0]}\n\n[Driver]\nentrypoint = {quoted[1]}\nshared = {quoted[2]}\n",
        encoding="utf-8",
    )
    return manifest


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


def main(arguments: list[str] | None = None) -> None:
    """Write the manifest, as `python -m bulkwire.adbc` says."""
    parser = argparse.ArgumentParser(prog="python -m bulkwire.adbc", description="Write a manifest that driver managers find.")
    parser.add_argument("--name", default="bulkwire", help="name of the driver; under mssql a URL alone is enough")
    parser.add_argument("--directory", help="where to write it, in place of etc/adbc/drivers of this Python environment")
    given = parser.parse_args(arguments)
    print(write_manifest(given.directory, name=given.name))


if __name__ == "__main__":
    main()
