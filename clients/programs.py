"""Builds and runs the conformance programs in other languages than Python.

Build products and caches live outside the checkout, under BULKWIRE_CLIENT_CACHE. A program prints one JSON
line per check: `{"check": name, "outcome": "passed", "failed" or "cannot", "detail": text}`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterable

import pytest

import cells
from conftest import Endpoint
from relay import relayed

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(
    os.environ.get("BULKWIRE_CLIENT_CACHE") or pathlib.Path.home() / ".cache" / "bulkwire" / "clients"
)
BUILD_TIMEOUT_SECONDS = 900
RUN_TIMEOUT_SECONDS = 300
# What the relay must see of the client's bytes, by check.
ENCRYPTION = {
    "login_plain": "none",
    "login_only_tls": "login",
    "login_full_tls": "full",
    "login_strict": "strict",
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A client: how it is built, which gives the command that runs it, and the checks that it must print."""

    build: Callable[[], list[str]]
    checks: tuple[str, ...]
    # Checks whose outcome is "cannot", with words of the reason.
    cannot: dict[str, str] = dataclasses.field(default_factory=dict)
    # Checks that the server does not pass yet, with words of what happens; docs/server.md lists them.
    missing: dict[str, str] = dataclasses.field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    def run(self, server: Endpoint, plain: Endpoint, checks: Iterable[str] = ()) -> dict[str, dict]:
        """The outcome of each check, in the order in which they ran."""
        CACHE.mkdir(parents=True, exist_ok=True)
        table = CACHE / "cells.json"
        table.write_text(cells.as_json(), encoding="utf-8")
        environment = {
            "BULKWIRE_HOST": server.host,
            "BULKWIRE_PORT": str(server.port),
            "BULKWIRE_PLAIN_PORT": str(plain.port),
            "BULKWIRE_PLAIN_PASSWORD": plain.password,
            "BULKWIRE_USER": server.user,
            "BULKWIRE_PASSWORD": server.password,
            "BULKWIRE_CERTIFICATE": str(server.certificate),
            "BULKWIRE_CELLS": str(table),
        }
        finished = subprocess.run(
            [*self.build(), *self.arguments, *checks],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_SECONDS,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        lines = [json.loads(line) for line in finished.stdout.splitlines()]
        return {line["check"]: line for line in lines}


class ProgramTests:
    """The tests of a program; a test module derives it and names the program."""

    program: Program

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        checks = self.program.checks
        if metafunc.function.__name__ == "test_login_is_encrypted_as_said":
            checks = [check for check in ENCRYPTION if check not in self.program.cannot]
        metafunc.parametrize("check", checks)

    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(cls, server: Endpoint, tls_modes: Callable[[str], Endpoint]) -> dict[str, dict]:
        """One run of all checks."""
        outcomes = cls.program.run(server, tls_modes("off"))
        assert tuple(outcomes) == cls.program.checks
        return outcomes

    def test_check(self, outcomes, check):
        judge(self.program, outcomes, check)

    def test_login_is_encrypted_as_said(self, server, tls_modes, check):
        assert_encrypted_as_said(self.program, check, server, tls_modes("off"))


def judge(program: Program, outcomes: dict[str, dict], check: str) -> None:
    """Passes, skips (the client cannot) or fails the test of a check."""
    line = outcomes[check]
    if check in program.cannot:
        assert line["outcome"] == "cannot", f"{check} is possible now: {line}"
        assert program.cannot[check] in line["detail"]
        pytest.skip(line["detail"])
    if check in program.missing:
        assert line["outcome"] == "failed", f"{check} is served now: {line}"
        assert program.missing[check] in line["detail"]
        pytest.xfail(line["detail"])
    assert line["outcome"] == "passed", line["detail"]


def assert_encrypted_as_said(program: Program, check: str, server: Endpoint, plain: Endpoint) -> None:
    """Logs in through a relay, and looks at what the client sent."""
    behind = plain if check == "login_plain" else server
    with relayed(behind) as (endpoint, relay):
        # The certificate names localhost, and clients check the name that they connect to.
        endpoint = dataclasses.replace(endpoint, host="localhost", password=behind.password)
        seen = dataclasses.replace(endpoint, certificate=server.certificate)
        outcome = program.run(seen, endpoint, [check])[check]
        assert outcome["outcome"] == "passed", outcome["detail"]
        assert relay.encryption() == ENCRYPTION[check]


def _run(command: list[str], folder: pathlib.Path, **environment: str) -> None:
    finished = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, f"{command}: {finished.stdout}{finished.stderr}"


@functools.cache
def go() -> list[str]:
    """The Go program, checked by go vet and gofmt on the way."""
    folder, binary = HERE / "go_mssqldb", CACHE / "go_mssqldb"
    formatted = subprocess.run(["gofmt", "-l", folder], capture_output=True, text=True, check=True)
    assert formatted.stdout == "", f"gofmt: {formatted.stdout}"
    _run(["go", "vet", "./..."], folder, GOFLAGS="-mod=readonly")
    _run(["go", "build", "-o", str(binary), "."], folder, GOFLAGS="-mod=readonly")
    return [str(binary)]


@functools.cache
def node_folder() -> pathlib.Path:
    """A copy of the Node program beside its installed dependencies."""
    source, folder = HERE / "tedious", CACHE / "tedious"
    folder.mkdir(parents=True, exist_ok=True)
    lock = (source / "package-lock.json").read_bytes()
    installed = folder / "installed.json"
    if not installed.exists() or installed.read_bytes() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, folder)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
        installed.write_bytes(lock)
    for file in source.glob("*.js"):
        shutil.copy(file, folder)
    return folder


