"""SQLAlchemy engines over the two drivers that SQLAlchemy supports for SQL Server here."""

from __future__ import annotations

import pyodbc
import sqlalchemy as sa

import odbc

DRIVERS = ["pymssql", "pyodbc"]


def engine(server, driver: str, database: str = "master", **options) -> sa.Engine:
    """An engine for a driver, with SQLAlchemy's own pool."""
    if driver == "pyodbc":
        # SQLAlchemy has the pool: the driver manager must not keep one too.
        pyodbc.pooling = False
        pyodbc.native_uuid = False
        text = odbc.connection_string(server, Database=database)
        url = sa.URL.create("mssql+pyodbc", query={"odbc_connect": text})
    else:
        url = sa.URL.create("mssql+pymssql", server.user, server.password, server.host, server.port, database)
    return sa.create_engine(url, **options)
