"""The contestants, as the files in `contestants/` register them."""

from __future__ import annotations

import dataclasses
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("load", "read")


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A client in the race. The fields are explained in `contestants/bulkwire.toml`."""

    id: str
    name: str
    language: str
    modes: tuple[str, ...]
    build: str
    pin: str
    arguments: tuple[str, ...] = ()
    how: dict[str, str] = dataclasses.field(default_factory=dict, hash=False)
    slow: bool = False
    bulk: bool = True
    note: str = ""

    def label(self, mode: str) -> str:
        """The client and what of it is used, as charts and tables show it."""
        return f"{self.name} {self.how.get(mode, '')}".strip()

    def rows(self, mode: str, rows: int, slow_rows: int) -> int:
        """How many rows it moves: a tenth of the slow ones' where it loads by statements."""
        if mode == "load" and not self.bulk:
            return max(slow_rows // 10, 1)
        return slow_rows if self.slow else rows

    @property
    def ours(self) -> bool:
        """Whether it is one of bulkwire's own."""
        return self.id.startswith("bulkwire")


def contestants(folder: pathlib.Path = HERE / "contestants") -> list[Contestant]:
    """All of them, ours first; ValueError names the file and what is wrong with it."""
    found: dict[str, Contestant] = {}
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("contestant", []):
            try:
                lists = {key: tuple(entry.get(key, ())) for key in ("modes", "arguments")}
                contestant = Contestant(**{**entry, **lists})
            except TypeError as error:
                raise ValueError(f"{path.name}: {entry.get('id', 'a contestant')}: {error}") from error
            if not contestant.modes or not set(contestant.modes) <= set(MODES):
                raise ValueError(f"{path.name}: {contestant.id}: modes are some of {MODES}")
            if not set(contestant.how) <= set(contestant.modes):
                raise ValueError(f"{path.name}: {contestant.id}: how tells of its modes")
            if contestant.id in found:
                raise ValueError(f"{path.name}: {contestant.id} is registered twice")
            found[contestant.id] = contestant
    return sorted(found.values(), key=lambda contestant: not contestant.ours)
