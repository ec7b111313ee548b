"""What the pages of Spark, Ray, Dask and dlt print runs as it stands: nothing set, in another time zone, language and home folder."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import bulkwire
import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def snippets(page: str, heading: str) -> str:
    """All snippets below a heading of the second level, one after the other."""
    text = (DOCS / page).read_text(encoding="utf-8")
    [section] = re.findall(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found
    return "\n".join(found)


@pytest.fixture
def run(place, bulkwire_server, tmp_path):
    """Runs code in a process that has a server and nothing else."""
    place.db.execute("CREATE TABLE dbo.orders (id bigint NOT NULL PRIMARY KEY, amount int)")
    place.db.execute("CREATE TABLE dbo.copies (id bigint NOT NULL PRIMARY KEY, amount int)")
    database = place.value("SELECT DB_NAME()")
    own = {name: text for name, text in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "JAVA_HOME")}
    environment = {
        **own,
        "PYTHONPATH": str(pathlib.Path(bulkwire.__file__).resolve().parents[1]),
        "HOME": str(tmp_path / "home"),
        "TZ": "Pacific/Chatham",
        "LANG": "tr_TR.UTF-8",
        "LC_ALL": "tr_TR.UTF-8",
        "BULKWIRE_URL": place.url,
        "BULKWIRE_PASSWORD": bulkwire_server.password,
        "PYSPARK_PYTHON": sys.executable,
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    (tmp_path / "home").mkdir()

    def go(code: str) -> None:
        url = f"mssql://sa@{bulkwire_server.host}:{bulkwire_server.port}/{database}?TrustServerCertificate=yes"
        code = code.replace("mssql://loader@sql01/sales", url)
        program = tmp_path / "printed.py"
        # Workers import the program again.
        program.write_text(f"def main():\n{_indented(code)}\n\nif __name__ == '__main__':\n    main()\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(program)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]

    return go


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in code.splitlines())


def test_spark(run, place):
    # The streams of the page are those of test_spark.py: their epochs take minutes in a process of their own.
    page = snippets("spark.md", "Spark").split("query = (")[0]
    run(
        f"""
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
frame = spark.range(3).selectExpr("id", "CAST(id * 10 AS int) AS amount")
day = "2026-11-23"
{page}
assert orders.count() == 3, orders.collect()
assert orders.where("id > 0").selectExpr("sum(amount)").collect() == [(30,)]
spark.stop()
""".replace('table="dbo.orders", loadId', 'table="dbo.copies", loadId')
    )
    assert place.db.fetch("SELECT COUNT(*), SUM(amount) FROM dbo.orders") == [(3, 30)]
    assert place.db.fetch("SELECT COUNT(*) FROM dbo.copies") == [(3,)]


def test_ray(run, place):
    place.db.execute("INSERT dbo.orders VALUES (1, 10), (2, 20), (3, 0)")
    run(f"import os\nurl = os.environ['BULKWIRE_URL']\n{snippets('spark.md', 'Ray Data')}")
    assert place.db.fetch("SELECT * FROM dbo.copies ORDER BY id") == [(1, 10), (2, 20)]


def test_dask(run, place):
    place.db.execute("INSERT dbo.orders VALUES (1, 10), (2, 20), (3, 0)")
    run(f"import os\nurl = os.environ['BULKWIRE_URL']\n{snippets('spark.md', 'Dask')}")
    assert place.db.fetch("SELECT * FROM dbo.copies ORDER BY id") == [(1, 10), (2, 20)]


def test_dlt(run, place):
    code = snippets("pipelines.md", "dlt")
    rows = "[{'id': 1, 'at': '2026-03-01T10:00:00+02:00'}, {'id': 2, 'at': None}]"
    for _ in range(2):
        run(f"orders = {rows}\n{code}")
    assert place.db.fetch("SELECT id FROM raw.orders ORDER BY id") == [(1,), (2,)]
