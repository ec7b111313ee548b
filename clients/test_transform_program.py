"""The `bulkwire` program hands what transforms rows to `bulkwire-transform` beside it."""

from __future__ import annotations

import pathlib
import subprocess

ROWS = "id,name\n1, anna \n2,bob\n"
PACKAGE = """\
[tasks.copy]
type = "copy"
source = "in.csv"
destination = "out.csv"
select = "id, UPPER(TRIM(name)) AS name"
where = "id > 1"
"""


def run(binaries: pathlib.Path, folder: pathlib.Path, *words: str) -> str:
    """What the program wrote as out.csv."""
    (folder / "in.csv").write_text(ROWS)
    done = subprocess.run([binaries / "bulkwire", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "out.csv").read_text()


def test_a_copy_with_a_transformation_is_handed_over(binaries, tmp_path):
    words = ["copy", "in.csv", "out.csv", "--select", "id * 2 AS n, TRIM(name) AS name"]
    assert run(binaries, tmp_path, *words) == "n,name\n2,anna\n4,bob\n"


def test_a_package_with_a_transformation_is_handed_over(binaries, tmp_path):
    (tmp_path / "package.toml").write_text(PACKAGE)
    assert run(binaries, tmp_path, "run", "package.toml") == "id,name\n2,BOB\n"


def test_a_package_that_runs_another_is_handed_over(binaries, tmp_path):
    (tmp_path / "inner.toml").write_text(PACKAGE)
    (tmp_path / "outer.toml").write_text('[tasks.inner]\ntype = "package"\nfile = "inner.toml"\n')
    assert run(binaries, tmp_path, "run", "outer.toml") == "id,name\n2,BOB\n"
