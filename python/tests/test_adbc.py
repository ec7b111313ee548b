"""The ADBC driver, as the driver manager, Polars and pandas use it."""

import datetime as dt
import os
import struct
from decimal import Decimal

import adbc_driver_manager
import bulkwire.adbc
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int32()),
        "name": pa.array(["Ada", None, "Zoë"], pa.string()),
        "price": pa.array([Decimal("12.50"), None, Decimal("-1.00")], pa.decimal128(10, 2)),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)], pa.date32()),
    }
)


@pytest.fixture
def database(bulkwire_db):
    return bulkwire_db.fetch("SELECT DB_NAME()")[0][0]


@pytest.fixture
def adbc(bulkwire_server, database):
    with bulkwire.adbc.connect(bulkwire_server.url_of(database), autocommit=True) as connection:
        yield connection


def fetched(adbc, sql, parameters=None):
    with adbc.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def test_ingest_modes(adbc):
    with adbc.cursor() as cursor:
        assert cursor.adbc_ingest("t", TABLE, mode="create") == 3
        with pytest.raises(adbc_driver_manager.ProgrammingError, match="exists already"):
            cursor.adbc_ingest("t", TABLE, mode="create")
        assert cursor.adbc_ingest("t", TABLE.to_reader(), mode="append") == 3
        assert cursor.adbc_ingest("t", TABLE, mode="create_append", db_schema_name="dbo") == 3
        cursor.execute("SELECT COUNT(*) AS n FROM t")
        assert cursor.fetchone() == (9,)
        assert cursor.adbc_ingest("t", TABLE, mode="replace") == 3
        cursor.execute("SELECT * FROM t ORDER BY id")
        assert cursor.fetch_arrow_table().to_pylist() == TABLE.to_pylist()
        with pytest.raises(adbc_driver_manager.Error, match="does not exist"):
            cursor.adbc_ingest("nowhere", TABLE, mode="append")
    with adbc.cursor() as cursor:
        assert cursor.adbc_ingest("temporary", TABLE, temporary=True) == 3
        cursor.execute("SELECT COUNT(*) AS n FROM #temporary")
        assert cursor.fetchone() == (3,)


def test_a_value_that_does_not_fit_is_named(adbc):
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE t (id int, name nvarchar(2), price decimal(10, 2), day date)")
        with pytest.raises(adbc_driver_manager.Error, match='row 1, column "name"') as caught:
            cursor.adbc_ingest("t", TABLE, mode="append")
        assert caught.value.status_code == adbc_driver_manager.AdbcStatusCode.INVALID_DATA
        cursor.execute("SELECT COUNT(*) AS n FROM t")
        assert cursor.fetchone() == (0,)


def test_text_that_is_not_utf8_is_refused(adbc):
    buffers = [None, pa.py_buffer(struct.pack("<iii", 0, 2, 4)), pa.py_buffer(b"ok\xff\xfe")]
    table = pa.table({"name": pa.Array.from_buffers(pa.string(), 2, buffers)})
    with adbc.cursor() as cursor, pytest.raises(Exception, match=r'row 2, column "name": .*UTF-?8'):
        cursor.adbc_ingest("unsound", table, mode="create")
    with adbc.cursor() as cursor, pytest.raises(Exception, match=r'row 2, column "name": .*UTF-?8'):
        cursor.executemany("SELECT @p1", table)


def test_errors_carry_the_servers_number(adbc):
    with pytest.raises(adbc_driver_manager.Error, match="Invalid object name") as caught:
        fetched(adbc, "SELECT * FROM nowhere")
    assert dict(caught.value.details)[b"mssql.number"] == b"208"
    assert caught.value.status_code == adbc_driver_manager.AdbcStatusCode.NOT_FOUND


@pytest.mark.parametrize(
    "value", [True, 7, 2**40, 1.5, "Zoë ?", b"\0\1", dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, 15, 123456)]
)
def test_parameters(adbc, value):
    assert fetched(adbc, "SELECT ? AS v, '?' AS mark -- ?", (value,)) == [(value, "?")]


def test_many_parameters(adbc):
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE t (id int, name nvarchar(20))")
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, None)])
        cursor.execute("SELECT * FROM t ORDER BY id")
        assert cursor.fetchall() == [(1, "a"), (2, None)]
        with pytest.raises(adbc_driver_manager.Error, match=r"2 \? markers, but 1 parameters are bound"):
            cursor.execute("SELECT ?, ?", (1,))


def test_transactions(bulkwire_server, database, adbc):
    fetched(adbc, "CREATE TABLE t (id int)")
    with bulkwire.adbc.connect(bulkwire_server.url_of(database)) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
        connection.rollback()
        cursor.execute("INSERT INTO t VALUES (2)")
        cursor.adbc_ingest("t", TABLE.select(["id"]), mode="append")
        connection.commit()
        cursor.execute("INSERT INTO t VALUES (3)")
        connection.rollback()
    assert fetched(adbc, "SELECT COUNT(*) AS n, MAX(id) AS m FROM t") == [(4, 3)]


