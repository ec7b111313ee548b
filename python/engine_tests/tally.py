"""What was killed, and what stood in the tables afterwards."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """The sums of all jobs of a test.

    Attributes:
        name: the engine.
        faults: processes killed, by kind.
        jobs: jobs that ended well.
        again: jobs that ran again under their name, because the driver or its commit had died.
        rows: rows that these jobs were to bring.
        lost: rows that are missing.
        doubled: rows that are there twice.
        wrong: rows with another value than the one that belongs to their key.
        stages: stages left behind.
        attempts: attempts whose rows were in the stage when the driver committed.
        counted: attempts that the engine accepted, each once.
        twice: attempts that brought all rows of their partition beside an accepted one.
        speculative: attempts that speculation started beside one that ran.
        seconds: from the beginning to the end of the last job.
    """

    name: str
    faults: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    again: int = 0
    rows: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    stages: int = 0
    attempts: int = 0
    counted: int = 0
    twice: int = 0
    speculative: int = 0
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def killed(self) -> int:
        """Processes killed."""
        return self.faults.total()

    def job(self, place, table: str, rows: int) -> None:
        """Count what a job has left, which was to bring the numbers below `rows`."""
        count, distinct, total = place.count_and_sum(table)
        self.jobs += 1
        self.seconds = time.monotonic() - self.started
        self.rows += rows
        self.lost += rows - distinct
        self.doubled += count - distinct
        self.wrong += place.value(f"SELECT COUNT(*) FROM {table} WHERE name <> CONCAT('n', id) OR name IS NULL")
        self.stages += len(place.stages())
        # Of numbers that are all there, and all different, the sum says that they are the right ones.
        self.wrong += total != rows * (rows - 1) // 2

    def is_sound(self) -> bool:
        """Whether every row is there once, and nothing else is left."""
        return (self.lost, self.doubled, self.wrong, self.stages) == (0, 0, 0, 0)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        text = f"{self.name}: {self.killed} killed ({kinds}); {self.jobs} jobs, {self.again} of them run again"
        text += f"; {self.rows:,} rows, {self.lost} lost, {self.doubled} doubled, {self.wrong} wrong, {self.stages} stages left"
        if self.attempts:
            text += f"; {self.attempts} attempts brought rows, {self.counted} counted, {self.twice} whole ones did not"
            text += f"; {self.speculative} were speculative"
        return f"{text}; {self.seconds:.0f} s"
