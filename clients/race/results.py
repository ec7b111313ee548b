"""The results of a race: every run, what they were made on, and their summaries; kept as JSON."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess

from race.heat import Case, Run
from race.registry import Contestant

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Spread:
    """The least, middle and greatest of some figures."""

    least: float
    median: float
    greatest: float

    @classmethod
    def of(cls, figures: list[float]) -> Spread:
        """ValueError if there are none."""
        return cls(min(figures), statistics.median(figures), max(figures))


@dataclasses.dataclass(frozen=True)
class Summary:
    """A contestant's verified runs of a case."""

    contestant: Contestant
    case: Case
    runs: list[Run]

    def spread(self, figure: str) -> Spread:
        """Of an attribute of the runs."""
        return Spread.of([getattr(run, figure) for run in self.runs])

    def per_row(self, figure: str) -> Spread:
        """The same in nanoseconds a row."""
        return Spread.of([getattr(run, figure) * 1e9 / run.rows for run in self.runs])

    @property
    def label(self) -> str:
        """The client and what of it is used."""
        return self.contestant.label(self.case.mode)

    @property
    def rows(self) -> int:
        """Rows of a run."""
        return self.runs[0].rows

    @property
    def client(self) -> str:
        """The client's name and version, as it said."""
        return self.runs[0].client


@dataclasses.dataclass
class Results:
    """A race."""

    started: str
    machine: dict[str, str]
    settings: dict[str, object]
    contestants: list[Contestant]
    runs: list[Run]

    @classmethod
    def begin(cls, settings: dict[str, object], contestants: list[Contestant]) -> Results:
        """Results without runs, of this machine and moment."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes")
        return cls(now, machine(), settings, contestants, [])

    def summaries(self, case: Case) -> list[Summary]:
        """Of those with verified runs, the fastest first."""
        found = []
        for contestant in self.contestants:
            runs = [run for run in self._of(contestant, case) if not run.error]
            if runs:
                found.append(Summary(contestant, case, runs))
        return sorted(found, key=lambda one: -one.spread("rows_per_second").median)

    def failures(self) -> list[tuple[Contestant, Case, Run]]:
        """The first failed run of each contestant and case."""
        found = []
        for contestant in self.contestants:
            for case in Case:
                failed = [run for run in self._of(contestant, case) if run.error]
                found += [(contestant, case, failed[0])] if failed else []
        return found

    def write(self, path: pathlib.Path) -> None:
        """Writes everything as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = {"format": FORMAT, **dataclasses.asdict(self)}
        path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: pathlib.Path) -> Results:
        """What `write` wrote; ValueError if it is of another format."""
        whole = json.loads(path.read_text(encoding="utf-8"))
        if whole.pop("format") != FORMAT:
            raise ValueError(f"{path} is not of format {FORMAT}")
        tuples = ("modes", "arguments")
        whole["contestants"] = [
            Contestant(**{**entry, **{name: tuple(entry[name]) for name in tuples}})
            for entry in whole["contestants"]
        ]
        whole["runs"] = [Run(**{**entry, "case": Case(entry["case"])}) for entry in whole["runs"]]
        return cls(**whole)

    def _of(self, contestant: Contestant, case: Case) -> list[Run]:
        return [run for run in self.runs if run.contestant == contestant.id and run.case is case]


def machine() -> dict[str, str]:
    """What the race runs on."""
    processors = _first(r"^model name\s*: (.*)$", "/proc/cpuinfo") or platform.processor()
    memory = int(_first(r"^MemTotal:\s+(\d+) kB$", "/proc/meminfo") or 0)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    distribution = _first(r'^PRETTY_NAME="(.*)"$', "/etc/os-release")
    return {
        "processor": f"{processors}, {os.cpu_count()} cores",
        "memory": f"{memory / 2**20:.0f} GiB",
        "system": f"{distribution}, Linux {platform.release()}",
        "python": platform.python_version(),
        "bulkwire": commit.stdout.strip(),
    }


def _first(pattern: str, path: str) -> str:
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return ""
    return found[1].strip() if found else ""
