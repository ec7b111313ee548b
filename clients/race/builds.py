"""How contestants are built: each function returns the first words of a contestant's command.

A function builds once per run of the harness and raises `NotBuilt` with the reason if it cannot. It optimises
as users of the client would, unless `OPTIMISED` says that speed does not matter. Build products go under
BULKWIRE_CLIENT_CACHE.
"""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(
    os.environ.get("BULKWIRE_CLIENT_CACHE") or pathlib.Path.home() / ".cache" / "bulkwire" / "clients"
)
# Rust's link-time optimisation takes minutes.
BUILD_TIMEOUT_SECONDS = 1800
# The tests say no: an optimised build takes minutes where a plain one is already there.
OPTIMISED = os.environ.get("RACE_OPTIMISED", "yes") == "yes"


class NotBuilt(Exception):
    """A contestant cannot be built here; the text says why."""


def run(command: list[str], folder: pathlib.Path, **environment: str) -> str:
    """Runs a step of a build in `folder` and gives what it printed."""
    try:
        finished = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=BUILD_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuilt(f"{command[0]}: {error}") from error
    if finished.returncode != 0:
        raise NotBuilt(f"{' '.join(map(str, command))}: {finished.stdout}{finished.stderr}".strip())
    return finished.stdout


@functools.cache
def python() -> list[str]:
    """A contestant in Python; the first argument is its module."""
    return [sys.executable, "-m"]


@functools.cache
def c() -> list[str]:
    """The C contestant: a library, and the Python program that hands Arrow arrays to it."""
    import odbc

    sources, driver, built = HERE.parent / "odbc_bcp", odbc.driver(), CACHE / "odbc_bcp_race.so"
    CACHE.mkdir(parents=True, exist_ok=True)
    # libodbc first: the driver exports the same SQL… names, and bcp_… are its own.
    run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", str(built)]
        + [str(sources / "race" / "send_arrow.c"), str(sources / "session.c")]
        + ["-lodbc", str(driver), f"-Wl,-rpath,{driver.parent}"],
        sources,
    )
    return [*python(), "race.drivers.odbc_bcp", str(built)]


@functools.cache
def rust() -> list[str]:
    """The Rust contestants: the first argument is the client."""
    profile = "release" if OPTIMISED else "dev"
    # Beside the conformance program, whose dependencies a plain build shares.
    target = CACHE / "rust"
    run(["cargo", "build", "--locked", "--profile", profile], HERE / "rust", CARGO_TARGET_DIR=str(target))
    return [str(target / ("release" if OPTIMISED else "debug") / "bulkwire-race-rust")]


@functools.cache
def rust_odbc() -> list[str]:
    """The Rust contestant over Microsoft's ODBC driver."""
    import odbc

    return [*rust(), "arrow-odbc", "--driver", str(odbc.driver())]


@functools.cache
def go() -> list[str]:
    """The Go contestant."""
    built = CACHE / "go_mssqldb_race"
    run(["go", "build", "-o", str(built), "./race"], HERE.parent / "go_mssqldb", GOFLAGS="-mod=readonly")
    return [str(built)]


@functools.cache
def java() -> list[str]:
    """The Java contestant, in the conformance program's module."""
    classpath = conformance("java_classpath")
    # The collector for throughput; and Arrow's reader wants to look into byte buffers.
    options = ["-XX:+UseParallelGC", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    return ["java", *options, "-cp", classpath, "bulkwire.race.Main"]


@functools.cache
def node() -> list[str]:
    """The JavaScript contestant, beside the conformance program."""
    return [conformance("node"), str(conformance("node_folder") / "race.js")]


def conformance(build: str):
    """What a build of the conformance programs gives."""
    import programs

    try:
        return getattr(programs, build)()
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        raise NotBuilt(str(error)) from error
