"""The interface of a contestant in Python: its arguments, its clock, and the line that it prints."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time


@dataclasses.dataclass(frozen=True)
class Task:
    """What a contestant is asked to do."""

    mode: str
    host: str
    port: int
    user: str
    password: str
    database: str
    encrypt: bool
    table: str
    rows: int
    batch_rows: int
    source: pathlib.Path | None
    variant: str

    @classmethod
    def of_arguments(cls, modes: tuple[str, ...], variants: tuple[str, ...] = ("",)) -> Task:
        """The task of this process; wrong arguments end it."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--variant", choices=variants, default=variants[0])
        parser.add_argument("mode", choices=modes)
        for name in ("host", "user", "database", "table"):
            parser.add_argument(f"--{name}", required=True)
        for name in ("port", "rows", "batch-rows"):
            parser.add_argument(f"--{name}", required=True, type=int)
        parser.add_argument("--encrypt", choices=("off", "on"), required=True)
        parser.add_argument("--source", type=pathlib.Path)
        given = vars(parser.parse_args())
        if given["mode"] == "load" and given["source"] is None:
            parser.error("a load needs --source")
        given["encrypt"] = given["encrypt"] == "on"
        return cls(**given, password=os.environ["RACE_PASSWORD"])

    @property
    def packet_bytes(self) -> int:
        """The size of packets to ask for: the largest, which must fit a record of TLS."""
        return 16_000 if self.encrypt else 32_767

    @property
    def odbc_options(self) -> dict[str, str]:
        """Keywords for Microsoft's ODBC driver besides the address and the login."""
        return {
            "Database": self.database,
            "Encrypt": "yes" if self.encrypt else "no",
            "PacketSize": str(self.packet_bytes),
        }

    def batches(self) -> list:
        """The source's first `rows` rows as record batches of pyarrow."""
        import pyarrow.ipc

        with pyarrow.ipc.open_file(self.source) as file:
            table = file.read_all().slice(0, self.rows)
        assert table.num_rows == self.rows, f"{self.source} has {table.num_rows} rows"
        return table.to_batches()

    def arrow(self):
        """The same as a pyarrow Table."""
        import pyarrow

        return pyarrow.Table.from_batches(self.batches())

    def values(self) -> list[tuple]:
        """The same as tuples of Python's own values."""
        return list(zip(*(column.to_pylist() for column in self.arrow().columns), strict=True))


class Clock:
    """Measures a transfer: `with Clock() as clock: …`."""

    seconds: float
    cpu_seconds: float
    start_bytes: int
    peak_bytes: int

    def __enter__(self) -> Clock:
        self.start_bytes = peak_bytes()
        self._cpu = _cpu_seconds()
        self._wall = time.perf_counter()
        return self

    def __exit__(self, *failure: object) -> None:
        self.seconds = time.perf_counter() - self._wall
        self.cpu_seconds = _cpu_seconds() - self._cpu
        # The system sums its account up by thread, and may give less than before by a few pages.
        self.peak_bytes = max(self.start_bytes, peak_bytes())


@dataclasses.dataclass
class Process:
    """What a program that was run cost, and what it printed."""

    output: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int

    # A program starts with nothing: its source is a file.
    start_bytes: int = 0

    @classmethod
    def run(cls, command: list, **environment: str) -> Process:
        """Runs a program to its end; SystemExit with what it said if it fails."""
        start = time.perf_counter()
        child = subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        output = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{pathlib.Path(command[0]).name}: {output.strip()}")
        return cls(output, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def report(rows: int, cost: Clock | Process, client: str, *, source: str = "", checksum: str = "") -> None:
    """Prints the line that the harness reads."""
    line = {"rows": rows, "client": client}
    for name in ("seconds", "cpu_seconds", "peak_bytes", "start_bytes"):
        line[name] = getattr(cost, name)
    line |= {name: value for name, value in (("source", source), ("checksum", checksum)) if value}
    print(json.dumps(line), flush=True)


def package(name: str) -> str:
    """Name and version of a Python package; a checkout on the path has no version."""
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


def peak_bytes() -> int:
    """The largest resident set of this process so far."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1]) * 1024


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
