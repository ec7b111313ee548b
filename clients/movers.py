"""Other movers of tables from PostgreSQL to SQL Server, for bench_copy.py: one of them, by its name.

Each is used as its own documentation says; where and as whom comes from the environment.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

import mssql_python_odbc

SOURCE = os.environ["MOVER_SOURCE"]
HOST, PORT, PASSWORD = (os.environ[f"MOVER_{name}"] for name in ("HOST", "PORT", "PASSWORD"))
NAME = "ODBC Driver 18 for SQL Server"


def install_driver() -> None:
    """Gives Microsoft's driver its name for the driver manager of this process and its children."""
    folder = pathlib.Path(mssql_python_odbc.get_libs_dir()) / "linux" / "debian_ubuntu"
    [library] = folder.glob("*/lib/libmsodbcsql-18.*")
    ini = pathlib.Path(os.environ["ODBCSYSINI"]) / "odbcinst.ini"
    ini.write_text(f"[{NAME}]\nDescription={NAME}\nDriver={library}\n")


def sqlalchemy_url() -> str:
    password = urllib.parse.quote_plus(PASSWORD)
    driver = urllib.parse.quote_plus(NAME)
    return f"mssql+pyodbc://sa:{password}@{HOST}:{PORT}/master?driver={driver}&TrustServerCertificate=yes"


def pandas_mover() -> None:
    import pandas
    import sqlalchemy

    source = sqlalchemy.create_engine(SOURCE.replace("postgresql://", "postgresql+psycopg2://"))
    target = sqlalchemy.create_engine(sqlalchemy_url(), fast_executemany=True)
    first = True
    for chunk in pandas.read_sql("SELECT * FROM eleven", source, chunksize=50_000):
        chunk.to_sql("eleven", target, index=False, if_exists="replace" if first else "append", schema="dbo")
        first = False


def polars_mover() -> None:
    import polars
    import sqlalchemy

    frame = polars.read_database_uri("SELECT * FROM eleven", SOURCE)
    # pyodbc takes the precision of all decimals from the first one, and refuses larger ones.
    frame = frame.cast({"col_decimal": polars.Float64})
    target = sqlalchemy.create_engine(sqlalchemy_url(), fast_executemany=True)
    frame.write_database("dbo.eleven", target, if_table_exists="replace")


def dlt_mover() -> None:
    import dlt
    from dlt.sources.sql_database import sql_table

    target = dlt.destinations.mssql(
        {
            "host": HOST,
            "port": int(PORT),
            "database": "master",
            "username": "sa",
            "password": PASSWORD,
            "driver": NAME,
            "query": {"TrustServerCertificate": "yes"},
        }
    )
    folder = tempfile.mkdtemp(dir=os.environ["ODBCSYSINI"])
    pipeline = dlt.pipeline("bench", destination=target, dataset_name="dbo", pipelines_dir=folder)
    url = SOURCE.replace("postgresql://", "postgresql+psycopg2://")
    source = sql_table(url, table="eleven", schema="public", backend="pyarrow", chunk_size=50_000)
    pipeline.run(source, write_disposition="replace").raise_on_failed_jobs()


def ingestr_mover() -> None:
    password = urllib.parse.quote_plus(PASSWORD)
    target = f"mssql://sa:{password}@{HOST}:{PORT}/master?TrustServerCertificate=true"
    words = [
        os.environ["MOVER_INGESTR"],
        "ingest",
        "--yes",
        "--source-uri",
        SOURCE,
        "--source-table",
        "public.eleven",
    ]
    words += ["--dest-uri", target, "--dest-table", "dbo.eleven"]
    subprocess.run(words, check=True)


if __name__ == "__main__":
    install_driver()
    globals()[f"{sys.argv[1]}_mover"]()
