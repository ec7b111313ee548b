"""What a release is: its version, its time, its folder, and how programs are started for it."""

import dataclasses
import functools
import os
import pathlib
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The crate of the one program, and its name.
PROGRAM = "bulkwire"


@dataclasses.dataclass(frozen=True)
class Release:
    """Where a release is built from, and where to."""

    out: pathlib.Path
    target: pathlib.Path
    root: pathlib.Path = ROOT

    @functools.cached_property
    def version(self) -> str:
        return tomllib.loads((self.root / "Cargo.toml").read_text())["workspace"]["package"]["version"]

    @functools.cached_property
    def epoch(self) -> int:
        """The time that every file of the release bears: that of the commit."""
        given = os.environ.get("SOURCE_DATE_EPOCH")
        return int(given or output("git", "log", "-1", "--format=%ct", folder=self.root))

    def name(self, triple: str) -> str:
        """Of an archive, without its suffix; also the folder within it."""
        return f"bulkwire-{self.version}-{triple}"

    def programs(self, triple: str) -> pathlib.Path:
        """Where the built programs of a target lie."""
        return self.target / triple / "dist"


def output(*words: str | os.PathLike, folder: pathlib.Path | None = None) -> str:
    """What a program prints."""
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
