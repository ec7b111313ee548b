"""The ways by which other people's programs find the ADBC driver, and what they ask it of tables."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import adbc_driver_manager
import bulkwire.adbc
import polars as pl
import pyarrow as pa
import pytest
from adbc_driver_manager import dbapi


@pytest.fixture
def database(bulkwire_db):
    return bulkwire_db.fetch("SELECT DB_NAME()")[0][0]


@pytest.fixture
def adbc(bulkwire_server, database):
    with bulkwire.adbc.connect(bulkwire_server.url_of(database), autocommit=True) as connection:
        yield connection


def test_polars_reads_by_url(bulkwire_server):
    frame = pl.read_database_uri("SELECT 1 AS a, N'ü' AS b", bulkwire_server.url, engine="adbc")
    assert frame.to_dicts() == [{"a": 1, "b": "ü"}]
    parameters = {"parameters": (5,)}
    frame = pl.read_database_uri("SELECT ? AS a", bulkwire_server.url, engine="adbc", execute_options=parameters)
    assert frame.to_dicts() == [{"a": 5}]


def test_a_manifest_names_the_driver(bulkwire_server, tmp_path, monkeypatch):
    monkeypatch.setenv("ADBC_DRIVER_PATH", str(tmp_path))
    written = bulkwire.adbc.write_manifest(tmp_path)
    assert written == tmp_path / "bulkwire.toml"
    bulkwire.adbc.write_manifest(tmp_path, "mssql")
    for keywords in ({"driver": "bulkwire", "uri": bulkwire_server.url}, {"driver": bulkwire_server.url}):
        with dbapi.connect(**keywords, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 42 AS n")
            assert cursor.fetchall() == [(42,)]


def test_a_manifest_written_into_an_environment_is_found_there(bulkwire_server, tmp_path):
    venv.create(tmp_path / "environment", with_pip=False)
    python = tmp_path / "environment" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # The packages of this environment, as if they were installed there.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

    def run(*words):
        return subprocess.run([python, *words], env=environment, check=True, capture_output=True, text=True).stdout

    written = Path(run("-m", "bulkwire.adbc").strip())
    assert written == tmp_path / "environment" / "etc" / "adbc" / "drivers" / "bulkwire.toml"
    script = "import sys; from adbc_driver_manager import dbapi; url = sys.argv[1]"
    script += "\nc = dbapi.connect(driver='bulkwire', uri=url, autocommit=True)"
    script += "\nwith c, c.cursor() as cursor:\n    cursor.execute('SELECT 42 AS n'); print(cursor.fetchall())"
    assert run("-c", script, bulkwire_server.url) == "[(42,)]\n"


def test_statistics_count_rows(adbc, database):
    with adbc.cursor() as cursor:
        cursor.adbc_ingest("counted", pa.table({"id": pa.array(range(7), pa.int32())}))
        cursor.execute("CREATE TABLE empty_one (id int)")
    found = adbc.adbc_get_statistics(catalog_filter=database, db_schema_filter="dbo").read_all().to_pylist()
    schemas = found[0]["catalog_db_schemas"]
    rows = {one["table_name"]: one["statistic_value"] for one in schemas[0]["db_schema_statistics"]}
    assert rows == {"counted": 7, "empty_one": 0}
    assert {one["statistic_key"] for one in schemas[0]["db_schema_statistics"]} == {6}
    assert adbc.adbc_get_statistic_names().read_all().num_rows == 0


def test_columns_have_the_codes_of_odbc(adbc, database):
    with adbc.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE coded (id int IDENTITY NOT NULL, name nvarchar(20), at datetime2(3), price decimal(9, 2), twice AS id * 2)"
        )
    objects = adbc.adbc_get_objects(catalog_filter=database, table_name_filter="coded").read_all().to_pylist()
    dbo = next(one for one in objects[0]["catalog_db_schemas"] if one["db_schema_name"] == "dbo")
    columns = {column["column_name"]: column for column in dbo["db_schema_tables"][0]["table_columns"]}
    codes = {name: (c["xdbc_data_type"], c["xdbc_sql_data_type"], c["xdbc_datetime_sub"]) for name, c in columns.items()}
    assert codes == {
        "id": (4, 4, None),
        "name": (-9, -9, None),
        "at": (93, 9, 3),
        "price": (3, 3, None),
        "twice": (4, 4, None),
    }
    assert columns["name"]["xdbc_char_octet_length"] == 40
    assert columns["price"]["xdbc_num_prec_radix"] == 10
    assert [name for name, column in columns.items() if column["xdbc_is_autoincrement"]] == ["id"]
    assert [name for name, column in columns.items() if column["xdbc_is_generatedcolumn"]] == ["twice"]


def test_statuses_are_those_of_the_specification(adbc):
    status = adbc_driver_manager.AdbcStatusCode
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE narrow (id int, price decimal(5, 1))")
        other = pa.table({"id": pa.array([1], pa.int32()), "unknown": ["x"]})
        with pytest.raises(adbc_driver_manager.Error) as caught:
            cursor.adbc_ingest("narrow", other, mode="append")
        assert caught.value.status_code == status.ALREADY_EXISTS
        rounded = pa.table({"id": pa.array([1], pa.int32()), "price": pa.array([1.25], pa.float64())})
        with pytest.raises(adbc_driver_manager.Error) as caught:
            cursor.adbc_ingest("narrow", rounded, mode="append")
        assert caught.value.status_code == status.INVALID_DATA
        cursor.adbc_statement.set_options(**{"bulkwire.ingest.allow_rounding": "true"})
        assert cursor.adbc_ingest("narrow", rounded, mode="append") == 1
        with pytest.raises(adbc_driver_manager.NotSupportedError):
            cursor.adbc_statement.set_options(**{"no.such.option": 4.0})
    with pytest.raises(adbc_driver_manager.NotSupportedError):
        adbc.adbc_connection.set_options(**{"no.such.option": 4.0})
    with pytest.raises(adbc_driver_manager.NotSupportedError):
        adbc.adbc_database.set_options(**{"no.such.option": 4.0})
    adbc.adbc_connection.set_options(**{"adbc.connection.db_schema": "dbo"})
    with pytest.raises(adbc_driver_manager.NotSupportedError, match="has no schema of its own"):
        adbc.adbc_connection.set_options(**{"adbc.connection.db_schema": "sales"})
    assert adbc.adbc_get_info()["driver_arrow_version"].startswith("v")