def test_metadata(adbc, database):
    fetched(adbc, "CREATE TABLE parent (id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY, name nvarchar(20))")
    fetched(
        adbc,
        "CREATE TABLE child (id int CONSTRAINT ck CHECK (id > 0), parent_id int CONSTRAINT fk REFERENCES parent (id))",
    )
    assert adbc.adbc_get_info()["driver_name"] == "bulkwire"
    assert adbc.adbc_current_catalog == database
    assert adbc.adbc_current_db_schema == "dbo"
    assert "BASE TABLE" in adbc.adbc_get_table_types()
    schema = adbc.adbc_get_table_schema("parent")
    assert (schema.names, schema.field("id").type) == (["id", "name"], pa.int32())
    with pytest.raises(adbc_driver_manager.Error, match="does not exist"):
        adbc.adbc_get_table_schema("nowhere")
    objects = adbc.adbc_get_objects(catalog_filter=database).read_all().to_pylist()
    dbo = next(one for one in objects[0]["catalog_db_schemas"] if one["db_schema_name"] == "dbo")
    tables = {table["table_name"]: table for table in dbo["db_schema_tables"]}
    assert sorted(tables) == ["child", "parent"]
    columns = [(c["column_name"], c["ordinal_position"], c["xdbc_type_name"]) for c in tables["parent"]["table_columns"]]
    assert columns == [("id", 1, "int"), ("name", 2, "nvarchar")]
    constraints = {c["constraint_name"]: c for c in tables["child"]["table_constraints"]}
    assert constraints["ck"]["constraint_type"] == "CHECK"
    assert constraints["fk"]["constraint_column_names"] == ["parent_id"]
    assert constraints["fk"]["constraint_column_usage"] == [
        {"fk_catalog": database, "fk_db_schema": "dbo", "fk_table": "parent", "fk_column_name": "id"}
    ]
    assert tables["parent"]["table_constraints"][0]["constraint_type"] == "PRIMARY KEY"
    shallow = adbc.adbc_get_objects(depth="catalogs").read_all().to_pylist()
    assert {"catalog_name": database, "catalog_db_schemas": None} in shallow


def test_a_schema_without_running(adbc):
    with adbc.cursor() as cursor:
        schema = cursor.adbc_execute_schema("SELECT 1 AS a, CAST('x' AS nvarchar(10)) AS b")
    assert schema.names == ["a", "b"]


def test_polars(bulkwire_server, database, adbc):
    frame = pl.DataFrame({"id": [1, 2, 3], "name": ["a", None, "ü"]})
    assert frame.write_database("polars_made", adbc, engine="adbc", if_table_exists="replace") == 3
    back = pl.read_database("SELECT * FROM polars_made ORDER BY id", adbc)
    assert back.equals(frame)


def test_pandas(adbc):
    frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", None, "ü"]})
    assert frame.to_sql("pandas_made", adbc, index=False) == 3
    back = pd.read_sql("SELECT * FROM pandas_made ORDER BY id", adbc)
    assert back["id"].tolist() == [1, 2, 3]
    assert back["name"].tolist()[::2] == ["a", "ü"]


def test_options(bulkwire_server):
    with pytest.raises(adbc_driver_manager.Error, match='option "uri" is missing'):
        adbc_driver_manager.AdbcConnection(
            adbc_driver_manager.AdbcDatabase(driver=bulkwire.adbc.driver_path(), entrypoint=bulkwire.adbc.ENTRYPOINT)
        )
    options = {
        "uri": f"mssql://{bulkwire_server.host}:{bulkwire_server.port}",
        "username": "sa",
        "password": bulkwire_server.password,
        "bulkwire.TrustServerCertificate": "yes",
    }
    database = adbc_driver_manager.AdbcDatabase(driver=bulkwire.adbc.driver_path(), entrypoint=bulkwire.adbc.ENTRYPOINT, **options)
    connection = adbc_driver_manager.AdbcConnection(database)
    connection.close()
    database.close()


@pytest.mark.skipif("BULKWIRE_ADBC_LIBRARY" not in os.environ, reason="BULKWIRE_ADBC_LIBRARY names no library")
def test_the_library_for_other_languages(bulkwire_server):
    library = os.environ["BULKWIRE_ADBC_LIBRARY"]
    options = {"uri": bulkwire_server.url_of("tempdb")}
    with (
        adbc_driver_manager.dbapi.connect(library, entrypoint="AdbcDriverBulkwireInit", db_kwargs=options) as connection,
        connection.cursor() as cursor,
    ):
        assert cursor.adbc_ingest("of_the_library", TABLE, mode="create") == 3
        cursor.execute("SELECT COUNT(*) FROM of_the_library")
        assert cursor.fetchall() == [(3,)]
        connection.rollback()
