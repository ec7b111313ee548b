"""dbt with its adapter for SQL Server: the recipe of docs/pipelines.md, and what else dbt does."""

from __future__ import annotations

import datetime
import decimal
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Endpoint, serve
from programs import CACHE

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "pipelines.md"
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?:#|--) (?P<name>\S+)\n")
DAY = datetime.date(2026, 3, 1)
QUIET = {"DO_NOT_TRACK": "1", "DBT_USE_COLORS": "false", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


@pytest.fixture(scope="module")
def server(binaries: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with serve(binaries, tmp_path_factory.mktemp("dbt")) as endpoint:
        yield endpoint


class Project:
    """A project of dbt over a database of its own, and the folder of the files that are loaded."""

    def __init__(self, server: Endpoint, folder: pathlib.Path, database: str) -> None:
        self.server, self.folder, self.database = server, folder, database
        self.data = folder / "data"
        self.data.mkdir()
        url = server.url.replace("/master?", f"/{database}?")
        self.environment = {
            **os.environ,
            **QUIET,
            "PATH": f"{server.binaries}:{CACHE / 'dbt' / 'bin'}:{os.environ['PATH']}",
            "BULKWIRE_URL": url,
            "BULKWIRE_PASSWORD": server.password,
            "DBT_PROFILES_DIR": str(folder),
        }
        assert server.bulkwire("query", f"CREATE DATABASE {database}").returncode == 0

    def take_recipe(self) -> str:
        """Writes the files of the page, and returns the commands."""
        section = PAGE.read_text(encoding="utf-8").split("\n## dbt\n")[1].split("\n## ")[0]
        commands = []
        for block in BLOCK.finditer(section):
            file = FILE.match(block["body"])
            if file is None:
                commands.append(block["body"])
            else:
                self.write(file["name"], block["body"])
        return "".join(commands).replace("/data/", f"{self.data}/")

    def write(self, name: str, text: str) -> None:
        if name == "profiles.yml":
            for there, here in [
                ("host: sql01", f"host: {self.server.host}\n      trust_cert: true"),
                ("port: 1433", f"port: {self.server.port}"),
                ("database: sales", f"database: {self.database}"),
                ("user: loader", f"user: {self.server.user}"),
            ]:
                assert there in text
                text = text.replace(there, here)
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def run(self, commands: str, code: int = 0, **variables: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, f"{commands}: {done.returncode}\n{said}\n{self.log()}"
        return said

    def log(self) -> str:
        """What the server refused."""
        file = self.folder / "logs" / "dbt.log"
        lines = file.read_text(errors="replace").splitlines() if file.exists() else []
        return "\n".join(lines[-120:])

    def rows(self, sql: str) -> list[list[str]]:
        said = self.run(f'bulkwire query "{sql}" --output csv')
        return [line.split(",") for line in said.splitlines()[1:]]

    def orders(self, first: int, count: int, day: datetime.date) -> None:
        moment = datetime.datetime.combine(day, datetime.time(9))
        table = pa.table(
            {
                "id": pa.array(range(first, first + count), pa.int64()),
                "ordered": pa.array([moment] * count, pa.timestamp("us")),
                "amount": pa.array([decimal.Decimal("2.50")] * count, pa.decimal128(9, 2)),
            }
        )
        pq.write_table(table, self.data / f"orders-{day}.parquet")


@pytest.fixture
def project(server: Endpoint, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Project:
    return Project(server, tmp_path, request.node.name)


def test_the_recipe(project: Project) -> None:
    commands = project.take_recipe()
    project.run("bulkwire query 'CREATE SCHEMA raw'")
    for number in range(2):
        day = DAY + datetime.timedelta(days=number)
        project.orders(number * 100, 100, day)
        said = project.run(commands, DAY=str(day))
        assert "ERROR=0" in said and "PASS=" in said, said
        if number == 0:
            # A task that is tried again loads nothing, and gives the same.
            project.run(commands, DAY=str(day))
        daily = [[f"{DAY + datetime.timedelta(days=n)}", "100", "250.00"] for n in range(number + 1)]
        assert project.rows("SELECT day, orders, revenue FROM marts.daily_revenue ORDER BY day") == daily
    # Rows that are older than the freshness allows: nothing is built.
    project.run("bulkwire query 'UPDATE bulkwire_loads SET ended = DATEADD(hour, -30, ended)'")
    assert "ERROR STALE" in project.run("dbt source freshness", code=1)
    # A row that comes twice is found by the source's tests.
    project.run("bulkwire query 'INSERT raw.orders SELECT TOP 1 * FROM raw.orders'")
    said = project.run("dbt build", code=1)
    assert "unique_raw_orders_id" in said and "ERROR=1" in said, said


# What a project may hold: materialisations, strategies, seeds, snapshots, contracts, unit tests, indexes.
WHOLE_PROJECT = {
    "seeds/regions.csv": "id,name,since\n1,north,2026-01-05\n2,søuth,\n3,it's,2026-02-01\n",
    "models/staged.sql": "SELECT id, name, since, LEN(name) AS letters FROM {{ ref('regions') }}",
    "models/passing.sql": (
        "{{ config(materialized='ephemeral') }} SELECT id, letters FROM {{ ref('staged') }} WHERE id > 1"
    ),
    "models/heap.sql": (
        "{{ config(materialized='table', as_columnstore=false, "
        "indexes=[{'columns': ['id'], 'type': 'clustered', 'unique': true}, {'columns': ['letters']}]) }}\n"
        "WITH wide AS (SELECT id, letters FROM {{ ref('passing') }}) SELECT * FROM wide"
    ),
    "models/columns.sql": (
        "{{ config(materialized='table', persist_docs={'relation': true, 'columns': true}, "
        "grants={'select': ['public']}) }} SELECT * FROM {{ ref('staged') }}"
    ),
    "models/agreed.sql": (
        "{{ config(materialized='table', as_columnstore=false, contract={'enforced': true}) }}"
        "SELECT id, name FROM {{ ref('staged') }}"
    ),
    **{
        f"models/by_{strategy.replace('+', '_')}.sql": (
            f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}', unique_key='id', "
            "on_schema_change='append_new_columns') }}\n"
            "SELECT id, name, {{ var('round', 1) }} AS round "
            "{% if var('round', 1) > 1 %}, 7 AS later{% endif %} FROM {{ ref('staged') }} "
            "{% if is_incremental() %} WHERE id >= 2 {% endif %}"
        )
        for strategy in ("append", "delete+insert", "merge")
    },
    "models/refreshed.sql": (
        "{{ config(materialized='table', as_columnstore=false, table_refresh_method='dml') }}"
        "SELECT id, {{ var('round', 1) }} AS round FROM {{ ref('regions') }}"
    ),
    "models/schema.yml": """\
models:
  - name: staged
    columns:
      - name: id
        data_tests: [unique, not_null, {relationships: {arguments: {to: ref('regions'), field: id}}}]
      - name: letters
        data_tests: [{accepted_values: {arguments: {values: [4, 5], quote: false}}}]
  - name: columns
    description: What it's for
    columns: [{name: id, description: The key}]
  - name: agreed
    columns:
      - {name: id, data_type: int, constraints: [{type: not_null}, {type: primary_key}]}
      - {name: name, data_type: nvarchar(40)}
unit_tests:
  - name: letters_are_counted
    model: staged
    given:
      - input: ref('regions')
        rows: [{id: 9, name: four, since: 2026-01-01}]
    expect:
      rows: [{id: 9, letters: 4}]
""",
    "snapshots/history.yml": """\
snapshots:
  - name: history
    relation: ref('changing')
    config: {strategy: check, unique_key: id, check_cols: all, hard_deletes: invalidate}
""",
    "models/changing.sql": (
        "{{ config(materialized='view') }} SELECT id, {{ var('round', 1) }} * (id % 2) AS turn "
        "FROM {{ ref('regions') }} WHERE id + {{ var('round', 1) }} < 5"
    ),
    "tests/none_is_negative.sql": "SELECT id FROM {{ ref('heap') }} WHERE letters < 0",
}


def test_what_projects_hold(project: Project) -> None:
    project.take_recipe()
    for file in project.folder.glob("models/*"):
        file.unlink()
    for name, text in WHOLE_PROJECT.items():
        project.write(name, text)
    assert "All checks passed" in project.run("dbt debug")
    for round_ in (1, 2):
        project.run(f"dbt build --vars '{{round: {round_}}}'")
        names = project.rows("SELECT id, name, since, letters FROM marts.staged ORDER BY id")
        assert names == [
            ["1", "north", "2026-01-05", "5"],
            ["2", "søuth", "", "5"],
            ["3", "it's", "2026-02-01", "4"],
        ]
        assert project.rows("SELECT id, letters FROM marts.heap ORDER BY id") == [["2", "5"], ["3", "4"]]
        assert project.rows("SELECT id, name FROM marts.columns WHERE id = 1") == [["1", "north"]]
        assert project.rows("SELECT DISTINCT round FROM marts.refreshed") == [[str(round_)]]
        rounds = project.rows("SELECT id, round FROM marts.by_merge ORDER BY id")
        assert rounds == [["1", "1"], ["2", str(round_)], ["3", str(round_)]]
        assert project.rows("SELECT id, round FROM marts.by_delete_insert ORDER BY id") == rounds
        assert project.rows("SELECT COUNT(*) FROM marts.by_append") == [[str(1 + 2 * round_)]]
    # Rows that changed and rows that went, each with its times.
    state = "IIF(dbt_valid_to IS NULL, 'stands', 'over')"
    history = f"SELECT id, turn, {state} FROM marts.history ORDER BY id, dbt_valid_from"
    assert project.rows(history) == [
        ["1", "1", "over"],
        ["1", "2", "stands"],
        ["2", "0", "stands"],
        ["3", "1", "over"],
    ]
    said = (
        "SELECT COUNT(*) FROM sys.extended_properties "
        "WHERE name = 'MS_Description' AND major_id = OBJECT_ID('marts.columns')"
    )
    assert project.rows(said) == [["2"]]
    project.run("dbt docs generate && dbt build --full-refresh && dbt show --select heap --limit 2")
    assert project.rows("SELECT COUNT(*) FROM marts.by_append") == [["3"]]
    leftovers = "SELECT name FROM sys.objects WHERE name LIKE '%[_][_]dbt%' OR name LIKE 'testview%'"
    assert project.rows(leftovers) == []
