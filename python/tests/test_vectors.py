"""Vectors: every library's lists of floats in and out, as parameters too."""

import bulkwire
import bulkwire.adbc
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

VALUES = [[0.5, -1.25, 3.0], None, [1e-45, 0.0, 3.4028234663852886e38]]


def vectors(item: pa.DataType = None) -> pa.Table:
    """Three rows of vectors."""
    return pa.table({"id": pa.array([1, 2, 3], pa.int32()), "v": pa.array(VALUES, pa.list_(item or pa.float32(), 3))})


def test_lists_of_fixed_size_make_a_table_and_come_back(bulkwire_db):
    table = vectors()
    bulkwire_db.load("made", table, create=True)
    assert bulkwire_db.fetch(
        "SELECT vector_dimensions, vector_base_type_desc FROM sys.columns WHERE object_id = OBJECT_ID('made') AND name = 'v'"
    ) == [(3, "float32")]
    back = bulkwire_db.read("SELECT * FROM made ORDER BY id").to_arrow()
    assert back.schema.field("v").type == pa.list_(pa.float32(), 3)
    assert back.column("v").to_pylist() == table.column("v").to_pylist()


def test_half_precision(bulkwire_db):
    halves = np.array([0.5, -1.0, 65504.0], dtype=np.float16)
    column = pa.FixedSizeListArray.from_arrays(pa.array(halves), 3)
    bulkwire_db.load("halves", pa.table({"h": column}), create=True)
    back = bulkwire_db.read("SELECT h FROM halves").to_arrow()
    assert back.schema.field("h").type == pa.list_(pa.float16(), 3)
    assert back.column("h").to_pylist() == [list(halves)]


def test_frames_of_other_libraries(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (id int NULL, v vector(3) NULL)")
    frame = pl.DataFrame({"id": [1, 2], "v": [[1.0, 2.0, 3.0], None]}, schema={"id": pl.Int32, "v": pl.Array(pl.Float32, 3)})
    bulkwire_db.load("t", frame)
    bulkwire_db.load("t", pd.DataFrame({"id": [3], "v": [np.array([0.1, 0.2, 0.3], dtype=np.float32)]}))
    bulkwire_db.load("t", pd.DataFrame({"id": [4], "v": [[0.5, 0.25, 4.0]]}))
    found = bulkwire_db.read("SELECT v FROM t ORDER BY id").to_polars()["v"]
    assert found.dtype == pl.Array(pl.Float32, 3)
    assert found[0].to_list() == [1.0, 2.0, 3.0]
    assert found[1] is None
    assert np.array_equal(found[2].to_numpy(), np.array([0.1, 0.2, 0.3], dtype=np.float32))
    pandas = bulkwire_db.read("SELECT v FROM t WHERE id = 4").to_pandas()
    assert np.array_equal(pandas["v"][0], [0.5, 0.25, 4.0])


def test_what_is_wrong_is_named(bulkwire_db):
    bulkwire_db.execute("CREATE TABLE t (v vector(2) NULL)")
    for column, what in [
        (pa.array([[1.0, 2.0], [1.0]], pa.list_(pa.float32())), "row 2, column .v.: 1 dimensions, the column has 2"),
        (pa.array([[1.0, None]], pa.list_(pa.float32())), "element 1 is NULL"),
        (pa.array([[1.0, float("nan")]], pa.list_(pa.float32())), "element 1 is not a finite number"),
        (pa.array([[0.1, 1.0]], pa.list_(pa.float64())), "rounding is not allowed"),
    ]:
        with pytest.raises(bulkwire.CellError, match=what):
            bulkwire_db.load("t", pa.table({"v": column}))
    bulkwire_db.load("t", pa.table({"v": pa.array([[0.1, 1.0]])}), allow_rounding=True)
    assert bulkwire_db.fetch("SELECT COUNT(*) FROM t") == [(1,)]


def test_parameters(bulkwire_db):
    bulkwire_db.load("t", vectors(), create=True)
    nearest = "SELECT TOP 1 id, v FROM t WHERE v IS NOT NULL ORDER BY VECTOR_DISTANCE('euclidean', v, @q)"
    for query in ([0, -1, 3.5], (0.0, -1.0, 3.5), np.array([0, -1, 3.5])):
        assert bulkwire_db.fetch(nearest, {"q": query}) == [(1, VALUES[0])]
    half = np.array([1, 2], dtype=np.float16)
    assert bulkwire_db.fetch("SELECT VECTORPROPERTY(@q, 'BaseType')", {"q": half}) == [("float16",)]
    for wrong, why in [
        ([1.0, "a"], "row of numbers"),
        (np.array([]), "0 dimensions"),
        ([1, 2], "list of floats"),
        ([], "list of floats"),
    ]:
        with pytest.raises(bulkwire.UsageError, match=why):
            bulkwire_db.fetch("SELECT @q", {"q": wrong})


def test_adbc_both_ways(bulkwire_server):
    with bulkwire.adbc.connect(bulkwire_server.url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("by_adbc", vectors(), mode="create")
        schema = connection.adbc_get_table_schema("by_adbc")
        assert schema.field("v").type == pa.list_(pa.float32(), 3)
        cursor.execute("SELECT v FROM by_adbc ORDER BY id")
        assert cursor.fetch_arrow_table().column("v").to_pylist() == vectors().column("v").to_pylist()
