"""Runs the examples of docs/server.md as they stand there; only the port and the ODBC driver's place differ.

A section `### From CLIENT` has an example in Python or for the shell. What it must print stands in it: after
`print(…)  # ` in Python, on lines `# prints …` in the shell.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

import odbc
from surroundings import surroundings

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "server.md"
EXAMPLE = re.compile(r"^### From (?P<client>[^\n]+)\n(?P<text>(?:(?!^#{2,3} ).*\n)*)", re.MULTILINE)
CODE = re.compile(r"^```(?P<language>python|sh)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list:
    """Every example: its client, its language, its code."""
    found = []
    for section in EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")):
        for block in CODE.finditer(section["text"]):
            parameters = (block["language"], block["code"])
            found.append(pytest.param(*parameters, id=section["client"].replace(" ", "_")))
    return found


def test_the_page_has_an_example_for_every_client_driven_from_here():
    named = {section["client"] for section in EXAMPLE.finditer(PAGE.read_text(encoding="utf-8"))}
    clients = {
        "pyodbc",
        "ODBC",
        "mssql-python",
        "pymssql",
        "python-tds",
        "FreeTDS",
        "SQLAlchemy",
        "pandas",
        "Polars",
    }
    assert clients <= named


@pytest.mark.parametrize(("language", "code"), examples())
def test_the_example_runs(server, tmp_path, language, code):
    run = code.replace("14330", str(server.port)).replace("ODBC Driver 18 for SQL Server", str(odbc.driver()))
    assert str(server.port) in run, "the example names the port of the page's first lines"
    command = [sys.executable, "-c", run] if language == "python" else ["sh", "-e", "-c", run]
    done = subprocess.run(
        command,
        env=surroundings(tmp_path, BULKWIRE_SERVER_PASSWORD=server.password),
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if language == "python":
        assert done.stdout.splitlines() == re.findall(r"print\(.*\)  # (.*)$", code, re.MULTILINE)
    else:
        for wanted in re.findall(r"^# prints (.*)$", code, re.MULTILINE):
            assert any(wanted in line for line in done.stdout.splitlines()), done.stdout
