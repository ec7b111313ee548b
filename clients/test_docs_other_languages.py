"""The snippets of docs/server.md in Java, Go, JavaScript and Rust."""

from __future__ import annotations

import re

import pytest

import programs

DOCUMENT = (programs.HERE.parent / "docs" / "server.md").read_text(encoding="utf-8")
# What each snippet prints.
PRINTED = {
    "mssql-jdbc": "Åsa",
    "go-mssqldb": "Åsa",
    "tedious": "2 rows",
    "tiberius": "Åsa",
    "mssql-tds": "Åsa",
}


def snippet(client: str) -> str:
    """The fenced block under the client's heading."""
    section = DOCUMENT.split(f"### From {client}\n", 1)[1]
    return re.search(r"```\w+\n(.*?)```", section, re.DOTALL)[1]


@pytest.mark.parametrize("client", PRINTED)
def test_the_snippet_runs_as_printed(client, server, tmp_path):
    text = snippet(client)
    for written, actual in (
        ("14330", str(server.port)),
        ("Try-it-0ut", server.password),
        ("server.pem", str(server.certificate)),
    ):
        assert written in text
        text = text.replace(written, actual)
    assert PRINTED[client] in programs.run_snippet(client, text, tmp_path)
