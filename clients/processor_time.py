"""Processor time of the processes that this one has started, those included that have ended since."""

from __future__ import annotations

import contextlib
import os
import pathlib
import threading
from collections.abc import Callable

#: Ticks of the processor times in /proc.
TICKS = os.sysconf("SC_CLK_TCK")


class ProcessorTime:
    """While it is entered, looks at the processes often: one that ends is known as it was at the last look.

    Attributes:
        seconds: user and system time, by what `group` says of a command line.
    """

    def __init__(self, group: Callable[[str], str], period: float = 0.05) -> None:
        self.seconds: dict[str, float] = {}
        self._group, self._period = group, period
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._names: dict[int, str] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> ProcessorTime:
        self._look()
        # What is there already counts from here.
        self._first = dict(self._last)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._look()
        for pid, used in self._last.items():
            name = self._names[pid]
            self.seconds[name] = self.seconds.get(name, 0.0) + used - self._first.get(pid, 0.0)

    def _watch(self) -> None:
        while not self._stopped.wait(self._period):
            self._look()

    def _look(self) -> None:
        parents, used = {}, {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
                used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / TICKS
        generation = {os.getpid()}
        while generation := {pid for pid, parent in parents.items() if parent in generation}:
            for pid in generation:
                self._last[pid] = used[pid]
                if pid not in self._names:
                    with contextlib.suppress(OSError):
                        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                        self._names[pid] = self._group(line.replace(b"\0", b" ").decode(errors="replace"))
                    self._names.setdefault(pid, self._group(""))
