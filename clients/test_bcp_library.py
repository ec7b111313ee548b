"""bulkwire as bcp beside Microsoft's bulk copy library: files laid out in every way, by the same server."""

from __future__ import annotations

import pathlib
import subprocess

import file_layouts
import pyodbc
import pytest

import python_cells
from test_odbc_bcp import assert_every_cell, cursor, filled, fresh, program, run  # noqa: F401

# The library does not read back the text that it writes for the largest reals, and takes long values of their
# own form behind a length of eight bytes only. It writes xml in pieces or whole as the server sends it.
LONG = ("c_varcharmax", "c_nvarcharmax", "c_varbinarymax")
COLUMNS = python_cells.columns("c_real", "c_xml", *LONG)
LONG_COLUMNS = [column for column in python_cells.columns() if column.name in LONG]
UTF8 = "code_page=65001"


def bulkwire(server, *words: object) -> subprocess.CompletedProcess[str]:
    """Runs bulkwire as bcp, with UTF-8 files."""
    done = server.bulkwire("bcp", *map(str, words), "-C", "65001")
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def rows(cursor: pyodbc.Cursor, table: str) -> list[tuple]:  # noqa: F811
    """All rows of a table."""
    return [tuple(row) for row in cursor.execute(f"SELECT * FROM {table} ORDER BY id")]


def compare(run, cursor, server, folder: pathlib.Path, columns, fields) -> None:  # noqa: F811
    """Both write the same file from the same table, and load the same rows from it."""
    source = filled(cursor, "library_source", columns)
    (folder / "fields").write_text(file_layouts.described(fields))
    theirs, ours, errors, layout = (folder / name for name in ("theirs", "ours", "errors", "layout.fmt"))
    copied = run(
        "copy",
        "out",
        source,
        theirs,
        errors,
        "fields",
        f"fields={folder / 'fields'}",
        f"format={layout}",
        UTF8,
    )
    assert copied == ["copied 5"]
    bulkwire(server, source, "out", ours, "-f", layout)
    assert ours.read_bytes() == theirs.read_bytes(), [str(field) for field in fields]
    by_library, by_bulkwire = (fresh(cursor, name, columns) for name in ("library_in", "library_in_ours"))
    copied = run("copy", "in", by_library, theirs, errors, "format", f"format={layout}", "keep_nulls=1", UTF8)
    assert copied[-1] == "copied 5", copied
    bulkwire(server, by_bulkwire, "in", theirs, "-f", layout, "-k", "-e", folder / "errors_ours")
    assert rows(cursor, by_bulkwire) == rows(cursor, by_library), [str(field) for field in fields]
    assert (folder / "errors_ours").read_bytes() == errors.read_bytes()


@pytest.mark.parametrize("seed", range(20))
def test_both_read_and_write_the_same_files(run, cursor, server, tmp_path, seed):  # noqa: F811
    compare(run, cursor, server, tmp_path, COLUMNS, file_layouts.layout(COLUMNS, seed))


@pytest.mark.parametrize("column", LONG_COLUMNS, ids=lambda column: column.name)
def test_both_read_and_write_long_values(run, cursor, server, tmp_path, column):  # noqa: F811
    key = file_layouts.Field(file_layouts.OWN, file_layouts.ANY, file_layouts.ANY, b"")
    for field in file_layouts.fields(b"|#|"):
        if field.prefix == 4 and not field.terminator:
            continue
        compare(run, cursor, server, tmp_path, [column], [key, field])
