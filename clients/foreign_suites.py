"""Runs test suites that others wrote for SQL Server, and reads what became of each of their tests.

Each run has an embedded server and a database of its own; what it builds lies under BULKWIRE_CLIENT_CACHE.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
import xml.etree.ElementTree as ElementTree

import pymssql

import odbc
from conftest import Endpoint

HERE = pathlib.Path(__file__).resolve().parent
SUITES = HERE / "suites"
CACHE = pathlib.Path(
    os.environ.get("BULKWIRE_CLIENT_CACHE") or pathlib.Path.home() / ".cache" / "bulkwire" / "clients"
)
RUN_TIMEOUT_SECONDS = 1500
DATABASE = "suite"


@dataclasses.dataclass(frozen=True)
class Exclusion:
    """Tests that are expected to fail, and why. `tests` may hold `*`."""

    suite: str
    tests: str
    reason: str
    # The drivers that it is for; empty: all.
    drivers: tuple[str, ...] = ()
    # The tests are not even run: they end the suite's own process, or call addresses outside of this machine.
    not_run: bool = False

    def covers(self, run: Run, test: str) -> bool:
        """Whether a test of a run is meant."""
        if self.suite != run.suite or (self.drivers and run.driver not in self.drivers):
            return False
        pattern = ".*".join(re.escape(part) for part in self.tests.split("*"))
        return re.fullmatch(pattern, test) is not None


@dataclasses.dataclass(frozen=True)
class Run:
    """A suite over a driver."""

    suite: str
    driver: str

    def __str__(self) -> str:
        return f"{self.suite}-{self.driver}"


@dataclasses.dataclass(frozen=True)
class Score:
    """Names of a run's tests, by outcome."""

    passed: frozenset[str]
    failed: frozenset[str]
    skipped: frozenset[str]


RUNS = (
    Run("SQLAlchemy", "pymssql"),
    Run("SQLAlchemy", "pyodbc"),
    Run("SQLAlchemy", "mssql-python"),
    Run("Alembic", "pymssql"),
    Run("Alembic", "pyodbc"),
    Run("Alembic", "mssql-python"),
    Run("go-mssqldb", "go-mssqldb"),
)


def exclusions() -> list[Exclusion]:
    """All exclusions, in the order of the file."""
    listed = tomllib.loads((SUITES / "exclusions.toml").read_text(encoding="utf-8"))["exclusion"]
    return [Exclusion(**{**entry, "drivers": tuple(entry.get("drivers", ()))}) for entry in listed]


def run(which: Run, server: Endpoint, folder: pathlib.Path) -> Score:
    """Runs a suite to its end and reads its outcomes."""
    _make_database(server)
    if which.suite == "go-mssqldb":
        return _run_go(which, server)
    return _run_pytest(which, server, folder)


def _make_database(server: Endpoint) -> None:
    with (
        pymssql.connect(
            server.host, server.user, server.password, port=str(server.port), autocommit=True
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"ALTER DATABASE {DATABASE} SET ALLOW_SNAPSHOT_ISOLATION ON")
        cursor.execute(f"ALTER DATABASE {DATABASE} SET READ_COMMITTED_SNAPSHOT ON")
        cursor.execute(f"USE {DATABASE}")
        for schema in ("test_schema", "test_schema_2"):
            cursor.execute(f"CREATE SCHEMA {schema}")


def _run_pytest(which: Run, server: Endpoint, folder: pathlib.Path) -> Score:
    report = folder / f"{which}.xml"
    # Alembic's writes beside its configuration.
    place = shutil.copytree(SUITES / which.suite.lower(), folder / "suite")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "setup.cfg", "--rootdir", ".", "--confcutdir", "."]
        + [
            "--maxfail=100000",
            "--tb=short",
            f"--junitxml={report}",
            "--dburi",
            _sqlalchemy_url(which, server),
        ]
        + ["test_suite.py"],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    log = CACHE / "suites" / f"{which}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(finished.stdout + finished.stderr, encoding="utf-8")
    assert report.exists(), finished.stdout[-4000:] + finished.stderr[-4000:]
    outcomes: dict[str, set[str]] = {"passed": set(), "failed": set(), "skipped": set()}
    for case in ElementTree.parse(report).iter("testcase"):
        # The plugin adds backend, driver and version to the names of classes.
        name = re.sub(r"_mssql\+\w+?_\d+_\d+_\d+_\d+$", "", case.get("classname", "").rpartition(".")[2])
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        outcomes[outcome].add(f"{name}::{case.get('name')}")
    # A test whose body passes and whose clean-up fails stands there twice.
    outcomes["passed"] -= outcomes["failed"]
    return Score(*(frozenset(outcomes[kind]) for kind in ("passed", "failed", "skipped")))


