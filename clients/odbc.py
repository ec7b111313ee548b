"""Microsoft's ODBC Driver 18, from the wheel of mssql-python-odbc, and connection strings for it."""

from __future__ import annotations

import pathlib

import mssql_python_odbc


def driver() -> pathlib.Path:
    """The shared library of the driver for this kind of machine."""
    folder = pathlib.Path(mssql_python_odbc.get_libs_dir()) / "linux" / "debian_ubuntu"
    found = sorted(folder.glob("*/lib/libmsodbcsql-18.*"))
    assert len(found) == 1, f"one driver in {folder}: {found}"
    return found[0]


def server_options(server, **options: str) -> str:
    """What every ODBC client needs; options are keywords of the driver. `Encrypt` is `yes` by default."""
    keywords = {
        "Server": f"{server.host},{server.port}",
        "UID": server.user,
        "PWD": f"{{{server.password}}}",
        "Encrypt": "yes",
        "TrustServerCertificate": "yes",
        **options,
    }
    return ";".join(f"{keyword}={value}" for keyword, value in keywords.items())


def connection_string(server, **options: str) -> str:
    """For a driver manager: the driver by its path, so that no odbcinst.ini is needed."""
    return f"DRIVER={{{driver()}}};{server_options(server, **options)}"
