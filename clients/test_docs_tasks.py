"""Runs the pages of docs/ that show a task: every command, in the order of the page, and what it prints.

A block of `sh` is run; a block of `text` behind it is what the commands print, on both streams. Times and
rates may differ, and a line `…` stands for any lines. The commands of a page share a shell, a folder and a
server of their own. Under the heading "When the connection breaks" the line to the server is cut behind the
second COMMIT.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

import breaking_line
import conftest
from surroundings import surroundings

FOLDER = pathlib.Path(__file__).parent.parent / "docs"
PAGES = ("load", "export", "bcp", "serve", "events")
BROKEN = "When the connection breaks"
PART = re.compile(
    r"^## (?P<heading>[^\n]+)\n|^```(?P<language>sh|text)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
# The figures before these words differ from run to run.
MEASURED = re.compile(r"[\d.,]+ ?[kMG]?(?= ?(?:s\b|ms\b|B/s|rows/s|ns a row))")
CLOCK = re.compile(r"(Clock Time \(ms\.\) Total     : ).*")


@dataclasses.dataclass
class Block:
    """Commands, the heading above them, and what they print; None if the page does not show it."""

    heading: str
    commands: str
    printed: str | None = None


def blocks(page: str) -> list[Block]:
    """The commands of a page in their order."""
    found, heading = [], ""
    for part in PART.finditer((FOLDER / f"{page}.md").read_text(encoding="utf-8")):
        if part["heading"]:
            heading = part["heading"]
        elif part["language"] == "sh":
            found.append(Block(heading, part["body"]))
        else:
            assert found and found[-1].printed is None, f"docs/{page}.md: output without a command"
            found[-1].printed = part["body"]
    return found


def steady(text: str) -> str:
    """The text without what differs from run to run."""
    return CLOCK.sub(r"\1#", MEASURED.sub("#", text))


def shown(printed: str) -> re.Pattern[str]:
    """What may be printed where a page shows this."""
    lines = [
        r"(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in steady(printed).splitlines()
    ]
    return re.compile("".join(lines))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_as_it_says(binaries, tmp_path, page):
    script, found = [], blocks(page)
    with contextlib.ExitStack() as started:
        server = started.enter_context(conftest.serve(binaries, tmp_path))
        # The page about the server starts one itself.
        port = free_port() if page == "serve" else server.port
        for number, block in enumerate(found):
            if block.heading == BROKEN:
                line = started.enter_context(breaking_line.breaking_line(server.host, server.port, commits=2))
                script.append(
                    f"WHOLE=$BULKWIRE_URL BULKWIRE_URL=mssql://sa@127.0.0.1:{line}/master?Encrypt=Off"
                )
            script.append(f"{{\n{block.commands}}} >{number}.out 2>&1; echo $? >{number}.status")
            if block.heading == BROKEN:
                script.append("BULKWIRE_URL=$WHOLE")
        text = "\n".join(script).replace("14330", str(port)).replace("Try-it-0ut", server.password)
        shell = subprocess.Popen(
            ["bash", "-c", text],
            env=surroundings(tmp_path, PATH=f"{binaries}:{os.environ['PATH']}"),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, errors = shell.communicate(timeout=300)
        finally:
            # A page that fails may leave its server behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
        assert errors == "", "the page's shell"
        for number, block in enumerate(found):
            printed = (tmp_path / f"{number}.out").read_text(encoding="utf-8").replace(str(port), "14330")
            status = int((tmp_path / f"{number}.status").read_text())
            assert status == 0, f"docs/{page}.md:\n{block.commands}{printed}"
            if block.printed is not None:
                assert shown(block.printed).fullmatch(steady(printed)), f"{block.commands}{printed}"
