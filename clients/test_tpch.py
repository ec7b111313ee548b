"""TPC-H's 22 queries give DuckDB's answers, over heaps and over clustered tables."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator

import duckdb
import pymssql
import pytest
import tpch

from conftest import serve

SCALE = float(os.environ.get("TPCH_SCALE", "0.01"))
KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    """The rows of all tables."""
    generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    return tpch.generate(SCALE, tmp_path_factory.mktemp("rows"), generator)


@pytest.fixture(scope="module")
def judge(files: dict[str, pathlib.Path]) -> duckdb.DuckDBPyConnection:
    """The tables in DuckDB."""
    connection = duckdb.connect()
    for name, path in files.items():
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{path}')")
    return connection


@pytest.fixture(scope="module", params=["heaps", "clustered"])
def cursor(
    request: pytest.FixtureRequest,
    binaries: pathlib.Path,
    files: dict[str, pathlib.Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[pymssql.Cursor]:
    """A server with the tables."""
    with serve(binaries, tmp_path_factory.mktemp("server")) as endpoint:
        login = {"server": endpoint.host, "port": str(endpoint.port), "user": endpoint.user}
        connection = pymssql.connect(**login, password=endpoint.password, autocommit=True)
        opened = connection.cursor()
        for name, path in files.items():
            key = f", PRIMARY KEY ({KEYS[name]})" if request.param == "clustered" else ""
            opened.execute(f"CREATE TABLE {name} ({tpch.TABLES[name]}{key})")
            loaded = endpoint.bulkwire("load", "--quiet", name, str(path))
            assert loaded.returncode == 0, loaded.stderr
        yield opened
        connection.close()


@pytest.mark.parametrize("number", tpch.QUERIES)
def test_answer(cursor: pymssql.Cursor, judge: duckdb.DuckDBPyConnection, number: int) -> None:
    """Both engines give the same rows in the same order."""
    wanted = judge.execute(tpch.standard(number, SCALE)).fetchall()
    cursor.execute(tpch.tsql(number, SCALE))
    differs = tpch.difference(cursor.fetchall(), wanted)
    assert differs is None, f"query {number}: {differs}"
