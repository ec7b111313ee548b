"""The processes that engines start, and what is left of them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import signal
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """A process that runs."""

    pid: int
    parent: int
    line: str


def adopt_orphans() -> None:
    """Make processes whose parents were killed children of this one, so that they are found."""
    if sys.platform == "linux":
        # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def descendants(root: int) -> dict[int, Process]:
    """The processes that a process has started, and those that these have started."""
    children: dict[int, list[Process]] = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if state != "Z":
                children.setdefault(int(parent), []).append(Process(int(folder.name), int(parent), line))
    found: dict[int, Process] = {}
    generation = [root]
    while generation:
        own = [child for parent in generation for child in children.get(parent, [])]
        found.update({child.pid: child for child in own})
        generation = [child.pid for child in own]
    return found


def end_all_but(before: set[int], patience: float = 30.0) -> list[str]:
    """Wait for the processes that were started since to end. Kill those that do not, and return their command lines."""
    deadline = time.monotonic() + patience
    while True:
        # Python's own helper stays as long as this process.
        left = [one for one in descendants(os.getpid()).values() if one.pid not in before and "resource_tracker" not in one.line]
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    for one in left:
        with contextlib.suppress(OSError):
            os.kill(one.pid, signal.SIGKILL)
    return [one.line for one in left]