def node() -> str:
    """Node 22, which tedious 20 needs: the one on the path or the one that its package brings."""
    folder = node_folder()
    brought = sorted(folder.glob("node_modules/node-linux-*/bin/node"))
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix("v").split(".")[0]) >= 22 or not brought:
        return "node"
    return str(brought[0])


def tedious() -> list[str]:
    """The Node program."""
    return [node(), str(node_folder() / "main.js")]


@functools.cache
def java_classpath() -> str:
    """The compiled Java program and its libraries."""
    folder = CACHE / "mssql_jdbc"
    _run(["mvn", "-q", "-B", f"-Dbuild.folder={folder}", "compile"], HERE / "mssql_jdbc")
    return f"{folder / 'classes'}:{folder / 'libraries'}/*"


def jdbc() -> list[str]:
    """The Java program."""
    return ["java", "-cp", java_classpath(), "bulkwire.Main"]


@functools.cache
def rust() -> list[str]:
    """The Rust program, checked by clippy and rustfmt on the way."""
    folder, target = HERE / "rust", CACHE / "rust"
    _run(["cargo", "fmt", "--check"], folder)
    _run(["cargo", "build", "--locked"], folder, CARGO_TARGET_DIR=str(target))
    return [str(target / "debug" / "bulkwire-rust-clients")]


@functools.cache
def iridium() -> list[str]:
    """The program that runs somebody else's server."""
    folder, target = HERE / "iridium", CACHE / "iridium"
    _run(["cargo", "fmt", "--check"], folder)
    _run(["cargo", "build", "--locked"], folder, CARGO_TARGET_DIR=str(target))
    return [str(target / "debug" / "bulkwire-other-server")]


def run_snippet(client: str, text: str, folder: pathlib.Path) -> str:
    """Runs a snippet of the documentation as its readers would, in `folder`, and gives what it printed."""
    if client == "mssql-jdbc":
        (folder / "Example.java").write_text(text, encoding="utf-8")
        command, environment = ["java", "-cp", java_classpath(), "Example.java"], {}
    elif client == "go-mssqldb":
        go()
        for name in ("go.mod", "go.sum"):
            shutil.copy(HERE / "go_mssqldb" / name, folder)
        (folder / "main.go").write_text(text, encoding="utf-8")
        command, environment = ["go", "run", "."], {"GOFLAGS": "-mod=readonly"}
    elif client == "tedious":
        (folder / "node_modules").symlink_to(node_folder() / "node_modules")
        (folder / "example.mjs").write_text(text, encoding="utf-8")
        command, environment = [node(), "example.mjs"], {}
    else:
        rust()
        # Another name: the dependencies are shared, and one program must not take the other's place.
        for name in ("Cargo.toml", "Cargo.lock"):
            manifest = (HERE / "rust" / name).read_text(encoding="utf-8")
            manifest = manifest.replace("bulkwire-rust-clients", "bulkwire-rust-snippet")
            (folder / name).write_text(manifest, encoding="utf-8")
        (folder / "src").mkdir()
        (folder / "src" / "main.rs").write_text(text, encoding="utf-8")
        command = ["cargo", "run", "--quiet", "--locked"]
        environment = {"CARGO_TARGET_DIR": str(CACHE / "rust")}
    finished = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