def _sqlalchemy_url(which: Run, server: Endpoint) -> str:
    address = f"{server.user}:{server.password}@{server.host}:{server.port}/{DATABASE}"
    return {
        "pymssql": f"mssql+pymssql://{address}",
        "pyodbc": "mssql+pyodbc:///?odbc_connect="
        + urllib.parse.quote(odbc.connection_string(server, Database=DATABASE)),
        "mssql-python": f"mssql+mssqlpython://{address}?TrustServerCertificate=yes",
    }[which.driver]


def _run_go(which: Run, server: Endpoint) -> Score:
    log = CACHE / "suites" / f"{which}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    skipped = [entry.tests for entry in exclusions() if entry.suite == which.suite and entry.not_run]
    finished = subprocess.run(
        [
            "go",
            "test",
            "-json",
            f"-timeout={RUN_TIMEOUT_SECONDS - 60}s",
            f"-skip=^({'|'.join(skipped)})$",
            ".",
        ],
        cwd=_go_sources(),
        env={
            **os.environ,
            "SQLSERVER_DSN": f"sqlserver://{server.user}:{server.password}@{server.host}:{server.port}"
            f"?database={DATABASE}&TrustServerCertificate=true",
        },
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        check=False,
    )
    log.write_text(finished.stdout + finished.stderr, encoding="utf-8")
    outcomes: dict[str, set[str]] = {"pass": set(), "fail": set(), "skip": set()}
    ended = False
    for line in finished.stdout.splitlines():
        event = json.loads(line)
        if event["Action"] in outcomes and "Test" in event:
            outcomes[event["Action"]].add(event["Test"])
        # A panic within a test ends the program, and the tests behind it have not run.
        ended = ended or event.get("Output", "").startswith("panic: ")
    assert outcomes["pass"] and not ended, finished.stdout[-4000:] + finished.stderr[-4000:]
    # What fails within a test fails the test as well: only the innermost is counted.
    parents = {name.rpartition("/")[0] for name in outcomes["fail"]}
    return Score(
        frozenset(outcomes["pass"]), frozenset(outcomes["fail"] - parents), frozenset(outcomes["skip"])
    )


def _go_sources() -> pathlib.Path:
    """The module as its zip holds it, where its tests can be built."""
    found = subprocess.run(
        ["go", "mod", "download", "-json", "github.com/microsoft/go-mssqldb"],
        cwd=HERE / "go_mssqldb",
        capture_output=True,
        text=True,
        check=True,
    )
    module = json.loads(found.stdout)
    sources = CACHE / "suites" / f"go-mssqldb-{module['Version']}"
    if not (sources / "go.mod").exists():
        shutil.copytree(module["Dir"], sources, dirs_exist_ok=True)
        for path in (sources, *sources.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
    return sources


def page(scores: dict[Run, Score]) -> str:
    """The text of `docs/compatibility.md`."""
    lines = [
        "# Other people's test suites",
        "",
        "`make conformance` runs these suites, unmodified and pinned, against the embedded server;",
        "`make suites` runs them alone. They fail when a test fails that is not listed here, and when one",
        "passes that is.",
        "`BULKWIRE_WRITE_PAGES=1 make suites` writes this page.",
        "",
        "| Suite | Driver | Passed | Excluded | Skipped by the suite |",
        "|---|---|---:|---:|---:|",
    ]
    for which, score in scores.items():
        counts = " | ".join(f"{len(tests):,}" for tests in (score.passed, score.failed, score.skipped))
        lines.append(f"| {which.suite} {_version(which.suite)} | {which.driver} | {counts} |")
    lines += [
        "",
        "SQLAlchemy's is its dialect compliance suite, with the requirements of",
        "`clients/suites/sqlalchemy/requirements.py`; it skips what its dialect does not do. Alembic's is",
        "the suite in its wheel. go-mssqldb's are the tests of its main package.",
        "",
        "## Excluded tests",
        "",
        "| Suite | Driver | Test | Reason |",
        "|---|---|---|---|",
    ]
    for entry in exclusions():
        drivers = ", ".join(entry.drivers) or "all"
        reason = f"not run: {entry.reason}" if entry.not_run else entry.reason
        lines.append(f"| {entry.suite} | {drivers} | `{entry.tests}` | {reason} |")
    return "\n".join(lines) + "\n"


def _version(suite: str) -> str:
    if suite == "go-mssqldb":
        wanted = re.search(r"go-mssqldb v(\S+)", (HERE / "go_mssqldb" / "go.mod").read_text(encoding="utf-8"))
        return wanted[1]
    pinned = (HERE / "requirements.txt").read_text(encoding="utf-8")
    return re.search(rf"^{suite.lower()}==(\S+)$", pinned, re.MULTILINE)[1]
