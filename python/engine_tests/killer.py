"""Kills processes now and then."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

#: Kills one process of a kind, if there is one.
Kill = Callable[[random.Random], bool]


class Killer:
    """While it is entered, kills up to `most` processes. What it kills, and when, depends on the seed and on what there is.

    Args:
        chance: says what and when.
        kinds: ways of killing, by name, and how often each is chosen.
        pauses: seconds from one to the next.
        most: after so many the job may end in peace.
    """

    def __init__(self, chance: random.Random, kinds: dict[str, tuple[int, Kill]], pauses: tuple[float, float], most: int) -> None:
        self.chance, self.kinds, self.pauses, self.most = chance, kinds, pauses, most
        self.killed: Counter[str] = Counter()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self) -> Killer:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopped.set()
        self.thread.join()

    def _run(self) -> None:
        names = list(self.kinds)
        for _ in range(self.most):
            if self.stopped.wait(self.chance.uniform(*self.pauses)):
                return
            kind = self.chance.choices(names, [self.kinds[name][0] for name in names])[0]
            until = time.monotonic() + 30
            while not self.stopped.is_set() and time.monotonic() < until:
                if self.kinds[kind][1](self.chance):
                    self.killed[kind] += 1
                    break
                time.sleep(0.05)
